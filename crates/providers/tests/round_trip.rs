//! What comes in goes out as it came, but for what a view changes.

use crate::spelling::{body, turns};
use crate::views::{CLEARED, Fold, all};
use foldback_core::log::{Message, Part, PartKind, Role};
use foldback_core::validity::validate;
use foldback_core::view::ShownMessage;
use foldback_providers::wire::{Dialect, Item, Request};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::Arc;

/// Who says what, without what a fresh reading may name otherwise.
fn said(message: &Message) -> (Role, Vec<String>) {
    let part = |part: &Part| match &part.kind {
        PartKind::Reasoning { text, opaque } => format!("thought {text} {opaque:?}"),
        PartKind::Call(call) => format!("call {} {}", call.tool, call.arguments_value()),
        PartKind::Result(result) => {
            format!("result {} {} {:?} {:?}", result.tool, result.text, result.status, result.media)
        }
        other => format!("{other:?}"),
    };
    (message.role, message.parts.iter().map(part).collect())
}

/// The body without its list of messages, keys in order.
fn around(body: &str) -> String {
    let mut body: Value = serde_json::from_str(body).unwrap();
    for list in ["messages", "contents", "input"] {
        if let Some(list) = body.get_mut(list) {
            *list = Value::Null;
        }
    }
    body.to_string()
}

/// The messages of a body.
fn list_of(body: &str) -> Vec<Value> {
    let body: Value = serde_json::from_str(body).unwrap();
    let list = ["messages", "contents", "input"].into_iter().find_map(|list| body[list].as_array());
    list.unwrap().clone()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// Nothing is folded: the same bytes, however the client spaces its JSON.
    #[test]
    fn an_unfolded_request_is_the_same_bytes(turns in turns(true), pretty in any::<bool>()) {
        for dialect in Dialect::ALL {
            let body = body(dialect, &turns);
            let body = if pretty { format!(" {body:#}\n") } else { body.to_string() };
            let request = Request::parse(dialect, body.as_str()).unwrap();
            let folded = request.folded(&all(request.messages())).unwrap();
            prop_assert_eq!(folded.body, body, "{}", dialect);
            prop_assert!(folded.losses.is_empty(), "{}: {:?}", dialect, folded.losses);
            prop_assert_eq!(request.unknown().count(), 0);
        }
    }

    /// A fold: the provider takes it, it says what the view shows, and all around the messages is as it was.
    #[test]
    fn a_folded_request_is_what_the_view_shows(
        turns in turns(true),
        at in 0usize..40,
        nth in 1usize..4,
        pretty in any::<bool>(),
    ) {
        for dialect in Dialect::ALL {
            let body = body(dialect, &turns);
            let body = if pretty { format!("{body:#}") } else { body.to_string() };
            let request = Request::parse(dialect, body).unwrap();
            let fold = Fold::new(request.messages(), at, nth);
            let sent = fold.sent(request.messages());
            let folded = request.folded(&sent).unwrap();
            prop_assert!(folded.losses.is_empty(), "{}: {:?}", dialect, folded.losses);

            let again = Request::parse(dialect, folded.body.as_str()).unwrap();
            let violations = validate(all(again.messages()), dialect);
            prop_assert!(violations.is_empty(), "{}: {:?}\n{}", dialect, violations, folded.body);
            let mut shown: Vec<_> = sent.iter().map(|shown| said(&shown.to_message())).collect();
            // What was cleared has no files any more.
            for message in &mut shown {
                for part in message.1.iter_mut().filter(|part| part.contains(CLEARED)) {
                    if let Some(at) = part.rfind(" [Media") {
                        part.replace_range(at.., " []");
                    }
                }
            }
            let read: Vec<_> = again.messages().iter().map(|message| said(message)).collect();
            prop_assert_eq!(read, shown, "{}: {}", dialect, folded.body);
            prop_assert_eq!(around(&folded.body), around(request.body()));
            prop_assert_eq!(again.frame(), request.frame());
            // One by one they are the same, and what was not edited is by its number.
            let list = request.folded_list(&sent).unwrap();
            let (before, after) = (list_of(request.body()), list_of(&folded.body));
            let one_by_one = list.items.into_iter().map(|item| match item {
                Item::Keep(number) => before[number as usize].clone(),
                Item::Changed(_, text) => serde_json::from_str(&text).unwrap(),
                Item::New(value) => value,
            });
            prop_assert_eq!(one_by_one.collect::<Vec<_>>(), after, "{}", dialect);
        }
    }

    /// A request without messages takes any: what is made is read as what it was.
    #[test]
    fn messages_are_made_for_an_empty_request(turns in turns(true)) {
        for dialect in Dialect::ALL {
            let full = body(dialect, &turns);
            let request = Request::parse(dialect, full.to_string()).unwrap();
            // Not of the template's own: they have to be made.
            let mut empty = full.clone();
            for list in ["messages", "contents", "input"] {
                if let Some(list) = empty.get_mut(list) {
                    *list = Value::Array(Vec::new());
                }
            }
            let template = Request::parse(dialect, empty.to_string()).unwrap();
            let folded = template.folded(&all(request.messages())).unwrap();
            let again = Request::parse(dialect, folded.body.as_str()).unwrap();
            let violations = validate(all(again.messages()), dialect);
            prop_assert!(violations.is_empty(), "{}: {:?}\n{}", dialect, violations, folded.body);
            let told = |request: &Request| -> Vec<_> {
                request.messages().iter().map(|message| said(message)).collect()
            };
            // Chat has no system message here, and reasoning goes in front of the text.
            if dialect != Dialect::OpenAiChat {
                prop_assert_eq!(told(&again), told(&request), "{}: {}", dialect, folded.body);
            }
        }
    }
}

