//! The bill against what is kept, one marker per preset, with the front of those that no other strategy beats on
//! both.

use super::chart::{position, step};
use super::figures::{or_dash, per_mille, share};
use super::labels::place;
use super::markup::{linked, svg_text, text};
use crate::number::change;
use crate::verdict;
use foldback_core::strategy::Kind;
use foldback_replay::Comparison;
use foldback_replay::compare::{Metric, PresetLine, Standing};
use std::collections::BTreeMap;
use std::fmt::Write as _;

// The plot inside its drawing, in pixels.
const LEFT: u64 = 52;
const TOP: u64 = 24;
const WIDTH: u64 = 420;
const HEIGHT: u64 = 340;
const BOTTOM: u64 = TOP + HEIGHT;
/// Where names begin in theirs.
const NAMES: u64 = 46;
/// Pixels between two names.
const LINE: u64 = 18;
/// Lost shares, in thousandths, that the vertical axis may be marked at.
const LOST: [u64; 10] = [0, 10, 20, 50, 100, 200, 300, 500, 700, 1000];

/// Scales of both axes.
struct Scale {
    /// Bills at the left and right end, in thousandths of the one that they are compared with.
    from: u64,
    to: u64,
    /// The largest lost share, in thousandths.
    lost: u64,
}

impl Scale {
    fn x(&self, bill: f64) -> u64 {
        let along = per_mille(bill).clamp(self.from, self.to) - self.from;
        LEFT + position(along, self.to - self.from, WIDTH)
    }

    /// By the square root of what was lost: most strategies lose little, and there the differences lie.
    fn y(&self, kept: f64) -> u64 {
        let lost = (1_000_000.0 * (1.0 - kept.clamp(0.0, 1.0))).round() as u64;
        TOP + position(lost.isqrt(), (self.lost * 1000).isqrt(), HEIGHT).min(HEIGHT)
    }
}

/// The kinds of presets in order of the legend: class, and text of the legend.
#[derive(Clone, Copy, PartialEq)]
struct Sort(&'static str, &'static str);

const FRONT: Sort = Sort("front", "nothing is cheaper and keeps as much");
/// Nothing that keeps as much is cheaper, and still it costs more than what it is compared with.
const DEARER: Sort =
    Sort("dearer", "nothing is cheaper and keeps as much, but it costs more than without it");
const DOMINATED: Sort = Sort("dominated", "another one costs no more and keeps no less");
/// The drawing's note if there are too few tasks for a front.
const PRESET: Sort = Sort("preset", "preset");
const IDLE: Sort = Sort("idle", "never acted");
const CONTROL: Sort = Sort("control", "control");
const FAILED: Sort = Sort("failed", "a provider refuses it");
const SORTS: [Sort; 7] = [FRONT, DEARER, DOMINATED, PRESET, IDLE, CONTROL, FAILED];

/// A preset in the plot.
struct Dot<'a> {
    line: &'a PresetLine,
    name: &'a str,
    bill: &'a Metric,
    sort: Sort,
    x: u64,
    y: u64,
}

fn sort(comparison: &Comparison, line: &PresetLine, standing: Standing<'_>) -> Sort {
    match standing {
        Standing::Apart if line.kind == Kind::Control => CONTROL,
        Standing::Apart if !line.gate.passed => FAILED,
        Standing::Apart => IDLE,
        _ if !comparison.is_tested() => PRESET,
        Standing::Front if line.ratio.value.is_some_and(|ratio| ratio > 1.0) => DEARER,
        Standing::Front => FRONT,
        Standing::Dominated(_) => DOMINATED,
    }
}

