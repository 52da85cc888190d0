//! Whether summaries match their source: with h = ids(summary) and s = ids(source), the share |h ∩ s| / |h| is supported,
//! and the rest is what the summarizer made up (Nan et al. 2021, *Entity-level Factual Consistency*, arXiv 2102.09130).
//!
//! The source is everything that the view no longer shows as it was recorded, and what earlier folds
//! put in its place: what a summarizer was given, or was given in an earlier form. Filters may show a
//! summarizer less than that; what it then says from elsewhere in the source is not made up.
//! An identifier is in the source if it is one of the source's identifiers (paths by
//! [`same_path`](crate::read::identifiers::same_path)); a call's source is its name and its arguments, as
//! values and as the JSON that they are.
//!
//! Two things in a summary are no statements about its source and are not in h: numbers by which filters
//! count what a section stands for, in its headings (`# Long ago (101 messages)`), or what they cut out
//! of a result before a summarizer is given it (OpenCode's `omitted 3521 chars]`), and what was cut in
//! the middle: an identifier that the source has not in this form and that a cut mark
//! follows (`src/par …`) or that is the beginning of one of the source (filters cut long outputs before
//! a summarizer is given them). With these, a summary that copies has a faithfulness of exactly 1.

use crate::judge::request::{Probe, Request};
use crate::read::identifiers::{Class, Identifier, identifiers};
use crate::read::index::{Index, Tracker};
use crate::stats::Share;
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

/// Reads summaries as they are written. Give it to [`crate::replay_with`], then take what it found.
#[derive(Clone, Debug)]
pub(crate) struct SummaryProbe {
    index: Arc<Index>,
    /// What earlier compactions wrote that the log has not in this form: made up by summaries, or cut
    /// out of results.
    inherited: BTreeSet<String>,
    /// Texts of edits that were read; placeholders repeat.
    known: HashSet<Arc<str>>,
    out: Vec<Share>,
}

impl SummaryProbe {
    /// A probe over one session.
    pub(crate) fn new(index: Arc<Index>) -> Self {
        Self { index, inherited: BTreeSet::new(), known: HashSet::new(), out: Vec::new() }
    }

    /// Takes note of a text that a fold put in place of a part: a summarizer may be given it.
    fn lay_over(&mut self, text: &Arc<str>) {
        if self.known.insert(Arc::clone(text)) {
            let unknown = identifiers(text).filter(|id| !self.index.supported(*id, |_| true));
            self.inherited.extend(unknown.map(|id| id.text.to_owned()));
        }
    }

    /// Reads a summary that the request after it is the first to have.
    fn read(&mut self, tracker: &Tracker, text: &str) {
        let mut unsupported = Vec::new();
        let mut share = Share::default();
        let said = tracker.read(text);
        for (id, whole) in statements(text, &said) {
            let Identifier { class, text } = id;
            let index = &self.index;
            let supported = index.supported(id, |known| tracker.is_gone(known))
                || self.inherited.contains(text);
            let is_cut = || {
                !whole
                    || (class != Class::Number
                        && index.begins(text, |known| tracker.is_gone(known)))
            };
            if !supported && is_cut() {
                continue;
            }
            share.count(supported);
            if !supported {
                unsupported.push(text.to_owned());
            }
        }
        self.inherited.extend(unsupported);
        self.out.push(share);
    }

    fn update(&mut self, request: &Request<'_>) {
        let folds = &request.conversation.folds()[request.delta.folds.clone()];
        for edit in folds.iter().flat_map(|fold| &fold.plan.edits) {
            self.lay_over(&edit.text);
        }
        for summary in request.written {
            self.read(request.tracker, &summary.text);
        }
    }

    /// Distinct identifiers in each summary, and how many of them its source has.
    pub(crate) fn finish(self) -> Vec<Share> {
        self.out
    }
}

impl Probe for SummaryProbe {
    fn call(&mut self, request: &Request<'_>) {
        self.update(request);
    }

    fn end(&mut self, request: &Request<'_>) {
        self.update(request);
    }
}

/// The identifiers of a summary, given in order of appearance, each once in alphabetical order, and whether they stand
/// anywhere without a cut mark after them.
fn statements<'t>(summary: &'t str, said: &[Identifier<'t>]) -> Vec<(Identifier<'t>, bool)> {
    let mut out = Vec::with_capacity(said.len());
    let mut lines = summary.lines();
    let mut line = "";
    for id in said {
        // An identifier is a slice of one line.
        let at = id.text.as_ptr();
        while !line.as_bytes().as_ptr_range().contains(&at) {
            line = lines.next().unwrap_or(summary);
        }
        if id.class == Class::Number && line.starts_with('#') {
            continue;
        }
        let (before, rest) = line.split_at(at as usize - line.as_ptr() as usize);
        let after = &rest[id.text.len()..];
        let behind = after.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '…');
        let whole = !behind.starts_with('…');
        let counts_a_cut = before.ends_with("omitted ") && after.starts_with(" chars]");
        if counts_a_cut {
            continue;
        }
        out.push((*id, whole));
    }
    // Stable, so that the first one names the class.
    out.sort_by_key(|(id, _)| id.text);
    out.dedup_by(|(next, whole), (id, kept)| {
        let same = next.text == id.text;
        *kept |= *whole && same;
        same
    });
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_summary_states() {
        let cases: [(&str, &[(&str, bool)]); 7] = [
            (
                "- 512 files [Tool output truncated for compaction: omitted 35220 chars]",
                &[("512", true)],
            ),
            ("- read src/a.rs", &[("src/a.rs", true)]),
            ("- read src/par …", &[("src/par", false)]),
            ("- read src/par… then src/b.rs", &[("src/b.rs", true), ("src/par", false)]),
            ("- src/a.rs …\n- src/a.rs", &[("src/a.rs", true)]),
            ("- src/a.rs\n… more", &[("src/a.rs", true)]),
            (
                "# Long ago (101 messages) of `max_depth`\n- port 8080",
                &[("8080", true), ("max_depth", true)],
            ),
        ];
        for (summary, expected) in cases {
            let said: Vec<Identifier<'_>> = identifiers(summary).collect();
            let found: Vec<_> = statements(summary, &said)
                .into_iter()
                .map(|(id, whole)| (id.text, whole))
                .collect();
            assert_eq!(found, expected, "{summary}");
        }
    }
}
