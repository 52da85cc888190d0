//! Cost against retention, one marker per preset, with the front of those that no other strategy beats on
//! both.

use super::chart::{position, ticks};
use super::figures::{per_mille, range, share};
use super::labels::place;
use super::markup::{open_section, svg_text, text};
use foldback_core::strategy::Kind;
use foldback_replay::Comparison;
use foldback_replay::compare::{Metric, Point, PresetLine, Standing};
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
    /// Cost at the left and right end, in thousandths.
    from: u64,
    to: u64,
    /// The largest lost share, in thousandths.
    lost: u64,
}

impl Scale {
    fn x(&self, cost: f64) -> u64 {
        let along = per_mille(cost).clamp(self.from, self.to) - self.from;
        LEFT + position(along, self.to - self.from, WIDTH)
    }

    /// By the square root of what was lost: most strategies lose little, and there the differences lie.
    fn y(&self, kept: f64) -> u64 {
        let lost = (1_000_000.0 * (1.0 - kept.clamp(0.0, 1.0))).round() as u64;
        TOP + position(lost.isqrt(), (self.lost * 1000).isqrt(), HEIGHT).min(HEIGHT)
    }
}

/// A preset in the plot.
struct Dot<'a> {
    line: &'a PresetLine,
    standing: Standing<'a>,
    x: u64,
    y: u64,
}

impl Dot<'_> {
    fn class(&self) -> &'static str {
        match self.standing {
            Standing::Front => "front",
            Standing::Dominated(_) => "dominated",
            Standing::Apart if self.line.kind == Kind::Control => "control",
            Standing::Apart => "failed",
        }
    }
}

/// The drawing with its caption.
pub(super) fn section(out: &mut String, comparison: &Comparison) {
    let presets = &comparison.presets;
    let points: Vec<Point> = presets.iter().filter_map(PresetLine::point).collect();
    if points.is_empty() {
        return;
    }
    let scale = scale(&points);
    let mut dots: Vec<Dot<'_>> = presets
        .iter()
        .zip(comparison.standings())
        .filter_map(|(line, standing)| {
            let Point { cost, kept } = line.point()?;
            Some(Dot { line, standing, x: scale.x(cost), y: scale.y(kept) })
        })
        .collect();
    // From top to bottom, as they are numbered.
    dots.sort_by_key(|dot| (dot.y, std::cmp::Reverse(dot.x)));
    open_section(out, "trade");
    let _ = writeln!(
        out,
        "<figure>\n<div class=\"trade\">\n\
         <svg class=\"scatter\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"Cost ratio against \
         FRR-obs-far, one marker per preset; the figures are in the table below\">",
        LEFT + WIDTH + 20,
        BOTTOM + 48
    );
    axes(out, &scale);
    for dot in &dots {
        cross(out, dot, &scale);
    }
    front(out, &dots);
    for dot in &dots {
        marker(out, dot);
    }
    numbers(out, &dots);
    out.push_str("</svg>\n");
    names(out, &dots);
    out.push_str("</div>\n<figcaption>Left is cheaper, up keeps more of what only tool results and user messages \
         had said, and not recently (FRR-obs-far); the vertical axis is stretched towards 100%. <span class=\"m front\">on the \
         front</span> <span class=\"m dominated\">dominated</span> <span class=\"m control\">control</span> \
         <span class=\"m failed\">not ranked</span>. Thin lines: 95% intervals, cut off at the axes; the two \
         are not independent. The front uses the values alone; which pairs tie is shown \
         below.</figcaption>\n");
    absent(out, presets);
    out.push_str("</figure>\n</section>\n");
}

fn scale(points: &[Point]) -> Scale {
    let costs = || points.iter().map(|point| per_mille(point.cost));
    let least = costs().min().unwrap_or(0).min(1000);
    let most = costs().max().unwrap_or(0).max(1000);
    let room = ((most - least) / 12).max(10);
    let lost = points.iter().map(|point| 1000 - per_mille(point.kept).min(1000));
    let lost = lost.max().unwrap_or(0);
    Scale {
        from: least.saturating_sub(room) / 50 * 50,
        to: (most + room).next_multiple_of(50),
        lost: (lost + lost / 10).clamp(20, 1000),
    }
}

