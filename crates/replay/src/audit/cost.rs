//! What a compaction cost: the request for its summary, and what of the cached context the next request had to write anew.
//!
//! - *Summary*: as its usage says at its model's own prices; else as a request like the one before with its answer, none of it cached, and
//!   the text of the summary. Where the provider compacted, and only it can read the summary, that is the request before once more. These
//!   are the rules of the control `as-recorded`.
//! - *Written anew*: with a cache that was still warm, what the next request did not read of it and that was not new; its price is what
//!   writing costs more than reading. Where usage is recorded, sizes and reads are those of the provider, else those of the model of the
//!   cache. A cache that had expired would have been written anyway.

use super::cuts::Cut;
use crate::judge::cost::{HitShare, LedgerFiring, NamedTerms, Priced, SummaryCall, output_of};
use crate::judge::measures::Firing;
use crate::rows::study::summary_calls;
use crate::run::drive::Replay;
use crate::run::setup::Setup;
use foldback_core::log::{Message, Usage};
use foldback_core::stage::Estimator;
use foldback_formats::Session;
use foldback_providers::prices::usd;
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
    /// What that cost more than reading them.
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

/// What prices a session's compactions.
pub(super) struct Bill<'a> {
    pub(super) setup: &'a Setup,
    pub(super) session: &'a Session,
    pub(super) terms: &'a NamedTerms,
    /// By call, what the provider's cache still had.
    pub(super) held: &'a [Option<HitShare>],
    /// By call, its answer and the ordinal of that in the log.
    pub(super) answers: &'a [(usize, Arc<Message>)],
}

