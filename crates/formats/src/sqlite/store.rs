//! Reads any store: recognizes its agent, and gives the rows of its tables.

use crate::format::Attempt;
use crate::{ReadError, Session, limit, raw, value};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, MAIN_DB, OpenFlags, Row};
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{Cursor, Result as IoResult};
use std::path::{Path, PathBuf};

/// The bytes of the header that tell whether the last changes are in a file beside the store.
const JOURNAL_MODE: std::ops::Range<usize> = 18..20;
const WRITE_AHEAD: u8 = 2;
const ROLLBACK: u8 = 1;

/// The store of an agent.
pub(crate) struct Store {
    pub(crate) agent: &'static str,
    /// Columns that tell it, as `table.column`.
    pub(crate) columns: &'static [&'static str],
    /// The sessions of a store that have a message, each as a document.
    pub(crate) documents: fn(&Connection) -> Result<Vec<String>, ReadError>,
    /// The reader of such a document.
    pub(crate) read: fn(&str) -> Result<Vec<Session>, ReadError>,
}

/// The stores that are read.
pub(crate) type Stores = &'static [Store];

/// The sessions of a store.
struct Contents {
    store: &'static Store,
    documents: Vec<String>,
    /// Whether the documents lack changes that are in the file beside the store.
    behind: bool,
}

/// Between the fields of packed documents. JSON has it nowhere.
const END: u8 = 0;

/// The documents of the store at a path, packed into bytes that are read as the store would be: it may be many times as
/// large as what is read of it. `None` where the file is no agent's store, or is damaged.
///
/// # Errors
///
/// The documents hold more than the limit.
pub(crate) fn packed(path: &Path, stores: Stores) -> IoResult<Option<Vec<u8>>> {
    let Some(Contents { store, documents, behind }) = contents(path, stores) else {
        return Ok(None);
    };
    let mut packed = super::PACKED.to_vec();
    let behind = if behind { "behind" } else { "" };
    let largest = limit::largest()?;
    let head = [store.agent, behind].map(str::to_owned);
    for field in head.into_iter().chain(documents) {
        packed.extend(field.into_bytes());
        packed.push(END);
        if packed.len() as u64 > largest {
            return Err(limit::too_large(largest));
        }
    }
    Ok(Some(packed))
}

fn contents(path: &Path, stores: Stores) -> Option<Contents> {
    let changes = beside(path);
    let changed = std::fs::metadata(&changes).is_ok_and(|changes| changes.len() > 0);
    // As SQLite reads it while others write, without a word of its own in the memory that they share. Where that is not
    // there, the changes are put in their places in memory.
    let current = || {
        let running = opened(path, "mode=ro&readonly_shm=1");
        let running =
            running.filter(|it| it.execute_batch("BEGIN; SELECT 1 FROM sqlite_master").is_ok());
        running.or_else(|| merged(path, &changes))
    };
    let current = changed.then(current).flatten();
    let behind = changed && current.is_none();
    let connection = match current {
        Some(connection) => connection,
        // As one that nobody writes: SQLite takes no lock.
        None => opened(path, "immutable=1")?,
    };
    taken(&connection, stores, behind).ok()?
}

/// The file in which the last changes of a store are while its agent runs.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}

/// A store, opened to be read with these parameters of its address.
fn opened(path: &Path, how: &str) -> Option<Connection> {
    let path = std::path::absolute(path).ok()?;
    let path = path.to_str()?.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    let path = if cfg!(windows) { format!("/{}", path.replace('\\', "/")) } else { path };
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    let opened = Connection::open_with_flags(format!("file:{path}?{how}"), flags);
    opened.and_then(in_memory).ok()
}

/// Keeps what a query sorts out of files.
fn in_memory(connection: Connection) -> rusqlite::Result<Connection> {
    connection.execute_batch("PRAGMA temp_store = MEMORY").map(|()| connection)
}

/// A store in memory, with the changes that stand beside it. `None` where they do not fit, or both are more than the limit.
fn merged(path: &Path, changes: &Path) -> Option<Connection> {
    let whole = |path: &Path| limit::read(File::open(path).ok()?).ok();
    let bytes = |path: &Path| std::fs::metadata(path).map_or(u64::MAX, |found| found.len());
    if bytes(path).saturating_add(bytes(changes)) > limit::largest().ok()? {
        return None;
    }
    let salts = |log: &[u8]| log.get(16..24).map(<[u8]>::to_vec);
    let before = salts(&whole(changes)?);
    let mut store = whole(path)?;
    let log = whole(changes)?;
    // Its agent began it anew meanwhile.
    if salts(&log) != before {
        return None;
    }
    super::wal::apply(&mut store, &log);
    let (connection, _) = open(&store).ok()?;
    let check: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).ok()?;
    (check == "ok").then_some(connection)
}

