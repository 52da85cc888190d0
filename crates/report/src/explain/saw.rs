//! The sawtooth curve in characters: one column for one or more calls, the request in eighths of a line, dots
//! for the size without compaction, firings under the axis.

use crate::number::short;
use crate::terminal::Width;
use foldback_replay::walk::{Track, Walk};
use std::fmt::Write as _;
use std::ops::Range;

/// Lines of the plot.
const HEIGHT: u64 = 8;
/// Columns of the axis values and the rule after them.
const MARGIN: usize = 8;
const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Draws a track as wide as a text.
pub(super) fn draw(out: &mut String, walk: &Walk, track: &Track, width: Width) {
    let plain: Vec<u64> = walk.calls.iter().map(|call| call.plain_tokens).collect();
    let top = plain.iter().chain(&track.tokens).copied().max().unwrap_or(0);
    let columns = columns(track.tokens.len(), width.text.saturating_sub(MARGIN));
    if columns.is_empty() || top == 0 {
        return;
    }
    // A tooth is as high as the last request before it falls: the last call of a column speaks for it.
    let last = |values: &[u64], range: &Range<usize>| {
        let value = values.get(range.end - 1);
        value.map_or(0, |value| scaled(*value, top))
    };
    for row in (0..HEIGHT).rev() {
        let value = top * (row + 1) / HEIGHT;
        let mark = if row % 2 == 1 { short(value) } else { String::new() };
        let mut line = format!("{mark:>6} ┤");
        for range in &columns {
            let (size, would_be) = (last(&track.tokens, range), last(&plain, range));
            let filled = size.saturating_sub(row * 8).min(8) as usize;
            let dot = filled == 0 && would_be > row * 8 && would_be <= (row + 1) * 8;
            line.push(if dot { '·' } else { EIGHTHS[filled] });
        }
        let _ = writeln!(out, "{}", line.trim_end());
    }
    let _ = writeln!(out, "{:>6} └{}", 0, "─".repeat(columns.len()));
    marks(out, track, &columns);
    numbers(out, &columns);
    let mut legend = vec!["█ tokens sent"];
    if plain.iter().zip(&track.tokens).any(|(plain, sent)| plain > sent) {
        legend.push("· without compaction");
    }
    for (fold, text) in [(true, "▲ fold"), (false, "╵ pruning")] {
        if track.firings.iter().any(|fired| fired.fold == fold) {
            legend.push(text);
        }
    }
    if !track.overflows.is_empty() {
        legend.push("! refused as too large");
    }
    let _ = writeln!(out, "        {}; calls from 0", legend.join("   "));
}

/// Columns that one call is drawn in, at most.
const WIDEST: usize = 4;

/// The calls of each column: several in one, or one in several.
fn columns(calls: usize, width: usize) -> Vec<Range<usize>> {
    if calls == 0 || width == 0 {
        return Vec::new();
    }
    let each = (width / calls).min(WIDEST);
    if each > 0 {
        let column = |column| column / each..column / each + 1;
        return (0..calls * each).map(column).collect();
    }
    (0..width).map(|column| column * calls / width..(column + 1) * calls / width).collect()
}

/// A value in eighths of a line, rounded up so that nothing sent is drawn as nothing.
fn scaled(value: u64, top: u64) -> u64 {
    (value * HEIGHT * 8).div_ceil(top)
}

fn marks(out: &mut String, track: &Track, columns: &[Range<usize>]) {
    let mut line = " ".repeat(MARGIN);
    let mut before = None;
    for range in columns {
        if before.replace(range) == Some(range) {
            line.push(' ');
            continue;
        }
        let fired = |fold: bool| {
            let mut firings = track.firings.iter();
            firings.any(|fired| fired.fold == fold && range.contains(&fired.call))
        };
        line.push(if fired(true) {
            '▲'
        } else if fired(false) {
            '╵'
        } else if track.overflows.iter().any(|call| range.contains(call)) {
            '!'
        } else {
            ' '
        });
    }
    if !line.trim().is_empty() {
        let _ = writeln!(out, "{}", line.trim_end());
    }
}

/// Numbers of calls under the axis, each at the column that it is in.
fn numbers(out: &mut String, columns: &[Range<usize>]) {
    let mut line = String::new();
    // A call that is drawn in several columns has its number under the first.
    let each = columns.iter().take_while(|range| range.start == 0).count();
    let step = (columns.len() / 6).max(10).next_multiple_of(each.max(1));
    for column in (0..columns.len()).step_by(step) {
        let text = columns[column].start.to_string();
        let at = MARGIN + column;
        if at + text.len() <= MARGIN + columns.len() {
            line.push_str(&" ".repeat(at - line.len()));
            line.push_str(&text);
        }
    }
    let _ = writeln!(out, "{line}");
}
