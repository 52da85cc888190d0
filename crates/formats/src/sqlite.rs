//! The SQLite stores in which agents keep all sessions of a user.
//!
//! Every session is put into the document that the agent's own export prints for it and read as that, so that what comes
//! out are sessions of that format. A store is read as bytes, never opened: no journal, lock or schema of a running agent
//! is touched. What stands beside it is put into a copy. Behind the feature `sqlite`.

use crate::format::Binary;

/// Any store. Its tables say whose it is.
pub(crate) const STORE: Binary = Binary {
    ids: &["sqlite", "opencode", "goose", "crush", "hermes", "cursor"],
    magic: b"SQLite format 3\0",
    read,
};

#[cfg(not(feature = "sqlite"))]
fn read(_: &[u8]) -> crate::format::Attempt {
    Some(Err(crate::value::malformed(
        "the file",
        "an SQLite database; agents' stores are read by a build with the feature `sqlite`, or export a session \
         (`opencode export`, `goose session export`, `crush session show --json`, `hermes sessions export`)",
    )))
}

#[cfg(feature = "sqlite")]
use store::read;

#[cfg(feature = "sqlite")]
pub(crate) mod store {
    use crate::format::Attempt;
    use crate::{ReadError, Session, limit, raw, value};
    use rusqlite::types::ValueRef;
    use rusqlite::{Connection, MAIN_DB, Row};
    use serde_json::{Map, Value};
    use std::collections::HashSet;
    use std::io::{Cursor, ErrorKind};
    use std::path::{Path, PathBuf};

    /// Where the header says whether the last changes are in a file beside the store.
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

    const STORES: &[Store] = &[
        crate::opencode_db::STORE,
        crate::goose::store::STORE,
        crate::crush::store::STORE,
        crate::hermes::store::STORE,
        crate::cursor::store::STORE,
    ];

    /// A store as it would be if its agent were closed: with the changes that stand beside it. `None` where there are none, or
    /// they do not fit.
    pub(crate) fn closed(path: &Path, bytes: &[u8]) -> Option<Vec<u8>> {
        if !bytes.starts_with(super::STORE.magic) {
            return None;
        }
        let beside = |path: &Path| {
            let mut name = path.as_os_str().to_owned();
            name.push("-wal");
            PathBuf::from(name)
        };
        let changes = match limit::read_file(&beside(path)) {
            Ok(changes) => changes,
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            Err(_) => return None,
        };
        let mut whole = bytes.to_vec();
        if !changes.is_empty() {
            let folder = tempfile::tempdir().ok()?;
            let copy = folder.path().join("store");
            std::fs::write(&copy, bytes).ok()?;
            std::fs::write(beside(&copy), changes).ok()?;
            let connection = Connection::open(&copy).ok()?;
            let check: String =
                connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).ok()?;
            if check != "ok" {
                return None;
            }
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).ok()?;
            drop(connection);
            whole = limit::read_file(&copy).ok()?;
        }
        whole.get_mut(JOURNAL_MODE)?.fill(ROLLBACK);
        Some(whole)
    }

    /// Reads a store; `None` where the database is another program's.
    pub(super) fn read(bytes: &[u8]) -> Attempt {
        let (connection, write_ahead) = match open(bytes) {
            Ok(opened) => opened,
            Err(error) => return Some(Err(damaged(&error))),
        };
        let columns = match columns(&connection) {
            Ok(columns) => columns,
            Err(error) => return Some(Err(damaged(&error))),
        };
        let has = |store: &&Store| store.columns.iter().all(|column| columns.contains(*column));
        let store = STORES.iter().find(has)?;
        Some(sessions(&connection, store, write_ahead))
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
        let mut connection = Connection::open_in_memory()?;
        let size = copy.len();
        connection.deserialize_read_exact(MAIN_DB, Cursor::new(copy), size, true)?;
        Ok((connection, write_ahead))
    }

    fn columns(connection: &Connection) -> rusqlite::Result<HashSet<String>> {
        let query = "SELECT m.name || '.' || c.name FROM sqlite_master m, pragma_table_info(m.name) c \
                     WHERE m.type = 'table'";
        connection.prepare(query)?.query_map([], |row| row.get(0))?.collect()
    }

    fn sessions(
        connection: &Connection,
        store: &Store,
        write_ahead: bool,
    ) -> Result<Vec<Session>, ReadError> {
        let mut sessions = Vec::new();
        for document in (store.documents)(connection)? {
            match (store.read)(&document) {
                Ok(read) => sessions.extend(read),
                // Opened and never used.
                Err(ReadError::NoMessages) => {}
                Err(error) => return Err(error),
            }
        }
        let first = sessions.first_mut().ok_or(ReadError::NoMessages)?;
        if write_ahead {
            let detail = format!(
                "the latest changes may stand in the file beside it that ends in `-wal` and are not read; they are in \
                 the store after {} was closed",
                store.agent
            );
            first.warn("write-ahead", "the file", detail);
        }
        Ok(sessions)
    }

    /// The rows of a query, each an object of its columns. `?1` in it is `of`.
    pub(crate) fn rows(
        connection: &Connection,
        query: &str,
        of: &str,
    ) -> Result<Vec<Value>, ReadError> {
        let read = || {
            let mut statement = connection.prepare(query)?;
            let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
            let parameters = [of];
            let parameters = &parameters[..statement.parameter_count().min(1)];
            let rows = statement
                .query_map(rusqlite::params_from_iter(parameters), |row| object(row, &names))?;
            rows.collect::<rusqlite::Result<Vec<Value>>>()
        };
        read().map_err(|error| damaged(&error))
    }

    fn object(row: &Row<'_>, names: &[String]) -> rusqlite::Result<Value> {
        let mut out = Map::new();
        for (at, name) in names.iter().enumerate() {
            let value = match row.get_ref(at)? {
                ValueRef::Integer(number) => number.into(),
                ValueRef::Real(number) => number.into(),
                ValueRef::Text(text) => String::from_utf8_lossy(text).into(),
                ValueRef::Null | ValueRef::Blob(_) => continue,
            };
            out.insert(name.clone(), value);
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
}
