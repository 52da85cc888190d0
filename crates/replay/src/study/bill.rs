//! The bill of one session under one strategy, by price regime.

use super::Common;
use crate::asked::WORDING;
use crate::cost::{
    LedgerFiring, LedgerRow, Priced, Regime, RequestLog, Reread, SummaryCall, Terms, bounds,
};
use crate::measures::firings as measures;
use crate::number::total;
use foldback_providers::prices::ModelTable;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
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
    fn of(items: &Items<'_>) -> &'static [Self] {
        match items.timed {
            true => &[Self::Recorded],
            false if items.turns.first() == items.turns.last() => &[Self::Any],
            false => &[Self::Warm, Self::ColdTurns],
        }
    }
}

/// Prices and caching rules with their name.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedTerms {
    /// Name of the regime; `own` for the session's own model.
    pub name: Arc<str>,
    /// What it says.
    pub terms: Terms,
}

/// Name of the regime of a session's own model.
pub const OWN: &str = "own";

/// Every named regime with a price, in the order of the table.
pub(crate) fn named(regimes: &[Regime], models: &ModelTable) -> Vec<NamedTerms> {
    regimes
        .iter()
        .filter_map(|regime| {
            Some(NamedTerms { name: regime.name.as_str().into(), terms: regime.terms(models)? })
        })
        .collect()
}

/// What a session cost under one regime. Dollars are those of the recorded answers and of every
/// request that the strategy would have sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bill {
    /// Name of the regime.
    pub regime: Arc<str>,
    /// Where the pauses come from.
    pub pauses: Pauses,
    /// Everything together: input, output, and summaries as if a model had been asked for them with a
    /// prompt of its own.
    pub usd: f64,
    /// Input alone, in dollars.
    pub input_usd: f64,
    /// Output alone, in dollars.
    pub output_usd: f64,
    /// Tokens read from the cache.
    pub read_tokens: u64,
    /// Input in units of plain input tokens: `Σ (read·p_r + write·p_w + uncached·p_u) / p_u`.
    pub equivalent_tokens: u64,
    /// `None` where nothing was compacted: most sessions are short, and a comparison keeps the bills of all.
    pub compaction: Option<Box<Compaction>>,
}

/// What compactions add to a bill.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Compaction<Row = LedgerRow> {
    /// The summarizer's calls, asked with a prompt of their own: all their input is plain.
    pub summaries_usd: f64,
    /// The same asked as a continuation of the conversation: what it shares with it is a cache read.
    pub summaries_shared_usd: f64,
    /// The bill's `usd`, and every would-be re-read as if it had really been made.
    pub pessimistic_usd: f64,
    /// What each compaction saved and cost.
    pub ledger: Box<[Row]>,
}

impl Bill {
    /// Of requests without summaries, compactions and re-reads: their input and their answers alone.
    pub fn of_requests(
        regime: impl Into<Arc<str>>,
        pauses: Pauses,
        input_usd: f64,
        output_usd: f64,
    ) -> Self {
        let usd = input_usd + output_usd;
        Self {
            regime: regime.into(),
            pauses,
            usd,
            input_usd,
            output_usd,
            read_tokens: 0,
            equivalent_tokens: 0,
            compaction: None,
        }
    }
}

/// What a bill was made by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Billed {
    /// Name of the regime.
    pub regime: Arc<str>,
    /// Where the pauses come from.
    pub pauses: Pauses,
}

/// The bills of a session under a strategy, as small as a comparison keeps them of every session.
#[derive(Clone, Debug, PartialEq)]
pub struct Bills {
    /// The same for most sessions, which share it.
    by: Arc<[Billed]>,
    sums: Box<[Sums]>,
}

/// The sums of a bill; see [`Bill`].
#[derive(Clone, Debug, PartialEq)]
pub struct Sums {
    /// Everything together.
    pub usd: f64,
    /// Input alone.
    pub input_usd: f64,
    /// Output alone.
    pub output_usd: f64,
    /// Tokens read from the cache.
    pub read_tokens: u64,
    /// Input in units of plain input tokens.
    pub equivalent_tokens: u64,
    /// `None` where compactions add nothing.
    pub compaction: Option<Box<Compaction<Payback>>>,
}

