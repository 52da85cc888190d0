//! The messages of `genai`: both ways, with calls, results, reasoning and images.

use crate::views::{CLEARED, Fold, all, kinds};
use foldback_core::log::Role;
use foldback_wire::{WireError, genai as adapter};
use genai::chat::{ChatMessage, ChatRequest, Tool};
use serde_json::{Value, json};

/// A request with everything that genai has a place for.
fn request() -> ChatRequest {
    let call = |id: &str| json!({"ToolCall": {"call_id": id, "fn_name": "read", "fn_arguments": {"path": id}, "thought_signatures": ["c2ln"]}});
    let response = |id: &str, text: &str| json!({"ToolResponse": {"call_id": id, "fn_name": "read", "content": text}});
    let messages: Vec<ChatMessage> = serde_json::from_value(json!([
        {"role": "User", "content": [
            {"Text": "Why?"},
            {"Binary": {"content_type": "image/png", "source": {"Base64": "iVBORw0KGgo="}, "name": "a.png"}},
        ], "options": {"cache_control": "Ephemeral"}},
        {"role": "Assistant", "content": [
            {"ThoughtSignature": "c2ln"}, {"ReasoningContent": "Hm."}, {"Text": "Looking."}, call("c1"), call("c2"),
        ]},
        {"role": "Tool", "content": [response("c1", "one"), response("c2", "two")]},
        {"role": "Assistant", "content": [{"Text": "So."}]},
        {"role": "User", "content": [{"Text": "And?"}]},
    ]))
    .unwrap();
    ChatRequest { messages, ..ChatRequest::from_system("Be brief.") }
        .with_tools([Tool::new("read")])
}

fn json_of(messages: &[ChatMessage]) -> Value {
    serde_json::to_value(messages).unwrap()
}

#[test]
fn what_is_not_folded_comes_back_as_it_was() {
    let request = request();
    let history = adapter::history(&request).unwrap();
    let (same, losses) = adapter::shown(&history, &all(history.messages())).unwrap();
    assert_eq!(json_of(&same), json_of(&request.messages));
    assert_eq!(losses, [] as [&str; 0]);
    let roles: Vec<Role> = history.messages().iter().map(|message| message.role).collect();
    assert_eq!(
        roles,
        [Role::User, Role::Assistant, Role::Tool, Role::Tool, Role::Assistant, Role::User]
    );
    assert_eq!(history.frame().segments().len(), 2);
}

#[test]
fn an_edited_result_changes_in_its_text_alone() {
    let request = request();
    let history = adapter::history(&request).unwrap();
    let fold = Fold::new(history.messages(), 0, 2);
    let (shown, losses) = adapter::shown(&history, &fold.sent(history.messages())).unwrap();
    assert_eq!(losses, [] as [&str; 0]);
    let mut expected = json_of(&request.messages);
    expected[2]["content"][1]["ToolResponse"]["content"] = json!(CLEARED);
    assert_eq!(json_of(&shown), expected);
}

#[test]
fn a_fold_hides_what_stands_in_front() {
    let request = request();
    let history = adapter::history(&request).unwrap();
    let fold = Fold::new(history.messages(), 5, 9);
    let (shown, losses) = adapter::shown(&history, &fold.sent(history.messages())).unwrap();
    assert_eq!(losses, [] as [&str; 0]);
    let texts: Vec<Option<&str>> = shown.iter().map(|one| one.content.first_text()).collect();
    assert_eq!(texts, [Some("What happened before."), Some("And?")]);
}

#[test]
fn what_is_made_anew_is_read_as_what_it_was() {
    let history = adapter::history(&request()).unwrap();
    let empty = adapter::history(&ChatRequest::default()).unwrap();
    let (made, losses) = adapter::shown(&empty, &all(history.messages())).unwrap();
    assert_eq!(losses, [] as [&str; 0]);
    let again = adapter::history(&ChatRequest::new(made)).unwrap();
    assert_eq!(kinds(again.messages()), kinds(history.messages()));
}

#[test]
fn what_the_provider_keeps_is_refused() {
    let request = ChatRequest {
        previous_response_id: Some("resp_1".to_owned()),
        ..ChatRequest::from_user("And?")
    };
    assert!(matches!(adapter::history(&request), Err(WireError::Elsewhere { .. })));
}
