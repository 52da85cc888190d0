//! OpenCode's own store: what is read from it.
use foldback_formats::read;

/// A database without tables.
const HEADER: &[u8] = b"SQLite format 3\0";

#[cfg(not(feature = "opencode-db"))]
#[test]
fn without_the_feature_it_is_said_what_to_do() {
    let error = read(HEADER, None).unwrap_err().to_string();
    assert!(error.contains("`opencode-db`") && error.contains("`opencode export`"), "{error}");
}

#[cfg(feature = "opencode-db")]
mod store {
    use super::{HEADER, read};
    use crate::common::{check, fixture, outline, session, warnings};
    use rusqlite::{Connection, params};
    use serde_json::Value;

    /// The tables of OpenCode 1.2 and later, with the columns that are read.
    const TABLES: &str = "
        CREATE TABLE session (id TEXT PRIMARY KEY, project_id TEXT NOT NULL, parent_id TEXT, slug TEXT NOT NULL,
            directory TEXT NOT NULL, title TEXT NOT NULL, version TEXT NOT NULL, time_created INTEGER, time_updated INTEGER);
        CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, time_created INTEGER, time_updated INTEGER, data TEXT NOT NULL);
        CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT NOT NULL, session_id TEXT NOT NULL, time_created INTEGER, time_updated INTEGER, data TEXT NOT NULL);";

    /// A store that holds an export, and a session that was never used.
    fn store(export: &str) -> Vec<u8> {
        let mut connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(TABLES).unwrap();
        let export: Value = serde_json::from_str(export).unwrap();
        let text = |value: &Value, key: &str| value[key].as_str().unwrap_or("x").to_owned();
        let without = |value: &Value, keys: &[&str]| {
            let mut value = value.clone();
            keys.iter().for_each(|key| drop(value.as_object_mut().unwrap().remove(*key)));
            value.to_string()
        };
        let info = &export["info"];
        let session = text(info, "id");
        for (id, time) in [(session.as_str(), 2), ("ses_empty", 1)] {
            connection
                .execute(
                    "INSERT INTO session VALUES (?1, 'p', NULL, 's', '/', ?2, ?3, ?4, ?4)",
                    params![id, text(info, "title"), text(info, "version"), time],
                )
                .unwrap();
        }
        for message in export["messages"].as_array().unwrap() {
            let info = &message["info"];
            let id = text(info, "id");
            connection
                .execute(
                    "INSERT INTO message VALUES (?1, ?2, ?3, 0, ?4)",
                    params![
                        id,
                        session,
                        info["time"]["created"].as_i64(),
                        without(info, &["id", "sessionID"])
                    ],
                )
                .unwrap();
            for part in message["parts"].as_array().unwrap() {
                connection
                    .execute(
                        "INSERT INTO part VALUES (?1, ?2, ?3, 0, 0, ?4)",
                        params![
                            text(part, "id"),
                            id,
                            session,
                            without(part, &["id", "sessionID", "messageID"])
                        ],
                    )
                    .unwrap();
            }
        }
        connection.serialize("main").unwrap().to_vec()
    }

    /// The same as it is while OpenCode runs: the header says write-ahead.
    fn write_ahead(mut store: Vec<u8>) -> Vec<u8> {
        store[18..20].fill(2);
        store
    }

    #[test]
    fn the_store_holds_what_an_export_prints() {
        for name in ["plain.json", "compaction.json"] {
            let export = fixture("opencode", name);
            let expected = session(&export, "opencode");
            let closed = store(&export);
            let running = write_ahead(closed.clone());
            for (bytes, codes) in [(closed, &[][..]), (running, &["write-ahead"][..])] {
                for from in [None, Some("opencode-db"), Some("opencode")] {
                    let found = read(&bytes, from).unwrap();
                    assert_eq!(found.len(), 1, "{name}");
                    check(&found[0]);
                    assert_eq!(found[0].id, expected.id);
                    assert_eq!(found[0].format, "opencode");
                    assert_eq!(outline(&found[0], 60), outline(&expected, 60), "{name}");
                    assert_eq!(found[0].cleared, expected.cleared, "{name}");
                    assert_eq!(found[0].boundaries, expected.boundaries, "{name}");
                    let new: Vec<_> = warnings(&found[0])
                        .into_iter()
                        .filter(|code| !warnings(&expected).contains(code))
                        .collect();
                    assert_eq!(new, codes, "{name}");
                }
            }
        }
    }

    #[test]
    fn other_databases_and_damaged_ones_are_refused() {
        let bytes = store(&fixture("opencode", "plain.json"));
        for end in [16, 100, 1000, bytes.len() / 2] {
            assert!(read(&bytes[..end], None).is_err(), "{end}");
        }
        assert!(read(HEADER, None).is_err());
    }
}