impl Bill<'_> {
    /// What each compaction cost in a replay, by its place in `cuts`; `None` where it did nothing there.
    pub(super) fn replayed(
        &self,
        cuts: &[Cut<'_>],
        replay: &Replay,
        firings: &[Firing],
    ) -> Vec<Option<FoldCost>> {
        let priced = self.priced(replay);
        let summaries = summary_calls(&replay.summary_inputs, firings);
        let prices = priced.cost(&summaries).summaries;
        let mut out = vec![None; cuts.len()];
        for firing in firings {
            // Of several at one place, the last is what the next request sends.
            let Some(at) = cuts.iter().rposition(|cut| cut.call == firing.call) else { continue };
            let asked =
                summaries.iter().zip(&prices).filter(|(asked, _)| asked.call == firing.call);
            let summary_usd = crate::number::total(asked.map(|(_, usd)| *usd));
            let reclaimed = firing.reclaimed();
            let firing = LedgerFiring { call: firing.call, reclaimed, summary_usd };
            let row = priced.ledger(&[firing]).pop();
            let rewritten = row.map_or(0, |row| row.rewritten);
            out[at] = Some(FoldCost {
                summary_usd,
                estimated: summary_usd > 0.0,
                rewritten,
                rewritten_usd: self.more_than_read(replay, firing.call, rewritten),
                cold: row.is_some_and(|row| row.cold),
            });
        }
        out
    }

    /// What a compaction of the recorder's own cost: what the replay of its view says, and what usage tells instead.
    pub(super) fn recorded(
        &self,
        cut: &Cut<'_>,
        replay: &Replay,
        modelled: Option<FoldCost>,
    ) -> FoldCost {
        let (summary_usd, estimated) = self.own_summary(cut, replay);
        let cold = self.priced(replay).uses.get(cut.call).is_some_and(|cache| cache.expired);
        let usage = self.usage(cut.call);
        let rewritten = match usage {
            _ if cold => 0,
            Some(usage) => {
                let unread = usage.input_total().saturating_sub(usage.cache_read);
                unread.saturating_sub(self.new_tokens(cut))
            }
            None => modelled.map_or(0, |cost| cost.rewritten),
        };
        let rewritten_usd = self.more_than_read(replay, cut.call, rewritten);
        FoldCost { summary_usd, estimated, rewritten, rewritten_usd, cold }
    }

    /// Dollars of a request that only had something read again, by its part of the calls that it answered with.
    pub(super) fn request_usd(&self, replay: &Replay, call: usize, part: (usize, usize)) -> f64 {
        let input = self.input(replay, call);
        let rates = self.terms.terms.rates.at(input);
        let output = self.output(call);
        (usd(rates.read, input) + usd(rates.output, output)) * part.0 as f64 / part.1.max(1) as f64
    }

    /// Dollars for tokens that a call writes to the cache.
    pub(super) fn written_usd(&self, replay: &Replay, call: usize, tokens: u64) -> f64 {
        usd(self.terms.terms.rates.at(self.input(replay, call)).written(), tokens)
    }

    fn priced<'p>(&'p self, replay: &'p Replay) -> Priced<'p> {
        let log = &replay.requests;
        Priced::at(log, &log.starts(), self.held, &self.terms.terms)
    }

    fn more_than_read(&self, replay: &Replay, call: usize, tokens: u64) -> f64 {
        let rates = self.terms.terms.rates.at(self.input(replay, call));
        usd(rates.written() - rates.read, tokens)
    }

    /// Size of the request of a call.
    fn input(&self, replay: &Replay, call: usize) -> u64 {
        let sent = || replay.rows.get(call).map_or(0, |row| row.input_tokens);
        self.usage(call).map_or_else(sent, |usage| usage.input_total())
    }

    fn output(&self, call: usize) -> u64 {
        self.answers.get(call).map_or(0, |(_, answer)| output_of(self.measure(), answer))
    }

    fn usage(&self, call: usize) -> Option<Usage> {
        let (_, answer) = self.answers.get(call)?;
        answer.answer.as_ref()?.usage.filter(Usage::has_input)
    }

    fn measure(&self) -> &dyn Estimator {
        &*self.setup.measure
    }

    /// Dollars for the recorder's own summary, and whether they are estimated.
    fn own_summary(&self, cut: &Cut<'_>, replay: &Replay) -> (f64, bool) {
        let Self { setup, session, .. } = self;
        let summary = cut.summary.and_then(|at| session.messages.get(at));
        let model = setup.model.as_deref().or(session.model.as_deref());
        let answer = summary.and_then(|summary| summary.answer.as_ref());
        let used = answer.filter(|answer| answer.usage.is_some_and(|usage| usage.has_input()));
        let usd = used.and_then(|used| setup.regimes.spent_usd(&setup.models, used, model));
        if let Some(usd) = usd {
            return (usd, false);
        }
        let Some(before) = cut.call.checked_sub(1) else { return (0.0, false) };
        let input = self.input(replay, before);
        let asked = match summary {
            Some(summary) => {
                (input + self.output(before), 0, self.measure().counts(summary).total())
            }
            None if cut.is_sealed() => (input, input, 0),
            None => return (0.0, false),
        };
        let (input_tokens, shared_tokens, output_tokens) = asked;
        let asked = SummaryCall { call: cut.call, input_tokens, shared_tokens, output_tokens };
        let usd = self.priced(replay).cost(&[asked]).summaries.iter().sum();
        (usd, true)
    }

    /// Tokens that came since the request before a compaction and that its view shows: they would have been written anyway.
    fn new_tokens(&self, cut: &Cut<'_>) -> u64 {
        let ordinal = |call: usize| self.answers.get(call).map(|(ordinal, _)| *ordinal);
        let from = cut.call.checked_sub(1).and_then(ordinal).unwrap_or(0);
        let Some(until) = ordinal(cut.call) else { return 0 };
        let log = self.session.log().enumerate().take(until).skip(from);
        let shown = log.filter(|(ordinal, _)| !cut.hidden.contains(&(*ordinal, 0)));
        shown.map(|(_, message)| self.measure().counts(message).total()).sum()
    }
}
