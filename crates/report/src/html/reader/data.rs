//! A walk as the JSON that the script reads: columns and short rows in place of named fields, and only those
//! needs that some preset did not meet.

use crate::explain::words::{broken, class_name};
use foldback_core::log::{EntryKind, Role};
use foldback_replay::walk::{NeedKind, State, Track, ViewStep, Walk};
use serde::Serialize;
use std::collections::BTreeMap;

/// Characters of what compactions wrote that a track has room for. A preset that folds before every call writes
/// hundreds of summaries; each is then told by its beginning.
const WRITTEN: usize = 60_000;

/// The letter of a message's role; the script spells it out.
fn role(role: Role) -> char {
    match role {
        Role::System => 's',
        Role::User => 'u',
        Role::Assistant => 'a',
        Role::Tool => 't',
    }
}

/// The number of a state, an index into the script's table.
fn state(state: State) -> u8 {
    match state {
        State::Kept => 0,
        State::Truncated => 1,
        State::Cleared => 2,
        State::Summarised => 3,
        State::Dropped => 4,
    }
}

#[derive(Serialize)]
struct Session<'a> {
    path: &'a str,
    format: &'a str,
    measure: &'a str,
    /// Per message: role, tool, tokens, excerpt.
    roles: String,
    names: Vec<&'a str>,
    tokens: Vec<u64>,
    texts: Vec<String>,
    /// Per call: ordinal of the answer, turn, tokens without compaction.
    answers: Vec<usize>,
    turns: Vec<usize>,
    plain: Vec<u64>,
    /// `[call, kind, text, file, distance, seen, source, tokens]`.
    needs: Vec<NeedRow<'a>>,
    tracks: Vec<TrackData<'a>>,
}

type NeedRow<'a> =
    (usize, &'static str, &'a str, Option<&'a str>, usize, usize, Option<usize>, u64);

#[derive(Serialize)]
struct TrackData<'a> {
    preset: &'a str,
    window: u64,
    estimator: &'a str,
    tokens: &'a [u64],
    overflows: &'a [usize],
    /// `[call, moment, stage, fold, reason, degraded, own tokens before, after]`.
    firings: Vec<FiringRow<'a>>,
    /// `[call, [message, state, tokens, shown or -1, …], standing]`.
    steps: Vec<(usize, Vec<i64>, &'a [usize])>,
    /// `[kind, call, tokens, text]`.
    written: Vec<(&'static str, usize, u64, String)>,
    shown: &'a [String],
    /// `[need, left the view at, …]`.
    forgotten: Vec<usize>,
    sealed: bool,
    /// `[call, what is wrong]`.
    broken: Vec<(usize, String)>,
    idle: &'a [String],
    failures: &'a [String],
}

type FiringRow<'a> = (usize, &'static str, &'a str, u8, &'a str, Option<&'a str>, u64, u64);

/// The JSON of a walk.
pub(super) fn json(walk: &Walk) -> String {
    // Needs by their new place, in the old order.
    let missed = walk.tracks.iter().flat_map(|track| &track.forgotten);
    let mut places: BTreeMap<usize, usize> = missed.map(|missed| (missed.need, 0)).collect();
    for (place, old) in places.values_mut().enumerate() {
        *old = place;
    }
    let needs = places.keys().filter_map(|need| walk.needs.get(*need));
    let session = Session {
        path: &walk.path,
        format: &walk.format,
        measure: &walk.measure,
        roles: walk.messages.iter().map(|line| role(line.role)).collect(),
        names: walk.messages.iter().map(|line| line.name.as_str()).collect(),
        tokens: walk.messages.iter().map(|line| line.tokens).collect(),
        texts: walk.messages.iter().map(|line| cut(&line.excerpt, line.cut)).collect(),
        answers: walk.calls.iter().map(|call| call.answer).collect(),
        turns: walk.calls.iter().map(|call| call.turn).collect(),
        plain: walk.calls.iter().map(|call| call.plain_tokens).collect(),
        needs: needs
            .map(|need| {
                (
                    need.call,
                    match need.kind {
                        NeedKind::Edit => "edit",
                        NeedKind::Piece => "repeats",
                        NeedKind::Reference(class) => class_name(class),
                    },
                    need.text.as_str(),
                    need.file.as_deref(),
                    need.distance,
                    need.seen,
                    need.source.map(|source| source.message),
                    need.source.map_or(0, |source| source.tokens),
                )
            })
            .collect(),
        tracks: walk.tracks.iter().map(|track| data(track, &places)).collect(),
    };
    serde_json::to_string(&session).unwrap_or_default()
}

fn data<'a>(track: &'a Track, places: &BTreeMap<usize, usize>) -> TrackData<'a> {
    let steps = track.steps.iter();
    let room = (WRITTEN / track.written.len().max(1)).max(80);
    let firings = track.firings.iter();
    let mut states = track.steps.iter().flat_map(|step| &step.changes).map(|change| change.state);
    let has_summaries = states.any(|state| state == State::Summarised);
    // An entry in place of messages without a summary is a note.
    let kind = |kind: EntryKind| match kind {
        EntryKind::Summary if !has_summaries => "note",
        kind => kind.as_str(),
    };
    TrackData {
        preset: &track.preset,
        window: track.limits.context,
        estimator: &track.estimator,
        tokens: &track.tokens,
        overflows: &track.overflows,
        broken: track.broken.iter().map(|(call, rule)| (*call, broken(*call, rule))).collect(),
        firings: firings
            .map(|fired| {
                (
                    fired.call,
                    fired.moment.as_str(),
                    fired.stage.as_str(),
                    u8::from(fired.fold),
                    fired.reason.as_str(),
                    fired.degraded.as_deref(),
                    fired.own_before,
                    fired.own_after,
                )
            })
            .collect(),
        steps: steps.map(|step| (step.call, changes(step), step.standing.as_slice())).collect(),
        written: track
            .written
            .iter()
            .map(|written| {
                let text: String = written.text.chars().take(room).collect();
                let text = cut(&text, written.cut || text.len() < written.text.len());
                (kind(written.kind), written.call, written.tokens, text)
            })
            .collect(),
        shown: &track.shown,
        forgotten: track
            .forgotten
            .iter()
            .filter_map(|missed| Some([*places.get(&missed.need)?, missed.left_view_at]))
            .flatten()
            .collect(),
        sealed: track.sealed,
        idle: &track.idle,
        failures: &track.failures,
    }
}

fn changes(step: &ViewStep) -> Vec<i64> {
    let row = |change: &foldback_replay::walk::MessageChange| {
        [
            change.message as i64,
            i64::from(state(change.state)),
            change.tokens as i64,
            change.shown.map_or(-1, |shown| shown as i64),
        ]
    };
    step.changes.iter().flat_map(row).collect()
}

fn cut(text: &str, cut: bool) -> String {
    let more = if cut { "…" } else { "" };
    format!("{text}{more}")
}
