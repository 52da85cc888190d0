//! The stores of agents: what is read from them is what their exports give.
use foldback_formats::read;

/// A database without tables.
const HEADER: &[u8] = b"SQLite format 3\0";

#[cfg(not(feature = "sqlite"))]
#[test]
fn without_the_feature_it_is_said_what_to_do() {
    let error = read(HEADER, None).unwrap_err().to_string();
    assert!(error.contains("`sqlite`") && error.contains("`opencode export`"), "{error}");
}

#[cfg(feature = "sqlite")]
mod store {
    use super::{HEADER, read};
    use crate::common::{check, fixture, outline, session, warnings};
    use rusqlite::{Connection, params};
    use serde_json::{Value, json};

    /// The tables of OpenCode 1.2 and later, with the columns that are read.
    const TABLES: &str = "
        CREATE TABLE session (id TEXT PRIMARY KEY, project_id TEXT NOT NULL, parent_id TEXT, slug TEXT NOT NULL,
            directory TEXT NOT NULL, title TEXT NOT NULL, version TEXT NOT NULL, time_created INTEGER, time_updated INTEGER);
        CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, time_created INTEGER, time_updated INTEGER, data TEXT NOT NULL);
        CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT NOT NULL, session_id TEXT NOT NULL, time_created INTEGER, time_updated INTEGER, data TEXT NOT NULL);";

    /// A store that holds an export, and a session that was never used.
    fn store(export: &str) -> Vec<u8> {
        store_in(TABLES, export)
    }

    fn store_in(tables: &str, export: &str) -> Vec<u8> {
        let export: Value = serde_json::from_str(export).unwrap();
        let without = |value: &Value, keys: &[&str]| {
            let mut value = value.clone();
            keys.iter().for_each(|key| drop(value.as_object_mut().unwrap().remove(*key)));
            value
        };
        let text = |value: &Value| value.as_str().unwrap_or("x").to_owned();
        let info = &export["info"];
        let session = |id: &str, time: u8| {
            json!({
                "id": id, "project_id": "p", "slug": "s", "directory": "/", "title": text(&info["title"]),
                "version": text(&info["version"]), "time_created": time, "time_updated": time,
            })
        };
        let id = text(&info["id"]);
        let mut rows = vec![("session", session(&id, 2)), ("session", session("ses_empty", 1))];
        for message in export["messages"].as_array().unwrap() {
            let info = &message["info"];
            let data = without(info, &["id", "sessionID"]);
            let created = &info["time"]["created"];
            rows.push((
                "message",
                json!({"id": info["id"], "session_id": id, "time_created": created, "data": data}),
            ));
            for part in message["parts"].as_array().unwrap() {
                let data = without(part, &["id", "sessionID", "messageID"]);
                rows.push(("part", json!({"id": part["id"], "message_id": info["id"], "session_id": id, "data": data})));
            }
        }
        filled(tables, &rows)
    }

    /// A store of these tables, with rows as objects of their columns. What is no scalar is stored as JSON.
    fn filled(tables: &str, rows: &[(&str, Value)]) -> Vec<u8> {
        let mut connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(tables).unwrap();
        for (table, row) in rows {
            let row: Vec<_> = row.as_object().unwrap().iter().collect();
            let columns: Vec<&str> = row.iter().map(|(column, _)| column.as_str()).collect();
            let places = vec!["?"; row.len()].join(", ");
            let values = row.iter().map(|(_, value)| -> Box<dyn rusqlite::ToSql> {
                match value {
                    Value::Null => Box::new(rusqlite::types::Null),
                    Value::Number(number) => match number.as_i64() {
                        Some(number) => Box::new(number),
                        None => Box::new(number.as_f64()),
                    },
                    Value::String(text) => Box::new(text.clone()),
                    other => Box::new(other.to_string()),
                }
            });
            let query = format!("INSERT INTO {table} ({}) VALUES ({places})", columns.join(", "));
            connection.execute(&query, rusqlite::params_from_iter(values)).unwrap();
        }
        connection.serialize("main").unwrap().to_vec()
    }

    /// The same as it is while the agent runs: the header says write-ahead.
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
                for from in [None, Some("sqlite"), Some("opencode")] {
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

    /// A generated column is work for each row that the size of the file does not show. Those here fail.
    #[test]
    fn only_what_is_stored_is_read() {
        let export = fixture("opencode", "plain.json");
        let altered = |changes: &str| {
            let mut connection = Connection::open_in_memory().unwrap();
            let bytes = store(&export);
            let size = bytes.len();
            let bytes = std::io::Cursor::new(bytes);
            connection.deserialize_read_exact("main", bytes, size, false).unwrap();
            let changes = changes.replace("FAILS", "TEXT GENERATED ALWAYS AS (json('{'))");
            connection.execute_batch(&changes).unwrap();
            read(&connection.serialize("main").unwrap(), None)
        };
        let beside = altered(
            "ALTER TABLE session ADD extra FAILS; ALTER TABLE message ADD extra FAILS; ALTER TABLE part ADD extra FAILS",
        );
        let expected = outline(&session(&export, "opencode"), 60);
        assert_eq!(outline(&beside.unwrap()[0], 60), expected);
        // Nothing is ordered by one.
        let order = altered(
            "ALTER TABLE message RENAME time_created TO made; ALTER TABLE message ADD time_created FAILS",
        );
        assert_eq!(outline(&order.unwrap()[0], 60), expected);
        // With one for what is read it is another program's table.
        let own = altered("ALTER TABLE part RENAME data TO raw; ALTER TABLE part ADD data FAILS");
        let error = own.unwrap_err().to_string();
        assert!(!error.contains("malformed JSON"), "{error}");
        let case = "F-sqlite-generated-column/sqlite-generated-column-bomb.db";
        assert_eq!(read(&crate::common::read_case(case), None).unwrap()[0].messages.len(), 2);
    }

    /// Whoever made the store has no index for the sessions of its rows, and may have a session twice.
    #[test]
    fn the_rows_of_a_session_are_found_in_one_pass() {
        let make = |n: usize| {
            let tables = TABLES.replace("TEXT PRIMARY KEY", "TEXT");
            let rows = (0..n).flat_map(|number| {
                let (id, message) = (format!("ses_{number}"), format!("m{number}"));
                let data = json!({"role": "user", "time": {"created": number}});
                let text = json!({"type": "text", "text": "x"});
                let session = json!({"id": id, "project_id": "p", "slug": "s", "directory": "/", "title": "t", "version": "1"});
                [
                    ("session", session.clone()),
                    ("session", session),
                    ("message", json!({"id": message, "session_id": id, "data": data})),
                    ("part", json!({"id": format!("p{number}"), "message_id": message, "session_id": id, "data": text})),
                ]
            });
            filled(&tables, &rows.collect::<Vec<_>>())
        };
        let (small, large) = (make(150), make(1_200));
        assert_eq!(read(&large, None).unwrap().len(), 1_200);
        let wrong =
            crate::bounded::grows(3.0, &|| drop(read(&small, None)), &|| drop(read(&large, None)));
        assert!(wrong.is_none(), "{}", wrong.unwrap_or_default());
    }

    #[test]
    fn what_stands_beside_a_running_store_is_read() {
        let folder = std::env::temp_dir().join(format!("foldback-store-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("opencode.db");
        std::fs::write(&path, store(&fixture("opencode", "plain.json"))).unwrap();
        let running = Connection::open(&path).unwrap();
        running.execute_batch("PRAGMA journal_mode = wal").unwrap();
        running.execute("UPDATE session SET directory = '/new'", []).unwrap();
        let directory = |bytes: &[u8]| {
            let found = read(bytes, None).unwrap().remove(0);
            (found.folder.clone(), warnings(&found).contains(&"write-ahead"))
        };
        assert_eq!(directory(&std::fs::read(&path).unwrap()), (None, true));
        // The memory that they share is the test's own here: both are one process.
        let all = || {
            let files = std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path());
            let files = files.filter(|file| file.extension().is_none_or(|it| it != "db-shm"));
            let mut files: Vec<_> =
                files.map(|file| (std::fs::read(&file).unwrap(), file)).collect();
            files.sort();
            files
        };
        let before = all();
        let whole = foldback_formats::read_file(&path).unwrap();
        assert_eq!(directory(&whole), (Some("/new".to_owned()), false));
        assert!(all() == before, "the store and what stands beside it are as they were");
        drop(running);
        let closed = foldback_formats::read_file(&path).unwrap();
        assert_eq!(directory(&closed), (Some("/new".to_owned()), false));
        // In write-ahead mode, with nothing beside it, in a folder that a URI has to escape: nothing is made there.
        let odd = folder.join("a #1?100%");
        std::fs::create_dir(&odd).unwrap();
        std::fs::write(odd.join("opencode.db"), write_ahead(std::fs::read(&path).unwrap()))
            .unwrap();
        let alone = foldback_formats::read_file(&odd.join("opencode.db")).unwrap();
        assert_eq!(directory(&alone), (Some("/new".to_owned()), false));
        assert_eq!(std::fs::read_dir(&odd).unwrap().count(), 1);
        std::fs::write(odd.join("opencode.db-wal"), "no changes of this store").unwrap();
        let foreign = foldback_formats::read_file(&odd.join("opencode.db")).unwrap();
        assert_eq!(directory(&foreign).0, Some("/new".to_owned()));
        std::fs::remove_dir_all(folder).unwrap();
    }

    /// What stands beside a store that was copied, without the memory that its agent shared: whole transactions are read, in
    /// memory, as SQLite reads them.
    #[test]
    fn what_stands_beside_a_copy_is_put_in_its_places() {
        let folder = std::env::temp_dir().join(format!("foldback-copied-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("running.db");
        std::fs::write(&path, store(&fixture("opencode", "plain.json"))).unwrap();
        let running = Connection::open(&path).unwrap();
        running.execute_batch("PRAGMA journal_mode = wal; PRAGMA wal_autocheckpoint = 0").unwrap();
        let log = folder.join("running.db-wal");
        let mut ends = vec![(0, None)];
        for number in 0..40 {
            // Larger by many pages, then smaller again.
            let filler = "x".repeat(5_000 * (1 + number % 7));
            running.execute("UPDATE session SET directory = ?1", [format!("/{number}")]).unwrap();
            running.execute("UPDATE session SET slug = ?1", [filler]).unwrap();
            ends.push((std::fs::metadata(&log).unwrap().len(), Some(format!("/{number}"))));
        }
        let (whole, log) = (std::fs::read(&path).unwrap(), std::fs::read(&log).unwrap());
        drop(running);
        let (copy, beside) = (folder.join("copy.db"), folder.join("copy.db-wal"));
        std::fs::write(&copy, whole).unwrap();
        let directory = |log: &[u8]| {
            std::fs::write(&beside, log).unwrap();
            let found = read(&foldback_formats::read_file(&copy).unwrap(), None).unwrap().remove(0);
            assert_eq!(std::fs::read(&beside).unwrap(), log);
            (found.folder.clone(), warnings(&found).contains(&"write-ahead"))
        };
        for (end, expected) in &ends[1..] {
            let end = usize::try_from(*end).unwrap();
            assert_eq!(directory(&log[..end]), (expected.clone(), false));
        }
        // The last transaction is torn, or damaged in the middle: those before it hold.
        let end = usize::try_from(ends[39].0).unwrap();
        assert_eq!(directory(&log[..end + 60]), (Some("/38".to_owned()), false));
        let mut damaged = log.clone();
        damaged[usize::try_from(ends[20].0).unwrap() + 100] ^= 1;
        assert_eq!(directory(&damaged), (Some("/19".to_owned()), false));
        // Both together are more than may be taken into memory: the store is read without it.
        std::fs::write(&beside, &log).unwrap();
        let large = std::fs::File::options().write(true).open(&beside).unwrap();
        large.set_len(foldback_formats::limit::largest().unwrap()).unwrap();
        let found = read(&foldback_formats::read_file(&copy).unwrap(), None).unwrap().remove(0);
        assert!(warnings(&found).contains(&"write-ahead"), "{:?}", found.warnings);
        let names = std::fs::read_dir(&folder).unwrap().count();
        assert_eq!(names, 3, "nothing is made there");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_store_may_be_larger_than_any_other_file() {
        let path = std::env::temp_dir().join(format!("foldback-large-{}.db", std::process::id()));
        std::fs::write(&path, store(&fixture("opencode", "plain.json"))).unwrap();
        let small = foldback_formats::read_file(&path).unwrap();
        // Sparse: the pages are not on the disk.
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        file.set_len(foldback_formats::limit::LARGEST * 3).unwrap();
        let large = foldback_formats::read_file(&path);
        std::fs::remove_file(&path).unwrap();
        assert!(large.unwrap() == small);
        assert_eq!(read(&small, None).unwrap().len(), 1);
    }

    #[test]
    fn a_session_that_cannot_be_read_leaves_the_others_of_its_store() {
        let composer = fixture("cursor", "old.json");
        let packed = |documents: &[&str]| {
            let fields = ["foldback documents", "Cursor", ""].iter().chain(documents);
            fields.map(|field| format!("{field}\0")).collect::<String>().into_bytes()
        };
        let damaged = r#"{"composerId":"x","conversation":[{"bubbleId":]}"#;
        let found = read(&packed(&[damaged, &composer, damaged]), None).unwrap();
        assert_eq!(found.len(), 1);
        let warning = found[0].warnings.iter().find(|warning| warning.code == "damaged-session");
        assert!(warning.unwrap().detail.starts_with("2 session(s) can't be read; the first: "));
        assert!(read(&packed(&[damaged]), None).is_err());
    }

    /// What `read` of a store gave is what the fixture of an export gives.
    fn same(store: &[u8], format: &str, name: &str) -> Vec<foldback_formats::Session> {
        let expected = crate::common::sessions(&fixture(format, name), format);
        for from in [None, Some("sqlite"), Some(format)] {
            let found = read(store, from).unwrap();
            assert_eq!(found.len(), expected.len(), "{name}");
            for (found, expected) in found.iter().zip(&expected) {
                check(found);
                assert_eq!(found.format, format);
                assert_eq!(found.id, expected.id);
                assert_eq!(found.cluster, expected.cluster);
                assert_eq!(outline(found, 60), outline(expected, 60), "{name}");
                assert_eq!(found.boundaries, expected.boundaries, "{name}");
            }
        }
        read(store, None).unwrap()
    }

    /// The tables of schema 9 of Goose, and the one that counts calls since.
    const GOOSE: &str = "
        CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT, working_dir TEXT NOT NULL, created_at TIMESTAMP, model_config_json TEXT);
        CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT, session_id TEXT NOT NULL, role TEXT NOT NULL,
            content_json TEXT NOT NULL, created_timestamp INTEGER NOT NULL, timestamp TIMESTAMP, tokens INTEGER, metadata_json TEXT);
        CREATE TABLE usage_ledger (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, created_timestamp INTEGER NOT NULL,
            model TEXT, input_tokens INTEGER, output_tokens INTEGER, total_tokens INTEGER, cache_read_tokens INTEGER,
            cache_write_tokens INTEGER, cost REAL, cost_source TEXT, is_compaction INTEGER DEFAULT 0);";

    #[test]
    fn the_store_of_goose_holds_what_its_export_prints_and_the_usage() {
        let export: Value = serde_json::from_str(&fixture("goose", "export.json")).unwrap();
        let of = |id: &str| {
            json!({"id": id, "working_dir": export["working_dir"], "created_at": "2026-07-25 17:20:00",
                "model_config_json": export["model_config"]})
        };
        let mut rows = vec![("sessions", of("20260725_1")), ("sessions", of("20260725_2"))];
        for message in export["conversation"].as_array().unwrap() {
            rows.push((
                "messages",
                json!({"message_id": message["id"], "session_id": "20260725_1", "role": message["role"],
                    "content_json": message["content"], "created_timestamp": message["created"],
                    "metadata_json": message["metadata"]}),
            ));
        }
        let call = |input: u64, compaction: u64| {
            json!({"session_id": "20260725_1", "created_timestamp": 1, "model": "claude-haiku-5", "input_tokens": input,
                "output_tokens": 5, "cache_read_tokens": 100, "is_compaction": compaction})
        };
        let calls = [(900, 0), (1000, 0), (1100, 1), (300, 0), (400, 0)];
        let ledger = calls.map(|(input, compaction)| ("usage_ledger", call(input, compaction)));
        let store = filled(GOOSE, &[rows.clone(), ledger.to_vec()].concat());
        let found = same(&store, "goose", "export.json");
        let answers = found[0].messages.iter().filter_map(|message| message.answer.as_ref());
        let usages: Vec<_> = answers
            .map(|answer| (answer.usage.unwrap().uncached, answer.model.as_deref().unwrap()))
            .collect();
        assert_eq!(usages, [800, 900, 200, 300].map(|input| (input, "claude-haiku-5")));
        // One call fewer: whose they are is not known.
        let store = filled(GOOSE, &[rows, ledger[..4].to_vec()].concat());
        assert_eq!(warnings(&same(&store, "goose", "export.json")[0]), ["stray-usage"]);
    }

    /// The tables of Crush, with its migrations up to that of January 2026.
    const CRUSH: &str = "
        CREATE TABLE sessions (id TEXT PRIMARY KEY, parent_session_id TEXT, title TEXT NOT NULL, message_count INTEGER,
            prompt_tokens INTEGER, completion_tokens INTEGER, cost REAL, updated_at INTEGER, created_at INTEGER,
            summary_message_id TEXT, todos TEXT);
        CREATE TABLE messages (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, role TEXT NOT NULL, parts TEXT NOT NULL, model TEXT,
            created_at INTEGER NOT NULL, updated_at INTEGER, finished_at INTEGER, provider TEXT,
            is_summary_message INTEGER DEFAULT 0 NOT NULL);";

    #[test]
    fn the_store_of_crush_holds_what_its_command_prints_and_more() {
        let shown: Value = serde_json::from_str(&fixture("crush", "store.json")).unwrap();
        let meta = &shown["meta"];
        let session = |id: &Value, at: u64| {
            json!({"id": id, "title": "Gauge", "prompt_tokens": 1200, "completion_tokens": 12, "cost": 0.01,
                "created_at": at, "summary_message_id": "s1"})
        };
        let mut rows = vec![
            ("sessions", session(&meta["uuid"], 1)),
            ("sessions", session(&json!("unused"), 2)),
        ];
        for message in shown["messages"].as_array().unwrap() {
            let parts = message["parts"].as_array().unwrap().iter().map(|part| {
                let mut data = part.clone();
                let kind = data.as_object_mut().unwrap().remove("type");
                json!({"type": kind, "data": data})
            });
            rows.push((
                "messages",
                json!({"id": message["id"], "session_id": meta["uuid"], "role": message["role"],
                    "parts": parts.collect::<Vec<_>>(), "model": message["model"], "provider": message["provider"],
                    "created_at": message["created"], "is_summary_message": i64::from(message["is_summary"] == true)}),
            ));
        }
        same(&filled(CRUSH, &rows), "crush", "store.json");
        // A part of another shape is read as far as it goes.
        rows.push((
            "messages",
            json!({"id": "odd", "session_id": meta["uuid"], "role": "user", "created_at": 99, "is_summary_message": 0,
                "parts": [{"type": "text", "data": [7]}]}),
        ));
        assert!(read(&filled(CRUSH, &rows), None).is_ok());
    }

    /// The tables of Hermes 0.19 (schema 22), with the columns that are read.
    const HERMES: &str = "
        CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT NOT NULL, model TEXT, system_prompt TEXT, parent_session_id TEXT,
            started_at REAL NOT NULL, end_reason TEXT, cwd TEXT, git_repo_root TEXT);
        CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, role TEXT NOT NULL, content TEXT,
            tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, timestamp REAL NOT NULL, finish_reason TEXT, reasoning TEXT,
            reasoning_content TEXT, observed INTEGER, active INTEGER NOT NULL DEFAULT 1, compacted INTEGER NOT NULL DEFAULT 0,
            api_content TEXT);";

    #[test]
    fn the_store_of_hermes_holds_what_compactions_took_out_and_joins_what_they_ended() {
        let text = fixture("hermes", "store.jsonl");
        let read =
            ["id", "source", "model", "system_prompt", "parent_session_id", "started_at", "cwd"];
        let mut rows = Vec::new();
        for line in text.lines() {
            let mut session: Value = serde_json::from_str(line).unwrap();
            let messages = session["messages"].take();
            session.as_object_mut().unwrap().retain(|column, _| read.contains(&column.as_str()));
            if let Some(parent) = session.get("parent_session_id") {
                let ended = json!({"id": parent, "source": "cli", "started_at": 1, "end_reason": "compression"});
                rows.push(("sessions", ended));
            }
            rows.push(("sessions", session));
            for mut row in messages.as_array().unwrap().clone() {
                if row["content"].is_array() {
                    row["content"] = format!("\0json:{}", row["content"]).into();
                }
                if row["active"] == 1 {
                    row["compacted"] = 0.into();
                }
                rows.push(("messages", row));
            }
        }
        rows.push(("sessions", json!({"id": "unused", "source": "cli", "started_at": 9})));
        same(&filled(HERMES, &rows), "hermes", "store.jsonl");
    }

    #[test]
    fn other_databases_and_damaged_ones_are_refused() {
        let bytes = store(&fixture("opencode", "plain.json"));
        for end in [16, 100, 1000, bytes.len() / 2] {
            assert!(read(&bytes[..end], None).is_err(), "{end}");
        }
        assert!(read(HEADER, None).is_err());
        let other = filled("CREATE TABLE t (a)", &[("t", json!({"a": 1}))]);
        for from in [None, Some("sqlite"), Some("goose")] {
            let error = read(&other, from).unwrap_err().to_string();
            assert!(
                error.starts_with("the file: an SQLite database with the tables of no agent"),
                "{error}"
            );
            assert!(error.contains("(OpenCode, Goose, Crush, Hermes, Cursor)"), "{error}");
        }
    }

    /// The table of every VS Code, and Cursor's own.
    const CURSOR: &str = "
        CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);
        CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);";

    /// The rows of a composer: its own without the conversation, and one for each bubble.
    fn rows_of(composer: &Value) -> Vec<(String, Value)> {
        let id = composer["composerId"].as_str().unwrap();
        let (mut own, mut headers, mut rows) = (composer.clone(), Vec::new(), Vec::new());
        for bubble in composer["conversation"].as_array().unwrap() {
            headers.push(json!({"bubbleId": bubble["bubbleId"], "type": bubble["type"]}));
            if bubble["isLost"] != true {
                let key = format!("bubbleId:{id}:{}", bubble["bubbleId"].as_str().unwrap());
                rows.push((key, bubble.clone()));
            }
        }
        own["conversation"] = json!([]);
        own["fullConversationHeadersOnly"] = headers.into();
        rows.push((format!("composerData:{id}"), own));
        // Not in the order in which they were said.
        rows.reverse();
        rows
    }

    /// A store of Cursor: texts, or the same as bytes.
    fn cursor(rows: &[(String, Value)], bytes: bool) -> Vec<u8> {
        let mut connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(CURSOR).unwrap();
        for (key, value) in rows {
            let text = (!value.is_null()).then(|| value.to_string());
            let query = match bytes {
                true => "INSERT INTO cursorDiskKV VALUES (?1, CAST(?2 AS BLOB))",
                false => "INSERT INTO cursorDiskKV VALUES (?1, ?2)",
            };
            connection.execute(query, params![key, text]).unwrap();
        }
        connection.serialize("main").unwrap().to_vec()
    }

    #[test]
    fn the_store_of_cursor_is_read_in_the_order_of_its_headers() {
        let composer: Value = serde_json::from_str(&fixture("cursor", "store.json")).unwrap();
        let mut rows = rows_of(&composer);
        // What was deleted, an answer that was made anew, and a draft.
        rows.push(("composerData:0".to_owned(), Value::Null));
        rows.push(("bubbleId:7246:gone".to_owned(), Value::Null));
        rows.push(("bubbleId:7246:other".to_owned(), json!({"type": 2, "text": "Once more."})));
        rows.push(("composerData:1".to_owned(), json!({"fullConversationHeadersOnly": []})));
        for bytes in [false, true] {
            same(&cursor(&rows, bytes), "cursor", "store.json");
        }
        let old: Value = serde_json::from_str(&fixture("cursor", "old.json")).unwrap();
        let old = ("composerData:11aa".to_owned(), old);
        same(&cursor(std::slice::from_ref(&old), false), "cursor", "old.json");
        let ids = |rows: &[(String, Value)]| {
            let found = read(&cursor(rows, false), None).unwrap();
            found.into_iter().map(|session| session.id).collect::<Vec<_>>()
        };
        assert_eq!(ids(&[rows, vec![old]].concat()), ["7246", "11aa"]);
        // The table is that of every workspace, where it is empty.
        let error = read(&cursor(&[], false), None).unwrap_err().to_string();
        assert!(error.contains("no messages"), "{error}");
    }

    #[test]
    fn the_latest_summary_of_a_composer_stands_where_it_was_made() {
        let mut composer: Value = serde_json::from_str(&fixture("cursor", "old.json")).unwrap();
        let summary = json!({"summary": {"summary": "Three lines."}, "lastBubbleId": "b"});
        composer["latestConversationSummary"] = summary;
        let found = read(&cursor(&rows_of(&composer), false), None).unwrap().remove(0);
        assert_eq!(found.boundaries[0].before, 2);
        assert_eq!(found.messages[2].said(), "Three lines.");
        assert_eq!(found.log().count(), 2);
    }
}
