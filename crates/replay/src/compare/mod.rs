//! Every preset over every session: what each would have sent, what it cost and what it forgot.

mod answer;
mod assumptions;
mod comparison;
mod contrast;
mod difference;
mod dollars;
pub(crate) mod experiment;
mod figures;
mod front;
mod gate;
mod idle;
mod judges;
mod line;
mod outcomes;
mod prices;
mod provenance;
mod redact;
mod saving;
mod sessions;
mod table;
mod thin;
mod verdict;
mod windows;

pub use answer::{Answer, Remark};
pub use comparison::Comparison;
pub use contrast::Contrast;
pub(crate) use contrast::{adjust, holm};
pub use difference::{Difference, SampleSize};
pub use dollars::Dollars;
pub use figures::{FIGURES, Figure, FigureForm, Judge, Metric, Metrics};
pub use front::{Point, Standing, front};
pub use gate::Gate;
pub use idle::Idle;
pub use line::PresetLine;
pub use outcomes::{Arm, ArmPair, FoundSessions, McNemar, Outcomes, SessionOutcome};
pub(crate) use provenance::short;
pub use provenance::{Provenance, short_hash};
pub use saving::{Base, SIMPLEST};
use sessions::Studies;
pub use sessions::{CorpusSummary, LEAST_REPOSITORIES, LEAST_SESSIONS, SessionLine, Unit};
pub use table::Reporting;
pub use verdict::{Reason, Verdict};

use crate::fault::FailedReplay;
use crate::parallel::in_parallel;
use crate::read::corpus::{Corpus, Skipped};
use crate::rows::CompareError;
use crate::rows::study::{Context, Keys, Recording, Run, Score, failed, study};
use crate::run::setup::{Preset, Setup};
use foldback_core::strategy::Kind;
use std::collections::BTreeSet;

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
    let mut kept = Studies::for_sessions(unique.len());
    for batch in unique.chunks(BATCH) {
        let studied = in_parallel(batch, |(at, hash)| study(&context, &corpus.sources[*at], *hash));
        for ((at, _), outcome) in batch.iter().zip(studied) {
            let (at, path) = (*at, || corpus.sources[*at].name());
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
    let provenance = Provenance::new(&context.names, kept.keys.iter().map(Keys::content));
    let models = kept.recordings.iter().filter_map(|recording| recording.model.as_deref());
    let unlisted = models.filter(|model| !setup.is_priced(Some(model)));
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
    kept: Studies,
    skipped: Vec<Skipped>,
) -> Comparison {
    reporting.estimator = setup.measure.id().to_string();
    let Studies { mut lines, folders, recordings, scores, keys, sources, .. } = kept;
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
    let mut acting = table::acting(&scores, presets);
    summary.triggering = acting.iter().filter(|acts| **acts).count();
    // What is not known to have been paid counts only where that is known of nothing.
    let billed = recordings.iter().any(|recording| recording.billed);
    let counted: Vec<bool> = recordings.iter().map(|one| one.billed || !billed).collect();
    // A session without a bill adds nothing to what is compared.
    acting.iter_mut().zip(&counted).for_each(|(acts, counts)| *acts &= *counts);
    let units = sessions::Units::new(&summary.sessions, &keys, &acting);
    (summary.clusters, summary.unit) = (units.repositories, units.unit);
    let window = setup.limits.context;
    let wider = |recording: &Recording| recording.largest_request > window;
    let narrowed = window > 0 && billed && recordings.iter().any(wider);
    let table = table::Table {
        clusters: &units.numbers,
        counted: &counted,
        narrowed,
        scores: &scores,
        baseline,
        netted: netted(presets, &scores, &reporting),
        sample: units.sample(reporting.seed),
        reporting: &reporting,
    };
    let paid = saving::Paid::new(&table, presets, billed);
    let numbers: Vec<usize> = (0..presets.len()).collect();
    let mut preset_lines =
        in_parallel(&numbers, |at| line::line(&presets[*at].strategy, *at, &table, paid));
    let contrasts = contrast::contrasts(&table, presets, &preset_lines);
    contrast::against_base(&table, paid, &mut preset_lines);
    let base = paid.and_then(|paid| paid.base(&table, presets));
    let (netted, heaviest) = (table.netted, paid.and_then(|paid| paid.heaviest(&table)));
    let assumptions =
        assumptions::assumptions(presets, setup, &summary, &recordings, &scores, &reporting);
    let mut cautions = assumptions::cautions(presets, &preset_lines, &summary, &scores);
    cautions.extend(assumptions::copied(&summary));
    let pairs = summary.sessions.iter().zip(&scores);
    let failed = pairs.flat_map(|(line, scores)| failed(&**scores, &line.path, presets));
    let failed: Vec<FailedReplay> = failed.collect();
    cautions.extend(assumptions::failed(&failed));
    cautions.extend(judges::caution(&preset_lines));
    cautions.extend(prices::hour(setup, &recordings, &reporting));
    cautions.extend(thin::caution(&recordings));
    cautions.extend(windows::contradicted(setup, &recordings, &scores, baseline));
    let prices = prices::short(setup, &recordings, &reporting);
    Comparison {
        corpus: summary,
        reporting,
        assumptions,
        cautions,
        failed,
        prices,
        netted,
        heaviest,
        base,
        presets: preset_lines,
        contrasts,
        scores,
        baseline,
        counted,
        keys,
        sources,
        ..Comparison::default()
    }
}

/// Whether it is known of every strategy what it costs to read again what it missed. It is not where a model would be asked
/// for other summaries.
fn netted(presets: &[Preset], scores: &[Box<[Score]>], reporting: &Reporting) -> bool {
    let strategy = |score: &&Score| presets[score.preset()].strategy.kind == Kind::Strategy;
    let known = |score: &Score| {
        table::bill(score, &reporting.regime).is_none_or(|bill| bill.net_usd().is_some())
    };
    scores.iter().flat_map(|scores| scores.iter()).filter(strategy).all(known)
}
