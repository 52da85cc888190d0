//! The comparison as a table for a terminal of 80 columns or more.

use crate::number::{grouped, percent, short};
use comfy_table::{
    Cell, CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle,
};
use foldback_replay::Comparison;
use foldback_replay::compare::{Idle, Metric, PresetLine};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// How much of the detail is printed.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Columns of the terminal.
    pub width: u16,
    /// Idle sessions listed per preset.
    pub idle_per_preset: usize,
}

impl Default for Layout {
    fn default() -> Self {
        Self {
            width: 100,
            idle_per_preset: 3,
        }
    }
}

/// The whole report: corpus, table, idle sessions, what to know.
pub fn comparison(comparison: &Comparison, layout: Layout) -> String {
    let mut out = String::new();
    corpus(&mut out, comparison);
    out.push('\n');
    out.push_str(&presets_table(&comparison.presets, layout));
    out.push('\n');
    legend(&mut out, comparison, layout);
    out.push('\n');
    out.push_str(&metrics_table(&comparison.presets, layout));
    out.push('\n');
    metrics_legend(&mut out, layout);
    idle(&mut out, comparison, layout);
    footer(&mut out, comparison, layout);
    out
}

fn corpus(out: &mut String, comparison: &Comparison) {
    let corpus = &comparison.corpus;
    let mut formats: BTreeMap<&str, usize> = BTreeMap::new();
    for session in &corpus.sessions {
        *formats.entry(&session.format).or_default() += 1;
    }
    let formats: Vec<String> = formats
        .iter()
        .map(|(format, count)| format!("{count} {format}"))
        .collect();
    let calls: usize = corpus.sessions.iter().map(|session| session.calls).sum();
    let turns: usize = corpus.sessions.iter().map(|session| session.turns).sum();
    let _ = writeln!(
        out,
        "{} sessions ({}), {} model calls in {} user turns",
        corpus.imported,
        formats.join(", "),
        grouped(calls as u64),
        grouped(turns as u64),
    );
}

/// Lines above and below the header and at the end; rows stand close together.
const STYLE: TableStyle = TableStyle::new()
    .top_border(LineStyle::none().fill('─').junction('─'))
    .header_separator(LineStyle::none().fill('─').junction('─'))
    .bottom_border(LineStyle::none().fill('─').junction('─'));

fn presets_table(lines: &[PresetLine], layout: Layout) -> String {
    let mut table = Table::new();
    table
        .load_style(STYLE)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(layout.width);
    let header = [
        "preset", "acted", "input", "peak", "mean", "over", "folds", "prunes", "cleared", "cache",
        "broken",
    ];
    table.set_header(header);
    for line in lines {
        table.add_row([
            Cell::new(&line.preset),
            Cell::new(format!("{}/{}", line.triggered, line.sessions)),
            Cell::new(percent(line.input_ratio)),
            Cell::new(short(line.peak_tokens)),
            Cell::new(short(line.mean_tokens)),
            Cell::new(line.overflow_calls),
            Cell::new(line.compactions - line.prune_operations),
            Cell::new(line.prune_operations),
            Cell::new(short(line.tokens_reclaimed)),
            Cell::new(percent(line.cache_hit_rate)),
            Cell::new(line.strategy_violations),
        ]);
    }
    align(&mut table, layout);
    table.trim_fmt()
}

fn metrics_table(lines: &[PresetLine], layout: Layout) -> String {
    let mut table = Table::new();
    table
        .load_style(STYLE)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(layout.width);
    table.set_header([
        "preset",
        "cost",
        "kept, obs",
        "kept, far",
        "edits",
        "re-reads",
    ]);
    for line in lines {
        let metrics = &line.metrics;
        let rereads = metrics.rereads_per_100_calls.value;
        table.add_row([
            Cell::new(&line.preset),
            Cell::new(interval(&metrics.cost_ratio)),
            Cell::new(interval(&metrics.frr_obs)),
            Cell::new(interval(&metrics.frr_far)),
            Cell::new(interval(&metrics.epr)),
            Cell::new(rereads.map_or_else(|| "–".to_owned(), |value| format!("{value:.1}"))),
        ]);
    }
    align(&mut table, layout);
    table.trim_fmt()
}

/// Names to the left, numbers to the right; a name is only broken where the terminal leaves no other
/// way.
fn align(table: &mut Table, layout: Layout) {
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 1));
        if index > 0 {
            column.set_cell_alignment(CellAlignment::Right);
        } else if layout.width >= 100 {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
}

/// A value with its interval, in percent: `70% (52–91)`; without one that is narrower than a percent.
fn interval(metric: &Metric) -> String {
    let whole = |value: f64| format!("{:.0}", value * 100.0);
    match (metric.value, metric.lo, metric.hi) {
        (Some(value), Some(lo), Some(hi)) if whole(lo) != whole(hi) => {
            format!("{}% ({}–{})", whole(value), whole(lo), whole(hi))
        }
        (Some(value), ..) => format!("{}%", whole(value)),
        (None, ..) => "–".to_owned(),
    }
}

