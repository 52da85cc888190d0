//! Every preset over every session: what each would have sent.

mod assumptions;
mod idle;
mod metrics;

pub use metrics::{Metric, Metrics};

use self::metrics::Baseline;
use crate::availability::{Availability, Findings, Index};
use crate::drive::{ReplayOptions, replay_with};
use crate::measure::{CallRow, SessionMetrics};
use crate::models::ModelTable;
use foldback_core::counters::Counters;
use foldback_core::limits::Limits;
use foldback_core::stage::Estimator;
use foldback_core::strategy::{Kind, Strategy};
use foldback_formats::Session;
use rayon::prelude::*;
use serde::Serialize;
use std::sync::Arc;

/// A strategy that is compared.
#[derive(Clone, Debug)]
pub struct Preset {
    /// The strategy.
    pub strategy: Arc<Strategy>,
}

/// A session with the file that it came from.
#[derive(Debug)]
pub struct Loaded {
    /// Path of the file, `#id` behind it where the file holds several sessions.
    pub path: String,
    /// The session.
    pub session: Session,
}

/// The sessions of a comparison.
#[derive(Debug, Default)]
pub struct Corpus {
    /// Files that were looked at.
    pub files: usize,
    /// What was imported, in the order of the paths.
    pub sessions: Vec<Loaded>,
    /// What was not, and why.
    pub skipped: Vec<Skipped>,
}

/// A file that was not used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// Path of the file.
    pub path: String,
    /// Why.
    pub reason: String,
}

/// What all presets of a comparison share.
#[derive(Debug)]
pub struct Setup {
    /// Limits from the command line; zero where not given.
    pub limits: Limits,
    /// Model from the command line.
    pub model: Option<String>,
    /// The model table.
    pub models: ModelTable,
    /// The estimator that reports.
    pub measure: Arc<dyn Estimator>,
}

/// Limits that apply where nothing else says anything.
pub const DEFAULT_LIMITS: Limits = Limits {
    context: 200_000,
    input: 0,
    output: 32_000,
};

impl Setup {
    /// The limits in force for a session under a strategy: the command line's, else the user's
    /// file's, else the session's, else the model table's, else the preset's, else 200,000 / 32,000.
    pub fn limits_for(&self, session: &Session, strategy: &Strategy) -> Limits {
        let model = self.model_for(session, strategy);
        let table = model
            .as_deref()
            .and_then(|model| self.models.find(model))
            .map_or(Limits::default(), crate::models::Model::limits);
        let limits = strategy.limits(self.limits, session.limits, table);
        let limits = limits.or(Limits {
            input: 0,
            ..DEFAULT_LIMITS
        });
        // An input limit above the window that was asked for means nothing.
        if limits.input >= limits.context {
            Limits { input: 0, ..limits }
        } else {
            limits
        }
    }

    /// The model in force.
    pub fn model_for(&self, session: &Session, strategy: &Strategy) -> Option<String> {
        self.model
            .clone()
            .or_else(|| strategy.model.clone())
            .or_else(|| session.model.clone())
    }

    /// The options of one replay.
    pub fn options(&self, session: &Session, strategy: &Strategy) -> ReplayOptions {
        ReplayOptions {
            limits: self.limits_for(session, strategy),
            model: self.model_for(session, strategy),
            measure: Arc::clone(&self.measure),
            validate: true,
        }
    }
}

/// A session as the comparison lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SessionLine {
    /// Path of the file.
    pub path: String,
    /// Id of the format.
    pub format: String,
    /// Messages as the format counts them.
    pub messages: usize,
    /// Tool calls.
    pub tool_calls: usize,
    /// Model calls.
    pub calls: usize,
    /// User turns.
    pub turns: usize,
    /// Compactions that the recorder made.
    pub boundaries: usize,
    /// What could not be read.
    pub warnings: usize,
}

/// What was compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CorpusSummary {
    /// Files that were looked at.
    pub files: usize,
    /// Sessions that were imported.
    pub imported: usize,
    /// Files that were not used.
    pub skipped: Vec<Skipped>,
    /// The sessions.
    pub sessions: Vec<SessionLine>,
}

/// A session in which a preset did nothing, and why.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Idle {
    /// Path of the session.
    pub path: String,
    /// Why it did nothing, at the moment when it came nearest.
    pub why: String,
    /// A window at which it would have acted, where there is one.
    pub window: Option<u64>,
}

