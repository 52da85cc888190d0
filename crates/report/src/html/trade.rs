//! Cost against retention, one marker per preset, with the front of those that no other strategy beats on
//! both.

use super::chart::{position, ticks};
use super::figures::{per_mille, range, share};
use super::markup::{open_section, svg_text, text};
use foldback_core::strategy::Kind;
use foldback_replay::Comparison;
use foldback_replay::compare::{Metric, Point, PresetLine, Standing};
use std::fmt::Write as _;

// The plot inside the drawing, in pixels. Names stand to its right.
const LEFT: u64 = 52;
const TOP: u64 = 24;
const WIDTH: u64 = 420;
const HEIGHT: u64 = 340;
const BOTTOM: u64 = TOP + HEIGHT;
const NAMES: u64 = LEFT + WIDTH + 40;
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
    // From top to bottom, as their names will stand.
    dots.sort_by_key(|dot| (dot.y, std::cmp::Reverse(dot.x)));
    let height = (BOTTOM + 48).max(TOP + dots.len() as u64 * LINE + 10);
    open_section(out, "trade");
    let _ = writeln!(
        out,
        "<figure>\n\
         <div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Cost against retention\">\n\
         <svg class=\"scatter\" viewBox=\"0 0 760 {height}\" role=\"img\" aria-label=\"Cost ratio against \
         FRR-obs-far, one marker per preset; the numbers are in the table above\">"
    );
    axes(out, &scale);
    for dot in &dots {
        cross(out, dot, &scale);
    }
    front(out, &dots);
    names(out, &dots, height);
    for dot in &dots {
        marker(out, dot);
    }
    out.push_str("</svg>\n</div>\n<figcaption>Left is cheaper, up keeps more of what only tool results and user messages \
         had said, and not lately (FRR-obs-far); the vertical axis is stretched towards 100%. <span class=\"m front\">on the \
         front</span> <span class=\"m dominated\">dominated</span> <span class=\"m control\">control</span> \
         <span class=\"m failed\">not ranked</span>. Thin lines: 95% intervals, cut off at the axes; the two \
         are not independent. The front goes by the values alone; which pairs can be told apart stands \
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

/// Names stand in a column so that presets that do the same stay readable; a thin line leads to each.
fn names(out: &mut String, dots: &[Dot<'_>], height: u64) {
    let mut y = TOP;
    for (index, dot) in dots.iter().enumerate() {
        // As near to the dot as the names above and those still to come leave room for.
        let still = (dots.len() - index) as u64 * LINE;
        y = dot.y.min(height.saturating_sub(still)).max(y);
        let _ = writeln!(
            out,
            "<path class=\"lead\" d=\"M{} {}L{} {y}H{}\"/><text class=\"{}\" x=\"{NAMES}\" y=\"{}\">{}</text>",
            dot.x,
            dot.y,
            LEFT + WIDTH + 12,
            NAMES - 4,
            dot.class(),
            y + 4,
            text(&dot.line.preset)
        );
        y += LINE;
    }
}

fn marker(out: &mut String, dot: &Dot<'_>) {
    let (x, y, class) = (dot.x, dot.y, dot.class());
    let shape = match class {
        "control" => format!("M{} {}h8v8h-8z", x - 4, y - 4),
        "failed" => format!("M{} {}l8 8m0-8l-8 8", x - 4, y - 4),
        // A circle, so that all markers are paths and can be styled alike.
        _ => format!("M{} {y}a5 5 0 1 0 10 0a5 5 0 1 0-10 0z", x - 5),
    };
    let _ = write!(
        out,
        "<path class=\"marker {class}\" d=\"{shape}\"><title>{}: cost {}, kept {}",
        text(&dot.line.preset),
        told(&dot.line.metrics.cost_ratio),
        told(&dot.line.metrics.frr_obs_far)
    );
    if let Standing::Dominated(by) = dot.standing {
        let _ = write!(out, "; dominated by {}", text(by));
    }
    out.push_str("</title></path>\n");
}

fn told(metric: &Metric) -> String {
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
