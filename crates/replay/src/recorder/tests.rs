//! The probe on constructed recordings whose answer is known.

use super::totals::Total;
use super::*;
use crate::acted::session;
use crate::stats::Bootstrap;
use foldback_core::log::{EntryKind, Marker, Message, Part, PartKind, Role, Usage};
use foldback_core::stage::Estimator;
use foldback_core::view::PartPos;
use foldback_formats::Session;
use foldback_formats::session::{Boundary, Cleared};
use foldback_stages::estimator::o200k;
use serde_json::json;
use std::sync::Arc;

fn boundary(before: usize, kind: &str) -> Boundary {
    Boundary {
        before,
        trigger: "auto".to_owned(),
        kind: kind.to_owned(),
        tokens_before: None,
        tokens_after: None,
        original_kept: true,
    }
}

fn summary(id: &str, text: &str) -> Message {
    Message::user(id, text).as_entry(EntryKind::Summary)
}

/// One call of a tool and its result.
fn step(number: usize, tool: &str, arguments: serde_json::Value, result: &str) -> [Message; 2] {
    let id = format!("call-{number}");
    [
        Message::assistant(
            format!("a{number}"),
            vec![Part::call(&id, tool, arguments.to_string())],
        ),
        Message::tool(format!("r{number}"), &id, tool, result),
    ]
}

fn read(number: usize, path: &str, result: &str) -> [Message; 2] {
    step(number, "Read", json!({ "file_path": path }), result)
}

fn edit(number: usize, path: &str, old: &str) -> [Message; 2] {
    let arguments = json!({ "file_path": path, "old_string": old, "new_string": "done" });
    step(number, "Edit", arguments, "ok")
}

fn bash(number: usize, command: &str, result: &str) -> [Message; 2] {
    step(number, "bash", json!({ "command": command }), result)
}

/// A run of 40 steps in four turns whose usage is what `keep` sends, times 1.2 and plus 4,000; `noise`
/// moves every call up and down by turns.
fn recorded(keep: Policy, noise: f64) -> Session {
    let measure = o200k();
    let mut messages: Vec<Message> = Vec::new();
    for number in 0..40 {
        if number % 10 == 0 {
            messages.push(Message::user(format!("u{number}"), "go on with it ".repeat(20)));
        }
        let sent: u64 = (0..messages.len()).map(|at| sent_of(&messages, at, keep, &measure)).sum();
        let sign = if number % 2 == 0 { 1.0 } else { -1.0 };
        let usage = (sent as f64 * 1.2 + 4_000.0) * (1.0 + sign * noise);
        let [mut answer, result] = bash(
            number,
            &format!("make step-{number}"),
            &"some words of output ".repeat(100 + number * 37 % 400),
        );
        let reasoning =
            PartKind::Reasoning { text: "let me think about it ".repeat(60), opaque: None };
        answer.parts.insert(0, Part::new(reasoning));
        if let Some(call) = &mut answer.answer {
            call.usage = Some(Usage { uncached: usage as u64, output: 50, ..Usage::default() });
        }
        messages.extend([answer, result]);
    }
    session(messages)
}

/// What a message weighs in a request that the policy sends at the end of these messages.
fn sent_of(messages: &[Message], at: usize, policy: Policy, measure: &dyn Estimator) -> u64 {
    let message = &messages[at];
    let counts = measure.count(message);
    let reasoning: u64 = std::iter::zip(&message.parts, &counts.parts)
        .filter(|(part, _)| matches!(part.kind, PartKind::Reasoning { .. }))
        .map(|(_, tokens)| tokens)
        .sum();
    let is_result = |message: &&Message| message.role == Role::Tool;
    match policy {
        Policy::Full => counts.total(),
        Policy::NoReasoning => counts.total() - reasoning,
        Policy::TurnReasoning => {
            let turn = messages.iter().rposition(Message::begins_turn);
            let ended = turn.is_some_and(|turn| at < turn);
            counts.total() - if ended { reasoning } else { 0 }
        }
        Policy::LastObservations(keep) => {
            let behind = messages[at + 1..].iter().filter(is_result).count();
            let masked = is_result(&message) && behind >= keep as usize;
            if masked { 10 } else { counts.total() }
        }
    }
}

