//! Firings: what each change of the view took out, put in, and was made from.
//!
//! A firing is a call before which something changed the view; stages that acted between the same two
//! calls (a pruning right before its summary) are one firing. With V the view that
//! the call would have sent without it (the view of the call before and what was appended since) and V'
//! the view that it sends, both in tokens of the measuring estimator, the firing reclaimed V - V', or nothing
//! where the view grew.
//!
//! Folds after the last request (at the end of the last turn) are firings of a call that never came:
//! their `call` is the number of calls.

use crate::read::recorder::Recorded;
use foldback_core::conversation::{Conversation, Fold};
use foldback_core::delta::ViewDelta;
use foldback_core::log::{EntryKind, Message};
use foldback_core::meter::Meter;
use foldback_core::outcome::SUMMARY_FORM;
use foldback_core::plan::Slot;
use std::collections::BTreeSet;

/// One change of the view. Tokens are by the measuring estimator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Firing {
    /// Number of the call that came next.
    pub call: usize,
    /// V: tokens of the view without the firing.
    pub before: u64,
    /// V': tokens of the view that the call sends.
    pub after: u64,
    /// Summaries that a summarizer was asked for.
    pub summaries: u64,
    /// Summaries among these that the recorder itself wrote.
    pub recorded: u64,
    /// Folds that had to do with a stand-in for one, or without.
    pub stand_ins: u64,
    /// Folds with a summary that the model wrote in another form than was asked for.
    pub formless: u64,
    /// Tokens of the messages with summaries that are new in the view.
    pub summary_tokens: u64,
}

impl Firing {
    /// By how many tokens the view shrank.
    pub(crate) fn reclaimed(&self) -> u64 {
        self.before.saturating_sub(self.after)
    }
}

/// Folds with a summary that was asked for and that their strategy's summarizer did not write, and those whose
/// summary it wrote in another form than was asked for.
fn not_as_meant(conversation: &Conversation, folds: &[Fold]) -> (u64, u64) {
    let asked = conversation.strategy().summarizer.is_some();
    let why = folds.iter().filter(|_| asked).filter_map(|fold| fold.plan.degraded.as_ref());
    why.fold((0, 0), |(others, formless), why| match &*why.code {
        SUMMARY_FORM => (others, formless + 1),
        _ => (others + 1, formless),
    })
}

/// A message with a summary that a fold wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WrittenSummary {
    pub(super) text: String,
    pub(super) tokens: u64,
}

/// Finds firings from request to request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Firings {
    /// Tokens of the view at the request before.
    view: u64,
    /// Ids of inserts that were seen.
    seen: BTreeSet<String>,
    out: Vec<Firing>,
}

impl Firings {
    /// The messages with summaries that the folds since the last request wrote.
    fn written(&mut self, meter: &Meter, folds: &[Fold]) -> Vec<WrittenSummary> {
        let mut out = Vec::new();
        let mut take = |message: &Message| {
            out.push(WrittenSummary { text: message.shown_text(), tokens: meter.measure(message) });
        };
        for fold in folds {
            let entries = fold.plan.entries.iter();
            for entry in entries.filter(|entry| entry.is_entry_of(EntryKind::Summary)) {
                take(entry);
            }
            for slot in fold.plan.layout.iter().flat_map(|layout| &layout.slots) {
                if let Slot::Insert(insert) = slot
                    && insert.origin() == EntryKind::Summary
                    && self.seen.insert(insert.id().to_owned())
                {
                    take(insert.message());
                }
            }
        }
        out
    }

    /// Takes over a request and the folds since the one before: the messages with summaries that they wrote.
    pub(crate) fn look(
        &mut self,
        call: usize,
        conversation: &Conversation,
        meter: &Meter,
        delta: &ViewDelta,
    ) -> Vec<WrittenSummary> {
        let folds = &conversation.folds()[delta.folds.clone()];
        let written = self.written(meter, folds);
        let appended: u64 = conversation
            .history()
            .range(delta.appended.clone())
            .filter(|(_, message)| !message.is_entry())
            .map(|(pos, _)| meter.appended(pos))
            .sum();
        let before = self.view + appended;
        self.view = meter.view_tokens();
        if !delta.is_folded() {
            return written;
        }
        let (stand_ins, formless) = not_as_meant(conversation, folds);
        self.out.push(Firing {
            call,
            before,
            after: self.view,
            summaries: folds.iter().map(|fold| fold.plan.summaries.len() as u64).sum(),
            recorded: folds
                .iter()
                .flat_map(|fold| &fold.plan.summaries)
                .filter(|by| *by == Recorded::ID)
                .count() as u64,
            stand_ins,
            formless,
            summary_tokens: written.iter().map(|summary| summary.tokens).sum(),
        });
        written
    }

    pub(crate) fn finish(self) -> Vec<Firing> {
        self.out
    }
}
