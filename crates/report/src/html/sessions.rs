//! The sessions: one table of all of them, under a preset that is chosen, and the saw-teeth of those in which something
//! acted.

use super::details::{Details, Drawn};
use super::figures::{NONE, or_dash, share};
use super::markup::{
    BODY, END_FOLD, END_TABLE, breakable, col_heads, named_td, open_fold, open_table, row_head,
    text,
};
use super::sawtooth::{self, Scale};
use super::{reader, script};
use crate::columns::unit;
use crate::number::{change, count, decimals, dollars, grouped, short};
use crate::verdict;
use foldback_replay::Comparison;
use foldback_replay::study::{Knowledge, Score};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Where the page has more on a session, by its place in the comparison.
#[derive(Debug, Default)]
pub(super) struct Places {
    drawn: BTreeSet<usize>,
    /// Addresses at which a reader opens it.
    read: BTreeMap<usize, String>,
}

impl Places {
    /// With these sessions in the reader of the page, and no drawings yet.
    pub(super) fn new(details: &Details, walked: &[usize]) -> Self {
        let beside = |(session, page): (&usize, &String)| {
            (*session, format!("{page}{}", reader::address(0)))
        };
        let mut read: BTreeMap<usize, String> = details.pages.iter().map(beside).collect();
        // In the page before beside it.
        read.extend(walked.iter().enumerate().map(|(at, session)| (*session, reader::address(at))));
        Self { drawn: BTreeSet::new(), read }
    }

    /// The heading of a row: the path, which leads to the reader or else to the drawings.
    fn head(&self, session: usize, path: &str) -> String {
        let path = breakable(path);
        let drawn = format!("#session-{}", session + 1);
        match (self.read.get(&session), self.drawn.contains(&session)) {
            (None, false) => path,
            (None, true) => format!("<a href=\"{drawn}\">{path}</a>"),
            (Some(address), is_drawn) => {
                let address = text(address);
                let more = if is_drawn {
                    format!(" <small><a href=\"{drawn}\">drawn</a></small>")
                } else {
                    String::new()
                };
                format!("<a data-reader=\"{address}\" href=\"{address}\">{path}</a>{more}")
            }
        }
    }
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
    if places.read.len() < sessions {
        let _ = writeln!(
            out,
            "<p class=\"key\">{} of {} open in the reader; <code>--reader all</code> writes a page for each.</p>",
            grouped(places.read.len() as u64),
            count(sessions as u64, "session")
        );
    }
    open_table(out, "Sessions", "sessions cards");
    let under: &[&str] = if presets.is_empty() { &[] } else { &UNDER };
    col_heads(out, COLUMNS.iter().chain(under));
    out.push_str(BODY);
    for (number, session) in comparison.corpus.sessions.iter().enumerate() {
        row_head(out, places.head(number, &session.path));
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

/// The effects on a session of the presets that changed something.
fn acted(comparison: &Comparison, session: usize) -> impl Iterator<Item = &Score> {
    comparison.scores_of(session).iter().filter(|score| score.metrics.compactions > 0)
}

/// Bytes of drawings that one page takes, at most.
const BUDGET: usize = 1_200_000;

/// The saw-teeth, one collapsed block per session; the first stands open. A drawing leads to the reader. Adds the sessions that
/// there was room for to the places.
pub(super) fn drawings(
    out: &mut String,
    comparison: &Comparison,
    drawn: &[Drawn],
    places: &mut Places,
) {
    if drawn.is_empty() {
        return;
    }
    let sessions = 0..comparison.corpus.sessions.len();
    let acted = sessions.filter(|at| acted(comparison, *at).next().is_some()).count();
    let mut blocks: Vec<String> = Vec::new();
    let mut size = 0;
    for session in drawn {
        let mut block = String::new();
        let address = places.read.get(&session.session);
        draw(&mut block, session, comparison, blocks.is_empty(), address);
        size += block.len();
        if size > BUDGET && !blocks.is_empty() {
            break;
        }
        blocks.push(block);
    }
    open_fold(out, "size", "Size of the requests, call by call");
    let _ = write!(
        out,
        "<p class=\"key\">Size of each request in {}, over the number of the call.",
        text(&unit(&comparison.reporting.estimator))
    );
    for (class, meaning) in sawtooth::LEGEND {
        if blocks.iter().any(|block| block.contains(&format!("<path class=\"{class}\""))) {
            let _ = write!(out, " <span class=\"k {class}\">{meaning}</span>");
        }
    }
    out.push_str("</p>\n");
    if acted > blocks.len() {
        let _ = writeln!(
            out,
            "<p>Something acted in {acted} sessions; {} of the longest are drawn.</p>",
            blocks.len()
        );
    }
    places.drawn = drawn[..blocks.len()].iter().map(|drawn| drawn.session).collect();
    out.extend(blocks);
    out.push_str(END_FOLD);
}

fn draw(
    out: &mut String,
    drawn: &Drawn,
    comparison: &Comparison,
    open: bool,
    address: Option<&String>,
) {
    let line = &comparison.corpus.sessions[drawn.session];
    let scores = comparison.scores_of(drawn.session);
    let scale = Scale {
        tokens: scores.iter().map(|score| score.metrics.peak_tokens).max().unwrap_or(0),
        last: line.calls.saturating_sub(1) as u64,
    };
    let plain = drawn.records.get(comparison.baseline).map(|record| record.rows.as_slice());
    let _ = writeln!(
        out,
        "<details{}>\n<summary>{} <small>{}, {} calls, {} of {} presets acted</small></summary>\n\
         <div class=\"grid\" id=\"session-{}\">",
        if open { " open" } else { "" },
        text(&line.path),
        text(&line.format),
        grouped(line.calls as u64),
        acted(comparison, drawn.session).count(),
        scores.len(),
        drawn.session + 1
    );
    for score in acted(comparison, drawn.session) {
        let Some(record) = drawn.records.get(score.preset()) else {
            continue;
        };
        let preset = verdict::name(comparison, &comparison.presets[score.preset()]);
        let _ = writeln!(
            out,
            "<figure data-file=\"size-{}-{own}\">\n<figcaption><strong>{own}</strong> peak {}</figcaption>",
            drawn.session + 1,
            short(score.metrics.peak_tokens),
            own = text(preset),
        );
        if let Some(address) = address {
            let under = reader::address_under(address, &comparison.presets[score.preset()].preset);
            let _ = write!(out, "<a data-calls=\"{0}\" href=\"{1}\">", line.calls, text(&under));
        }
        sawtooth::draw(out, preset, &record.rows, plain, scale);
        if address.is_some() {
            out.push_str("</a>\n");
        }
        let _ = writeln!(
            out,
            "<p class=\"small\">{}</p>\n</figure>",
            text(&sawtooth::firings(&record.rows))
        );
    }
    out.push_str("</div>\n</details>\n");
}
