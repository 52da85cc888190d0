//! Counters of one or many conversations, as Prometheus reads them.
//!
//! [`Metrics`] is an observer: one instance may be shared by all conversations of a program. The names
//! follow the naming rules of both worlds, so that an OpenTelemetry meter can be fed from a
//! [`Snapshot`] without a table of its own:
//!
//! | Prometheus | OpenTelemetry | unit | attributes |
//! |---|---|---|---|
//! | `foldback_compactions_total` | `foldback.compactions` | `{compaction}` | `trigger`, `stage`, `outcome`, `why` |
//! | `foldback_folds_total` | `foldback.folds` | `{fold}` | `trigger` |
//! | `foldback_undos_total` | `foldback.undos` | `{fold}` | |
//! | `foldback_fold_tokens_removed_total` | `foldback.fold.tokens_removed` | `{token}` | `trigger` |
//! | `foldback_tokens_reclaimed_total` | `foldback.tokens_reclaimed` | `{token}` | `stage` |
//! | `foldback_model_requests_total` | `foldback.model.requests` | `{request}` | `stage` |
//! | `foldback_model_request_bytes_total` | `foldback.model.request.size` | `By` | `stage` |
//! | `foldback_model_retries_total` | `foldback.model.retries` | `{request}` | `stage` |
//! | `foldback_model_steps_down_total` | `foldback.model.steps_down` | `{step}` | `stage` |
//! | `foldback_breaker_openings_total` | `foldback.breaker.openings` | `{opening}` | |
//! | `foldback_hook_failures_total` | `foldback.hook.failures` | `{failure}` | |
//! | `foldback_entries_total` | `foldback.entries` | `{message}` | `kind` |
//! | `foldback_view_tokens` | `foldback.view.tokens` | `{token}` | |
//!
//! and of one conversation, with [`Snapshot::with_counters`]: `foldback_conversation_…`, which are its
//! [`Counters`]. Tokens are those of the strategy's estimator. Label values are names of stages and
//! codes of reasons, never texts, so their number is bounded.

use foldback_core::counters::Counters;
use foldback_core::event::{Event, ProgressStep, StartSource};
use foldback_core::moment::{Moment, Trigger};
use foldback_core::services::Observer;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Which compactions are counted together.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct CompactionLabels {
    /// `auto` or `manual`.
    pub trigger: &'static str,
    /// The stage.
    pub stage: String,
    /// `changed`, `degraded`, `unchanged`, `skipped` or `failed`.
    pub outcome: &'static str,
    /// Code of the reason; empty where there is none.
    pub why: String,
}

/// The counters at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Snapshot {
    /// Stages that ran to fold or to prune, by how they ended.
    #[serde(serialize_with = "as_list")]
    pub compactions: BTreeMap<CompactionLabels, u64>,
    /// Folds that moved messages out of a view, by trigger.
    pub folds: BTreeMap<&'static str, u64>,
    /// Folds that were taken back.
    pub undos: u64,
    /// Tokens by which folds made views smaller, by trigger.
    pub fold_tokens_removed: BTreeMap<&'static str, u64>,
    /// Tokens that edits took off views, net of placeholders, by stage.
    pub tokens_reclaimed: BTreeMap<String, u64>,
    /// Requests to models, retries included, by stage.
    pub model_requests: BTreeMap<String, u64>,
    /// Bytes of these requests, by stage.
    pub model_request_bytes: BTreeMap<String, u64>,
    /// Requests that were sent again, by stage.
    pub model_retries: BTreeMap<String, u64>,
    /// How often something less was tried, by stage.
    pub model_steps_down: BTreeMap<String, u64>,
    /// How often automatic compaction was given up for a while.
    pub breaker_openings: u64,
    /// Hooks that ended with an error.
    pub hook_failures: u64,
    /// Messages that compactions wrote, by kind.
    pub entries: BTreeMap<&'static str, u64>,
    /// Tokens of the view after the last compaction that was tried; `None` before the first.
    pub view_tokens: Option<u64>,
    /// What one conversation counts itself.
    pub counters: Option<Counters>,
}

