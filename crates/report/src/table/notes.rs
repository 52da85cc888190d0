//! What was compared, what makes one doubt it, and what must be known to read it.

use super::{Layout, wrap};
use crate::facts;
use crate::number::grouped;
use foldback_replay::Comparison;
use std::fmt::Write as _;

/// Sessions by format, calls and turns.
pub(super) fn corpus(out: &mut String, comparison: &Comparison) {
    let corpus = &comparison.corpus;
    let (calls, turns) = facts::calls_and_turns(corpus);
    let _ = writeln!(
        out,
        "{} sessions ({}), {} model calls in {} user turns",
        corpus.imported,
        facts::formats(corpus),
        grouped(calls as u64),
        grouped(turns as u64),
    );
}

/// Signs that the comparison says little.
pub(super) fn cautions(out: &mut String, comparison: &Comparison, layout: Layout) {
    if comparison.cautions.is_empty() {
        return;
    }
    out.push_str("\nCautions\n");
    for caution in &comparison.cautions {
        wrap(out, "  ", caution, layout.width);
    }
}

/// Every session accounted for, and the assumptions.
pub(super) fn footer(out: &mut String, comparison: &Comparison, layout: Layout) {
    let corpus = &comparison.corpus;
    out.push_str("\nNotes\n");
    let accounted = format!(
        "{} files looked at: {} sessions of {} tasks or repositories imported, {} of them without a model \
         call, a strategy acted in {}; {} files skipped",
        corpus.files,
        corpus.imported,
        corpus.clusters,
        corpus.without_calls,
        corpus.triggering,
        corpus.skipped.len()
    );
    wrap(out, "  ", &accounted, layout.width);
    if let Some(experiment) = &comparison.reporting.experiment {
        let _ = writeln!(out, "  Experiment {experiment} (hash of the file)");
    }
    for (reason, paths) in facts::skipped(corpus) {
        wrap(out, "    ", &format!("{}: {reason}", paths.join(", ")), layout.width);
    }
    let (warnings, files) = facts::warnings(corpus);
    if warnings > 0 {
        let _ = writeln!(
            out,
            "  {warnings} warnings in {files} sessions (`foldback inspect FILE` lists them)"
        );
    }
    let inherited = facts::inherited(comparison);
    if inherited > 0 {
        let _ = writeln!(
            out,
            "  the recordings themselves break {inherited} provider rules, whatever the preset"
        );
    }
    for (regime, check) in &comparison.cache_check {
        let text = format!(
            "Cache of {regime} against what was recorded: within 3 percent in {} of {} calls; {} of the {} \
             others came after a pause beyond its life.",
            grouped(check.within),
            grouped(check.pairs),
            grouped(check.late),
            grouped(check.pairs - check.within)
        );
        wrap(out, "  ", &text, layout.width);
    }
    for assumption in &comparison.assumptions {
        wrap(out, "  ", assumption, layout.width);
    }
}
