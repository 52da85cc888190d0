//! `crush.db`: the store of Crush, each session as `crush session show --json` prints it.

use super::store::{Store, Table, parsed, rows};
use crate::prelude::*;
use rusqlite::Connection;

pub(crate) const STORE: Store = Store {
    agent: "Crush",
    columns: &["sessions.completion_tokens", "messages.parts"],
    documents,
    read: crate::crush::FORMAT.read,
};

fn documents(connection: &Connection) -> Result<Vec<String>, ReadError> {
    let messages = ("messages", "session_id");
    let mut messages = Table::new(connection, messages, &["created_at"], |id| id)?;
    let sessions = rows(connection, "sessions", &["created_at", "id"])?;
    sessions.iter().map(|session| shown(session, &mut messages)).collect()
}

fn shown(session: &Value, messages: &mut Table<'_>) -> Result<String, ReadError> {
    let id = value::text(session, "id").unwrap_or_default();
    let messages = messages.take(id)?.into_iter().map(|row| {
        let parts = parsed(&row, "parts");
        let parts = value::items(&parts).iter().map(|part| {
            let mut out = part["data"].as_object().cloned().unwrap_or_default();
            out.insert("type".to_owned(), part["type"].clone());
            Value::Object(out)
        });
        json!({
            "id": row["id"],
            "role": row["role"],
            "created": row["created_at"],
            "model": row["model"],
            "provider": row["provider"],
            "is_summary": row["is_summary_message"] == 1,
            "parts": parts.collect::<Value>(),
        })
    });
    let messages: Value = messages.collect();
    let meta = json!({
        "uuid": id,
        "title": session["title"],
        "prompt_tokens": session["prompt_tokens"],
        "completion_tokens": session["completion_tokens"],
    });
    Ok(json!({"meta": meta, "messages": messages}).to_string())
}
