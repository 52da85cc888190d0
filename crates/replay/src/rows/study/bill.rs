//! The bill of one session under one strategy, by price regime.

use crate::judge::cost::{HitShare, NamedTerms, OWN, Priced, RequestLog, SummaryCall, Terms};
use crate::judge::reread::CHANCE;
use crate::run::drive::Replay;
use crate::run::totals::CallRow;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Where the pauses between calls come from; beyond its life a cached prefix is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pauses {
    /// From the recording.
    Recorded,
    /// The recording has no times: no pause is ever too long.
    Warm,
    /// The recording has no times: the pause before every user turn is too long.
    ColdTurns,
    /// The recording has no times, and they would make no difference.
    Any,
}

impl Pauses {
    /// Those under which a session is billed. Within a user turn, no pause is too long.
    fn under(items: &Items<'_>) -> &'static [Self] {
        let turn = |row: &CallRow| row.turn;
        match items.timed {
            true => &[Self::Recorded],
            false if items.rows.first().map(turn) == items.rows.last().map(turn) => &[Self::Any],
            false => &[Self::Warm, Self::ColdTurns],
        }
    }
}

/// What a session cost under one regime, in dollars: the recorded answers and every request that the strategy would have
/// sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bill {
    /// Everything together: input, output, and summaries as if a model had been asked for them with a
    /// prompt of its own.
    pub usd: f64,
    /// Input alone.
    pub input_usd: f64,
    /// Output alone.
    pub output_usd: f64,
    /// Tokens read from the cache.
    pub read_tokens: u64,
    /// `None` where compactions add nothing: most sessions are short, and a comparison keeps the bills of all.
    pub compaction: Option<Box<Compaction>>,
}

/// What compactions add to a bill.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Compaction {
    /// The summarizer's calls.
    pub summaries_usd: f64,
    /// What everything costs if what is missed is read again; `None` where it is not known what is.
    pub again: Option<RereadBill>,
}

/// What everything costs if what is missed is read again (see [`crate::judge::reread`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RereadBill {
    /// With the chance that recordings show.
    pub usd: f64,
    /// With all of it.
    pub all_usd: f64,
}

impl RereadBill {
    /// The same with or without.
    pub(super) fn same(usd: f64) -> Self {
        Self { usd, all_usd: usd }
    }
}

impl Bill {
    /// Of requests and their answers alone.
    pub fn of_requests(input_usd: f64, output_usd: f64) -> Self {
        Self { usd: input_usd + output_usd, input_usd, output_usd, ..Self::default() }
    }

    fn scale(&mut self, factor: f64) {
        for usd in [&mut self.usd, &mut self.input_usd, &mut self.output_usd] {
            *usd *= factor;
        }
        if let Some(compaction) = &mut self.compaction {
            compaction.summaries_usd *= factor;
            if let Some(again) = &mut compaction.again {
                again.usd *= factor;
                again.all_usd *= factor;
            }
        }
    }

    /// With what compactions add, where they add something.
    pub(super) fn compacted(self, compaction: Compaction) -> Self {
        let nothing =
            Compaction { again: Some(RereadBill::same(self.usd)), ..Compaction::default() };
        let compaction = (compaction != nothing).then(|| Box::new(compaction));
        Self { compaction, ..self }
    }

    /// What everything costs if what is missed is read again; `None` where it is not known what is.
    pub(crate) fn again(&self) -> Option<RereadBill> {
        let same = Some(RereadBill::same(self.usd));
        self.compaction.as_ref().map_or(same, |compaction| compaction.again)
    }

    /// The bill if what is missed is read again with the chance that recordings show. It equals `usd` if nothing is missed, and is
    /// `None` if the misses are unknown.
    pub(crate) fn net_usd(&self) -> Option<f64> {
        Some(self.again()?.usd)
    }

    /// The same with another chance: in proportion between the bill, [`net_usd`](Self::net_usd) and all that is missed.
    pub(crate) fn net_with(&self, chance: f64) -> Option<f64> {
        let RereadBill { usd: net, all_usd: all } = self.again()?;
        let known = CHANCE.value;
        let between = |from: f64, to: f64, part: f64| from + (to - from) * part;
        Some(match () {
            () if chance <= 0.0 => self.usd,
            () if chance < known => between(self.usd, net, chance / known),
            () => between(net, all, (chance - known) / (1.0 - known)),
        })
    }
}

/// What a bill was made by.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Billed {
    /// Name of the regime; `own` for the session's own model.
    pub regime: Arc<str>,
    /// Where the pauses come from.
    pub pauses: Pauses,
}

/// The bills of a session under a strategy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bills {
    /// The same for most sessions of a comparison, which share it.
    pub(super) by: Arc<[Billed]>,
    bills: Box<[Bill]>,
}

impl Default for Bills {
    fn default() -> Self {
        Self { by: Arc::new([]), bills: Box::default() }
    }
}

impl Bills {
    /// Each times a factor by the name of its regime and by its pauses: what was paid to what a model of the cache says of it.
    /// One without a factor is left as it is.
    pub(super) fn scaled(mut self, factor: impl Fn(&Billed) -> Option<f64>) -> Self {
        for (by, bill) in self.by.iter().zip(&mut self.bills) {
            if let Some(factor) = factor(by) {
                bill.scale(factor);
            }
        }
        self
    }

