//! The bill under every price regime: the sign of a saving depends on what a cached token costs.

use super::figures::{NONE, share};
use super::markup::{
    BODY, END_FOLD, END_TABLE, breakable, col_heads, name, named_td, open_fold, open_table,
    preset_rows, row_head, text,
};
use crate::number::change;
use foldback_replay::compare::{Dollars, PresetLine};
use foldback_replay::{Comparison, in_order};
use std::fmt::Write as _;

/// Recorded pauses, and none too long where none were recorded: what the headline goes by.
const WARM: &str = "recorded-or-warm";
/// Recorded pauses, and a cold cache at every user turn where none were recorded.
const COLD: &str = "recorded-or-cold";
/// A change below this is neither cheaper nor costlier.
const SAME: f64 = 0.005;
/// A difference between the two readings of pauses that is worth a line.
const NOTABLE: f64 = 0.02;

/// The matrix of presets and regimes.
pub(super) fn section(out: &mut String, comparison: &Comparison) {
    let presets = &comparison.presets;
    // In the order of the bills.
    let bills = presets.iter().flat_map(|line| &line.costs);
    let regimes = in_order(bills.map(|dollars| dollars.regime.as_str()));
    if regimes.is_empty() {
        return;
    }
    open_fold(out, "regimes", "The bill under every price regime");
    out.push_str(
        "<p>The whole bill, relative to the base: blue where it is less, amber where it is more. ",
    );
    out.push_str(&verdict(comparison, &regimes));
    out.push_str("</p>\n");
    open_table(out, "The bill under every price regime", "heat cards");
    let reported = &comparison.reporting.regime;
    let head = |regime: &&str| {
        let mark = if regime == reported { "<br><small>reported above</small>" } else { "" };
        format!("{}{mark}", breakable(regime))
    };
    col_heads(out, ["preset".to_owned()].into_iter().chain(regimes.iter().map(head)));
    out.push_str(BODY);
    preset_rows(out, comparison, 1 + regimes.len(), |out, at| {
        row_head(out, name(comparison, &presets[at]));
        row(out, &presets[at], &regimes);
    });
    out.push_str(END_TABLE);
    notes(out, presets, &regimes);
    out.push_str(END_FOLD);
}

fn find<'a>(line: &'a PresetLine, regime: &str, pauses: &str) -> Option<&'a Dollars> {
    let mut costs = line.costs.iter();
    costs.find(|dollars| dollars.regime == regime && dollars.pauses == pauses)
}

/// How many strategies are cheaper under some regimes and costlier under others.
fn verdict(comparison: &Comparison, regimes: &[&str]) -> String {
    let ratios = |at: &usize| -> Vec<f64> {
        let dollars =
            regimes.iter().filter_map(|regime| find(&comparison.presets[*at], regime, WARM));
        dollars.filter_map(|dollars| dollars.ratio).collect()
    };
    let (mut both, mut all) = (0_usize, 0_usize);
    for ratios in comparison.by_bill().iter().map(ratios) {
        all += 1;
        let cheaper = ratios.iter().any(|ratio| *ratio < 1.0 - SAME);
        let dearer = ratios.iter().any(|ratio| *ratio > 1.0 + SAME);
        both += usize::from(cheaper && dearer);
    }
    let some = match both {
        0 => {
            return "No strategy is cheaper under one regime and costlier under another here."
                .to_owned();
        }
        1 => format!("One of {all} strategies is"),
        both => format!("{both} of {all} strategies are"),
    };
    format!(
        "{some} cheaper under some regimes and costlier under others: the prices decide, not the strategy alone."
    )
}

fn row(out: &mut String, line: &PresetLine, regimes: &[&str]) {
    for regime in regimes {
        let warm = find(line, regime, WARM);
        let Some((dollars, ratio)) = warm.and_then(|dollars| Some((dollars, dollars.ratio?)))
        else {
            named_td(out, regime, "zero", NONE);
            continue;
        };
        let _ = write!(
            out,
            "<td data-name=\"{}\" class=\"{}\" title=\"{} of that of the base; {} sessions\">{}",
            text(regime),
            class(ratio),
            share(ratio),
            dollars.n,
            change(ratio)
        );
        if let Some(cold) = cold(line, regime, ratio) {
            let _ = write!(out, "<br><small>cold {}</small>", change(cold));
        }
        out.push_str("</td>");
    }
    out.push_str("</tr>\n");
}

/// The ratio with a cold cache, where that is worth a line.
fn cold(line: &PresetLine, regime: &str, warm: f64) -> Option<f64> {
    let cold = find(line, regime, COLD)?.ratio?;
    ((cold - warm).abs() >= NOTABLE).then_some(cold)
}

/// Color by how far the ratio is from one: three steps to either side.
fn class(ratio: f64) -> &'static str {
    match ratio {
        ..0.5 => "less3",
        ..0.8 => "less2",
        ..0.995 => "less1",
        ..=1.005 => "zero",
        ..=1.25 => "more1",
        ..=2.0 => "more2",
        _ => "more3",
    }
}

fn notes(out: &mut String, presets: &[PresetLine], regimes: &[&str]) {
    let mut costs = presets.iter().flat_map(|line| &line.costs);
    let sessions = presets.iter().map(|line| line.sessions).max().unwrap_or(0);
    let partial: Vec<String> = regimes
        .iter()
        .filter_map(|regime| {
            let n = costs.find(|dollars| dollars.regime == **regime)?.n;
            (n < sessions).then(|| format!("{} covers {n} of {sessions} sessions", text(regime)))
        })
        .collect();
    let has_cold = |line: &PresetLine| {
        let ratio = |regime| find(line, regime, WARM)?.ratio;
        regimes
            .iter()
            .any(|regime| ratio(regime).is_some_and(|warm| cold(line, regime, warm).is_some()))
    };
    let mut notes = Vec::new();
    if presets.iter().any(has_cold) {
        notes.push(
            "cold: if it differs by two points or more, with a cold cache at every user turn of the recordings \
             without times."
                .to_owned(),
        );
    }
    if regimes.contains(&"own") {
        notes.push("own: the prices of each session's own model.".to_owned());
    }
    if !partial.is_empty() {
        notes.push(format!("{}.", partial.join("; ")));
    }
    if !notes.is_empty() {
        let _ = writeln!(out, "<p class=\"key\">{}</p>", notes.join(" "));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colors_by_side_and_size() {
        let cases = [
            (0.3, "less3"),
            (0.6, "less2"),
            (0.9, "less1"),
            (0.998, "zero"),
            (1.0, "zero"),
            (1.1, "more1"),
            (1.9, "more2"),
            (3.0, "more3"),
        ];
        for (ratio, expect) in cases {
            assert_eq!(class(ratio), expect, "{ratio}");
        }
    }
}
