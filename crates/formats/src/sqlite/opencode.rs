//! `opencode.db`: the SQLite store of OpenCode, each session as `opencode export` would print it.

use super::store::{Store, Table, parsed, rows};
use crate::prelude::*;
use rusqlite::Connection;

pub(crate) const STORE: Store = Store {
    agent: "OpenCode",
    columns: &["session.directory", "message.data", "part.data"],
    documents,
    read: crate::opencode::FORMAT.read,
};

fn documents(connection: &Connection) -> Result<Vec<String>, ReadError> {
    let mut messages =
        Table::new(connection, ("message", "session_id"), &["time_created", "id"], |id| id)?;
    let mut parts = Table::new(connection, ("part", "session_id"), &["id"], |id| id)?;
    let sessions = rows(connection, "session", &["time_created", "id"])?;
    let export = |session| export(session, &mut messages, &mut parts).transpose();
    sessions.iter().filter_map(export).collect()
}

/// The document of a session; `None` if it has no messages.
fn export(
    session: &Value,
    messages: &mut Table<'_>,
    parts: &mut Table<'_>,
) -> Result<Option<String>, ReadError> {
    let id = value::text(session, "id").unwrap_or_default();
    let messages = messages.take(id)?;
    if messages.is_empty() {
        return Ok(None);
    }
    let parts = parts.take(id)?;
    let mut of_message: HashMap<&str, Vec<Value>> = HashMap::new();
    for part in &parts {
        let message = value::text(part, "message_id").unwrap_or_default();
        of_message.entry(message).or_default().push(stored(part));
    }
    let lines: Vec<String> = messages
        .iter()
        .map(|message| {
            let id = value::text(message, "id").unwrap_or_default();
            let parts = of_message.remove(id).unwrap_or_default();
            json!({"info": stored(message), "parts": parts}).to_string()
        })
        .collect();
    let lines = lines.join(",\n");
    Ok(Some(format!("{{\"info\":{},\n\"messages\":[\n{lines}\n]}}\n", info(session))))
}

/// The columns of a session that an export has; versions add others.
fn info(session: &Value) -> Value {
    let mut out = Map::new();
    let columns = [
        ("id", "id"),
        ("slug", "slug"),
        ("project_id", "projectID"),
        ("directory", "directory"),
        ("parent_id", "parentID"),
        ("fork_session_id", "forkSessionID"),
        ("title", "title"),
        ("version", "version"),
    ];
    for (column, key) in columns {
        if let Some(text) = session.get(column) {
            out.insert(key.to_owned(), text.clone());
        }
    }
    if let revert @ Value::Object(_) = parsed(session, "revert") {
        out.insert("revert".to_owned(), revert);
    }
    let time = |column: &str| session[column].as_i64().unwrap_or(0);
    let times = json!({"created": time("time_created"), "updated": time("time_updated")});
    out.insert("time".to_owned(), times);
    Value::Object(out)
}

/// A row whose column `data` holds everything but its ids.
fn stored(row: &Value) -> Value {
    let mut out = Map::new();
    for (column, key) in [("id", "id"), ("session_id", "sessionID"), ("message_id", "messageID")] {
        if let Some(id) = row.get(column) {
            out.insert(key.to_owned(), id.clone());
        }
    }
    if let Value::Object(data) = parsed(row, "data") {
        out.extend(data);
    }
    Value::Object(out)
}
