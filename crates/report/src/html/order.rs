//! In which order presets stand on the page, and how they are named.

use super::markup::text;
use crate::number::{grouped, short};
use foldback_core::strategy::Kind;
use foldback_replay::compare::PresetLine;

/// Indices of the strategies: by rank, then cost; those that are not ranked behind them.
pub(super) fn ranked(presets: &[PresetLine]) -> Vec<usize> {
    let mut order: Vec<usize> =
        (0..presets.len()).filter(|at| presets[*at].kind == Kind::Strategy).collect();
    let cost = |at: usize| presets[at].metrics.cost_ratio.value.unwrap_or(f64::MAX);
    order.sort_by(|a, b| {
        let rank = |at: usize| presets[at].rank.unwrap_or(usize::MAX);
        rank(*a).cmp(&rank(*b)).then(cost(*a).total_cmp(&cost(*b)))
    });
    order
}

/// Indices of the controls, as they were given.
pub(super) fn controls(presets: &[PresetLine]) -> Vec<usize> {
    (0..presets.len()).filter(|at| presets[*at].kind == Kind::Control).collect()
}

/// Strategies, then controls.
pub(super) fn all(presets: &[PresetLine]) -> Vec<usize> {
    let mut order = ranked(presets);
    order.extend(controls(presets));
    order
}

/// Why a preset is not ranked, as markup.
pub(super) fn why_not(line: &PresetLine) -> String {
    let gate = &line.gate;
    let mut why = Vec::new();
    if gate.strategy_violations > 0 {
        why.push(format!("broke provider rules {}", times(gate.strategy_violations)));
    }
    if gate.overflow_calls > 0 {
        let requests = match gate.overflow_calls {
            1 => "one request".to_owned(),
            more => format!("{} requests", grouped(more)),
        };
        // Over the input limit alone there is no excess over the window.
        why.push(match gate.max_excess {
            0 => format!("sent {requests} over the limits"),
            excess => format!("sent {requests} over the window, by up to {} tokens", short(excess)),
        });
    }
    why.join(" and ")
}

fn times(number: u64) -> String {
    match number {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        more => format!("{} times", grouped(more)),
    }
}

/// Text that may be broken behind slashes, plus signs and hyphens.
pub(super) fn breakable(data: &str) -> String {
    data.split_inclusive(['/', '+', '-'])
        .map(|piece| text(piece).to_string())
        .collect::<Vec<_>>()
        .join("<wbr>")
}
