//! The files of a trial put together, and what their units came to.

use super::TrialUnit;
use crate::compare::short_hash;
use crate::outcomes::{self, JoinedRows, OutcomeRow};
use foldback_live::trial::assign::unit_name;
use foldback_live::trial::record::{Trial, UnitLine};
use serde::Serialize;
use std::collections::BTreeMap;

/// What a row of outcomes may call a unit.
const NAMES: &str = "a unit is what the header x-foldback-unit named, a conversation what x-foldback-conversation said";

/// A file of the trial.
#[derive(Clone, Debug, Serialize)]
pub struct TrialInput {
    /// Its path.
    pub path: String,
    /// The first 16 hexadecimal digits of its BLAKE3 hash.
    pub content: String,
    /// Its conversations.
    pub conversations: usize,
    /// Of them, those that a file before has, word for word.
    pub copies: usize,
}

/// How outcomes were joined.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct OutcomeTable {
    /// Path of the table.
    pub path: String,
    /// The first 16 hexadecimal digits of its BLAKE3 hash.
    pub content: String,
    /// Rows.
    pub rows: usize,
    /// Units that were found.
    pub found: usize,
    /// What rows name and the trial does not have.
    pub unknown: Vec<String>,
    /// Units without an outcome, by their names in the file.
    pub missing: Vec<String>,
}

/// The files of a trial, put together.
pub(super) fn merged(files: &[(String, String)]) -> Result<(Trial, Vec<TrialInput>), String> {
    let (mut merged, mut inputs) = (None::<Trial>, Vec::new());
    for (path, text) in files {
        let one = Trial::parse(text).map_err(|why| format!("{path}:{why}"))?;
        let (conversations, mut copies) = (one.conversations.len(), 0);
        match &mut merged {
            None => merged = Some(one),
            Some(all) if !all.head.is_same_trial(&one.head) => {
                let (its, other) = (one.head.seed, all.head.seed);
                return Err(format!(
                    "{path}:1: this file is of another trial than {}: its seed is {its} and {other}, or its arms differ; give files of \
                     one trial",
                    files[0].0
                ));
            }
            Some(all) => copies = merge(all, one).map_err(|why| format!("{path}: {why}"))?,
        }
        let content = short_hash(text.as_bytes());
        inputs.push(TrialInput { path: path.clone(), content, conversations, copies });
    }
    Ok((merged.ok_or("no file of a trial was given")?, inputs))
}

/// Adds the lines of another file; how many of its conversations are copies. What two machines have of one conversation adds up in its unit.
fn merge(all: &mut Trial, one: Trial) -> Result<usize, String> {
    let before = all.conversations.len();
    let mut copies = 0;
    for line in one.conversations {
        let (UnitLine { unit, arm, .. }, known) = (&line.unit, &all.conversations[..before]);
        let other = known.iter().find(|it| it.unit.unit == *unit && it.unit.arm != *arm);
        if let Some(other) = other {
            return Err(format!(
                "unit {unit} is in arm {arm}, and in {} in a file before; files of machines that share units need one file of a trial, or \
                 --no-guard",
                other.unit.arm
            ));
        }
        match known.contains(&line) {
            true => copies += 1,
            false => all.conversations.push(line),
        }
    }
    let stops = one.stops.into_iter().filter(|stop| all.is_open(&stop.stopped));
    let stops: Vec<_> = stops.collect();
    all.stops.extend(stops);
    Ok(copies)
}

/// The units of a trial, with the outcomes of a table.
pub(super) fn units(
    trial: &Trial,
    outcomes: Option<(&str, &str)>,
) -> Result<(Vec<TrialUnit>, Option<OutcomeTable>), String> {
    let unit = |line: UnitLine| TrialUnit {
        seconds: (line.last_ms - line.first_ms) as f64 / 1e3,
        line,
        name: None,
        conversations: 0,
        solved: None,
        score: None,
    };
    let mut units: Vec<TrialUnit> = trial.units().into_iter().map(unit).collect();
    // By the names of units and of conversations.
    let named = units.iter().enumerate().map(|(at, unit)| (unit.line.unit.clone(), at));
    let mut places: BTreeMap<String, usize> = named.collect();
    for line in &trial.conversations {
        let at = places[&line.unit.unit];
        units[at].conversations += 1;
        places.insert(line.conversation.clone(), at);
    }
    let table = outcomes.map(|(path, text)| {
        let joined = join(&mut units, &places, trial.head.seed, path, text);
        joined.map_err(|why| format!("{path}:{why}"))
    });
    let table = table.transpose()?;
    // A unit of which no request was answered says nothing.
    units.retain(|TrialUnit { line: UnitLine { sums, .. }, .. }| {
        sums.calls + sums.refusals + sums.failures > 0
    });
    Ok((units, table))
}

fn join(
    units: &mut [TrialUnit],
    places: &BTreeMap<String, usize>,
    seed: u64,
    path: &str,
    text: &str,
) -> Result<OutcomeTable, String> {
    let rows = outcomes::read(text)?;
    let place = |OutcomeRow { name, solved, .. }: &OutcomeRow| match solved {
        Some(value) if ![0.0, 1.0].contains(value) => Err(format!(
            "`solved` is {value}, and must be 1 or 0; a column `score` takes any number"
        )),
        _ => Ok(places.get(name).or_else(|| places.get(&unit_name(seed, name))).copied()),
    };
    let JoinedRows { found, unknown } = outcomes::join(&rows, place, NAMES)?;
    for (at, row) in &found {
        let unit = &mut units[*at];
        unit.name = Some(row.name.clone());
        (unit.solved, unit.score) = (row.solved, row.score);
        unit.seconds = row.seconds.unwrap_or(unit.seconds);
    }
    let missing = units.iter().filter(|unit| unit.name.is_none());
    Ok(OutcomeTable {
        path: path.to_owned(),
        content: short_hash(text.as_bytes()),
        rows: rows.len(),
        found: found.len(),
        unknown,
        missing: missing.map(|unit| unit.line.unit.clone()).collect(),
    })
}
