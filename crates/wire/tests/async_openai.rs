//! The types of `async-openai`: both ways, with calls, results and images.

use crate::spelling::{body, turns};
use crate::views::{Fold, all};
use async_openai::types::chat::{CreateChatCompletionRequest, CreateChatCompletionResponse};
use foldback_core::log::{Finish, Message, Part, PartKind};
use foldback_core::view::Shown;
use foldback_wire::{Dialect, async_openai as adapter};
use proptest::prelude::*;
use serde_json::json;
use std::sync::Arc;

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn what_is_not_folded_comes_back_equal(turns in turns(false), at in 0usize..40) {
        let body = body(Dialect::OpenAiChat, &turns);
        let typed: CreateChatCompletionRequest = serde_json::from_value(body).unwrap();
        let request = adapter::request(&typed).unwrap();
        let (same, losses) = adapter::folded(&request, &all(request.messages())).unwrap();
        prop_assert_eq!(&same, &typed);
        prop_assert!(losses.is_empty(), "{:?}", losses);

        let fold = Fold::new(request.messages(), at, 2);
        let sent = fold.sent(request.messages());
        let (folded, losses) = adapter::folded(&request, &sent).unwrap();
        prop_assert!(losses.is_empty(), "{:?}", losses);
        let again = adapter::messages(&folded.messages).unwrap();
        let shown: Vec<String> = sent.iter().map(|shown| shown.to_message().shown_text()).collect();
        let read: Vec<String> = again.messages().iter().map(|one| one.shown_text()).collect();
        prop_assert_eq!(read, shown);
        prop_assert_eq!(folded.tools, typed.tools);
    }
}

#[test]
fn what_the_crate_has_no_place_for_is_named() {
    let typed: CreateChatCompletionRequest =
        serde_json::from_value(json!({"model": "m", "messages": []})).unwrap();
    let request = adapter::request(&typed).unwrap();
    let thought = PartKind::Reasoning { text: "Hm.".to_owned(), opaque: None };
    let answer = Message::assistant("a", vec![Part::new(thought), Part::text("So.")]);
    let answer = Arc::new(answer);
    let (_, losses) = adapter::folded(&request, &[Shown::plain(&answer)]).unwrap();
    assert_eq!(
        losses,
        ["/messages/0/reasoning_content: no type of async-openai has a place for it"]
    );
}

#[test]
fn an_answer_with_calls_and_usage() {
    let answer: CreateChatCompletionResponse = serde_json::from_value(json!({
        "id": "c", "object": "chat.completion", "created": 1, "model": "m-1",
        "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {
            "role": "assistant", "content": null,
            "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "read", "arguments": "{}"}}],
        }}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12},
    }))
    .unwrap();
    let message = adapter::answer("a1", &answer).unwrap();
    assert_eq!(message.parts, [Part::call("call_1", "read", "{}")]);
    let told = message.answer.unwrap();
    assert_eq!((told.finish, told.usage.unwrap().input_total()), (Some(Finish::ToolCalls), 10));
}
