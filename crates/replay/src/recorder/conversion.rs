//! How often a would-be re-read is a real one, over many sessions.

use super::access::Kind;
use super::rereads::{Aftermath, DroppedResult, SessionRereads};
use crate::stats::{self, Bootstrap, Estimate, wilson};
use serde::{Deserialize, Serialize};

/// Lengths of the windows in calls; `None` is the whole window, up to the next compaction.
pub const HORIZONS: [Option<usize>; 4] = [Some(5), Some(10), Some(20), None];

/// A session in a pool.
#[derive(Clone, Copy, Debug)]
pub struct Session<'a> {
    /// Task or repository; the session's own name where neither is known.
    pub cluster: &'a str,
    /// What it says.
    pub rereads: &'a SessionRereads,
}

/// So many of so many, pooled over sessions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rate {
    /// How many.
    pub hits: u64,
    /// Of how many.
    pub n: u64,
    /// The share; `None` of nothing.
    pub value: Option<f64>,
    /// Wilson's 95 % interval, as if all were independent.
    pub wilson: Option<(f64, f64)>,
    /// 95 % interval of the bootstrap over clusters; `None` with fewer than two clusters.
    pub bootstrap: Option<(f64, f64)>,
    /// Clusters with at least one.
    pub clusters: usize,
}

/// A factor to turn would-be re-reads into expected ones.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conversion {
    /// The factor, 0 to 1.
    pub factor: f64,
    /// Lower end: the lower one of Wilson's interval and the bootstrap's. With few clusters the bootstrap
    /// alone is too narrow, with dependent results Wilson's is.
    pub lo: f64,
    /// Upper end, likewise.
    pub hi: f64,
    /// Would-be re-reads that it rests on.
    pub n: u64,
}

/// The rates of one kind of result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KindRates {
    /// Kind of result.
    pub kind: Kind,
    /// Read again, of dropped.
    pub reread: Rate,
    /// Read again, of those in control windows.
    pub control: Rate,
    /// Read again, of dropped and needed.
    pub converted: Rate,
    /// The same in control windows.
    pub base: Rate,
}

/// What happened within so many calls.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Horizon {
    /// Calls; `None` is up to the next compaction or the end.
    pub within: Option<usize>,
    /// Windows after compactions that are long enough.
    pub windows: usize,
    /// Control windows that are long enough.
    pub control_windows: usize,
    /// Read again, of all dropped results.
    pub reread: Rate,
    /// Read again, of all results in control windows.
    pub control: Rate,
    /// Needed, of all dropped results: would-be re-reads.
    pub needed: Rate,
    /// Read again, of the needed ones: the conversion.
    pub converted: Rate,
    /// Read again, of those needed in control windows, where nothing had been dropped.
    pub base: Rate,
    /// `converted` less `base`: what the loss itself caused.
    pub excess: Estimate,
    /// Not needed only because the same came from elsewhere first.
    pub elsewhere: u64,
    /// By kind of result.
    pub kinds: Vec<KindRates>,
}

impl Horizon {
    /// The share of would-be re-reads that really took place, whatever their cause.
    pub fn conversion(&self) -> Option<Conversion> {
        let rate = self.converted;
        let ends = [rate.wilson, rate.bootstrap].into_iter().flatten();
        let (lo, hi) =
            ends.fold((1.0_f64, 0.0_f64), |(lo, hi), (low, high)| (lo.min(low), hi.max(high)));
        Some(Conversion { factor: rate.value?, lo, hi, n: rate.n })
    }

    /// The share that the loss caused: the conversion less the base rate, not below zero. Its ends are
    /// those of the conversion less the base rate's opposite ends, so it is the wider of all that can be said.
    pub fn attributable(&self) -> Option<Conversion> {
        let raw = self.conversion()?;
        let base = self.base.value?;
        let (low, high) = self.base.bootstrap.or(self.base.wilson)?;
        Some(Conversion {
            factor: (raw.factor - base).max(0.0),
            lo: (raw.lo - high).max(0.0),
            hi: (raw.hi - low).max(0.0),
            n: raw.n,
        })
    }
}

/// What many sessions say together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pooled {
    /// Sessions looked at.
    pub sessions: usize,
    /// Sessions with at least one compaction that says something.
    pub compacted: usize,
    /// Compactions, and how many of them say nothing.
    pub compactions: usize,
    /// Of them, those that say nothing: no call follows, or what went is not known.
    pub silent: usize,
    /// Of those that say something, how many have a summary that is not in the recording.
    pub opaque: usize,
    /// One per entry of [`HORIZONS`].
    pub horizons: Vec<Horizon>,
}

/// Pools sessions.
pub fn pool(sessions: &[Session<'_>], bootstrap: &Bootstrap) -> Pooled {
    let readable = |session: &Session<'_>| {
        let windows = session.rereads.windows.iter();
        windows.filter(|window| !window.control).count()
    };
    let opaque = sessions
        .iter()
        .flat_map(|session| &session.rereads.windows)
        .filter(|window| !window.control && !window.readable);
    Pooled {
        sessions: sessions.len(),
        compacted: sessions.iter().filter(|session| readable(session) > 0).count(),
        compactions: sessions.iter().map(|s| s.rereads.compactions).sum(),
        silent: sessions.iter().map(|s| s.rereads.silent).sum(),
        opaque: opaque.count(),
        horizons: HORIZONS.into_iter().map(|within| horizon(sessions, within, bootstrap)).collect(),
    }
}