/// One preset over all sessions. Token counts are by the measuring estimator, those of the counters
/// by the preset's own.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PresetLine {
    /// Name with the summarizer that stood in, e.g. `opencode+extractive`.
    pub preset: String,
    /// `strategy` or `control`.
    pub kind: Kind,
    /// Who wrote the summaries; `null` where the preset has none.
    pub summarizer: Option<String>,
    /// Sessions that were replayed.
    pub sessions: usize,
    /// Sessions in which it changed something.
    pub triggered: usize,
    /// Calls.
    pub calls: u64,
    /// Sum of all requests.
    pub input_tokens: u64,
    /// The same as a ratio to no compaction.
    pub input_ratio: f64,
    /// The same ratio over the sessions in which it changed something; `null` where there is none.
    pub triggered_input_ratio: Option<f64>,
    /// The largest request.
    pub peak_tokens: u64,
    /// The mean request.
    pub mean_tokens: u64,
    /// Requests that the provider would have refused.
    pub overflow_calls: u64,
    /// How often it changed the view.
    pub compactions: u64,
    /// Compactions within three calls of the one before.
    pub thrash: u64,
    /// How often its policy said that the view is too large.
    pub overflow_detections: u64,
    /// How often a pruner changed something.
    pub prune_operations: u64,
    /// Content that pruners took out, by the preset's own estimator, placeholders not taken off.
    pub tokens_pruned: u64,
    /// The same, net of placeholders.
    pub tokens_reclaimed: u64,
    /// Summaries.
    pub summaries: u64,
    /// Compactions that failed.
    pub failures: u64,
    /// Mean size of the view before a compaction, by the preset's own estimator.
    pub mean_tokens_before: Option<u64>,
    /// Tokens that left the view, by kind.
    pub dropped: crate::measure::Dropped,
    /// Violations of provider rules that the preset caused.
    pub strategy_violations: u64,
    /// Violations that the recordings already had.
    pub inherited_violations: u64,
    /// Share of the input that the simulated prompt cache held.
    pub cache_hit_rate: f64,
    /// Tokens that were cached and had to be written again.
    pub churn_tokens: u64,
    /// Estimator that the preset decides with.
    pub estimator: String,
    /// Guards of the engine that the preset turns off.
    pub guards_off: Vec<&'static str>,
    /// What it costs and what it forgets, with intervals.
    pub metrics: Metrics,
    /// Sessions in which it did nothing.
    pub idle: Vec<Idle>,
}

/// One session under one preset.
#[derive(Clone, Debug)]
pub struct SessionResult {
    /// Index into the corpus.
    pub session: usize,
    /// Index into the presets.
    pub preset: usize,
    /// Limits that were in force.
    pub limits: Limits,
    /// Totals.
    pub metrics: SessionMetrics,
    /// Rows.
    pub rows: Vec<CallRow>,
    /// What was kept of what later calls needed.
    pub findings: Findings,
    /// Why it did nothing, where it did nothing.
    pub idle: Option<(String, Option<u64>)>,
}

/// A comparison.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// What was compared.
    pub corpus: CorpusSummary,
    /// What must be known to read the numbers, one sentence each.
    pub assumptions: Vec<String>,
    /// One line per preset, in the order that they were given.
    pub presets: Vec<PresetLine>,
    /// One result per session and preset, by session, then preset.
    pub results: Vec<SessionResult>,
}

/// Replays every session under every preset, in parallel. `progress` is called once per finished
/// replay.
pub fn compare(
    corpus: &Corpus,
    presets: &[Preset],
    setup: &Setup,
    progress: &(dyn Fn() + Sync),
) -> Comparison {
    let jobs: Vec<(usize, usize)> = (0..corpus.sessions.len())
        .flat_map(|session| (0..presets.len()).map(move |preset| (session, preset)))
        .collect();
    let baseline: Vec<Baseline> = corpus
        .sessions
        .par_iter()
        .map(|loaded| uncompacted(&loaded.session, setup))
        .collect();
    // What later calls refer to does not depend on the preset; it is looked up once a session.
    let indexes: Vec<Arc<Index>> = corpus
        .sessions
        .par_iter()
        .map(|loaded| Arc::new(Index::of(&loaded.session)))
        .collect();
    let results: Vec<SessionResult> = jobs
        .par_iter()
        .map(|&(session, preset)| {
            let loaded = &corpus.sessions[session].session;
            let strategy = &presets[preset].strategy;
            let options = setup.options(loaded, strategy);
            let mut probe =
                Availability::new(Arc::clone(&indexes[session]), Arc::clone(&setup.measure));
            let replayed = replay_with(loaded, strategy, &options, &mut [&mut probe]);
            let findings = probe.finish(&replayed.conversation);
            progress();
            let idle = (replayed.metrics.compactions == 0)
                .then(|| idle::why_idle(&replayed, strategy, &options));
            SessionResult {
                session,
                preset,
                limits: options.limits,
                metrics: replayed.metrics,
                rows: replayed.rows,
                findings,
                idle,
            }
        })
        .collect();
    let starts = metrics::exam_starts(&results, corpus.sessions.len());
    let lines = presets
        .iter()
        .enumerate()
        .map(|(index, preset)| {
            let own: Vec<&SessionResult> = results
                .iter()
                .filter(|result| result.preset == index)
                .collect();
            preset_line(&preset.strategy, &own, &baseline, &starts, corpus)
        })
        .collect();
    Comparison {
        corpus: summary(corpus),
        assumptions: assumptions::assumptions(corpus, presets, setup, &results),
        presets: lines,
        results,
    }
}

