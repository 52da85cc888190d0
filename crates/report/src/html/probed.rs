//! What a model answered to questions about views, as one HTML file: how much was right by preset and by age, and whether
//! that goes with what the view has.

use super::figures::{or_dash, share};
use super::markup::{
    BODY, END_TABLE, breakable, col_heads, head, named, named_td, open_table, row_head, text,
};
use crate::number::grouped;
use crate::probe::{Probed, points};
use foldback_replay::probe::figures::Line;
use foldback_replay::stats::Estimate;
use foldback_replay::stats::Share;
use std::fmt::Write as _;

/// The whole result as one file.
pub fn probed(probed: &Probed) -> String {
    let mut out = head("questions to a model", "", "");
    out.push_str("<header>\n<h1>Questions to a model</h1>\n");
    let _ = writeln!(out, "<p class=\"verdict\">{}.</p>", text(&probed.title()));
    let _ = writeln!(
        out,
        "<p>The answers are exact strings of the recorded sessions; no model judges them. Tokens by {}.</p>\n</header>\n<main>",
        text(&probed.estimator)
    );
    right(&mut out, probed);
    ages(&mut out, probed);
    agreement(&mut out, probed);
    cautions(&mut out, probed);
    out.push_str("</main>\n</body>\n</html>\n");
    out
}

/// A section with a table of a row for each preset, whose cells `row` writes.
fn section(
    out: &mut String,
    probed: &Probed,
    [id, title, key]: [&str; 3],
    columns: &[&str],
    row: impl Fn(&mut String, usize, &Line),
) {
    let _ = writeln!(
        out,
        "<section id=\"{id}\">\n<h2>{title}</h2>\n<p class=\"key\">{}</p>",
        text(key)
    );
    open_table(out, title, "probed cards");
    col_heads(out, ["Preset"].iter().chain(columns).map(|name| text(name)));
    out.push_str(BODY);
    for (at, line) in probed.presets.iter().enumerate() {
        row_head(out, breakable(&line.preset));
        row(out, at, line);
        out.push_str("</tr>\n");
    }
    out.push_str(END_TABLE);
    out.push_str("</section>\n");
}

fn right(out: &mut String, probed: &Probed) {
    let columns = ["Right, exact", "Right, choice", "Difference", "Asked", "Tokens"];
    let key = format!(
        "Share of right answers, with its interval of 95% over sessions: as a string, and as the letter of 3 or 4, where a guess \
         is right in one of 3 or 4. Difference: {}. Tokens: of a request.",
        probed.compared()
    );
    section(out, probed, ["right", "Right answers", &key], &columns, |out, at, line| {
        part(out, columns[0], &line.exact);
        part(out, columns[1], &line.choice);
        let difference = if at == 0 { String::new() } else { points(&line.difference) };
        named_td(out, columns[2], "", difference);
        named_td(out, columns[3], "", grouped(line.asked as u64));
        named_td(out, columns[4], "", grouped(line.tokens));
    });
}

fn ages(out: &mut String, probed: &Probed) {
    let bands = probed.presets.first().map_or(&[][..], |line| &line.ages);
    let names: Vec<String> = bands.iter().map(|(band, _)| format!("{band} calls")).collect();
    let columns: Vec<&str> = names.iter().map(String::as_str).collect();
    let key = "Right answers of both forms, by calls since the answer was last in the log.";
    section(out, probed, ["ages", "By age", key], &columns, |out, _, line| {
        for ((_, share), column) in line.ages.iter().zip(&columns) {
            right_of_asked(out, column, *share);
        }
    });
}

fn agreement(out: &mut String, probed: &Probed) {
    let columns = ["Answer in view", "Literal agrees", "Kept agrees"];
    let key = "Answer in view: it stands there letter by letter. Literal agrees: exact answers that are right just where that is \
               so. Kept agrees: the same by whether what the question was made from is shown as it was recorded.";
    let title = ["agreement", "Does what is in view predict the answer?", key];
    section(out, probed, title, &columns, |out, _, line| {
        for (estimate, column) in
            [&line.in_view, &line.agreement, &line.kept_agreement].into_iter().zip(columns)
        {
            part(out, column, estimate);
        }
    });
}

fn cautions(out: &mut String, probed: &Probed) {
    let told: Vec<String> = probed.cautions().collect();
    if !told.is_empty() {
        out.push_str("<section id=\"cautions\">\n<h2>Neither right nor wrong</h2>\n<ul>\n");
        for caution in told {
            let _ = writeln!(out, "<li>{}</li>", text(&caution));
        }
        out.push_str("</ul>\n</section>\n");
    }
}

/// A share with its interval, over a bar as long as it is.
fn part(out: &mut String, column: &str, estimate: &Estimate) {
    let bare = |value: f64| share(value).trim_end_matches('%').to_owned();
    let interval = estimate.lo.zip(estimate.hi);
    let interval = interval.map(|(lo, hi)| format!(" ({} to {})", bare(lo), bare(hi)));
    let shown = or_dash(estimate.value, share) + &interval.unwrap_or_default();
    bar(out, column, estimate.value, &shown);
}

/// Right of asked, the same way.
fn right_of_asked(out: &mut String, column: &str, right: Share) {
    let shown = right.value().map(|value| {
        format!("{} <small>{} of {}</small>", share(value), right.kept, grouped(right.needed))
    });
    bar(out, column, right.value(), &shown.unwrap_or_else(|| or_dash(None, share)));
}

fn bar(out: &mut String, column: &str, value: Option<f64>, markup: &str) {
    let part = share(value.unwrap_or(0.0).clamp(0.0, 1.0));
    named(out, column, |out| {
        let _ = write!(out, "<td class=\"bar\" style=\"--part:{part}\">{markup}</td>");
    });
}