    /// With what they are if what is missed is read again.
    pub(super) fn with_again(mut self, again: impl Fn(usize, &Bill) -> Option<RereadBill>) -> Self {
        for (at, bill) in self.bills.iter_mut().enumerate() {
            let again = again(at, bill);
            if again != bill.again() {
                bill.compaction.get_or_insert_default().again = again;
            }
        }
        self
    }

    /// What each comes to, in the order of [`iter`](Self::iter).
    pub(super) fn usd(&self) -> Vec<f64> {
        self.bills.iter().map(|bill| bill.usd).collect()
    }

    /// Memory that they take beside their own value and what many sessions share.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        let compactions = self.bills.iter().filter_map(|bill| bill.compaction.as_deref());
        size_of_val(&*self.bills) + compactions.map(size_of_val).sum::<usize>()
    }

    /// The first bill under a regime with such pauses.
    pub(crate) fn under(&self, regime: &str, pauses: impl Fn(Pauses) -> bool) -> Option<&Bill> {
        let mut bills = self.iter();
        let found = bills.find(|(by, _)| *by.regime == *regime && pauses(by.pauses))?;
        Some(found.1)
    }

    /// With what each was made by.
    pub fn iter(&self) -> impl Iterator<Item = (&Billed, &Bill)> {
        self.by.iter().zip(&self.bills)
    }
}

impl FromIterator<(Billed, Bill)> for Bills {
    fn from_iter<I: IntoIterator<Item = (Billed, Bill)>>(bills: I) -> Self {
        let (by, bills): (Vec<Billed>, Vec<Bill>) = bills.into_iter().unzip();
        Self { by: by.into(), bills: bills.into() }
    }
}

/// What a bill is made of.
pub(super) struct Items<'a> {
    pub(super) log: &'a RequestLog,
    /// By call, what the provider's cache still had, where the recording tells.
    pub(super) held: &'a [Option<HitShare>],
    pub(super) rows: &'a [CallRow],
    pub(super) timed: bool,
    pub(super) summaries: &'a [SummaryCall],
}

impl<'a> Items<'a> {
    /// Of a replay.
    pub(super) fn new(replay: &'a Replay, held: &'a [Option<HitShare>], timed: bool) -> Self {
        let Replay { requests: log, rows, summary_calls: summaries, .. } = replay;
        Self { log, held, rows, timed, summaries }
    }
}

/// Counts the summarizer's calls with the rows. Those after the last call belong to it, so that the sums over rows are
/// those of the bill.
pub(super) fn count_summaries<'s>(
    rows: &mut [CallRow],
    summaries: impl IntoIterator<Item = &'s SummaryCall>,
) {
    let last = rows.len().saturating_sub(1);
    for asked in summaries {
        if let Some(row) = rows.get_mut(asked.call.min(last)) {
            row.summary_requests += 1;
            row.summary_input += asked.input_tokens;
            row.summary_output += asked.output_tokens;
        }
    }
}

/// The bills under all terms: under recorded pauses where there are any, else under both scenarios where
/// they differ.
pub(super) fn bills(items: &Items<'_>, terms: &[NamedTerms]) -> Bills {
    let scenarios = Pauses::under(items);
    let starts: Vec<_> = scenarios.iter().map(|pauses| (*pauses, starts(items, *pauses))).collect();
    let under = |named: &NamedTerms| {
        // What was lost was lost by the provider that served the session.
        let held = if *named.name == *OWN { items.held } else { &[] };
        let bill = |(pauses, starts): &(Pauses, Vec<_>)| {
            let by = Billed { regime: Arc::clone(&named.name), pauses: *pauses };
            (by, bill(items, starts, held, &named.terms))
        };
        starts.iter().map(bill).collect::<Vec<_>>()
    };
    terms.iter().flat_map(under).collect()
}

/// Longer than any prefix lives.
const LONG_MS: i64 = 30 * 24 * 3_600_000;

/// When the requests were sent.
fn starts(items: &Items<'_>, pauses: Pauses) -> Vec<Option<i64>> {
    match pauses {
        Pauses::Recorded => items.log.starts(),
        Pauses::Warm | Pauses::Any => Vec::new(),
        Pauses::ColdTurns => {
            let starts = items.rows.iter();
            starts.map(|row| Some(i64::try_from(row.turn).ok()? * LONG_MS)).collect()
        }
    }
}

fn bill(
    items: &Items<'_>,
    starts: &[Option<i64>],
    held: &[Option<HitShare>],
    terms: &Terms,
) -> Bill {
    let priced = Priced::at(items.log, starts, held, terms);
    let mut bill = Bill::default();
    for [input_usd, output_usd] in priced.requests() {
        bill.input_usd += input_usd;
        bill.output_usd += output_usd;
        bill.usd += input_usd + output_usd;
    }
    bill.read_tokens = priced.uses.iter().map(|cache| cache.read).sum();
    if items.summaries.is_empty() {
        return bill;
    }
    let mut summaries_usd = 0.0;
    for usd in priced.summaries(items.summaries) {
        summaries_usd += usd;
        bill.usd += usd;
    }
    let again = Some(RereadBill::same(bill.usd));
    bill.compacted(Compaction { summaries_usd, again })
}
