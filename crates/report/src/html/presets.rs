//! The tables of presets: the one to decide by, with what each costs, sends, keeps and loses, with
//! intervals; and what each did. Their columns are those of [`crate::columns`].

use super::figures::{Axis, NONE, measured, or_dash, share};
use super::markup::{
    BODY, END_TABLE, breakable, named, open_section, open_table, preset_rows, row_head, td, text,
};
use crate::columns::{ACTIVITY, Cell, Column, HEADLINE, Line, PLACE, Value, headline, lines};
use crate::facts;
use crate::number::{grouped, percent, short};
use crate::table::over;
use foldback_core::strategy::Kind;
use foldback_replay::Comparison;
use foldback_replay::compare::Place;
use std::fmt::Write as _;

/// Idle sessions that are listed of a preset, the nearest ones.
const IDLE: usize = 50;

/// What presets cost and keep, what the columns mean, and who is not ranked.
pub(super) fn headlines(out: &mut String, comparison: &Comparison) {
    open_section(out, "presets");
    let lines = lines(comparison);
    for title in ["Costs", "What is kept"] {
        let groups = HEADLINE.into_iter().filter(|(table, ..)| *table == title);
        let groups: Vec<_> = groups.map(|(_, group, columns)| (group, columns)).collect();
        headline_table(out, comparison, &lines, title, &groups);
    }
    out.push_str(
        "<p class=\"key\">Small figures and bars: 95% intervals over sessions; the upright line is 100%.</p>\n",
    );
    let columns: Vec<Column> = std::iter::once(PLACE).chain(headline()).collect();
    meanings(out, comparison, &columns);
    let failed = facts::unranked(comparison);
    if !failed.is_empty() {
        out.push_str(
            "<p>Not ranked, since no provider would have accepted all that they sent:</p>\n<ul>\n",
        );
        for (preset, why) in failed {
            let _ = writeln!(out, "<li><strong>{}</strong> {}</li>", text(preset), text(&why));
        }
        out.push_str("</ul>\n");
    }
    out.push_str("</section>\n");
}

