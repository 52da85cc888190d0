//! The prune walk.

use crate::support::{answer, append, at, cleared, conversation, strategy, tools};
use foldback_core::Limits;
use foldback_core::conversation::Conversation;
use foldback_core::log::{EntryKind, Message, Part, PartKind, ResultStatus, Role};
use foldback_core::moment::Moment;
use foldback_core::outcome::Outcome;
use foldback_core::view::PartPos;
use foldback_test_support::table;
use std::collections::BTreeSet;

const PLACEHOLDER: &str = "[Old tool result content cleared]";

/// Id, version, history, indices of the outputs that are cleared; `rows.toml` says how they are written.
type Row = (String, String, String, Vec<usize>);

fn rows() -> Vec<Row> {
    table::rows(include_str!("../rows/rows.toml"), "prune")
}

/// Preset and changes of a version.
fn version(name: &str) -> (&'static str, &'static str) {
    match name {
        "january" => ("opencode", ""),
        "1.17" => ("opencode-1.17", "[[pruner]]\nuse = \"opencode.prune\"\nenabled = true"),
        "1.18" => ("opencode-1.18", "[[pruner]]\nuse = \"opencode.prune\"\nenabled = true"),
        "off" => ("opencode-1.17", ""),
        "brutus" => ("brutus", "[[pruner]]\nuse = \"opencode.prune\"\nwhen = \"turn-end\""),
        _ => panic!("no version {name}"),
    }
}

fn given((_, name, history, _): &Row) -> Conversation {
    let (preset, changes) = version(name);
    stored(preset, changes, history)
}

/// The versions that a row holds for: the walk never changed.
fn versions(name: &str) -> Vec<&str> {
    match name {
        "january" => vec!["january", "1.17", "1.18", "brutus"],
        _ => vec![name],
    }
}

fn stored(preset: &str, changes: &str, history: &str) -> Conversation {
    let mut conversation = conversation(strategy(preset, changes), Limits::new(2_000_000, 32_000));
    for (index, word) in history.split(' ').enumerate() {
        let id = format!("m{index}");
        let entry = |kind, message: Message| message.as_entry(kind);
        let before = conversation.history().len();
        let messages = match word {
            "user" => vec![Message::user(id, "go on")],
            "answer" => vec![answer(&id, "done")],
            "marker" => vec![entry(EntryKind::Marker, Message::user(id, "entry"))],
            "continue" => vec![entry(EntryKind::Continue, Message::user(id, "entry"))],
            "summary" => {
                let text = vec![Part::text("summary")];
                vec![entry(EntryKind::Summary, Message::new(id, Role::Assistant, text))]
            }
            _ => outputs(&id, word),
        };
        append(&mut conversation, messages);
        if word.starts_with("cleared:") {
            let at = PartPos { item: before + 1, part: 0 };
            conversation.mark_cleared(at, "cleared".into(), 0);
        }
    }
    conversation
}

/// An answer and its results from `[STATUS:]TOOL:TOKENS[+TOOL:TOKENS]…`.
fn outputs(id: &str, word: &str) -> Vec<Message> {
    let (how, calls) = match word.split_once(':') {
        Some((how @ ("cleared" | "error" | "running" | "pending" | "orphan"), calls)) => {
            (how, calls)
        }
        _ => ("", word),
    };
    let sized = calls.split('+').map(|call| {
        let (tool, tokens) = call.split_once(':').expect("a tool and the tokens of its output");
        (tool, "x".repeat(4 * tokens.parse::<usize>().unwrap()))
    });
    let sized: Vec<(&str, String)> = sized.collect();
    let calls: Vec<(&str, &str)> = sized.iter().map(|(tool, text)| (*tool, &**text)).collect();
    let mut messages = tools(id, &calls);
    for part in messages.iter_mut().flat_map(|message| &mut message.parts) {
        if let PartKind::Result(result) = &mut part.kind {
            result.status = match how {
                "error" => ResultStatus::Error,
                "running" => ResultStatus::Running,
                "pending" => ResultStatus::Pending,
                _ => ResultStatus::Completed,
            };
        }
    }
    if how == "orphan" {
        messages.remove(0);
    }
    messages
}

/// All results in stored order.
fn results(conversation: &Conversation) -> Vec<String> {
    let messages = conversation.history().iter();
    messages
        .flat_map(|(_, message)| message.parts.iter().filter_map(|part| part.as_result()))
        .map(|result| result.call_id.clone())
        .collect()
}

#[test]
fn walk() {
    for (id, written_for, history, indices) in rows() {
        for name in versions(&written_for) {
            let (preset, changes) = version(name);
            let mut conversation = stored(preset, changes, &history);
            at(&mut conversation, Moment::TurnEnd, None);
            let all = results(&conversation);
            let expect: Vec<String> = indices.iter().map(|index| all[*index].clone()).collect();
            assert_eq!(cleared(&conversation), expect, "{id}, {name}");
            let texts = conversation.view().edits().values().map(|edit| &*edit.text);
            let shown: Vec<&str> = texts.filter(|text| *text != "cleared").collect();
            assert!(shown.iter().all(|text| *text == PLACEHOLDER), "{id}, {name}: {shown:?}");
        }
    }
}

#[test]
fn a_second_walk_changes_nothing() {
    for row in rows() {
        let mut conversation = given(&row);
        at(&mut conversation, Moment::TurnEnd, None);
        let before = cleared(&conversation);
        for report in at(&mut conversation, Moment::TurnEnd, None) {
            let unchanged = matches!(report.outcome, Outcome::Unchanged(_));
            assert!(unchanged, "{}: {}", row.0, report.outcome);
        }
        assert_eq!(cleared(&conversation), before, "{}", row.0);
    }
}

#[test]
fn output_stays_in_the_log_and_the_placeholder_in_the_view() {
    let mut conversation = given(&rows()[0]);
    let reports = at(&mut conversation, Moment::TurnEnd, None);
    assert_eq!(conversation.history().message(2).shown_text().len(), 200_000, "the log");
    let sent = conversation.sent();
    assert_eq!(sent[2].text_of(0), PLACEHOLDER);
    assert_eq!(conversation.counters().tokens_pruned, 50_000, "{reports:?}");
    assert_eq!(conversation.counters().tokens_reclaimed, 50_000 - 8);
}

#[test]
fn results_are_walked_in_the_order_of_their_calls() {
    // The first call's result arrives last; OpenCode stores it with its call all the same.
    let mut conversation = conversation(strategy("opencode", ""), Limits::new(2_000_000, 32_000));
    conversation.append(Message::user("u1", "go"));
    let mut messages = outputs("a1", "bash:30000+bash:39000");
    messages.swap(1, 2);
    append(&mut conversation, messages);
    append(&mut conversation, ["u2", "u3"].map(|id| Message::user(id, "go")));
    at(&mut conversation, Moment::TurnEnd, None);
    assert_eq!(cleared(&conversation), ["a1-call-0"]);
}

#[test]
fn before_a_summary_the_marker_counts_as_a_turn() {
    let given = || stored("brutus", "[guards]\natomic = false", "user read:60000 user");
    let mut at_turn_end = given();
    at(&mut at_turn_end, Moment::TurnEnd, None);
    assert!(cleared(&at_turn_end).is_empty(), "brutus does not prune at the end of a turn");
    let mut before_summary = given();
    let reports = at(&mut before_summary, Moment::Manual, None);
    assert_eq!(cleared(&before_summary), ["m1-call-0"], "{reports:?}");
}

pub(crate) fn ids() -> BTreeSet<String> {
    rows().into_iter().map(|row| row.0).collect()
}
