//! Tables of outcomes: what sessions, units or conversations came to, as whoever ran them knows. A table is lines of JSON, or CSV whose
//! first line names the columns. `compare` and `trial` read the same tables.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::collections::BTreeMap;

/// What a table looks like.
const FORM: &str = "a line names a session, a unit or a conversation and says what it came to, as \
                    {\"session\": \"ID\", \"arm\": \"ARM\", \"solved\": true} does, or a CSV file that begins as\nunit,solved\ntask-1,1";

/// Columns of CSV that are read, by what they say; of several the first. Tables have others, too.
const COLUMNS: [&[&str]; 6] = [
    &["unit", "conversation", "session"],
    &["arm"],
    &["task"],
    &["solved", "resolved"],
    &["score"],
    &["seconds"],
];

/// A row of a table.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutcomeRow {
    /// Line of the file, from 1.
    #[serde(skip)]
    pub line: usize,
    /// What it is of, such as the path of a session or the name of a unit.
    #[serde(default, alias = "session", alias = "unit", alias = "conversation")]
    pub name: String,
    /// What a session was recorded under.
    pub arm: Option<String>,
    /// What sessions of other arms are paired by.
    pub task: Option<String>,
    /// 1 for solved, 0 for not.
    #[serde(default, alias = "resolved", deserialize_with = "number")]
    pub solved: Option<f64>,
    /// Any number.
    #[serde(default, deserialize_with = "number")]
    pub score: Option<f64>,
    /// How long it took.
    #[serde(default, deserialize_with = "number")]
    pub seconds: Option<f64>,
}

/// Reads a table.
///
/// # Errors
///
/// The first line that is wrong, or that there is no outcome at all.
pub fn read(text: &str) -> Result<Vec<OutcomeRow>, String> {
    let rows = match text.trim_start().starts_with('{') {
        true => json_rows(text)?,
        false => csv_rows(text).map_err(|error| error.to_string())?,
    };
    let row = |(line, row): (usize, Value)| {
        let row = serde_json::from_value(row).map_err(|error| format!("{line}: {error}"))?;
        Ok::<_, String>(OutcomeRow { line, ..row })
    };
    let rows: Vec<OutcomeRow> = rows.into_iter().map(row).collect::<Result<_, _>>()?;
    let says = |row: &OutcomeRow| row.solved.or(row.score).or(row.seconds).is_some();
    match rows.iter().find(|row| row.name.is_empty()).map(|row| row.line) {
        None if rows.iter().any(says) => Ok(rows),
        nameless => Err(format!("{}: there is no outcome; {FORM}", nameless.unwrap_or(1))),
    }
}

/// Lines of JSON with their numbers.
fn json_rows(text: &str) -> Result<Vec<(usize, Value)>, String> {
    let lines = (1..).zip(text.lines()).filter(|(_, text)| !text.trim().is_empty());
    let row = |(line, text)| {
        let row = serde_json::from_str(text).map_err(|error| {
            let (column, why) = (error.column(), error.to_string());
            format!(
                "{line}: column {column}: {}",
                why.split(" at line ").next().unwrap_or_default()
            )
        })?;
        Ok((line, row))
    };
    lines.map(row).collect()
}

/// Rows of CSV with their lines. An empty cell says nothing.
fn csv_rows(text: &str) -> csv::Result<Vec<(usize, Value)>> {
    let mut reader =
        csv::ReaderBuilder::new().trim(csv::Trim::All).flexible(true).from_reader(text.as_bytes());
    let head: Vec<String> = reader.headers()?.iter().map(str::to_ascii_lowercase).collect();
    let place = |name: &&'static str| Some((*name, head.iter().position(|column| column == name)?));
    let columns = COLUMNS.map(|names| names.iter().find_map(place));
    let row = |record: csv::Result<csv::StringRecord>| {
        let record = record?;
        let line = record.position().map_or(0, |at| at.line() as usize);
        let cells = columns.iter().flatten();
        let cells = cells.filter_map(|(name, at)| Some((*name, record.get(*at)?)));
        let cells = cells.filter(|(_, cell)| !cell.is_empty());
        Ok((line, cells.map(|(name, cell)| (name.to_owned(), cell)).collect()))
    };
    reader.records().map(row).collect()
}

/// A number, or yes or no in one of the forms in which tables have them.
fn number<'de, D: Deserializer<'de>>(value: D) -> Result<Option<f64>, D::Error> {
    let value = Value::deserialize(value)?;
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_ascii_lowercase);
    match &*text {
        "null" => Ok(None),
        "true" | "yes" => Ok(Some(1.0)),
        "false" | "no" => Ok(Some(0.0)),
        _ => match text.parse() {
            Ok(number) if f64::is_finite(number) => Ok(Some(number)),
            _ => Err(D::Error::custom(format!(
                "{value} is no number; write 1 or 0, true or false, or a number"
            ))),
        },
    }
}

/// Rows, and the places of what they are of.
pub(crate) struct JoinedRows<'r> {
    /// In the order of the rows.
    pub(crate) found: Vec<(usize, &'r OutcomeRow)>,
    /// What rows name and nothing is called.
    pub(crate) unknown: Vec<String>,
}

/// Joins rows to what `find` says they are of. `names` says what rows may call it, for where nothing is found.
pub(crate) fn join<'r>(
    rows: &'r [OutcomeRow],
    mut find: impl FnMut(&OutcomeRow) -> Result<Option<usize>, String>,
    names: &str,
) -> Result<JoinedRows<'r>, String> {
    let mut joined = JoinedRows { found: Vec::new(), unknown: Vec::new() };
    let mut lines = BTreeMap::new();
    for row in rows {
        let OutcomeRow { line, name, .. } = row;
        let Some(at) = find(row).map_err(|why| format!("{line}: {why}"))? else {
            joined.unknown.push(name.clone());
            continue;
        };
        if let Some(before) = lines.insert(at, line) {
            return Err(format!("{line}: `{name}` has an outcome in line {before} already"));
        }
        joined.found.push((at, row));
    }
    match (&*joined.found, rows) {
        ([], [OutcomeRow { line, name, .. }, ..]) => {
            Err(format!("{line}: no row is of anything here, such as `{name}`; {names}"))
        }
        _ => Ok(joined),
    }
}
