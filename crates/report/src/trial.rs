//! What came of a trial: a table, a sentence, a document, a row for each unit, and the manifest.

use crate::inspect::common_folder;
use crate::json::document;
use crate::number::{change, count, decimals, dollars, grouped, percent};
use crate::plain;
use crate::rows::{Format, flat};
use crate::terminal::{ALWAYS, Head, Width, table, wrap};
use foldback_replay::compare::{Difference, Metric};
use foldback_replay::trial::{ArmDifference, ArmResult, Plan, TrialInput, TrialResult};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::io::{self, Write};

/// Names that are listed of what was not joined.
const LISTED: usize = 5;

/// The document of `--json`.
///
/// # Errors
///
/// None that is known.
pub fn json(result: &impl Serialize) -> serde_json::Result<String> {
    document(result)
}

/// Writes a row for each unit, as JSON lines or CSV.
///
/// # Errors
///
/// They can't be written.
pub fn write_rows(result: &TrialResult, format: Format, out: &mut dyn Write) -> io::Result<()> {
    let rows: Vec<Map<String, Value>> = result
        .units
        .iter()
        .filter_map(|unit| match json!(unit) {
            Value::Object(mut row) => {
                let outcome = row.remove("outcome").unwrap_or_default();
                for figure in ["solved", "score"] {
                    row.insert(figure.to_owned(), outcome.get(figure).cloned().unwrap_or_default());
                }
                Some(row)
            }
            _ => None,
        })
        .collect();
    flat(&rows, format, out)
}

/// What a trial depends on, so that it can be repeated.
#[derive(Serialize)]
struct Manifest<'a> {
    schema: &'static str,
    version: &'static str,
    seed: u64,
    /// Presets with the hashes of their configurations, and weights.
    arms: Vec<&'a foldback_replay::trial::TrialArm>,
    files: &'a [TrialInput],
    outcomes: Option<(&'a str, &'a str)>,
}

/// The document of `--manifest`.
///
/// # Errors
///
/// None that is known.
pub fn manifest(result: &TrialResult) -> serde_json::Result<String> {
    document(&Manifest {
        schema: "foldback/trial-manifest/1",
        version: result.version,
        seed: result.seed,
        arms: result.arms.iter().map(|arm| &arm.arm).collect(),
        files: &result.files,
        outcomes: result.outcomes.as_ref().map(|table| (&*table.path, &*table.content)),
    })
}

/// The table, what was joined, reasons to doubt, and the sentence.
pub fn text(result: &TrialResult, width: Width) -> String {
    let mut out = tables(result, width);
    let folder = common_folder(result.files.iter().map(|file| file.path.as_str()));
    for file in &result.files {
        let copies = match file.copies {
            0 => String::new(),
            copies => format!(", {copies} of them copies of a file before"),
        };
        let name = plain::line(&file.path[folder.len()..]).into_owned();
        let text = format!("{name}: {}{copies}", count(file.conversations as u64, "conversation"));
        wrap(&mut out, "", "  ", &text, width);
    }
    if let Some(table) = &result.outcomes {
        let mut text = format!(
            "{}: {}, {} found",
            plain::line(&table.path),
            count(table.rows as u64, "row"),
            count(table.found as u64, "unit")
        );
        for (what, names) in
            [("not in the trial", &table.unknown), ("without an outcome", &table.missing)]
        {
            if let [first @ .., last] = &names[..names.len().min(LISTED)] {
                let list = [first, std::slice::from_ref(last)].concat().join(", ");
                let more = names.len().saturating_sub(LISTED);
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                text += &format!("; {what}: {}{more}", plain::line(&list));
            }
        }
        wrap(&mut out, "", "  ", &text, width);
    }
    for caution in &result.cautions {
        wrap(&mut out, "! ", "  ", &plain::line(caution), width);
    }
    out.push('\n');
    wrap(&mut out, "", "", &plain::line(&result.sentence), width);
    out
}

