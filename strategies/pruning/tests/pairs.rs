//! The rows, in `pairs.toml`.

use foldback_core::Limits;
use foldback_core::conversation::Conversation;
use foldback_core::log::{Message, Part, PartKind, Role, Usage};
use foldback_core::moment::Moment;
use foldback_core::strategy::Strategy;
use foldback_core::view::ShownMessage;
use foldback_test_support::table;
use foldback_testkit::talk;
use serde::de::DeserializeOwned;
use std::collections::VecDeque;

const PRESET: &str = include_str!("../presets/fast-jev.toml");

fn rows<T: DeserializeOwned>(group: &str) -> Vec<T> {
    table::rows(include_str!("../rows/pairs.toml"), group)
}

fn strategy(toml: &str) -> Strategy {
    let registry =
        talk::registry([&foldback_stages::REGISTRATION, &foldback_pruning::REGISTRATION]);
    talk::compiled(&registry, toml)
}

/// The messages of a row.
fn messages(row: &str) -> Vec<Message> {
    let (mut open, mut calls) = (VecDeque::new(), 0);
    let x = |length: &str| "x".repeat(length.parse().unwrap());
    let message = |(at, word): (usize, &str)| {
        let (kind, rest) = word.split_at(1);
        let id = format!("{kind}{at}");
        let (text, more) = rest.split_once('.').unwrap_or((rest, ""));
        let mut parts = vec![Part::text(x(text))];
        match kind {
            "u" => Message::user(id, x(text)),
            "t" => Message::tool(id, open.pop_front().unwrap(), "read", x(text)),
            _ => {
                if kind == "r" {
                    let (text, opaque) = ("so".to_owned(), Some("signed".to_owned()));
                    parts.insert(0, Part::new(PartKind::Reasoning { text, opaque }));
                }
                for length in more.split('.').filter(|length| !length.is_empty()) {
                    calls += 1;
                    open.push_back(format!("c{calls}"));
                    let arguments = format!(
                        "{{\"a\":\"{}\"}}",
                        "x".repeat(length.parse::<usize>().unwrap() - 8)
                    );
                    parts.push(Part::call(format!("c{calls}"), "read", arguments));
                }
                Message::assistant(id, parts)
            }
        }
    };
    row.split(' ').enumerate().map(message).collect()
}

/// What is sent, in the words of the rows.
fn sent(talk: &Conversation) -> String {
    let word = |shown: &ShownMessage<'_>| {
        let message = shown.to_message();
        let said = message.said().encode_utf16().count();
        match (message.role, message.call_ids().count()) {
            (Role::User, _) => format!("u{said}"),
            (Role::Tool, _) => "t".to_owned(),
            (_, 0) => format!("a{said}"),
            (_, calls) => format!("a{said}c{calls}"),
        }
    };
    talk.sent().iter().map(word).collect::<Vec<_>>().join(" ")
}

fn talk(toml: &str, window: u64, row: &str) -> Conversation {
    let mut talk = talk::conversation(strategy(toml), Limits::new(window, 0));
    talk::append(&mut talk, messages(row));
    talk
}

#[test]
fn folds() {
    for (id, row, expect) in rows::<(String, String, String)>("folds") {
        let mut talk = talk(PRESET, 200_000, &row);
        let before = sent(&talk);
        talk::at(&mut talk, Moment::Manual);
        let expect = if expect == "-" { before } else { expect };
        assert_eq!(sent(&talk), expect, "{id} {row}");
    }
}

#[test]
fn triggers() {
    for (id, moment, window, used, folds) in rows::<(String, Moment, u64, u64, bool)>("triggers") {
        let mut talk = talk::conversation(strategy(PRESET), Limits::new(window, 0));
        talk::append(&mut talk, messages("u10 a10"));
        let usage = Usage { uncached: used, ..Usage::default() };
        let reports = talk::at_usage(&mut talk, moment, Some(usage));
        let decision = reports.iter().find_map(|report| report.decision.clone()).unwrap();
        assert_eq!(decision.fold, folds, "{id}: {}", decision.reason);
    }
}

/// The stage alone, with these fields.
fn stage(fields: &str) -> String {
    format!(
        "name = \"stage\"\n[estimator]\nuse = \"chars\"\nper_token = 1\n[filter]\nuse = \"drop-pairs\"\n{fields}\n[summarizer]\nuse = \"none\"\n"
    )
}

#[test]
fn pairs() {
    for (id, fields, window, row, expect) in rows::<(String, String, u64, String, String)>("pairs")
    {
        let mut talk = talk(&stage(&fields), window, &row);
        let log = talk.tokens();
        talk::at(&mut talk, Moment::Manual);
        assert_eq!(sent(&talk), expect, "{id} {fields} {row}: {log}");
    }
}

#[test]
fn what_can_not_be_is_refused() {
    let registry = talk::registry([&foldback_stages::REGISTRATION]);
    for (fields, named) in rows::<(String, String)>("refused") {
        let errors = talk::try_compile(&registry, &stage(&fields)).unwrap_err().to_string();
        assert!(errors.contains(&named), "{errors}");
    }
}

/// Each fold leaves what was said, so that what is left only grows.
#[test]
fn the_floor_grows_by_what_was_said() {
    let mut talk = talk(&stage("pairs = { keep = 1 }"), 0, "u5");
    for round in 1..20 {
        talk::append(
            &mut talk,
            messages("c3.9 t90 u5").into_iter().map(|mut message| {
                message.id = format!("{round} {}", message.id);
                message
            }),
        );
        talk::at(&mut talk, Moment::Manual);
        let said = sent(&talk);
        assert_eq!(said, format!("u5{}", " a3 u5".repeat(round)), "after {round} folds");
    }
    talk.undo();
    assert!(sent(&talk).ends_with("a3c1 t u5"));
}