fn headline_table(
    out: &mut String,
    comparison: &Comparison,
    lines: &[Line<'_>],
    title: &str,
    groups: &[(&str, &[Column])],
) {
    open_table(out, title, "headline cards");
    out.push_str("<td></td><td></td>");
    for (group, columns) in groups {
        let _ = write!(out, "<th scope=\"colgroup\" colspan=\"{}\">{group}</th>", columns.len());
    }
    out.push_str("</tr>\n<tr><th scope=\"col\">preset</th>");
    let columns = groups.iter().flat_map(|(_, columns)| columns.iter().copied());
    let columns: Vec<Column> = std::iter::once(PLACE).chain(columns).collect();
    heads(out, comparison, &columns);
    out.push_str(BODY);
    // Intervals of a group are drawn on one axis.
    let axes = groups.iter().map(|(_, columns)| {
        let cells = lines.iter().flat_map(|line| columns.iter().map(|column| (column.cell)(*line)));
        Axis::over(cells.filter_map(|cell| match cell.value {
            Value::Metric(metric) | Value::Doubted(metric) => Some(metric),
            _ => None,
        }))
    });
    let axes: Vec<Axis> = axes.collect();
    preset_rows(out, comparison, 1 + columns.len(), |out, at| {
        let line = lines[at];
        if line.preset.place() == Place::Unranked {
            out.push_str("<tr class=\"failed\"><th scope=\"row\">");
            let _ = write!(out, "{}</th>", breakable(&line.preset.preset));
        } else {
            row_head(out, breakable(&line.preset.preset));
        }
        cell(out, &PLACE, line, axes[0]);
        for ((_, columns), axis) in groups.iter().zip(&axes) {
            columns.iter().for_each(|column| cell(out, column, line, *axis));
        }
        out.push_str("</tr>\n");
    });
    out.push_str(END_TABLE);
}

/// What presets did.
pub(super) fn activity(out: &mut String, comparison: &Comparison) {
    let title = open_section(out, "activity");
    open_table(out, title, "activity cards");
    out.push_str("<th scope=\"col\">preset</th>");
    heads(out, comparison, &ACTIVITY);
    out.push_str(BODY);
    let axis = Axis::over(std::iter::empty());
    for line in lines(comparison) {
        let control = match line.preset.kind {
            Kind::Control => " <small>control</small>",
            Kind::Strategy => "",
        };
        row_head(out, format_args!("{}{control}", text(&line.preset.preset)));
        ACTIVITY.iter().for_each(|column| cell(out, column, line, axis));
        out.push_str("</tr>\n");
    }
    out.push_str(END_TABLE);
    meanings(out, comparison, &ACTIVITY);
    for sentence in facts::guards_off(comparison) {
        let _ = writeln!(out, "<p class=\"small\">{}.</p>", text(&sentence));
    }
    out.push_str("</section>\n");
}

/// One collapsed list per preset of the sessions in which it did nothing, and why. A strategy that rarely acts
/// looks cheap to run and saves nothing, so its silence is part of the result.
pub(super) fn idle(out: &mut String, comparison: &Comparison) {
    let idle = facts::idle(comparison);
    if idle.is_empty() {
        return;
    }
    open_section(out, "idle");
    for (line, sentence, nearest) in idle {
        let _ = writeln!(
            out,
            "<details>\n<summary>{} <small>idle {sentence}</small></summary>\n<ul>",
            text(&line.preset)
        );
        for idle in nearest.iter().take(IDLE) {
            let window = idle.window.map_or(String::new(), |window| {
                format!("; it would act with a window of {} tokens", grouped(window))
            });
            let _ = writeln!(
                out,
                "<li><span class=\"path\">{}</span> {}{window}</li>",
                text(idle.path),
                text(idle.why)
            );
        }
        if let Some(more @ 1..) = nearest.len().checked_sub(IDLE) {
            let _ =
                writeln!(out, "<li>and {} more; all of them: --json</li>", grouped(more as u64));
        }
        out.push_str("</ul>\n</details>\n");
    }
    out.push_str("</section>\n");
}

fn heads(out: &mut String, comparison: &Comparison, columns: &[Column]) {
    for column in columns {
        let meaning = column.meaning(&comparison.reporting);
        let _ = write!(out, "<th scope=\"col\" title=\"{}\">{}</th>", text(&meaning), column.name);
    }
}

fn meanings(out: &mut String, comparison: &Comparison, columns: &[Column]) {
    out.push_str("<dl class=\"meanings\">\n");
    for column in columns {
        let meaning = column.meaning(&comparison.reporting);
        let _ = writeln!(out, "<div><dt>{}</dt> <dd>{}</dd></div>", column.name, text(&meaning));
    }
    out.push_str("</dl>\n");
}

fn cell(out: &mut String, column: &Column, line: Line<'_>, axis: Axis) {
    named(out, column.name, |out| written(out, &(column.cell)(line), axis));
}

/// A cell. What is nothing or does not apply steps back, and a fault stands out.
fn written(out: &mut String, cell: &Cell<'_>, axis: Axis) {
    let (mut class, shown) = match &cell.value {
        Value::Metric(metric) => return measured(out, metric, axis),
        Value::Doubted(metric) => {
            let shown = or_dash(metric.value, |value| format!("{} !", share(value)));
            ("bad", shown)
        }
        Value::Share(value) => ("", or_dash(*value, share)),
        Value::AtMost(value) => ("", or_dash(*value, |value| format!("≤ {}", share(value)))),
        Value::Percent(value) => ("", percent(*value)),
        Value::Part(value) => {
            let (part, shown) = (percent(value.clamp(0.0, 1.0)), percent(*value));
            let _ = write!(out, "<td class=\"bar\" style=\"--part:{part}\">{shown}</td>");
            return;
        }
        Value::Decimal(value, digits) => {
            ("", or_dash(*value, |value| format!("{value:.digits$}").replace('-', "−")))
        }
        Value::Tokens(tokens) => ("", tokens.map_or_else(|| NONE.to_owned(), short)),
        Value::Count(number) | Value::Faults(number, false) => ("", grouped(*number)),
        Value::Faults(number, true) => ("bad", grouped(*number)),
        Value::Over(sent, calibrated) => {
            (if *sent > 0 { "bad" } else { "" }, over(*sent, *calibrated))
        }
        Value::Text(words) => ("", text(words).to_string()),
        Value::Name(name) => ("word", text(name).to_string()),
        Value::Place(Place::Rank(rank), true) => ("", format!("{rank} ~")),
        Value::Place(Place::Rank(rank), false) => ("", rank.to_string()),
        Value::Place(Place::Control | Place::Idle, _) => ("", NONE.to_owned()),
        Value::Place(Place::Unranked, _) => ("bad", "✗".to_owned()),
    };
    if matches!(shown.as_str(), NONE | "0" | "0.0") {
        class = "zero";
    }
    let Some(note) = &cell.note else {
        return td(out, class, shown);
    };
    let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
    let _ = write!(out, "<td{class} title=\"{}\">{shown}</td>", text(note));
}
