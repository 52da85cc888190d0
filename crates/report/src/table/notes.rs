//! What was compared, what makes one doubt it, and what must be known to read it.

use super::{Layout, wrap};
use crate::number::grouped;
use foldback_replay::Comparison;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Sessions by format, calls and turns.
pub(super) fn corpus(out: &mut String, comparison: &Comparison) {
    let corpus = &comparison.corpus;
    let mut formats: BTreeMap<&str, usize> = BTreeMap::new();
    for session in &corpus.sessions {
        *formats.entry(&session.format).or_default() += 1;
    }
    let formats: Vec<String> = formats
        .iter()
        .map(|(format, count)| format!("{count} {format}"))
        .collect();
    let calls: usize = corpus.sessions.iter().map(|session| session.calls).sum();
    let turns: usize = corpus.sessions.iter().map(|session| session.turns).sum();
    let _ = writeln!(
        out,
        "{} sessions ({}), {} model calls in {} user turns",
        corpus.imported,
        formats.join(", "),
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
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for skipped in &corpus.skipped {
        reasons
            .entry(&skipped.reason)
            .or_default()
            .push(&skipped.path);
    }
    for (reason, paths) in reasons {
        wrap(
            out,
            "    ",
            &format!("{}: {reason}", paths.join(", ")),
            layout.width,
        );
    }
    let warnings: usize = corpus.sessions.iter().map(|session| session.warnings).sum();
    if warnings > 0 {
        let files = corpus
            .sessions
            .iter()
            .filter(|session| session.warnings > 0)
            .count();
        let _ = writeln!(
            out,
            "  {warnings} warnings in {files} sessions (`foldback inspect FILE` lists them)"
        );
    }
    let inherited = comparison
        .presets
        .iter()
        .map(|line| line.inherited_violations)
        .max();
    if let Some(inherited @ 1..) = inherited {
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
