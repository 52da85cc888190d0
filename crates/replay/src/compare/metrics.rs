//! The metrics of a preset over all sessions, each with an interval.
//!
//! A session is the unit: calls of one session depend on each other, so sessions are drawn again, not
//! calls. Intervals are percentile intervals of a seeded cluster bootstrap with 10,000 draws.

use super::{Corpus, SessionResult};
use crate::availability::{self, Share};
use crate::stats::{self, Bootstrap, Estimate, Pair};
use serde::Serialize;

/// One metric: the value over all sessions that have it, its interval, and how many those are.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Metric {
    /// The value; `null` where it does not apply.
    pub value: Option<f64>,
    /// Lower end of the 95 % interval; `null` with fewer than two sessions.
    pub lo: Option<f64>,
    /// Upper end of the interval.
    pub hi: Option<f64>,
    /// Sessions that the value is made of.
    pub n: usize,
    /// Why there is no value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<&'static str>,
}

impl Metric {
    fn of(estimate: Estimate, why: &'static str) -> Self {
        let Estimate {
            value, lo, hi, n, ..
        } = estimate;
        Self {
            value,
            lo,
            hi,
            n,
            why: value.is_none().then_some(why),
        }
    }
}

/// The metrics of a preset.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Metrics {
    /// Forward-reference retention: of what later calls referred to, how much stood in the view.
    pub frr: Metric,
    /// The same over references that had only stood in what tools and users said.
    pub frr_obs: Metric,
    /// The same over references last seen more than three calls ago.
    pub frr_far: Metric,
    /// Edit-precondition retention: of the old texts of edits, how many stood in the view.
    pub epr: Metric,
    /// Prompt cost to that of no compaction, over the total: cache reads at 0.1, everything else at
    /// 1.25 of the input price (`anthropic-5m`), the cache always warm. Output and summaries are not in it.
    pub cost_ratio: Metric,
    /// The same as the geometric mean over sessions.
    pub cost_ratio_geo: Metric,
    /// Share of the input that the simulated prompt cache held.
    pub hit_rate: Metric,
    /// Tokens that were cached and had to be written again, over all sessions.
    pub churn_tokens: Metric,
    /// Results that the agent would have had to read again, per hundred calls: an upper bound.
    pub rereads_per_100_calls: Metric,
}

/// Weights of `anthropic-5m` in hundredths of the input price.
const READ: u64 = 10;
const WRITE: u64 = 125;

/// Input of a session without any compaction, and its prompt cost in hundredths of a token's price.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Baseline {
    /// Sum over all calls.
    pub(super) input: u64,
    cost: u64,
    previous: u64,
}

impl Baseline {
    /// A call with a request of so many tokens, which begins with the one before.
    pub(super) fn call(&mut self, tokens: u64) {
        self.input += tokens;
        self.cost += READ * self.previous + WRITE * (tokens - self.previous);
        self.previous = tokens;
    }
}

/// The first call of each session before which any strategy fired: where the exam of retention
/// starts, the same for all. `None` for sessions in which nothing fired.
pub(super) fn exam_starts(results: &[SessionResult], sessions: usize) -> Vec<Option<usize>> {
    let mut starts = vec![None; sessions];
    for result in results {
        let first = result
            .rows
            .iter()
            .find(|row| !row.fired.is_empty())
            .map(|row| row.call);
        let start: &mut Option<usize> = &mut starts[result.session];
        *start = [*start, first].into_iter().flatten().min();
    }
    starts
}

/// The metrics of one preset from its results.
pub(super) fn metrics(
    own: &[&SessionResult],
    baseline: &[Baseline],
    starts: &[Option<usize>],
    corpus: &Corpus,
) -> Metrics {
    const NOTHING_NEEDED: &str =
        "no preset fired in any session, or nothing was referred to after it";
    let bootstrap = Bootstrap::default();
    let cluster = |result: &SessionResult| corpus.sessions[result.session].path.as_str();
    let pooled = |share: &dyn Fn(&SessionResult, usize) -> Share| {
        let shares: Vec<stats::Share<'_>> = own
            .iter()
            .filter_map(|result| {
                let Share { kept, needed } = share(result, starts[result.session]?);
                (needed > 0).then(|| stats::Share {
                    cluster: cluster(result),
                    kept,
                    needed,
                })
            })
            .collect();
        Metric::of(stats::proportion(&bootstrap, &shares), NOTHING_NEEDED)
    };
    let retention = |of: fn(&availability::Retention) -> Share| {
        pooled(&move |result, start| of(&availability::score(&result.findings.references, start)))
    };
    let pairs: Vec<Pair<'_>> = own
        .iter()
        .map(|result| Pair {
            cluster: cluster(result),
            value: cost(result) as f64,
            base: baseline[result.session].cost as f64,
        })
        .collect();
    let sums = |of: &dyn Fn(&SessionResult) -> [f64; 2]| -> Vec<(&str, [f64; 2])> {
        own.iter()
            .map(|result| (cluster(result), of(result)))
            .collect()
    };
    let quotient = |[part, whole]: &[f64; 2]| (*whole > 0.0).then(|| part / whole);
    let cache = sums(&|result| {
        [
            result.metrics.cache_read_tokens as f64,
            result.metrics.input_tokens as f64,
        ]
    });
    let churn = sums(&|result| [result.metrics.churn_tokens as f64, 0.0]);
    let rereads = sums(&|result| {
        [
            100.0 * result.findings.rereads.len() as f64,
            result.metrics.calls as f64,
        ]
    });
    const NO_CALLS: &str = "no session has a call";
    Metrics {
        frr: retention(|retention| retention.frr),
        frr_obs: retention(|retention| retention.frr_obs),
        frr_far: retention(|retention| retention.frr_far),
        epr: pooled(&|result, start| availability::score_edits(&result.findings.edits, start)),
        cost_ratio: Metric::of(stats::ratio_of_totals(&bootstrap, &pairs), NO_CALLS),
        cost_ratio_geo: Metric::of(stats::geometric_mean_ratio(&bootstrap, &pairs), NO_CALLS),
        hit_rate: Metric::of(bootstrap.of_sums(&cache, None, quotient), NO_CALLS),
        churn_tokens: Metric::of(
            bootstrap.of_sums(&churn, None, |sums| Some(sums[0])),
            NO_CALLS,
        ),
        rereads_per_100_calls: Metric::of(bootstrap.of_sums(&rereads, None, quotient), NO_CALLS),
    }
}

fn cost(result: &SessionResult) -> u64 {
    result
        .rows
        .iter()
        .map(|row| READ * row.cache_read + WRITE * (row.input_tokens - row.cache_read))
        .sum()
}
