//! How likely recorded actions are under each view: a table and a document.

use super::{difference, signed};
use crate::number::count;
use crate::terminal::{ALWAYS, Head, Width, measured, table, wrap};
use foldback_replay::probe::likelihood::{Line, Row, lines};
use foldback_replay::stats::Estimate;
use serde::Serialize;
use std::collections::BTreeSet;

/// The result of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Likely {
    /// The model that was asked.
    pub model: String,
    /// The estimator that counted the tokens of requests.
    pub estimator: String,
    /// Sessions with an action.
    pub sessions: usize,
    /// Actions, under however many views.
    pub actions: usize,
    /// A line per preset.
    pub presets: Vec<Line>,
    /// Version of the program.
    pub version: &'static str,
}

impl Likely {
    /// The figures of these rows.
    pub fn from_rows(rows: &[Row], model: String, estimator: String) -> Self {
        let sessions: BTreeSet<&str> = rows.iter().map(|row| &*row.session).collect();
        let actions: BTreeSet<(&str, usize)> =
            rows.iter().map(|row| (&*row.session, row.call)).collect();
        Self {
            model,
            estimator,
            sessions: sessions.len(),
            actions: actions.len(),
            presets: lines(rows),
            version: env!("CARGO_PKG_VERSION"),
        }
    }

    /// The table, with what it means.
    pub fn text(&self, width: Width) -> String {
        let mut out = format!(
            "{} of {}, by log-probabilities of {}\n",
            count(self.actions as u64, "recorded action"),
            count(self.sessions as u64, "session"),
            self.model
        );
        let heads = [
            Head::names("preset"),
            Head::number("actions", 3),
            Head::number("nats", 6),
            Head::number("rise", ALWAYS),
            Head::number("a token", 4),
            Head::number("kept", 7),
            Head::number("rise, kept", 5),
            Head::number("rise, lost", 5),
            Head::number("tokens", 2),
        ];
        let row = |line: &Line| {
            let per_token = line.per_token.map_or("–".to_owned(), |rise| signed(rise, 2));
            vec![
                line.preset.clone(),
                line.actions.to_string(),
                line.nats.value.map_or("–".to_owned(), |nats| format!("{nats:.1}")),
                nats(&line.rise),
                per_token,
                measured(line.kept.value, line.kept.lo.zip(line.kept.hi)),
                nats(&line.rise_kept),
                nats(&line.rise_lost),
                line.tokens.to_string(),
            ]
        };
        table(&mut out, width, &heads, self.presets.iter().map(row).collect());
        out.push('\n');
        let meaning = "nats: negative log-probability of what the agent did next, a mean over actions · rise: how much more than under \
             the whole log, so how much less likely it is; also of a token · kept: of what these calls needed of older results, what \
             the view had · rise, kept and lost: of actions that had all that they needed of them, and that lacked some · tokens: of a request. \
             Intervals are 95 %, over sessions.";
        wrap(&mut out, "", "  ", meaning, width);
        for line in self.presets.iter().filter(|line| line.too_large > 0) {
            let left = count(line.too_large as u64, "action");
            let text = format!("{}: {left} did not fit the model and count nowhere", line.preset);
            wrap(&mut out, "", "  ", &text, width);
        }
        out
    }
}

fn nats(estimate: &Estimate) -> String {
    difference(estimate, |value| signed(value, 1))
}
