//! `opencode.db`: the SQLite store in which OpenCode keeps all sessions of a user.
//!
//! Every session is put into the document that `opencode export` would print for it and read as that, so
//! that what comes out are sessions of the format `opencode`. The store is read as bytes, never opened:
//! no journal, lock or schema of a running OpenCode is touched. Behind the feature `opencode-db`.

use crate::format::Binary;

/// The store.
pub(crate) const STORE: Binary =
    Binary { ids: &["opencode-db", "opencode"], magic: b"SQLite format 3\0", read };

#[cfg(not(feature = "opencode-db"))]
fn read(_: &[u8]) -> crate::format::Attempt {
    Some(Err(crate::value::malformed(
        "the file",
        "an SQLite database; OpenCode's store is read by a build with the feature `opencode-db`, or export \
         a session with `opencode export`",
    )))
}

#[cfg(feature = "opencode-db")]
use store::read;

#[cfg(feature = "opencode-db")]
mod store {
    use crate::format::Attempt;
    use crate::{ReadError, Session, raw, value};
    use rusqlite::{Connection, MAIN_DB, Row};
    use serde_json::{Map, Value, json};
    use std::collections::HashMap;
    use std::io::Cursor;

    /// Where the header says whether the last changes are in a file beside the store.
    const JOURNAL_MODE: std::ops::Range<usize> = 18..20;
    const WRITE_AHEAD: u8 = 2;
    const ROLLBACK: u8 = 1;

    /// Reads a store; `None` where the database is another program's.
    pub(super) fn read(bytes: &[u8]) -> Attempt {
        let (connection, write_ahead) = match open(bytes) {
            Ok(opened) => opened,
            Err(error) => return Some(Err(damaged(&error))),
        };
        let tables = "SELECT count(*) FROM sqlite_master \
                      WHERE type = 'table' AND name IN ('session', 'message', 'part')";
        match connection.query_row(tables, [], |row| row.get::<_, i64>(0)) {
            Ok(3) => Some(sessions(&connection, write_ahead)),
            Ok(_) => None,
            Err(error) => Some(Err(damaged(&error))),
        }
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

    fn sessions(connection: &Connection, write_ahead: bool) -> Result<Vec<Session>, ReadError> {
        let infos = rows(connection, "SELECT * FROM session ORDER BY time_created, id", "", info)?;
        let mut sessions = Vec::new();
        for info in infos {
            let id = value::string(&info, "id").unwrap_or_default();
            let text = export(connection, &id, &info)?;
            // Sessions that were opened and never used.
            if let Some(text) = text {
                sessions.extend((crate::opencode::FORMAT.read)(&text)?);
            }
        }
        let Some(first) = sessions.first_mut() else {
            return Err(ReadError::NoMessages);
        };
        if write_ahead {
            first.warn(
                "write-ahead",
                "the file",
                "OpenCode's latest changes may stand in `opencode.db-wal` and are not read; they are in \
                 the store after OpenCode was closed",
            );
        }
        Ok(sessions)
    }

    /// The document of a session; `None` if it has no messages.
    fn export(
        connection: &Connection,
        id: &str,
        info: &Value,
    ) -> Result<Option<String>, ReadError> {
        let messages = rows(
            connection,
            "SELECT id, session_id, data FROM message WHERE session_id = ?1 \
             ORDER BY time_created, id",
            id,
            |row| stored(row, &[("id", "id"), ("session_id", "sessionID")]),
        )?;
        if messages.is_empty() {
            return Ok(None);
        }
        let parts = rows(
            connection,
            "SELECT id, session_id, message_id, data FROM part WHERE session_id = ?1 ORDER BY id",
            id,
            |row| {
                let ids = [("id", "id"), ("session_id", "sessionID"), ("message_id", "messageID")];
                stored(row, &ids)
            },
        )?;
        let mut of_message: HashMap<&str, Vec<&Value>> = HashMap::new();
        for part in &parts {
            let message = value::text(part, "messageID").unwrap_or_default();
            of_message.entry(message).or_default().push(part);
        }
        let lines: Vec<String> = messages
            .iter()
            .map(|message| {
                let id = value::text(message, "id").unwrap_or_default();
                let parts = of_message.remove(id).unwrap_or_default();
                json!({"info": message, "parts": parts}).to_string()
            })
            .collect();
        Ok(Some(format!("{{\"info\":{info},\n\"messages\":[\n{}\n]}}\n", lines.join(",\n"))))
    }

    /// The columns of a session that an export has; versions add others.
    fn info(row: &Row<'_>) -> rusqlite::Result<Value> {
        let mut out = Map::new();
        let columns = [
            ("id", "id"),
            ("slug", "slug"),
            ("project_id", "projectID"),
            ("directory", "directory"),
            ("parent_id", "parentID"),
            ("title", "title"),
            ("version", "version"),
        ];
        for (column, key) in columns {
            if let Ok(Some(text)) = row.get::<_, Option<String>>(column) {
                out.insert(key.to_owned(), text.into());
            }
        }
        let time = |column: &str| row.get::<_, i64>(column).unwrap_or(0);
        let times = json!({"created": time("time_created"), "updated": time("time_updated")});
        out.insert("time".to_owned(), times);
        Ok(Value::Object(out))
    }

    /// A row whose column `data` holds everything but its ids.
    fn stored(row: &Row<'_>, ids: &[(&str, &str)]) -> rusqlite::Result<Value> {
        let mut out = Map::new();
        for (column, key) in ids {
            out.insert((*key).to_owned(), row.get::<_, String>(*column)?.into());
        }
        let data: String = row.get("data")?;
        if let Ok(Value::Object(data)) = raw::parse(&data) {
            out.extend(data);
        }
        Ok(Value::Object(out))
    }

    fn rows(
        connection: &Connection,
        query: &str,
        session: &str,
        read: impl Fn(&Row<'_>) -> rusqlite::Result<Value>,
    ) -> Result<Vec<Value>, ReadError> {
        let fail = |error: rusqlite::Error| damaged(&error);
        let mut statement = connection.prepare(query).map_err(fail)?;
        let parameters: &[&str] = match statement.parameter_count() {
            0 => &[],
            _ => &[session],
        };
        let found = statement.query_map(rusqlite::params_from_iter(parameters), |row| read(row));
        found.and_then(Iterator::collect).map_err(|error| damaged(&error))
    }

    fn damaged(error: &rusqlite::Error) -> ReadError {
        value::malformed("the database", error.to_string())
    }
}
