//! What must be known to read the numbers: what was left out, what the recordings bring along, assumptions.

use super::markup::text;
use crate::facts;
use crate::number::grouped;
use foldback_replay::Comparison;
use std::fmt::Write as _;

/// The end of the page.
pub(super) fn footer(out: &mut String, comparison: &Comparison) {
    let corpus = &comparison.corpus;
    out.push_str("<footer id=\"notes\">\n<h2>Notes</h2>\n<ul>\n");
    let (warnings, files) = facts::warnings(corpus);
    if warnings > 0 {
        let _ = writeln!(
            out,
            "<li>{warnings} warnings in {files} sessions (<code>foldback inspect FILE</code> lists them).</li>"
        );
    }
    let inherited = facts::inherited(comparison);
    if inherited > 0 {
        let _ = writeln!(
            out,
            "<li>The recordings themselves break {inherited} provider rules, whatever the preset.</li>"
        );
    }
    for (regime, check) in &comparison.cache_check {
        let others = check.pairs - check.within;
        let _ = writeln!(
            out,
            "<li>Simulated cache of {} against what was recorded: within 3% of the recorded reads in {} of {} \
             calls; {} of the {} others came after a pause beyond its life.</li>",
            text(regime),
            grouped(check.within),
            grouped(check.pairs),
            grouped(check.late),
            grouped(others)
        );
    }
    for assumption in &comparison.assumptions {
        let _ = writeln!(out, "<li>{}</li>", text(assumption));
    }
    out.push_str("</ul>\n");
    skipped(out, comparison);
    out.push_str("</footer>\n");
}

/// The files that were not used, under their reasons.
fn skipped(out: &mut String, comparison: &Comparison) {
    let reasons = facts::skipped(&comparison.corpus);
    if reasons.is_empty() {
        return;
    }
    out.push_str("<h3 id=\"skipped\">Skipped files</h3>\n<dl class=\"skipped\">\n");
    for (reason, paths) in reasons {
        let _ = writeln!(out, "<dt>{}</dt>", text(reason));
        for path in paths {
            let _ = writeln!(out, "<dd class=\"path\">{}</dd>", text(path));
        }
    }
    out.push_str("</dl>\n");
}
