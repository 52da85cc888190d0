//! A part as a table: a row for each line, and the head and the end with what is known of the whole file. The columns that say what
//! a row is about and the main figures are for whoever looks into it; `data` is for the comparison.

use crate::rows::cell::Cell;
use crate::rows::parquet::{SCHEMA as NAMED_SCHEMA, Table, Value};
use foldback_replay::Store;
use foldback_replay::scores::{Entry, Figures, Line, Of, Reader, SCHEMA, Scored, ScoresError};
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::{Field, Row};
use serde_json::{Map, Value as Json};
use std::fs::File;
use std::io::{Result, Write};

const HEAD: &str = "foldback.head";
const END: &str = "foldback.end";

/// The columns of text; empty where a line has none.
const TEXTS: [&str; 8] = ["line", "of", "path", "content", "session", "preset", "reason", "key"];

const DATA: &str = "data";

/// The columns of figures by name, in their order.
fn figures(figures: &Figures) -> Result<Map<String, Json>> {
    match serde_json::to_value(figures)? {
        Json::Object(figures) => Ok(figures),
        _ => unreachable!("figures have names"),
    }
}

pub(super) fn write(scored: Scored, store: &Store, out: &mut dyn Write) -> Result<()> {
    let names = figures(&Figures::default())?;
    let texts = TEXTS.iter().map(|name| (*name, Value::from(Cell::from(""))));
    let numbers = names.keys().map(|name| (name.as_str(), Value::from(Cell::Optional(None))));
    let columns = texts.chain(numbers).chain([(DATA, Value::Bytes(Vec::new()))]);
    let mut table = Table::new(SCHEMA, columns, out)?;
    scored.lines(store, |line, text| {
        let text = || String::from_utf8_lossy(text.trim_ascii_end()).into_owned();
        let (texts, entry): ([&str; TEXTS.len()], Option<&Entry>) = match line {
            Line::Head(_) => {
                table.note(HEAD, text());
                return Ok(());
            }
            Line::End { .. } => {
                table.note(END, text());
                return Ok(());
            }
            Line::Source { path, content, failed } => {
                (["source", "", path, content, "", "", failed.as_deref().unwrap_or(""), ""], None)
            }
            Line::Unreadable { path, reason } => {
                (["unreadable", "", path, "", "", "", reason, ""], None)
            }
            Line::Entry(entry) => {
                let Entry { of, path, content, session, preset, key, .. } = entry;
                let (session, preset) = (session.as_deref(), preset.as_deref());
                let (session, preset) = (session.unwrap_or(""), preset.unwrap_or(""));
                (["entry", of.name(), path, content, session, preset, "", key], Some(entry))
            }
        };
        let made = entry.and_then(|entry| entry.figures.as_ref()).map(figures).transpose()?;
        let number = |name| made.as_ref().and_then(|made| made.get(name)).and_then(Json::as_u64);
        let texts = texts.into_iter().map(|text| Value::from(Cell::from(text)));
        let numbers = names.keys().map(|name| Value::from(Cell::from(number(name))));
        let data = entry.map(|entry| entry.data.clone()).unwrap_or_default();
        table.push(texts.chain(numbers).chain([Value::Bytes(data)]))
    })?;
    table.finish()
}

pub(super) fn read(
    part: &str,
    file: File,
    reader: &mut Reader<'_>,
) -> std::result::Result<(), ScoresError> {
    let mut at = 1;
    rows(file, reader, &mut at).map_err(|why| ScoresError { part: part.to_owned(), line: at, why })
}

/// `at` counts the rows, and the head and the end like rows.
fn rows(file: File, reader: &mut Reader<'_>, at: &mut usize) -> std::result::Result<(), String> {
    let broken = |error| format!("{error}; copy the part again");
    let file = SerializedFileReader::new(file).map_err(broken)?;
    let noted = file.metadata().file_metadata().key_value_metadata();
    let noted = |name: &str| {
        let one = noted?.iter().find(|one| one.key == name)?;
        one.value.as_deref()
    };
    match noted(NAMED_SCHEMA) {
        Some(SCHEMA) => {}
        Some(other) => return Err(format!("has the schema {other}; this is {SCHEMA}")),
        None => return Err("not a part of scores; `foldback score` writes them".to_owned()),
    }
    let line = |name| {
        let text = noted(name).ok_or_else(|| format!("has no `{name}`; copy the part again"))?;
        let line: Line = serde_json::from_str(text).map_err(|error| format!("{name}: {error}"))?;
        Ok::<_, String>(line)
    };
    let mut take = |line: Line| {
        let text = line.json().map_err(|error| error.to_string())?;
        reader.line(line, &text)
    };
    take(line(HEAD)?)?;
    for row in file.get_row_iter(None).map_err(broken)? {
        *at += 1;
        take(of_row(row.map_err(broken)?)?)?;
    }
    *at += 1;
    take(line(END)?)?;
    reader.ended()
}

fn of_row(row: Row) -> std::result::Result<Line, String> {
    let mut texts: [Option<String>; TEXTS.len()] = Default::default();
    let (mut figures, mut data) = (Map::new(), None);
    for (name, field) in row.into_columns() {
        match (TEXTS.iter().position(|text| *text == name), field) {
            (Some(at), Field::Str(text)) => texts[at] = Some(text),
            (None, Field::Bytes(bytes)) if name == DATA => data = Some(bytes.data().to_vec()),
            (None, Field::Long(number)) => {
                figures.insert(name, number.into());
            }
            (None, Field::Null) => {}
            (_, _) => return Err(format!("the column `{name}` is not one of a part")),
        }
    }
    let missing = || "a column of parts is missing".to_owned();
    let [line, of, path, content, session, preset, reason, key] = texts;
    let path = path.ok_or_else(missing)?;
    let content = content.ok_or_else(missing)?;
    let given = |text: Option<String>| text.filter(|text| !text.is_empty());
    Ok(match line.as_deref() {
        Some("source") => Line::Source { path, content, failed: given(reason) },
        Some("unreadable") => Line::Unreadable { path, reason: reason.ok_or_else(missing)? },
        Some("entry") => {
            let of = Of::ALL.into_iter().find(|one| Some(one.name()) == of.as_deref());
            let of = of.ok_or_else(|| "an entry is of a file, a session or a preset".to_owned())?;
            let figures = match figures.is_empty() {
                true => None,
                false => Some(
                    serde_json::from_value(Json::Object(figures))
                        .map_err(|error| format!("figures: {error}"))?,
                ),
            };
            // A session may have no id.
            let session = session.filter(|_| of != Of::File);
            let (preset, key) = (given(preset), key.ok_or_else(missing)?);
            let data = data.ok_or_else(missing)?;
            Line::Entry(Entry { of, path, content, session, preset, figures, key, data })
        }
        _ => return Err("a row is a `source`, an `unreadable` or an `entry`".to_owned()),
    })
}