fn metrics_legend(out: &mut String, layout: Layout) {
    wrap(
        out,
        "",
        "cost: of all prompts, of that without compaction, under anthropic-5m (cache reads 0.1, the rest \
         1.25), always warm; output and summaries left out · kept: of what later calls referred to, what \
         still stood in the view: obs had only stood in tool results and user messages, far was last \
         seen more than three calls ago · edits: old texts of edits that stood in the view · re-reads: \
         results to be read again per 100 calls, at most · in brackets 95 % intervals over sessions",
        layout.width,
    );
}

fn legend(out: &mut String, comparison: &Comparison, layout: Layout) {
    wrap(
        out,
        "",
        "acted: sessions in which it changed something · input: all requests, of those without \
         compaction · peak, mean: size of a request · over: requests over the window · folds: summaries \
         or drops · prunes: clearings · cleared: tokens taken out, net, by the preset's own estimator · cache: \
         share of the input read from a simulated prompt cache · broken: provider rules broken by the preset",
        layout.width,
    );
    let off: Vec<String> = comparison
        .presets
        .iter()
        .filter(|line| !line.guards_off.is_empty())
        .map(|line| {
            format!(
                "{} runs without the guards {}",
                line.preset,
                line.guards_off.join(", ")
            )
        })
        .collect();
    if !off.is_empty() {
        wrap(out, "", &off.join("; "), layout.width);
    }
}

fn idle(out: &mut String, comparison: &Comparison, layout: Layout) {
    let with_idle: Vec<&PresetLine> = comparison
        .presets
        .iter()
        .filter(|line| !line.idle.is_empty() && line.estimator != "none")
        .filter(|line| line.idle.iter().any(|idle| idle.why != NO_STAGE))
        .collect();
    if with_idle.is_empty() {
        return;
    }
    out.push_str("\nIdle\n");
    for line in with_idle {
        let acted = match line.triggered_input_ratio {
            Some(ratio) => format!("where it acted, input was {}", percent(ratio)),
            None => "it acted nowhere".to_owned(),
        };
        let _ = writeln!(
            out,
            "  {} in {} of {} sessions; {acted}",
            line.preset,
            line.idle.len(),
            line.sessions
        );
        // Those that would act at the largest window came nearest.
        let mut nearest: Vec<&Idle> = line.idle.iter().collect();
        nearest.sort_by_key(|idle| std::cmp::Reverse(idle.window));
        for idle in nearest.into_iter().take(layout.idle_per_preset) {
            wrap(out, "    ", &idle_text(idle), layout.width);
        }
        if line.idle.len() > layout.idle_per_preset {
            let _ = writeln!(
                out,
                "    … and {} more (all of them with --json)",
                line.idle.len() - layout.idle_per_preset
            );
        }
    }
}

const NO_STAGE: &str = "has no stage that folds";

fn idle_text(idle: &Idle) -> String {
    let window = idle.window.map_or(String::new(), |window| {
        format!("; it would act with --window {window}")
    });
    format!("{}: {}{window}", idle.path, idle.why)
}

fn footer(out: &mut String, comparison: &Comparison, layout: Layout) {
    let corpus = &comparison.corpus;
    out.push_str("\nNotes\n");
    let _ = writeln!(
        out,
        "  {} files looked at, {} sessions imported, {} files skipped",
        corpus.files,
        corpus.imported,
        corpus.skipped.len()
    );
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for skipped in &corpus.skipped {
        reasons
            .entry(&skipped.reason)
            .or_default()
            .push(&skipped.path);
    }
    for (reason, paths) in reasons {
        wrap(
            out,
            "    ",
            &format!("{}: {reason}", paths.join(", ")),
            layout.width,
        );
    }
    let warnings: usize = corpus.sessions.iter().map(|session| session.warnings).sum();
    if warnings > 0 {
        let files = corpus
            .sessions
            .iter()
            .filter(|session| session.warnings > 0)
            .count();
        let _ = writeln!(
            out,
            "  {warnings} warnings in {files} sessions (`foldback inspect FILE` lists them)"
        );
    }
    let inherited = comparison
        .presets
        .iter()
        .map(|line| line.inherited_violations)
        .max();
    if let Some(inherited @ 1..) = inherited {
        let _ = writeln!(
            out,
            "  the recordings themselves break {inherited} provider rules, whatever the preset"
        );
    }
    for assumption in &comparison.assumptions {
        wrap(out, "  ", assumption, layout.width);
    }
}

/// Appends a text, broken at spaces; later lines are indented two more than the first.
fn wrap(out: &mut String, indent: &str, text: &str, width: u16) {
    let width = usize::from(width);
    let mut line = indent.to_owned();
    let mut used = indent.chars().count();
    let mut fresh = true;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if !fresh && used + 1 + length > width {
            out.push_str(&line);
            out.push('\n');
            line = format!("{indent}  ");
            used = line.chars().count();
            fresh = true;
        }
        if !fresh {
            line.push(' ');
            used += 1;
        }
        line.push_str(word);
        used += length;
        fresh = false;
    }
    out.push_str(&line);
    out.push('\n');
}
