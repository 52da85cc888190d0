//! A tiny comparison, constructed by hand: a control, a strategy that passes and one that fails a gate.

use foldback_core::conversation::StageRole;
use foldback_core::moment::Moment;
use foldback_core::strategy::Kind;
use foldback_replay::Comparison;
use foldback_replay::compare::{
    Base, Contrast, CorpusSummary, Difference, Dollars, Gate, Metric, Metrics, PresetLine,
    Provenance, SessionLine,
};
use foldback_replay::corpus::Skipped;
use foldback_replay::retention::Retention;
use foldback_replay::stats::Share;
use foldback_replay::study::{Bill, Billed, Pauses, Record};
use foldback_replay::study::{Inaction, Outcome, Score};
use foldback_replay::totals::{CallRow, Fired, SessionMetrics};
use std::sync::Arc;

pub(crate) const HOSTILE: &str = "a/<script>alert('1')</script>\"&.jsonl";

fn metric(value: f64, lo: f64, hi: f64) -> Metric {
    Metric { value: Some(value), lo: Some(lo), hi: Some(hi), n: 2, why: None }
}

/// A figure without an interval.
fn value(value: f64) -> Metric {
    Metric { value: Some(value), n: 2, ..Metric::default() }
}

/// Bills under two regimes: what is cheaper without a cache may be dearer with one.
fn dollars(regime: &str, ratio: f64) -> Dollars {
    Dollars {
        regime: regime.to_owned(),
        pauses: "recorded-or-warm",
        n: 2,
        usd: ratio,
        net_usd: Some(ratio + 0.05),
        net_all_usd: Some(ratio + 0.1),
        ratio: Some(ratio),
        net_ratio: Some(ratio + 0.05),
        ..Dollars::default()
    }
}

/// Of 40 references to what the call before had brought all are kept, of ten from further back `far`.
fn retention(far: u64) -> Retention {
    let near = Share { kept: 40, needed: 40 };
    let far = Share { kept: far, needed: 10 };
    let mut retention = Retention::default();
    retention.by_distance[0] = near;
    retention.by_distance[7] = far;
    retention
}

fn preset(name: &str, kind: Kind, input_ratio: f64, cache_hit_rate: f64) -> PresetLine {
    let dearer = 1.0 + (1.0 - input_ratio) / 5.0;
    PresetLine {
        preset: name.to_owned(),
        kind,
        gate: Gate { passed: true, ..Gate::default() },
        metrics: Metrics {
            cost_ratio: metric(dearer, dearer - 0.05, dearer + 0.05),
            frr_obs_far: metric(input_ratio, input_ratio - 0.1, 1.0),
            frr_obs: metric(0.95, 0.9, 1.0),
            frr_far: metric(0.9, 0.8, 1.0),
            verbatim_far: metric(0.9, 0.8, 1.0),
            token_ratio: metric(input_ratio, input_ratio, input_ratio),
            net_ratio: metric(dearer + 0.05, dearer, dearer + 0.1),
            net_all_ratio: value(dearer + 0.1),
            peak_tokens: value(3_000.0),
            cache_hit_rate: value(cache_hit_rate),
            tokens_reclaimed: value(0.0),
            ..Metrics::default()
        },
        ratio: metric(dearer + 0.05, dearer, dearer + 0.1),
        dollars: dollars("cached", dearer),
        costs: vec![dollars("cached", dearer), dollars("plain", input_ratio)],
        retention: retention((10.0 * input_ratio) as u64),
        sessions: 2,
        estimator: "chars".to_owned(),
        ..PresetLine::default()
    }
}

/// A record whose requests have these sizes; the view was changed before every call at which it shrank.
fn record(sizes: &[u64]) -> Record {
    let mut before = 0;
    let rows: Vec<CallRow> = sizes
        .iter()
        .enumerate()
        .map(|(call, &input_tokens)| {
            let fired = Fired {
                call,
                moment: Moment::StepEnd,
                stage: "clear".to_owned(),
                role: StageRole::Pruner,
            };
            let shrank = input_tokens < before;
            before = input_tokens;
            CallRow {
                call,
                turn: 1,
                messages: call,
                input_tokens,
                decision_tokens: input_tokens,
                ceiling: Some(2_500),
                overflow: input_tokens > 2_500,
                fired: if shrank { vec![fired] } else { Vec::new() },
                recorder_compacted: call == 2,
                ..CallRow::default()
            }
        })
        .collect();
    let compactions = rows.iter().filter(|row| !row.fired.is_empty()).count() as u64;
    Record {
        metrics: SessionMetrics {
            calls: rows.len() as u64,
            input_tokens: sizes.iter().sum(),
            peak_tokens: sizes.iter().copied().max().unwrap_or(0),
            compactions,
            ..SessionMetrics::default()
        },
        rows,
        ..Record::default()
    }
}