/// Whether something happened within the horizon.
pub(super) fn happened(at: Option<usize>, within: Option<usize>) -> bool {
    at.is_some_and(|at| within.is_none_or(|within| at < within))
}

fn long_enough(window: &Aftermath, within: Option<usize>) -> bool {
    within.is_none_or(|within| window.follow >= within)
}

/// Sums of one session: read again and all, converted and needed; the same of its controls; elsewhere.
#[derive(Clone, Copy, Default)]
struct Sums {
    reread: [u64; 2],
    converted: [u64; 2],
    control: [u64; 2],
    base: [u64; 2],
    elsewhere: u64,
}

impl Sums {
    fn of(session: &SessionRereads, within: Option<usize>, kind: Option<Kind>) -> Self {
        let mut sums = Self::default();
        for window in &session.windows {
            if !long_enough(window, within) {
                continue;
            }
            let results = window.results.iter();
            for result in results.filter(|result| kind.is_none_or(|kind| result.kind == kind)) {
                sums.take(result, within, window.control);
            }
        }
        sums
    }

    fn take(&mut self, result: &DroppedResult, within: Option<usize>, control: bool) {
        let again = u64::from(happened(result.reread, within));
        let needed = happened(result.needed, within);
        let (all, of_needed) = if control {
            (&mut self.control, &mut self.base)
        } else {
            (&mut self.reread, &mut self.converted)
        };
        all[0] += again;
        all[1] += 1;
        if needed {
            of_needed[0] += again;
            of_needed[1] += 1;
        } else if !control {
            self.elsewhere += u64::from(happened(result.elsewhere, within));
        }
    }
}

fn horizon(sessions: &[Session<'_>], within: Option<usize>, bootstrap: &Bootstrap) -> Horizon {
    let count = |control: bool| {
        let windows = sessions.iter().flat_map(|session| &session.rereads.windows);
        windows.filter(|window| window.control == control && long_enough(window, within)).count()
    };
    let labels: Vec<&str> = sessions.iter().map(|session| session.cluster).collect();
    let (clusters, _) = stats::clusters(&labels);
    let sums = |kind: Option<Kind>| -> Vec<(usize, Sums)> {
        let of = |session: &Session<'_>| Sums::of(session.rereads, within, kind);
        clusters.iter().copied().zip(sessions.iter().map(of)).collect()
    };
    let all = sums(None);
    let of = |rows: &[(usize, Sums)], pick: fn(&Sums) -> [u64; 2]| rate(rows, pick, bootstrap);
    let differences = all.iter().map(|(cluster, sums)| {
        let [a, b] = sums.converted;
        let [c, d] = sums.base;
        (*cluster, [a, b, c, d].map(|count| count as f64))
    });
    let excess = bootstrap.of_sums(differences, Some(0.0), |[a, b, c, d]| {
        (*b > 0.0 && *d > 0.0).then(|| a / b - c / d)
    });
    Horizon {
        within,
        windows: count(false),
        control_windows: count(true),
        reread: of(&all, |sums| sums.reread),
        control: of(&all, |sums| sums.control),
        needed: of(&all, |sums| [sums.converted[1], sums.reread[1]]),
        converted: of(&all, |sums| sums.converted),
        base: of(&all, |sums| sums.base),
        excess,
        elsewhere: all.iter().map(|(_, sums)| sums.elsewhere).sum(),
        kinds: Kind::ALL
            .into_iter()
            .map(|kind| {
                let rows = sums(Some(kind));
                KindRates {
                    kind,
                    reread: of(&rows, |sums| sums.reread),
                    control: of(&rows, |sums| sums.control),
                    converted: of(&rows, |sums| sums.converted),
                    base: of(&rows, |sums| sums.base),
                }
            })
            .collect(),
    }
}

fn rate(rows: &[(usize, Sums)], pick: fn(&Sums) -> [u64; 2], bootstrap: &Bootstrap) -> Rate {
    let picked = rows
        .iter()
        .map(|(cluster, sums)| (*cluster, pick(sums).map(|count| count as f64)))
        // A session without any says nothing about the share, and is no cluster of it.
        .filter(|(_, [_, n])| *n > 0.0);
    let (hits, n) = rows.iter().fold((0, 0), |(hits, n), (_, sums)| {
        let [hit, of] = pick(sums);
        (hits + hit, n + of)
    });
    let estimate = bootstrap.of_sums(picked, None, |[hits, n]| (*n > 0.0).then(|| hits / n));
    Rate {
        hits,
        n,
        value: estimate.value,
        wilson: wilson(hits, n, Bootstrap::LEVEL),
        bootstrap: estimate.lo.zip(estimate.hi),
        clusters: estimate.clusters,
    }
}
