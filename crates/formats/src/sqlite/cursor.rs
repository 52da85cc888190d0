//! `state.vscdb`: the store of Cursor, each session as a document of a composer with its bubbles.

use super::store::{Store, Table, parsed};
use crate::prelude::*;
use rusqlite::Connection;

pub(crate) const STORE: Store = Store {
    agent: "Cursor",
    columns: &["cursorDiskKV.key", "cursorDiskKV.value"],
    documents,
    read: crate::cursor::FORMAT.read,
};

/// The members that are read of a composer, of a bubble and of a call. The others are many times as large.
const COMPOSER: &[&str] =
    &["contextTokenLimit", "conversation", "modelConfig", "trackedGitRepos", "workspaceIdentifier"];
const BUBBLE: &[&str] = &[
    "conversationSummary",
    "createdAt",
    "images",
    "modelInfo",
    "text",
    "thinking",
    "tokenCount",
    "type",
];
const CALL: &[&str] = &[
    "error",
    "modelCallId",
    "name",
    "params",
    "rawArgs",
    "result",
    "status",
    "toolCallId",
    "userDecision",
];

/// Texts are stored as such or as bytes; what Cursor has deleted is a row without any.
const ROW: &str = "SELECT key, CAST(value AS TEXT) AS value FROM cursorDiskKV WHERE rowid = ?1";

/// The group of a key: all composers, or the bubbles of one composer.
fn begins(key: &str) -> &str {
    match key.split_once(':') {
        Some(("bubbleId", _)) => key.rsplit_once(':').map_or("", |(begins, _)| begins),
        Some((COMPOSERS, _)) => COMPOSERS,
        _ => "",
    }
}

const COMPOSERS: &str = "composerData";

fn documents(connection: &Connection) -> Result<Vec<String>, ReadError> {
    let mut found: Vec<(Option<i64>, Value)> = Vec::new();
    let mut table = Table::new(connection, ("cursorDiskKV", "key"), &["key"], begins)?;
    ROW.clone_into(&mut table.row);
    for row in table.take(COMPOSERS)? {
        let stored = parsed(&row, "value");
        let key = value::text(&row, "key").and_then(|key| key.split_once(':'));
        let Some((_, id)) = key.filter(|_| stored.is_object()) else { continue };
        let mut out = json!({ "composerId": id });
        add(&mut out, &stored, COMPOSER);
        // Before there were bubbles, the composer had them.
        let headers = value::list(&stored, "fullConversationHeadersOnly");
        if !headers.is_empty() {
            out["conversation"] = conversation(&mut table, id, headers, &stored)?;
        }
        if !value::list(&out, "conversation").is_empty() {
            found.push((value::millis(&stored, "/createdAt"), out));
        }
    }
    found.sort_by_key(|(created, _)| *created);
    Ok(found.iter().map(|(_, composer)| composer.to_string()).collect())
}

/// The bubbles in the order of their headers. Others are of answers that were made anew.
fn conversation(
    table: &mut Table<'_>,
    id: &str,
    headers: &[Value],
    composer: &Value,
) -> Result<Value, ReadError> {
    let mut bubbles: HashMap<String, Value> = HashMap::new();
    for row in table.take(&format!("bubbleId:{id}"))? {
        let key = value::text(&row, "key").and_then(|key| key.rsplit_once(':'));
        let Some((_, bubble)) = key else { continue };
        bubbles.insert(bubble.to_owned(), parsed(&row, "value"));
    }
    let latest = &composer["latestConversationSummary"];
    let told = bubbles.values().any(|bubble| bubble.get("conversationSummary").is_some());
    let bubbles = headers.iter().map(|header| {
        let bubble = value::text(header, "bubbleId").unwrap_or_default();
        let Some(stored) = bubbles.get(bubble).filter(|bubble| bubble.is_object()) else {
            return json!({"bubbleId": bubble, "isLost": true});
        };
        let mut out = json!({ "bubbleId": bubble });
        add(&mut out, header, &["type", "createdAt"]);
        add(&mut out, stored, BUBBLE);
        if stored["toolFormerData"].is_object() {
            out["toolFormerData"] = json!({});
            add(&mut out["toolFormerData"], &stored["toolFormerData"], CALL);
        }
        if !told && value::text(latest, "lastBubbleId") == Some(bubble) {
            out["conversationSummary"] = latest["summary"].clone();
        }
        out
    });
    Ok(bubbles.collect())
}

/// Adds these members, as far as they hold something.
fn add(out: &mut Value, from: &Value, members: &[&str]) {
    for member in members {
        if let Some(found) = from.get(*member).filter(|found| !found.is_null()) {
            out[*member] = found.clone();
        }
    }
}
