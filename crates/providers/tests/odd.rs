//! Requests and streams with a value somewhere that nobody expects: an error or the same bytes, never a panic.

use crate::spelling::{body, turns};
use crate::views::{CLEARED, Fold, all};
use foldback_core::log::{Part, PartKind};
use foldback_core::view::{EditKind, PartEdit, ShownMessage};
use foldback_providers::wire::{Dialect, Request, Stream, answer_of};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
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

fn odds() -> [Value; 7] {
    [
        json!(null),
        json!(7),
        json!("x"),
        json!([]),
        json!({}),
        json!([[{"type": "text", "text": 1}]]),
        json!({"type": "tool_use", "role": "user"}),
    ]
}

fn odd() -> impl Strategy<Value = Value> {
    prop::sample::select(odds().to_vec())
}

fn places(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(places).sum::<usize>(),
        Value::Object(members) => members.values().map(places).sum(),
        _ => 0,
    }
}

/// Each value of a request in turn is something else: whatever is read of it can be cleared.
#[test]
fn what_is_read_of_a_spoilt_request_can_be_edited() {
    let edit = |text: &str| PartEdit { kind: EditKind::Clear, text: text.into(), at: 0 };
    let (cleared, no_input) = (edit(CLEARED), edit("{}"));
    let mut runner = TestRunner::deterministic();
    let drawn: Vec<_> =
        (0..3).map(|_| turns(true).new_tree(&mut runner).unwrap().current()).collect();
    let mut edited = 0;
    for (dialect, turns) in
        Dialect::ALL.into_iter().flat_map(|one| drawn.iter().map(move |t| (one, t)))
    {
        let whole = body(dialect, turns);
        for (at, odd) in (0..places(&whole)).flat_map(|at| odds().map(|odd| (at, odd))) {
            let mut body = whole.clone();
            spoil(&mut body, &mut at.clone(), &odd);
            let Ok(request) = Request::parse(dialect, body.to_string()) else { continue };
            let sent: Vec<ShownMessage<'_>> = request
                .messages()
                .iter()
                .map(|message| {
                    let edit = |part: &Part| match part.kind {
                        PartKind::Call(_) => Some(&no_input),
                        PartKind::Result(_) | PartKind::Text { .. } => Some(&cleared),
                        _ => None,
                    };
                    let parts = message.parts.iter().enumerate();
                    let edits = parts.filter_map(|(part, of)| Some((part, edit(of)?))).collect();
                    ShownMessage { edits, ..ShownMessage::plain(message) }
                })
                .collect();
            edited += sent.iter().map(|shown| shown.edits.len()).sum::<usize>();
            let folded = request.folded(&sent).map(|folded| folded.body);
            let folded = folded.unwrap_or_else(|why| panic!("{dialect}: {why}: {body}"));
            assert!(serde_json::from_str::<Value>(&folded).is_ok(), "{dialect}: {folded}");
        }
    }
    assert!(edited > 10_000, "{edited}");
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