/// What a comparison reads of a [`LedgerRow`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Payback {
    /// Calls after which the compaction pays; infinite when it never does.
    pub break_even: f64,
    /// Dollars saved over the calls that followed.
    pub net_usd: f64,
    /// How many those are.
    pub calls: u32,
    /// As [`LedgerRow::paid_back`] says.
    pub paid_back: bool,
    /// The cache had expired before it.
    pub cold: bool,
}

impl Default for Bills {
    fn default() -> Self {
        Self { by: Arc::new([]), sums: Box::default() }
    }
}

impl Bills {
    /// Takes over bills. Of their ledgers only that of the regime that is reported is read.
    pub(super) fn of(bills: &[Bill], common: &Common, reported: &str) -> Self {
        let by = |bill: &Bill| Billed { regime: Arc::clone(&bill.regime), pauses: bill.pauses };
        let sums = bills.iter().map(|bill| Sums::of(bill, *bill.regime == *reported));
        Self { by: common.billed.one(&bills.iter().map(by).collect()), sums: sums.collect() }
    }

    /// Memory that they take beside their own value and what many sessions share.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        let compactions = self.sums.iter().filter_map(|sums| sums.compaction.as_deref());
        let ledgers = compactions
            .map(|compaction| size_of_val(compaction) + size_of_val(&*compaction.ledger));
        size_of_val(&*self.sums) + ledgers.sum::<usize>()
    }

    /// The first bill under a regime with such pauses.
    pub(crate) fn under(&self, regime: &str, pauses: impl Fn(Pauses) -> bool) -> Option<&Sums> {
        let mut bills = self.iter();
        let found = bills.find(|(by, _)| *by.regime == *regime && pauses(by.pauses))?;
        Some(found.1)
    }

    /// With what each was made by.
    pub fn iter(&self) -> impl Iterator<Item = (&Billed, &Sums)> {
        self.by.iter().zip(&self.sums)
    }
}

impl FromIterator<Bill> for Bills {
    fn from_iter<I: IntoIterator<Item = Bill>>(bills: I) -> Self {
        let bills: Vec<Bill> = bills.into_iter().collect();
        Self::of(&bills, &Common::default(), "")
    }
}

impl Sums {
    fn of(bill: &Bill, reported: bool) -> Self {
        let compaction = bill.compaction.as_ref().map(|compaction| Compaction {
            summaries_usd: compaction.summaries_usd,
            summaries_shared_usd: compaction.summaries_shared_usd,
            pessimistic_usd: compaction.pessimistic_usd,
            ledger: match reported {
                true => compaction.ledger.iter().map(Payback::of).collect(),
                false => Box::default(),
            },
        });
        let nothing = Compaction {
            summaries_usd: 0.0,
            summaries_shared_usd: 0.0,
            pessimistic_usd: bill.usd,
            ledger: Box::default(),
        };
        Self {
            usd: bill.usd,
            input_usd: bill.input_usd,
            output_usd: bill.output_usd,
            read_tokens: bill.read_tokens,
            equivalent_tokens: bill.equivalent_tokens,
            compaction: compaction.filter(|own| *own != nothing).map(Box::new),
        }
    }

    /// What each compaction saved and cost.
    pub fn ledger(&self) -> &[Payback] {
        self.compaction.as_ref().map_or(&[], |compaction| &compaction.ledger)
    }
}

impl Payback {
    fn of(row: &LedgerRow) -> Self {
        Self {
            break_even: row.break_even.unwrap_or(f64::INFINITY),
            net_usd: row.net_usd,
            calls: u32::try_from(row.calls).unwrap_or(u32::MAX),
            paid_back: row.paid_back(),
            cold: row.cold,
        }
    }
}

/// What a bill is made of.
pub(super) struct Items<'a> {
    pub(super) log: &'a RequestLog,
    /// By call, the number of the user turn.
    pub(super) turns: &'a [usize],
    pub(super) timed: bool,
    pub(super) firings: &'a [measures::Firing],
    pub(super) summaries: &'a [SummaryCall],
    pub(super) rereads: &'a [Reread],
}

