//! Stretches of a session between two compactions of the recorder, and what each compaction took
//! away.
//!
//! What the recorder still showed is read off the recording: the parts that it marked as cleared; for
//! a summary everything before it but the tail that its marker names; for Codex, whose
//! `replacement_history` repeats the user's messages, everything but those. Where a recording does not
//! say what went (a condensation without a summary, originals that are not in the file), nothing is
//! concluded.

use crate::index::{Index, LogPart};
use foldback_core::log::{PartKind, Role};
use foldback_formats::Session;
use std::collections::BTreeSet;

/// Shortest undisturbed stretch, in calls, in which control windows are placed.
const LEAST_CALLS: usize = 20;

/// Where in an undisturbed stretch they are placed, as parts of four.
const PLACES: [usize; 3] = [1, 2, 3];

/// What made a window begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begin {
    /// The recorder compacted; index into [`Session::boundaries`].
    Compaction(usize),
    /// Nothing: what was in the log is treated as if it had gone, and the agent still saw it.
    Control,
}

/// What followed one compaction.
#[derive(Clone, Debug)]
pub(super) struct Window {
    pub(super) begin: Begin,
    /// Number of the first call in it.
    pub(super) first_call: usize,
    /// Number of the first call after it.
    pub(super) end_call: usize,
    /// Ordinals of the log messages in it.
    pub(super) log: std::ops::Range<usize>,
    /// Tool results that were in the view before and not in it after.
    pub(super) dropped: BTreeSet<LogPart>,
    /// References that the first request of the window still had, in originals or in a summary.
    pub(super) kept: BTreeSet<u32>,
    /// Whether the recording holds the text that stands for what went.
    pub(super) readable: bool,
}

/// Number of messages of the log before each message, and of calls before each message of the log.
struct Places {
    /// By message: ordinal in the log of the first log message at or after it.
    ordinal: Vec<usize>,
    /// By ordinal: number of calls before it; one more at the end.
    calls: Vec<usize>,
}

impl Places {
    fn of(session: &Session) -> Self {
        let mut ordinal = Vec::with_capacity(session.messages.len() + 1);
        let mut calls = vec![0];
        let (mut log, mut answers) = (0, 0);
        for message in &session.messages {
            ordinal.push(log);
            if !message.is_entry() {
                log += 1;
                answers += usize::from(message.is_answer());
                calls.push(answers);
            }
        }
        ordinal.push(log);
        Self { ordinal, calls }
    }

    fn ordinal(&self, message: usize) -> usize {
        let last = self.ordinal.len() - 1;
        self.ordinal[message.min(last)]
    }

    /// Number of calls before the log message with this ordinal.
    fn calls(&self, ordinal: usize) -> usize {
        let last = self.calls.len() - 1;
        self.calls[ordinal.min(last)]
    }

    /// Ordinal of the log message that answers this call, or of the end.
    fn answer(&self, call: usize) -> usize {
        self.calls.partition_point(|before| *before <= call) - 1
    }

    fn total(&self) -> usize {
        self.calls.last().copied().unwrap_or(0)
    }
}

/// The windows of a session: one behind every compaction that is followed by a call and tells what it
/// took, and up to three controls before the first one.
pub(super) fn windows(session: &Session, index: &Index) -> Vec<Window> {
    let places = Places::of(session);
    let mut gone: BTreeSet<LogPart> = BTreeSet::new();
    let mut summaries: BTreeSet<u32> = BTreeSet::new();
    let mut out = controls(session, index, &places);
    for (number, boundary) in session.boundaries.iter().enumerate() {
        let from = places.ordinal(boundary.before);
        let until = session
            .boundaries
            .get(number + 1)
            .map_or(index.log.len(), |next| places.ordinal(next.before));
        let Some(dropped) = taken(session, index, &places, number, &gone) else {
            continue;
        };
        let mut readable = true;
        if boundary.kind != "clear" {
            let written = written(session, number);
            readable = !written.is_empty();
            summaries.clear();
            for text in &written {
                summaries.extend(index.references_among(&index.find(text)));
            }
        }
        gone.extend(dropped.iter().copied());
        let first_call = places.calls(from);
        let end_call = places.calls(until);
        if first_call >= end_call {
            continue;
        }
        let mut kept = summaries.clone();
        // What the harness puts before the first call after a compaction (files attached again, the
        // user's next message) is in that call's view.
        let seen = places.answer(first_call);
        kept.extend(standing(index, 0..seen, &gone));
        out.push(Window {
            begin: Begin::Compaction(number),
            first_call,
            end_call,
            log: from..until,
            dropped: results(index, &dropped),
            kept,
            readable,
        });
    }
    out
}

