//! What came of a trial: a table, a sentence, a document, a row for each unit, and the manifest.

use crate::audit::listed;
use crate::number::{change, count, grouped, money, percent, points};
use crate::plain;
use crate::terminal::{ALWAYS, Head, Width, dash, table, wrap};
use foldback_replay::compare::Difference;
use foldback_replay::trial::{Plan, TrialResult};
use serde::Serialize;
use serde_json::json;

/// The columns of figures: how much each matters, and how a value and a difference are written.
const COLUMNS: [(&str, &str, u8, Form, Form); 10] = [
    ("usd", "$ a unit", ALWAYS, money, change),
    ("usd_per_solved", "$ a solved unit", ALWAYS, money, change),
    ("solved", "solved", ALWAYS, percent, points),
    ("score", "score", ALWAYS, tenth, more),
    ("calls", "calls", 9, tenth, change),
    ("repeats", "repeats", 8, tenth, more),
    ("refused_edits", "refused edits", 4, tenth, more),
    ("refusals", "refusals", 6, |mean| format!("{mean:.2}"), more),
    ("failures", "failures", 5, |mean| format!("{mean:.2}"), more),
    ("seconds", "seconds", 3, tenth, change),
];

type Form = fn(f64) -> String;

/// What a trial depends on, so that it can be repeated.
pub fn manifest(result: &TrialResult) -> impl Serialize {
    json!({
        "schema": "foldback/trial-manifest/1",
        "version": result.version,
        "seed": result.seed,
        "arms": result.arms.iter().map(|arm| &arm.arm).collect::<Vec<_>>(),
        "files": result.files,
        "outcomes": result.outcomes.as_ref().map(|table| (&table.path, &table.content)),
    })
}

/// The table, what was joined, reasons to doubt, and the sentence.
pub fn text(result: &TrialResult, width: Width) -> String {
    let mut out = tables(result, width);
    for file in &result.files {
        let conversations = count(file.conversations as u64, "conversation");
        let copies = match file.copies {
            0 => String::new(),
            copies => format!(", {copies} of them copies of a file before"),
        };
        let text = format!("{}: {conversations}{copies}", file.path);
        wrap(&mut out, "", "  ", &plain::line(&text), width);
    }
    if let Some(table) = &result.outcomes {
        let (rows, found) = (count(table.rows as u64, "row"), count(table.found as u64, "unit"));
        let mut text = format!("{}: {rows}, {found} found", table.path);
        for (what, names) in
            [("not in the trial", &table.unknown), ("without an outcome", &table.missing)]
        {
            if !names.is_empty() {
                text += &format!("; {what}: {}", listed(names));
            }
        }
        wrap(&mut out, "", "  ", &plain::line(&text), width);
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
    // Columns of outcomes are there where there are any.
    let columns = || {
        let is_known =
            |figure: &str| result.arms.iter().any(|arm| arm.figures[figure].value.is_some());
        COLUMNS.into_iter().filter(move |(figure, ..)| is_known(figure))
    };
    let mut heads = vec![Head::names("arm"), Head::number("units", ALWAYS)];
    heads.extend(columns().map(|(_, name, keep, ..)| Head::number(name, keep)));
    let rows = result.arms.iter().map(|arm| {
        let figures = columns()
            .map(|(figure, _, _, form, _)| arm.figures[figure].value.map_or_else(dash, form));
        let begin = [arm.arm.name.clone(), arm.units.to_string()];
        begin.into_iter().chain(figures).collect()
    });
    table(&mut out, width, &heads, rows.collect());
    out.push('\n');
    let first = result.arms.first().map_or("", |arm| &arm.arm.name);
    let compared = || {
        let contrasts = &result.contrasts;
        columns().filter(|(figure, ..)| contrasts.iter().any(|it| it.figures.contains_key(figure)))
    };
    let mut heads = vec![Head::names(format!("to {first}"))];
    heads.extend(
        compared().flat_map(|(_, name, keep, ..)| [name, "p"].map(|name| Head::number(name, keep))),
    );
    let rows = result.contrasts.iter().map(|it| {
        let both = compared().flat_map(|(figure, .., form)| both(&it.figures[figure], form));
        [it.arm.clone()].into_iter().chain(both).collect()
    });
    table(&mut out, width, &heads, rows.collect());
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
        money(plan.mean_usd),
        percent(plan.spread),
    );
    let heads = ["an arm costs less by", "units of each arm", "units", "$"]
        .map(|head| Head::number(head, ALWAYS));
    let rows = plan.sizes.iter().map(|size| {
        let units = [size.each, size.units].map(|units| grouped(units as u64));
        [percent(size.difference)].into_iter().chain(units).chain([money(size.usd)]).collect()
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

/// A difference with its range, and its p-value.
fn both(difference: &Difference, form: Form) -> [String; 2] {
    let range = difference.lo.zip(difference.hi);
    let range =
        range.map_or_else(String::new, |(lo, hi)| format!(" ({} to {})", form(lo), form(hi)));
    let p = |p: f64| if p < 0.001 { "<0.001".to_owned() } else { format!("{p:.3}") };
    let value = difference.value.map(|value| form(value) + &range);
    [value.unwrap_or_else(dash), difference.p_holm.map_or_else(dash, p)]
}

fn tenth(value: f64) -> String {
    format!("{value:.1}")
}

fn more(value: f64) -> String {
    format!("{value:+.1}").replace('-', "−")
}
