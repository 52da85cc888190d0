//! The compactions of a recording as folds of its log.
//!
//! | kind | what the view is after it |
//! |---|---|
//! | `clear` | the results that were marked as cleared by then show a placeholder |
//! | `sealed`, `replace` | the messages of the user, the summary if it can be read, and what comes after |
//! | any other | the summary if it can be read, the tail that was left as it was, and what comes after |
//!
//! Where the recording no longer holds what was compacted, there is nothing to fold.

use crate::read::recorder::replaced;
use crate::run::forced::RecordedView;
use foldback_core::log::Role;
use foldback_core::view::PartPos;
use foldback_formats::Session;
use foldback_formats::session::{Boundary, SEALED};
use std::collections::BTreeSet;

/// A compaction of the recorder and its place.
#[derive(Clone, Debug)]
pub(super) struct Cut<'s> {
    pub(super) boundary: &'s Boundary,
    /// Messages of the log before it.
    pub(super) after: usize,
    /// Number of the call that came next.
    pub(super) call: usize,
    /// Number of the call before which the next one came, or of all calls.
    pub(super) until: usize,
    /// Index into the messages of the session of the summary, where it can be read.
    pub(super) summary: Option<usize>,
    /// Parts of the log that the recorder's view does not show from here on.
    pub(super) hidden: BTreeSet<(usize, usize)>,
    /// What the view became; `None` where that is not known.
    pub(super) view: Option<RecordedView>,
}

impl Cut<'_> {
    /// Whether only the provider can read what stands for the messages.
    pub(super) fn is_sealed(&self) -> bool {
        self.boundary.kind == SEALED
    }
}

/// The compactions of a session, in their order.
pub(super) fn cuts(session: &Session) -> Vec<Cut<'_>> {
    let messages = &session.messages;
    // By message, the messages of the log and the calls before it.
    let mut places = vec![(0, 0)];
    for message in messages {
        let (log, calls) = places[places.len() - 1];
        let is_log = !message.is_entry();
        places
            .push((log + usize::from(is_log), calls + usize::from(is_log && message.is_answer())));
    }
    let mut boundaries: Vec<&Boundary> = session.boundaries.iter().collect();
    boundaries.sort_by_key(|boundary| boundary.before);
    let mut hidden: BTreeSet<(usize, usize)> = BTreeSet::new();
    let mut out: Vec<Cut<'_>> = Vec::new();
    for (number, boundary) in boundaries.into_iter().enumerate() {
        let before = boundary.before.min(messages.len());
        let (after, call) = places[before];
        let (mut view, mut summary) = (None, None);
        if boundary.kind == "clear" {
            let cleared = cleared(session, before, &places, &hidden);
            hidden.extend(cleared.cleared.iter().map(|(at, _)| (at.item, at.part)));
            view = Some(cleared);
        } else if boundary.original_kept {
            let tail;
            (tail, summary) = replaced(messages, boundary).unzip();
            let tail = places[tail.unwrap_or(before)].0;
            let users_stay = [SEALED, "replace"].contains(&&*boundary.kind);
            let mut kept = Vec::new();
            for (ordinal, message) in session.log().take(tail).enumerate() {
                if users_stay && message.role == Role::User {
                    kept.push(ordinal);
                } else {
                    hidden.extend((0..message.parts.len()).map(|part| (ordinal, part)));
                }
            }
            let text =
                |at: usize| (format!("recorded-summary-{number}"), messages[at].shown_text());
            let (summary, tail) = (summary.map(text), Some(tail));
            view = Some(RecordedView { kept, summary, tail, cleared: Vec::new() });
        }
        if let Some(last) = out.last_mut() {
            last.until = call;
        }
        let (hidden, until) = (hidden.clone(), session.calls());
        out.push(Cut { boundary, after, call, until, summary, hidden, view });
    }
    out
}

/// What had been cleared by then and not before.
fn cleared(
    session: &Session,
    before: usize,
    places: &[(usize, usize)],
    hidden: &BTreeSet<(usize, usize)>,
) -> RecordedView {
    let now = session.messages[before..].iter().find_map(|message| message.at);
    let edits = session.recorded_edits().into_iter().filter_map(|(at, edit)| {
        let is_due = at.item < before && now.is_none_or(|now| edit.at <= now);
        let is_log = session.messages.get(at.item).is_some_and(|message| !message.is_entry());
        let at = PartPos { item: places.get(at.item)?.0, part: at.part };
        (is_log && is_due && !hidden.contains(&(at.item, at.part))).then_some((at, edit))
    });
    RecordedView { cleared: edits.collect(), ..RecordedView::default() }
}
