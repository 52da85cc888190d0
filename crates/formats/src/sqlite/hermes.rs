//! `state.db`: the store of Hermes Agent, each session as a line of `hermes sessions export`.

use super::store::{Store, Table, parsed, rows};
use crate::prelude::*;
use crate::raw;
use rusqlite::Connection;

pub(crate) const STORE: Store = Store {
    agent: "Hermes",
    columns: &["sessions.end_reason", "messages.tool_calls"],
    documents,
    read: crate::hermes::FORMAT.read,
};

/// The mark before a content that is JSON.
const JSON: &str = "\0json:";

fn documents(connection: &Connection) -> Result<Vec<String>, ReadError> {
    let mut messages = Table::new(connection, ("messages", "session_id"), &["id"], |id| id)?;
    let mut sessions = rows(connection, "sessions", &["started_at", "id"])?;
    for session in &mut sessions {
        let id = value::string(session, "id").unwrap_or_default();
        let own: Vec<Value> = messages.take(&id)?.into_iter().map(stored).collect();
        session["messages"] = own.into();
    }
    Ok(crate::hermes::joined(sessions).iter().map(Value::to_string).collect())
}

fn stored(mut row: Value) -> Value {
    let content = value::text(&row, "content").and_then(|text| text.strip_prefix(JSON));
    if let Some(content) = content.and_then(|text| raw::parse(text).ok()) {
        row["content"] = content;
    }
    row["tool_calls"] = parsed(&row, "tool_calls");
    row
}
