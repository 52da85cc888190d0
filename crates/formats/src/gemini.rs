//! `gemini`: contents as Google's Gemini API takes them. A bare list of `{role, parts}`, a request
//! body `{contents, systemInstruction, tools}`, or one of them a line.
//!
//! Results are parts of user contents; reading gives each a message of its own with the same record.
//! The file is what is sent: writing puts the text of an edit in place of the content and leaves out
//! what is hidden. `docs/gemini.md` has the mapping.

use crate::bodies::lines;
use crate::prelude::*;
use crate::rewrite::rewrite;
use foldback_providers::wire::gemini::{self, Writer, records};

pub(crate) const FORMAT: Format = Format::new(
    "gemini",
    "Gemini API contents: request bodies and lists of contents, also one a line",
    SIGNS,
    |text| document_or_lines(text, conversation, ReadError::to_string),
)
.written(patch, generate)
.request_to(Dialect::Gemini);

/// Where a list of contents is kept.
const LISTS: &[&str] = &["/contents", "/history"];

/// How Gemini CLI begins the summary that it puts in place of a history.
const CLI_SUMMARY: &str = "<state_snapshot>";
/// How Gemini CLI begins the context that it puts in front, and what it answers in the model's name.
const CLI_CONTEXT: &[&str] = &["<session_context>", "This is the Gemini CLI."];
const CLI_ANSWER: &str = "Got it. Thanks for the additional context!";

/// Where a list of contents may stand.
const BELOW: &[&str] = &["", "/contents", "/history", "/*/contents"];

/// Parts that only this format has.
const OWN_PARTS: Member = Any(&[
    Has("/*/parts/*/functionCall"),
    Has("/*/parts/*/functionResponse"),
    Has("/*/parts/*/thoughtSignature"),
]);

const PARTS: Member = Any(&[Has("/*/parts/*/text"), Has("/*/parts/*/inlineData")]);

const SIGNS: &[Sign] = &[
    Sign::new(85, &[OWN_PARTS, Has("/*/role")]).below(BELOW),
    Sign::new(85, &[PARTS, Is("/*/role", &["model"])]).below(BELOW),
    Sign::new(60, &[PARTS, Has("/*/role")]).below(BELOW),
];

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

fn patch(view: &View<'_>, _: &mut Vec<String>) -> Result<String, WriteError> {
    rewrite(view, &view.sent, &mut Writer)
}

/// A request body, one content a line.
fn generate(view: &View<'_>, losses: &mut Vec<String>) -> Result<String, WriteError> {
    let mut out = String::from("{");
    if let Some(model) = &view.session.model {
        out.push_str(&format!("\"model\":{},\n", json_string(model)));
    }
    let system: Vec<Value> = view.system().map(|text| json!({ "text": text })).collect();
    if !system.is_empty() {
        let system = json!({ "parts": system });
        out.push_str(&format!("\"systemInstruction\":{system},\n"));
    }
    if view.frame.text_of(SegmentKind::Tools).is_some() {
        losses.push("the tool definitions: the API wants its own dialect of schemas".to_owned());
    }
    let list = lines(records(&view.messages()), ",\n");
    out.push_str(&format!("\"contents\":[\n{list}\n]}}\n"));
    Ok(out)
}
