//! The note in a written file that messages were left out of it.
//!
//! Usage records the size of a request when it was sent. An answer whose history was left out afterwards seems to have
//! been sent with an unrecorded frame of that size, and a second run would fold what the first one kept. So the last
//! answer with usage that stays says that all usage up to it is of other requests, and what their frame weighed.

use crate::overlay::records_of;
use crate::prelude::*;
use foldback_providers::wire::shared::source::Text;

/// Messages were left out of a file after the usage in it had been counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Omission {
    /// Index into [`Session::messages`] after the last answer whose usage is of another request.
    pub until: usize,
    /// What was sent around the history and not recorded, in tokens of the run that left messages out.
    pub unrecorded: u64,
}

/// The member of a record that holds the note.
const NOTE: &str = "foldback";
const UNRECORDED: &str = "unrecorded_before_fold";

/// The record that carries the note, and the change that writes it; nothing where no answer of the session's own
/// messages `shown` has usage. `inside` is the object of a record in which notes stand.
pub(crate) fn note(
    view: &View<'_>,
    shown: &BTreeSet<usize>,
    inside: &str,
) -> Option<(u32, (String, Change))> {
    let answers = shown.iter().rev().filter_map(|index| view.session.messages.get(*index));
    let mut answers = answers.filter(|message| counted(message));
    // The last: a line of unreadable reasoning is not part of what is read again.
    let record = answers.find_map(|message| records_of(message).pop())?;
    let note = json!({ UNRECORDED: view.unrecorded }).to_string();
    Some((record, (format!("{inside}/{NOTE}"), Change::Set(note))))
}

/// Whether a message says what its request weighed.
fn counted(message: &Message) -> bool {
    let usage = message.answer.as_ref().and_then(|answer| answer.usage);
    usage.is_some_and(|usage| usage.has_input())
}

/// Finds the last note of each session of a file.
pub(crate) fn find(sessions: &mut [Session]) {
    let quoted = json_string(UNRECORDED);
    // Sessions that share a text are looked for in it once.
    let mut searched: Option<(Text, bool)> = None;
    for session in sessions {
        let text = &session.source.text;
        let known = searched.as_ref().filter(|(known, _)| known.is(text)).map(|(_, noted)| *noted);
        let noted = known.unwrap_or_else(|| text.contains(&quoted));
        searched = Some((text.clone(), noted));
        if noted {
            find_in(session, &quoted);
        }
    }
}

fn find_in(session: &mut Session, quoted: &str) {
    let note = |record: &u32| {
        let raw = session.source.record(*record).filter(|raw| raw.contains(quoted))?;
        let record: Value = raw::parse(raw).ok()?;
        let note = record.get(NOTE).or_else(|| record.get("extra")?.get(NOTE))?;
        note.get(UNRECORDED).and_then(value::tokens)
    };
    let mut messages = session.messages.iter().enumerate().rev();
    session.folded = messages.find_map(|(index, message)| {
        let unrecorded = records_of(message).iter().find_map(note)?;
        Some(Omission { until: index + 1, unrecorded })
    });
}
