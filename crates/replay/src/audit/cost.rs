//! What a compaction cost: the request for its summary, and what of the cached context the next request had to write anew.
//!
//! - *Summary*: as its usage says at its model's own prices; else as the control `as-recorded` has it, a request like the one before with its
//!   answer, none of it cached, and the text of the summary. Where only the provider can read that, it is the request before once more.
//! - *Written anew*: with a cache that was still warm, what the next request did not read of it and that was not new, at what writing costs
//!   more than reading. Sizes and reads of the recorder's are those of its usage, others those of the model of the cache. What had expired
//!   would have been written anyway.

use super::cuts::Cut;
use crate::judge::cost::{HitShare, NamedTerms, Priced, SummaryCall, output_of};
use crate::number::total;
use crate::run::drive::Replay;
use crate::run::setup::Setup;
use foldback_core::log::{Message, Usage};
use foldback_formats::Session;
use foldback_providers::prices::{Rates, usd};
use serde::Serialize;
use std::sync::Arc;

/// What a compaction cost, in dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct FoldCost {
    /// The request for the summary; 0 without one.
    pub summary_usd: f64,
    /// Whether that request's usage is not recorded.
    pub estimated: bool,
    /// Tokens that the next request had to write to the cache again.
    pub rewritten: u64,
    /// Dollars by which writing them was dearer than reading them.
    pub rewritten_usd: f64,
    /// Whether the cache had expired before the next request.
    pub cold: bool,
}

impl FoldCost {
    /// Everything.
    pub fn usd(&self) -> f64 {
        self.summary_usd + self.rewritten_usd
    }
}

/// What the prices of a session's compactions depend on besides a replay.
pub(super) struct Bill<'a> {
    pub(super) setup: &'a Setup,
    pub(super) session: &'a Session,
    pub(super) terms: &'a NamedTerms,
    /// By call, what the provider's cache still had.
    pub(super) held: &'a [Option<HitShare>],
    /// By call, the ordinal of its answer in the log, and the answer.
    pub(super) answers: &'a [(usize, Arc<Message>)],
}

/// Prices the compactions of one replay of a session.
pub(super) struct ReplayBill<'a> {
    bill: &'a Bill<'a>,
    replay: &'a Replay,
    /// The requests as the model of the cache prices them.
    priced: Priced<'a>,
}

impl Bill<'_> {
    /// The same for one replay.
    pub(super) fn replay<'a>(&'a self, replay: &'a Replay) -> ReplayBill<'a> {
        let log = &replay.requests;
        let priced = Priced::at(log, &log.starts(), self.held, &self.terms.terms);
        ReplayBill { bill: self, replay, priced }
    }

    /// Usage of a call, where it says how large the request was.
    pub(super) fn usage(&self, call: usize) -> Option<Usage> {
        let (_, answer) = self.answers.get(call)?;
        answer.answer.as_ref()?.usage.filter(Usage::has_input)
    }

    fn output(&self, call: usize) -> u64 {
        self.answers.get(call).map_or(0, |(_, answer)| output_of(&*self.setup.measure, answer))
    }

    /// Tokens that came since the request before a compaction and that its view shows: they would have been written anyway.
    fn new_tokens(&self, cut: &Cut<'_>) -> u64 {
        let ordinal = |call: usize| self.answers.get(call).map_or(0, |(ordinal, _)| *ordinal);
        let from = cut.call.checked_sub(1).map_or(0, ordinal);
        let log = self.session.log().enumerate().take(ordinal(cut.call)).skip(from);
        let shown = log.filter(|(ordinal, _)| !cut.hidden.contains(&(*ordinal, 0)));
        shown.map(|(_, message)| self.setup.measure.counts(message).total()).sum()
    }
}

