//! What presets save against a bill that was really paid.
//!
//! No provider takes a request over the window, so the bill without compaction may be one that nobody can pay. What the
//! recorders sent was paid. Where no compaction fits in more sessions than that is known for, no compaction in those is
//! the base.

use super::table::Table;
use crate::setup::{AS_RECORDED, Preset};
use crate::stats::Pair;
use crate::study::Score;
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

/// Whether a session counts, by its score without compaction.
type Fits = fn(&Score) -> bool;

/// The bill that is the base.
#[derive(Clone, Copy)]
pub(super) struct Paid {
    /// Index of the preset whose bill it is.
    preset: usize,
    /// In which sessions it is the base.
    fits: Fits,
}

impl Paid {
    /// The base of a comparison; `None` if there is none.
    pub(super) fn of(table: &Table<'_>, presets: &[Preset]) -> Option<Self> {
        let billed = |preset: usize, fits: Fits| pairs(table, preset, table.baseline, fits).count();
        let recorded = presets.iter().position(|preset| preset.strategy.name == AS_RECORDED);
        let known = recorded.map_or(0, |preset| billed(preset, |_| true));
        let fits: Fits = |none| none.metrics.sent_over + none.metrics.unfittable == 0;
        let fitting = billed(table.baseline, fits);
        match recorded {
            Some(preset) if known > 0 && known >= fitting => Some(Self { preset, fits: |_| true }),
            _ => (fitting > 0).then_some(Self { preset: table.baseline, fits }),
        }
    }

    /// The bills of a preset and of the base, in the sessions that both have one for.
    pub(super) fn pairs<'t>(
        self,
        table: &'t Table<'_>,
        preset: usize,
    ) -> impl Iterator<Item = Pair> + 't {
        pairs(table, preset, self.preset, self.fits)
    }

    /// As a comparison tells it.
    pub(super) fn base(self, table: &Table<'_>, presets: &[Preset]) -> Option<Base> {
        let bills = self.pairs(table, self.preset).map(|pair| pair.base);
        let (sessions, usd) = bills.fold((0, 0.0), |(count, sum), usd| (count + 1, sum + usd));
        let usd = usd / sessions as f64;
        Some(Base { preset: presets.get(self.preset)?.strategy.label(), sessions, usd })
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
        let known = [score, base].iter().all(|score| score.known.counts());
        let bills = (table.bill(score)?.usd, table.bill(base)?.usd);
        (known && fits(none)).then(|| Pair {
            cluster: table.cluster(score),
            value: bills.0,
            base: bills.1,
        })
    })
}