/// Windows after points at which nothing was dropped, in the stretch before the first compaction.
fn controls(session: &Session, index: &Index, places: &Places) -> Vec<Window> {
    let first = session.boundaries.iter().map(|boundary| boundary.before);
    let until = first.min().map_or(index.log.len(), |before| places.ordinal(before));
    let calls = places.calls(until).min(places.total());
    if calls < LEAST_CALLS {
        return Vec::new();
    }
    let nothing = BTreeSet::new();
    PLACES
        .iter()
        .map(|quarter| {
            let first_call = calls * quarter / PLACES.len().saturating_add(1);
            let from = places.answer(first_call);
            let all = all_parts(index, 0..from);
            // Summaries keep what the user said; so does the comparison.
            let users = (0..from).filter(|at| index.log[*at].role == Role::User);
            let kept = users.flat_map(|at| standing(index, at..at + 1, &nothing));
            Window {
                begin: Begin::Control,
                first_call,
                end_call: calls,
                log: from..until,
                dropped: results(index, &all),
                kept: kept.collect(),
                readable: true,
            }
        })
        .collect()
}

fn all_parts(index: &Index, ordinals: std::ops::Range<usize>) -> BTreeSet<LogPart> {
    ordinals.flat_map(|at| (0..index.log[at].parts.len()).map(move |part| (at, part))).collect()
}

/// The references in parts of these messages that are not gone.
fn standing<'a>(
    index: &'a Index,
    ordinals: std::ops::Range<usize>,
    gone: &'a BTreeSet<LogPart>,
) -> impl Iterator<Item = u32> + 'a {
    ordinals.flat_map(move |at| {
        let parts = index.references_of(at);
        parts.filter(move |(part, _)| !gone.contains(part)).flat_map(|(_, found)| found)
    })
}

fn results(index: &Index, parts: &BTreeSet<LogPart>) -> BTreeSet<LogPart> {
    let is_result = |at: &&LogPart| index.log[at.0].parts[at.1].as_result().is_some();
    parts.iter().filter(is_result).copied().collect()
}

/// The parts of the log that a compaction took out of the view; `None` where the recording does not
/// tell.
fn taken(
    session: &Session,
    index: &Index,
    places: &Places,
    number: usize,
    gone: &BTreeSet<LogPart>,
) -> Option<BTreeSet<LogPart>> {
    let boundary = &session.boundaries[number];
    if !boundary.original_kept {
        return None;
    }
    let from = places.ordinal(boundary.before);
    let mut taken = match boundary.kind.as_str() {
        "clear" => cleared(session, places, number),
        "drop" => return None,
        kind => {
            let tail = tail(session, number)
                .and_then(|id| index.log[..from].iter().position(|m| m.id == id))
                .unwrap_or(from);
            let mut parts = all_parts(index, 0..tail);
            if kind == "replace" {
                parts.retain(|at| index.log[at.0].role != Role::User);
            }
            parts
        }
    };
    taken.retain(|at| !gone.contains(at));
    Some(taken)
}

/// The parts that one run of clearing took. Times tell which run if there are several.
fn cleared(session: &Session, places: &Places, number: usize) -> BTreeSet<LogPart> {
    let clears = || {
        let all = session.boundaries.iter().enumerate();
        all.filter(|(_, boundary)| boundary.kind == "clear")
    };
    let of = |item: usize, time: i64| {
        let at = session
            .messages
            .iter()
            .position(|message| message.at.is_some_and(|at| at > time))
            .unwrap_or(session.messages.len());
        clears()
            .filter(|(_, boundary)| boundary.before > item)
            .min_by_key(|(_, boundary)| boundary.before.abs_diff(at))
            .map(|(number, _)| number)
    };
    session
        .cleared
        .iter()
        .filter(|cleared| of(cleared.at.item, cleared.time) == Some(number))
        .map(|cleared| (places.ordinal(cleared.at.item), cleared.at.part))
        .collect()
}

/// The entries that belong to a compaction: those between the answer before it and the one behind it.
fn entries(session: &Session, number: usize) -> impl Iterator<Item = &foldback_core::Message> {
    let before = session.boundaries[number].before.min(session.messages.len());
    let (head, tail) = session.messages.split_at(before);
    let is_answer = |message: &&std::sync::Arc<foldback_core::Message>| message.is_answer();
    let start = head.iter().rposition(|m| m.is_answer()).map_or(0, |at| at + 1);
    head[start..]
        .iter()
        .chain(tail.iter().take_while(move |message| !is_answer(message)))
        .filter(|message| message.is_entry())
        .map(|message| &**message)
}

fn tail(session: &Session, number: usize) -> Option<&str> {
    entries(session, number)
        .flat_map(|message| &message.parts)
        .filter_map(|part| match &part.kind {
            PartKind::Marker(marker) => marker.tail_start.as_deref(),
            _ => None,
        })
        .last()
}

/// The texts that stand for what a compaction took: its summary.
fn written(session: &Session, number: usize) -> Vec<String> {
    entries(session, number)
        .filter(|message| message.is_entry_of(foldback_core::log::EntryKind::Summary))
        .map(foldback_core::Message::shown_text)
        .filter(|text| !text.trim().is_empty())
        .collect()
}
