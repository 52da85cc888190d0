//! The files of a trial put together, and what their units came to.

use super::TrialUnit;
use crate::compare::short_hash;
use foldback_live::trial::assign::unit_name;
use foldback_live::trial::record::Trial;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

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

/// What a unit came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TrialOutcome {
    /// 1 for solved, 0 for not.
    pub solved: Option<f64>,
    /// Any number.
    pub score: Option<f64>,
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

/// A trial and its outcomes.
pub(super) struct Joined {
    pub(super) trial: Trial,
    pub(super) files: Vec<TrialInput>,
    pub(super) units: Vec<TrialUnit>,
    pub(super) outcomes: Option<OutcomeTable>,
}

pub(super) fn joined(
    files: &[(String, String)],
    outcomes: Option<(&str, &str)>,
) -> Result<Joined, String> {
    let mut merged: Option<(Trial, &str)> = None;
    let mut inputs = Vec::new();
    for (path, text) in files {
        let one = Trial::parse(text).map_err(|why| format!("{path}:{why}"))?;
        let count = one.conversations.len();
        let mut copies = 0;
        match &mut merged {
            None => merged = Some((one, path)),
            Some((all, first)) if !all.head.is_same_trial(&one.head) => {
                return Err(format!(
                    "{path}:1: this file is of another trial than {first}: its seed is {} and {}, or its arms differ; give files of one \
                     trial",
                    one.head.seed, all.head.seed
                ));
            }
            Some((all, _)) => copies = merge(all, one, path)?,
        }
        let content = short_hash(text.as_bytes());
        inputs.push(TrialInput { path: path.clone(), content, conversations: count, copies });
    }
    let Some((trial, _)) = merged else { return Err("no file of a trial was given".to_owned()) };
    let sums = trial.units();
    // By the names of units and of conversations.
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for (at, unit) in sums.iter().enumerate() {
        places.insert(unit.unit.clone(), at);
        places.extend(unit.conversations.iter().map(|name| (name.clone(), at)));
    }
    let mut units: Vec<TrialUnit> = sums.into_iter().map(TrialUnit::new).collect();
    let table = match outcomes {
        Some((path, text)) => Some(
            join(&mut units, &places, trial.head.seed, path, text)
                .map_err(|why| format!("{path}:{why}"))?,
        ),
        None => None,
    };
    // A unit of which no request was answered says nothing.
    units.retain(|unit| unit.sums.calls + unit.sums.refusals + unit.sums.failures > 0);
    Ok(Joined { trial, files: inputs, units, outcomes: table })
}

/// Adds the conversations of another machine; how many of them are copies. A conversation of which both have a part is added up.
fn merge(all: &mut Trial, one: Trial, path: &str) -> Result<usize, String> {
    let mut copies = 0;
    let known = || all.conversations.iter();
    let arms: HashMap<String, String> =
        known().map(|line| (line.unit.clone(), line.arm.clone())).collect();
    let places: HashMap<String, usize> =
        known().enumerate().map(|(at, line)| (line.conversation.clone(), at)).collect();
    for line in one.conversations {
        if let Some(other) = arms.get(&line.unit).filter(|arm| **arm != line.arm) {
            return Err(format!(
                "{path}: unit {} is in arm {}, and in {other} in a file before; files of machines that share units need one file of a trial, \
                 or --no-guard",
                line.unit, line.arm
            ));
        }
        match places.get(&line.conversation).map(|at| &mut all.conversations[*at]) {
            Some(known) if *known == line => copies += 1,
            Some(known) => {
                known.sums.add(&line.sums);
                known.setbacks = known.setbacks.or_before(line.setbacks);
                known.first_ms = known.first_ms.min(line.first_ms);
                if line.last_ms > known.last_ms {
                    (known.last_ms, known.stop) = (line.last_ms, line.stop);
                }
            }
            None => all.conversations.push(line),
        }
    }
    for stop in one.stops {
        if all.is_open(&stop.stopped) {
            all.stops.push(stop);
        }
    }
    Ok(copies)
}

fn join(
    units: &mut [TrialUnit],
    places: &BTreeMap<String, usize>,
    seed: u64,
    path: &str,
    text: &str,
) -> Result<OutcomeTable, String> {
    let mut table = OutcomeTable {
        path: path.to_owned(),
        content: short_hash(text.as_bytes()),
        ..OutcomeTable::default()
    };
    let mut reader =
        csv::ReaderBuilder::new().trim(csv::Trim::All).flexible(true).from_reader(text.as_bytes());
    let head = reader.headers().map_err(|error| format!("1: {error}"))?.clone();
    let column = |name: &str| head.iter().position(|column| column.eq_ignore_ascii_case(name));
    let named = column("unit").or(column("conversation"));
    let figures = ["solved", "score", "seconds"].map(column);
    let (Some(named), true) = (named, figures.iter().any(Option::is_some)) else {
        return Err("1: the table has no column `unit` or `conversation`, or none of `solved`, `score`, `seconds`; it begins as\n\
                    unit,solved\ntask-1,1"
            .to_owned());
    };
    let mut lines: BTreeMap<usize, u64> = BTreeMap::new();
    for record in reader.records() {
        let record = record.map_err(|error| {
            let line = error.position().map_or(0, csv::Position::line);
            format!("{line}: {error}")
        })?;
        let line = record.position().map_or(0, csv::Position::line);
        let name = record.get(named).unwrap_or_default();
        table.rows += 1;
        let found = places.get(name).or_else(|| places.get(&unit_name(seed, name)));
        let Some(&at) = found else {
            table.unknown.push(name.to_owned());
            continue;
        };
        if let Some(before) = lines.insert(at, line) {
            return Err(format!(
                "{line}: `{name}` has an outcome in line {before} already; a unit has one row"
            ));
        }
        let number = |column: Option<usize>| -> Result<Option<f64>, String> {
            let Some(text) = column.and_then(|at| record.get(at)).filter(|text| !text.is_empty())
            else {
                return Ok(None);
            };
            let value = match text.to_ascii_lowercase().as_str() {
                "true" | "yes" => Some(1.0),
                "false" | "no" => Some(0.0),
                text => text.parse().ok().filter(|value: &f64| value.is_finite()),
            };
            let wrong = || {
                format!("{line}: `{text}` is no number; write 1 or 0, true or false, or a number")
            };
            value.map(Some).ok_or_else(wrong)
        };
        let [solved, score, seconds] = figures;
        let (solved, seconds) = (number(solved)?, number(seconds)?);
        if let Some(value) = solved.filter(|value| ![0.0, 1.0].contains(value)) {
            return Err(format!(
                "{line}: `solved` is {value}, and must be 1 or 0; a column `score` takes any number"
            ));
        }
        let unit = &mut units[at];
        unit.name = Some(name.to_owned());
        unit.outcome = Some(TrialOutcome { solved, score: number(score)? });
        unit.seconds = seconds.unwrap_or(unit.seconds);
    }
    table.found = lines.len();
    if table.rows > 0 && table.found == 0 {
        return Err(format!(
            "2: no row is of this trial, such as `{}`; a unit is what the header x-foldback-unit named, a conversation what \
             x-foldback-conversation said",
            table.unknown[0]
        ));
    }
    let missing = units.iter().filter(|unit| unit.outcome.is_none());
    table.missing = missing.map(|unit| unit.unit.clone()).collect();
    Ok(table)
}
