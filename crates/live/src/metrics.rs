//! Counters of one or many conversations, as Prometheus reads them.
//!
//! [`Metrics`] is an observer: one instance may be shared by all conversations of a program. The names
//! follow the naming rules of both worlds, so that an OpenTelemetry meter can be fed from a
//! [`Snapshot`] without a mapping table:
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
//! and of one conversation, in [`Snapshot::counters`]: `foldback_conversation_…`, which are its
//! [`Counters`]. Tokens are those of the strategy's estimator. Label values are names of stages and
//! codes of reasons, never texts, so their number is bounded.

use foldback_core::counters::Counters;
use foldback_core::event::{Event, ProgressStep, StartSource};
use foldback_core::moment::{Moment, Trigger};
use foldback_core::services::Observer;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
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
    /// Code of the reason; empty if there is none.
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
                _ => {}
            },
            Event::Breaker { open: true, .. } => self.breaker_openings += 1,
            Event::HookFailed { .. } => self.hook_failures += 1,
            Event::Entry { kind, .. } => *self.entries.entry(kind.as_str()).or_default() += 1,
            _ => {}
        }
    }

    /// The text that Prometheus scrapes (exposition format 0.0.4): metrics by name, series by label.
    pub fn prometheus(&self) -> String {
        let compactions = self.compactions.iter().map(|(of, count)| {
            let labels = [
                ("trigger", of.trigger),
                ("stage", &of.stage),
                ("outcome", of.outcome),
                ("why", &of.why),
            ];
            (labelled(&labels), *count)
        });
        let metrics = [
            ("compactions", compactions.collect()),
            ("folds", by("trigger", &self.folds)),
            ("undos", one(self.undos)),
            ("fold_tokens_removed", by("trigger", &self.fold_tokens_removed)),
            ("tokens_reclaimed", by("stage", &self.tokens_reclaimed)),
            ("model_requests", by("stage", &self.model_requests)),
            ("model_request_bytes", by("stage", &self.model_request_bytes)),
            ("model_retries", by("stage", &self.model_retries)),
            ("model_steps_down", by("stage", &self.model_steps_down)),
            ("breaker_openings", one(self.breaker_openings)),
            ("hook_failures", one(self.hook_failures)),
            ("entries", by("kind", &self.entries)),
        ];
        let metrics = metrics.map(|(name, series)| (name.to_owned(), series)).into_iter();
        let mut texts: Vec<String> = metrics
            .chain(self.counters.iter().flat_map(conversation))
            .map(|(name, series)| text(&name, "_total", "counter", &series))
            .collect();
        if let Some(tokens) = self.view_tokens {
            texts.push(text("view_tokens", "", "gauge", &one(tokens)));
        }
        // Each begins with its name.
        texts.sort();
        texts.concat()
    }
}

/// What each metric is: lines of its name, without what all names have, and the help for it.
const HELP: &str = include_str!("metrics.txt");

/// Counts by labels.
type Series = Vec<(String, u64)>;

/// The counters of a conversation with their names.
fn conversation(counters: &Counters) -> Vec<(String, Series)> {
    let counters = serde_json::to_value(counters).unwrap_or_default();
    let counters = counters.as_object().into_iter().flatten();
    let counters = counters.filter_map(|(field, count)| Some((field, count.as_u64()?)));
    let name = |field: &str| format!("conversation_{}", field.trim_end_matches("_total"));
    counters.map(|(field, count)| (name(field), one(count))).collect()
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

fn one(value: u64) -> Series {
    vec![(String::new(), value)]
}

fn by(label: &str, series: &BTreeMap<impl AsRef<str>, u64>) -> Series {
    series.iter().map(|(key, value)| (labelled(&[(label, key.as_ref())]), *value)).collect()
}

/// Labels as the format has them.
fn labelled(labels: &[(&str, &str)]) -> String {
    let escaped =
        |value: &str| value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    let labels = labels.iter().map(|(label, value)| format!("{label}=\"{}\"", escaped(value)));
    format!("{{{}}}", labels.collect::<Vec<_>>().join(","))
}

fn text(name: &str, ending: &str, kind: &str, series: &[(String, u64)]) -> String {
    let help = HELP.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    let (name, help) = (format!("foldback_{name}{ending}"), help.unwrap_or_default());
    let lines = series.iter().map(|(labels, value)| format!("{name}{labels} {value}\n"));
    format!("# HELP {name} {help}\n# TYPE {name} {kind}\n") + &lines.collect::<String>()
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
        let snapshot = Snapshot { counters: Some(counters), ..metrics.snapshot() };
        let text = snapshot.prometheus();
        let said = |line: &str| !line.starts_with("# HELP") || line.split(' ').count() > 3;
        assert!(text.lines().all(said), "{text}");
        insta::assert_snapshot!(text);
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
