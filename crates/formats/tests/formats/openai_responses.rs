//! Responses API items: what is read from them, and what is written back.
use crate::common::{
    check, clear, detected, fixture, hide, outline, rewritten, session, warnings, write,
};
use foldback_core::Message;
use foldback_core::log::{Finish, Role};
use foldback_core::view::Shown;
use foldback_formats::{Session, View, read};
use serde_json::{Value, json};
use std::sync::Arc;

const ID: &str = "openai-responses";

fn load(name: &str) -> Session {
    session(&fixture(ID, name), ID)
}

#[test]
fn compactions_are_boundaries() {
    let table = [("parallel.json", 7, true), ("compacted.json", 2, false)];
    for (name, before, kept) in table {
        let session = load(name);
        let [boundary] = session.boundaries.as_slice() else {
            panic!("{name}");
        };
        assert_eq!((boundary.before, &*boundary.kind), (before, "replace"), "{name}");
        assert_eq!(boundary.original_kept, kept, "{name}");
    }
    assert_eq!(load("parallel.json").calls(), 2, "the compaction is no call");
    assert_eq!(load("compacted.json").calls(), 1);
}

#[test]
fn every_line_is_a_session() {
    let text = fixture(ID, "many.jsonl");
    let sessions = read(text.as_bytes(), None).unwrap();
    let said: Vec<Vec<String>> = sessions
        .iter()
        .map(|session| session.messages.iter().map(|m| m.said()).collect())
        .collect();
    assert_eq!(said, [["Question 0", "Answer 0"], ["Question 1", "Answer 1"]]);
    assert_eq!(warnings(&sessions[0]), ["damaged-line"]);
    assert_eq!(sessions[0].warnings[0].place, "line 2");
    let cut = sessions[1].messages[1].answer.as_ref().unwrap().finish;
    assert_eq!(cut, Some(Finish::Length));
    for (session, line) in sessions.iter().zip([0, 2]) {
        check(session);
        assert_eq!(rewritten(session, ID).text, text.lines().nth(line).unwrap());
    }
}

#[test]
fn edits_replace_the_output_and_nothing_else() {
    let session = load("parallel.json");
    let edit = clear(&session, 1, |message| message.role == Role::Tool);
    let text = write(&View::recorded(&session, &edit), ID).text;
    let cleared = "\"[Old tool result content cleared]\"";
    let mut expected = fixture(ID, "parallel.json");
    let blocks = r#"[{"type": "input_text", "text": "A1"}, {"type": "input_text", "text": "A2"}]"#;
    for output in ["\"done\"", blocks, "\"no path\"", "\"?\""] {
        expected =
            expected.replace(&format!("\"output\": {output}"), &format!("\"output\": {cleared}"));
    }
    assert_eq!(text, expected);
}

/// The next request sends what was the output as part of its input.
#[test]
fn a_changed_response_is_one_list() {
    let session = load("both.json");
    let note = Arc::new(Message::user("note", "A note."));
    let mut view = View::recorded(&session, &[]);
    hide(&mut view, |index, _| index < 3);
    view.sent.insert(0, Shown::plain(&note));
    let body: Value = serde_json::from_str(&write(&view, ID).text).unwrap();
    let input: Vec<_> = body["input"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| {
            let text = item["content"].as_str().or(item["content"][0]["text"].as_str());
            (item["role"].as_str().unwrap(), text.unwrap())
        })
        .collect();
    assert_eq!(
        input,
        [("developer", "Mind the style."), ("user", "A note."), ("assistant", "A function."),]
    );
    assert_eq!((&body["output"], &body["temperature"]), (&json!([]), &json!(0)));
}

#[test]
fn a_response_may_stand_before_its_request() {
    let text = r#"{"output":[{"type":"function_call","call_id":"c","name":"ls","arguments":"{}"}],"input":[{"role":"user","content":"Look."}]}"#;
    let session = session(text, ID);
    check(&session);
    assert_eq!(outline(&session, 20), ["useru text:Look.", "assistant tool-call:{}"]);
    assert_eq!(rewritten(&session, ID).text, text);
    let mut view = View::recorded(&session, &[]);
    hide(&mut view, |index, _| index == 0);
    let body: Value = serde_json::from_str(&write(&view, ID).text).unwrap();
    assert_eq!(body["input"][0]["call_id"], "c");
}

#[test]
fn reasoning_travels_with_its_call() {
    let session = load("both.json");
    let mut view = View::recorded(&session, &[]);
    hide(&mut view, |index, _| index == 1 || index == 2);
    let body: Value = serde_json::from_str(&write(&view, ID).text).unwrap();
    let types: Vec<_> =
        body["input"].as_array().unwrap().iter().filter_map(|item| item["type"].as_str()).collect();
    assert_eq!(types, ["message"]);
}

#[test]
fn sessions_of_other_formats_become_a_body() {
    for (format, name) in
        [("openai-chat", "plain.json"), ("codex", "parallel.jsonl"), ("anthropic", "plain.json")]
    {
        let original = session(&fixture(format, name), format);
        let outcome = rewritten(&original, ID);
        assert_eq!(detected(&outcome.text), Some(ID), "{format}");
        let again = session(&outcome.text, ID);
        check(&again);
        let said = |session: &Session| -> Vec<(Role, String)> {
            session.log().map(|m| (m.role, m.shown_text())).collect()
        };
        assert_eq!(said(&again), said(&original), "{format}");
        assert_eq!(again.tool_calls(), original.tool_calls(), "{format}");
        assert_eq!(rewritten(&again, ID).text, outcome.text, "{format}");
    }
    let chat = session(&fixture("openai-chat", "plain.json"), "openai-chat");
    let body: Value = serde_json::from_str(&rewritten(&chat, ID).text).unwrap();
    assert_eq!(body["tools"][0]["name"], "read");
    assert_eq!(body["instructions"], "Be brief.\n\nMind the style.");
}

#[test]
fn bad_input_is_named() {
    let table = [
        (r#"{"inputs":1}"#, "/input: a list of items is needed here, in `output` or at the top"),
        (r#"{"input":[]}"#, "no messages in it"),
        (
            r#"{"input":[{"type":"#,
            "line 1, column 18: the JSON document ends in the middle; the file is truncated or still being written",
        ),
    ];
    for (text, expected) in table {
        let error = read(text.as_bytes(), Some(ID)).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}