#[test]
fn the_same_messages_in_a_longer_request_are_equal() {
    let short = r#"{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}"#;
    let long = r#"{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},
        {"role":"user","content":"c"}]}"#;
    let (short, long) = (
        foldback_providers::wire::openai::request(short),
        foldback_providers::wire::openai::request(long),
    );
    let (short, long) = (short.unwrap(), long.unwrap());
    assert_eq!(short.messages(), &long.messages()[..2]);
    // A view of the first request's messages is one of the second's.
    let mut sent: Vec<ShownMessage<'_>> = all(short.messages());
    sent.push(ShownMessage::plain(&long.messages()[2]));
    assert_eq!(long.folded(&sent).unwrap().body, long.body());
}

/// Calls of one tool of which some came with ids.
#[test]
fn a_result_of_gemini_goes_to_the_call_that_it_names_or_to_one_without_a_name() {
    let call = |id: &str| match id {
        "" => json!({"functionCall": {"name": "read", "args": {}}}),
        id => json!({"functionCall": {"name": "read", "args": {}, "id": id}}),
    };
    let result = |id: &str| match id {
        "" => json!({"functionResponse": {"name": "read", "response": {"output": "x"}}}),
        id => json!({"functionResponse": {"name": "read", "response": {"output": "x"}, "id": id}}),
    };
    let rows: [(&[&str], &[&str], &[&str]); 6] = [
        (&["a", ""], &["", "a"], &["read", "a"]),
        (&["a", ""], &["a", ""], &["a", "read"]),
        (&["", "a"], &["a", ""], &["a", "read"]),
        (&["a", "b"], &["", "b"], &["a", "b"]),
        (&["", "a"], &["made", "a"], &["read", "a"]),
        (&["a", ""], &["made", "a"], &["read", "a"]),
    ];
    for (calls, results, answered) in rows {
        let calls: Vec<Value> = calls.iter().map(|id| call(id)).collect();
        let results: Vec<Value> = results.iter().map(|id| result(id)).collect();
        let body = json!({"contents": [
            {"role": "user", "parts": [{"text": "Why?"}]},
            {"role": "model", "parts": calls}, {"role": "user", "parts": results},
        ]});
        let request = Request::parse(Dialect::Gemini, body.to_string()).unwrap();
        let results = request.messages().iter().flat_map(|message| &message.parts);
        let found: Vec<&str> =
            results.filter_map(Part::as_result).map(|result| &*result.call_id).collect();
        assert_eq!(found, answered, "{body}");
    }
}

#[test]
fn a_text_as_input_becomes_a_message_once_something_stands_beside_it() {
    let body = r#"{"model": "m", "input": "a \u00e9", "store": false}"#;
    let request = foldback_providers::wire::responses::request(body).unwrap();
    assert_eq!(request.folded(&all(request.messages())).unwrap().body, body);
    let more = Arc::new(Message::user("more", "b"));
    let mut sent = all(request.messages());
    sent.push(ShownMessage::plain(&more));
    assert_eq!(
        request.folded(&sent).unwrap().body,
        r#"{"model": "m", "input": [{"role":"user","content":"a \u00e9"},{"type":"message","role":"user","content":[{"type":"input_text","text":"b"}]}], "store": false}"#
    );
}
