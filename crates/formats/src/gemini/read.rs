//! From contents to the canonical form.

use super::{FORMAT, LISTS};
use crate::prelude::*;
use foldback_providers::wire::gemini;

/// How Gemini CLI begins the summary that it puts in place of a history.
const CLI_SUMMARY: &str = "<state_snapshot>";
/// How Gemini CLI begins the context that it puts in front, and what it answers in the model's name.
const CLI_CONTEXT: &[&str] = &["<session_context>", "This is the Gemini CLI."];
const CLI_ANSWER: &str = "Got it. Thanks for the additional context!";

/// Reads a file: one conversation, or one a line.
pub(super) fn read(text: &str) -> Result<Vec<Session>, ReadError> {
    document_or_lines(text, conversation, ReadError::to_string)
}

fn conversation(text: &str, root: &Value) -> Result<Session, ReadError> {
    let list = match root.is_array() {
        true => "",
        false => LISTS
            .iter()
            .copied()
            .find(|list| root.pointer(list).is_some_and(Value::is_array))
            .ok_or_else(|| {
                value::malformed("/contents", "a list of contents is needed here, or at the top")
            })?,
    };
    let source = value::source(text, list)?;
    let mut session = Session::new(value::content_id(text), FORMAT.id, source);
    session.model = value::string(root, "model");
    let mut out = SessionBuilder::read(session, gemini::read(root, list));
    by_client(&mut out);
    Ok(out.finish())
}

/// Tells what Gemini CLI wrote itself from what was said: its context, its summaries, and the answer that it gives
/// itself to one of them.
fn by_client(out: &mut SessionBuilder) {
    let mut greeted = false;
    for index in 0..out.messages.len() {
        let message = &mut out.messages[index];
        if message.role == Role::Assistant {
            let is_answer =
                matches!(message.parts.as_slice(), [part] if part.shown() == CLI_ANSWER);
            if std::mem::take(&mut greeted) && is_answer {
                message.answer = None;
            }
            continue;
        }
        let opening = message.parts.first().map(Part::shown).unwrap_or_default();
        let summary = opening.starts_with(CLI_SUMMARY);
        let context = index == 0 && CLI_CONTEXT.iter().any(|own| opening.starts_with(own));
        if message.role == Role::User && (summary || context) {
            mark_synthetic(&mut message.parts);
            message.mid_turn = true;
            greeted = true;
            if summary {
                // What it stands for is not in the list any more, so it is part of the log.
                let boundary = out.boundary("summary", "unknown");
                boundary.before = index;
                boundary.original_kept = false;
            }
        }
    }
}