impl Items<'_> {
    /// Whether there is more than requests and their answers.
    fn compacted(&self) -> bool {
        !(self.firings.is_empty() && self.summaries.is_empty() && self.rereads.is_empty())
    }
}

/// The summarizer's calls, each with a prompt of its own: they are billed for what they are asked. What was
/// written stands with the first of the calls before a request.
pub(super) fn summary_calls(
    inputs: &[(usize, u64)],
    firings: &[measures::Firing],
) -> Vec<SummaryCall> {
    let mut written: BTreeMap<usize, u64> = firings
        .iter()
        .filter(|firing| firing.summaries > 0)
        .map(|firing| (firing.call, firing.summary_tokens))
        .collect();
    let call = |(call, input_tokens): &(usize, u64)| SummaryCall {
        call: *call,
        input_tokens: *input_tokens,
        output_tokens: written.remove(call).unwrap_or(0),
        shares_prefix: false,
    };
    inputs.iter().map(call).collect()
}

/// The bills under all terms: under recorded pauses where there are any, else under both scenarios where
/// they differ.
pub(super) fn bills<'t>(
    items: &Items<'_>,
    terms: impl Iterator<Item = &'t NamedTerms>,
) -> Box<[Bill]> {
    let scenarios = Pauses::of(items);
    let starts: Vec<_> = scenarios.iter().map(|pauses| (*pauses, starts(items, *pauses))).collect();
    terms
        .flat_map(|terms| starts.iter().map(|(pauses, starts)| bill(items, starts, *pauses, terms)))
        .collect()
}

/// Longer than any prefix lives.
const LONG_MS: i64 = 30 * 24 * 3_600_000;

/// When the requests were sent.
fn starts(items: &Items<'_>, pauses: Pauses) -> Vec<Option<i64>> {
    match pauses {
        Pauses::Recorded => items.log.starts(),
        Pauses::Warm | Pauses::Any => Vec::new(),
        Pauses::ColdTurns => {
            let turns = items.turns.iter();
            turns.map(|turn| i64::try_from(*turn).ok().map(|turn| turn * LONG_MS)).collect()
        }
    }
}

fn bill(items: &Items<'_>, starts: &[Option<i64>], pauses: Pauses, named: &NamedTerms) -> Bill {
    let terms = &named.terms;
    let priced = Priced::at(items.log, starts, terms);
    let bill = priced.cost(items.summaries);
    // A continuation sends the whole conversation, and reads most of it from the cache.
    let shared = items.firings.iter().filter(|firing| firing.summaries > 0).map(|firing| {
        priced.summary_usd(&SummaryCall {
            call: firing.call,
            input_tokens: firing.frame + firing.before + WORDING,
            output_tokens: firing.summary_tokens,
            shares_prefix: true,
        })
    });
    let mut asked: BTreeMap<usize, f64> = BTreeMap::new();
    for (summary, usd) in items.summaries.iter().zip(&bill.summaries) {
        *asked.entry(summary.call).or_default() += usd;
    }
    let firings: Vec<LedgerFiring> = items
        .firings
        .iter()
        .map(|firing| LedgerFiring {
            call: firing.call,
            reclaimed: firing.reclaimed(),
            summary_usd: asked.get(&firing.call).copied().unwrap_or(0.0),
        })
        .collect();
    let input_usd: f64 = bill.calls.iter().map(|call| call.input_usd).sum();
    Bill {
        regime: Arc::clone(&named.name),
        pauses,
        usd: bill.usd,
        input_usd,
        output_usd: bill.calls.iter().map(|call| call.output_usd).sum(),
        read_tokens: bill.read_tokens,
        equivalent_tokens: terms.rates.equivalent_tokens(input_usd),
        compaction: items.compacted().then(|| {
            Box::new(Compaction {
                summaries_usd: total(bill.summaries.iter().copied()),
                summaries_shared_usd: total(shared),
                pessimistic_usd: bounds(bill.usd, &terms.rates, items.rereads).pessimistic,
                ledger: priced.ledger(&firings).into(),
            })
        }),
    }
}