/// Counts what conversations do.
#[derive(Debug, Default)]
pub struct Metrics(Mutex<Snapshot>);

impl Metrics {
    /// Everything at zero.
    pub fn new() -> Self {
        Self::default()
    }

    /// The counters now.
    pub fn snapshot(&self) -> Snapshot {
        self.lock().clone()
    }

    // A panic of another thread leaves numbers behind, and numbers are never half written.
    fn lock(&self) -> MutexGuard<'_, Snapshot> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Metrics {
    fn observe(&self, event: &Event) {
        self.lock().count(event);
    }
}

impl Snapshot {
    /// The same with the counters of one conversation.
    #[must_use]
    pub fn with_counters(mut self, counters: Counters) -> Self {
        self.counters = Some(counters);
        self
    }

    fn count(&mut self, event: &Event) {
        match event {
            Event::Outcome { moment, stage, outcome, tokens_after, reclaimed, .. } => {
                let labels = CompactionLabels {
                    trigger: trigger_of(*moment).as_str(),
                    stage: stage.clone(),
                    outcome: outcome.name(),
                    why: outcome.why().map_or(String::new(), |why| why.code.to_string()),
                };
                *self.compactions.entry(labels).or_default() += 1;
                add(&mut self.tokens_reclaimed, stage, *reclaimed);
                self.view_tokens = Some(*tokens_after);
            }
            Event::Boundary { trigger, tokens_before, tokens_after, .. } => {
                *self.folds.entry(trigger.as_str()).or_default() += 1;
                let removed = tokens_before.saturating_sub(*tokens_after);
                *self.fold_tokens_removed.entry(trigger.as_str()).or_default() += removed;
            }
            Event::SessionStart { source: StartSource::Undo } => self.undos += 1,
            Event::Progress { stage, step, .. } => match step {
                ProgressStep::Asking { bytes, .. } => {
                    add(&mut self.model_requests, stage, 1);
                    add(&mut self.model_request_bytes, stage, *bytes as u64);
                }
                ProgressStep::Retrying { .. } => add(&mut self.model_retries, stage, 1),
                ProgressStep::SteppingDown { .. } => add(&mut self.model_steps_down, stage, 1),
            },
            Event::Breaker { open: true, .. } => self.breaker_openings += 1,
            Event::HookFailed { .. } => self.hook_failures += 1,
            Event::Entry { kind, .. } => *self.entries.entry(kind.as_str()).or_default() += 1,
            _ => {}
        }
    }

    /// The text that Prometheus scrapes (exposition format 0.0.4): metrics by name, series by label.
    pub fn prometheus(&self) -> String {
        let mut text = Text::default();
        let by = |label: &'static str, series: &BTreeMap<String, u64>| -> Vec<Series> {
            series.iter().map(|(key, value)| (vec![(label, key.clone())], *value)).collect()
        };
        let by_static = |label: &'static str,
                         series: &BTreeMap<&'static str, u64>|
         -> Vec<Series> {
            series.iter().map(|(key, value)| (vec![(label, (*key).to_owned())], *value)).collect()
        };
        let one = |value: u64| -> Vec<Series> { vec![(Vec::new(), value)] };
        let compactions = self.compactions.iter().map(|(labels, value)| {
            let labels = vec![
                ("trigger", labels.trigger.to_owned()),
                ("stage", labels.stage.clone()),
                ("outcome", labels.outcome.to_owned()),
                ("why", labels.why.clone()),
            ];
            (labels, *value)
        });
        text.counter(
            "compactions",
            "Stages that ran to fold or to prune, by how they ended.",
            compactions.collect(),
        );
        text.counter(
            "folds",
            "Folds that moved messages out of a view.",
            by_static("trigger", &self.folds),
        );
        text.counter("undos", "Folds that were taken back.", one(self.undos));
        text.counter(
            "fold_tokens_removed",
            "Tokens by which folds made views smaller.",
            by_static("trigger", &self.fold_tokens_removed),
        );
        text.counter(
            "tokens_reclaimed",
            "Tokens that edits took off views, net of placeholders.",
            by("stage", &self.tokens_reclaimed),
        );
        text.counter(
            "model_requests",
            "Requests to models, retries included.",
            by("stage", &self.model_requests),
        );
        text.counter(
            "model_request_bytes",
            "Bytes of the requests to models.",
            by("stage", &self.model_request_bytes),
        );
        text.counter(
            "model_retries",
            "Requests to models that were sent again.",
            by("stage", &self.model_retries),
        );
        text.counter(
            "model_steps_down",
            "How often something less was tried than a summary of everything.",
            by("stage", &self.model_steps_down),
        );
        text.counter(
            "breaker_openings",
            "How often automatic compaction was given up for a while.",
            one(self.breaker_openings),
        );
        text.counter("hook_failures", "Hooks that ended with an error.", one(self.hook_failures));
        text.counter(
            "entries",
            "Messages that compactions wrote into histories.",
            by_static("kind", &self.entries),
        );
        if let Some(tokens) = self.view_tokens {
            text.gauge(
                "view_tokens",
                "Tokens of the view after the last compaction that was tried.",
                tokens,
            );
        }
        if let Some(counters) = &self.counters {
            for (name, help, value) in conversation(counters) {
                text.counter(name, help, one(value));
            }
        }
        text.finish()
    }
}

