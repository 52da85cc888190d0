//! No format takes the files of another: every fixture and every recorded session is found to be of the
//! format whose folder it lies in.
use crate::common::{case, detected, fixture, fixtures, recorded, sessions, usage};
use foldback_formats::Session;
use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{Formatter, Serializer};
use std::collections::BTreeMap;
use std::io::{Result, Write};
use std::path::Path;

/// Recorded sessions whose folder is not called after the format, or that lie with others.
const RECORDED: &[(&str, &str)] =
    &[("tau2-bench", "tau2"), ("gemini-cli-contents-trajectory", "gemini")];

fn id_of(path: &Path, folder: &str) -> String {
    let path = path.to_string_lossy();
    let other = RECORDED.iter().find(|(part, _)| path.contains(part));
    other.map_or(folder, |(_, id)| id).to_owned()
}

#[test]
fn fixtures_are_of_their_format() {
    for (id, name, text) in fixtures() {
        assert_eq!(detected(&text), Some(&*id), "{id} {name}");
    }
}

/// JSON as others write it: a space behind a comma and a colon.
struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> Result<()> {
        out.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> Result<()> {
        out.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> Result<()> {
        out.write_all(b": ")
    }
}

fn spaced(value: &Value) -> String {
    let mut out = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut out, Spaced)).unwrap();
    String::from_utf8(out).unwrap()
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(list) => list.iter().map(sorted).collect(),
        Value::Object(members) => {
            let members: BTreeMap<&String, Value> =
                members.iter().map(|(key, value)| (key, sorted(value))).collect();
            members.into_iter().map(|(key, value)| (key.clone(), value)).collect()
        }
        other => other.clone(),
    }
}

/// A text with its values written anew; what is no JSON stays.
fn respelled(text: &str, write: fn(&Value) -> String) -> String {
    if let Ok(document) = serde_json::from_str(text) {
        return write(&document);
    }
    let line =
        |line: &str| serde_json::from_str(line).map_or(line.to_owned(), |value| write(&value));
    text.lines().map(|text| format!("{}\n", line(text))).collect()
}

/// What a session says: roles, kinds of parts, and texts, JSON among them whatever its spelling; and what it used.
fn told(session: &Session) -> (Vec<(String, bool, Value)>, [u64; 5]) {
    let text = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
    let parts = session.messages.iter().flat_map(|message| {
        message.parts.iter().map(move |part| {
            let kind = format!("{} {}", message.role.as_str(), part.kind_name());
            (kind, message.begins_turn(), text(&part.shown()))
        })
    });
    (parts.collect(), usage(session))
}

#[test]
fn detection_and_reading_do_not_depend_on_spelling() {
    type Spelled = fn(&Value) -> String;
    let ways: [(&str, Spelled); 4] = [
        ("with spaces", spaced),
        ("with sorted keys", |value| sorted(value).to_string()),
        ("sorted, with spaces", |value| spaced(&sorted(value))),
        ("indented", |value| format!(" {value}")),
    ];
    for (id, name, text) in fixtures() {
        let expected: Vec<_> = sessions(&text, &id).iter().map(told).collect();
        let ways = ways.iter().map(|(way, write)| (*way, respelled(&text, *write)));
        let crlf = ("with CRLF", text.replace("\r\n", "\n").replace('\n', "\r\n"));
        for (way, text) in ways.chain([crlf]) {
            assert_eq!(detected(&text), Some(&*id), "{id} {name}, {way}");
            let found: Vec<_> = sessions(&text, &id).iter().map(told).collect();
            assert_eq!(found, expected, "{id} {name}, {way}");
        }
    }
}

#[test]
fn rollouts_with_spaces_are_of_codex() {
    for name in ["codex-with-spaces.jsonl", "spaced.jsonl"] {
        let text = case(&format!("B52-codex-respelled/{name}"));
        assert_eq!(detected(&text), Some("codex"), "{name}");
        assert!(!sessions(&text, "codex")[0].messages.is_empty(), "{name}");
    }
}

#[test]
fn what_makes_a_format_may_stand_behind_a_long_text() {
    let (name, long) = ("function-calls.traj", "line of output\n".repeat(10_000));
    let mut document: Value = serde_json::from_str(&fixture("swe-agent", name)).unwrap();
    document["trajectory"][0]["observation"] = long.into();
    assert_eq!(detected(&document.to_string()), Some("swe-agent"));
}

/// A file that lost its beginning is found by whichever entry comes first, as it is what a compaction may leave.
#[test]
fn any_entry_of_pi_is_one_of_pi() {
    let kinds =
        ["message", "compaction", "branch_summary", "model_change", "thinking_level_change"];
    let mut found = 0;
    for (_, name, text) in fixtures().into_iter().filter(|(id, ..)| id == "pi") {
        for line in text.lines() {
            let entry: Option<Value> = serde_json::from_str(line).ok();
            let kind = entry.as_ref().and_then(|entry| entry["type"].as_str());
            if kind.is_some_and(|kind| kinds.contains(&kind)) {
                assert_eq!(detected(line), Some("pi"), "{name}: {line}");
                found += 1;
            }
        }
    }
    assert!(found > 20, "{found} entries");
}

#[foldback_needs::sessions]
#[test]
fn recorded_sessions_are_of_their_format() {
    for folder in recorded("") {
        if !folder.is_dir() {
            continue;
        }
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        for file in recorded(&name) {
            let text = std::fs::read_to_string(&file).unwrap();
            let id = id_of(&file, &name);
            assert_eq!(detected(&text), Some(&*id), "{}", file.display());
        }
    }
}
