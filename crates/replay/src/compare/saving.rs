//! What presets save against a bill that was really paid.
//!
//! No provider takes a request over the window, so the bill without compaction may be one that nobody can pay. What the
//! recorders sent was paid. Where no compaction fits in more sessions than that is known for, no compaction in those is
//! the base.

use super::metrics::{Metric, NO_BILL};
use super::table::Table;
use super::{PresetLine, Score};
use crate::setup::AS_RECORDED;
use crate::stats::{self, Pair};
use crate::study::Known;
use schemars::JsonSchema;
use serde::Serialize;

/// The bill that savings are measured against.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Base {
    /// Name of the control whose bill it is: `as-recorded` or `none`.
    pub preset: String,
    /// Sessions that it is known for.
    pub sessions: usize,
    /// The mean bill of a session, in dollars.
    pub usd: f64,
}

/// What a preset saves against the base, over the sessions of the base.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Saving {
    /// Its bill to that of the base.
    pub ratio: Metric,
    /// Dollars that it saves in a session, on average.
    pub usd: Metric,
}

/// Sets what every line saves, and gives the base; `None` if there is none.
pub(super) fn save(table: &Table<'_>, lines: &mut [PresetLine]) -> Option<Base> {
    let (base, fits) = base(table, lines)?;
    for (preset, line) in lines.iter_mut().enumerate() {
        line.saving = Some(saving(table, preset, base, fits));
    }
    let bills = pairs(table, base, base, fits).map(|pair| pair.base);
    let (sessions, usd) = bills.fold((0, 0.0), |(count, sum), usd| (count + 1, sum + usd));
    let usd = usd / sessions as f64;
    Some(Base { preset: lines.get(base)?.preset.clone(), sessions, usd })
}

/// Whether a session counts, by its score without compaction.
type Fits = fn(&Score) -> bool;

/// The index of the base, and in which sessions it is one.
fn base(table: &Table<'_>, lines: &[PresetLine]) -> Option<(usize, Fits)> {
    let billed = |preset: usize, fits: Fits| pairs(table, preset, table.baseline, fits).count();
    let recorded = lines.iter().position(|line| line.preset == AS_RECORDED);
    let known = recorded.map_or(0, |preset| billed(preset, |_| true));
    let fits: Fits = |none| none.metrics.sent_over + none.metrics.unfittable == 0;
    let fitting = billed(table.baseline, fits);
    match recorded {
        Some(recorded) if known > 0 && known >= fitting => Some((recorded, |_| true)),
        _ => (fitting > 0).then_some((table.baseline, fits)),
    }
}

fn saving(table: &Table<'_>, preset: usize, base: usize, fits: Fits) -> Saving {
    let pairs = || pairs(table, preset, base, fits);
    let turned =
        || pairs().map(|Pair { cluster, value, base }| Pair { cluster, value: base, base: value });
    Saving {
        ratio: Metric::of(stats::ratio_of_totals(&table.bootstrap, pairs()), NO_BILL),
        usd: Metric::of(stats::mean_difference(&table.bootstrap, turned()), NO_BILL),
    }
}

/// The bills of a preset and of the base, in the sessions that both have one for.
fn pairs<'t>(
    table: &'t Table<'_>,
    preset: usize,
    base: usize,
    fits: Fits,
) -> impl Iterator<Item = Pair> + 't {
    let both = table.of(preset).zip(table.of(base)).zip(table.of(table.baseline));
    both.filter_map(move |((score, base), none)| {
        let known = [score, base].iter().all(|score| score.known != Known::Nothing);
        let bills = (table.bill(score)?.usd, table.bill(base)?.usd);
        (known && fits(none)).then(|| Pair {
            cluster: table.cluster(score),
            value: bills.0,
            base: bills.1,
        })
    })
}