/// The counters of a conversation with their names.
fn conversation(counters: &Counters) -> [(&'static str, &'static str, u64); 8] {
    let Counters {
        overflow_detections,
        prune_operations,
        tokens_pruned,
        tokens_reclaimed,
        summaries,
        folds,
        failures,
        tokens_before_total,
    } = *counters;
    [
        (
            "conversation_overflow_detections",
            "How often the policy said that the view is too large.",
            overflow_detections,
        ),
        (
            "conversation_prune_operations",
            "How often a pruner changed something.",
            prune_operations,
        ),
        (
            "conversation_tokens_pruned",
            "Content that pruners took out, placeholders not taken off.",
            tokens_pruned,
        ),
        (
            "conversation_tokens_reclaimed",
            "What pruners took off the view, net of placeholders.",
            tokens_reclaimed,
        ),
        ("conversation_summaries", "Summaries that were committed.", summaries),
        ("conversation_folds", "Folds that moved messages out of the view.", folds),
        ("conversation_failures", "Compactions that failed.", failures),
        (
            "conversation_tokens_before",
            "Sum of the view's tokens before each compaction that changed something.",
            tokens_before_total,
        ),
    ]
}

/// Labels and counts side by side: JSON has no maps with such keys.
fn as_list<S: Serializer>(
    compactions: &BTreeMap<CompactionLabels, u64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Row<'a> {
        #[serde(flatten)]
        labels: &'a CompactionLabels,
        count: u64,
    }
    let rows = compactions.iter().map(|(labels, count)| Row { labels, count: *count });
    serializer.collect_seq(rows)
}

/// Only a person asks at the manual moment, and nowhere else.
fn trigger_of(moment: Moment) -> Trigger {
    match moment {
        Moment::Manual => Trigger::Manual,
        _ => Trigger::Auto,
    }
}

fn add(series: &mut BTreeMap<String, u64>, key: &str, value: u64) {
    if let Some(known) = series.get_mut(key) {
        *known += value;
    } else if value > 0 {
        series.insert(key.to_owned(), value);
    }
}