/// Reads a store. A database of another program is no text either.
pub(crate) fn read(bytes: &[u8], stores: Stores) -> Attempt {
    let held = open(bytes).map_err(|error| damaged(&error));
    let held = held.and_then(|(connection, write_ahead)| taken(&connection, stores, write_ahead));
    Some(held.and_then(|held| match held {
        Some(held) => sessions(held.store, held.documents, held.behind),
        None => Err(value::malformed("the file", unknown(stores))),
    }))
}

fn unknown(stores: Stores) -> String {
    let agents: Vec<&str> = stores.iter().map(|store| store.agent).collect();
    format!(
        "an SQLite database with the tables of no agent whose store is read ({}); if an agent made it, export its \
         sessions as JSON or JSON lines",
        agents.join(", ")
    )
}

/// Reads packed documents; `None` where they are not.
pub(crate) fn read_packed(bytes: &[u8], stores: Stores) -> Attempt {
    let text = std::str::from_utf8(bytes.strip_prefix(super::PACKED)?).ok()?;
    let mut fields = text.split_terminator(char::from(END));
    let (agent, behind) = (fields.next()?, fields.next()?);
    let store = stores.iter().find(|store| store.agent == agent)?;
    Some(sessions(store, fields, !behind.is_empty()))
}

/// The contents of a store; `None` for a database of another program.
fn taken(
    connection: &Connection,
    stores: Stores,
    behind: bool,
) -> Result<Option<Contents>, ReadError> {
    let columns = columns(connection).map_err(|error| damaged(&error))?;
    let has = |store: &&Store| store.columns.iter().all(|column| columns.contains(*column));
    let Some(store) = stores.iter().find(has) else { return Ok(None) };
    let documents = (store.documents)(connection)?;
    Ok(Some(Contents { store, documents, behind }))
}

/// The database in memory. In write-ahead mode it could not be opened without the file beside it.
fn open(bytes: &[u8]) -> rusqlite::Result<(Connection, bool)> {
    let mut copy = bytes.to_vec();
    let mode = copy.get_mut(JOURNAL_MODE);
    let write_ahead = mode.is_some_and(|mode| {
        let set = mode.contains(&WRITE_AHEAD);
        mode.fill(ROLLBACK);
        set
    });
    let mut connection = in_memory(Connection::open_in_memory()?)?;
    let size = copy.len();
    connection.deserialize_read_exact(MAIN_DB, Cursor::new(copy), size, true)?;
    Ok((connection, write_ahead))
}

/// Tables with their columns, without virtual ones.
const COLUMNS: &str = "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c \
                       WHERE m.type = 'table' AND m.sql NOT LIKE 'CREATE VIRTUAL%'";

fn columns(connection: &Connection) -> rusqlite::Result<HashSet<String>> {
    let name =
        |row: &Row<'_>| Ok(format!("{}.{}", row.get::<_, String>(0)?, row.get::<_, String>(1)?));
    connection.prepare(COLUMNS)?.query_map([], name)?.collect()
}

fn sessions(
    store: &Store,
    documents: impl IntoIterator<Item = impl AsRef<str>>,
    behind: bool,
) -> Result<Vec<Session>, ReadError> {
    let (mut sessions, mut failed) = (Vec::new(), Vec::new());
    for document in documents {
        match (store.read)(document.as_ref()) {
            Ok(read) => sessions.extend(read),
            // Opened and never used.
            Err(ReadError::NoMessages) => {}
            Err(error) => failed.push(error),
        }
    }
    let Some(first) = sessions.first_mut() else {
        return Err(failed.into_iter().next().unwrap_or(ReadError::NoMessages));
    };
    if let Some(error) = failed.first() {
        let detail = format!("{} session(s) can't be read; the first: {error}", failed.len());
        first.warn("damaged-session", "the store", detail);
    }
    if behind {
        let detail = format!(
            "the latest changes may stand in the file beside it that ends in `-wal` and are not read; they are in \
             the store after {} was closed",
            store.agent
        );
        first.warn("write-ahead", "the file", detail);
    }
    Ok(sessions)
}