/// The drawing with its caption. Markers lead to the reader, where `places` has an address for their preset.
pub(super) fn section(
    out: &mut String,
    comparison: &Comparison,
    places: &BTreeMap<String, String>,
) {
    let presets = &comparison.presets;
    let points = presets.iter().zip(comparison.standings()).filter_map(|(line, standing)| {
        let bill = &line.ratio;
        let point = (bill.value?, line.metrics.frr_obs_far.value?);
        Some((line, bill, point, sort(comparison, line, standing)))
    });
    let points: Vec<_> = points.collect();
    if points.is_empty() {
        return;
    }
    let scale = scale(&points.iter().map(|(_, _, point, _)| *point).collect::<Vec<_>>());
    let dot = |(line, bill, (cost, kept), sort)| {
        let name = verdict::name(comparison, line);
        Dot { line, name, bill, sort, x: scale.x(cost), y: scale.y(kept) }
    };
    let mut dots: Vec<Dot<'_>> = points.into_iter().map(dot).collect();
    // From top to bottom, as they are numbered.
    dots.sort_by_key(|dot| (dot.y, std::cmp::Reverse(dot.x)));
    let _ = writeln!(
        out,
        "<section id=\"trade\">\n<h2>The bill against what is kept</h2>\n<figure data-file=\"scatter\">\n<div \
         class=\"trade\">\n<svg class=\"scatter\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"The bill against what is \
         kept, one marker per preset; the figures are in the table below\">",
        LEFT + WIDTH + 20,
        BOTTOM + 48
    );
    axes(out, &scale, comparison);
    let mut crosses = String::new();
    dots.iter().for_each(|dot| cross(&mut crosses, dot, &scale));
    out.push_str(&crosses);
    let has_stair = front(out, &dots);
    dots.iter().for_each(|dot| marker(out, dot, places.get(&dot.line.preset)));
    numbers(out, &dots);
    out.push_str("</svg>\n");
    names(out, &dots, places);
    out.push_str(
        "</div>\n<figcaption>Left is cheaper, up keeps more; the vertical axis is stretched toward 100%.",
    );
    for Sort(class, meaning) in
        SORTS.into_iter().filter(|sort| dots.iter().any(|dot| dot.sort == *sort))
    {
        let _ = write!(out, " <span class=\"m {class}\">{meaning}</span>");
    }
    if has_stair {
        out.push_str(" <span class=\"k stair\">the front, by the values alone</span>");
    }
    if !crosses.is_empty() {
        out.push_str(" <span class=\"k cross\">likely ranges, cut off at the axes</span>");
    }
    out.push_str("</figcaption>\n");
    let absent =
        presets.iter().filter(|line| !dots.iter().any(|dot| std::ptr::eq(dot.line, *line)));
    let absent: Vec<&str> = absent.map(|line| verdict::name(comparison, line)).collect();
    if !absent.is_empty() {
        let _ = writeln!(
            out,
            "<p class=\"small\">Without a value for both: {}.</p>",
            text(&absent.join(", "))
        );
    }
    out.push_str("</figure>\n</section>\n");
}

fn scale(points: &[(f64, f64)]) -> Scale {
    let bills = || points.iter().map(|(bill, _)| per_mille(*bill));
    let least = bills().min().unwrap_or(0).min(1000);
    let most = bills().max().unwrap_or(0).max(1000);
    let room = ((most - least) / 12).max(10);
    let lost = points.iter().map(|(_, kept)| 1000 - per_mille(*kept).min(1000));
    let lost = lost.max().unwrap_or(0);
    Scale {
        from: least.saturating_sub(room) / 50 * 50,
        to: (most + room).next_multiple_of(50),
        lost: (lost + lost / 10).clamp(20, 1000),
    }
}

fn axes(out: &mut String, scale: &Scale, comparison: &Comparison) {
    let step = step(scale.to - scale.from, 7);
    for tick in (0..=scale.to / step).map(|at| at * step).filter(|tick| *tick >= scale.from) {
        let ratio = tick as f64 / 1000.0;
        let x = scale.x(ratio);
        let class = if tick == 1000 { "whole" } else { "grid" };
        let _ = write!(out, "<path class=\"{class}\" d=\"M{x} {TOP}V{BOTTOM}\"/>");
        svg_text(out, x, BOTTOM + 16, "middle", change(ratio));
    }
    for lost in LOST.into_iter().filter(|lost| *lost <= scale.lost) {
        let y = scale.y(1.0 - lost as f64 / 1000.0);
        let _ = write!(out, "<path class=\"grid\" d=\"M{LEFT} {y}h{WIDTH}\"/>");
        svg_text(out, LEFT - 8, y + 4, "end", format_args!("{}%", 100 - lost / 10));
    }
    let against = comparison.base.as_ref().map_or("the base".to_owned(), verdict::paid);
    let _ = writeln!(
        out,
        "<text class=\"axis\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">bill, what is read again priced in, against {against}\
         </text><text class=\"axis\" x=\"4\" y=\"12\">kept</text>",
        LEFT + WIDTH / 2,
        BOTTOM + 38
    );
}

fn cross(out: &mut String, dot: &Dot<'_>, scale: &Scale) {
    let ends = |metric: &Metric| metric.lo.zip(metric.hi).filter(|(lo, hi)| lo != hi);
    let mut path = String::new();
    if let Some((lo, hi)) = ends(dot.bill) {
        let _ = write!(path, "M{} {}H{}", scale.x(lo), dot.y, scale.x(hi));
    }
    if let Some((lo, hi)) = ends(&dot.line.metrics.frr_obs_far) {
        let _ = write!(path, "M{} {}V{}", dot.x, scale.y(lo), scale.y(hi));
    }
    if !path.is_empty() {
        let _ = writeln!(out, "<path class=\"cross\" d=\"{path}\"/>");
    }
}