#[test]
fn the_policy_behind_the_usage_is_found() {
    let measure = o200k();
    let cases = [
        Policy::Full,
        Policy::TurnReasoning,
        Policy::NoReasoning,
        Policy::LastObservations(1),
        Policy::LastObservations(4),
        Policy::LastObservations(5),
        Policy::LastObservations(10),
        Policy::LastObservations(20),
    ];
    for expected in cases {
        for noise in [0.0, 0.004] {
            let found = policy(&recorded(expected, noise), &measure);
            assert_eq!(found.policy, Some(expected), "{noise}: {found:?}");
            assert_eq!(found.basis, Basis::PerCall);
            let error = found.error(expected).unwrap();
            assert!(error <= noise + 0.001, "{expected}, {noise}: {error}");
        }
    }
}

#[test]
fn usage_that_nothing_explains_is_unknown() {
    let mut session = recorded(Policy::Full, 0.0);
    for (at, message) in session.messages.iter_mut().enumerate() {
        let message = Arc::make_mut(message);
        if let Some(usage) = message.answer.as_mut().and_then(|a| a.usage.as_mut()) {
            usage.uncached = [9_000, 30_000, 4_000, 50_000][at / 2 % 4];
        }
    }
    let found = policy(&session, &o200k());
    assert_eq!((found.policy, found.basis), (None, Basis::PerCall));
    assert!(found.sentence().contains("unknown"), "{}", found.sentence());
}

#[test]
fn too_little_usage_says_nothing() {
    let mut session = recorded(Policy::Full, 0.0);
    session.messages.truncate(9);
    let found = policy(&session, &o200k());
    assert_eq!((found.policy, found.basis, found.calls), (None, Basis::Nothing, 4));
}

#[test]
fn a_marked_compaction_begins_a_stretch_and_an_unmarked_one_is_told() {
    let measure = o200k();
    // The recorder starts anew after call 20; what it kept is of unknown size.
    let mut session = recorded(Policy::Full, 0.0);
    let at = session.messages.iter().position(|m| m.id == "u20").unwrap();
    let mut lost = None;
    for message in &mut session.messages[at..] {
        let message = Arc::make_mut(message);
        if let Some(usage) = message.answer.as_mut().and_then(|a| a.usage.as_mut()) {
            let lost = *lost.get_or_insert(usage.uncached - 6_000);
            usage.uncached -= lost;
        }
    }
    let unmarked = policy(&session, &measure);
    assert_eq!(unmarked.unmarked.iter().map(|drop| drop.call).collect::<Vec<_>>(), [20]);
    assert!(unmarked.sentence().contains("first at call 20"));
    session.boundaries.push(boundary(at, "summary"));
    let marked = policy(&session, &measure);
    assert_eq!((marked.policy, marked.unmarked.len()), (Some(Policy::Full), 0));
    assert!(marked.sentence().contains("between its compactions"));
}

#[test]
fn totals_show_the_policy_over_sessions_of_a_model() {
    let of = |sent: u64, full: u64, keep: u64| RecorderPolicy {
        total: Some(Total {
            sent,
            predicted: policy::CANDIDATES
                .into_iter()
                .map(|candidate| match candidate {
                    Policy::LastObservations(5) => (candidate, keep),
                    _ => (candidate, full),
                })
                .collect(),
        }),
        ..RecorderPolicy::default()
    };
    // Ratio 1.2 ± 1 % to keep-5, all over the place to everything else.
    let kept = [of(1_200, 1_500, 1_000), of(2_424, 6_000, 2_000), of(3_564, 4_000, 3_000)];
    let wild = [of(1_000, 500, 800), of(1_000, 2_000, 400), of(1_000, 900, 2_000)];
    let groups = by_totals(
        kept.iter()
            .map(|policy| ("a", policy))
            .chain(wild.iter().map(|policy| ("b", policy)))
            .chain(kept[..2].iter().map(|policy| ("c", policy))),
    );
    let found: Vec<_> =
        groups.iter().map(|group| (group.group.as_str(), group.sessions, group.policy)).collect();
    let expected = [("a", 3, Some(Policy::LastObservations(5))), ("b", 3, None), ("c", 2, None)];
    assert_eq!(found, expected);
}