impl ReplayBill<'_> {
    /// What each compaction cost; `None` where nothing was folded.
    pub(super) fn folds(&self, cuts: &[Cut<'_>]) -> Vec<Option<FoldCost>> {
        let asked = &self.replay.summary_calls;
        let prices: Vec<f64> = self.priced.summaries(asked).collect();
        let mut out = vec![None; cuts.len()];
        for firing in &self.replay.firings {
            let (call, reclaimed) = (firing.call, firing.reclaimed());
            // Of several at one place, the last is what the next request sends.
            let Some(at) = cuts.iter().rposition(|cut| cut.call == call) else { continue };
            let own = asked.iter().zip(&prices).filter(|(asked, _)| asked.call == call);
            let summary_usd = total(own.map(|(_, usd)| *usd));
            let (rewritten, cold) = self.priced.rewritten(call, reclaimed).unwrap_or_default();
            let estimated = summary_usd > 0.0;
            let rewritten_usd = self.rewritten_usd(call, rewritten);
            out[at] = Some(FoldCost { summary_usd, estimated, rewritten, rewritten_usd, cold });
        }
        out
    }

    /// What a compaction of the recorder's own cost; `modelled` is what the replay of its views says.
    pub(super) fn recorded(&self, cut: &Cut<'_>, modelled: FoldCost) -> FoldCost {
        let (summary_usd, estimated) = self.own_summary(cut);
        let cold = self.priced.uses.get(cut.call).is_some_and(|cache| cache.expired);
        let rewritten = match self.bill.usage(cut.call) {
            _ if cold => 0,
            Some(usage) => {
                let unread = usage.input_total().saturating_sub(usage.cache_read);
                unread.saturating_sub(self.bill.new_tokens(cut))
            }
            None => modelled.rewritten,
        };
        let rewritten_usd = self.rewritten_usd(cut.call, rewritten);
        FoldCost { summary_usd, estimated, rewritten, rewritten_usd, cold }
    }

    /// What it cost to read so many tokens again in the course of these parts of requests.
    pub(super) fn again_usd(&self, cut: &Cut<'_>, tokens: u64, calls: &[(usize, f64)]) -> f64 {
        let part = |(call, part): &(usize, f64)| {
            let (input, rates) = self.sent(*call);
            (usd(rates.read, input) + usd(rates.output, self.bill.output(*call))) * part
        };
        usd(self.sent(cut.call).1.written(), tokens) + total(calls.iter().map(part))
    }

    /// Size of the request of a call, and its prices.
    fn sent(&self, call: usize) -> (u64, Rates) {
        let replayed = || self.replay.rows.get(call).map_or(0, |row| row.input_tokens);
        let input = self.bill.usage(call).map_or_else(replayed, |usage| usage.input_total());
        (input, self.bill.terms.terms.rates.at(input))
    }

    fn rewritten_usd(&self, call: usize, tokens: u64) -> f64 {
        let (_, rates) = self.sent(call);
        usd(rates.written() - rates.read, tokens)
    }

    /// Dollars for the recorder's own summary, and whether they are estimated.
    fn own_summary(&self, cut: &Cut<'_>) -> (f64, bool) {
        let Bill { setup, session, .. } = self.bill;
        let summary = cut.summary.and_then(|at| session.messages.get(at));
        let answer = summary.and_then(|summary| summary.answer.as_ref());
        let used = answer.filter(|answer| answer.usage.is_some_and(|usage| usage.has_input()));
        let model = setup.model.as_deref().or(session.model.as_deref());
        if let Some(usd) = used.and_then(|it| setup.regimes.spent_usd(&setup.models, it, model)) {
            return (usd, false);
        }
        let Some(before) = cut.call.checked_sub(1) else { return (0.0, false) };
        let (input, _) = self.sent(before);
        if summary.is_none() && !cut.is_sealed() {
            return (0.0, false);
        }
        let text = summary.map(|summary| setup.measure.counts(summary).total());
        let asked = SummaryCall::estimated(cut.call, input, self.bill.output(before), text);
        (total(self.priced.summaries(&[asked])), true)
    }
}
