//! The headline metrics by length of the session and by recorder.

use super::Known;
use super::table::Table;
use crate::availability::Share;
use crate::stats::{Tercile, terciles};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// One stratum under one preset. Values without intervals: strata are small, and exploratory.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Stratum {
    /// `length` (terciles of the largest request without compaction) or `format`.
    pub by: &'static str,
    /// The stratum.
    pub name: String,
    /// Sessions in it.
    pub n: usize,
    /// The bill to that of no compaction; `null` where nothing was billed.
    pub cost_ratio: Option<f64>,
    /// Forward-reference retention of what only observations said.
    pub frr_obs: Option<f64>,
    /// Forward-reference retention of what was last seen more than three calls ago.
    pub frr_far: Option<f64>,
    /// Of what is both: the headline.
    pub frr_obs_far: Option<f64>,
}

#[derive(Default)]
struct Sums {
    n: usize,
    usd: f64,
    base: f64,
    /// What requests of some session held is not known.
    unknown: bool,
    obs: Share,
    far: Share,
    obs_far: Share,
}

pub(super) fn strata(table: &Table<'_>, preset: usize) -> Vec<Stratum> {
    let lengths: Vec<u64> =
        table.of(table.baseline).map(|score| score.metrics.peak_tokens).collect();
    let terciles = terciles(&lengths);
    let mut by_length: BTreeMap<Tercile, Sums> = BTreeMap::new();
    let mut by_format: BTreeMap<&str, Sums> = BTreeMap::new();
    for (score, base) in table.pairs(preset) {
        let format = table.sessions[score.session()].format.as_ref();
        for sums in [
            by_length.entry(terciles[score.session()]).or_default(),
            by_format.entry(format).or_default(),
        ] {
            sums.n += 1;
            sums.unknown |= score.known != Known::Everything;
            sums.usd += table.bill(score).map_or(0.0, |bill| bill.usd);
            sums.base += table.bill(base).map_or(0.0, |bill| bill.usd);
            sums.obs.add(score.exam.references.frr_obs);
            sums.far.add(score.exam.references.frr_far);
            sums.obs_far.add(score.exam.references.frr_obs_far);
        }
    }
    let length = by_length.into_iter().map(|(tercile, sums)| {
        let name = match tercile {
            Tercile::Short => "short",
            Tercile::Medium => "medium",
            Tercile::Long => "long",
        };
        stratum("length", name, &sums)
    });
    let format = by_format.iter().map(|(format, sums)| stratum("format", format, sums));
    length.chain(format).collect()
}

fn stratum(by: &'static str, name: &str, sums: &Sums) -> Stratum {
    let kept = |share: Share| share.value().filter(|_| !sums.unknown);
    Stratum {
        by,
        name: name.to_owned(),
        n: sums.n,
        cost_ratio: (sums.base > 0.0).then(|| sums.usd / sums.base),
        frr_obs: kept(sums.obs),
        frr_far: kept(sums.far),
        frr_obs_far: kept(sums.obs_far),
    }
}
