//! Retention over distance: how much stays of what was last seen one call ago, two, … and more than fifty.

use super::chart::{position, ticks};
use super::figures::{NONE, per_mille, share};
use super::markup::text;
use super::order::{all, breakable};
use crate::number::grouped;
use foldback_core::strategy::Kind;
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
pub(super) fn section(out: &mut String, presets: &[PresetLine]) {
    let order = all(presets);
    // All presets sit the same exam.
    let asked = presets.iter().map(|line| line.retention.frr.needed).max();
    let Some(asked @ 1..) = asked else {
        return;
    };
    let _ = writeln!(
        out,
        "<section id=\"distance\">\n<h2>Retention over distance</h2>\n<p class=\"key\">Of what calls referred \
         to, how much still stood in the view, by the number of calls since it was last seen: up to 1, 2, 3, \
         5, 10, 20, 50, and more. {} references in all; hollow: fewer than 30. <span class=\"k size\">the preset</span> <span class=\"k random\">random \
         eviction</span></p>",
        grouped(asked)
    );
    let floor = floor(presets);
    let random = presets.iter().find(|line| line.preset == "random");
    let (losing, whole): (Vec<usize>, Vec<usize>) =
        order.iter().partition(|at| loses(&presets[**at]));
    if !losing.is_empty() {
        out.push_str("<div class=\"grid small-multiples\">\n");
        for at in losing {
            figure(out, &presets[at], random, floor);
        }
        out.push_str("</div>\n");
    }
    if !whole.is_empty() {
        let names: Vec<&str> = whole.iter().map(|at| presets[*at].preset.as_str()).collect();
        let _ = writeln!(out, "<p>Without any loss: {}.</p>", text(&names.join(", ")));
    }
    table(out, presets, &order);
    out.push_str("</section>\n");
}

fn loses(line: &PresetLine) -> bool {
    line.retention.frr.kept < line.retention.frr.needed
}

/// The shares by step, from near to far.
fn steps(line: &PresetLine) -> [Share; STEPS] {
    let by = &line.retention.by_distance;
    let mut upper = DISTANCES.into_iter().chain([usize::MAX]);
    std::array::from_fn(|_| {
        let step = upper.next().and_then(|step| by.get(&step).copied());
        step.unwrap_or_default()
    })
}

/// The same axis for all: a tenth below the lowest share of any.
fn floor(presets: &[PresetLine]) -> u64 {
    let lowest = presets.iter().flat_map(steps).filter_map(Share::value).map(per_mille).min();
    lowest.unwrap_or(0).min(900) / 100 * 100
}

fn figure(out: &mut String, line: &PresetLine, random: Option<&PresetLine>, floor: u64) {
    let frr = line.retention.frr;
    let kind = if line.kind == Kind::Control { ", control" } else { "" };
    let _ = write!(
        out,
        "<figure>\n<figcaption><strong>{}</strong>{kind} {}</figcaption>\n<svg class=\"curve\" viewBox=\"0 0 260 \
         128\" role=\"img\" aria-label=\"Retention over distance under {}\">",
        breakable(&line.preset),
        frr.value().map_or_else(|| NONE.to_owned(), share),
        text(&line.preset)
    );
    for tick in ticks(1000 - floor, 4) {
        // From 100 % downwards, so that it is among them.
        let share = 1000 - tick;
        let y = y(share, floor);
        let _ = write!(
            out,
            "<path class=\"grid\" d=\"M{LEFT} {y}h{WIDTH}\"/><text x=\"{}\" y=\"{}\" \
             text-anchor=\"end\">{}%</text>",
            LEFT - 5,
            y + 3,
            share / 10
        );
    }
    for (at, step) in DISTANCES.into_iter().enumerate() {
        let _ = write!(
            out,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{step}</text>",
            x(at),
            BOTTOM + 14
        );
    }
    let _ = write!(
        out,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">&gt;50</text>",
        x(STEPS - 1),
        BOTTOM + 14
    );
    if let Some(random) = random.filter(|random| random.preset != line.preset) {
        path(out, "random", &steps(random), floor);
    }
    let own = steps(line);
    path(out, "size", &own, floor);
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
fn path(out: &mut String, class: &str, steps: &[Share; STEPS], floor: u64) {
    let points: Vec<(usize, f64)> =
        steps.iter().enumerate().filter_map(|(at, share)| Some((at, share.value()?))).collect();
    let _ = write!(out, "<path class=\"{class}\" d=\"");
    for (index, (at, value)) in points.into_iter().enumerate() {
        let command = if index == 0 { 'M' } else { 'L' };
        let _ = write!(out, "{command}{} {}", x(at), y(per_mille(value), floor));
    }
    out.push_str("\"/>");
}

/// The numbers behind the charts, with how many references each step has.
fn table(out: &mut String, presets: &[PresetLine], order: &[usize]) {
    out.push_str(
        "<details>\n<summary>The numbers</summary>\n<div class=\"wide\" tabindex=\"0\" role=\"region\" \
         aria-label=\"Retention over distance\">\n<table class=\"matrix\">\n<thead><tr><th \
         scope=\"col\">calls since</th>",
    );
    for step in DISTANCES {
        let _ = write!(out, "<th scope=\"col\">≤ {step}</th>");
    }
    out.push_str("<th scope=\"col\">&gt; 50</th></tr></thead>\n<tbody>\n");
    if let Some(first) = order.first() {
        out.push_str("<tr><th scope=\"row\">references</th>");
        for share in steps(&presets[*first]) {
            let _ = write!(out, "<td>{}</td>", grouped(share.needed));
        }
        out.push_str("</tr>\n");
    }
    for at in order {
        let line = &presets[*at];
        let _ = write!(out, "<tr><th scope=\"row\">{}</th>", breakable(&line.preset));
        for step in steps(line) {
            match step.value() {
                Some(value) if step.kept == step.needed => {
                    let _ = write!(out, "<td class=\"zero\">{}</td>", share(value));
                }
                Some(value) => {
                    let _ = write!(out, "<td>{}</td>", share(value));
                }
                None => {
                    let _ = write!(out, "<td class=\"zero\">{NONE}</td>");
                }
            }
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table>\n</div>\n</details>\n");
}