fn axes(out: &mut String, scale: &Scale) {
    for tick in ticks(scale.to - scale.from, 7) {
        let x = LEFT + position(tick, scale.to - scale.from, WIDTH);
        let class = if scale.from + tick == 1000 { "whole" } else { "grid" };
        let _ = write!(out, "<path class=\"{class}\" d=\"M{x} {TOP}V{BOTTOM}\"/>");
        let percent = (scale.from + tick) / 10;
        svg_text(out, x, BOTTOM + 16, "middle", format_args!("{percent}%"));
    }
    for lost in LOST.into_iter().filter(|lost| *lost <= scale.lost) {
        let y = scale.y(1.0 - lost as f64 / 1000.0);
        let _ = write!(out, "<path class=\"grid\" d=\"M{LEFT} {y}h{WIDTH}\"/>");
        svg_text(out, LEFT - 8, y + 4, "end", format_args!("{}%", 100 - lost / 10));
    }
    let _ = writeln!(
        out,
        "<text class=\"axis\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">cost, of that without compaction\
         </text><text class=\"axis\" x=\"4\" y=\"12\">kept</text>",
        LEFT + WIDTH / 2,
        BOTTOM + 38
    );
}

fn cross(out: &mut String, dot: &Dot<'_>, scale: &Scale) {
    let ends = |metric: &Metric| metric.lo.zip(metric.hi);
    let _ = write!(out, "<path class=\"cross {}\" d=\"", dot.class());
    if let Some((lo, hi)) = ends(&dot.line.metrics.cost_ratio) {
        let _ = write!(out, "M{} {}H{}", scale.x(lo), dot.y, scale.x(hi));
    }
    if let Some((lo, hi)) = ends(&dot.line.metrics.frr_obs_far) {
        let _ = write!(out, "M{} {}V{}", dot.x, scale.y(lo), scale.y(hi));
    }
    out.push_str("\"/>\n");
}

/// A stair through the front: between two of its strategies nothing is known to be better than the
/// cheaper one.
fn front(out: &mut String, dots: &[Dot<'_>]) {
    let on = dots.iter().filter(|dot| dot.standing == Standing::Front);
    let mut front: Vec<(u64, u64)> = on.map(|dot| (dot.x, dot.y)).collect();
    front.sort_unstable();
    front.dedup();
    let Some(((x, y), rest)) = front.split_first() else {
        return;
    };
    let _ = write!(out, "<path class=\"stair\" d=\"M{x} {y}");
    for (x, y) in rest {
        let _ = write!(out, "H{x}V{y}");
    }
    out.push_str("\"/>\n");
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
fn names(out: &mut String, dots: &[Dot<'_>]) {
    let longest = dots.iter().map(|dot| dot.line.preset.chars().count()).max().unwrap_or(0);
    let (width, height) = (NAMES + 8 * longest as u64, LINE * dots.len() as u64 + 8);
    let _ = writeln!(
        out,
        "<svg class=\"names\" viewBox=\"0 0 {width} {height}\" style=\"flex-basis:{width}px;max-width:{width}px\" \
         role=\"img\" aria-label=\"The presets by their numbers\">"
    );
    for (index, dot) in dots.iter().enumerate() {
        let y = LINE * index as u64 + 14;
        svg_text(out, 20, y + 4, "end", index + 1);
        let _ = writeln!(
            out,
            "<path class=\"marker {class}\" d=\"{}\"/><text class=\"{class}\" x=\"{NAMES}\" y=\"{}\">{}</text>",
            shape(dot, 34, y),
            y + 4,
            text(&dot.line.preset),
            class = dot.class(),
        );
    }
    out.push_str("</svg>\n");
}

/// The outline of a dot's marker at a place.
fn shape(dot: &Dot<'_>, x: u64, y: u64) -> String {
    match dot.class() {
        "control" => format!("M{} {}h8v8h-8z", x - 4, y - 4),
        "failed" => format!("M{} {}l8 8m0-8l-8 8", x - 4, y - 4),
        // A circle, so that all markers are paths and can be styled alike.
        _ => format!("M{} {y}a5 5 0 1 0 10 0a5 5 0 1 0-10 0z", x - 5),
    }
}

fn marker(out: &mut String, dot: &Dot<'_>) {
    let (shape, class) = (shape(dot, dot.x, dot.y), dot.class());
    let _ = write!(
        out,
        "<path class=\"marker {class}\" d=\"{shape}\"><title>{}: cost {}, kept {}",
        text(&dot.line.preset),
        with_interval(&dot.line.metrics.cost_ratio),
        with_interval(&dot.line.metrics.frr_obs_far)
    );
    if let Standing::Dominated(by) = dot.standing {
        let _ = write!(out, "; dominated by {}", text(by));
    }
    out.push_str("</title></path>\n");
}

fn with_interval(metric: &Metric) -> String {
    let value = metric.value.map_or_else(String::new, share);
    match range(metric) {
        Some(range) => format!("{value} ({range})"),
        None => value,
    }
}

fn absent(out: &mut String, presets: &[PresetLine]) {
    let absent: Vec<&str> = presets
        .iter()
        .filter(|line| line.point().is_none())
        .map(|line| line.preset.as_str())
        .collect();
    if !absent.is_empty() {
        let _ = writeln!(
            out,
            "<p class=\"small\">Without a value for both: {}.</p>",
            text(&absent.join(", "))
        );
    }
}
