//! What every importer promises: damage and repetition change nothing that was not damaged or repeated.
use crate::common::{self, bare, fixture, recorded, sessions};
use foldback_formats::{FORMATS, Session, format, read};
use serde_json::{Value, from_str, json};
use std::collections::BTreeSet;
use std::panic::catch_unwind;
use std::path::Path;

/// How a format's files grow: whole lines, or one document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Grows {
    /// Lines are appended. A record of a type that no version of the recorder writes; none where a file
    /// may hold lines of any kind (telemetry that tells of no call of a model).
    Lines(Option<&'static str>),
    /// The file is written as a whole.
    Whole,
}
use Grows::{Lines, Whole};

/// Every format with a fixture in the shape that its recorder writes.
const ROWS: &[(&str, &str, Grows)] = &[
    ("claude-code", "parallel.jsonl", Lines(Some(r#"{"type":"owl","uuid":"owl-1"}"#))),
    (
        "codex",
        "parallel.jsonl",
        Lines(Some(r#"{"timestamp":"2026-01-01T00:00:00Z","type":"owl","payload":{}}"#)),
    ),
    ("pi", "plain.jsonl", Lines(Some(r#"{"type":"owl","id":"owl-1"}"#))),
    ("dsh", "session.jsonl", Lines(Some(r#"{"type":"owl/seen","seq":99,"data":{}}"#))),
    ("kimi-code", "wire.jsonl", Lines(Some(r#"{"type":"owl.seen","agentId":"main","time":1}"#))),
    ("qwen-code", "chat.jsonl", Lines(Some(r#"{"uuid":"owl-1","sessionId":"s","type":"owl"}"#))),
    ("goose", "lines.jsonl", Lines(Some(r#"{"type":"owl"}"#))),
    ("gemini-cli", "lines.jsonl", Lines(Some(r#"{"id":"owl-1","type":"owl","content":"?"}"#))),
    ("copilot-cli", "events.jsonl", Lines(Some(r#"{"type":"owl","id":"owl-1","data":{}}"#))),
    (
        "openhands",
        "v1.jsonl",
        Lines(Some(
            r#"{"kind":"OwlEvent","id":"owl-1","source":"agent","timestamp":"2026-01-01T00:00:00"}"#,
        )),
    ),
    ("foldback", "", Lines(Some(r#"{"owl":{}}"#))),
    ("crush", "store.json", Whole),
    ("cline", "cli.messages.json", Whole),
    ("hermes", "store.jsonl", Lines(Some(r#"{"owl":[]}"#))),
    ("cursor", "transcript.jsonl", Lines(Some(r#"{"type":"owl"}"#))),
    ("roo-code", "native.json", Whole),
    ("gemini", "bare.json", Whole),
    ("openhands-llm", "tools.json", Whole),
    ("opencode", "parallel.json", Whole),
    ("atif", "parallel.json", Whole),
    ("inspect", "log.json", Whole),
    ("tau2", "results.json", Whole),
    ("langchain", "state.json", Whole),
    ("otel", "spans.jsonl", Lines(None)),
    ("pydantic-ai", "parallel.json", Whole),
    ("swe-agent", "function-calls.traj", Whole),
    ("mini-swe-agent", "v2.traj.json", Whole),
    ("openai-responses", "items.jsonl", Lines(Some(r#"{"type":"owl"}"#))),
    ("openai-chat", "parallel.json", Whole),
    ("anthropic", "parallel.json", Whole),
];

/// Formats whose line files are one stream: appended to itself it gives the same messages, from the same
/// records, and for some the same warnings.
const ONE_STREAM: &[(&str, bool)] = &[
    ("claude-code", true),
    ("codex", true),
    ("dsh", false),
    ("kimi-code", false),
    ("qwen-code", false),
    ("goose", false),
    ("cursor", false),
    ("pi", false),
    ("copilot-cli", false),
    ("openhands", true),
];

/// Formats whose lines have no ids: the same item twice may have been said twice.
const WITHOUT_IDS: &[&str] = &["openai-responses"];

fn text(id: &str, name: &str) -> String {
    if id == "foldback" {
        let session = common::session(&fixture("pi", "plain.jsonl"), "pi");
        return common::rewritten(&session, id).text;
    }
    fixture(id, name)
}

#[test]
fn every_format_is_here() {
    let here: BTreeSet<&str> = ROWS.iter().map(|(id, _, _)| *id).collect();
    let all: BTreeSet<&str> = FORMATS.iter().map(|format| format.id).collect();
    assert_eq!(here, all);
    // And has fixtures, of which one is read from a file that others recorded.
    for id in all.iter().filter(|id| **id != "foldback") {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(id);
        assert!(folder.read_dir().unwrap().count() > 0, "{id}");
    }
}

#[test]
fn a_file_that_was_appended_to_itself_is_the_same_session() {
    let rows = ROWS.iter().filter(|(_, _, grows)| *grows != Whole);
    let mut files: Vec<(String, String, String)> =
        rows.map(|(id, name, _)| ((*id).to_owned(), (*name).to_owned(), text(id, name))).collect();
    files.extend(common::fixtures().into_iter().filter(|(id, name, _)| {
        ONE_STREAM.iter().any(|(known, _)| known == id) && name.ends_with(".jsonl")
    }));
    for (id, name, text) in files.iter().filter(|(id, _, _)| !WITHOUT_IDS.contains(&&**id)) {
        let ended = if text.ends_with('\n') { "" } else { "\n" };
        let stream = ONE_STREAM.iter().find(|(known, _)| known == id);
        let text = format!("{text}{ended}");
        let once = sessions(&text, id);
        let twice = sessions(&format!("{text}{text}"), id);
        assert_eq!(twice.len(), once.len(), "{id} {name}");
        for (twice, once) in twice.iter().zip(&once) {
            // A file that names no session gets an id from its content.
            if !once.id.starts_with("session-") {
                assert_eq!(twice.id, once.id, "{id} {name}");
            }
            assert_eq!(bare(twice), bare(once), "{id} {name}");
            assert_eq!(twice.frame, once.frame, "{id} {name}");
            assert_eq!(twice.boundaries, once.boundaries, "{id} {name}");
            if stream.is_some() {
                assert_eq!(twice.messages, once.messages, "{id} {name}");
            }
            if let Some((_, true)) = stream {
                assert_eq!(common::warnings(twice), common::warnings(once), "{id} {name}");
            }
        }
    }
}

#[test]
fn what_nothing_touched_is_written_byte_for_byte() {
    for (id, name, text) in common::fixtures() {
        if format(&id).unwrap().writer.is_none() || name == "steps-only.traj" {
            continue;
        }
        let sessions = sessions(&text, &id);
        for session in &sessions {
            let outcome = common::rewritten(session, &id);
            // A conversation of a file of many is written alone.
            assert_eq!(outcome.text, *session.source.text, "{id} {name} {}", session.id);
            assert!(text.contains(&outcome.text), "{id} {name} {}", session.id);
            assert_eq!(outcome.losses, [""; 0], "{id} {name}");
        }
        assert!(sessions.len() > 1 || *sessions[0].source.text == *text, "{id} {name}");
    }
}

/// A file that ends anywhere is read or refused, and never makes the importer panic.
#[test]
fn files_cut_off_anywhere() {
    for (id, _, text) in common::fixtures() {
        let mut end = text.len();
        while let Some(cut) = text.get(..end) {
            if let Ok(sessions) = read(cut.as_bytes(), Some(&id)) {
                assert!(sessions.iter().any(|s| !s.messages.is_empty()), "{id} at {end}");
            }
            let mut shorter = (0..end.saturating_sub(37)).rev();
            end = shorter.find(|at| text.is_char_boundary(*at)).unwrap_or(usize::MAX);
        }
    }
}

/// A value of another type, which may be a whole line, never makes the importer panic.
#[test]
fn values_of_another_type_anywhere() {
    let mut seen = BTreeSet::new();
    for (id, name, text) in common::fixtures() {
        let whole = from_str::<Value>(&text).is_ok();
        let lines = if whole { vec![&*text] } else { text.lines().collect() };
        for line in lines {
            let Ok(value) = from_str::<Value>(line) else { continue };
            let start = line.as_ptr().addr() - text.as_ptr().addr();
            let (before, after) = (&text[..start], &text[start + line.len()..]);
            for (pointer, place) in places(&value) {
                if !seen.insert((id.clone(), place)) {
                    continue;
                }
                let flat = |value: &Value| if value.is_array() { json!("owl") } else { json!([7]) };
                for other in [flat, |_: &Value| json!({"owl": null})] {
                    let mut changed = value.clone();
                    let place = changed.pointer_mut(&pointer).unwrap();
                    *place = other(place);
                    let changed = format!("{before}{changed}{after}");
                    let read = catch_unwind(|| read(changed.as_bytes(), Some(&id)).is_ok());
                    assert!(read.is_ok(), "{id} {name}: {pointer} of {line}");
                }
            }
        }
    }
}

/// The JSON pointers of a value and of all that it holds, and what distinguishes the place of each: the
/// members that stand beside it, whatever its number in a list.
fn places(value: &Value) -> Vec<(String, String)> {
    let (beside, held): (String, Vec<(String, &Value)>) = match value {
        Value::Object(map) => {
            let escaped = |key: &str| key.replace('~', "~0").replace('/', "~1");
            let beside = map.keys().cloned().collect::<Vec<_>>().join(" ");
            (beside, map.iter().map(|(key, value)| (escaped(key), value)).collect())
        }
        Value::Array(list) => (
            String::new(),
            (0..).zip(list).map(|(at, value): (u32, _)| (at.to_string(), value)).collect(),
        ),
        _ => return vec![(String::new(), String::new())],
    };
    let is_list = value.is_array();
    let mut out = vec![(String::new(), beside.clone())];
    for (key, value) in held {
        let member = if is_list { "" } else { &*key };
        out.extend(places(value).into_iter().map(|(pointer, place)| {
            (format!("/{key}{pointer}"), format!("{beside}/{member}{place}"))
        }));
    }
    out
}

#[test]
fn a_last_line_that_is_still_being_written_costs_that_line() {
    for (id, name, grows) in ROWS {
        if *grows == Whole {
            continue;
        }
        let text = text(id, name);
        let text = text.trim_end();
        let last = text.rfind('\n').unwrap();
        let without = sessions(&text[..last], id);
        let half = (last..text.len())
            .rev()
            .find(|at| text.is_char_boundary(*at) && *at <= last + (text.len() - last) / 2);
        let cut = sessions(&text[..half.unwrap()], id);
        assert_eq!(bare(&cut[0]), bare(&without[0]), "{id}");
        let codes = common::warnings(&cut[0]);
        assert!(
            codes.iter().any(|code| ["damaged-line", "truncated-line"].contains(code)),
            "{id}: {codes:?}"
        );
    }
}

#[test]
fn a_document_that_ends_in_the_middle_says_so() {
    for (id, name, grows) in ROWS {
        if *grows != Whole {
            continue;
        }
        let text = text(id, name);
        let half = text.char_indices().nth(text.chars().count() * 2 / 3).unwrap().0;
        let error = read(&text.as_bytes()[..half], Some(id)).unwrap_err().to_string();
        assert!(error.contains("ends in the middle"), "{id}: {error}");
    }
}

#[test]
fn a_line_of_an_unknown_type_is_counted_and_the_rest_is_used() {
    for (id, name, grows) in ROWS {
        let Lines(Some(unknown)) = grows else {
            continue;
        };
        let text = text(id, name);
        let before = sessions(&text, id);
        let ended = if text.ends_with('\n') { "" } else { "\n" };
        let after = sessions(&format!("{text}{ended}{unknown}\n"), id);
        assert_eq!(bare(&after[0]), bare(&before[0]), "{id}");
        assert_eq!(
            after[0].warnings.len(),
            before[0].warnings.len() + 1,
            "{id}: {:?}",
            after[0].warnings
        );
    }
}

#[test]
fn every_result_has_one_call_or_a_warning() {
    for (id, name, _) in ROWS {
        for session in sessions(&text(id, name), id) {
            check_pairs(&session, id);
        }
    }
}

#[foldback_needs::sessions]
#[test]
fn every_recorded_result_has_one_call_or_a_warning() {
    for folder in recorded("").iter().filter(|path| path.is_dir()) {
        for path in recorded(&folder.file_name().unwrap().to_string_lossy()) {
            let bytes = std::fs::read(&path).unwrap();
            for session in read(&bytes, None).unwrap() {
                check_pairs(&session, &path.to_string_lossy());
            }
        }
    }
}

fn check_pairs(session: &Session, name: &str) {
    let mut open: BTreeSet<&str> = BTreeSet::new();
    let (mut strays, mut pending) = (0, 0);
    for part in session.log().flat_map(|message| &message.parts) {
        if let Some(call) = part.as_call() {
            assert!(open.insert(&call.call_id), "{name}: {}", call.call_id);
        }
        if let Some(result) = part.as_result() {
            pending += usize::from(!result.status.is_settled());
            strays += usize::from(!open.remove(&*result.call_id));
        }
    }
    let codes = common::warnings(session);
    let told = |code: &str| codes.iter().filter(|found| **found == code).count();
    assert!(told("orphan-result") >= strays, "{name}: {strays} {codes:?}");
    assert!(
        told("call-without-result") >= open.len() + pending,
        "{name}: {open:?} {pending} {codes:?}"
    );
}
