//! The probe on constructed recordings whose answer is known.

use super::*;
use crate::acted::{boundary, call, session};
use foldback_core::log::{Message, Part, PartKind, Role, Usage};
use foldback_core::stage::Estimator;
use foldback_formats::Session;
use foldback_stages::estimator::o200k;
use serde_json::json;
use std::sync::Arc;

fn bash(number: usize, command: &str, result: &str) -> [Message; 2] {
    call(number, "bash", json!({ "command": command }), result)
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

/// How far a policy is off.
pub(super) fn error_of(session: &Session, policy: Policy) -> f64 {
    let candidates = super::policy::candidates(&super::policy::calls(session, &o200k()));
    candidates.iter().find(|(known, _)| *known == policy).unwrap().1
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
            let session = recorded(expected, noise);
            assert_eq!(policy(&session, &measure).policy, Some(expected), "{noise}");
            let error = error_of(&session, expected);
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
    assert_eq!(policy(&session, &o200k()).policy, None);
    assert!(error_of(&session, Policy::Full) > 0.1);
}

#[test]
fn too_little_usage_says_nothing() {
    let mut session = recorded(Policy::Full, 0.0);
    session.messages.truncate(9);
    assert_eq!(policy(&session, &o200k()), RecorderPolicy::default());
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
    assert_eq!(policy(&session, &measure).unmarked, [20]);
    session.boundaries.push(boundary(at, "summary"));
    let marked = policy(&session, &measure);
    assert_eq!((marked.policy, marked.unmarked.len()), (Some(Policy::Full), 0));
}
