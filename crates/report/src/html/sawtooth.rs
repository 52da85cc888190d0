//! Size of the requests over the calls of one session under one preset: the sawtooth curve.
//!
//! The gray line is the session without compaction, marks under the axis say where something fired, a
//! dashed line is the largest request that the provider would accept, a band lies where the recorder itself had
//! compacted.

use super::chart::{position, thinned, ticks};
use super::markup::{svg_text, text};
use crate::number::{grouped, short};
use foldback_core::conversation::StageRole;
use foldback_replay::totals::CallRow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

// The plot inside the drawing, in pixels.
const LEFT: u64 = 40;
const TOP: u64 = 8;
const WIDTH: u64 = 310;
const HEIGHT: u64 = 110;
const BOTTOM: u64 = TOP + HEIGHT;
/// Lines are drawn in tenths of a pixel.
const FINE: u64 = 10;
/// Points of a line, at most.
const POINTS: usize = 600;

/// Scales that the drawings of one session share, so that they can be compared by eye.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    /// Tokens at the top.
    pub(super) tokens: u64,
    /// The last call.
    pub(super) last: u64,
}

impl Scale {
    fn x(self, call: usize) -> u64 {
        LEFT + position(call as u64, self.last, WIDTH)
    }

    fn y(self, tokens: u64) -> u64 {
        BOTTOM - position(tokens, self.tokens, HEIGHT)
    }

    /// A line through the values, as path data in tenths of a pixel.
    fn path(self, values: &[u64]) -> String {
        let mut data = String::new();
        for (index, (call, value)) in thinned(values, POINTS).into_iter().enumerate() {
            let command = if index == 0 { 'M' } else { 'L' };
            let x = LEFT * FINE + position(call as u64, self.last, WIDTH * FINE);
            let y = BOTTOM * FINE - position(value, self.tokens, HEIGHT * FINE);
            let _ = write!(data, "{command}{x} {y}");
        }
        data
    }
}

/// The elements of a drawing, by class.
pub(super) const LEGEND: [(&str, &str); 7] = [
    ("size", "under the preset"),
    ("plain", "without compaction"),
    ("ceiling", "window"),
    ("prune", "pruned"),
    ("fold", "folded"),
    ("over", "refused as too large"),
    ("recorder", "after a compaction of the recorder"),
];

/// Draws the rows of one preset before those without compaction.
pub(super) fn draw(
    out: &mut String,
    preset: &str,
    rows: &[CallRow],
    plain: Option<&[CallRow]>,
    scale: Scale,
) {
    let _ = write!(
        out,
        "<svg class=\"saw\" viewBox=\"0 0 360 146\" role=\"img\" aria-label=\"Size of the requests under \
         {}\">",
        text(preset)
    );
    recorder(out, rows, scale);
    axes(out, scale);
    let sizes =
        |rows: &[CallRow]| -> Vec<u64> { rows.iter().map(|row| row.input_tokens).collect() };
    if let Some(plain) = plain {
        let _ = write!(
            out,
            "<path class=\"plain\" transform=\"scale(.1)\" d=\"{}\"/>",
            scale.path(&sizes(plain))
        );
    }
    let ceiling = rows.iter().filter_map(|row| row.ceiling).min();
    if let Some(ceiling) = ceiling.filter(|ceiling| *ceiling <= scale.tokens) {
        let y = scale.y(ceiling);
        let _ = write!(
            out,
            "<path class=\"ceiling\" d=\"M{LEFT} {y}h{WIDTH}\"><title>window: {} tokens</title></path>",
            grouped(ceiling)
        );
    }
    let _ = write!(
        out,
        "<path class=\"size\" transform=\"scale(.1)\" d=\"{}\"/>",
        scale.path(&sizes(rows))
    );
    marks(out, rows, scale);
    out.push_str("</svg>\n");
}

fn axes(out: &mut String, scale: Scale) {
    for tick in ticks(scale.tokens, 4) {
        let y = scale.y(tick);
        let _ = write!(out, "<path class=\"grid\" d=\"M{LEFT} {y}h{WIDTH}\"/>");
        svg_text(out, LEFT - 4, y + 3, "end", short(tick));
    }
    for tick in ticks(scale.last, 6) {
        let x = LEFT + position(tick, scale.last, WIDTH);
        svg_text(out, x, BOTTOM + 24, "middle", tick);
    }
}

/// A band over the calls after a compaction of the recorder's own.
fn recorder(out: &mut String, rows: &[CallRow], scale: Scale) {
    let mut calls = 0;
    for run in rows.chunk_by(|a, b| a.recorder_compacted == b.recorder_compacted) {
        let last = calls + run.len() - 1;
        if run[0].recorder_compacted {
            let _ = write!(
                out,
                "<path class=\"recorder\" d=\"M{} {TOP}H{}v{HEIGHT}H{}z\"/>",
                scale.x(calls),
                // A single call is a line.
                scale.x(last).max(scale.x(calls) + 1),
                scale.x(calls)
            );
        }
        calls = last + 1;
    }
}

/// Firings under the axis, one mark per pixel however many there are; requests that were refused above.
fn marks(out: &mut String, rows: &[CallRow], scale: Scale) {
    let mut folds: BTreeSet<u64> = BTreeSet::new();
    let mut prunes: BTreeSet<u64> = BTreeSet::new();
    let mut over: BTreeSet<u64> = BTreeSet::new();
    for (index, row) in rows.iter().enumerate() {
        let x = scale.x(index);
        for fired in &row.fired {
            match fired.role {
                StageRole::Pruner => prunes.insert(x),
                _ => folds.insert(x),
            };
        }
        if row.overflow {
            over.insert(x);
        }
    }
    let mut mark = |class: &str, at: &BTreeSet<u64>, top: u64, shape: &str| {
        if at.is_empty() {
            return;
        }
        let _ = write!(out, "<path class=\"{class}\" d=\"");
        for x in at {
            let _ = write!(out, "M{x} {top}{shape}");
        }
        out.push_str("\"/>");
    };
    mark("prune", &prunes, BOTTOM + 2, "v7");
    mark("fold", &folds, BOTTOM + 2, "l4 8h-8z");
    mark("over", &over, TOP - 6, "v5");
}

/// Stages that fired and how often, by name: `answer-usage × 1, opencode.prune × 2`.
pub(super) fn firings(rows: &[CallRow]) -> String {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for fired in rows.iter().flat_map(|row| &row.fired) {
        *counts.entry(&fired.stage).or_default() += 1;
    }
    let counts: Vec<String> =
        counts.into_iter().map(|(stage, count)| format!("{stage} × {}", grouped(count))).collect();
    counts.join(", ")
}
