//! The presets as tables: the one to decide by, in the words and with the marks of [`crate::first`], the controls in the
//! same, and every other figure, whose columns are those of [`crate::columns`].

use super::figures::{NONE, interval, or_dash, share};
use super::markup::{
    BODY, END_FOLD, END_TABLE, col_heads, linked, name, named, named_td, open_fold, open_table,
    preset_rows, row_head, td, text,
};
use crate::columns::{self, Column, Value, headline, lines};
use crate::number::{change, grouped, percent};
use crate::{facts, first, table, verdict};
use foldback_replay::Comparison;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Idle sessions that are listed of a preset, the nearest ones.
const IDLE: usize = 3;

// Columns of the table to decide by.
const HEADS: [&str; 8] =
    ["preset", "$ a session", "change", "bill", "kept", "verbatim", "missed", "note"];
const CHANGE: usize = 2;
const KEPT: usize = 4;
const NOTE: usize = 7;

/// Cost, retention and faults of a preset, a cell per column.
type Row = [String; HEADS.len()];

/// The table to decide by, and the presets that are not in it.
///
/// By preset, `places` are addresses of the reader.
pub(super) fn section(
    out: &mut String,
    comparison: &Comparison,
    places: &BTreeMap<String, String>,
) {
    let answer = comparison.answer();
    out.push_str("<section id=\"presets\">\n<h2>Presets</h2>\n");
    decide(out, comparison, "Presets", &answer.shown, places);
    let same = answer.same.iter().map(|(name, of)| format!("{name} = {of}"));
    let same: Vec<String> = same.collect();
    for (title, names) in
        [("Never acted", answer.idle.join(", ")), ("Same results", same.join(", "))]
    {
        if !names.is_empty() {
            let _ = writeln!(out, "<p class=\"key\">{title}: {}.</p>", text(&names));
        }
    }
    out.push_str("</section>\n");
}

/// The controls, in the same columns.
pub(super) fn controls(
    out: &mut String,
    comparison: &Comparison,
    places: &BTreeMap<String, String>,
) {
    let controls = comparison.controls();
    if !controls.is_empty() {
        open_fold(out, "controls", "Controls, to compare with");
        decide(out, comparison, "Controls", &controls, places);
        out.push_str(END_FOLD);
    }
}

fn decide(
    out: &mut String,
    comparison: &Comparison,
    label: &str,
    shown: &[usize],
    places: &BTreeMap<String, String>,
) {
    if shown.is_empty() {
        return;
    }
    let rows: Vec<Row> = shown.iter().map(|at| row(comparison, *at)).collect();
    open_table(out, label, "decide cards");
    col_heads(out, HEADS);
    out.push_str(BODY);
    for (at, cells) in shown.iter().zip(&rows) {
        let line = &comparison.presets[*at];
        let class = if line.gate.passed { "" } else { " class=\"failed\"" };
        let head = linked(places.get(&line.preset), &cells[0]);
        let _ = write!(out, "<tr{class}><th scope=\"row\">{head}</th>");
        for (head, cell) in HEADS.into_iter().zip(cells).skip(1) {
            let class = match head {
                "note" => "word",
                _ if cell == NONE => "zero",
                _ => "",
            };
            named_td(out, head, class, cell);
        }
        out.push_str("</tr>\n");
    }
    out.push_str(END_TABLE);
    let _ = writeln!(out, "<p class=\"key\">{}</p>", legend(comparison, &rows));
}

fn row(comparison: &Comparison, at: usize) -> Row {
    let line = &comparison.presets[at];
    let doubt = if line.good_by_one.is_some() { " !" } else { "" };
    let metrics = &line.metrics;
    [
        name(comparison, line).to_string(),
        or_dash(first::a_session(comparison, line), |usd| verdict::amount(comparison, usd)),
        verdict::changed(&line.ratio),
        or_dash(metrics.cost_ratio.value, change),
        format!("{}{doubt}", interval(&metrics.frr_obs_far)),
        or_dash(metrics.verbatim_far.value, share),
        or_dash(metrics.missed_per_100_calls.value, |value| format!("{value:.1}")),
        verdict::remarks(comparison, line),
    ]
}

/// The meanings of the headings, and of the marks and words in these rows.
fn legend(comparison: &Comparison, rows: &[Row]) -> String {
    let base = comparison.base.as_ref().map_or("the base".to_owned(), verdict::paid);
    let shows = |column: usize, sign: &str| rows.iter().any(|cells| cells[column].contains(sign));
    let intervals = if shows(CHANGE, "(") || shows(KEPT, "(") {
        " · in parentheses: the likely range"
    } else {
        ""
    };
    let mut legend = format!(
        "$ a session: what was missed is read again · change: of that against {base} · bill: the same change if nothing were read \
         again · kept: share of what later calls needed of older results · verbatim: the same for what they repeat word for word · \
         missed: old texts of edits and repeated pieces that were not in view, per 100 calls{intervals}"
    );
    let keep = facts::whole_percent(comparison.reporting.keep);
    let forgets = format!("forgets much: measurably keeps under {keep}");
    let items = [
        (
            shows(NOTE, "may not fit"),
            "may not fit: over the window by the size that recorded usage gives",
        ),
        (shows(NOTE, "forgets much"), &forgets),
        (shows(KEPT, "!"), "! word for word it keeps another share"),
        ((1..NOTE).any(|column| rows.iter().any(|cells| cells[column] == NONE)), "– not known"),
    ];
    for (_, item) in items.into_iter().filter(|(is_shown, _)| *is_shown) {
        legend.push_str(" · ");
        legend.push_str(item);
    }
    legend
}

