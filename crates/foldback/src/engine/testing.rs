//! For tests of compaction that may be nobody's: a text of what it made of a list of messages, and the rules that a provider
//! refuses a request by. Lists come as bodies of requests.

use super::source::{Form, Source};
use super::{CompactError, preset};
use crate::Message;
use foldback_core::render;
use foldback_core::validity::{rule, validate};
use foldback_core::view::ShownMessage;
use foldback_providers::wire::Dialect;
use serde_json::Value;
use std::sync::Arc;

/// What of one list is shown in another, for review.
///
/// # Errors
///
/// For messages that are not of the protocol.
pub fn review(
    protocol: &str,
    title: &str,
    before: &str,
    after: &str,
) -> Result<String, CompactError> {
    let (before, after) = (read(protocol, before)?, read(protocol, after)?);
    let estimator = preset("none")?.strategy;
    Ok(render::lists(title, before.messages(), after.messages(), &**estimator.estimator()))
}

/// The rules of its provider that a list breaks, each with its place. Empty if it would be taken.
///
/// # Errors
///
/// For messages that are not of the protocol.
pub fn violations(protocol: &str, body: &str) -> Result<Vec<String>, CompactError> {
    let form = form(protocol)?;
    let source = read(protocol, body)?;
    let messages = source.messages();
    let place = |id: &str| {
        let found = messages.iter().find(|message| message.id == id);
        found
            .and_then(|message: &Arc<Message>| message.record)
            .map_or(String::new(), |record| format!("message {record}: "))
    };
    let mut broken = empty_texts(form, body);
    let rules = validate(messages.iter().map(ShownMessage::plain), form.rules());
    broken.extend(rules.iter().map(|violation| {
        format!("{}{}: {}", place(&violation.message), violation.rule, violation.detail)
    }));
    Ok(broken)
}

/// Texts without a character, which Anthropic refuses and reading leaves out.
fn empty_texts(form: Form, body: &str) -> Vec<String> {
    let root: Value = serde_json::from_str(body).unwrap_or_default();
    let messages = root["messages"].as_array().filter(|_| form.rules() == Dialect::Anthropic);
    let is_empty = |message: &Value| match &message["content"] {
        Value::Array(blocks) => blocks.iter().any(|block| block["text"] == ""),
        content => content == "",
    };
    let numbered = messages.into_iter().flatten().enumerate();
    let empty = numbered.filter(|(_, message)| is_empty(message));
    empty
        .map(|(number, _)| format!("message {number}: {}: a text is empty", rule::EMPTY_TEXT))
        .collect()
}

fn form(protocol: &str) -> Result<Form, CompactError> {
    Form::by_name(protocol)
        .ok_or_else(|| CompactError::Text(format!("no protocol is called {protocol}")))
}

fn read(protocol: &str, body: &str) -> Result<Source, CompactError> {
    // The messages of a test have no time.
    Ok(Source::read(form(protocol)?, body, None, 0)?.source)
}
