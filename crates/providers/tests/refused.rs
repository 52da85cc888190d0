//! What can't be read says where and why.

use crate::views::all;
use foldback_providers::wire::{Dialect, Request, WireError, answer};

#[test]
fn requests_that_cant_be_read_name_the_place() {
    use Dialect::{Anthropic, Gemini, OpenAiChat, OpenAiResponses};
    let rows = [
        (OpenAiChat, r#"{"messages": ["#, "line 1, column 14"),
        (OpenAiChat, "[]", "a request is an object"),
        (OpenAiChat, r#"{"model": "m"}"#, "/messages: a request has its messages here"),
        (OpenAiChat, r#"{"messages": "hi"}"#, "/messages: this is to be a list"),
        (OpenAiChat, r#"{"messages": [{"content": "a"}]}"#, "/messages/0: a message needs"),
        (
            OpenAiChat,
            r#"{"messages": [{"role": "judge", "content": "a"}]}"#,
            "/messages/0/role: there is no role `judge`",
        ),
        (
            OpenAiChat,
            r#"{"messages": [{"role": "user", "content": 7}]}"#,
            "/messages/0/content: content is",
        ),
        (
            Anthropic,
            r#"{"messages": [{"role": "user", "content": "a"}, 3]}"#,
            "/messages/1: a message needs",
        ),
        (
            Anthropic,
            r#"{"messages": [{"role": "tool", "content": "a"}]}"#,
            "/messages/0/role: there is no role `tool`",
        ),
        (
            Anthropic,
            r#"{"messages": [{"role": "user", "content": {}}]}"#,
            "/messages/0/content: content is",
        ),
        (
            Gemini,
            r#"{"contents": [{"role": "user"}]}"#,
            "/contents/0: a content needs a list of parts",
        ),
        (
            Gemini,
            r#"{"contents": [{"role": "bot", "parts": []}]}"#,
            "/contents/0/role: there is no role `bot`",
        ),
        (OpenAiResponses, r#"{"input": [{"content": "a"}]}"#, "/input/0: an item needs"),
        (
            OpenAiResponses,
            r#"{"input": "a", "previous_response_id": "r"}"#,
            "/previous_response_id: part of the conversation is kept",
        ),
        (
            OpenAiResponses,
            r#"{"input": [{"type": "item_reference", "id": "i"}]}"#,
            "/input/0: part of the conversation is kept",
        ),
    ];
    for (dialect, body, expected) in rows {
        let error = Request::parse(dialect, body).unwrap_err().to_string();
        assert!(error.contains(expected), "{dialect} {body}: {error}");
    }
}

#[test]
fn what_is_not_known_is_kept_where_it_is() {
    let rows = [
        (
            Dialect::OpenAiChat,
            r#"{"messages": [{"role": "user", "content": [{"type": "hologram", "x": 1.0}]}]}"#,
            "/messages/0/content/0",
        ),
        (
            Dialect::Anthropic,
            r#"{"messages": [{"role": "user", "content": [{"type": "hologram", "x": 1.0}]}]}"#,
            "/messages/0/content/0",
        ),
        (
            Dialect::Gemini,
            r#"{"contents": [{"role": "user", "parts": [{"hologram": 1.0}]}]}"#,
            "/contents/0/parts/0",
        ),
        (
            Dialect::OpenAiResponses,
            r#"{"input": [{"role": "user", "content": "a"}, {"type": "hologram", "x": 1.0}]}"#,
            "/input/1",
        ),
    ];
    for (dialect, body, place) in rows {
        let request = Request::parse(dialect, body).unwrap();
        let unknown: Vec<_> = request.unknown().map(|problem| problem.pointer.as_str()).collect();
        assert_eq!(unknown, [place], "{dialect}");
        assert_eq!(request.folded(&all(request.messages())).unwrap().body, body, "{dialect}");
    }
}

#[test]
fn answers_that_are_none() {
    let refused = r#"{"error": {"message": "too long"}}"#;
    for dialect in Dialect::ALL {
        let error = answer(dialect, "a", refused).unwrap_err();
        assert!(matches!(error, WireError::Refused { .. }), "{dialect}: {error}");
        let error = answer(dialect, "a", "{}").unwrap_err().to_string();
        assert!(error.contains("every answer of this protocol has something here"), "{error}");
    }
    let blocked = answer(Dialect::Gemini, "a", r#"{"promptFeedback": {"blockReason": "SAFETY"}}"#);
    assert_eq!(blocked, Err(WireError::Blocked { reason: "SAFETY".to_owned() }));
}
