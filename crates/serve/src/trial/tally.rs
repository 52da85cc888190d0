//! What the messages of a conversation show of how its agent got on.
//!
//! A client sends all of its conversation with every request, so nothing of it has to be kept.

use foldback_core::log::acts::{Action, action_of, actions, is_failure};
use foldback_core::log::{Message, Part, Role, ToolCall};
use foldback_live::trial::record::TrialSums;
use foldback_stages::extractive::{files, shell};
use std::collections::HashSet;
use std::sync::Arc;

/// What the messages of a conversation show.
pub(super) fn shown(messages: &[Arc<Message>]) -> TrialSums {
    let mut out = TrialSums::default();
    let mut lookups = HashSet::new();
    // Calls that edit and have no result yet.
    let mut edits = HashSet::new();
    // The last message is an answer that calls no tool.
    let mut ended = false;
    for message in messages {
        let calls = || message.parts.iter().filter_map(|part| Some((part, part.as_call()?)));
        match message.role {
            Role::Assistant => {
                ended = calls().next().is_none();
                for (part, call) in calls() {
                    let actions = actions(part).into_iter().map(|(action, _)| action);
                    let mut actions = actions.chain(action_of(&call.tool));
                    if actions.any(|action| action != Action::Read) {
                        edits.insert(&call.call_id);
                    } else if is_lookup(call) {
                        let lookup = (&call.tool, call.arguments_value().to_string());
                        out.repeats += u64::from(!lookups.insert(lookup));
                    }
                }
            }
            Role::User if ended => {
                out.user_again += 1;
                ended = false;
            }
            _ => {
                let results = message.parts.iter().filter_map(Part::as_result);
                let edits = results.filter(|result| edits.remove(&result.call_id)).count();
                out.refused_edits += if is_failure(message) { edits as u64 } else { 0 };
            }
        }
    }
    out
}

/// Whether a call reads or searches: by the name of its tool, or by the programs of its shell command.
fn is_lookup(call: &ToolCall) -> bool {
    let tool = call.tool.to_ascii_lowercase();
    let named = ["search", "grep", "glob", "find", "list", "fetch", "lookup"];
    if action_of(&tool) == Some(Action::Read) || named.iter().any(|word| tool.contains(word)) {
        return !tool.contains("todo");
    }
    files::command(&call.arguments_value()).is_some_and(|command| {
        let reads = |(_, touch)| touch == files::Touch::Read;
        shell::only_prints(&command) && shell::touches(&command).into_iter().all(reads)
    })
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
            ("writes", vec![shell("cat a.py > b.py"), shell("cat a.py > b.py")], [0, 0, 0]),
            (
                "sed",
                vec![
                    shell("sed -n 1p a.py"),
                    shell("sed -n 1p a.py"),
                    shell("sed -i s/x/y/ a.py"),
                    shell("sed -i s/x/y/ a.py"),
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
            let expected = TrialSums { repeats, refused_edits, user_again, ..TrialSums::default() };
            assert_eq!(shown(&messages), expected, "{name}");
        }
    }
}
