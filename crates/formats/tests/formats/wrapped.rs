//! The same sessions in the other shapes in which files of a format come.
use crate::common::{detected, fixture, outline, session, sessions};
use foldback_formats::Session;
use serde_json::{Value, json};

#[test]
fn other_ways_to_keep_events_of_openhands() {
    const ID: &str = "openhands";
    let v1 = fixture(ID, "v1.jsonl");
    let list = format!("[{}]", v1.lines().collect::<Vec<_>>().join(","));
    let expected = outline(&session(&v1, ID), 16);
    for text in [list.clone(), format!("{{\"id\":\"x\",\"items\":{list}}}")] {
        assert_eq!(detected(&text), Some(ID));
        assert_eq!(outline(&session(&text, ID), 16), expected);
    }
    let output = fixture(ID, "output.jsonl");
    let instances: Vec<&str> = output.lines().filter(|line| line.ends_with('}')).collect();
    assert_eq!(sessions(&format!("[{}]", instances.join(",")), ID).len(), 2);
}

#[test]
fn the_same_spans_in_other_wrappings() {
    const ID: &str = "otel";
    let lines = fixture(ID, "spans.jsonl");
    let spans: Vec<Value> =
        lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let outlines = |sessions: &[Session]| -> Vec<_> {
        sessions.iter().map(|session| outline(session, 40)).collect()
    };
    let expected = outlines(&sessions(&lines, ID));
    let pretty: Vec<String> = spans.iter().map(|span| format!("{span:#}\n")).collect();
    let table = [
        ("a list", Value::from(spans.clone()).to_string()),
        ("an object", json!({"spans": spans}).to_string()),
        ("the console exporter", pretty.concat()),
    ];
    for (name, text) in table {
        assert_eq!(detected(&text), Some(ID), "{name}");
        let sessions = sessions(&text, ID);
        assert_eq!(outlines(&sessions), expected, "{name}");
        for session in &sessions {
            for message in &session.messages {
                let raw = session.source.record(message.record.unwrap()).unwrap();
                let span: Value = serde_json::from_str(raw).unwrap();
                assert!(span.get("attributes").is_some(), "{name}");
            }
        }
    }
}

/// Gemini CLI writes a message again whenever something was added to it.
#[test]
fn the_last_state_of_a_message_counts_in_its_first_place() {
    let text = fixture("gemini-cli", "lines.jsonl");
    let kept =
        text.lines().filter(|line| !line.contains("rewindTo") && !line.contains("Wrong turn"));
    let text: String =
        kept.filter(|line| line.ends_with('}')).map(|line| format!("{line}\n")).collect();
    let once = session(&text, "gemini-cli");
    let twice = session(&format!("{text}{text}"), "gemini-cli");
    let said = |session: &Session| -> Vec<_> {
        let ids = session.messages.iter().map(|message| message.id.clone());
        ids.zip(outline(session, 99)).collect()
    };
    assert_eq!(said(&once), said(&twice));
    assert_eq!(once.boundaries, twice.boundaries);
}
