//! What the messages of a conversation show of how its agent got on.
//!
//! A client sends all of its conversation with every request, so nothing of it has to be kept: after a restart the first
//! request shows it all again.

use foldback_core::log::acts::{Action, action_of, actions, is_failure};
use foldback_core::log::{Message, Part, Role, ToolCall};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::HashSet;
use std::sync::Arc;

/// What went wrong for an agent, as the messages of its conversation show it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setbacks {
    /// Reads and searches with the same tool and the same arguments as an earlier one.
    pub repeats: u64,
    /// Edits that a tool refused.
    pub refused_edits: u64,
    /// Messages of the user after the model had ended its turn.
    pub user_again: u64,
}

impl Setbacks {
    /// Adds those of another conversation.
    pub fn add(&mut self, other: &Self) {
        self.repeats += other.repeats;
        self.refused_edits += other.refused_edits;
        self.user_again += other.user_again;
    }

    /// The larger of each: a client that compacted shows less than before.
    #[must_use]
    pub fn or_before(self, before: Self) -> Self {
        Self {
            repeats: self.repeats.max(before.repeats),
            refused_edits: self.refused_edits.max(before.refused_edits),
            user_again: self.user_again.max(before.user_again),
        }
    }
}

/// Follows the messages of a conversation.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Messages that were read.
    read: usize,
    lookups: HashSet<u128>,
    /// Calls that edit and have no result yet.
    edits: HashSet<String>,
    /// The last message is an answer that calls no tool.
    ended: bool,
    setbacks: Setbacks,
}

impl Tally {
    /// Reads the messages that are new, and tells what all of them show.
    pub fn take(&mut self, messages: &[Arc<Message>]) -> Setbacks {
        for message in messages.iter().skip(self.read) {
            self.message(message);
        }
        self.read = self.read.max(messages.len());
        self.setbacks
    }

    fn message(&mut self, message: &Message) {
        match message.role {
            Role::Assistant => {
                let calls = message.parts.iter().filter(|part| part.as_call().is_some());
                self.ended = calls.clone().count() == 0;
                calls.for_each(|part| self.call(part));
            }
            Role::User if self.ended => {
                self.setbacks.user_again += 1;
                self.ended = false;
            }
            _ => self.results(message),
        }
    }

    fn call(&mut self, part: &Part) {
        let Some(call) = part.as_call() else { return };
        let changes = |action: &Action| *action != Action::Read;
        if actions(part).iter().any(|(action, _)| changes(action))
            || action_of(&call.tool).is_some_and(|action| changes(&action))
        {
            self.edits.insert(call.call_id.clone());
        } else if is_lookup(call) {
            let text = format!("{}\n{}", call.tool, call.arguments_value());
            let hash = blake3::hash(text.as_bytes());
            let hash = hash.as_bytes().first_chunk().map_or(0, |bytes| u128::from_le_bytes(*bytes));
            self.setbacks.repeats += u64::from(!self.lookups.insert(hash));
        }
    }

    fn results(&mut self, message: &Message) {
        let results = message.parts.iter().filter_map(Part::as_result);
        let edits = results.filter(|result| self.edits.remove(&result.call_id)).count() as u64;
        self.setbacks.refused_edits += if is_failure(message) { edits } else { 0 };
    }
}

/// Programs that show and change nothing.
const SHOWING: [&str; 20] = [
    "awk", "cat", "cd", "cut", "diff", "echo", "egrep", "file", "find", "grep", "head", "ls", "nl",
    "pwd", "rg", "sort", "stat", "tail", "tree", "wc",
];

/// Subcommands of git that show and change nothing.
const SHOWING_GIT: [&str; 6] = ["blame", "diff", "grep", "log", "show", "status"];

