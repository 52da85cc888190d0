//! A row without nesting: what tables of plain columns are written from.

use super::Row;
use foldback_core::strategy::Kind;
use foldback_replay::measure::Fired;
use std::borrow::Cow;

/// One value. Which of the four it is depends on the column alone, never on the row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Cell<'a> {
    Text(Cow<'a, str>),
    /// Columns of counts are signed: tables elsewhere have no other integers.
    Number(i64),
    Optional(Option<i64>),
    Flag(bool),
}

/// Every value with the name of its column, in the order of the columns and under the names of JSON.
pub(super) fn cells<'a>(row: &Row<'a>) -> Vec<(&'static str, Cell<'a>)> {
    // No `..`: a field that is added to the row must be added here.
    let Row {
        session,
        cluster,
        format,
        preset,
        kind,
        estimator,
        context,
        output_limit,
        call,
        turn,
        start_ms,
        messages,
        input_tokens,
        decision_tokens,
        uncompacted_tokens,
        output_tokens,
        recorded_input,
        recorded_cache_read,
        cache_read,
        churn,
        ceiling,
        overflow,
        excess,
        fired,
        recorder_compacted,
        exam,
        frr_needed,
        frr_kept,
        frr_rescued,
        frr_obs_needed,
        frr_obs_kept,
        frr_far_needed,
        frr_far_kept,
        epr_needed,
        epr_kept,
        rereads,
        reread_tokens,
        experiment,
    } = *row;
    vec![
        ("session", text(session)),
        ("cluster", text(cluster)),
        ("format", text(format)),
        ("preset", text(preset)),
        ("kind", text(kind_name(kind))),
        ("estimator", text(estimator)),
        ("context", number(context)),
        ("output_limit", number(output_limit)),
        ("call", number(call)),
        ("turn", number(turn)),
        ("start_ms", Cell::Optional(start_ms)),
        ("messages", number(messages)),
        ("input_tokens", number(input_tokens)),
        ("decision_tokens", number(decision_tokens)),
        ("uncompacted_tokens", number(uncompacted_tokens)),
        ("output_tokens", number(output_tokens)),
        ("recorded_input", optional(recorded_input)),
        ("recorded_cache_read", optional(recorded_cache_read)),
        ("cache_read", number(cache_read)),
        ("churn", number(churn)),
        ("ceiling", optional(ceiling)),
        ("overflow", Cell::Flag(overflow)),
        ("excess", number(excess)),
        ("fired", Cell::Text(Cow::Owned(fired_text(fired)))),
        ("recorder_compacted", Cell::Flag(recorder_compacted)),
        ("exam", Cell::Flag(exam)),
        ("frr_needed", number(frr_needed)),
        ("frr_kept", number(frr_kept)),
        ("frr_rescued", number(frr_rescued)),
        ("frr_obs_needed", number(frr_obs_needed)),
        ("frr_obs_kept", number(frr_obs_kept)),
        ("frr_far_needed", number(frr_far_needed)),
        ("frr_far_kept", number(frr_far_kept)),
        ("epr_needed", number(epr_needed)),
        ("epr_kept", number(epr_kept)),
        ("rereads", number(rereads)),
        ("reread_tokens", number(reread_tokens)),
        ("experiment", text(experiment)),
    ]
}

fn text(text: &str) -> Cell<'_> {
    Cell::Text(Cow::Borrowed(text))
}

fn number(number: impl TryInto<i64>) -> Cell<'static> {
    Cell::Number(signed(number))
}

fn optional(number: Option<u64>) -> Cell<'static> {
    Cell::Optional(number.map(signed))
}

/// A limit beyond the range of the column is a limit that is never reached either way.
fn signed(number: impl TryInto<i64>) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Strategy => "strategy",
        Kind::Control => "control",
    }
}

/// `moment:stage`, joined by `+`.
pub(super) fn fired_text(fired: &[Fired]) -> String {
    let fired: Vec<String> =
        fired.iter().map(|fired| format!("{}:{}", fired.moment, fired.stage)).collect();
    fired.join("+")
}