/// The figures of what presets cost and keep that are not in the table above.
pub(super) fn figures(out: &mut String, comparison: &Comparison) {
    let others = headline().into_iter().filter(|column| !HEADS.contains(&column.name));
    open_fold(out, "figures", "More figures");
    wide_table(out, comparison, "More figures", &others.collect::<Vec<_>>());
    out.push_str(END_FOLD);
}

/// The actions of presets.
pub(super) fn activity(out: &mut String, comparison: &Comparison) {
    open_fold(out, "activity", "What each preset did");
    wide_table(out, comparison, "What each preset did", &columns::activity());
    for sentence in facts::guards_off(comparison) {
        let _ = writeln!(out, "<p class=\"small\">{}.</p>", text(&sentence));
    }
    out.push_str(END_FOLD);
}

/// A table of all presets, and what its columns mean.
fn wide_table(out: &mut String, comparison: &Comparison, title: &str, columns: &[Column]) {
    let lines = lines(comparison);
    open_table(out, title, "figures cards");
    col_heads(out, ["preset"].into_iter().chain(columns.iter().map(|column| column.name)));
    out.push_str(BODY);
    preset_rows(out, comparison, 1 + columns.len(), |out, at| {
        let line = lines[at];
        row_head(out, name(comparison, line.preset));
        for column in columns {
            named(out, column.name, |out| written(out, comparison, &column.cell(line)));
        }
        out.push_str("</tr>\n");
    });
    out.push_str(END_TABLE);
    out.push_str("<dl class=\"meanings\">\n");
    for column in columns {
        let meaning = column.meaning(&comparison.reporting);
        let _ = writeln!(out, "<div><dt>{}</dt> <dd>{}</dd></div>", column.name, text(&meaning));
    }
    out.push_str("</dl>\n");
}

fn written(out: &mut String, comparison: &Comparison, value: &Value<'_>) {
    let (mut class, shown) = match value {
        Value::Metric(metric) => ("", interval(metric)),
        Value::Share(value) => ("", or_dash(*value, share)),
        Value::Part(value) => {
            let (part, shown) = (percent(value.clamp(0.0, 1.0)), percent(*value));
            let _ = write!(out, "<td class=\"bar\" style=\"--part:{part}\">{shown}</td>");
            return;
        }
        Value::Count(number) => ("", grouped(*number)),
        Value::Faults(number) => ("bad", grouped(*number)),
        Value::Name(words) => {
            let line = comparison.presets.iter().find(|line| line.preset == *words);
            ("word", line.map_or_else(|| text(words).to_string(), |line| name(comparison, line)))
        }
        other => ("", text(&table::written(other)).to_string()),
    };
    if matches!(shown.as_str(), NONE | "0" | "0.0") {
        class = "zero";
    }
    td(out, class, shown);
}

/// The sessions in which a preset did nothing, and why: those that came nearest to it. A strategy that rarely acts
/// looks cheap to run and saves nothing, so its silence is part of the result.
pub(super) fn idle(out: &mut String, comparison: &Comparison) {
    let idle = facts::idle(comparison);
    if idle.is_empty() {
        return;
    }
    open_fold(out, "idle", "Sessions in which a preset did nothing");
    let _ = writeln!(
        out,
        "<p class=\"key\">Of each preset up to {IDLE}, those that came nearest to it first; all of them: \
         <code>--json</code>.</p>\n<dl>"
    );
    for (line, sentence, nearest) in idle {
        let _ = writeln!(
            out,
            "<dt>{} <small>idle {sentence}</small></dt>",
            text(verdict::name(comparison, line))
        );
        for idle in nearest.iter().take(IDLE) {
            let window = idle.window.map_or(String::new(), |window| {
                format!("; it would act with a window of {} tokens", grouped(window))
            });
            let _ = writeln!(
                out,
                "<dd><span class=\"path\">{}</span> {}{window}</dd>",
                text(idle.path),
                text(idle.why)
            );
        }
    }
    out.push_str("</dl>\n");
    out.push_str(END_FOLD);
}

#[cfg(test)]
mod tests {
    use super::super::tests::fixtures::tiny;
    use super::*;
    use crate::first::{Commands, screen};
    use crate::terminal::Width;

    #[test]
    fn words_are_those_of_the_first_screen() {
        let all = tiny();
        let commands =
            Commands { named: true, others: None, title: "next:", next: &[], employ: &[] };
        let screen = screen(&all, Width { text: 80, table: 80 }, commands);
        let screen = screen.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut page = String::new();
        section(&mut page, &all, &BTreeMap::new());
        for words in ["7 requests may not fit", "breaks rules 2 times"] {
            assert!(screen.contains(words), "{words}\n{screen}");
            assert!(page.contains(words), "{words}\n{page}");
        }
        for words in ["forgets much:", "! word"] {
            assert!(!page.contains(words), "{words} explains what is not there");
        }
    }
}
