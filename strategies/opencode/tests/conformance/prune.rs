//! The prune walk.

use crate::support::{answer, at, cleared, conversation, strategy, tools};
use foldback_core::Limits;
use foldback_core::conversation::Conversation;
use foldback_core::log::{EntryKind, Message, Origin, Part, PartKind, ResultStatus, Role};
use foldback_core::moment::Moment;
use foldback_core::outcome::Outcome;
use foldback_core::view::PartPos;

const ON: &str = "[[pruner]]\nuse = \"opencode.prune\"\nenabled = true";
const GO: &str = "[[pruner]]\nuse = \"opencode.prune\"\nwhen = \"turn-end\"";

/// What stands in a stored history.
enum Given {
    /// A user message.
    U,
    /// An answer with tool outputs: (tool, characters).
    A(&'static [(&'static str, usize)]),
    /// An answer whose tool outputs are cleared already.
    Cleared(&'static [(&'static str, usize)]),
    /// An answer whose tools ended so.
    Ended(ResultStatus, usize),
    /// A marker without a summary, or a continue message.
    Entry(EntryKind),
    /// A summary, finished or not.
    Summary,
}
use Given::{A, Cleared, Ended, Entry, Summary, U};

struct Row {
    id: &'static str,
    preset: &'static str,
    changes: &'static str,
    given: Vec<Given>,
    /// Indices of the outputs that are cleared, counted over the history.
    expect: &'static [usize],
}

/// Characters that make a token.
const T: usize = 4;

#[rustfmt::skip]
fn rows() -> Vec<Row> {
    let jan = |id, given, expect| Row {
        id,
        preset: "opencode",
        changes: "",
        given,
        expect,
    };
    let jun = |id, given, expect| Row {
        id,
        preset: "opencode-1.17",
        changes: ON,
        given,
        expect,
    };
    let go = |id, given, expect| Row {
        id,
        preset: "brutus",
        changes: GO,
        given,
        expect,
    };
    vec![
        jun("OC17-P1", vec![U, A(&[("bash", 200_000)]), U, U], &[0]),
        jun("OC17-P2", vec![U, A(&[("skill", 200_000)]), U, U], &[]),
        jun("RS-P3", vec![U, A(&[("read", 240_000), ("skill", 240_000)]), U, A(&[]), U, A(&[])], &[0]),
        jun("RS-P4", vec![U, A(&[("bash", 100)]), U, U], &[]),
        Row { changes: "", ..jun("RS-P5", vec![U, A(&[("bash", 200_000)]), U, U], &[]) },
        go("BR-4", vec![U, A(&[("read", 10_000)]), U, U], &[]),
        go("BR-4b", vec![U, A(&[("read", 240_000)]), U, U], &[0]),
        // The edge cases of the January version.
        jan("exactly protected", vec![U, A(&[("bash", T * 40_000)]), U, U], &[]),
        jan("one over", vec![U, A(&[("bash", T * 40_001)]), U, U], &[0]),
        jan("exactly the minimum", vec![U, A(&[("bash", T * 20_000), ("bash", T * 39_999)]), U, U], &[]),
        jan("one over the minimum", vec![U, A(&[("bash", T * 20_001), ("bash", T * 39_999)]), U, U], &[0]),
        jan("skill is not counted", vec![U, A(&[("bash", T * 39_999), ("skill", T * 90_000)]), U, U], &[]),
        jan("a cleared part ends it", vec![U, A(&[("bash", T * 90_000)]), U, Cleared(&[("bash", 400)]), U, U], &[1]),
        jan("one user message only", vec![U, A(&[("bash", T * 90_000)])], &[]),
        // What else the walk does.
        jan("what follows the second-newest user message stays", vec![U, A(&[("bash", T * 90_000)]), U, A(&[("bash", T * 90_000)]), U, A(&[])], &[0]),
        jan("the newest is not", vec![U, A(&[]), U, A(&[("bash", T * 90_000)])], &[]),
        jan("markers count as turns", vec![U, A(&[("bash", T * 90_000)]), Entry(EntryKind::Marker), U], &[0]),
        jan("continues count as turns", vec![U, A(&[("bash", T * 90_000)]), Entry(EntryKind::Continue), U], &[0]),
        jan("a summary ends it", vec![U, A(&[("bash", T * 90_000)]), Summary, U, U], &[]),
        jan("a summary of the newest turn does not", vec![U, A(&[("bash", T * 90_000)]), U, U, Summary], &[0]),
        jan("errors stay", vec![U, Ended(ResultStatus::Error, T * 90_000), U, U], &[]),
        jan("running tools stay", vec![U, Ended(ResultStatus::Running, T * 90_000), U, U], &[]),
        jan("pending tools stay", vec![U, Ended(ResultStatus::Pending, T * 90_000), U, U], &[]),
        jan("newest part first", vec![U, A(&[("a", T * 30_000), ("b", T * 39_000), ("c", T * 2_000)]), U, U], &[0, 1]),
        jan("a cleared skill does not end it", vec![U, A(&[("bash", T * 90_000)]), Cleared(&[("skill", 400)]), U, U], &[0, 1]),
    ]
}

