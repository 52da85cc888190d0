//! Rows: what is given, and what is claimed of what can be seen afterwards.

use super::given::Given;
use super::session::{Seen, TURN, run};
use foldback_core::log::EntryKind;
use serde::Deserialize;

/// One row.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// Id of the reference.
    pub(crate) id: String,
    /// `upstream` (the original's own test), `reference` (read from its code or documents), `ours` (what
    /// foldback does where it differs, or more than the original states).
    pub(crate) origin: String,
    /// What is special about it.
    pub(crate) name: String,
    pub(crate) given: Given,
    pub(crate) expect: Vec<Claim>,
}

/// What a row expects. Requests are numbered from 0, the agent's and the summarizer's together.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Claim {
    /// Exactly these requests were sent, in this order, e.g. `agent summary agent`.
    Asked(String),
    /// How the last act ended begins with this.
    Ended(String),
    /// The last fold that was tried ended with this outcome, and its reason contains this.
    Fold(String, String),
    /// The view, message by message; each begins with this.
    View(Vec<String>),
    /// No request, no message of the view and nothing that was stored contains this.
    Nowhere(String),
    /// Nothing is stored and nothing is folded: the view is the log.
    NothingStored,
    /// What was stored, in order.
    Stored(Vec<EntryKind>),
    /// So many folds are in force.
    Folds(usize),
    /// What was stored contains this text.
    StoredText(String),
    /// A request contains this.
    Shows(usize, String),
    /// A request does not contain this.
    Hides(usize, String),
    /// A request contains this exactly once.
    ShowsOnce(usize, String),
    /// The last turn of a request is this.
    LastTurn(usize, String),
    /// The first turn of a request begins with this.
    FirstTurn(usize, String),
    /// A request has so many turns.
    Turns(usize, usize),
    /// Who wrote the last summary begins with this.
    By(String),
    /// What observers were told.
    Events(String),
    /// Milliseconds that were waited.
    Waited(u64),
}

/// Runs all rows and names every one that fails.
pub(crate) fn check(rows: &[Row]) {
    let mut failed = Vec::new();
    for row in rows {
        let seen = run(&row.given);
        let mut wrong: Vec<String> = row
            .expect
            .iter()
            .filter_map(|claim| claim.fault(&seen).map(|what| format!("{claim:?}: {what}")))
            .collect();
        // Holds in every row.
        if !seen.whole {
            wrong.push("the log is not what was appended".to_owned());
        }
        if seen.left > 0 {
            wrong.push(format!("{} replies were never asked for", seen.left));
        }
        if !wrong.is_empty() {
            let Row { id, origin, name, .. } = row;
            let outcomes = seen.outcomes.join("; ");
            failed.push(format!(
                "{id} ({origin}) {name} [folds: {outcomes}]:\n  {}",
                wrong.join("\n  ")
            ));
        }
    }
    assert!(failed.is_empty(), "\n{}", failed.join("\n"));
}

impl Claim {
    /// What is wrong, where the claim does not hold.
    fn fault(&self, seen: &Seen) -> Option<String> {
        let request = |index: &usize| seen.requests.get(*index).map_or("", String::as_str);
        let turns = |index: &usize| -> Vec<String> {
            let texts = request(index).split(TURN).skip(1);
            texts.map(str::to_owned).collect()
        };
        let unless = |holds: bool, got: String| (!holds).then_some(got);
        match self {
            Self::Asked(who) => unless(seen.asked == *who, seen.asked.clone()),
            Self::Ended(how) => unless(seen.ended.starts_with(how), seen.ended.clone()),
            Self::Fold(outcome, why) => {
                let last = seen.outcomes.last().cloned().unwrap_or_default();
                unless(last.starts_with(outcome) && last.contains(why), last)
            }
            Self::View(expected) => {
                let same = seen.view.len() == expected.len()
                    && seen.view.iter().zip(expected).all(|(got, begins)| got.starts_with(begins));
                unless(same, format!("{:#?}", seen.view))
            }
            Self::Nowhere(text) => {
                let texts = seen.requests.iter().chain(&seen.view);
                let found = texts.chain([&seen.stored]).find(|found| found.contains(text));
                found.cloned()
            }
            Self::NothingStored => unless(
                seen.entries.is_empty() && seen.folds == 0,
                format!("{} folds, {:?}", seen.folds, seen.entries),
            ),
            Self::Stored(kinds) => unless(seen.entries == *kinds, format!("{:?}", seen.entries)),
            Self::Folds(count) => unless(seen.folds == *count, seen.folds.to_string()),
            Self::StoredText(text) => unless(seen.stored.contains(text), seen.stored.clone()),
            Self::Shows(at, text) => unless(request(at).contains(text), request(at).to_owned()),
            Self::Hides(at, text) => unless(!request(at).contains(text), request(at).to_owned()),
            Self::ShowsOnce(at, text) => {
                unless(request(at).matches(text).count() == 1, request(at).to_owned())
            }
            Self::LastTurn(at, text) => {
                let last = turns(at).pop().unwrap_or_default();
                unless(last == *text, last)
            }
            Self::FirstTurn(at, text) => {
                let first = turns(at).into_iter().next().unwrap_or_default();
                unless(first.starts_with(text), first)
            }
            Self::Turns(at, count) => {
                let turns = turns(at);
                unless(turns.len() == *count, format!("{turns:#?}"))
            }
            Self::By(who) => {
                let by = seen.by.last().cloned().unwrap_or_default();
                unless(by.starts_with(who), by)
            }
            Self::Events(expected) => unless(seen.events == *expected, seen.events.clone()),
            Self::Waited(expected) => unless(seen.waited == *expected, seen.waited.to_string()),
        }
    }
}
