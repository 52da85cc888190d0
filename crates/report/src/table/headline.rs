//! What each preset costs and keeps, with intervals, and which can be told apart.

use super::{Layout, fitted, set, wrap};
use crate::number::{grouped, short};
use comfy_table::Cell;
use foldback_core::strategy::Kind;
use foldback_replay::Comparison;
use foldback_replay::compare::{Metric, PresetLine, Primary};

/// The table, what its columns mean, and who is not ranked.
pub(super) fn table(out: &mut String, comparison: &Comparison, layout: Layout) {
    let mut table = fitted(layout);
    table.set_header([
        "#", "preset", "cost %", "worst", "kept obs", "kept far", "edits", "reread", "NFR",
    ]);
    let plain = baseline_usd(comparison);
    for line in &comparison.presets {
        let metrics = &line.metrics;
        let rereads = metrics.rereads_per_100_calls.value;
        let worst = (plain > 0.0).then(|| line.dollars.pessimistic_usd / plain);
        table.add_row([
            Cell::new(place(line)),
            Cell::new(&line.preset),
            Cell::new(interval(&metrics.cost_ratio)),
            Cell::new(worst.map_or_else(dash, |worst| format!("{:.0}", worst * 100.0))),
            Cell::new(interval(&metrics.frr_obs)),
            Cell::new(interval(&metrics.frr_far)),
            Cell::new(share(metrics.epr.value)),
            Cell::new(rereads.map_or_else(dash, |value| format!("{value:.1}"))),
            Cell::new(line.nfr_obs.value.map_or_else(dash, |nfr| format!("{nfr:.2}"))),
        ]);
    }
    set(out, table, 1, layout);
    legend(out, comparison, layout);
    ranking(out, comparison, layout);
}

fn dash() -> String {
    "–".to_owned()
}

fn share(value: Option<f64>) -> String {
    value.map_or_else(dash, |value| format!("{:.0}", value * 100.0))
}

/// The bill of no compaction.
fn baseline_usd(comparison: &Comparison) -> f64 {
    let mut lines = comparison.presets.iter();
    lines
        .find(|line| line.kind == Kind::Control && line.compactions == 0)
        .map_or(0.0, |line| line.dollars.usd)
}

fn place(line: &PresetLine) -> String {
    match line.rank {
        Some(rank) => rank.to_string(),
        None if line.kind == Kind::Control => String::new(),
        None => "✗".to_owned(),
    }
}

/// A value with its interval, in percent: `70 (52–91)`; without one that is narrower than a percent.
fn interval(metric: &Metric) -> String {
    let whole = |value: f64| format!("{:.0}", value * 100.0);
    match (metric.value, metric.lo, metric.hi) {
        (Some(value), Some(lo), Some(hi)) if whole(lo) != whole(hi) => {
            format!("{} ({}–{})", whole(value), whole(lo), whole(hi))
        }
        (Some(value), ..) => whole(value),
        (None, ..) => "–".to_owned(),
    }
}

fn legend(out: &mut String, comparison: &Comparison, layout: Layout) {
    let primary = match comparison.reporting.primary {
        Primary::Cost => "cost",
        Primary::FrrObs => "kept obs",
    };
    let text = format!(
        "#: place by {primary}; presets that can't be told apart share one, controls have none, ✗ fails a \
         gate · cost: the bill under {}, in percent of that without compaction · worst: the same if everything \
         missed were read again · kept: in percent, of what later calls referred to, what still stood in the \
         view: obs had only stood in tool results and user messages, far was last seen more than three calls \
         ago · edits: in percent, old texts of edits that stood in the view · reread: results to be read again \
         per 100 calls, at most · NFR: kept obs, between random (0) and clairvoyant eviction (1) at the same \
         sizes · in brackets 95 % intervals over sessions",
        comparison.reporting.regime
    );
    wrap(out, "", &text, layout.width);
}

/// Who failed which gate, and how small a difference the comparison could have seen.
fn ranking(out: &mut String, comparison: &Comparison, layout: Layout) {
    let mut failed = Vec::new();
    for line in &comparison.presets {
        if line.kind == Kind::Control || line.gate.passed {
            continue;
        }
        let mut why = Vec::new();
        if line.gate.strategy_violations > 0 {
            why.push(format!("broke {} provider rules", grouped(line.gate.strategy_violations)));
        }
        if line.gate.sent_over > 0 {
            why.push(format!(
                "sent {} over the window, by up to {}",
                grouped(line.gate.sent_over),
                short(line.gate.max_excess)
            ));
        }
        failed.push(format!("{} {}", line.preset, why.join(" and ")));
    }
    if !failed.is_empty() {
        wrap(out, "", &format!("not ranked: {}", failed.join("; ")), layout.width);
    }
    let mut detectable: Vec<f64> = comparison
        .contrasts
        .iter()
        .filter_map(|contrast| match comparison.reporting.primary {
            Primary::Cost => contrast.cost.detectable,
            Primary::FrrObs => contrast.frr_obs.detectable,
        })
        .collect();
    detectable.sort_by(f64::total_cmp);
    let (Some(least), Some(most)) = (detectable.first(), detectable.last()) else {
        return;
    };
    let ties = comparison.contrasts.iter().filter(|contrast| match comparison.reporting.primary {
        Primary::Cost => contrast.cost.tie,
        Primary::FrrObs => contrast.frr_obs.tie,
    });
    let text = format!(
        "{} of {} pairs can't be told apart (paired cluster bootstrap, {} draws, seed {}, Holm over all pairs); \
         the least difference that four of five such comparisons would find is {:.0} to {:.0} percent, \
         depending on the pair",
        ties.count(),
        comparison.contrasts.len(),
        grouped(comparison.reporting.draws as u64),
        comparison.reporting.seed,
        least * 100.0,
        most * 100.0
    );
    wrap(out, "", &text, layout.width);
}
