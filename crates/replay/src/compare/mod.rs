//! Every preset over every session: what each would have sent, what it cost and what it forgot.

mod answer;
mod assumptions;
mod contrast;
mod dollars;
mod figures;
mod front;
mod gate;
mod idle;
mod judges;
mod line;
mod prices;
mod provenance;
mod redact;
mod saving;
mod sessions;
mod table;
mod verdict;
mod windows;

pub use crate::corpus::{Corpus, Failure, Skipped, Source};
pub use crate::setup::{DEFAULT_LIMITS, Preset, Setup};
pub use crate::study::{Inaction, Known, Outcome, Score};
pub use answer::{Answer, MUCH_FORGOTTEN, Remark};
pub(crate) use contrast::adjust;
pub use contrast::{Cheaper, Contrast, Difference, ToldApart};
pub use dollars::Dollars;
pub use figures::{FIGURES, Figure, Metric, Metrics, Shown};
pub use front::{Place, Point, Standing, ranks};
pub use gate::Gate;
pub use idle::Idle;
pub use judges::{Judge, Judges, LEAST_GAP};
pub use line::PresetLine;
pub use provenance::Provenance;
pub(crate) use provenance::short;
pub use saving::Base;
use sessions::Kept;
pub use sessions::{CorpusSummary, SessionLine};
pub use table::{Primary, Reporting};
pub use verdict::Verdict;

use crate::cost::Agreement;
use crate::stats::Bootstrap;
use crate::store::Store;
use crate::study::{Context, Facts, Keys, Record, study};
use crate::walk::{Detail, Walk};
use foldback_formats::Session;
use rayon::prelude::*;
use std::collections::BTreeSet;
use thiserror::Error;

/// A comparison.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// The inputs and the program behind it.
    pub provenance: Provenance,
    /// What was compared.
    pub corpus: CorpusSummary,
    /// Prices, seed and primary metric.
    pub reporting: Reporting,
    /// Assumptions behind the numbers, one sentence each.
    pub assumptions: Vec<String>,
    /// Reasons to doubt the comparison, one sentence each.
    pub cautions: Vec<String>,
    /// The prices in short; the assumptions have the full text.
    pub prices: String,
    /// Simulated against recorded cache reads, by regime of those that the recordings could have had.
    pub cache_check: Vec<(String, Agreement)>,
    /// The bill that savings are measured against; `None` where no session has one.
    pub base: Option<Base>,
    /// One line per preset, in the order that they were given.
    pub presets: Vec<PresetLine>,
    /// How far the two judges of retention agree.
    pub judges: Judges,
    /// Pairs of strategies.
    pub contrasts: Vec<Contrast>,
    /// Every strategy against every control but no compaction.
    pub against_controls: Vec<Contrast>,
    /// By session, one per preset in their order.
    pub scores: Vec<Box<[Score]>>,
    /// Index of the preset that never changes anything.
    pub baseline: usize,
    keys: Vec<Keys>,
    /// By session, its source in the corpus.
    sources: Vec<usize>,
    /// Models of sessions that the model table does not list.
    unlisted: Vec<String>,
    redacted: bool,
}

impl Comparison {
    /// What the presets did with a session, in their order.
    pub fn scores_of(&self, session: usize) -> &[Score] {
        self.scores.get(session).map_or(&[], |scores| scores)
    }

    /// The facts of a session; `None` when the store has lost them.
    pub fn facts(&self, store: &Store, session: usize) -> Option<Facts> {
        self.keys.get(session)?.facts(store)
    }

    /// Everything that was measured on a session under a preset.
    pub fn record(&self, store: &Store, session: usize, preset: usize) -> Option<Record> {
        let keys = self.keys.get(session)?;
        let mut record = keys.record(store, preset)?;
        if self.redacted {
            let broken = record.rows.iter_mut().flat_map(|row| &mut row.broken);
            broken.for_each(|broken| redact::rule(broken, &keys.content()));
        }
        Some(record)
    }

    /// Reads a session again; `None` where its file is gone or holds something else by now.
    pub fn session(&self, corpus: &Corpus, session: usize) -> Option<Session> {
        let keys = self.keys.get(session)?;
        let content = corpus.sources.get(*self.sources.get(session)?)?.read().ok()?;
        let found = content.sessions.into_iter().nth(keys.number())?;
        (content.hash == keys.content()).then_some(found)
    }

    /// The walk of a session under presets by their indices: from the store, else from `make`, and kept.
    /// `make` is given the same presets in the same order and returns `None` if it can't.
    pub fn walk(
        &self,
        store: &Store,
        session: usize,
        presets: &[usize],
        detail: Detail,
        make: impl FnOnce() -> Option<Walk>,
    ) -> Option<Walk> {
        let keys = self.keys.get(session)?;
        let mut walk = keys.walk(store, presets, detail, make)?;
        // The same bytes may stand elsewhere by now.
        walk.path = self.corpus.sessions.get(session)?.path.to_string();
        if self.redacted {
            redact::walk(&mut walk, &keys.content());
        }
        Some(walk)
    }
}

/// A comparison that can't be made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CompareError {
    /// No preset leaves sessions as they are, so there is nothing to compare with.
    #[error("nothing to compare with: every preset has stages; add `none`")]
    NoBaseline,
    /// No file held a session. What was skipped, with the reasons.
    #[error("no session could be imported")]
    NothingImported(Vec<Skipped>),
    /// Results can't be stored, neither in the store nor in a temporary file. A comparison is computed from
    /// them, so one without them would be one of fewer sessions.
    #[error("the results of {path} can't be stored: {error}")]
    Store {
        /// Path of the session's file.
        path: String,
        /// What the system said.
        error: String,
    },
    /// A source can't be reached, nor may others be.
    #[error("{path}: {error}")]
    Unreached {
        /// Its name.
        path: String,
        /// What was said.
        error: String,
    },
    /// Warnings are errors.
    #[error("{path}: {warning}; without --strict it would be counted and the rest used")]
    Strict {
        /// Path of the session.
        path: String,
        /// The first warning.
        warning: String,
    },
}