/// What was planted: a.rs is read again before it is edited, beta_two is in the summary, E0425 is used
/// without looking, gamma_three comes from the user, lib.rs is read twice for no need.
fn compacted() -> Session {
    let mut messages = vec![Message::user("u", "please fix it")];
    messages.extend(read(0, "/w/src/a.rs", "fn alpha_one() {}\nfn alpha_two() {}"));
    messages.extend(read(1, "/w/src/b.rs", "fn beta_two() {}"));
    messages.extend(bash(2, "cargo test", "error E0425 here"));
    messages.extend(bash(3, "grep -rn three src", "gamma_three"));
    messages.extend(read(4, "/w/src/lib.rs", "mod first_module;"));
    messages.push(summary("sum", "so far: beta_two was changed"));
    messages.extend(read(5, "src/a.rs", "fn alpha_one() {}\nfn alpha_two() {}"));
    messages.extend(edit(6, "/w/src/new.rs", "fn alpha_one() {}"));
    messages.extend(bash(7, "grep beta_two", "nothing"));
    messages.extend(bash(8, "rustc --explain E0425", "nothing"));
    messages.push(Message::user("v", "look at gamma_three"));
    messages.extend(bash(9, "grep gamma_three", "nothing"));
    messages.extend(bash(10, "cat /w/src/lib.rs", "mod first_module;"));
    let mut session = session(messages);
    session.boundaries.push(boundary(11, "summary"));
    session
}

/// Id; the calls that needed it, read it again, used it from elsewhere.
type Found<'a> = (&'a str, Option<usize>, Option<usize>, Option<usize>);

fn found(aftermath: &Aftermath) -> Vec<Found<'_>> {
    let rows = aftermath.results.iter();
    rows.map(|row| (row.id.as_str(), row.needed, row.reread, row.elsewhere)).collect()
}

#[test]
fn what_was_dropped_needed_and_read_again() {
    let rereads = rereads(&compacted(), &o200k());
    assert_eq!((rereads.compactions, rereads.silent), (1, 0));
    let [aftermath] = rereads.windows.as_slice() else {
        panic!("{rereads:?}");
    };
    assert_eq!(
        (aftermath.call, aftermath.follow, aftermath.control, aftermath.readable),
        (5, 6, false, true)
    );
    // id, needed, read again, from elsewhere: calls from the compaction on
    let expected = [
        ("r0", Some(1), Some(0), None),
        ("r1", None, None, None),
        ("r2", Some(3), None, None),
        ("r3", None, None, Some(4)),
        ("r4", None, Some(5), None),
    ];
    assert_eq!(found(aftermath), expected);
    assert_eq!(aftermath.results[2].reference.as_deref(), Some("E0425"));
    assert_eq!(aftermath.results[0].label, "/w/src/a.rs");
}

