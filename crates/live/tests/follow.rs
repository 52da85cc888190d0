//! A conversation that is met request by request.

use foldback::{Conversation, Frame, Limits, Services};
use foldback_core::services::FixedClock;
use foldback_core::validity::Dialect;
use foldback_live::follow::{Followed, Received, identity};
use foldback_providers::wire::Request;
use serde_json::{Value, json};
use std::sync::Arc;

/// Three turns, of two calls at once, one more call and an answer; between the results of the second turn's two calls the
/// user speaks.
fn chat() -> Vec<Value> {
    let call = |id: &str| {
        let function = json!({ "name": "read", "arguments": "{\"path\":\"a\"}" });
        json!({ "id": id, "type": "function", "function": function })
    };
    let asks = |ids: &[&str]| {
        let calls: Vec<Value> = ids.iter().map(|id| call(id)).collect();
        json!({ "role": "assistant", "content": null, "tool_calls": calls })
    };
    let result = |id: &str| {
        let text = format!("{id} says much. ").repeat(20_000);
        json!({ "role": "tool", "tool_call_id": id, "content": text })
    };
    let said = |role: &str, text: &str| json!({ "role": role, "content": text });
    let turn = |first: &str, second: &str, third: &str| {
        let both = [asks(&[first, second]), result(first), result(second)];
        let rest = [asks(&[third]), result(third), said("assistant", "That is all.")];
        [said("user", "Read.")].into_iter().chain(both).chain(rest)
    };
    let turns = [turn("c1", "c2", "c3"), turn("c4", "c5", "c6"), turn("c7", "c8", "c9")];
    let mut chat: Vec<Value> =
        turns.into_iter().flatten().chain([said("user", "Thanks.")]).collect();
    let second = chat.iter().position(|message| message["tool_call_id"] == "c5").unwrap();
    chat.insert(second, said("user", "And mind the dates."));
    chat
}

/// What the engine has in the end of the messages that it is shown with so many of them, each time from the first on. The
/// preset prunes where a turn ends.
fn after(chat: &[Value], lengths: impl Iterator<Item = usize>) -> (Vec<String>, u64, u64) {
    let registry = foldback::registry().unwrap();
    let strategy = Arc::new(foldback::preset(&registry, "opencode").unwrap());
    let limits = Limits::new(1_000_000, 1_000);
    let services = Services::with_clock(Arc::new(FixedClock::default()));
    let conversation = Conversation::new(strategy, limits, Frame::default(), services);
    let first = identity::first("chat");
    let mut followed = Followed::new(conversation, 0, first);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for length in lengths {
        let body = json!({ "model": "m", "messages": &chat[..length] }).to_string();
        let read = Request::follow(Dialect::OpenAiChat, body, None, 0).unwrap();
        let mut keys = vec![first];
        identity::extend(&mut keys, read.request.messages());
        assert!(followed.is_repeated(&keys), "{length}");
        let received = Received::new(&read.request, &keys, limits);
        runtime.block_on(followed.take(received, |_, _| None)).unwrap();
    }
    let history = followed.conversation().history();
    let log = history.iter().map(|(_, message)| message.shown_text().chars().take(30).collect());
    let sizes = followed.sizes();
    (log.collect(), sizes.received, sizes.sent)
}

/// Whoever has the messages folded after each of them, and not only where the model is asked, has the same log and the
/// same moments.
#[test]
fn no_message_and_no_moment_is_missed_between_two_requests() {
    let chat = chat();
    let asked =
        (1..=chat.len()).filter(|at| chat.get(*at).is_none_or(|m| m["role"] == "assistant"));
    let (log, received, sent) = after(&chat, asked);
    assert_eq!(log.len(), chat.len());
    assert!(sent < received, "the end of a turn prunes: {sent} of {received}");
    assert_eq!(after(&chat, 1..=chat.len()), (log, received, sent));
}
