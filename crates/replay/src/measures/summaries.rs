//! Summaries: whether they match their source, how much of what is needed later they have, and
//! how much of the beginning survives repeated compaction.
//!
//! With h = ids(summary), s = ids(source) and t the identifiers of s that arguments of later calls have:
//!
//! - faithfulness prec = |h ∩ s| / |h|; 1 - prec is the share of identifiers that the summarizer made
//!   up (Nan et al. 2021, *Entity-level Factual Consistency*, arXiv 2102.09130);
//! - recall_t = |h ∩ t| / |t|;
//! - drift: with D the identifiers of what the first summary stood for when it was written, the share
//!   of D that the view has after the k-th summary, and the share that every view since has had; the
//!   slope is that of the least-squares line of the former over k.
//!
//! The source is everything that the view no longer shows as it was recorded, and what earlier folds
//! put in its place: what a summarizer was given, or was given in an earlier form. Filters may show a
//! summarizer less than that; what it then says from elsewhere in the source is not made up.
//! An identifier is in the source if it is one of the source's identifiers (paths by
//! [`same_path`](crate::identifiers::same_path)); a call's source is its name and its arguments, as
//! values and as the JSON that they are.
//!
//! Two things in a summary are no statements about its source and are not in h: numbers by which filters
//! count what a section stands for, in its headings (`# Long ago (101 messages)`), or what they cut out
//! of a result before a summarizer is given it (OpenCode's `omitted 3521 chars]`), and what was cut in
//! the middle: an identifier that the source has not in this form and that a cut mark
//! follows (`src/par …`) or that is the beginning of one of the source (filters cut long outputs before
//! a summarizer is given them). With these, a summary that copies has a faithfulness of exactly 1.

use crate::identifiers::{Class, Identifier, identifiers};
use crate::index::{Id, Index, Tracker};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

/// Examples that are kept of each summary.
const EXAMPLES: usize = 5;

/// An identifier of a summary that its source does not have.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Unsupported {
    /// What it refers to.
    pub class: Class,
    /// The identifier.
    pub text: String,
}

/// One message with a summary. Counts are of distinct identifiers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SummaryRow {
    /// Number of the call that came next.
    pub call: usize,
    /// Its size by the measuring estimator.
    pub tokens: u64,
    /// |h|.
    pub identifiers: u64,
    /// |h ∩ s|.
    pub supported: u64,
    /// |t|: identifiers of the source that calls from `call` on use.
    pub needed: u64,
    /// |h ∩ t|.
    pub kept: u64,
    /// The first few of h that are not in s, in alphabetical order.
    pub unsupported: Vec<Unsupported>,
}

impl SummaryRow {
    /// prec; `None` for a summary without identifiers.
    pub fn faithfulness(&self) -> Option<f64> {
        (self.identifiers > 0).then(|| self.supported as f64 / self.identifiers as f64)
    }

    /// recall_t; `None` where nothing of the source is used later.
    pub fn recall(&self) -> Option<f64> {
        (self.needed > 0).then(|| self.kept as f64 / self.needed as f64)
    }
}

/// What one cycle left of the first span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cycle {
    /// Number of the call that came next.
    pub call: usize,
    /// Identifiers of the first span that the view has.
    pub present: u64,
    /// Those that the view after every summary up to this one has had.
    pub survived: u64,
}

/// Drift over the summaries of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drift {
    /// |D|: identifiers of what the first summary took out of the view.
    pub first_span: u64,
    /// One per firing that wrote a summary; the first one is the first summary itself.
    pub cycles: Vec<Cycle>,
}

impl Drift {
    /// The identifier recall of the first span after each cycle; empty where it had none.
    pub fn recall(&self) -> Vec<f64> {
        let share = |cycle: &Cycle| cycle.present as f64 / self.first_span as f64;
        let cycles = if self.first_span == 0 { &[] } else { &self.cycles[..] };
        cycles.iter().map(share).collect()
    }

    /// Change of the recall per cycle, by least squares; `None` below two cycles.
    pub fn slope(&self) -> Option<f64> {
        let recall = self.recall();
        if recall.len() < 2 {
            return None;
        }
        let count = recall.len() as f64;
        let middle = (count - 1.0) / 2.0;
        let mean = recall.iter().sum::<f64>() / count;
        let (mut over, mut under) = (0.0, 0.0);
        for (cycle, recall) in recall.iter().enumerate() {
            let off = cycle as f64 - middle;
            over += off * (recall - mean);
            under += off * off;
        }
        Some(over / under)
    }
}

/// What summaries made of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summaries {
    /// One row per message with a summary, in order.
    pub rows: Vec<SummaryRow>,
    /// What is left of the beginning.
    pub drift: Drift,
}

