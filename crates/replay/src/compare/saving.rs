//! What presets save against a bill that was really paid.
//!
//! What the recorders sent was paid, and is the base. Sessions of which it is not known what was paid count neither for the base nor
//! for a preset. Only if it is known of none, or if a smaller window was asked for than what was sent, is the base the simplest
//! control that fits: no compaction, or where that sends requests that no provider takes, `drop-oldest`.

use super::table::Table;
use crate::rows::study::{Bill, Score};
use crate::run::setup::{AS_RECORDED, Preset};
use crate::stats::Pair;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The bill that savings are measured against.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Base {
    /// Name of the control whose bill it is: `as-recorded`, `none` or `drop-oldest`.
    pub preset: String,
    /// Sessions that it is known for. The others count for no preset either.
    pub sessions: usize,
    /// The mean bill of a session, in dollars.
    pub usd: f64,
    /// The same with what was missed read again: what `net_ratio` and `net_saving_usd` are relative to.
    pub net_usd: Option<f64>,
    /// The window is smaller than what the recorders sent, so their bill is no base.
    pub narrowed: bool,
}

/// The control that is the base where neither the bill of the recorders nor that without any compaction can be.
pub const SIMPLEST: &str = "drop-oldest";

/// The bill that is the base.
#[derive(Clone, Copy)]
pub(super) struct Paid {
    /// Index of the preset whose bill it is.
    preset: usize,
}

impl Base {
    /// Whether nobody could send whole sessions, so that something must be cut: the window is smaller than they are.
    pub fn must_cut(&self) -> bool {
        self.preset == SIMPLEST
    }

    /// What a session costs, with what was missed read again if bills are compared so.
    pub fn spent(&self, netted: bool) -> f64 {
        self.net_usd.filter(|_| netted).unwrap_or(self.usd)
    }
}

impl Paid {
    /// The base of a comparison; `None` if there is none.
    pub(super) fn new(table: &Table<'_>, presets: &[Preset], billed: bool) -> Option<Self> {
        let named = |name: &str| presets.iter().position(|preset| preset.strategy.name == name);
        let recorded = named(AS_RECORDED).filter(|_| billed && !table.narrowed);
        let fits = table.column(table.baseline).all(|score| score.metrics.sent_over == 0);
        let simplest = || match named(SIMPLEST) {
            Some(simplest) if !fits => simplest,
            _ => table.baseline,
        };
        let preset = recorded.unwrap_or_else(simplest);
        let paid = Self { preset };
        paid.pairs(table, preset).next().map(|_| paid)
    }

    /// The bills of a preset and of the base, in the sessions that both have one for.
    pub(super) fn pairs<'t>(
        self,
        table: &'t Table<'_>,
        preset: usize,
    ) -> impl Iterator<Item = Pair> + 't {
        self.scores(table, preset).filter_map(move |(score, base)| {
            let (value, base) = (table.bill(score)?.usd, table.bill(base)?.usd);
            Some(Pair { cluster: table.cluster(score), value, base })
        })
    }

    /// The bills with what was missed read again with a chance, in the sessions that both have one for; `None` where one of them is
    /// not known.
    pub(super) fn nets(self, table: &Table<'_>, preset: usize, chance: f64) -> Option<Vec<Pair>> {
        let bills = self.scores(table, preset).filter_map(|(score, base)| {
            Some((table.cluster(score), table.bill(score)?, table.bill(base)?))
        });
        let pair = |(cluster, bill, base): (usize, &Bill, &Bill)| {
            Some(Pair { cluster, value: bill.net_with(chance)?, base: base.net_with(chance)? })
        };
        bills.map(pair).collect()
    }

    /// The scores of a preset and of the base, in the sessions of which something is known under both.
    pub(super) fn scores<'t>(
        self,
        table: &'t Table<'t>,
        preset: usize,
    ) -> impl Iterator<Item = (&'t Score, &'t Score)> {
        let both = table.column(preset).zip(table.column(self.preset));
        both.filter(|(score, base)| {
            table.counts(score) && [score, base].iter().all(|score| score.known.counts())
        })
    }

    /// The cluster with the most money: the first of its sessions, and its share. `None` if there is but one.
    pub(super) fn heaviest(self, table: &Table<'_>) -> Option<(usize, f64)> {
        let mut clusters: BTreeMap<usize, (usize, f64)> = BTreeMap::new();
        for (score, _) in self.scores(table, self.preset) {
            let usd = table.bill(score).and_then(|bill| table.spent(bill)).unwrap_or_default();
            clusters.entry(table.cluster(score)).or_insert((score.session(), 0.0)).1 += usd;
        }
        let all: f64 = clusters.values().map(|(_, usd)| usd).sum();
        let (session, most) = clusters.values().max_by(|a, b| a.1.total_cmp(&b.1))?;
        (clusters.len() > 1 && all > 0.0).then(|| (*session, most / all))
    }

    /// As a comparison tells it.
    pub(super) fn base(self, table: &Table<'_>, presets: &[Preset]) -> Option<Base> {
        let bills = || self.scores(table, self.preset).filter_map(|(score, _)| table.bill(score));
        let sessions = bills().count();
        let usd = bills().map(|bill| bill.usd).sum::<f64>() / sessions as f64;
        let net = bills().map(Bill::net_usd).sum::<Option<f64>>();
        let net_usd = net.map(|net| net / sessions as f64);
        let preset = presets.get(self.preset)?.strategy.label();
        Some(Base { preset, sessions, usd, net_usd, narrowed: table.narrowed })
    }
}
