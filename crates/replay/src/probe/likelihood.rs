//! How likely a model holds what the recorded one did next, under the view of each preset against the whole log.
//!
//! `nats` is the negative log-probability of an action, the sum over its tokens; `rise` is how much larger it is than under
//! the whole log. Means are over actions, their intervals over sessions, those of one repository or task left out together.

use crate::in_order;
use crate::stats::Share;
use crate::stats::{Estimate, Sample, clusters, proportion, tested_mean};
use serde::Serialize;

/// An action under a view.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Path of the file, followed by `#id` if the file holds several sessions.
    pub session: String,
    /// Task or repository: sessions of one are not independent. The path if not recorded.
    pub cluster: String,
    /// Name of the preset, with the summarizer that stood in; `full` and `nothing` are controls.
    pub preset: String,
    /// Number of the call.
    pub call: usize,
    /// Negative log-probability of the action; `null` if it or the whole log does not fit into the model's window.
    pub nats: Option<f64>,
    /// How much larger that is than under the whole log.
    pub rise: Option<f64>,
    /// Tokens of the action, as the model's own tokenizer counts them.
    pub action_tokens: usize,
    /// What the call needed of older results, as `kept` counts it; 0 under a control.
    pub needed: u64,
    /// How much of it the view had.
    pub kept: u64,
    /// Size of the request in tokens, by the reporting estimator.
    pub tokens: u64,
}

/// What a preset came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// Its name.
    pub preset: String,
    /// Actions that have a likelihood.
    pub actions: usize,
    /// Actions that do not fit into the model's window, in this view or with the whole log, and count nowhere.
    pub too_large: usize,
    /// Mean nats of an action.
    pub nats: Estimate,
    /// Mean rise of an action.
    pub rise: Estimate,
    /// Mean rise of a token.
    pub per_token: Option<f64>,
    /// Share of what the calls needed of older results that the view had.
    pub kept: Estimate,
    /// Mean rise of actions that needed something of older results, all of it in the view.
    pub rise_kept: Estimate,
    /// Mean rise of actions that needed something of older results, some of it not in the view.
    pub rise_lost: Estimate,
    /// Mean size of a request in tokens.
    pub tokens: u64,
}

/// The calls of a session whose actions are looked at: so many at even distances, the last one among them.
pub fn calls(of: usize, most: usize) -> Vec<usize> {
    // The first call has nothing before it that a preset could have changed.
    let last = of.saturating_sub(1);
    let count = most.min(last);
    (1..=count).map(|number| number * last / count).collect()
}

/// A line per preset, in the order of the rows.
pub fn lines(rows: &[Row]) -> Vec<Line> {
    let sample = Sample::default();
    let presets = in_order(rows.iter().map(|row| &*row.preset));
    let line = |preset: &&str| {
        let all: Vec<&Row> = rows.iter().filter(|row| row.preset == *preset).collect();
        let told: Vec<&Row> = all.iter().copied().filter(|row| row.nats.is_some()).collect();
        let (numbers, _) = clusters(&told.iter().map(|row| &*row.cluster).collect::<Vec<_>>());
        let mean = |value: &dyn Fn(&Row) -> Option<f64>| {
            let values = numbers.iter().zip(&told);
            let values = values.filter_map(|(cluster, row)| Some((*cluster, value(row)?)));
            tested_mean(&sample, &values.collect::<Vec<_>>())
        };
        let share = |row: &&Row| Share { kept: row.kept, needed: row.needed };
        let tokens: usize = told.iter().map(|row| row.action_tokens).sum();
        let rise: f64 = told.iter().filter_map(|row| row.rise).sum();
        let size: u64 = told.iter().map(|row| row.tokens).sum();
        Line {
            preset: (*preset).to_owned(),
            actions: told.len(),
            too_large: all.len() - told.len(),
            nats: mean(&|row| row.nats),
            rise: mean(&|row| row.rise),
            per_token: (tokens > 0).then(|| rise / tokens as f64),
            kept: proportion(&sample, numbers.iter().copied().zip(told.iter().map(share))),
            rise_kept: mean(&|row| row.rise.filter(|_| row.needed > 0 && row.kept == row.needed)),
            rise_lost: mean(&|row| row.rise.filter(|_| row.kept < row.needed)),
            tokens: size.checked_div(told.len() as u64).unwrap_or(0),
        }
    };
    presets.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_spread_over_a_session() {
        let table: [(usize, usize, &[usize]); 6] = [
            (0, 3, &[]),
            (1, 3, &[]),
            (3, 9, &[1, 2]),
            (11, 2, &[5, 10]),
            (101, 4, &[25, 50, 75, 100]),
            (9, 0, &[]),
        ];
        for (of, most, expected) in table {
            assert_eq!(calls(of, most), expected, "{of} {most}");
        }
    }

    #[test]
    fn a_rise_is_averaged_over_actions_and_split_by_what_was_kept() {
        let row = |session: usize, call, nats: Option<f64>, rise, (kept, needed)| Row {
            session: session.to_string(),
            cluster: session.to_string(),
            preset: "a".to_owned(),
            call,
            nats,
            rise,
            action_tokens: 10,
            needed,
            kept,
            tokens: 100,
        };
        let rows = [
            row(1, 1, Some(12.0), Some(2.0), (1, 1)),
            row(1, 2, Some(20.0), Some(8.0), (1, 2)),
            row(2, 1, Some(10.0), Some(-1.0), (0, 0)),
            row(2, 2, None, None, (0, 3)),
        ];
        let [line] = &lines(&rows)[..] else { panic!() };
        assert_eq!((line.actions, line.too_large, line.tokens), (3, 1, 100));
        assert_eq!((line.nats.value, line.rise.value), (Some(14.0), Some(3.0)));
        assert_eq!((line.rise_kept.value, line.rise_lost.value), (Some(2.0), Some(8.0)));
        assert_eq!((line.per_token, line.kept.value), (Some(0.3), Some(2.0 / 3.0)));
        assert!(line.rise.lo.unwrap() < 0.0 && line.rise.hi.unwrap() > 4.0, "{:?}", line.rise);
    }
}
