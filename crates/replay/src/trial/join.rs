//! The files of a trial put together, and what their units came to.

use super::TrialUnit;
use crate::compare::short_hash;
use foldback_live::trial::assign::unit_name;
use foldback_live::trial::record::{Trial, UnitLine};
use serde::Serialize;
use std::collections::BTreeMap;

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
    let mut merged: Option<(Trial, &str)> = None;
    let mut inputs = Vec::new();
    for (path, text) in files {
        let one = Trial::parse(text).map_err(|why| format!("{path}:{why}"))?;
        let (conversations, mut copies) = (one.conversations.len(), 0);
        match &mut merged {
            None => merged = Some((one, path)),
            Some((all, first))
                if (all.head.seed, &all.head.arms) != (one.head.seed, &one.head.arms) =>
            {
                return Err(format!(
                    "{path}:1: this file is of another trial than {first}: its seed is {} and {}, or its arms differ; give files of one \
                     trial",
                    one.head.seed, all.head.seed
                ));
            }
            Some((all, _)) => copies = merge(all, one, path)?,
        }
        let content = short_hash(text.as_bytes());
        inputs.push(TrialInput { path: path.clone(), content, conversations, copies });
    }
    let (trial, _) = merged.ok_or("no file of a trial was given")?;
    Ok((trial, inputs))
}

/// Adds the conversations of another machine; how many of them are copies. A conversation of which both have a part is added up.
fn merge(all: &mut Trial, one: Trial, path: &str) -> Result<usize, String> {
    let mut copies = 0;
    for line in one.conversations {
        let (unit, arm) = (&line.unit.unit, &line.unit.arm);
        let mut known = all.conversations.iter().map(|line| &line.unit);
        if let Some(other) = known.find(|known| known.unit == *unit && known.arm != *arm) {
            return Err(format!(
                "{path}: unit {unit} is in arm {arm}, and in {} in a file before; files of machines that share units need one file of a trial, \
                 or --no-guard",
                other.arm
            ));
        }
        let mut known = all.conversations.iter_mut();
        match known.find(|known| known.conversation == line.conversation) {
            Some(known) if *known == line => copies += 1,
            Some(known) => known.unit.add_part(&line.unit),
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
    let mut table = None;
    if let Some((path, text)) = outcomes {
        let joined = join(&mut units, &places, trial.head.seed, text);
        let joined = joined.map_err(|why| format!("{path}:{why}"))?;
        table = Some(OutcomeTable { path: path.to_owned(), ..joined });
    }
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
    text: &str,
) -> Result<OutcomeTable, String> {
    let content = short_hash(text.as_bytes());
    let mut table = OutcomeTable { content, ..OutcomeTable::default() };
    let mut reader =
        csv::ReaderBuilder::new().trim(csv::Trim::All).flexible(true).from_reader(text.as_bytes());
    let head = reader.headers().map_err(|error| format!("1: {error}"))?.clone();
    let column = |name: &str| head.iter().position(|column| column.eq_ignore_ascii_case(name));
    let figures = ["solved", "score", "seconds"].map(column);
    let named = column("unit").or(column("conversation"));
    let named = named.filter(|_| figures.iter().any(Option::is_some)).ok_or(
        "1: the table has no column `unit` or `conversation`, or none of `solved`, `score`, `seconds`; it begins as\nunit,solved\ntask-1,1",
    )?;
    let mut lines: BTreeMap<usize, u64> = BTreeMap::new();
    for record in reader.records() {
        let line = |at: Option<&csv::Position>| at.map_or(0, csv::Position::line);
        let record = record.map_err(|error| format!("{}: {error}", line(error.position())))?;
        let line = line(record.position());
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
        let number = |column: Option<usize>| {
            let text = column.and_then(|at| record.get(at)).unwrap_or_default();
            number(text).map_err(|why| format!("{line}: {why}"))
        };
        let [solved, score, seconds] = figures;
        let unit = &mut units[at];
        unit.name = Some(name.to_owned());
        (unit.solved, unit.score) = (number(solved)?, number(score)?);
        unit.seconds = number(seconds)?.unwrap_or(unit.seconds);
        if let Some(value) = unit.solved.filter(|value| ![0.0, 1.0].contains(value)) {
            return Err(format!(
                "{line}: `solved` is {value}, and must be 1 or 0; a column `score` takes any number"
            ));
        }
    }
    table.found = lines.len();
    if let (0, [first, ..]) = (table.found, &*table.unknown) {
        return Err(format!(
            "2: no row is of this trial, such as `{first}`; a unit is what the header x-foldback-unit named, a conversation what \
             x-foldback-conversation said",
        ));
    }
    let missing = units.iter().filter(|unit| unit.name.is_none());
    table.missing = missing.map(|unit| unit.line.unit.clone()).collect();
    Ok(table)
}

fn number(text: &str) -> Result<Option<f64>, String> {
    match text.to_ascii_lowercase().as_str() {
        "" => Ok(None),
        "true" | "yes" => Ok(Some(1.0)),
        "false" | "no" => Ok(Some(0.0)),
        lower => match lower.parse() {
            Ok(number) if f64::is_finite(number) => Ok(Some(number)),
            _ => Err(format!("`{text}` is no number; write 1 or 0, true or false, or a number")),
        },
    }
}
