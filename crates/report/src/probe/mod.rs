//! What a model answered to questions about views: a table, a document, and a row for each answer.

pub mod likelihood;

use crate::number::count;
use crate::terminal::{ALWAYS, Head, Width, measured, table, wrap};
use foldback_replay::probe::figures::{Line, RECALL, Row};
use foldback_replay::probe::score::Outcome;
use foldback_replay::stats::Estimate;
use serde::Serialize;
use std::collections::BTreeSet;

/// The result of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Probed {
    /// The model that answered.
    pub model: String,
    /// The estimator that counted the tokens.
    pub estimator: String,
    /// Sessions that questions were asked of.
    pub sessions: usize,
    /// Questions, however many presets and forms each was asked under.
    pub questions: usize,
    /// A line per preset.
    pub presets: Vec<Line>,
    /// Version of the program.
    pub version: &'static str,
}

impl Probed {
    /// The figures of these rows.
    pub fn from_rows(rows: &[Row], model: String, estimator: String) -> Self {
        let sessions: BTreeSet<&str> = rows.iter().map(|row| &*row.session).collect();
        let questions: BTreeSet<(&str, &str)> =
            rows.iter().map(|row| (&*row.session, &*row.id)).collect();
        Self {
            model,
            estimator,
            sessions: sessions.len(),
            questions: questions.len(),
            presets: foldback_replay::probe::figures::lines(rows),
            version: env!("CARGO_PKG_VERSION"),
        }
    }

    /// The model and the questions.
    pub(crate) fn title(&self) -> String {
        format!(
            "{} of {}, answered by {}",
            count(self.questions as u64, "question"),
            count(self.sessions as u64, "session"),
            self.model
        )
    }

    /// The preset that differences are to.
    pub(crate) fn compared(&self) -> String {
        let first = self.presets.first().map_or("", |line| &line.preset);
        let recall = match self.presets.iter().any(|line| line.preset.ends_with(RECALL)) {
            true => format!("; of {RECALL} against the same without it"),
            false => String::new(),
        };
        format!("points against {first}, on the questions that both were asked{recall}")
    }

    /// What of each preset's answers is neither right nor wrong.
    pub(crate) fn cautions(&self) -> impl Iterator<Item = String> {
        let told = |line: &Line| Some(format!("{}: {}", line.preset, cautions(line)?));
        self.presets.iter().filter_map(told)
    }

    /// The tables, with what they mean.
    pub fn text(&self, width: Width) -> String {
        let mut out = self.title() + "\n";
        let heads = [
            Head::names("preset"),
            Head::number("asked", 3),
            Head::number("right, exact", ALWAYS),
            Head::number("right, choice", ALWAYS),
            Head::number("difference", 6),
            Head::number("in view", 7),
            Head::number("literal agrees", 5),
            Head::number("kept agrees", 4),
            Head::number("tokens", 2),
        ];
        let row = |(at, line): (usize, &Line)| {
            vec![
                line.preset.clone(),
                line.asked.to_string(),
                share(&line.exact),
                share(&line.choice),
                if at == 0 { String::new() } else { points(&line.difference) },
                share(&line.in_view),
                share(&line.agreement),
                share(&line.kept_agreement),
                line.tokens.to_string(),
            ]
        };
        table(&mut out, width, &heads, self.presets.iter().enumerate().map(row).collect());
        out.push_str("\nright, by calls since the answer was last in the log\n");
        let bands = self.presets.first().map_or(&[][..], |line| &line.ages);
        let mut heads = vec![Head::names("preset")];
        heads.extend(bands.iter().map(|(band, _)| Head::number(band.as_str(), 1)));
        let row = |line: &Line| {
            let cell = |share: &foldback_replay::stats::Share| match share.needed {
                0 => "–".to_owned(),
                needed => format!("{} of {needed}", share.kept),
            };
            let cells = line.ages.iter().map(|(_, share)| cell(share));
            [line.preset.clone()].into_iter().chain(cells).collect()
        };
        table(&mut out, width, &heads, self.presets.iter().map(row).collect());
        out.push('\n');
        let meaning = format!(
            "asked: each form by itself · right: exact as a string, choice as the letter of 3 or 4, where a guess is right in one of 3 or 4 · difference: \
             {} · in view: the answer stands in the view, letter by \
             letter · literal agrees: exact answers that are right just where that is so · kept agrees: the same by whether what the question \
             was made from is shown as it was recorded · tokens: of a request. Intervals are 95 %, over sessions.",
            self.compared()
        );
        wrap(&mut out, "", "  ", &meaning, width);
        for text in self.cautions() {
            wrap(&mut out, "", "  ", &text, width);
        }
        out
    }
}

/// What of a preset's answers is neither right nor wrong.
fn cautions(line: &Line) -> Option<String> {
    let mut parts: Vec<String> = Vec::new();
    if line.too_large > 0 {
        parts.push(format!("{} did not fit the model and count nowhere", line.too_large));
    }
    if line.recalls > 0 {
        parts.push(format!("looked something up {}", count(line.recalls as u64, "time")));
    }
    for (outcome, times) in &line.unusable {
        let what = match outcome {
            Outcome::Unknown => "said that it can't tell",
            Outcome::Form => "in another form than was asked for",
            Outcome::Empty => "empty",
            Outcome::Refused => "refused",
            Outcome::Late => "not in time",
            Outcome::Right | Outcome::Wrong | Outcome::TooLarge => continue,
        };
        parts.push(format!("{times} {what}"));
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn share(estimate: &Estimate) -> String {
    measured(estimate.value, estimate.lo.zip(estimate.hi))
}

/// A difference of shares in points, with its interval.
pub(crate) fn points(estimate: &Estimate) -> String {
    difference(estimate, |value| signed(value * 100.0, 0))
}

/// `+3.1 (−0.2 to +6.0)`, each number as `shown`.
fn difference(estimate: &Estimate, shown: impl Fn(f64) -> String) -> String {
    let Some(value) = estimate.value else { return "–".to_owned() };
    let interval = estimate.lo.zip(estimate.hi);
    let interval = interval.map(|(lo, hi)| format!(" ({} to {})", shown(lo), shown(hi)));
    shown(value) + &interval.unwrap_or_default()
}

fn signed(value: f64, digits: usize) -> String {
    format!("{value:+.digits$}").replace('-', "−")
}