/// Whether a call reads or searches: by the name of its tool, or by the programs of its shell command.
fn is_lookup(call: &ToolCall) -> bool {
    let tool = call.tool.to_ascii_lowercase();
    let named = ["search", "grep", "glob", "find", "list", "fetch", "lookup"];
    if action_of(&tool) == Some(Action::Read) || named.iter().any(|word| tool.contains(word)) {
        return !tool.contains("todo");
    }
    let arguments = call.arguments_value();
    let command = ["command", "cmd"].iter().find_map(|name| arguments.get(name));
    let command = match command.unwrap_or(&Value::Null) {
        Value::Array(words) => words.last().and_then(Value::as_str),
        command => command.as_str(),
    };
    command.is_some_and(|command| {
        let parts = command.split(['|', ';', '&', '\n']).map(str::trim);
        let mut parts = parts.filter(|part| !part.is_empty()).peekable();
        parts.peek().is_some() && !command.contains('>') && parts.all(shows)
    })
}

fn shows(command: &str) -> bool {
    let mut words = command.split_whitespace();
    match words.next() {
        Some("git") => words.next().is_some_and(|word| SHOWING_GIT.contains(&word)),
        Some("sed") => words.next() == Some("-n"),
        Some(program) => SHOWING.contains(&program),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn called(id: &str, tool: &str, arguments: &str) -> Message {
        Message::assistant("", vec![Part::call(id, tool, arguments)])
    }

    #[test]
    fn what_a_conversation_shows_as_a_table() {
        let read = r#"{"path":"a.rs"}"#;
        let edit = r#"{"path":"a.rs","old_string":"x","new_string":"y"}"#;
        let shell = |command: &str| called("s", "bash", &format!(r#"{{"command":"{command}"}}"#));
        let said = || Message::assistant("", vec![Part::text("done")]);
        let user = || Message::user("", "go on");
        let cases: Vec<(&str, Vec<Message>, [u64; 3])> = vec![
            ("read twice", vec![called("1", "read", read), called("2", "read", read)], [1, 0, 0]),
            ("two files", vec![called("1", "read", read), called("2", "read", "{}")], [0, 0, 0]),
            ("other tool", vec![called("1", "read", read), called("2", "view", read)], [0, 0, 0]),
            ("search", vec![called("1", "Grep", "{}"), called("2", "Grep", "{}")], [1, 0, 0]),
            (
                "edits are no lookups",
                vec![called("1", "edit", edit), called("2", "edit", edit)],
                [0, 0, 0],
            ),
            (
                "shell",
                vec![shell("cd x && cat a | head"), shell("cd x && cat a | head")],
                [1, 0, 0],
            ),
            ("tests again", vec![shell("cargo test"), shell("cargo test")], [0, 0, 0]),
            ("writes", vec![shell("cat a > b"), shell("cat a > b")], [0, 0, 0]),
            (
                "sed",
                vec![
                    shell("sed -n 1p a"),
                    shell("sed -n 1p a"),
                    shell("sed -i x a"),
                    shell("sed -i x a"),
                ],
                [1, 0, 0],
            ),
            (
                "git",
                vec![
                    shell("git diff"),
                    shell("git diff"),
                    shell("git commit"),
                    shell("git commit"),
                ],
                [1, 0, 0],
            ),
            (
                "refused",
                vec![called("1", "edit", edit), Message::tool_error("", "1", "edit", "no")],
                [0, 1, 0],
            ),
            (
                "refused in words",
                vec![called("1", "edit", edit), Message::tool("", "1", "edit", "Error: no")],
                [0, 1, 0],
            ),
            (
                "taken",
                vec![called("1", "edit", edit), Message::tool("", "1", "edit", "ok")],
                [0, 0, 0],
            ),
            (
                "a read failed",
                vec![called("1", "read", read), Message::tool_error("", "1", "read", "no")],
                [0, 0, 0],
            ),
            ("user", vec![user(), said(), user(), said(), user()], [0, 0, 2]),
            ("user in the middle", vec![called("1", "read", read), user()], [0, 0, 0]),
        ];
        for (name, messages, [repeats, refused_edits, user_again]) in cases {
            let messages: Vec<Arc<Message>> = messages.into_iter().map(Arc::new).collect();
            let expected = Setbacks { repeats, refused_edits, user_again };
            assert_eq!(Tally::default().take(&messages), expected, "{name}");
            let mut tally = Tally::default();
            let steps = (0..=messages.len()).map(|end| tally.take(&messages[..end])).last();
            assert_eq!(steps, Some(expected), "{name}, message by message");
        }
    }
}
