//! The sessions: one table of all of them, under a preset that is chosen.

use super::details::Details;
use super::figures::{NONE, or_dash, share};
use super::markup::{
    BODY, END_FOLD, END_TABLE, breakable, col_heads, named_td, open_fold, open_table, row_head,
    text,
};
use super::{reader, script};
use crate::number::{change, count, decimals, dollars, grouped};
use foldback_replay::Comparison;
use foldback_replay::study::{Knowledge, Score};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Addresses at which a reader opens sessions, by their places in the comparison.
pub(super) type Places = BTreeMap<usize, String>;

/// Those of the pages beside this one, and of these sessions in the reader of the page, which comes first.
pub(super) fn places(details: &Details, walked: &[usize]) -> Places {
    let beside =
        |(session, page): (&usize, &String)| (*session, format!("{page}{}", reader::address(0)));
    let mut places: Places = details.pages.iter().map(beside).collect();
    places.extend(walked.iter().enumerate().map(|(at, session)| (*session, reader::address(at))));
    places
}

/// The heading of a row: the path, which leads to the reader.
fn head(places: &Places, session: usize, path: &str) -> String {
    let path = breakable(path);
    let Some(address) = places.get(&session) else { return path };
    let address = text(address);
    format!("<a data-reader=\"{address}\" href=\"{address}\">{path}</a>")
}

/// Columns of the table that every session has.
const COLUMNS: [&str; 5] = ["session", "format", "calls", "turns", "base"];

/// Columns under the preset that is chosen.
const UNDER: [&str; 3] = ["bill", "kept", "missed"];

/// The cells of a session under a preset: a class, and a text per column of [`UNDER`].
type Cells = [String; 1 + UNDER.len()];

/// The class of a row in which something went wrong.
const BAD: &str = "bad";

/// A preset as the script reads it.
#[derive(Serialize)]
struct Under<'a> {
    name: &'a str,
    /// In how many sessions it changed something.
    acted: usize,
    /// Cells by session, for those in which it changed something or failed.
    rows: BTreeMap<usize, Cells>,
}

/// One row per session: its size, its bill today, and its bill and losses under the chosen preset.
/// At first that is the preset that the page opens on.
pub(super) fn table(
    out: &mut String,
    comparison: &Comparison,
    places: &Places,
    opening: Option<usize>,
) {
    open_fold(out, "sessions", "Sessions");
    let presets = under(comparison, opening);
    match presets.first() {
        Some(first) => {
            let mut cells = presets.iter().flat_map(|preset| preset.rows.values());
            let faults = match cells.any(|cells| cells[0] == BAD) {
                true => " Red: it sent requests over the window or broke provider rules.",
                false => "",
            };
            let _ = writeln!(
                out,
                "<p class=\"key\">Under <strong id=\"sessions-under\">{}</strong>, where it changed something. \
                 <strong>bill</strong>: change against the base; <strong>kept</strong>: share of what later calls needed of older \
                 results; <strong>missed</strong>: old texts of edits and repeated pieces of results that were not in view.{faults}</p>",
                text(first.name)
            );
        }
        None => out.push_str("<p class=\"key\">No preset changed anything in any session.</p>\n"),
    }
    let sessions = comparison.corpus.sessions.len();
    if places.len() < sessions {
        let _ = writeln!(
            out,
            "<p class=\"key\">{} of {} open in the reader; <code>--reader all</code> writes a page for each.</p>",
            grouped(places.len() as u64),
            count(sessions as u64, "session")
        );
    }
    open_table(out, "Sessions", "sessions cards");
    let under: &[&str] = if presets.is_empty() { &[] } else { &UNDER };
    col_heads(out, COLUMNS.iter().chain(under));
    out.push_str(BODY);
    for (number, session) in comparison.corpus.sessions.iter().enumerate() {
        row_head(out, head(places, number, &session.path));
        let usd = comparison.bill_of_base(number).map(|bill| bill.usd);
        let facts = [
            text(&session.format).to_string(),
            grouped(session.calls as u64),
            grouped(session.turns as u64),
            or_dash(usd, |usd| dollars(usd, decimals(usd))),
        ];
        for (at, (name, fact)) in COLUMNS[1..].iter().zip(facts).enumerate() {
            named_td(out, name, if at == 0 { "word" } else { "" }, fact);
        }
        let cells = presets.first().and_then(|first| first.rows.get(&number));
        for (at, name) in under.iter().enumerate() {
            let (class, cell) = match cells {
                Some(cells) => (cells[0].as_str(), cells[1 + at].as_str()),
                None => ("zero", NONE),
            };
            named_td(out, name, format!("under {class}").trim_end(), cell);
        }
        out.push_str("</tr>\n");
    }
    out.push_str(END_TABLE);
    if !presets.is_empty() {
        let json = serde_json::to_string(&presets).unwrap_or_default();
        out.push_str(&script::data("sessions-data", &json));
    }
    out.push_str(END_FOLD);
}

/// The presets that changed something: the one that the page opens on, the other strategies as they are ranked, the
/// controls.
fn under(comparison: &Comparison, opening: Option<usize>) -> Vec<Under<'_>> {
    let mut order = [comparison.by_bill(), comparison.controls()].concat();
    order.sort_by_key(|at| Some(*at) != opening);
    let presets = order.into_iter().filter(|at| *at != comparison.baseline).map(|at| {
        let sessions = 0..comparison.corpus.sessions.len();
        let scores =
            || sessions.clone().filter_map(|session| comparison.scores_of(session).get(at));
        let notable = scores().filter(|score| score.metrics.compactions + faults(score) > 0);
        Under {
            name: &comparison.presets[at].preset,
            acted: scores().filter(|score| score.metrics.compactions > 0).count(),
            rows: notable.map(|score| (score.session(), cells(comparison, score))).collect(),
        }
    });
    presets.filter(|preset| !preset.rows.is_empty()).collect()
}

/// Requests over the window that were sent, and rules that were broken.
fn faults(score: &Score) -> u64 {
    score.metrics.sent_over + score.metrics.strategy_violations
}

fn cells(comparison: &Comparison, score: &Score) -> Cells {
    let base = comparison.bill_of_base(score.session()).map(|bill| bill.usd);
    let own = comparison.bill(score).map(|bill| bill.usd);
    let ratio = own.zip(base).filter(|(_, base)| *base > 0.0);
    let known = score.known == Knowledge::Everything;
    [
        if faults(score) > 0 { BAD } else { "" }.to_owned(),
        or_dash(ratio.map(|(own, base)| own / base), change),
        or_dash(score.retention.obs_far.value().filter(|_| known), share),
        if known { grouped(score.retention.missed()) } else { NONE.to_owned() },
    ]
}
