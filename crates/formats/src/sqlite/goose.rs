//! `sessions.db`: the store of Goose, each session as `goose session export` prints it.

use super::store::{Store, Table, parsed, rows};
use crate::prelude::*;
use rusqlite::Connection;

pub(crate) const STORE: Store = Store {
    agent: "Goose",
    columns: &["sessions.working_dir", "messages.content_json"],
    documents,
    read: crate::goose::FORMAT.read,
};

fn documents(connection: &Connection) -> Result<Vec<String>, ReadError> {
    let of = |table| Table::new(connection, (table, "session_id"), &["id"], |id| id);
    // Newer versions have a ledger.
    let (mut messages, mut ledger) = (of("messages")?, of("usage_ledger")?);
    let sessions = rows(connection, "sessions", &["created_at", "id"])?;
    sessions.iter().map(|session| export(session, &mut messages, &mut ledger)).collect()
}

fn export(
    session: &Value,
    messages: &mut Table<'_>,
    ledger: &mut Table<'_>,
) -> Result<String, ReadError> {
    let id = value::text(session, "id").unwrap_or_default();
    let messages = messages.take(id)?.into_iter().map(|row| {
        json!({
            "id": row["message_id"],
            "role": row["role"],
            "created": row["created_timestamp"],
            "content": parsed(&row, "content_json"),
            "metadata": parsed(&row, "metadata_json"),
        })
    });
    let mut out = session.clone();
    out["model_config"] = parsed(session, "model_config_json");
    out["conversation"] = messages.collect();
    out["usage_ledger"] = ledger.take(id)?.into();
    Ok(out.to_string())
}
