//! Retention over distance: how much stays of what was last seen one call ago, two, … and more than fifty.

use super::chart::{position, ticks};
use super::figures::{or_dash, per_mille, share};
use super::markup::{END_FOLD, name, open_fold, svg_text, text};
use crate::number::grouped;
use crate::verdict;
use foldback_core::strategy::Kind;
use foldback_replay::Comparison;
use foldback_replay::compare::PresetLine;
use foldback_replay::retention::DISTANCES;
use foldback_replay::stats::Share;
use std::fmt::Write as _;

// The plot inside a drawing, in pixels.
const LEFT: u64 = 40;
const TOP: u64 = 8;
const WIDTH: u64 = 210;
const HEIGHT: u64 = 96;
const BOTTOM: u64 = TOP + HEIGHT;
const STEPS: usize = DISTANCES.len() + 1;
/// With fewer references a step is drawn hollow.
const FEW: u64 = 30;

/// The charts of those that lose something, and what the others are.
pub(super) fn section(out: &mut String, comparison: &Comparison) {
    let presets = &comparison.presets;
    let order = [comparison.by_bill(), comparison.controls()].concat();
    // All presets sit the same exam.
    let asked = presets.iter().map(|line| line.retention.frr().needed).max();
    let Some(asked @ 1..) = asked else {
        return;
    };
    open_fold(out, "distance", "What is kept, by when it was last seen");
    let (losing, whole): (Vec<usize>, Vec<usize>) =
        order.iter().partition(|at| loses(&presets[**at]));
    let mut steps = losing.iter().flat_map(|at| presets[*at].retention.by_distance);
    let hollow = match steps.any(|share| (1..FEW).contains(&share.needed)) {
        true => "; hollow: fewer than 30",
        false => "",
    };
    let _ = writeln!(
        out,
        "<p class=\"key\">How much of what calls referred \
         to was still in the view, by the number of calls since it was last seen: up to 1, 2, 3, \
         5, 10, 20, 50, and more. {} references in all{hollow}.</p>",
        grouped(asked)
    );
    let floor = floor(presets);
    if !losing.is_empty() {
        out.push_str("<div class=\"grid small-multiples\">\n");
        for at in losing {
            figure(out, comparison, &presets[at], floor);
        }
        out.push_str("</div>\n");
    }
    if !whole.is_empty() {
        let names: Vec<&str> =
            whole.iter().map(|at| verdict::name(comparison, &presets[*at])).collect();
        let _ = writeln!(out, "<p>Without any loss: {}.</p>", text(&names.join(", ")));
    }
    out.push_str(END_FOLD);
}

fn loses(line: &PresetLine) -> bool {
    line.retention.frr().kept < line.retention.frr().needed
}

/// The same axis for all: a tenth below the lowest share of any.
fn floor(presets: &[PresetLine]) -> u64 {
    let lowest = presets
        .iter()
        .flat_map(|line| line.retention.by_distance)
        .filter_map(Share::value)
        .map(per_mille)
        .min();
    lowest.unwrap_or(0).min(900) / 100 * 100
}

fn figure(out: &mut String, comparison: &Comparison, line: &PresetLine, floor: u64) {
    let frr = line.retention.frr();
    let kind = if line.kind == Kind::Control { ", control" } else { "" };
    let own = text(verdict::name(comparison, line));
    let _ = write!(
        out,
        "<figure data-file=\"distance-{own}\">\n<figcaption><strong>{}</strong>{kind} {}</figcaption>\n<svg class=\"curve\" \
         viewBox=\"0 0 260 128\" role=\"img\" aria-label=\"Retention over distance under {own}\">",
        name(comparison, line),
        or_dash(frr.value(), share),
    );
    for tick in ticks(1000 - floor, 4) {
        // Ticks count down from 100 %, so that 100 % has one.
        let share = 1000 - tick;
        let y = y(share, floor);
        let _ = write!(out, "<path class=\"grid\" d=\"M{LEFT} {y}h{WIDTH}\"/>");
        svg_text(out, LEFT - 5, y + 3, "end", format_args!("{}%", share / 10));
    }
    for (at, step) in DISTANCES.into_iter().enumerate() {
        svg_text(out, x(at), BOTTOM + 14, "middle", step);
    }
    svg_text(out, x(STEPS - 1), BOTTOM + 14, "middle", "&gt;50");
    let own = line.retention.by_distance;
    path(out, &own, floor);
    for (at, share) in own.into_iter().enumerate() {
        let Some(value) = share.value() else { continue };
        let class = if share.needed < FEW { "point few" } else { "point" };
        let _ = write!(
            out,
            "<circle class=\"{class}\" cx=\"{}\" cy=\"{}\" r=\"3\"><title>{} of {}</title></circle>",
            x(at),
            y(per_mille(value), floor),
            grouped(share.kept),
            grouped(share.needed)
        );
    }
    out.push_str("</svg>\n</figure>\n");
}

fn x(step: usize) -> u64 {
    LEFT + 6 + position(step as u64, STEPS as u64 - 1, WIDTH - 12)
}

fn y(per_mille: u64, floor: u64) -> u64 {
    BOTTOM - position(per_mille.saturating_sub(floor), 1000 - floor, HEIGHT)
}

/// A line through the steps that were asked for anything.
fn path(out: &mut String, steps: &[Share; STEPS], floor: u64) {
    let points: Vec<(usize, f64)> =
        steps.iter().enumerate().filter_map(|(at, share)| Some((at, share.value()?))).collect();
    let _ = write!(out, "<path class=\"size\" d=\"");
    for (index, (at, value)) in points.into_iter().enumerate() {
        let command = if index == 0 { 'M' } else { 'L' };
        let _ = write!(out, "{command}{} {}", x(at), y(per_mille(value), floor));
    }
    out.push_str("\"/>");
}