/// A stair through the front: between two of its strategies nothing is known to be better than the
/// cheaper one. Says whether there is one.
fn front(out: &mut String, dots: &[Dot<'_>]) -> bool {
    let on = dots.iter().filter(|dot| [FRONT, DEARER].contains(&dot.sort));
    let mut front: Vec<(u64, u64)> = on.map(|dot| (dot.x, dot.y)).collect();
    front.sort_unstable();
    front.dedup();
    let Some(((x, y), rest @ [_, ..])) = front.split_first() else {
        return false;
    };
    let _ = write!(out, "<path class=\"stair\" d=\"M{x} {y}");
    for (x, y) in rest {
        let _ = write!(out, "H{x}V{y}");
    }
    out.push_str("\"/>\n");
    true
}

/// A number beside each marker, or one list of them where markers coincide; a thin line leads to what stands apart.
fn numbers(out: &mut String, dots: &[Dot<'_>]) {
    let spots: Vec<(u64, u64)> = dots.iter().map(|dot| (dot.x, dot.y)).collect();
    let mut labels: Vec<((u64, u64), String)> = Vec::new();
    for (at, spot) in spots.iter().enumerate() {
        match labels.iter_mut().find(|(other, _)| other == spot) {
            Some((_, numbers)) => numbers.push_str(&format!(",{}", at + 1)),
            None => labels.push((*spot, (at + 1).to_string())),
        }
    }
    let frame = (LEFT, TOP, LEFT + WIDTH, BOTTOM);
    let lengths: Vec<_> = labels.iter().map(|(spot, text)| (*spot, text.len())).collect();
    for ((_, text), place) in labels.iter().zip(place(&lengths, frame)) {
        if let Some([(x, y), (to_x, to_y)]) = place.lead {
            let _ = write!(out, "<path class=\"lead\" d=\"M{x} {y}L{to_x} {to_y}\"/>");
        }
        let _ = write!(
            out,
            "<text class=\"number\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{text}</text>",
            place.x,
            place.y + 4
        );
    }
    out.push('\n');
}

/// The names by their numbers, each with its marker.
fn names(out: &mut String, dots: &[Dot<'_>], places: &BTreeMap<String, String>) {
    let longest = dots.iter().map(|dot| dot.name.chars().count()).max().unwrap_or(0);
    let (width, height) = (NAMES + 8 * longest as u64, LINE * dots.len() as u64 + 8);
    let _ = writeln!(
        out,
        "<svg class=\"names\" viewBox=\"0 0 {width} {height}\" style=\"flex-basis:{width}px;max-width:{width}px\" \
         role=\"img\" aria-label=\"The presets by their numbers\">"
    );
    for (index, dot) in dots.iter().enumerate() {
        let y = LINE * index as u64 + 14;
        svg_text(out, 20, y + 4, "end", index + 1);
        let name = format!(
            "<path class=\"marker {class}\" d=\"{}\"/><text class=\"{class}\" x=\"{NAMES}\" y=\"{}\">{}</text>",
            shape(dot, 34, y),
            y + 4,
            text(dot.name),
            class = dot.sort.0,
        );
        let _ = writeln!(out, "{}", linked(places.get(&dot.line.preset), name));
    }
    out.push_str("</svg>\n");
}

/// The outline of a dot's marker at a place.
fn shape(dot: &Dot<'_>, x: u64, y: u64) -> String {
    match dot.sort {
        FRONT => format!("M{x} {}l1.6 4.7h5l-4 3 1.5 4.7-4.1-2.9-4.1 2.9 1.5-4.7-4-3h5z", y - 7),
        CONTROL => format!("M{} {}h8v8h-8z", x - 4, y - 4),
        FAILED => format!("M{} {}l8 8m0-8l-8 8", x - 4, y - 4),
        // A circle, so that all markers are paths and can be styled alike.
        _ => format!("M{} {y}a5 5 0 1 0 10 0a5 5 0 1 0-10 0z", x - 5),
    }
}

fn marker(out: &mut String, dot: &Dot<'_>, address: Option<&String>) {
    let marker = format!(
        "<path class=\"marker {}\" d=\"{}\"><title>{}: bill {}, kept {}, verbatim {}</title></path>",
        dot.sort.0,
        shape(dot, dot.x, dot.y),
        text(dot.name),
        or_dash(dot.bill.value, change),
        or_dash(dot.line.metrics.frr_obs_far.value, share),
        or_dash(dot.line.metrics.verbatim_far.value, share)
    );
    let _ = writeln!(out, "{}", linked(address, marker));
}
