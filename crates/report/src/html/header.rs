//! The head and the foot of the page: what was compared, by which prices and seed, the cautions
//! and the assumptions.

use super::markup::text;
use crate::number::{count, count_of, grouped};
use crate::{facts, verdict};
use foldback_replay::compare::Primary;
use foldback_replay::{Comparison, Split};
use std::fmt::Write as _;

/// The end of the page: what must be known to read the numbers, and what was left out.
pub(super) fn footer(out: &mut String, comparison: &Comparison) {
    out.push_str("<footer id=\"notes\">\n<h2>Notes</h2>\n");
    cautions(out, comparison);
    files(out, comparison);
    reporting(out, comparison);
    out.push_str("<ul>\n");
    for note in facts::notes(comparison) {
        let _ = writeln!(out, "<li>{}</li>", text(&note));
    }
    out.push_str("</ul>\n");
    let reasons = facts::skipped(&comparison.corpus);
    if !reasons.is_empty() {
        out.push_str("<h3 id=\"skipped\">Skipped files</h3>\n<dl class=\"skipped\">\n");
        for (reason, paths) in reasons {
            let _ = writeln!(out, "<dt>{}</dt>", text(reason));
            for path in paths {
                let _ = writeln!(out, "<dd class=\"path\">{}</dd>", text(path));
            }
        }
        out.push_str("</dl>\n");
    }
    out.push_str("<h3 id=\"provenance\">Provenance</h3>\n<ul>\n");
    for line in facts::provenance(comparison) {
        let _ = writeln!(out, "<li>{}</li>", text(&line));
    }
    out.push_str("</ul>\n</footer>\n");
}

/// The head of the page, down to the links to its sections; `sections` are their ids and titles.
pub(super) fn header(out: &mut String, comparison: &Comparison, sections: &[(&str, &str)]) {
    out.push_str("<header>\n<h1>Strategies compared</h1>\n");
    for sentence in [verdict::verdict(comparison), verdict::base(comparison)].iter().flatten() {
        let _ = writeln!(out, "<p class=\"verdict\">{}</p>", text(sentence));
    }
    corpus(out, comparison);
    out.push_str("<nav aria-label=\"Sections\"><ul>");
    for (id, title) in sections {
        let _ = write!(out, "<li><a href=\"#{id}\">{title}</a></li>");
    }
    out.push_str("</ul></nav>\n</header>\n");
}

/// What was compared.
fn corpus(out: &mut String, comparison: &Comparison) {
    let corpus = &comparison.corpus;
    let (calls, turns) = facts::calls_and_turns(corpus);
    let controls = comparison.controls().len();
    let cautions = match comparison.cautions.len() {
        0 => String::new(),
        number => format!(
            " <a href=\"#cautions\">{}</a>.",
            count_of(number as u64, "reason to read with care", "reasons to read with care")
        ),
    };
    let _ = writeln!(
        out,
        "<p>{} ({}) with {} model calls in {}, replayed under {} and {}.{cautions}</p>",
        count(corpus.imported as u64, "session"),
        text(&facts::formats(corpus)),
        grouped(calls as u64),
        count(turns as u64, "user turn"),
        count_of((comparison.presets.len() - controls) as u64, "strategy", "strategies"),
        count(controls as u64, "control"),
    );
}

/// Every file accounted for.
fn files(out: &mut String, comparison: &Comparison) {
    let corpus = &comparison.corpus;
    let _ = write!(
        out,
        "<p>{} read: {} imported, from {}; {} without a model call; a strategy acted in {}; {} ",
        count(corpus.files as u64, "file"),
        count(corpus.imported as u64, "session"),
        count_of(corpus.clusters as u64, "task or repository", "tasks or repositories"),
        grouped(corpus.without_calls as u64),
        grouped(corpus.triggering as u64),
        grouped(corpus.skipped.len() as u64),
    );
    if corpus.skipped.is_empty() {
        out.push_str("skipped.</p>\n");
    } else {
        out.push_str("<a href=\"#skipped\">skipped, with the reasons</a>.</p>\n");
    }
}

fn reporting(out: &mut String, comparison: &Comparison) {
    let reporting = &comparison.reporting;
    let primary = match reporting.primary {
        Primary::Cost => "the bill",
        Primary::FrrObsFar => "retention of what only observations said, and not recently",
    };
    let prices = if comparison.prices.is_empty() { &reporting.regime } else { &comparison.prices };
    let _ = write!(out, "<p>Prices: {}. Ranked by {primary}", text(prices));
    if reporting.margin > 0.0 {
        let _ =
            write!(out, ", differences up to {} points counting as ties", reporting.margin * 100.0);
    }
    let _ = write!(
        out,
        "; intervals of 95%: bootstrap over tasks or repositories, {} draws, seed {}",
        grouped(reporting.draws as u64),
        reporting.seed
    );
    if let Some(split) = reporting.split {
        let part = match split {
            Split::Tune => "the part of the sessions used for tuning",
            Split::Report => "the held-out part of the sessions",
        };
        let _ = write!(out, "; {part}");
    }
    match &reporting.experiment {
        Some(hash) => {
            let _ = writeln!(
                out,
                "; registered beforehand, experiment <code>{}</code>.</p>",
                text(hash)
            );
        }
        None => out.push_str(".</p>\n"),
    }
}

fn cautions(out: &mut String, comparison: &Comparison) {
    if comparison.cautions.is_empty() {
        return;
    }
    out.push_str(
        "<div class=\"cautions\" id=\"cautions\" role=\"note\">\n<h3>Read with care</h3>\n<ul>\n",
    );
    for caution in &comparison.cautions {
        let _ = writeln!(out, "<li>{}</li>", text(caution));
    }
    out.push_str("</ul>\n</div>\n");
}
