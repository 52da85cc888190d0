//! Retention over distance: how much stays of what was last seen one call ago, two, … and more than fifty.

use super::chart::{position, ticks};
use super::figures::{or_dash, per_mille, share};
use super::markup::{
    BODY, END_TABLE, breakable, col_heads, named_td, open_section, open_table, row_head, svg_text,
    text,
};
use crate::number::grouped;
use foldback_core::strategy::Kind;
use foldback_replay::Comparison;
use foldback_replay::availability::{DISTANCES, Share};
use foldback_replay::compare::PresetLine;
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

/// The charts of those that lose something, what the others are, and all numbers as a table.
pub(super) fn section(out: &mut String, comparison: &Comparison) {
    let presets = &comparison.presets;
    let order = [comparison.ranked(), comparison.controls()].concat();
    // All presets sit the same exam.
    let asked = presets.iter().map(|line| line.retention.frr.needed).max();
    let Some(asked @ 1..) = asked else {
        return;
    };
    let title = open_section(out, "distance");
    let _ = writeln!(
        out,
        "<p class=\"key\">How much of what calls referred \
         to was still in the view, by the number of calls since it was last seen: up to 1, 2, 3, \
         5, 10, 20, 50, and more. {} references in all; hollow: fewer than 30. </p>",
        grouped(asked)
    );
    let floor = floor(presets);
    let (losing, whole): (Vec<usize>, Vec<usize>) =
        order.iter().partition(|at| loses(&presets[**at]));
    if !losing.is_empty() {
        out.push_str("<div class=\"grid small-multiples\">\n");
        for at in losing {
            figure(out, &presets[at], floor);
        }
        out.push_str("</div>\n");
    }
    if !whole.is_empty() {
        let names: Vec<&str> = whole.iter().map(|at| presets[*at].preset.as_str()).collect();
        let _ = writeln!(out, "<p>Without any loss: {}.</p>", text(&names.join(", ")));
    }
    table(out, title, presets, &order);
    out.push_str("</section>\n");
}

fn loses(line: &PresetLine) -> bool {
    line.retention.frr.kept < line.retention.frr.needed
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

fn figure(out: &mut String, line: &PresetLine, floor: u64) {
    let frr = line.retention.frr;
    let kind = if line.kind == Kind::Control { ", control" } else { "" };
    let _ = write!(
        out,
        "<figure>\n<figcaption><strong>{}</strong>{kind} {}</figcaption>\n<svg class=\"curve\" viewBox=\"0 0 260 \
         128\" role=\"img\" aria-label=\"Retention over distance under {}\">",
        breakable(&line.preset),
        or_dash(frr.value(), share),
        text(&line.preset)
    );
    for tick in ticks(1000 - floor, 4) {
        // From 100 % downwards, so that it is among them.
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

/// The numbers behind the charts, with how many references each step has.
fn table(out: &mut String, title: &str, presets: &[PresetLine], order: &[usize]) {
    out.push_str("<details>\n<summary>The numbers</summary>\n");
    open_table(out, title, "matrix cards");
    let steps_to = DISTANCES.into_iter().map(|step| format!("≤ {step}"));
    let names: Vec<String> = steps_to.chain(["> 50".to_owned()]).collect();
    col_heads(out, ["calls since"].into_iter().chain(names.iter().map(String::as_str)).map(text));
    out.push_str(BODY);
    if let Some(first) = order.first() {
        row_head(out, "references");
        for (name, share) in names.iter().zip(presets[*first].retention.by_distance) {
            named_td(out, name, "", grouped(share.needed));
        }
        out.push_str("</tr>\n");
    }
    for at in order {
        let line = &presets[*at];
        row_head(out, breakable(&line.preset));
        for (name, step) in names.iter().zip(line.retention.by_distance) {
            let class = if step.kept == step.needed { "zero" } else { "" };
            named_td(out, name, class, or_dash(step.value(), share));
        }
        out.push_str("</tr>\n");
    }
    out.push_str(END_TABLE);
    out.push_str("</details>\n");
}
