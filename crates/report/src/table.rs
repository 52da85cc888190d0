//! The whole comparison as tables and sentences.

use crate::columns::{Column, Line, Value, activity, headline, lines};
use crate::facts;
use crate::number::{grouped, percent, short};
use crate::terminal::{ALWAYS, Head, Width, table, wrap};
use crate::verdict;
use foldback_core::strategy::Kind;
use foldback_replay::Comparison;
use foldback_replay::compare::{Metric, Standing};
use foldback_replay::setup::AS_RECORDED;

/// Columns that a narrow terminal has no room for, those first that matter least.
const LEAST: [&str; 13] = [
    "prunes", "folds", "cleared", "cache", "peak", "input", "missed", "rules", "edits", "near",
    "all read", "verbatim", "net",
];

/// Idle sessions listed per preset.
const IDLE: usize = 3;

/// The whole report: corpus, what each preset did, what it cost and kept, idle
/// sessions, what to know.
pub fn comparison(comparison: &Comparison, width: Width) -> String {
    let mut out = String::new();
    let corpus = &comparison.corpus;
    let (calls, turns) = facts::calls_and_turns(corpus);
    let head = format!(
        "{} sessions ({}), {} model calls in {} user turns",
        corpus.imported,
        facts::formats(corpus),
        grouped(calls as u64),
        grouped(turns as u64),
    );
    say(&mut out, "", &head, width);
    for sentence in [verdict::base(comparison), verdict::verdict(comparison)].iter().flatten() {
        say(&mut out, "", sentence, width);
    }
    let names = match comparison.base.as_ref().is_some_and(|base| base.preset == AS_RECORDED) {
        true => "Below, today is the row as-recorded, and what stays in view is the column kept.",
        false => "Below, what stays in view is the column kept.",
    };
    say(&mut out, "", names, width);
    out.push('\n');
    let lines = lines(comparison);
    preset_table(&mut out, comparison, &lines, &activity(), width);
    let off = facts::guards_off(comparison);
    if !off.is_empty() {
        say(&mut out, "", &off.join("; "), width);
    }
    out.push('\n');
    let columns: Vec<Column> = headline().into_iter().filter(|column| column.narrow).collect();
    let baseline = [comparison.baseline];
    let others = comparison.controls().into_iter().filter(|at| *at != comparison.baseline);
    let order = baseline.into_iter().chain(comparison.by_bill()).chain(others);
    let lines: Vec<Line<'_>> = order.filter_map(|at| lines.get(at).copied()).collect();
    preset_table(&mut out, comparison, &lines, &columns, width);
    let dominated: Vec<String> = lines
        .iter()
        .filter_map(|line| match line.standing {
            Standing::Dominated(by) => Some(format!("{} by {by}", line.preset.preset)),
            Standing::Front | Standing::Apart => None,
        })
        .collect();
    if !dominated.is_empty() {
        let text = format!(
            "dominated, no cheaper than another and keeping no more: {}",
            dominated.join(", ")
        );
        say(&mut out, "", &text, width);
    }
    ranking(&mut out, comparison, width);
    let outcomes = verdict::outcomes(comparison);
    if !outcomes.is_empty() {
        out.push_str("\nOutcomes\n");
        outcomes.iter().for_each(|text| say(&mut out, "  ", text, width));
    }
    if !comparison.cautions.is_empty() {
        out.push_str("\nCautions\n");
        for caution in &comparison.cautions {
            say(&mut out, "  ", caution, width);
        }
    }
    idle(&mut out, comparison, width);
    footer(&mut out, comparison, width);
    out
}

fn say(out: &mut String, indent: &str, text: &str, width: Width) {
    wrap(out, indent, &format!("{indent}  "), text, width);
}

