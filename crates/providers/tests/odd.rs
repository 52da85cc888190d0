//! Requests and streams with a value somewhere that nobody expects: an error or the same bytes, never a panic.

use crate::spelling::{body, turns};
use crate::views::{Fold, all};
use foldback_providers::wire::{Dialect, Request, Stream, answer_of};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Puts `odd` in the place of the value that comes `at` in the order of a walk.
fn spoil(value: &mut Value, at: &mut usize, odd: &Value) {
    if *at == 0 {
        *value = odd.clone();
        *at = usize::MAX;
        return;
    }
    *at -= 1;
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| spoil(item, at, odd)),
        Value::Object(members) => members.values_mut().for_each(|item| spoil(item, at, odd)),
        _ => {}
    }
}

fn odd() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!(null)),
        Just(json!(7)),
        Just(json!("x")),
        Just(json!([])),
        Just(json!({})),
        Just(json!([[{"type": "text", "text": 1}]])),
        Just(json!({"type": "tool_use", "role": "user"})),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn a_spoilt_request_is_refused_or_comes_back(
        turns in turns(true),
        at in 0usize..200,
        from in 0usize..40,
        odd in odd(),
    ) {
        for dialect in Dialect::ALL {
            let mut body = body(dialect, &turns);
            spoil(&mut body, &mut at.clone(), &odd);
            let body = body.to_string();
            let Ok(request) = Request::parse(dialect, body.as_str()) else { continue };
            let same = request.folded(&all(request.messages())).unwrap().body;
            prop_assert_eq!(same, body, "{}", dialect);
            if !request.messages().is_empty() {
                let fold = Fold::new(request.messages(), from, 1);
                let folded = request.folded(&fold.sent(request.messages())).unwrap();
                prop_assert!(serde_json::from_str::<Value>(&folded.body).is_ok(), "{}", folded.body);
            }
        }
    }

    #[test]
    fn a_spoilt_answer_is_refused_or_read(at in 0usize..60, odd in odd(), row in 0usize..4) {
        let row = &crate::answers::rows()[row];
        let mut whole = row.whole.clone();
        spoil(&mut whole, &mut at.clone(), &odd);
        let _ = answer_of(row.dialect, "a", &whole);
        let mut events = Value::from(row.events.clone());
        spoil(&mut events, &mut (at + 1), &odd);
        let mut stream = Stream::new(row.dialect);
        let events = events.as_array().unwrap().iter().map(|event| format!("data: {event}\n\n"));
        let read = events.map(|event| stream.push(event.as_bytes())).find(Result::is_err);
        if read.is_none() {
            let _ = stream.finish("a");
        }
    }
}