fn given(row: &Row) -> Conversation {
    let mut conversation =
        conversation(strategy(row.preset, row.changes), Limits::new(2_000_000, 32_000));
    for (index, given) in row.given.iter().enumerate() {
        let id = format!("m{index}");
        match given {
            U => {
                conversation.append(Message::user(id, "go on"));
            }
            A(calls) => append_tools(&mut conversation, &id, calls, ResultStatus::Completed),
            Cleared(calls) => {
                append_tools(&mut conversation, &id, calls, ResultStatus::Completed);
                let item = conversation.history().len() - 1;
                conversation.mark_cleared(PartPos { item, part: 0 }, "cleared".into(), 0);
            }
            Ended(status, chars) => {
                append_tools(&mut conversation, &id, &[("bash", *chars)], *status)
            }
            Entry(kind) => {
                conversation
                    .append(Message { origin: Origin::Entry(*kind), ..Message::user(id, "entry") });
            }
            Summary => {
                conversation.append(Message {
                    origin: Origin::Entry(EntryKind::Summary),
                    ..Message::new(id, Role::Assistant, vec![Part::text("summary")])
                });
            }
        }
    }
    conversation
}

fn append_tools(
    conversation: &mut Conversation,
    id: &str,
    calls: &[(&str, usize)],
    status: ResultStatus,
) {
    if calls.is_empty() {
        conversation.append(answer(id, "done"));
        return;
    }
    let outputs: Vec<String> = calls.iter().map(|(_, chars)| "x".repeat(*chars)).collect();
    let calls: Vec<(&str, &str)> =
        calls.iter().zip(&outputs).map(|((tool, _), out)| (*tool, &**out)).collect();
    for mut message in tools(id, &calls) {
        for part in &mut message.parts {
            if let PartKind::Result(result) = &mut part.kind {
                result.status = status;
            }
        }
        conversation.append(message);
    }
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
    for row in rows() {
        let mut conversation = given(&row);
        at(&mut conversation, Moment::TurnEnd, None);
        let all = results(&conversation);
        let expect: Vec<String> = row.expect.iter().map(|index| all[*index].clone()).collect();
        assert_eq!(cleared(&conversation), expect, "{}", row.id);
    }
}

#[test]
fn a_second_walk_changes_nothing() {
    for row in rows() {
        let mut conversation = given(&row);
        at(&mut conversation, Moment::TurnEnd, None);
        let before = cleared(&conversation);
        for report in at(&mut conversation, Moment::TurnEnd, None) {
            assert!(
                matches!(report.outcome, Outcome::Unchanged(_)),
                "{}: {}",
                row.id,
                report.outcome
            );
        }
        assert_eq!(cleared(&conversation), before, "{}", row.id);
    }
}

#[test]
fn output_stays_in_the_log_and_the_placeholder_in_the_view() {
    let row = &rows()[0];
    let mut conversation = given(row);
    let reports = at(&mut conversation, Moment::TurnEnd, None);
    assert_eq!(conversation.history().message(2).shown_text().len(), 200_000, "the log");
    let sent = conversation.sent();
    assert_eq!(sent[2].text_of(0), "[Old tool result content cleared]");
    assert_eq!(conversation.counters().tokens_pruned, 50_000, "{reports:?}");
    assert_eq!(conversation.counters().tokens_reclaimed, 50_000 - 8);
}

#[test]
fn results_are_walked_in_the_order_of_their_calls() {
    // The first call's result arrives last; OpenCode stores it with its call all the same.
    let mut conversation = conversation(strategy("opencode", ""), Limits::new(2_000_000, 32_000));
    conversation.append(Message::user("u1", "go"));
    let first = "x".repeat(T * 30_000);
    let second = "x".repeat(T * 39_000);
    let mut messages = tools("a1", &[("bash", &first), ("bash", &second)]);
    messages.swap(1, 2);
    for message in messages {
        conversation.append(message);
    }
    conversation.append(Message::user("u2", "go"));
    conversation.append(Message::user("u3", "go"));
    at(&mut conversation, Moment::TurnEnd, None);
    assert_eq!(cleared(&conversation), ["a1-call-0"]);
}

#[test]
fn before_a_summary_the_marker_counts_as_a_turn() {
    let row = Row {
        id: "BR, order",
        preset: "brutus",
        changes: "[guards]\natomic = false",
        given: vec![U, A(&[("read", 240_000)]), U],
        expect: &[],
    };
    let mut at_turn_end = given(&row);
    at(&mut at_turn_end, Moment::TurnEnd, None);
    assert!(cleared(&at_turn_end).is_empty(), "brutus does not prune at the end of a turn");
    let mut before_summary = given(&row);
    let reports = at(&mut before_summary, Moment::Manual, None);
    assert_eq!(cleared(&before_summary), ["m1-call-0"], "{reports:?}");
}

pub(crate) fn ids() -> Vec<&'static str> {
    rows().into_iter().map(|row| row.id).collect()
}