fn score(session: usize, preset: usize, sizes: &[u64]) -> Score {
    let by = Billed { regime: "cached".into(), pauses: Pauses::Recorded };
    let bills = [(by, Bill::of_requests(1.0, 0.0))].into_iter().collect();
    let metrics = record(sizes).metrics;
    Score::new(session, preset, Outcome { metrics, bills, ..Outcome::default() })
}

fn session(path: &str, calls: usize) -> SessionLine {
    SessionLine {
        path: path.into(),
        format: "codex".into(),
        messages: 2 * calls,
        tool_calls: calls,
        calls,
        turns: 1,
        warnings: 1,
        ..SessionLine::default()
    }
}

/// Two sessions under a control, a strategy that acts in the first of them, and one that fails a gate.
pub(crate) fn tiny() -> Comparison {
    let mut clearing = preset("clear<b>", Kind::Strategy, 0.75, 0.91);
    clearing.triggered = 1;
    // It fits by measured tokens and not by those of the provider.
    clearing.gate.over = 7;
    clearing.gate.requests = 10_000;
    clearing.compactions = 1;
    clearing.prune_operations = 1;
    clearing.guards_off = vec!["pairs"];
    let mut broken = preset("drop&lose", Kind::Strategy, 0.5, 0.8);
    broken.gate.passed = false;
    broken.gate.strategy_violations = 2;
    let mut comparison = Comparison::default();
    comparison.reporting.regime = "cached".to_owned();
    comparison.reporting.estimator = "o200k +3/message".to_owned();
    comparison.reporting.experiment = Some("0123abcd".to_owned());
    comparison.provenance = Provenance {
        version: "1.2.3".to_owned(),
        command: Some("foldback compare 'a <b>' --window 1000".to_owned()),
        command_hash: Some("fedcba9876543210".to_owned()),
        configuration: "89abcdef89abcdef".to_owned(),
        inputs: "0123456701234567".to_owned(),
    };
    comparison.base = Some(Base {
        preset: "none".to_owned(),
        sessions: 2,
        usd: 1.0,
        net_usd: None,
        narrowed: false,
    });
    comparison.cautions = vec!["only <2> sessions".to_owned()];
    comparison.contrasts = vec![Contrast {
        first: clearing.preset.clone(),
        second: broken.preset.clone(),
        net: Difference {
            value: Some(0.95),
            lo: Some(0.9),
            hi: Some(0.99),
            p: Some(0.01),
            p_holm: Some(0.02),
            n: 2,
            ..Difference::default()
        },
        frr_obs_far: Difference { value: Some(0.25), tie: true, n: 2, ..Difference::default() },
    }];
    comparison.corpus = CorpusSummary {
        files: 3,
        imported: 2,
        skipped: vec![Skipped {
            path: "c/<i>.txt".to_owned(),
            reason: "no <known> format".to_owned(),
        }],
        sessions: vec![session("b/long.jsonl", 3), session(HOSTILE, 1)],
        ..CorpusSummary::default()
    };
    comparison.assumptions = vec!["windows < 1 are not used".to_owned()];
    comparison.presets = vec![preset("none", Kind::Control, 1.0, 0.98), clearing, broken];
    comparison.scores = vec![
        Box::new([score(0, 0, &LONG[0]), score(0, 1, &LONG[1]), score(0, 2, &LONG[2])]),
        Box::new([score(1, 0, &[500]), score(1, 1, &[500]), score(1, 2, &[500])]),
    ];
    let why = "500 < 2000 & nothing old".to_owned();
    let idle = Inaction { why, window: Some(1_500) };
    comparison.scores[1][1].inaction = Some(Arc::new(idle));
    comparison
}

/// The requests of the first session, under each preset.
const LONG: [[u64; 3]; 3] = [[1_000, 2_000, 3_000], [1_000, 2_000, 1_500], [1_000, 2_000, 2_500]];
