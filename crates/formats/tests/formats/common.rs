//! What the tests of all formats share.
use foldback_core::Message;
use foldback_core::log::{Role, Usage};
use foldback_core::view::{EditKind, PartEdit, PartPos};
use foldback_formats::{FORMATS, FormatId, Outcome, Session, View, format, read};
pub use foldback_test_support::sessions_of as recorded;
use std::collections::BTreeSet;
use std::path::Path;

/// The text of a fixture.
pub fn fixture(id: &str, name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(id).join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every fixture: format, name, text.
pub fn fixtures() -> Vec<(String, String, String)> {
    let mut out = Vec::new();
    for format in FORMATS.iter().filter(|format| format.id != "foldback") {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(format.id);
        for file in folder.read_dir().unwrap().map(|file| file.unwrap().path()) {
            if file.is_file() {
                let name = file.file_name().unwrap().to_string_lossy().into_owned();
                out.push((format.id.to_owned(), name, std::fs::read_to_string(&file).unwrap()));
            }
        }
    }
    out.sort();
    assert!(out.len() > 40, "{} fixtures", out.len());
    out
}

/// The rows of a table of texts: what stands behind `# ` in a line, and the lines below it.
pub fn rows(table: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let rows = table.split("\n# ").skip(1).map(|row| row.split_once('\n').unwrap());
    rows.map(|(heading, below)| (heading, below.trim_end_matches('\n')))
}

/// The sessions of a text.
pub fn sessions(text: &str, id: &str) -> Vec<Session> {
    read(text.as_bytes(), Some(id)).unwrap_or_else(|error| panic!("{id}: {error}"))
}

/// The only session of a text.
pub fn session(text: &str, id: &str) -> Session {
    let mut sessions = sessions(text, id);
    assert_eq!(sessions.len(), 1);
    sessions.remove(0)
}

/// What writing a session as its recorder left it gives, in the format `to`.
pub fn rewritten(session: &Session, to: &str) -> Outcome {
    let edits = session.recorded_edits();
    write(&View::recorded(session, &edits), to)
}

/// What writing a view gives in the format `to`.
pub fn write(view: &View<'_>, to: &str) -> Outcome {
    format(to).unwrap().write(view).unwrap().unwrap_or_else(|error| panic!("{error}"))
}

/// Codes of the warnings, in order.
pub fn warnings(session: &Session) -> Vec<&str> {
    session.warnings.iter().map(|warning| warning.code.as_str()).collect()
}

/// Usage summed over the answers of the log: uncached, read, written, output, reasoning.
pub fn usage(session: &Session) -> [u64; 5] {
    session.log().filter_map(|message| message.answer.as_ref()?.usage).fold([0; 5], |sum, usage| {
        let Usage { uncached, cache_read, cache_write, output, reasoning, .. } = usage;
        [
            sum[0] + uncached,
            sum[1] + cache_read,
            sum[2] + cache_write,
            sum[3] + output,
            sum[4] + reasoning,
        ]
    })
}

/// What holds for every session of every format: ids are unique, and pointers and records lead to
/// where they say.
pub fn check(session: &Session) {
    let mut ids = BTreeSet::new();
    let mut calls = BTreeSet::new();
    for message in &session.messages {
        assert!(ids.insert(&message.id), "two messages `{}`", message.id);
        for call in message.call_ids() {
            assert!(calls.insert(call), "two calls `{call}`");
        }
        // A trajectory restores what its steps cannot hold: that lies in no record.
        let restored = session.format == "atif";
        assert!(message.record.is_some() || restored, "a record");
        for part in &message.parts {
            assert!(part.pointer.is_some() || restored, "a pointer");
            let (Some(record), Some(pointer)) =
                (part.source_record.or(message.record), part.pointer.as_deref())
            else {
                continue;
            };
            let raw = session.source.record(record).expect("a raw record");
            let value: serde_json::Value = serde_json::from_str(raw).expect("JSON");
            if let Some(found) = value.pointer(pointer).and_then(|value| value.as_str())
                && part.as_call().is_none()
                && !part.shown().is_empty()
            {
                assert_eq!(found, part.shown(), "{record} {pointer}");
            }
        }
    }
    for cleared in &session.cleared {
        assert!(session.messages[cleared.at.item].parts[cleared.at.part].as_result().is_some());
    }
}

/// The messages of a session without where they were read from.
pub fn bare(session: &Session) -> Vec<Message> {
    let messages = session.messages.iter();
    messages
        .map(|message| {
            let mut message = Message::clone(message);
            message.record = None;
            for part in &mut message.parts {
                part.source_record = None;
                part.pointer = None;
            }
            message
        })
        .collect()
}

/// What stands for a cleared result.
pub const CLEARED: &str = "[Old tool result content cleared]";

/// An edit over the first part of every message that `which` picks.
pub fn edits(
    session: &Session,
    kind: EditKind,
    text: &str,
    which: fn(usize, &Message) -> bool,
) -> Vec<(PartPos, PartEdit)> {
    let edit = PartEdit { kind, text: text.into(), at: 7 };
    let messages = session.messages.iter().enumerate();
    messages
        .filter(|(item, message)| which(*item, message))
        .map(|(item, _)| (PartPos { item, part: 0 }, edit.clone()))
        .collect()
}

/// Whether a message is a tool's.
pub fn is_tool(_: usize, message: &Message) -> bool {
    message.role == Role::Tool
}

/// Hides messages of a view.
pub fn hide(view: &mut View<'_>, which: fn(usize, &Message) -> bool) {
    for (index, item) in view.stored.iter_mut().enumerate() {
        item.visible &= !which(index, item.shown.message);
    }
    view.sent =
        view.stored.iter().filter(|item| item.visible).map(|item| item.shown.clone()).collect();
}

/// The format that a text is found to be of.
pub fn detected(text: &str) -> Option<FormatId> {
    foldback_formats::detect(text).map(|format| format.id)
}

/// Role, marks and parts of each message, texts cut to `width` characters: `u` begins a turn, `+`
/// came mid-turn, `E` was written by a compaction.
pub fn outline(session: &Session, width: usize) -> Vec<String> {
    session
        .messages
        .iter()
        .map(|message| {
            let marks =
                [("u", message.begins_turn()), ("+", message.mid_turn), ("E", message.is_entry())];
            let marks = marks.iter().filter(|(_, set)| *set).map(|(mark, _)| *mark);
            let parts: Vec<String> = message
                .parts
                .iter()
                .map(|part| {
                    let text: String = part.shown().chars().take(width).collect();
                    format!("{}:{}", part.kind_name(), text.replace('\n', "|"))
                })
                .collect();
            let marks: String = marks.collect();
            format!("{}{marks} {}", message.role.as_str(), parts.join(" "))
        })
        .collect()
}

/// The bytes of a file in `tests/cases`, at the top of the repository.
pub fn read_case(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Its text.
pub fn case(name: &str) -> String {
    String::from_utf8(read_case(name)).unwrap()
}