/// The arms, and their differences to the first.
pub(crate) fn tables(result: &TrialResult, width: Width) -> String {
    let mut out = String::new();
    let outcomes = result.outcomes.is_some();
    let mut heads =
        vec![Head::names("arm"), Head::number("units", ALWAYS), Head::number("$ a unit", ALWAYS)];
    if outcomes {
        heads.extend([Head::number("$ a solved unit", ALWAYS), Head::number("solved", ALWAYS)]);
    }
    heads.extend([
        Head::number("calls", 9),
        Head::number("repeats", 8),
        Head::number("refused edits", 4),
        Head::number("seconds", 3),
        Head::number("refusals", 6),
        Head::number("failures", 5),
    ]);
    let row = |arm: &ArmResult| {
        let mut cells =
            vec![plain::line(&arm.arm.name).into_owned(), arm.units.to_string(), money(&arm.usd)];
        if outcomes {
            cells.extend([money(&arm.usd_per_solved), arm.solved.value.map_or_else(dash, percent)]);
        }
        cells.extend([&arm.calls, &arm.repeats, &arm.refused_edits, &arm.seconds].map(tenth));
        cells.extend([grouped(arm.refusals), grouped(arm.failures)]);
        cells
    };
    table(&mut out, width, &heads, result.arms.iter().map(row).collect());
    out.push('\n');
    let mut heads = vec![
        Head::names(format!("to {}", first(result))),
        Head::number("$ a unit", ALWAYS),
        Head::number("p", ALWAYS),
    ];
    if outcomes {
        heads.extend([Head::number("$ a solved unit", ALWAYS), Head::number("p", ALWAYS)]);
        heads.extend([Head::number("solved", ALWAYS), Head::number("p", ALWAYS)]);
    }
    heads.extend([
        Head::number("calls", 9),
        Head::number("p", 9),
        Head::number("repeats", 8),
        Head::number("p", 8),
    ]);
    let row = |it: &ArmDifference| {
        let mut cells = vec![plain::line(&it.arm).into_owned()];
        let mut add =
            |difference: &Difference, form: fn(f64) -> String| cells.extend(both(difference, form));
        add(&it.usd, change);
        if outcomes {
            add(&it.usd_per_solved, change);
            add(&it.solved, |share| format!("{:+.0}", share * 100.0).replace('-', "−"));
        }
        add(&it.calls, change);
        add(&it.repeats, |more| format!("{more:+.1}").replace('-', "−"));
        cells
    };
    table(&mut out, width, &heads, result.contrasts.iter().map(row).collect());
    let legend = "In parentheses: the likely range (95 %). p: share of all ways to assign the units of each model anew that would show at \
                  least such a difference, by Holm's adjustment over the arms. repeats: reads and searches that were made before";
    wrap(&mut out, "", "  ", legend, width);
    out.push('\n');
    out
}

/// What a plan says.
pub fn plan(plan: &Plan, width: Width) -> String {
    let mut out = format!(
        "{} cost {} on average, with a standard deviation of {}\n\n",
        count(plan.sessions as u64, "session"),
        dollars(plan.mean_usd, decimals(plan.mean_usd)),
        percent(plan.spread),
    );
    let heads = ["an arm costs less by", "units of each arm", "units", "$"]
        .map(|head| Head::number(head, ALWAYS));
    let rows = plan.sizes.iter().map(|size| {
        vec![
            percent(size.difference),
            grouped(size.each as u64),
            grouped(size.units as u64),
            dollars(size.usd, decimals(size.usd)),
        ]
    });
    table(&mut out, width, &heads, rows.collect());
    let legend = format!(
        "Units with which four of five trials of {} arms say that the arm costs less, if units spread as these sessions do, and what they \
         cost. Outcomes need more: shares solved that differ by ten points take some 200 units of each arm",
        plan.arms
    );
    wrap(&mut out, "", "  ", &legend, width);
    out
}

fn first(result: &TrialResult) -> String {
    result.arms.first().map_or_else(String::new, |arm| plain::line(&arm.arm.name).into_owned())
}

fn money(metric: &Metric) -> String {
    metric.value.map_or_else(dash, |usd| dollars(usd, decimals(usd)))
}

fn tenth(metric: &Metric) -> String {
    metric.value.map_or_else(dash, |value| format!("{value:.1}"))
}

/// A difference with its range, and its p-value.
fn both(difference: &Difference, form: fn(f64) -> String) -> [String; 2] {
    let range = difference.lo.zip(difference.hi);
    let range =
        range.map_or_else(String::new, |(lo, hi)| format!(" ({} to {})", form(lo), form(hi)));
    let value = difference.value.map_or_else(dash, |value| form(value) + &range);
    [
        value,
        difference
            .p_holm
            .map_or_else(dash, |p| if p < 0.001 { "<0.001".to_owned() } else { format!("{p:.3}") }),
    ]
}

fn dash() -> String {
    "–".to_owned()
}
