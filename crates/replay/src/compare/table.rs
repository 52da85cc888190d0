//! The scores of a comparison as a table: by session and by preset.

use crate::judge::cost::OWN;
use crate::judge::reread::{CHANCE, Chance};
use crate::read::split::Split;
use crate::rows::study::{Bill, Knowledge, Pauses, Score};
use crate::run::setup::Preset;
use crate::stats::Sample;
use foldback_core::strategy::Kind;
use schemars::JsonSchema;
use serde::Serialize;

/// The prices and seed of a comparison: what a pre-registration fixes.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Reporting {
    /// Name of the price regime; `own` for each session's own model.
    pub regime: String,
    /// A preset that measurably keeps less than this share of what later calls needed is not recommended.
    pub keep: f64,
    /// How likely it is that what was missed is read again.
    pub reread: Chance,
    /// Seed of the draws of the sign-flip test.
    pub seed: u64,
    /// Part of the sessions that is reported on; all by default.
    pub split: Option<Split>,
    /// Estimator that counted the tokens.
    pub estimator: String,
    /// Hash of the experiment file, if there is one.
    pub experiment: Option<String>,
}

impl Reporting {
    /// What must be kept where nothing else is asked for.
    pub const KEEP: f64 = 0.8;
}

impl Default for Reporting {
    fn default() -> Self {
        Self {
            regime: OWN.to_owned(),
            keep: Self::KEEP,
            reread: CHANCE,
            seed: 0,
            split: None,
            estimator: String::new(),
            experiment: None,
        }
    }
}

pub(super) struct Table<'a> {
    /// The number of each session's cluster, in the order of their names.
    pub(super) clusters: &'a [usize],
    /// By session, one per preset in their order.
    pub(super) scores: &'a [Box<[Score]>],
    /// By session, whether its bills count: it is known what was paid for it, or for none.
    pub(super) counted: &'a [bool],
    /// The window is below what was sent: nobody could have paid what was paid.
    pub(super) narrowed: bool,
    /// Index of the preset that never changes anything.
    pub(super) baseline: usize,
    /// It is known of every strategy what it costs to read again what it missed.
    pub(super) netted: bool,
    pub(super) reporting: &'a Reporting,
    pub(super) sample: Sample,
}

impl<'a> Table<'a> {
    /// The scores of a preset, in the order of the sessions.
    pub(super) fn column(&self, preset: usize) -> impl Iterator<Item = &'a Score> + use<'a> {
        self.scores.iter().filter_map(move |scores| scores.get(preset))
    }

    /// The scores of a preset of which something is known, each with that of no compaction.
    pub(super) fn pairs(
        &self,
        preset: usize,
    ) -> impl Iterator<Item = (&'a Score, &'a Score)> + use<'a> {
        let pairs = self.column(preset).zip(self.column(self.baseline));
        pairs.filter(|(score, base)| score.known.counts() && base.known.counts())
    }

    /// Whether it is known what every request of a preset held.
    pub(super) fn knows_contents(&self, preset: usize) -> bool {
        self.column(preset)
            .all(|score| matches!(score.known, Knowledge::Everything | Knowledge::Failed))
    }

    pub(super) fn cluster(&self, score: &Score) -> usize {
        self.clusters[score.session()]
    }

    /// The bill that the report goes by.
    pub(super) fn bill(&self, score: &'a Score) -> Option<&'a Bill> {
        bill(score, &self.reporting.regime).filter(|_| self.counts(score))
    }

    /// What a bill comes to with what was missed read again; the bill alone where that is not known of every strategy.
    pub(super) fn spent(&self, bill: &Bill) -> Option<f64> {
        if self.netted { bill.net_usd() } else { Some(bill.usd) }
    }

    /// Whether the bills of its session count.
    pub(super) fn counts(&self, score: &Score) -> bool {
        self.counted.get(score.session()).copied().unwrap_or(true)
    }
}

/// By session, whether at least one strategy other than a control changed something.
pub(super) fn acting(scores: &[Box<[Score]>], presets: &[Preset]) -> Vec<bool> {
    let acts = |score: &Score| {
        score.metrics.compactions > 0 && presets[score.preset()].strategy.kind == Kind::Strategy
    };
    scores.iter().map(|scores| scores.iter().any(acts)).collect()
}

/// The bill under a regime: with recorded pauses, else always warm.
pub(super) fn bill<'a>(score: &'a Score, regime: &str) -> Option<&'a Bill> {
    score.bills.under(regime, |pauses| pauses != Pauses::ColdTurns)
}
