//! What the model sees of a stored history: everything from the last completed checkpoint on.
//!
//! A checkpoint is a user message with a marker and a summary that answers it. The versions differ in
//! what completes one, and since 1.14 a marker may name the message that its kept tail starts with;
//! the tail then comes after the summary, out of chronological order. [`latest`] therefore goes by
//! stored order: the last place is no longer the last thing that happened.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What makes a checkpoint of a marker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Completes {
    /// A summary that finished, with an error or without (January 2026).
    #[default]
    Finished,
    /// A summary that finished without an error; a kept tail is put after it (1.17).
    Succeeded,
    /// Any summary (the BRUTUS design).
    Any,
}

/// A stored message as the view filter sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageMarks<'a> {
    /// Its id.
    pub id: &'a str,
    /// Whether the user speaks; otherwise the model.
    pub user: bool,
    /// Whether it is the summary of a compaction.
    pub summary: bool,
    /// Id of the message that it answers.
    pub parent: Option<&'a str>,
    /// Whether the model gave a reason for stopping.
    pub finished: bool,
    /// Whether it ended with an error.
    pub failed: bool,
    /// Whether it holds a marker.
    pub marker: bool,
    /// Id of the message that the marker's kept tail starts with.
    pub tail_start: Option<&'a str>,
}

impl Completes {
    /// Whether this message completes the marker that it answers.
    pub fn holds(self, message: &MessageMarks<'_>) -> bool {
        !message.user
            && message.summary
            && match self {
                Self::Any => true,
                Self::Finished => message.finished,
                Self::Succeeded => message.finished && !message.failed,
            }
    }

    /// Indices of the messages that make up completed checkpoints: markers and their summaries.
    pub fn checkpoints(self, messages: &[MessageMarks<'_>]) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        for (index, summary) in messages.iter().enumerate() {
            if !self.holds(summary) {
                continue;
            }
            let marker = messages
                .iter()
                .position(|message| message.marker && Some(message.id) == summary.parent);
            if let Some(marker) = marker {
                found.extend([marker, index]);
            }
        }
        found
    }
}

/// The messages that the model sees, as indices into `messages`. The indices are in the order of the request,
/// and `messages` in stored order.
pub fn filter_compacted(messages: &[MessageMarks<'_>], completes: Completes) -> Vec<usize> {
    let mut parents: BTreeSet<&str> = BTreeSet::new();
    if completes == Completes::Any {
        // The design makes two passes: which markers have a summary, then the walk.
        parents.extend(
            messages
                .iter()
                .filter(|message| completes.holds(message))
                .filter_map(|message| message.parent),
        );
    }
    let mut tail: Option<&str> = None;
    let mut checkpoint = None;
    let mut first = 0;
    for (index, message) in messages.iter().enumerate().rev() {
        if let Some(start) = tail {
            if message.id == start {
                first = index;
                break;
            }
            continue;
        }
        if message.user && message.marker && parents.contains(message.id) {
            tail = message.tail_start.filter(|_| completes == Completes::Succeeded);
            checkpoint = Some(index);
            if tail.is_none() || tail == Some(message.id) {
                first = index;
                break;
            }
        }
        if completes.holds(message) {
            parents.extend(message.parent);
        }
    }
    let in_order = || (first..messages.len()).collect();
    let (Some(marker), Some(_)) = (checkpoint, tail) else {
        return in_order();
    };
    let summary = (marker + 1..messages.len()).find(|index| {
        let message = &messages[*index];
        message.summary && message.parent == Some(messages[marker].id)
    });
    match summary {
        // A tail whose start is not there leaves everything where it is.
        Some(summary) if first < marker && tail == Some(messages[first].id) => {
            (marker..=summary).chain(first..marker).chain(summary + 1..messages.len()).collect()
        }
        _ => in_order(),
    }
}

/// The newest messages of each kind among what the model sees, as indices into the stored messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Latest {
    /// The newest user message.
    pub user: Option<usize>,
    /// The newest message of the model.
    pub assistant: Option<usize>,
    /// The newest message of the model that finished.
    pub finished: Option<usize>,
    /// Markers that are newer than that: compactions that have not been carried out yet.
    pub pending: Vec<usize>,
}

/// Finds the newest messages by stored order, wherever they are in the view.
pub fn latest(messages: &[MessageMarks<'_>], view: &[usize]) -> Latest {
    let newest = |wanted: &dyn Fn(&MessageMarks<'_>) -> bool| {
        view.iter().copied().filter(|index| wanted(&messages[*index])).max()
    };
    let finished = newest(&|message| !message.user && message.finished);
    let mut pending: Vec<usize> = view
        .iter()
        .copied()
        .filter(|index| messages[*index].marker && finished.is_none_or(|last| *index > last))
        .collect();
    pending.sort_unstable();
    Latest {
        user: newest(&|message| message.user),
        assistant: newest(&|message| !message.user),
        finished,
        pending,
    }
}
