//! Chat Completions messages: what is read from them, and what is written back.
use crate::common::{check, clear, edits, fixture, hide, rewritten, session, write};
use foldback_core::log::{ResultStatus, Role};
use foldback_core::view::{EditKind, Shown};
use foldback_core::{Message, SegmentKind};
use foldback_formats::{Session, View, read};
use serde_json::{Value, json};
use std::sync::Arc;

const ID: &str = "openai-chat";

fn load(name: &str) -> Session {
    session(&fixture(ID, name), ID)
}

#[test]
fn the_frame_holds_prompts_and_tools() {
    let session = load("plain.json");
    let frame: Vec<_> = session
        .frame
        .segments
        .iter()
        .map(|segment| (segment.kind.clone(), &*segment.text))
        .collect();
    let tools = r#"[{"type":"function","function":{"name":"read","description":"Reads a file.","parameters":{"type":"object"}}}]"#;
    assert_eq!(
        frame,
        [
            (SegmentKind::Tools, tools),
            (SegmentKind::System, "Be brief."),
            (SegmentKind::System, "Mind the style."),
        ]
    );
    assert_eq!(session.model.as_deref(), Some("m-1"));
}

#[test]
fn results_find_their_calls_though_ids_repeat() {
    let session = load("parallel.json");
    let results: Vec<_> = session
        .messages
        .iter()
        .filter_map(|message| message.parts.first()?.as_result())
        .map(|result| (&*result.call_id, &*result.tool, result.status, &*result.text))
        .collect();
    use ResultStatus::Completed;
    assert_eq!(
        results,
        [
            ("call_1", "read", Completed, "B1\nB2"),
            ("call_0", "read", Completed, "A"),
            ("call_0_2", "read", Completed, "C"),
            ("ls", "ls", Completed, "a b c"),
            ("lost", "", Completed, "?"),
        ]
    );
    let free_text = session.messages[4].parts[1].as_call().unwrap();
    assert_eq!((&*free_text.tool, &*free_text.arguments), ("patch", "*** Begin"));
    assert_eq!(session.messages[6].role, Role::System);
}

#[test]
fn every_line_is_a_session() {
    let text = fixture(ID, "many.jsonl");
    let sessions = read(text.as_bytes(), None).unwrap();
    let first: Vec<_> = sessions.iter().map(|session| session.messages[0].said()).collect();
    assert_eq!(first, ["Question 0", "Question 1", "Question 2"]);
    let places: Vec<_> =
        sessions[0].warnings.iter().map(|warning| (&*warning.code, &*warning.place)).collect();
    assert_eq!(places, [("damaged-line", "line 2"), ("damaged-line", "line 4")]);
    // A session of many is written as a file of its own: its line.
    let lines: Vec<&str> = text.lines().collect();
    for (session, line) in sessions.iter().zip([lines[0], lines[2], lines[4]]) {
        check(session);
        assert_eq!(rewritten(session, ID).text, line);
    }
}

#[test]
fn bodies_in_one_list_are_sessions_too() {
    let body = json!([{"messages": [{"role": "user", "content": "a"}]}, {"messages": [{"role": "user", "content": "b"}]}]);
    let sessions = read(body.to_string().as_bytes(), Some(ID)).unwrap();
    assert_eq!(sessions.len(), 2);
    assert_eq!(sessions[1].messages[0].said(), "b");
}

#[test]
fn edits_replace_the_content_and_nothing_else() {
    let session = load("plain.json");
    let edit = clear(&session, 1, |message| message.role == Role::Tool);
    let text = write(&View::recorded(&session, &edit), ID).text;
    let cleared = "[Old tool result content cleared]";
    assert_eq!(text, fixture(ID, "plain.json").replace("fn a() {}", cleared));

    let session = load("parallel.json");
    let edit = edits(&session, EditKind::Truncate, "B", 1, |message| message.record == Some(2));
    let text = write(&View::recorded(&session, &edit), ID).text;
    let parts = r#"[{"type":"text","text":"B1"},{"type":"text","text":"B2"}]"#;
    assert_eq!(text, fixture(ID, "parallel.json").replace(parts, "\"B\""));
}

#[test]
fn hidden_messages_go_and_the_prompts_stay() {
    let session = load("plain.json");
    let insert = [Arc::new(Message::user("note", "An inserted note."))];
    let mut view = View::recorded(&session, &[]);
    hide(&mut view, |index, _| index < 3);
    view.sent.insert(0, Shown::plain(&insert[0]));
    let body: Value = serde_json::from_str(&write(&view, ID).text).unwrap();
    let roles: Vec<_> = body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles, ["system", "developer", "user", "assistant", "user"]);
    assert_eq!(body["messages"][2]["content"], "An inserted note.");
    assert_eq!(body["temperature"], 0);
}

#[test]
fn sessions_of_other_formats_are_converted() {
    let original = session(&fixture("anthropic", "plain.json"), "anthropic");
    let outcome = rewritten(&original, ID);
    let again = session(&outcome.text, ID);
    check(&again);
    let shape = |session: &Session| -> Vec<(Role, String)> {
        session.messages.iter().map(|m| (m.role, m.shown_text())).collect()
    };
    assert_eq!(shape(&again), shape(&original));
    let tools = again.frame.text_of(SegmentKind::Tools).unwrap();
    assert_eq!(
        tools,
        r#"[{"type":"function","function":{"name":"read","description":"Reads a file.","parameters":{"type":"object"}}}]"#
    );
    assert_eq!(again.frame.segments.len(), 3);
}

#[test]
fn bad_input_is_named() {
    let table = [
        (
            r#"{"messages":[{"role":"user""#,
            "line 1, column 27: the JSON document ends in the middle; the file is truncated or still being written",
        ),
        (r#"{"message":1}"#, "/messages: a list of messages is needed here, or at the top"),
        (r#"{"messages":[]}"#, "no messages in it"),
    ];
    for (text, expected) in table {
        assert_eq!(read(text.as_bytes(), Some(ID)).unwrap_err().to_string(), expected);
    }
}
