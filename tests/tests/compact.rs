//! `foldback::compact`: the body of a request in, the body to send out.

use foldback::wire::{Dialect, Request};
use foldback::{Limits, compact};
use foldback_core::view::ShownMessage;
use foldback_testkit::{Session, lines};
use serde_json::{Value, json};

/// A conversation with so many results of some 1,300 tokens, as a request of a provider.
fn body(dialect: Dialect, results: usize) -> String {
    let mut session = Session::new("a conversation").user("Read them all.");
    for number in 0..results {
        let path = format!("{{\"path\":\"{number}.rs\"}}");
        session = session.call("read", &path, lines(&format!("{number}.rs"), 4_000));
    }
    let empty = match dialect {
        Dialect::OpenAiChat => json!({"model": "unknown", "messages": []}),
        Dialect::Anthropic => json!({"model": "unknown", "max_tokens": 9, "messages": []}),
        Dialect::OpenAiResponses => json!({"model": "unknown", "input": []}),
        Dialect::Gemini => json!({"contents": []}),
    };
    let request = Request::parse(dialect, empty.to_string()).unwrap();
    let shown: Vec<_> = session.messages().iter().map(ShownMessage::plain).collect();
    request.folded(&shown).unwrap().body
}

#[test]
fn a_body_of_each_protocol_is_recognized_and_its_old_results_are_cleared() {
    let limits = Limits::new(10_000, 1_000);
    for dialect in Dialect::ALL {
        let short = body(dialect, 2);
        assert!(compact(&short, "keep-last-1", limits).unwrap().len() < short.len(), "{dialect:?}");
        assert_eq!(compact(&short, "none", limits).unwrap(), short, "{dialect:?}");

        let long = body(dialect, 9);
        let sent = compact(&long, "keep-last-1", limits).unwrap();
        assert!(sent.len() < long.len() / 4, "{dialect:?}: {} of {}", sent.len(), long.len());
        let messages = Request::parse(dialect, sent.clone()).unwrap().messages().len();
        assert_eq!(
            messages,
            Request::parse(dialect, long).unwrap().messages().len(),
            "{dialect:?}"
        );
        // As the same conversation would be sent one call later, it begins like this.
        let next = compact(&body(dialect, 10), "keep-last-1", limits).unwrap();
        let same = sent.bytes().zip(next.bytes()).take_while(|(one, other)| one == other).count();
        assert!(same > sent.len() / 10, "{dialect:?}: {same} of {}", sent.len());
    }
}

#[test]
fn what_can_not_be_compacted_is_said_in_a_sentence() {
    let limits = Limits::new(10_000, 1_000);
    let table = [
        (
            "{}",
            "none",
            limits,
            "this is no request: there are no `messages`, no `input` and no `contents`",
        ),
        ("{", "none", limits, "EOF while parsing an object at line 1 column 1"),
        (r#"{"messages": 3}"#, "none", limits, "/messages: this is to be a list of messages"),
        (r#"{"messages": []}"#, "nun", limits, "nun: no preset has this name"),
        (
            r#"{"messages": []}"#,
            "window",
            Limits::new(8_000, 7_000),
            "preset window can't work in a window of 8000 tokens with 7000 of output: ",
        ),
    ];
    for (body, preset, limits, expected) in table {
        let error = compact(body, preset, limits).unwrap_err();
        let said = format!("{error:?}");
        assert_eq!(said, error.to_string());
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn it_may_be_called_in_a_runtime() {
    let body = body(Dialect::OpenAiChat, 9);
    let limits = Limits::new(10_000, 1_000);
    let sent = foldback_testkit::talk::block_on(async { compact(&body, "tunacode-local", limits) });
    let sent: Value = serde_json::from_str(&sent.unwrap()).unwrap();
    assert!(sent["messages"].as_array().is_some_and(|messages| messages.len() > 2));
}