/// How a comparison is run.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    /// Where results are kept.
    pub store: &'a Store,
    /// Called once per preset and session when done.
    pub progress: &'a (dyn Fn() + Sync),
    /// Whether a warning of an importer is an error.
    pub strict: bool,
}

/// Files that are studied before what is kept of them is taken over. What is dropped then makes room for the next ones.
const BATCH: usize = 1 << 12;

/// Replays every session under every preset, files in parallel. One of the presets has no stages: it
/// is what the others are compared with.
pub fn compare(
    corpus: &Corpus,
    presets: &[Preset],
    setup: &Setup,
    reporting: Reporting,
    run: Run<'_>,
) -> Result<Comparison, CompareError> {
    let baseline = presets.iter().position(Preset::is_baseline).ok_or(CompareError::NoBaseline)?;
    let (unique, mut skipped) = sessions::hashes(corpus)?;
    let context = Context::new(presets, setup, reporting.split, run);
    let mut kept = Kept::for_sessions(unique.len());
    for batch in unique.chunks(BATCH) {
        let studied: Vec<(usize, Result<_, Failure>)> = batch
            .par_iter()
            .map(|(at, hash)| (*at, study(&context, &corpus.sources[*at], *hash)))
            .collect();
        for (at, outcome) in studied {
            let path = || corpus.sources[at].name();
            match outcome {
                Ok(sessions) => {
                    sessions.into_iter().for_each(|one| kept.take(at, one, &context.common));
                }
                Err(failure) => {
                    skipped.push(Skipped { path: path(), reason: failure.skips(path)? });
                }
            }
        }
    }
    drop(unique);
    skipped.sort_by(|a, b| a.path.cmp(&b.path));
    if kept.lines.is_empty() {
        return Err(CompareError::NothingImported(skipped));
    }
    if run.strict
        && let Some((path, warning)) = kept.warning
    {
        return Err(CompareError::Strict { path, warning });
    }
    let provenance = Provenance::of(&context.names, kept.keys.iter().map(Keys::content));
    let models = kept.recordings.iter().filter_map(|recording| recording.model.as_deref());
    let unlisted = models.filter(|model| setup.models.find(model).is_none());
    let unlisted: BTreeSet<String> = unlisted.map(str::to_owned).collect();
    let comparison = assemble(corpus, presets, baseline, setup, reporting, kept, skipped);
    Ok(Comparison { provenance, unlisted: unlisted.into_iter().collect(), ..comparison })
}

fn assemble(
    corpus: &Corpus,
    presets: &[Preset],
    baseline: usize,
    setup: &Setup,
    mut reporting: Reporting,
    kept: Kept,
    skipped: Vec<Skipped>,
) -> Comparison {
    reporting.estimator = setup.measure.id().to_string();
    let Kept { mut lines, folders, recordings, scores, keys, sources, mut cache_check, .. } = kept;
    sessions::name_repositories(&mut lines, &folders);
    drop(folders);
    let mut summary = CorpusSummary {
        files: corpus.sources.len(),
        imported: lines.len(),
        without_calls: lines.iter().filter(|line| line.calls == 0).count(),
        skipped,
        sessions: lines,
        ..CorpusSummary::default()
    };
    let (clusters, count) = sessions::clusters(&summary.sessions, &keys);
    summary.clusters = count;
    let table = table::Table {
        clusters: &clusters,
        scores: &scores,
        baseline,
        bootstrap: Bootstrap::new(reporting.draws, reporting.seed),
        reporting: &reporting,
    };
    let paid = saving::Paid::of(&table, presets);
    let mut preset_lines: Vec<PresetLine> = presets
        .par_iter()
        .enumerate()
        .map(|(at, preset)| line::line(&preset.strategy, at, &table, paid))
        .collect();
    let contrasts = contrast::contrasts(&table, presets, &preset_lines);
    let against_controls = contrast::against_controls(&table, presets, &preset_lines);
    contrast::rank(&table, &mut preset_lines, &contrasts);
    let base = paid.and_then(|paid| paid.base(&table, &preset_lines));
    summary.triggering = table.triggering(presets);
    cache_check.retain(|(_, agreement)| agreement.pairs > 0);
    let judges = Judges::of(&preset_lines);
    let mut assumptions =
        assumptions::assumptions(presets, setup, &summary, &recordings, &scores, &reporting);
    assumptions.extend(judges.sentence());
    let mut cautions = assumptions::cautions(presets, &preset_lines, &summary, &scores);
    cautions.extend(assumptions::copied(corpus, &summary));
    cautions.extend(judges::caution(&preset_lines));
    cautions.extend(prices::hour(setup, &recordings, &reporting));
    cautions.extend(windows::contradicted(setup, &recordings, &scores, baseline));
    let prices = prices::short(setup, &reporting);
    Comparison {
        corpus: summary,
        reporting,
        assumptions,
        cautions,
        prices,
        cache_check,
        base,
        presets: preset_lines,
        judges,
        contrasts,
        against_controls,
        scores,
        baseline,
        keys,
        sources,
        ..Comparison::default()
    }
}