/// The session without any compaction: at each call, frame and log are sent.
fn uncompacted(session: &Session, setup: &Setup) -> Baseline {
    let measure = &setup.measure;
    let frame = crate::drive::frame_for(session, &**measure);
    let mut view = frame.tokens(|text| measure.text(text));
    let mut baseline = Baseline::default();
    for message in session.log() {
        if message.is_answer() {
            baseline.call(view);
        }
        view += message
            .counts
            .get_or_count(measure.id(), || measure.count(message))
            .total();
    }
    baseline
}

fn summary(corpus: &Corpus) -> CorpusSummary {
    CorpusSummary {
        files: corpus.files,
        imported: corpus.sessions.len(),
        skipped: corpus.skipped.clone(),
        sessions: corpus
            .sessions
            .iter()
            .map(|loaded| {
                let session = &loaded.session;
                SessionLine {
                    path: loaded.path.clone(),
                    format: session.format.to_owned(),
                    messages: session.recorded_messages(),
                    tool_calls: session.recorded_tool_calls(),
                    calls: session.calls(),
                    turns: session.turns(),
                    boundaries: session.boundaries.len(),
                    warnings: session.warnings.len(),
                }
            })
            .collect(),
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        1.0
    } else {
        part as f64 / whole as f64
    }
}

fn preset_line(
    strategy: &Strategy,
    own: &[&SessionResult],
    baseline: &[Baseline],
    starts: &[Option<usize>],
    corpus: &Corpus,
) -> PresetLine {
    let sum =
        |of: fn(&SessionMetrics) -> u64| own.iter().map(|result| of(&result.metrics)).sum::<u64>();
    let count = |of: fn(&Counters) -> u64| {
        own.iter()
            .map(|result| of(&result.metrics.counters))
            .sum::<u64>()
    };
    let triggered: Vec<&&SessionResult> = own
        .iter()
        .filter(|result| result.metrics.compactions > 0)
        .collect();
    let base = |results: &[&SessionResult]| -> u64 {
        results
            .iter()
            .map(|result| baseline[result.session].input)
            .sum()
    };
    let triggered_only: Vec<&SessionResult> = triggered.iter().map(|result| **result).collect();
    let triggered_input: u64 = triggered_only
        .iter()
        .map(|result| result.metrics.input_tokens)
        .sum();
    let mut dropped = crate::measure::Dropped::default();
    for result in own {
        let more = &result.metrics.dropped;
        dropped.tool_result += more.tool_result;
        dropped.tool_call += more.tool_call;
        dropped.assistant_text += more.assistant_text;
        dropped.reasoning += more.reasoning;
        dropped.user_text += more.user_text;
        dropped.other += more.other;
    }
    let calls = sum(|metrics| metrics.calls);
    let input_tokens = sum(|metrics| metrics.input_tokens);
    let events = count(|counters| counters.folds + counters.prune_operations);
    PresetLine {
        preset: strategy.label(),
        kind: strategy.kind,
        summarizer: strategy
            .filter
            .as_ref()
            .and(strategy.summarizer.as_ref())
            .map(|summarizer| summarizer.id().to_owned()),
        sessions: own.len(),
        triggered: triggered.len(),
        calls,
        input_tokens,
        input_ratio: ratio(input_tokens, base(own)),
        triggered_input_ratio: (!triggered_only.is_empty())
            .then(|| ratio(triggered_input, base(&triggered_only))),
        peak_tokens: own
            .iter()
            .map(|result| result.metrics.peak_tokens)
            .max()
            .unwrap_or(0),
        mean_tokens: input_tokens.checked_div(calls).unwrap_or(0),
        overflow_calls: sum(|metrics| metrics.overflow_calls),
        compactions: sum(|metrics| metrics.compactions),
        thrash: sum(|metrics| metrics.thrash),
        overflow_detections: count(|counters| counters.overflow_detections),
        prune_operations: count(|counters| counters.prune_operations),
        tokens_pruned: count(|counters| counters.tokens_pruned),
        tokens_reclaimed: count(|counters| counters.tokens_reclaimed),
        summaries: count(|counters| counters.summaries),
        failures: count(|counters| counters.failures),
        mean_tokens_before: count(|counters| counters.tokens_before_total).checked_div(events),
        dropped,
        strategy_violations: sum(|metrics| metrics.strategy_violations),
        inherited_violations: sum(|metrics| metrics.inherited_violations),
        cache_hit_rate: ratio_or_zero(sum(|metrics| metrics.cache_read_tokens), input_tokens),
        churn_tokens: sum(|metrics| metrics.churn_tokens),
        estimator: strategy.estimator().id().to_string(),
        guards_off: strategy.guards.off(),
        metrics: metrics::metrics(own, baseline, starts, corpus),
        idle: own
            .iter()
            .filter_map(|result| {
                let (why, window) = result.idle.clone()?;
                Some(Idle {
                    path: corpus.sessions[result.session].path.clone(),
                    why,
                    window,
                })
            })
            .collect(),
    }
}

fn ratio_or_zero(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}
