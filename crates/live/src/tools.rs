//! A tool that an agent can offer its model to retrieve what was cleared.
//!
//! ```text
//! tools.push(tools::openai());                            // or anthropic()
//! …
//! tools::NAME => tools::handle(&mut recall, agent.conversation(), &call.arguments),
//! ```
//!
//! The answer is always text for the model: the requested content, or the mistake and what to do
//! instead.

use crate::recall::{HITS, Recall, RecallError};
use foldback_core::conversation::Conversation;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::fmt::Write;

/// Name of the tool.
pub const NAME: &str = "recall";

/// The description of the tool for the model.
pub const DESCRIPTION: &str = "Gets back the original of something that was cleared from this \
    conversation or replaced by a summary. Give either `reference` (the id of a message or a tool call, \
    or an id named in a summary) to read the original, or `query` (words, identifiers, file names) to \
    search everything that was cleared. Long originals come in pieces: pass the `offset` that the \
    answer names to read on. What the conversation still shows is not found.";

/// What the model calls the tool with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RecallArguments {
    /// Id of a message or of a tool call, or an id that a summary names. Not together with `query`.
    pub reference: Option<String>,
    /// Words to search for in everything that was cleared. Not together with `reference`.
    pub query: Option<String>,
    /// Where to go on: bytes of the original, or the number of matches to skip. 0 if left out.
    pub offset: Option<usize>,
}

/// The parameters as a JSON schema, without the keywords that providers refuse.
pub fn parameters() -> Value {
    let mut schema = schemars::schema_for!(RecallArguments).to_value();
    if let Some(object) = schema.as_object_mut() {
        for key in ["$schema", "title", "description"] {
            object.remove(key);
        }
    }
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for (name, property) in properties.into_iter().flatten() {
        let Some(object) = property.as_object_mut() else {
            continue;
        };
        // An option that is left out is enough; Gemini knows no lists of types and no `uint`.
        let kind = if name == "offset" { "integer" } else { "string" };
        object.insert("type".to_owned(), json!(kind));
        for key in ["format", "default"] {
            object.remove(key);
        }
    }
    schema
}

/// The tool as OpenAI's chat completions and everything compatible with them want it.
pub fn openai() -> Value {
    json!({
        "type": "function",
        "function": { "name": NAME, "description": DESCRIPTION, "parameters": parameters() },
    })
}

/// The tool as Anthropic's messages want it.
pub fn anthropic() -> Value {
    json!({ "name": NAME, "description": DESCRIPTION, "input_schema": parameters() })
}

/// Answers a call of the tool.
pub fn handle(recall: &mut Recall, conversation: &Conversation, arguments: &str) -> String {
    let arguments: RecallArguments = match serde_json::from_str(arguments) {
        Ok(arguments) => arguments,
        Err(error) => {
            return format!(
                "The arguments are not understood ({error}). Call {NAME} with {{\"reference\": \"…\"}} \
                 or {{\"query\": \"…\"}}."
            );
        }
    };
    answer(recall, conversation, &arguments)
}

/// Answers a call whose arguments are parsed already.
pub fn answer(
    recall: &mut Recall,
    conversation: &Conversation,
    arguments: &RecallArguments,
) -> String {
    let filled = |text: &Option<String>| {
        let text = text.as_deref().unwrap_or_default().trim().to_owned();
        (!text.is_empty()).then_some(text)
    };
    let offset = arguments.offset.unwrap_or(0);
    match (filled(&arguments.reference), filled(&arguments.query)) {
        (Some(reference), None) => by_reference(recall, conversation, &reference, offset),
        (None, Some(query)) => by_query(recall, conversation, &query, offset),
        (Some(_), Some(_)) => "Give either `reference` or `query`, not both.".to_owned(),
        (None, None) => "Give a `reference` to read, or a `query` to search for.".to_owned(),
    }
}

fn by_reference(
    recall: &mut Recall,
    conversation: &Conversation,
    reference: &str,
    offset: usize,
) -> String {
    match recall.by_reference(conversation, reference, offset) {
        Ok(page) => {
            let end = page.offset + page.text.len();
            let more = match page.next {
                Some(next) => format!("; go on with offset {next}"),
                None => String::new(),
            };
            let what = &page.what;
            format!(
                "[{reference}: {what}, bytes {} to {end} of {}{more}]\n{}",
                page.offset, page.bytes, page.text
            )
        }
        Err(error @ RecallError::Unknown(_)) => {
            format!("{}. Search for it with {{\"query\": \"…\"}}.", sentence(&error))
        }
        Err(error @ RecallError::Visible(_)) => {
            format!("{}. Read it there.", sentence(&error))
        }
        Err(error @ RecallError::Offset { .. }) => {
            format!("{}. Start again without `offset`.", sentence(&error))
        }
    }
}

fn by_query(recall: &mut Recall, conversation: &Conversation, query: &str, skip: usize) -> String {
    let (hits, all) = recall.search(conversation, query, skip);
    if all == 0 {
        let searched = recall.indexed().len();
        let what = if recall.is_of_everything() { "Nothing" } else { "Nothing that was cleared" };
        return format!(
            "{what} matches `{query}` ({searched} passages searched). Try other words: names of files, functions or \
             commands work best."
        );
    }
    if hits.is_empty() {
        return format!("There are only {all} matches. Start again without `offset`.");
    }
    let cleared = if recall.is_of_everything() { "" } else { "cleared " };
    let mut out = format!("{all} {cleared}passages match `{query}`:\n");
    for (number, hit) in (skip + 1..).zip(&hits) {
        // Writing to a string can't fail.
        let _ = writeln!(
            out,
            "{number}. {} ({}, {} bytes): {}",
            hit.reference, hit.what, hit.bytes, hit.excerpt
        );
    }
    let next = skip + hits.len();
    if next < all {
        let _ = writeln!(out, "The next {} with offset {next}.", HITS.min(all - next));
    }
    out.push_str("Read one with {\"reference\": \"…\"}.");
    out
}

/// An error as the beginning of a sentence.
fn sentence(error: &RecallError) -> String {
    let text = error.to_string();
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
