//! pydantic-ai histories: what is read from them, and what is written back.
use crate::common::{check, clear, edits, fixture, hide, recorded, session, write};
use foldback_core::log::{Finish, ResultStatus, Role};
use foldback_core::view::{EditKind, Shown};
use foldback_core::{Message, Part, SegmentKind};
use foldback_formats::{Session, View};
use foldback_testkit::needs_sessions;
use serde_json::{Value, json};
use std::sync::Arc;

const ID: &str = "pydantic-ai";

fn read(name: &str) -> Session {
    session(&fixture(ID, name), ID)
}

fn results(session: &Session) -> Vec<(&str, ResultStatus, &str)> {
    session
        .messages
        .iter()
        .filter_map(|message| message.parts.first()?.as_result())
        .map(|result| (&*result.call_id, result.status, &*result.text))
        .collect()
}

#[test]
fn the_frame_holds_the_prompt_and_the_last_instructions() {
    let session = read("plain.json");
    let texts: Vec<_> = session
        .frame
        .segments
        .iter()
        .map(|segment| (segment.kind.clone(), &*segment.text))
        .collect();
    assert_eq!(
        texts,
        [(SegmentKind::System, "Be brief."), (SegmentKind::System, "Mind the style.")]
    );
    // A system prompt within the conversation stays where it was.
    let later: Vec<Role> = read("parallel.json").messages.iter().map(|m| m.role).collect();
    assert_eq!(later[9], Role::System);
}

#[test]
fn answers_and_times() {
    let session = read("plain.json");
    let answer = session.messages[1].answer.as_ref().unwrap();
    assert_eq!(answer.finish, Some(Finish::ToolCalls));
    assert_eq!(answer.model.as_deref(), Some("m-1"));
    assert_eq!(answer.provider.as_deref(), Some("acme"));
    assert_eq!(session.messages[1].at, Some(1_768_912_201_123));
    assert_eq!(session.messages[2].at, Some(1_768_912_202_123));
    let kinds: Vec<_> = session.messages[4].parts.iter().map(Part::kind_name).collect();
    // Two prompts of one request are one user turn.
    assert_eq!(kinds, ["text", "file", "text"]);
}

