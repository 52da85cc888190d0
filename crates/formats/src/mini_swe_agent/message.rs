//! One stored message.

use crate::chat;
use crate::prelude::*;

/// When a message was stored.
pub(super) const STORED: &str = "/extra/timestamp";

/// Fence of the command in v1; later versions mark their own.
const FENCES: &[&str] = &["```bash\n", "```mswea_bash_command\n"];

/// The parts of an assistant message; `record` names a call that was written as text.
pub(super) fn answer_parts(message: &Value, record: u32) -> Vec<Part> {
    let mut parts = Vec::from_iter(reasoning_member(message, "reasoning_content", ""));
    let chat::Content { text, pointer, .. } = chat::content(&message["content"]);
    let calls = value::list(message, "tool_calls");
    let command = fenced(&text).filter(|_| calls.is_empty());
    let said = command.as_ref().map_or(&text, |(around, _)| around);
    if !said.is_empty() {
        parts.push(Part::text(said).at(pointer.clone()));
    }
    if let Some((_, command)) = command {
        let arguments = json!({ "command": command }).to_string();
        parts.push(Part::call(format!("action-{record}"), "bash", arguments).at(pointer));
    }
    parts.extend(chat::calls(message));
    parts
}

/// The text around the one command of an answer, and the command. An answer with no block, or with
/// several, ran nothing: the harness refuses both.
pub(super) fn fenced(text: &str) -> Option<(String, &str)> {
    let mut blocks = FENCES.iter().flat_map(|fence| text.match_indices(fence)).collect::<Vec<_>>();
    blocks.sort_unstable();
    let [(start, fence)] = blocks.as_slice() else {
        return None;
    };
    let body = &text[start + fence.len()..];
    let end = body.find("\n```")?;
    let around = format!("{}{}", &text[..*start], &body[end + "\n```".len()..]);
    Some((around.trim().to_owned(), &body[..end]))
}

/// What the raw response says about the call.
pub(super) fn answer(message: &Value, model: Option<&str>) -> Answer {
    let response = &message["extra"]["response"];
    let reason = value::text_at(response, "/choices/0/finish_reason");
    Answer {
        usage: chat::COUNTS.any(&response["usage"]),
        finish: reason.map(finish),
        model: value::text(response, "model").or(model).map(str::to_owned),
        ended: value::seconds(message, STORED),
        ..Answer::default()
    }
}

#[cfg(test)]
mod tests {
    use super::fenced;

    #[test]
    fn one_command_is_a_call() {
        let table: &[(&str, Option<(&str, &str)>)] = &[
            ("Look.\n\n```bash\nls -F\n```", Some(("Look.", "ls -F"))),
            ("```bash\na\nb\n```\nDone.", Some(("Done.", "a\nb"))),
            ("```mswea_bash_command\nls\n```", Some(("", "ls"))),
            ("no command", None),
            ("```bash\na\n```\n```bash\nb\n```", None),
            ("```python\na\n```", None),
            ("```bash\nnever closed", None),
        ];
        for (text, expected) in table {
            let found = fenced(text);
            let found = found.as_ref().map(|(around, command)| (around.as_str(), *command));
            assert_eq!(found, *expected, "{text:?}");
        }
    }
}