type Series = (Vec<(&'static str, String)>, u64);

/// Metrics as text, by name.
#[derive(Default)]
struct Text(BTreeMap<String, String>);

impl Text {
    fn counter(&mut self, name: &str, help: &str, series: Vec<Series>) {
        self.metric(&format!("foldback_{name}_total"), help, "counter", &series);
    }

    fn gauge(&mut self, name: &str, help: &str, value: u64) {
        self.metric(&format!("foldback_{name}"), help, "gauge", &[(Vec::new(), value)]);
    }

    fn metric(&mut self, name: &str, help: &str, kind: &str, series: &[Series]) {
        let mut text = format!("# HELP {name} {help}\n# TYPE {name} {kind}\n");
        for (labels, value) in series {
            let labels: Vec<String> = labels
                .iter()
                .map(|(label, value)| format!("{label}=\"{}\"", escaped(value)))
                .collect();
            let labels = match labels.as_slice() {
                [] => String::new(),
                labels => format!("{{{}}}", labels.join(",")),
            };
            // Writing to a string can't fail.
            let _ = writeln!(text, "{name}{labels} {value}");
        }
        self.0.insert(name.to_owned(), text);
    }

    fn finish(self) -> String {
        self.0.into_values().collect()
    }
}

/// A label's value as the format has it.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use foldback_core::log::EntryKind;
    use foldback_core::outcome::{Outcome, Why};
    use std::sync::Arc;

    fn outcome(moment: Moment, stage: &str, outcome: Outcome, reclaimed: u64) -> Event {
        Event::Outcome {
            moment,
            stage: stage.to_owned(),
            outcome,
            tokens_before: 900,
            tokens_after: 400,
            reclaimed,
            estimator: Arc::from("chars"),
        }
    }

    fn progress(step: ProgressStep) -> Event {
        Event::Progress { stage: "llm".to_owned(), name: "checkpoint".to_owned(), step }
    }

    fn events() -> Vec<Event> {
        let asking = |bytes| ProgressStep::Asking { what: "whole".to_owned(), bytes };
        vec![
            outcome(Moment::TurnEnd, "prune", Outcome::Changed, 120),
            outcome(Moment::TurnEnd, "prune", Outcome::Changed, 30),
            outcome(
                Moment::CallStart,
                "fold",
                Outcome::Failed(Why::new("summary-failed", "a text that varies")),
                0,
            ),
            outcome(Moment::Manual, "fold", Outcome::Changed, 0),
            outcome(
                Moment::Manual,
                "odd \"name\"\\\n",
                Outcome::Unchanged(Why::new("nothing-to-fold", "")),
                0,
            ),
            Event::Boundary {
                trigger: Trigger::Manual,
                tokens_before: 900,
                tokens_after: 400,
                estimator: Arc::from("chars"),
            },
            Event::SessionStart { source: StartSource::Compact },
            Event::SessionStart { source: StartSource::Undo },
            progress(asking(2_000)),
            progress(ProgressStep::Retrying { attempt: 2, wait: 10, why: "429".to_owned() }),
            progress(asking(2_000)),
            progress(ProgressStep::SteppingDown {
                to: "chunks".to_owned(),
                why: "too long".to_owned(),
            }),
            Event::Breaker { open: true, fruitless: 3 },
            Event::Breaker { open: false, fruitless: 0 },
            Event::HookFailed { error: "no".to_owned() },
            Event::Entry { kind: EntryKind::Summary, id: "fold-summary-1".to_owned() },
        ]
    }

    #[test]
    fn what_prometheus_reads() {
        let metrics = Metrics::new();
        for event in events() {
            metrics.observe(&event);
        }
        let counters = Counters { folds: 1, tokens_before_total: 900, ..Counters::default() };
        insta::assert_snapshot!(metrics.snapshot().with_counters(counters).prometheus());
    }

    /// Every metric of the module's table is written, and none that the table lacks.
    #[test]
    fn the_table_is_complete() {
        let table = include_str!("metrics.rs");
        let mut named: Vec<&str> = table
            .lines()
            .filter_map(|line| line.strip_prefix("//! | `foldback_"))
            .filter_map(|line| line.split('`').next())
            .collect();
        let metrics = Metrics::new();
        for event in events() {
            metrics.observe(&event);
        }
        let text = metrics.snapshot().prometheus();
        let mut there: Vec<&str> = text
            .lines()
            .filter_map(|line| line.strip_prefix("# TYPE foldback_"))
            .filter_map(|line| line.split(' ').next())
            .collect();
        named.sort_unstable();
        there.sort_unstable();
        assert_eq!(named, there);
    }
}