#[test]
fn returns_retries_and_structured_content() {
    let session = read("parallel.json");
    assert_eq!(
        results(&session),
        [
            ("c", ResultStatus::Completed, "A"),
            ("c_2", ResultStatus::Error, r#"{"lines":[1,2.5],"text":null}"#),
            ("g", ResultStatus::Retry, "no such pattern"),
            ("lost", ResultStatus::Completed, "null"),
        ]
    );
    let structured = &session.messages[3].parts[0].as_result().unwrap().structured;
    assert_eq!(*structured, Some(json!({"lines": [1, 2.5], "text": null})));
    let arguments: Vec<_> = session.messages[1]
        .parts
        .iter()
        .filter_map(|part| Some(&*part.as_call()?.arguments))
        .collect();
    assert_eq!(arguments, [r#"{"path":"a"}"#, "{}", r#"{"q":"é"}"#]);
    // A retry that names no tool was written by the loop: no turn begins with it.
    assert!(session.messages[7].mid_turn && !session.messages[5].mid_turn);
}

#[test]
fn dictionaries_of_tunacode_are_never_results() {
    let session = read("tunacode.json");
    let roles: Vec<_> = session
        .messages
        .iter()
        .map(|message| (message.role, message.parts[0].kind_name()))
        .collect();
    use Role::{Assistant, System, User};
    assert_eq!(
        roles,
        [
            (User, "text"),
            (System, "unknown"),
            (Assistant, "text"),
            (System, "unknown"),
            (User, "unknown"),
            (User, "text"),
            (Assistant, "text"),
        ]
    );
    assert_eq!(session.id, "s-1");
    assert_eq!(session.model.as_deref(), Some("m-1"));
}

#[test]
fn edits_replace_the_content_and_nothing_else() {
    let is_tool = |message: &Message| message.role == Role::Tool;
    let cleared = "[Old tool result content cleared]";

    let plain = read("plain.json");
    let edit = clear(&plain, 1, is_tool);
    let text = write(&View::recorded(&plain, &edit), ID).text;
    assert_eq!(text, fixture(ID, "plain.json").replace("fn a() {}", cleared));

    let parallel = read("parallel.json");
    let edit = edits(&parallel, EditKind::Truncate, "é", 1, is_tool);
    let text = write(&View::recorded(&parallel, &edit), ID).text;
    let again: Value = serde_json::from_str(&text).unwrap();
    let contents: Vec<&Value> = again
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|message| message["parts"].as_array().into_iter().flatten())
        .filter(|part| part["tool_name"].is_string() && part.get("content").is_some())
        .filter(|part| part["part_kind"] != "builtin-tool-return")
        .map(|part| &part["content"])
        .collect();
    assert_eq!(contents, ["é"; 4]);
    assert!(text.contains(r#""q": "\u00e9""#), "the escapes of other parts stay");
}

#[test]
fn hidden_messages_go_and_the_system_prompt_stays() {
    let session = read("plain.json");
    let mut view = View::recorded(&session, &[]);
    hide(&mut view, |index, _| index < 4);
    let text = write(&view, ID).text;
    let list: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(list.as_array().unwrap().len(), 3);
    assert_eq!(list[0]["parts"].as_array().unwrap().len(), 1);
    assert_eq!(list[0]["parts"][0]["part_kind"], "system-prompt");
    assert_eq!(list[1]["parts"][0]["content"][0], "And this?");
}

#[test]
fn half_hidden_requests_lose_the_hidden_parts_alone() {
    let session = read("parallel.json");
    let mut view = View::recorded(&session, &[]);
    hide(&mut view, |index, _| index == 2 || index == 4);
    let list: Value = serde_json::from_str(&write(&view, ID).text).unwrap();
    let parts = list[2]["parts"].as_array().unwrap();
    let kinds: Vec<_> = parts.iter().map(|part| part["part_kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["tool-return", "user-prompt"]);
    assert_eq!(parts[0]["tool_call_id"], "c");
    assert_eq!(parts[0]["outcome"], "failed");
}

#[test]
fn inserts_become_requests_with_a_fixed_time() {
    let session = read("plain.json");
    let insert = [Arc::new(Message::user("note", "An inserted note."))];
    let mut view = View::recorded(&session, &[]);
    view.sent.insert(1, Shown::plain(&insert[0]));
    let text = write(&view, ID).text;
    let note = r#"{"parts":[{"content":"An inserted note.","timestamp":"1970-01-01T00:00:00Z","part_kind":"user-prompt"}],"kind":"request"},"#;
    assert_eq!(text.replace(note, ""), fixture(ID, "plain.json"));
}

/// What survives a conversion: who speaks, what is shown, how results ended.
fn essence(session: &Session) -> Vec<(Role, String, Option<ResultStatus>)> {
    session
        .messages
        .iter()
        .map(|message| {
            let status = message.parts.first().and_then(|part| Some(part.as_result()?.status));
            (message.role, message.shown_text(), status)
        })
        .collect()
}

#[test]
fn sessions_of_other_formats_are_converted() {
    for name in ["plain.json", "compaction.json"] {
        is_converted(name, &session(&fixture("opencode", name), "opencode"));
    }
}

#[needs_sessions]
#[test]
fn recorded_sessions_of_other_formats_are_converted() {
    for path in recorded("opencode") {
        let text = std::fs::read_to_string(&path).unwrap();
        is_converted(&path.display().to_string(), &session(&text, "opencode"));
    }
}

fn is_converted(name: &str, original: &Session) {
    let outcome = write(&View::recorded(original, &[]), ID);
    let converted = session(&outcome.text, ID);
    check(&converted);
    assert_eq!(converted.tool_calls(), original.tool_calls(), "{name}");
    assert_eq!(essence(&converted), essence(original), "{name}");
    let calls = |session: &Session| {
        session
            .messages
            .iter()
            .filter_map(|m| m.answer.as_ref()?.usage.map(|u| u.input_total()))
            .sum::<u64>()
    };
    assert_eq!(calls(&converted), calls(original), "{name}");
}
