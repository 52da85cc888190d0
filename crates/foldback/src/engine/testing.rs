//! For tests of compaction that may be nobody's: a text of what it made of a list of messages, and the rules that a provider
//! refuses a request by. Lists come as bodies of requests.

use super::source::{Form, Source};
use super::{CompactError, preset};
use crate::Message;
use foldback_core::render;
use foldback_core::validity::{rule, validate};
use foldback_core::view::Shown;
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
    let rules = validate(messages.iter().map(Shown::plain), form.rules());
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
    Form::of(protocol)
        .ok_or_else(|| CompactError::Text(format!("no protocol is called {protocol}")))
}

fn read(protocol: &str, body: &str) -> Result<Source, CompactError> {
    // The messages of a test have no time.
    Ok(Source::read(form(protocol)?, body, None, 0)?.source)
}

#[cfg(test)]
mod tests {
    use super::violations;

    #[test]
    fn rules_of_four_providers_with_their_places() {
        let result = r#"{"type":"tool_result","tool_use_id":"c1","content":"x"}"#;
        let call = r#"{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"read","input":{}}]}"#;
        let user = r#"{"role":"user","content":"Go."}"#;
        let anthropic = |messages: &[&str]| format!(r#"{{"messages":[{}]}}"#, messages.join(","));
        let answered = format!(r#"{{"role":"user","content":[{result}]}}"#);
        let chat_call = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"read","arguments":"{}"}}]}"#;
        let chat_result = r#"{"role":"tool","tool_call_id":"c1","content":"x"}"#;
        let items = |items: &[&str]| format!(r#"{{"input":[{}]}}"#, items.join(","));
        let item_call = r#"{"type":"function_call","call_id":"c1","name":"read","arguments":"{}"}"#;
        let item_result = r#"{"type":"function_call_output","call_id":"c1","output":"x"}"#;
        let contents = |contents: &[&str]| format!(r#"{{"contents":[{}]}}"#, contents.join(","));
        let said = r#"{"role":"user","parts":[{"text":"Go."}]}"#;
        let function = r#"{"role":"model","parts":[{"functionCall":{"name":"read","args":{}}}]}"#;
        let response = r#"{"role":"user","parts":[{"functionResponse":{"name":"read","response":{"output":"x"}}}]}"#;
        let rows: Vec<(&str, String, Vec<&str>)> = vec![
            ("anthropic", anthropic(&[user, call, &answered]), vec![]),
            ("anthropic", anthropic(&[user, call, user]), vec!["message 1: call-unanswered"]),
            ("anthropic", anthropic(&[user, &answered]), vec!["message 1: result-without-call"]),
            ("anthropic", anthropic(&[call, &answered]), vec!["message 0: first-not-user"]),
            (
                "anthropic",
                anthropic(&[r#"{"role":"user","content":[{"type":"text","text":""}]}"#]),
                vec!["message 0: empty-text"],
            ),
            (
                "anthropic",
                anthropic(&[r#"{"role":"user","content":[{"type":"text","text":" "}]}"#]),
                vec!["message 0: empty-text"],
            ),
            (
                "anthropic",
                anthropic(&[r#"{"role":"user","content":""}"#]),
                vec!["message 0: empty-text"],
            ),
            ("openai-chat", anthropic(&[user, chat_call, chat_result]), vec![]),
            (
                "openai-chat",
                anthropic(&[user, chat_call, user]),
                vec!["message 1: call-unanswered"],
            ),
            (
                "openai-chat",
                anthropic(&[user, chat_call, chat_result, chat_result]),
                vec!["message 3: result-repeated"],
            ),
            ("openai-responses", items(&[item_call, item_result]), vec![]),
            ("openai-responses", items(&[item_result]), vec!["message 0: result-without-call"]),
            ("gemini", contents(&[said, function, response]), vec![]),
            ("gemini", contents(&[function, response]), vec!["message 0: first-not-user"]),
            ("gemini", contents(&[said, function, said]), vec!["message 1: call-unanswered"]),
        ];
        for (protocol, body, expected) in rows {
            let broken = violations(protocol, &body).unwrap();
            assert_eq!(broken.len(), expected.len(), "{protocol} {body}: {broken:?}");
            for (rule, expected) in broken.iter().zip(expected) {
                assert!(rule.starts_with(&format!("{expected}: ")), "{rule}");
            }
        }
        let unread =
            violations("anthropic", r#"{"messages":[{"role":"user","content":7}]}"#).unwrap_err();
        assert_eq!(unread.into_parts().0.as_deref(), Some("/messages/0/content"));
    }
}