/// The rows of a table that all belong to one session, each an object of its columns.
///
/// Only columns are read that are stored: a generated one may be any amount of work for a row, and so may a view or a
/// virtual table. The rows of a session are found without an index, in one pass over the table.
pub(crate) struct Table<'c> {
    connection: &'c Connection,
    /// Selects a row by its number.
    pub(crate) row: String,
    /// Numbers of rows by the session that they belong to.
    numbers: HashMap<String, Vec<i64>>,
}

impl<'c> Table<'c> {
    /// A table in the order of some of its columns. `session` gives the session that a row belongs to, by the text in
    /// the column `of`. A table that is not there is empty.
    pub(crate) fn new(
        connection: &'c Connection,
        (table, of): (&str, &str),
        order: &[&str],
        session: fn(&str) -> &str,
    ) -> Result<Self, ReadError> {
        let read = || {
            let columns = stored(connection, table)?;
            let mut numbers: HashMap<String, Vec<i64>> = HashMap::new();
            if columns.iter().any(|column| column == of) {
                let order = ordered(order, &columns);
                let query = format!("SELECT rowid, CAST({of} AS TEXT) FROM {table}{order}");
                let mut statement = connection.prepare(&query)?;
                let mut rows = statement.query([])?;
                while let Some(row) = rows.next()? {
                    let text = row.get_ref(1)?.as_str_or_null().unwrap_or_default();
                    let session = session(text.unwrap_or_default()).to_owned();
                    numbers.entry(session).or_default().push(row.get(0)?);
                }
            }
            let row = format!("SELECT {} FROM {table} WHERE rowid = ?1", named(&columns));
            Ok(Self { connection, row, numbers })
        };
        read().map_err(|error| damaged(&error))
    }

    /// The rows of a session. They are given once: another session of the same id has none.
    pub(crate) fn take(&mut self, session: &str) -> Result<Vec<Value>, ReadError> {
        let numbers = self.numbers.remove(session).unwrap_or_default();
        let read = || {
            let mut statement = self.connection.prepare(&self.row)?;
            let mut taken = Vec::with_capacity(numbers.len());
            for number in numbers {
                taken.push(statement.query_row([number], object)?);
            }
            Ok(taken)
        };
        read().map_err(|error| damaged(&error))
    }
}

/// All rows of a table, in the order of some of its columns, each an object of those that are [stored](Table).
pub(crate) fn rows(
    connection: &Connection,
    table: &str,
    order: &[&str],
) -> Result<Vec<Value>, ReadError> {
    let read = || {
        let columns = stored(connection, table)?;
        if columns.is_empty() {
            return Ok(Vec::new());
        }
        let (names, order) = (named(&columns), ordered(order, &columns));
        let mut statement = connection.prepare(&format!("SELECT {names} FROM {table}{order}"))?;
        statement.query_map([], object)?.collect::<rusqlite::Result<Vec<Value>>>()
    };
    read().map_err(|error| damaged(&error))
}

/// The columns of a table that are stored in it; none where there is no such table. The list of SQLite leaves out those
/// that are generated.
fn stored(connection: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let query = format!("{COLUMNS} AND m.name = ?1");
    connection.prepare(&query)?.query_map([table], |row| row.get(1))?.collect()
}

/// Names of columns, quoted.
fn named(columns: &[String]) -> String {
    let quoted: Vec<String> =
        columns.iter().map(|name| format!("\"{}\"", name.replace('"', "\"\""))).collect();
    quoted.join(", ")
}

fn ordered(by: &[&str], columns: &[String]) -> String {
    let is_stored = |name: &&&str| columns.iter().any(|column| column == **name);
    let by: Vec<&str> = by.iter().filter(is_stored).copied().chain(["rowid"]).collect();
    format!(" ORDER BY {}", by.join(", "))
}

fn object(row: &Row<'_>) -> rusqlite::Result<Value> {
    let mut out = Map::new();
    for (at, name) in row.as_ref().column_names().enumerate() {
        let value = match row.get_ref(at)? {
            ValueRef::Integer(number) => number.into(),
            ValueRef::Real(number) => number.into(),
            ValueRef::Text(text) => String::from_utf8_lossy(text).into(),
            ValueRef::Null | ValueRef::Blob(_) => continue,
        };
        out.insert(name.to_owned(), value);
    }
    Ok(Value::Object(out))
}

/// The JSON in a column; `null` where there is none.
pub(crate) fn parsed(row: &Value, column: &str) -> Value {
    value::text(row, column).and_then(|text| raw::parse(text).ok()).unwrap_or_default()
}

fn damaged(error: &rusqlite::Error) -> ReadError {
    value::malformed("the database", error.to_string())
}