/// Sums over the messages with a summary.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SummaryTotals {
    /// How many there are.
    pub count: u64,
    /// Their tokens.
    pub tokens: u64,
    /// Σ |h|.
    pub identifiers: u64,
    /// Σ |h ∩ s|.
    pub supported: u64,
    /// Σ |t|.
    pub needed: u64,
    /// Σ |h ∩ t|.
    pub kept: u64,
    /// The [slope](Drift::slope) of the drift of one session.
    pub slope: Option<f64>,
}

impl SummaryTotals {
    pub(super) fn of(summaries: &Summaries) -> Self {
        let sum = |of: fn(&SummaryRow) -> u64| summaries.rows.iter().map(of).sum();
        Self {
            count: summaries.rows.len() as u64,
            tokens: sum(|row| row.tokens),
            identifiers: sum(|row| row.identifiers),
            supported: sum(|row| row.supported),
            needed: sum(|row| row.needed),
            kept: sum(|row| row.kept),
            slope: summaries.drift.slope(),
        }
    }
}

/// Reads summaries as they are written.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    index: Arc<Index>,
    /// What earlier compactions wrote that the log has not in this form: made up by summaries, or cut
    /// out of results.
    inherited: BTreeSet<String>,
    /// Texts of edits that were read; placeholders repeat.
    known: HashSet<Arc<str>>,
    first_span: Vec<Id>,
    alive: Vec<bool>,
    out: Summaries,
}

impl Reader {
    pub(super) fn new(index: Arc<Index>) -> Self {
        Self {
            index,
            inherited: BTreeSet::new(),
            known: HashSet::new(),
            first_span: Vec::new(),
            alive: Vec::new(),
            out: Summaries::default(),
        }
    }

    /// Takes note of a text that a fold put in place of a part: a summarizer may be given it.
    pub(super) fn lay_over(&mut self, text: &Arc<str>) {
        if self.known.insert(Arc::clone(text)) {
            let unknown = identifiers(text).filter(|id| !self.index.supported(*id, |_| true));
            self.inherited.extend(unknown.map(|id| id.text.to_owned()));
        }
    }

    /// Reads a summary that the request with number `call` is the first to have.
    pub(super) fn read(&mut self, tracker: &Tracker, call: usize, text: &str, tokens: u64) {
        let mut unsupported = Vec::new();
        let mut identifiers = 0;
        let (said, has) = tracker.read(text);
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
            identifiers += 1;
            if !supported {
                unsupported.push(Unsupported { class, text: text.to_owned() });
            }
        }
        let (mut needed, mut kept) = (0, 0);
        for asked in &self.index.asked {
            let later = self.index.entries[asked.id as usize].last_asked >= Some(call);
            if later && tracker.is_gone(asked.id) {
                needed += 1;
                kept += u64::from(has.binary_search(&asked.id).is_ok());
            }
        }
        let supported = identifiers - unsupported.len() as u64;
        self.inherited.extend(unsupported.iter().map(|id| id.text.clone()));
        unsupported.truncate(EXAMPLES);
        self.out.rows.push(SummaryRow {
            call,
            tokens,
            identifiers,
            supported,
            needed,
            kept,
            unsupported,
        });
    }

    /// Counts what a firing with a summary left of the first span; `dropped` is what it took out.
    pub(super) fn cycle(&mut self, tracker: &Tracker, call: usize, dropped: &[Id]) {
        if self.out.drift.cycles.is_empty() {
            self.first_span = dropped.to_vec();
            self.alive = vec![true; dropped.len()];
            self.out.drift.first_span = dropped.len() as u64;
        }
        let (mut present, mut survived) = (0, 0);
        for (id, alive) in self.first_span.iter().zip(&mut self.alive) {
            let there = tracker.has(*id);
            *alive &= there;
            present += u64::from(there);
            survived += u64::from(*alive);
        }
        self.out.drift.cycles.push(Cycle { call, present, survived });
    }

    pub(super) fn finish(self) -> Summaries {
        self.out
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

    #[test]
    fn slope_is_the_least_squares_line() {
        // Against numpy.polyfit(k, recall, 1)[0].
        let cases: [(&str, &[u64], Option<f64>); 5] = [
            ("nothing", &[], None),
            ("one cycle", &[5], None),
            ("steady loss", &[10, 8, 6, 4], Some(-0.2)),
            ("read again", &[4, 4, 8], Some(0.2)),
            ("uneven", &[9, 3, 2, 2], Some(-0.22)),
        ];
        for (name, present, expected) in cases {
            let cycles =
                present.iter().map(|present| Cycle { call: 0, present: *present, survived: 0 });
            let drift = Drift { first_span: 10, cycles: cycles.collect() };
            match (drift.slope(), expected) {
                (Some(slope), Some(expected)) => {
                    assert!((slope - expected).abs() < 1e-12, "{name}: {slope}");
                }
                (slope, expected) => assert_eq!(slope, expected, "{name}"),
            }
        }
    }
}
