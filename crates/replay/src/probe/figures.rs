//! What came of the questions: a row for each, and a line for each preset.
//!
//! Shares are pooled over questions, `Σ right / Σ asked`; their intervals are over sessions, those of one repository or
//! task left out together. A difference is that of two such shares on the questions that both were asked.

use super::score::{Form, Outcome};
use super::{AGES, Holder, Kind, age_band};
use crate::in_order;
use crate::stats::Share;
use crate::stats::{Estimate, Sample, clusters, proportion, proportion_difference};
use serde::Serialize;
use std::collections::BTreeMap;

/// One answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// Path of the file, followed by `#id` if the file holds several sessions.
    pub session: String,
    /// Task or repository: sessions of one are not independent. The path if not recorded.
    pub cluster: String,
    /// Name of the preset, with the summarizer that stood in, and with [`RECALL`] where the model could look things up; `full`
    /// and `nothing` are controls.
    pub preset: String,
    /// Number of the call that the question takes the place of.
    pub call: usize,
    /// Identifies the question.
    pub id: String,
    /// What is asked for.
    pub kind: Kind,
    /// What of the log holds the answer; `null` for a question that somebody brought.
    pub holder: Option<Holder>,
    /// Calls since the answer was last in the log; `null` if it never was.
    pub age: Option<usize>,
    /// The question.
    pub question: String,
    /// The answer.
    pub expected: String,
    /// How it was asked for.
    pub form: Form,
    /// The answer that was given, as it was read from the text.
    pub answer: String,
    /// What came of it.
    pub outcome: Outcome,
    /// Whether the answer is the expected one.
    pub right: bool,
    /// Whether the expected answer stands in the view, letter by letter.
    pub in_view: bool,
    /// Whether what the question was made from is in the view as it was recorded; `null` for a question that somebody
    /// brought.
    pub kept: Option<bool>,
    /// How often the model looked something up.
    pub recalls: usize,
    /// Size of the last request in tokens, by the reporting estimator.
    pub tokens: u64,
}

/// What the name of a preset ends with where the model could look up what its view leaves out.
pub const RECALL: &str = "+recall";

/// What a preset came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// Its name.
    pub preset: String,
    /// Questions that were asked, each form by itself.
    pub asked: usize,
    /// Questions that did not fit into the model's window and count nowhere.
    pub too_large: usize,
    /// Share of right answers where the string was asked for.
    pub exact: Estimate,
    /// The same where a letter was.
    pub choice: Estimate,
    /// Right answers of both forms, less those to the same questions of the first preset; where things could be looked up, of
    /// the same preset without that.
    pub difference: Estimate,
    /// Share of the questions whose answer stands in the view.
    pub in_view: Estimate,
    /// Share of the exact answers that are right exactly where the expected one stands in the view.
    pub agreement: Estimate,
    /// The same by whether what the question was made from is in the view as it was recorded.
    pub kept_agreement: Estimate,
    /// By stratum of age, right of asked, both forms together.
    pub ages: Vec<(String, Share)>,
    /// How often an answer was of no use, by why.
    pub unusable: BTreeMap<Outcome, usize>,
    /// How often the model looked something up.
    pub recalls: usize,
    /// Mean size of a request in tokens.
    pub tokens: u64,
}

/// A line per preset, in the order of the rows.
pub fn lines(rows: &[Row]) -> Vec<Line> {
    let sample = Sample::default();
    let presets = in_order(rows.iter().map(|row| &*row.preset));
    let first = presets.first().copied().unwrap_or_default();
    let line = |preset: &&str| {
        let own = asked(rows, preset);
        let share = |holds: &dyn Fn(&Row) -> Option<bool>| share(&own, &sample, holds);
        let exact = |row: &Row| row.form == Form::Exact;
        let mut unusable = BTreeMap::new();
        for row in &own {
            if !matches!(row.outcome, Outcome::Right | Outcome::Wrong) {
                *unusable.entry(row.outcome).or_default() += 1;
            }
        }
        let size: u64 = own.iter().map(|row| row.tokens).sum();
        Line {
            preset: (*preset).to_owned(),
            asked: own.len(),
            too_large: rows
                .iter()
                .filter(|row| row.preset == *preset && !row.outcome.is_asked())
                .count(),
            exact: share(&|row| exact(row).then_some(row.right)),
            choice: share(&|row| (!exact(row)).then_some(row.right)),
            difference: difference(
                &sample,
                rows,
                [preset, preset.strip_suffix(RECALL).unwrap_or(first)],
            ),
            in_view: share(&|row| Some(row.in_view)),
            agreement: share(&|row| exact(row).then_some(row.in_view == row.right)),
            kept_agreement: share(&|row| Some(row.kept.filter(|_| exact(row))? == row.right)),
            ages: ages(&own),
            unusable,
            recalls: own.iter().map(|row| row.recalls).sum(),
            tokens: size.checked_div(own.len() as u64).unwrap_or(0),
        }
    };
    presets.iter().map(line).collect()
}

/// Sums by session: its path and its cluster.
type BySession<'r, T> = BTreeMap<(&'r str, &'r str), T>;

/// Rows of questions that were asked of a preset.
fn asked<'r>(rows: &'r [Row], preset: &str) -> Vec<&'r Row> {
    rows.iter().filter(|row| row.outcome.is_asked() && row.preset == preset).collect()
}

/// How often something holds, of the rows that it can be said of.
fn share(rows: &[&Row], sample: &Sample, holds: impl Fn(&Row) -> Option<bool>) -> Estimate {
    let mut sums: BySession<'_, Share> = BTreeMap::new();
    for row in rows {
        if let Some(holds) = holds(row) {
            sums.entry((&row.session, &row.cluster)).or_default().count(holds);
        }
    }
    let numbers = numbers(&sums);
    proportion(sample, numbers.into_iter().zip(sums.into_values()))
}

/// By stratum of age, right of asked.
fn ages(rows: &[&Row]) -> Vec<(String, Share)> {
    let bands = AGES.iter().map(|end| age_band(*end)).chain([age_band(usize::MAX)]);
    let share = |band: String| {
        let mut share = Share::default();
        let own = rows.iter().filter(|row| row.age.is_some_and(|age| age_band(age) == band));
        own.for_each(|row| share.count(row.right));
        (band, share)
    };
    bands.map(share).collect()
}

fn numbers<T>(sums: &BySession<'_, T>) -> Vec<usize> {
    clusters(&sums.keys().map(|(_, cluster)| *cluster).collect::<Vec<_>>()).0
}

/// What one preset is better by than another, on the questions that both were asked.
fn difference(sample: &Sample, rows: &[Row], [one, other]: [&str; 2]) -> Estimate {
    let key = |row: &&Row| (row.session.clone(), row.id.clone(), row.form == Form::Exact);
    let others: BTreeMap<_, bool> =
        asked(rows, other).iter().map(|row| (key(row), row.right)).collect();
    let mut sums: BySession<'_, [Share; 2]> = BTreeMap::new();
    for row in asked(rows, one) {
        if let Some(right) = others.get(&key(&row)) {
            let both = sums.entry((&row.session, &row.cluster)).or_default();
            both[0].count(row.right);
            both[1].count(*right);
        }
    }
    let numbers = numbers(&sums);
    let sums: Vec<_> = numbers.into_iter().zip(sums.into_values()).collect();
    proportion_difference(sample, &sums)
}