/// A row per preset, its name before the columns, and what they mean.
fn preset_table(
    out: &mut String,
    comparison: &Comparison,
    lines: &[Line<'_>],
    columns: &[Column],
    width: Width,
) {
    let is_headline = columns.iter().any(|column| column.name == "cost");
    let row = |line: &Line<'_>| {
        let fails = is_headline && line.kind == Kind::Strategy && !line.gate.passed;
        let name = format!("{}{}", line.preset.preset, if fails { " ✗" } else { "" });
        let cells = columns.iter().map(|column| written(&column.cell(*line)));
        [name].into_iter().chain(cells).collect()
    };
    let number = |column: &Column| {
        let place = LEAST.iter().position(|name| *name == column.name);
        Head::number(column.name, place.and_then(|at| u8::try_from(at).ok()).unwrap_or(ALWAYS))
    };
    let heads: Vec<Head> =
        [Head::names("preset")].into_iter().chain(columns.iter().map(number)).collect();
    table(out, width, &heads, lines.iter().map(row).collect());
    let mut legend: Vec<String> = columns
        .iter()
        .map(|column| format!("{}: {}", column.name, column.meaning(&comparison.reporting)))
        .collect();
    if is_headline {
        legend.insert(0, "✗ fails a gate".to_owned());
        legend.push("shares in percent, in brackets 95 % intervals over sessions".to_owned());
    }
    say(out, "", &legend.join(" · "), width);
}

/// A value as a narrow table has room for it: shares in percent without the sign.
pub(crate) fn written(value: &Value<'_>) -> String {
    let whole = |value: f64| format!("{:.0}", value * 100.0);
    let dash = || "–".to_owned();
    match value {
        Value::Metric(metric) => interval(metric),
        Value::Doubted(metric) => format!("{} !", interval(metric)),
        Value::Share(value) => value.map_or_else(dash, whole),
        Value::Percent(value) | Value::Part(value) => percent(*value),
        Value::Decimal(value) => {
            value.map_or_else(dash, |value| format!("{value:.1}").replace('-', "−"))
        }
        Value::Tokens(tokens) => tokens.map_or_else(dash, short),
        Value::Count(number) | Value::Faults(number) => number.to_string(),
        Value::Text(text) => text.clone(),
        Value::Name(name) => (*name).to_owned(),
    }
}

/// A value with its interval, in percent: `70 (52–91)`; without one that is narrower than a percent.
fn interval(metric: &Metric) -> String {
    let whole = |value: f64| format!("{:.0}", value * 100.0);
    match (metric.value, metric.lo, metric.hi) {
        (Some(value), Some(lo), Some(hi)) if whole(lo) != whole(hi) => {
            format!("{} ({}–{})", whole(value), whole(lo), whole(hi))
        }
        (Some(value), ..) => whole(value),
        (None, Some(lo), Some(hi)) => format!("{}–{}", whole(lo), whole(hi)),
        (None, ..) => "–".to_owned(),
    }
}

/// The presets that failed a gate, and how many sessions would show a difference.
fn ranking(out: &mut String, comparison: &Comparison, width: Width) {
    let failed: Vec<String> = facts::refused(comparison)
        .into_iter()
        .map(|(preset, why)| format!("{preset} {why}"))
        .collect();
    if !failed.is_empty() {
        say(out, "", &format!("not recommended: {}", failed.join("; ")), width);
    }
    if let Some(needed) = verdict::needed(comparison) {
        say(out, "", &needed, width);
    }
}

/// The sessions that came nearest to a compaction, by preset.
fn idle(out: &mut String, comparison: &Comparison, width: Width) {
    let idle = facts::idle(comparison);
    if idle.is_empty() {
        return;
    }
    out.push_str("\nIdle\n");
    for (line, sentence, nearest) in idle {
        say(out, "  ", &format!("{} {sentence}", line.preset), width);
        for idle in nearest.iter().take(IDLE) {
            let window = idle
                .window
                .map_or(String::new(), |window| format!("; it would act with --window {window}"));
            say(out, "    ", &format!("{}: {}{window}", idle.path, idle.why), width);
        }
        if nearest.len() > IDLE {
            let more = nearest.len() - IDLE;
            say(out, "    ", &format!("… and {more} more (all of them with --json)"), width);
        }
    }
}

/// Every session accounted for, and the assumptions.
fn footer(out: &mut String, comparison: &Comparison, width: Width) {
    let corpus = &comparison.corpus;
    out.push_str("\nNotes\n");
    let accounted = format!(
        "{} files read: {} sessions from {} tasks or repositories imported, {} of them without a model \
         call, a strategy acted in {}; {} files skipped",
        corpus.files,
        corpus.imported,
        corpus.clusters,
        corpus.without_calls,
        corpus.triggering,
        corpus.skipped.len()
    );
    say(out, "  ", &accounted, width);
    for (reason, paths) in facts::skipped(corpus) {
        say(out, "    ", &format!("{}: {reason}", paths.join(", ")), width);
    }
    for note in facts::notes(comparison).into_iter().chain(facts::provenance(comparison)) {
        say(out, "  ", &note, width);
    }
}
