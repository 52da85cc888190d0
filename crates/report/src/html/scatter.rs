//! Input against cache hit rate, one dot per preset: what a strategy saves, and what its changes to the
//! prefix cost it in the cache.

use super::chart::{position, ticks};
use super::markup::text;
use crate::number::percent;
use foldback_core::strategy::Kind;
use foldback_replay::compare::PresetLine;
use std::fmt::Write as _;

// The plot inside the drawing, in pixels. Names stand to its right.
const LEFT: u64 = 48;
const TOP: u64 = 12;
const WIDTH: u64 = 400;
const HEIGHT: u64 = 260;
const NAMES: u64 = LEFT + WIDTH + 36;
/// Pixels between two names.
const LINE: u64 = 17;

/// A preset in the plot.
struct Dot<'a> {
    line: &'a PresetLine,
    x: u64,
    y: u64,
}

/// The drawing with its caption.
pub(super) fn section(out: &mut String, presets: &[PresetLine]) {
    let per_mille = |ratio: f64| (ratio.max(0.0) * 1000.0).round() as u64;
    let inputs = presets.iter().map(|line| per_mille(line.input_ratio));
    let right = inputs.max().unwrap_or(0).max(1000);
    let rates = presets.iter().map(|line| per_mille(line.cache_hit_rate));
    // The rates lie close together near 100%, so their axis starts below the lowest of them.
    let lowest = rates.min().unwrap_or(0).min(1000);
    let floor = lowest.saturating_sub(10) / 50 * 50;
    let mut dots: Vec<Dot<'_>> = presets
        .iter()
        .map(|line| Dot {
            line,
            x: LEFT + position(per_mille(line.input_ratio), right, WIDTH),
            y: TOP + HEIGHT
                - position(
                    per_mille(line.cache_hit_rate).saturating_sub(floor),
                    1000 - floor,
                    HEIGHT,
                ),
        })
        .collect();
    // From top to bottom, as their names will stand.
    dots.sort_by_key(|dot| (dot.y, std::cmp::Reverse(dot.x)));

    let needed = TOP + dots.len() as u64 * LINE;
    let height = (TOP + HEIGHT + 44).max(needed + 10);
    let _ = writeln!(
        out,
        "<section id=\"trade\">\n<h2>Input and cache</h2>\n<figure>\n<svg class=\"scatter\" \
         viewBox=\"0 0 720 {height}\" role=\"img\" aria-label=\"Input against cache hit rate, one dot per \
         preset; the numbers are in the table above\">"
    );
    axes(out, right, floor);
    names_and_dots(out, &dots, height);
    out.push_str(
        "</svg>\n<figcaption>Left is less input than without compaction; up is more of it read from the \
         simulated cache. Hollow dots are controls.</figcaption>\n</figure>\n</section>\n",
    );
}

fn axes(out: &mut String, right: u64, floor: u64) {
    let bottom = TOP + HEIGHT;
    for tick in ticks(right, 5) {
        let x = LEFT + position(tick, right, WIDTH);
        let _ = write!(
            out,
            "<path class=\"grid\" d=\"M{x} {TOP}V{bottom}\"/><text x=\"{x}\" y=\"{}\" \
             text-anchor=\"middle\">{}%</text>",
            bottom + 16,
            tick / 10
        );
    }
    for tick in ticks(1000 - floor, 5) {
        let y = bottom - position(tick, 1000 - floor, HEIGHT);
        let tenths = (floor + tick) % 10;
        let decimal = if tenths == 0 {
            String::new()
        } else {
            format!(".{tenths}")
        };
        let _ = write!(
            out,
            "<path class=\"grid\" d=\"M{LEFT} {y}H{}\"/><text x=\"{}\" y=\"{}\" \
             text-anchor=\"end\">{}{decimal}%</text>",
            LEFT + WIDTH,
            LEFT - 6,
            y + 4,
            (floor + tick) / 10
        );
    }
    let _ = writeln!(
        out,
        "<text class=\"axis\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">input, of that without compaction\
         </text><text class=\"axis\" x=\"{}\" y=\"10\">cache hit rate</text>",
        LEFT + WIDTH / 2,
        bottom + 36,
        LEFT + 6
    );
}

/// Names stand in a column so that presets that do the same stay readable; a thin line leads to each dot.
fn names_and_dots(out: &mut String, dots: &[Dot<'_>], height: u64) {
    let mut y = TOP;
    for (index, dot) in dots.iter().enumerate() {
        // As near to the dot as the names above and those still to come leave room for.
        let still = (dots.len() - index) as u64 * LINE;
        y = dot.y.min(height.saturating_sub(still)).max(y);
        let _ = writeln!(
            out,
            "<path class=\"lead\" d=\"M{} {}L{} {y}H{}\"/><text x=\"{NAMES}\" y=\"{}\">{}</text>",
            dot.x,
            dot.y,
            LEFT + WIDTH + 8,
            NAMES - 4,
            y + 4,
            text(&dot.line.preset)
        );
        y += LINE;
    }
    for dot in dots {
        let class = if dot.line.kind == Kind::Control {
            "dot control"
        } else {
            "dot"
        };
        let _ = writeln!(
            out,
            "<circle class=\"{class}\" cx=\"{}\" cy=\"{}\" r=\"5\"><title>{}: input {}, cache {}</title></circle>",
            dot.x,
            dot.y,
            text(&dot.line.preset),
            percent(dot.line.input_ratio),
            percent(dot.line.cache_hit_rate)
        );
    }
}
