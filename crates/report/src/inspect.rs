//! What is in a recorded session.

use crate::number::grouped;
use crate::plain;
use foldback_core::log::{Part, Role};
use foldback_core::stage::Estimator;
use foldback_formats::Session;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A session in words and numbers; tokens by `estimator`.
pub fn session(path: &str, session: &Session, estimator: &dyn Estimator) -> String {
    let mut out = String::new();
    let mut line = |name: &str, value: String| {
        let _ = writeln!(out, "{name:<14}{}", plain::line(&value));
    };
    line("file", path.to_owned());
    line("format", session.format.to_owned());
    line("session", session.id.clone());
    line("model", session.model.clone().unwrap_or_else(|| "not recorded".to_owned()));
    if session.limits.context > 0 {
        line("window", format!("{} tokens, as recorded", grouped(session.limits.context)));
    }
    line(
        "messages",
        format!(
            "{} as stored, {} in the log",
            grouped(session.recorded_messages() as u64),
            grouped(session.log().count() as u64)
        ),
    );
    line("calls", grouped(session.calls() as u64));
    line("turns", grouped(session.turns() as u64));
    line("tool calls", grouped(session.recorded_tool_calls() as u64));
    line("usage", usage(session));
    let tokens = tokens_by_kind(session, estimator);
    let total: u64 = tokens.iter().map(|(_, tokens)| tokens).sum();
    line("tokens", format!("{} by {}", grouped(total), estimator.id()));
    for (kind, tokens) in &tokens {
        line("", format!("{kind:<16}{:>12}", grouped(*tokens)));
    }
    for boundary in &session.boundaries {
        let size = match (boundary.tokens_before, boundary.tokens_after) {
            (Some(before), Some(after)) => {
                format!(", {} → {} tokens", grouped(before), grouped(after))
            }
            (Some(before), None) => format!(", at {} tokens", grouped(before)),
            _ => String::new(),
        };
        let kept = if boundary.original_kept { "" } else { ", the original is not in the file" };
        line(
            "boundary",
            format!(
                "{} ({}) before message {}{size}{kept}",
                boundary.kind, boundary.trigger, boundary.before
            ),
        );
    }
    if !session.cleared.is_empty() {
        line("cleared", format!("{} results that the recorder had cleared", session.cleared.len()));
    }
    let mut by_code: BTreeMap<&str, Vec<&foldback_formats::session::Warning>> = BTreeMap::new();
    for warning in &session.warnings {
        by_code.entry(&warning.code).or_default().push(warning);
    }
    for (code, warnings) in by_code {
        line("warning", format!("{code}, {} times", warnings.len()));
        for warning in warnings.iter().take(5) {
            line("", format!("{}: {}", warning.place, warning.detail));
        }
    }
    out
}

fn usage(session: &Session) -> String {
    let recorded: Vec<u64> = session
        .log()
        .filter_map(|message| message.answer.as_ref()?.usage)
        .filter(|usage| !usage.is_zero())
        .map(|usage| usage.input_total())
        .collect();
    match recorded.iter().max() {
        None => "not recorded".to_owned(),
        Some(max) => format!(
            "recorded for {} calls; {} input tokens in all, {} at most",
            recorded.len(),
            grouped(recorded.iter().sum()),
            grouped(*max)
        ),
    }
}

/// Tokens of the log by kind of part and speaker, in a fixed order.
fn tokens_by_kind(session: &Session, estimator: &dyn Estimator) -> Vec<(&'static str, u64)> {
    const KINDS: [&str; 7] = [
        "user text",
        "assistant text",
        "reasoning",
        "tool calls",
        "tool results",
        "frame",
        "other",
    ];
    let mut sums = [0u64; KINDS.len()];
    for message in session.log() {
        let counts = message.counts.get_or_count(estimator.id(), || estimator.count(message));
        for (part, tokens) in message.parts.iter().zip(&counts.parts) {
            sums[kind_of(part, message.role)] += tokens;
        }
        sums[6] += counts.overhead;
    }
    sums[5] = session.frame.tokens(estimator);
    KINDS.into_iter().zip(sums).filter(|(_, tokens)| *tokens > 0).collect()
}

fn kind_of(part: &Part, role: Role) -> usize {
    match (part.kind_name(), role) {
        ("text", Role::User) => 0,
        ("text", Role::Assistant) => 1,
        ("reasoning", _) => 2,
        ("tool-call", _) => 3,
        ("tool-result", _) => 4,
        _ => 6,
    }
}
