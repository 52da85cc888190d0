//! The head of the page, which says what was compared and what comes of it, and its end: the assumptions, what was left
//! out, by which prices and seed, and the cautions.

use super::markup::{END_FOLD, open_fold, text};
use crate::number::{count, count_of, grouped};
use crate::{facts, verdict};
use foldback_replay::{Comparison, Split};
use std::fmt::Write as _;

/// The head of the page.
pub(super) fn header(out: &mut String, comparison: &Comparison) {
    out.push_str("<header>\n<h1>Strategies compared</h1>\n");
    for sentence in [verdict::verdict(comparison), verdict::base(comparison)].iter().flatten() {
        let _ = writeln!(out, "<p class=\"verdict\">{}</p>", text(sentence));
    }
    corpus(out, comparison);
    out.push_str("</header>\n");
}

/// What was compared, at whose prices, and how many cautions there are.
fn corpus(out: &mut String, comparison: &Comparison) {
    let corpus = &comparison.corpus;
    let (calls, turns) = facts::calls_and_turns(corpus);
    let _ = write!(
        out,
        "<p>{} of {} ({}), {} in {}; presets acted in {}.",
        count(corpus.imported as u64, "session"),
        facts::clusters(corpus),
        text(&facts::formats(corpus)),
        count(calls as u64, "model call"),
        count(turns as u64, "user turn"),
        grouped(corpus.triggering as u64),
    );
    if let Some(model) = comparison.prices.split(',').next().filter(|model| !model.is_empty()) {
        let _ = write!(out, " Bills at {}.", text(model));
    }
    if let Some(summaries) = verdict::summaries(comparison) {
        let _ = write!(out, " Summaries {}.", text(&summaries));
    }
    if !comparison.cautions.is_empty() {
        let cautions = count(comparison.cautions.len() as u64, "caution");
        let _ = write!(out, " <a href=\"#cautions\">{cautions}</a>.");
    }
    out.push_str("</p>\n");
}

/// Notes on how to read the numbers, what was left out, and the provenance.
pub(super) fn notes(out: &mut String, comparison: &Comparison) {
    open_fold(out, "notes", "Notes and provenance");
    files(out, comparison);
    reporting(out, comparison);
    if let Some(needed) = verdict::needed(comparison) {
        let _ = writeln!(out, "<p>{}.</p>", text(&needed));
    }
    list(out, &facts::notes(comparison));
    let reasons = facts::skipped(&comparison.corpus);
    if !reasons.is_empty() {
        out.push_str("<h3>Skipped files</h3>\n<dl>\n");
        for (reason, paths) in reasons {
            let _ = writeln!(out, "<dt>{}</dt>", text(reason));
            for path in paths {
                let _ = writeln!(out, "<dd class=\"path\">{}</dd>", text(path));
            }
        }
        out.push_str("</dl>\n");
    }
    out.push_str("<h3>Provenance</h3>\n");
    list(out, &facts::provenance(comparison));
    out.push_str(END_FOLD);
}

/// The outcomes of the sessions, from the file that was joined.
pub(super) fn outcomes(out: &mut String, comparison: &Comparison) {
    let told = verdict::outcomes(comparison);
    if !told.is_empty() {
        open_fold(out, "outcomes", "What the sessions came to");
        list(out, &told);
        out.push_str(END_FOLD);
    }
}

pub(super) fn cautions(out: &mut String, comparison: &Comparison) {
    if !comparison.cautions.is_empty() {
        open_fold(out, "cautions", "Cautions");
        list(out, &comparison.cautions);
        out.push_str(END_FOLD);
    }
}

fn list(out: &mut String, items: &[String]) {
    out.push_str("<ul>\n");
    for item in items {
        out.push_str("<li>");
        // Text between backticks is code.
        for (at, piece) in item.split('`').enumerate() {
            let _ = match at % 2 {
                0 => write!(out, "{}", text(piece)),
                _ => write!(out, "<code>{}</code>", text(piece)),
            };
        }
        out.push_str("</li>\n");
    }
    out.push_str("</ul>\n");
}

/// Every file accounted for.
fn files(out: &mut String, comparison: &Comparison) {
    let corpus = &comparison.corpus;
    let _ = writeln!(
        out,
        "<p>{} read: {} imported, from {}; {} without a model call; a strategy acted in {}; {} skipped.</p>",
        count(corpus.files as u64, "file"),
        count(corpus.imported as u64, "session"),
        count_of(corpus.clusters as u64, "task or repository", "tasks or repositories"),
        grouped(corpus.without_calls as u64),
        grouped(corpus.triggering as u64),
        grouped(corpus.skipped.len() as u64),
    );
}

fn reporting(out: &mut String, comparison: &Comparison) {
    let reporting = &comparison.reporting;
    let prices = if comparison.prices.is_empty() { &reporting.regime } else { &comparison.prices };
    let _ = write!(out, "<p>Bills at {}", text(prices));
    let _ = write!(
        out,
        "; intervals and tests by {}, seed {}",
        facts::units(&comparison.corpus),
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