#[test]
fn what_stays_is_not_dropped() {
    type Change = fn(&mut Session);
    let cases: [(&str, Change, &[&str]); 6] = [
        ("a summary takes all before it", |_| {}, &["r0", "r1", "r2", "r3", "r4"]),
        (
            "but the tail that its marker names",
            |session| {
                let marker = Marker { tail_start: Some("a3".to_owned()), ..Marker::default() };
                let summary = Arc::make_mut(&mut session.messages[11]);
                summary.parts.push(Part::new(PartKind::Marker(marker)));
            },
            &["r0", "r1", "r2"],
        ),
        (
            "clearing takes what it marked",
            |session| {
                session.boundaries[0].kind = "clear".to_owned();
                session.cleared =
                    [4, 8].map(|item| Cleared { at: PartPos { item, part: 0 }, time: 0 }).to_vec();
            },
            &["r1", "r3"],
        ),
        (
            "a later read of the same makes the earlier one void",
            |session| {
                let [answer, result] = read(4, "/w/src/a.rs", "fn alpha_one() {}");
                session.messages[9] = Arc::new(answer);
                session.messages[10] = Arc::new(result);
            },
            &["r1", "r2", "r3", "r4"],
        ),
        (
            "originals that are not in the file say nothing",
            |session| session.boundaries[0].original_kept = false,
            &[],
        ),
        (
            "nor does a condensation that does not say what it took",
            |session| session.boundaries[0].kind = "drop".to_owned(),
            &[],
        ),
    ];
    for (name, change, expected) in cases {
        let mut session = compacted();
        change(&mut session);
        let rereads = rereads(&session, &o200k());
        let ids: Vec<&str> = rereads
            .windows
            .iter()
            .flat_map(|window| &window.results)
            .map(|row| row.id.as_str())
            .collect();
        assert_eq!(ids, expected, "{name}");
        assert_eq!(rereads.silent, usize::from(expected.is_empty()), "{name}");
    }
}

#[test]
fn a_result_is_dropped_once_and_a_window_ends_at_the_next_compaction() {
    let mut session = compacted();
    let again = session.messages.iter().position(|m| m.id == "a8").unwrap();
    session.messages.insert(again, Arc::new(summary("two", "E0425")));
    session.boundaries.push(boundary(again, "summary"));
    let rereads = rereads(&session, &o200k());
    let [first, second] = rereads.windows.as_slice() else {
        panic!("{rereads:?}");
    };
    assert_eq!((first.follow, second.follow), (3, 3));
    let ids = |window: &Aftermath| -> Vec<String> {
        window.results.iter().map(|row| row.id.clone()).collect()
    };
    assert_eq!(ids(first), ["r0", "r1", "r2", "r3", "r4"]);
    assert_eq!(ids(second), ["r5", "r6", "r7"]);
}

#[test]
fn codex_keeps_what_the_user_said_and_hides_its_summary() {
    let mut session = compacted();
    session.messages.remove(11);
    session.boundaries[0].kind = "replace".to_owned();
    let user = Message::user("u", "please fix E0425");
    session.messages[0] = Arc::new(user);
    let rereads = rereads(&session, &o200k());
    let window = &rereads.windows[0];
    assert!(!window.readable);
    // Without a summary beta_two is missed; E0425 stands in the task.
    let needed: Vec<&str> = window
        .results
        .iter()
        .filter(|row| row.needed.is_some())
        .map(|row| row.id.as_str())
        .collect();
    assert_eq!(needed, ["r0", "r1"]);
}

#[test]
fn controls_stand_where_nothing_was_dropped() {
    let mut messages = vec![Message::user("u", "please fix it")];
    messages.extend(read(0, "/w/src/a.rs", "fn alpha_one() {}"));
    for number in 1..39 {
        messages.extend(bash(number, &format!("make step-{number}"), "fine"));
    }
    messages.extend(read(39, "/w/src/a.rs", "fn alpha_one() {}"));
    let rereads = rereads(&session(messages.clone()), &o200k());
    let windows: Vec<_> = rereads
        .windows
        .iter()
        .map(|window| (window.control, window.call, window.follow, window.results.len()))
        .collect();
    assert_eq!(windows, [(true, 10, 30, 10), (true, 20, 20, 20), (true, 30, 10, 30)]);
    assert_eq!(rereads.windows[1].results[0].reread, Some(19));
    // A stretch of fewer than 20 calls has none.
    messages.truncate(1 + 2 * 19);
    assert_eq!(super::rereads(&session(messages), &o200k()).windows, []);
}

