//! The metrics of a preset over all sessions, each with an interval.
//!
//! A session is the unit: calls of one session depend on each other, so sessions are drawn again, not
//! calls. Intervals are percentile intervals of a seeded cluster bootstrap with 10,000 draws.

use super::Score;
use super::table::Table;
use crate::availability::Retention;
use crate::share::Share;
use crate::stats::{self, Bootstrap, Estimate, Pair};
use schemars::JsonSchema;
use serde::Serialize;

/// One metric: the value over all sessions that have it, its interval, and how many those are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Metric {
    /// The value; `null` where it does not apply.
    pub value: Option<f64>,
    /// Lower end of the 95 % interval; `null` with fewer than two sessions.
    pub lo: Option<f64>,
    /// Upper end of the interval.
    pub hi: Option<f64>,
    /// Sessions behind the value.
    pub n: usize,
    /// Why there is no value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<&'static str>,
}

impl Metric {
    pub(super) fn of(estimate: Estimate, why: &'static str) -> Self {
        let Estimate { value, lo, hi, n, .. } = estimate;
        Self { value, lo, hi, n, why: value.is_none().then_some(why) }
    }
}

/// The metrics of a preset.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Metrics {
    /// Forward-reference retention: how much of what later calls referred to was in the view.
    pub frr: Metric,
    /// The same over references that only tools and users had said.
    pub frr_obs: Metric,
    /// The same over references last seen more than three calls ago.
    pub frr_far: Metric,
    /// The same over references that are both: the headline of retention. Clearing can't remove what
    /// the agent itself had said, nor does it reach what the last calls brought.
    pub frr_obs_far: Metric,
    /// Edit-precondition retention: how many old texts of edits were in the view.
    pub epr: Metric,
    /// Verbatim reuse, the second judge: among the pieces of results that later calls repeated word for word,
    /// how many were in the view.
    pub verbatim: Metric,
    /// The same over pieces last seen more than three calls ago.
    pub verbatim_far: Metric,
    /// The bill to that of no compaction, over the total, under the regime that is reported: input,
    /// output, and summaries as if a model had written them.
    pub cost_ratio: Metric,
    /// Tokens sent, to those of no compaction.
    pub token_ratio: Metric,
    /// Share of the input that the simulated prompt cache held, under the regime that is reported.
    pub hit_rate: Metric,
    /// Tokens that were cached and had to be written again, over all sessions.
    pub churn_tokens: Metric,
    /// Results that the agent would have had to read again, per hundred calls: an upper bound.
    pub rereads_per_100_calls: Metric,
}

const NOTHING_NEEDED: &str = "no preset fired in any session, or nothing was referred to after it";
const NO_CALLS: &str = "no session has a call";
const NOT_RECORDED: &str =
    "the content of the recorder's requests after its own compactions is not recorded";
pub(super) const NO_BILL: &str = "no session could be billed under the regime";

/// The metrics of one preset.
pub(super) fn metrics(table: &Table<'_>, preset: usize) -> Metrics {
    let contents = table.knows_contents(preset);
    let of = Of { bootstrap: &table.bootstrap, table, preset, contents };
    let bills = of.pairs(|score, base| Some((table.bill(score)?.usd, table.bill(base)?.usd)));
    let tokens = of.pairs(|score, base| {
        Some((score.metrics.input_tokens as f64, base.metrics.input_tokens as f64))
    });
    let rereads =
        |score: &Score| Some([100.0 * score.retention.rereads as f64, score.metrics.calls as f64]);
    Metrics {
        frr: of.share(Retention::frr),
        frr_obs: of.share(|retention| retention.obs),
        frr_far: of.share(Retention::far),
        frr_obs_far: of.share(|retention| retention.obs_far),
        epr: of.share(|retention| retention.edits),
        verbatim: of.share(|retention| retention.pieces),
        verbatim_far: of.share(|retention| retention.pieces_far),
        cost_ratio: Metric::of(stats::ratio_of_totals(of.bootstrap, bills), NO_BILL),
        token_ratio: Metric::of(stats::ratio_of_totals(of.bootstrap, tokens), NO_CALLS),
        hit_rate: of.quotient(
            |score| {
                let read = table.bill(score)?.read_tokens;
                Some([read as f64, score.metrics.input_tokens as f64])
            },
            NO_BILL,
        ),
        churn_tokens: of.sum(|score| score.metrics.churn_tokens),
        rereads_per_100_calls: of.if_known(|| of.quotient(rereads, NO_CALLS)),
    }
}

/// The scores of one preset, to be summed and drawn.
struct Of<'t, 'a> {
    bootstrap: &'t Bootstrap,
    table: &'t Table<'a>,
    preset: usize,
    /// The content of every request is known.
    contents: bool,
}

impl<'t, 'a> Of<'t, 'a> {
    /// A metric of the content of requests.
    fn if_known(&self, metric: impl FnOnce() -> Metric) -> Metric {
        if self.contents {
            return metric();
        }
        Metric { why: Some(NOT_RECORDED), ..Metric::default() }
    }

    /// A pooled share over the sessions that were asked anything.
    fn share(&self, of: impl Fn(&Retention) -> Share) -> Metric {
        let shares = self.table.of(self.preset).filter_map(|score| {
            let share = of(&score.retention);
            (share.needed > 0).then(|| (self.table.cluster(score), share))
        });
        self.if_known(|| Metric::of(stats::proportion(self.bootstrap, shares), NOTHING_NEEDED))
    }

    /// The sessions that have a value with and without compaction.
    fn pairs<F: Fn(&'a Score, &'a Score) -> Option<(f64, f64)>>(
        &self,
        of: F,
    ) -> impl Iterator<Item = Pair> + use<'t, 'a, F> {
        let table = self.table;
        table.pairs(self.preset).filter_map(move |(score, base)| {
            let (value, base) = of(score, base)?;
            Some(Pair { cluster: table.cluster(score), value, base })
        })
    }

    fn quotient(&self, of: impl Fn(&'a Score) -> Option<[f64; 2]>, why: &'static str) -> Metric {
        let scores = self.table.of(self.preset);
        let rows = scores.filter_map(|score| Some((self.table.cluster(score), of(score)?)));
        let quotient = |[part, whole]: &[f64; 2]| (*whole > 0.0).then(|| part / whole);
        Metric::of(self.bootstrap.of_sums(rows, None, quotient), why)
    }

    fn sum(&self, of: fn(&Score) -> u64) -> Metric {
        let scores = self.table.of(self.preset);
        let rows = scores.map(|score| (self.table.cluster(score), [of(score) as f64]));
        self.if_known(|| {
            Metric::of(self.bootstrap.of_sums(rows, None, |[sum]| Some(*sum)), NO_CALLS)
        })
    }
}
