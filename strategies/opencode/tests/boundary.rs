//! The view filter. `rows.toml` says how a history is written.

use crate::support::{conversation, registry, strategy};
use foldback_core::Limits;
use foldback_core::config::{Options, compile_preset};
use foldback_core::log::{Answer, Finish, Message, Part, Role};
use foldback_opencode::boundary::{Completes, Latest, MessageMarks, filter_compacted, latest};
use foldback_opencode::stored;
use foldback_test_support::table;
use std::collections::BTreeSet;

fn seen(word: &str) -> MessageMarks<'_> {
    let name = word.trim_end_matches(['!', '?']);
    let (name, parent) = split(name, '^');
    let (id, tail_start) = split(name, '>');
    let user = id.starts_with(['u', 'c']);
    MessageMarks {
        id,
        user,
        summary: id.starts_with('s'),
        parent,
        finished: !user && !word.ends_with('?'),
        failed: word.ends_with('!'),
        marker: id.starts_with('c'),
        tail_start,
    }
}

fn split(word: &str, at: char) -> (&str, Option<&str>) {
    word.split_once(at).map_or((word, None), |(head, tail)| (head, Some(tail)))
}

fn parse(history: &str) -> Vec<MessageMarks<'_>> {
    history.split_whitespace().map(seen).collect()
}

fn filtered(history: &str, completes: Completes) -> String {
    let messages = parse(history);
    let order = filter_compacted(&messages, completes);
    let ids: Vec<&str> = order.iter().map(|index| messages[*index].id).collect();
    ids.join(" ")
}

const JAN: Completes = Completes::Finished;
const JUN: Completes = Completes::Succeeded;

/// Id, version, history, what is shown of it.
fn rows() -> Vec<(String, String, String, String)> {
    table::rows(include_str!("../rows/rows.toml"), "filter")
}

#[test]
fn view_filter() {
    for (id, version, given, expect) in rows() {
        let preset = match version.as_str() {
            "january" => "opencode",
            "1.17" => "opencode-1.17",
            _ => "brutus",
        };
        let compiled = compile_preset(&registry(), preset, Options::default()).unwrap();
        let completes = compiled.root.at("filter.completes").unwrap().to_value();
        let completes = serde_json::from_value(completes).unwrap();
        assert_eq!(filtered(&given, completes), expect, "{id}");
    }
}

#[test]
fn latest_by_stored_order() {
    // The tail assistant stands last in the view but is older than the summary.
    let given = parse("u1 a1 c1>a1 s1^c1 u2");
    let view = filter_compacted(&given, JUN);
    assert_eq!(view, [2, 3, 1, 4]);
    let expect = Latest { user: Some(4), assistant: Some(3), finished: Some(3), pending: vec![] };
    assert_eq!(latest(&given, &view), expect, "OC17-F12");

    let given = parse("u1 a1 c1>a1 s1^c1 c2");
    let view = filter_compacted(&given, JUN);
    let found = latest(&given, &view);
    assert_eq!((found.user, found.pending), (Some(4), vec![4]), "OC17-F13");
}

#[test]
fn an_answer_that_did_not_finish_is_not_the_newest_finished() {
    let given = parse("u1 a1 u2 a2?");
    let found = latest(&given, &filter_compacted(&given, JUN));
    assert_eq!((found.assistant, found.finished), (Some(3), Some(1)));
}

/// Messages as role and record, and which are stored as one.
#[test]
fn answers_of_one_record_are_one_stored_message() {
    let rows = [
        ([(Role::Assistant, Some(7)), (Role::Assistant, Some(7))], vec![vec![0, 1]]),
        ([(Role::Assistant, Some(7)), (Role::Assistant, Some(8))], vec![vec![0], vec![1]]),
        ([(Role::Assistant, None), (Role::Assistant, None)], vec![vec![0], vec![1]]),
        ([(Role::User, Some(7)), (Role::Assistant, Some(7))], vec![vec![0], vec![1]]),
    ];
    for (messages, expected) in rows {
        let mut talk = conversation(strategy("opencode", ""), Limits::default());
        for (at, (role, record)) in messages.iter().enumerate() {
            let mut message = Message::new(format!("m{at}"), *role, vec![Part::text("on")]);
            message.record = *record;
            talk.append(message);
        }
        let stored = stored::stored_messages(talk.history());
        let items: Vec<Vec<usize>> = stored.into_iter().map(|unit| unit.items).collect();
        assert_eq!(items, expected, "{messages:?}");
    }
}

/// Role, why it stopped, whether it counts as finished.
#[test]
fn an_answer_finished_if_it_says_why() {
    let ended = || Answer { finish: Some(Finish::Stop), ..Answer::default() };
    let rows = [
        (Message::assistant("a", vec![]).with_answer(ended()), true),
        (Message::assistant("a", vec![]).with_answer(Answer::default()), false),
        (Message::assistant("a", vec![]), false),
        (Message::user("u", "go on"), false),
        (Message::user("u", "go on").with_answer(ended()), false),
    ];
    for (message, finished) in rows {
        assert_eq!(stored::seen(&[&message]).finished, finished, "{message:?}");
    }
}

#[test]
fn checkpoints_are_markers_with_their_summaries() {
    let given = parse("u0 c1 s1^c1 u1 c2 s2^c2! u2 c3");
    let of = |completes: Completes| completes.checkpoints(&given).into_iter().collect::<Vec<_>>();
    assert_eq!(of(JUN), [1, 2]);
    assert_eq!(of(JAN), [1, 2, 4, 5]);
}

pub(crate) fn ids() -> BTreeSet<String> {
    let others = ["OC17-F12", "OC17-F13"];
    rows().into_iter().map(|row| row.0).chain(others.map(str::to_owned)).collect()
}