fn row(needed: Option<usize>, reread: Option<usize>) -> DroppedResult {
    DroppedResult {
        id: "r".to_owned(),
        label: "a.rs".to_owned(),
        kind: Kind::File,
        tokens: 10,
        asked_at: 0,
        reread,
        needed,
        reference: None,
        elsewhere: None,
    }
}

fn rereads_of(windows: Vec<(bool, usize, Vec<DroppedResult>)>) -> SessionRereads {
    SessionRereads {
        calls: 50,
        compactions: 1,
        silent: 0,
        windows: windows
            .into_iter()
            .map(|(control, follow, results)| Aftermath {
                control,
                what: String::new(),
                call: 10,
                follow,
                readable: true,
                results,
            })
            .collect(),
    }
}

#[test]
fn rates_are_counted_by_hand() {
    let one = rereads_of(vec![
        (
            false,
            12,
            vec![
                row(Some(2), Some(1)),
                row(Some(3), Some(7)),
                row(Some(6), Some(11)),
                row(None, Some(4)),
                row(None, None),
            ],
        ),
        (true, 30, vec![row(Some(1), Some(1)), row(Some(1), None), row(None, None)]),
    ]);
    let two = rereads_of(vec![(false, 4, vec![row(Some(0), None)])]);
    let sessions = [
        PooledSession { cluster: "a", rereads: &one },
        PooledSession { cluster: "b", rereads: &two },
    ];
    let pooled = pool(&sessions, &Bootstrap::default());
    assert_eq!((pooled.sessions, pooled.compacted, pooled.compactions), (2, 2, 2));
    // within, windows, read again, needed, converted, control, base
    let expected = [
        (Some(5), 1, [2, 5], [2, 5], [1, 2], [1, 3], [1, 2]),
        (Some(10), 1, [3, 5], [3, 5], [2, 3], [1, 3], [1, 2]),
        (Some(20), 0, [0, 0], [0, 0], [0, 0], [1, 3], [1, 2]),
        (None, 2, [4, 6], [4, 6], [3, 4], [1, 3], [1, 2]),
    ];
    for (horizon, expected) in pooled.horizons.iter().zip(expected) {
        let of = |rate: Rate| [rate.hits, rate.n];
        let found = (
            horizon.within,
            horizon.windows,
            of(horizon.reread),
            of(horizon.needed),
            of(horizon.converted),
            of(horizon.control),
            of(horizon.base),
        );
        assert_eq!(found, expected);
    }
    let whole = pooled.horizons[3].conversion().unwrap();
    assert_eq!((whole.factor, whole.n), (0.75, 4));
    // Wilson's interval of 3 of 4 is 0.3006 to 0.9544; the two clusters' draws reach from 0 to 1.
    assert!(whole.lo <= 0.3006 && whole.hi >= 0.9544, "{whole:?}");
    let caused = pooled.horizons[3].attributable().unwrap();
    assert_eq!(caused.factor, 0.25);
    assert!(caused.lo <= 0.25 && 0.25 <= caused.hi && caused.lo >= 0.0);
    assert_eq!(pooled.horizons[2].conversion(), None);
}

#[test]
fn what_is_handed_out_can_be_stored() {
    let rereads = rereads(&compacted(), &o200k());
    let text = serde_json::to_string(&rereads).unwrap();
    assert_eq!(serde_json::from_str::<SessionRereads>(&text).unwrap(), rereads);
    let policy = policy(&recorded(Policy::LastObservations(5), 0.0), &o200k());
    let text = serde_json::to_string(&policy).unwrap();
    assert_eq!(serde_json::from_str::<RecorderPolicy>(&text).unwrap().policy, policy.policy);
}
