//! Gemini contents: what is read from them, and what is written back.
use crate::common::{
    check, clear, detected, edits, fixture, hide, outline, recorded, rewritten, session, warnings,
    write,
};
use foldback_core::log::{EntryKind, Origin, PartKind, ResultStatus, Role};
use foldback_core::view::{EditKind, Shown};
use foldback_core::{Message, SegmentKind};
use foldback_formats::{Session, View};
use foldback_testkit::needs_sessions;
use serde_json::Value;
use std::sync::Arc;

const ID: &str = "gemini";

fn read(name: &str) -> Session {
    session(&fixture(ID, name), ID)
}

#[test]
fn calls_without_ids_go_by_tool_and_order() {
    let results = |session: &Session| -> Vec<(String, ResultStatus)> {
        session
            .messages
            .iter()
            .filter_map(|message| message.parts[0].as_result())
            .map(|result| (result.call_id.clone(), result.status))
            .collect()
    };
    let done = ResultStatus::Completed;
    assert_eq!(results(&read("body.json")), [("ls".to_owned(), done), ("ls_2".to_owned(), done)]);
    assert_eq!(
        results(&read("bare.json")),
        [("c1".to_owned(), done), ("c2".to_owned(), ResultStatus::Error)]
    );
}

#[test]
fn frames_signatures_and_what_the_client_said() {
    let body = read("body.json");
    assert_eq!(body.model.as_deref(), Some("gemini-3-pro"));
    let kinds: Vec<_> = body.frame.segments.iter().map(|s| s.kind.clone()).collect();
    assert_eq!(kinds, [SegmentKind::System, SegmentKind::Tools]);
    let bare = read("bare.json");
    assert_eq!(bare.calls(), 2, "the client's own answer is no call");
    let PartKind::Reasoning { opaque, .. } = &bare.messages[3].parts[2].kind else {
        panic!("no signature");
    };
    assert_eq!(opaque.as_deref(), Some("c2ln"));
}

#[test]
fn a_summary_of_what_is_gone_belongs_to_the_log() {
    let text = fixture(ID, "bare.json").replacen("Compare a and b", "<state_snapshot>x", 1);
    let session = session(&text, ID);
    let [boundary] = session.boundaries.as_slice() else {
        panic!("{:?}", session.boundaries);
    };
    assert_eq!((boundary.before, boundary.original_kept), (2, false));
    assert_eq!(session.turns(), 0);
    assert_eq!(session.recorded_summaries(), 0);
}

#[test]
fn one_conversation_a_line() {
    let text = fixture(ID, "many.jsonl");
    assert_eq!(detected(&text), Some(ID));
    let sessions = foldback_formats::read(text.as_bytes(), Some(ID)).unwrap();
    assert_eq!(sessions.len(), 2);
    assert_eq!(warnings(&sessions[0]), ["damaged-line"]);
    assert_eq!(warnings(&sessions[1]), ["unknown-role"]);
    assert_ne!(sessions[0].id, sessions[1].id);
}

#[test]
fn edits_change_the_value_that_they_lie_over() {
    let table = [
        ("bare.json", 4, "/4/parts/0/functionResponse/response/output"),
        ("bare.json", 6, "/4/parts/2/functionResponse/response/error"),
        ("body.json", 2, "/contents/2/parts/0/functionResponse/response/output"),
    ];
    for (name, message, pointer) in table {
        let session = read(name);
        let edits = clear(&session, 7, |m| m.id == session.messages[message].id);
        let written = write(&View::recorded(&session, &edits), ID).text;
        let root: Value = serde_json::from_str(&written).unwrap();
        assert_eq!(
            root.pointer(pointer).unwrap(),
            "[Old tool result content cleared]",
            "{name} {message}"
        );
        assert_eq!(crate::common::session(&written, ID).messages.len(), session.messages.len());
    }
    let session = read("body.json");
    let edits = edits(&session, EditKind::Clear, "[gone]", 7, |m| m.role == Role::Assistant);
    let root: Value =
        serde_json::from_str(&write(&View::recorded(&session, &edits), ID).text).unwrap();
    assert_eq!(root.pointer("/contents/1/parts/0/functionCall/args/input").unwrap(), "[gone]");
}

#[test]
fn hidden_parts_go_and_new_ones_stand_where_they_are_shown() {
    let session = read("bare.json");
    let summary = Arc::new(Message {
        origin: Origin::Entry(EntryKind::Summary),
        ..Message::user("summary-1", "What went before.")
    });
    let mut view = View::recorded(&session, &[]);
    hide(&mut view, |index, _| index < 4 || index == 5);
    view.sent.insert(0, Shown::plain(&summary));
    let again = crate::common::session(&write(&view, ID).text, ID);
    assert_eq!(
        outline(&again, 12),
        [
            "useru text:What went be",
            "tool tool-result:alpha",
            "tool tool-result:no such file",
            "assistant text:Only a is th",
        ]
    );
}

#[test]
fn sessions_of_other_formats_become_request_bodies() {
    let codex = session(&fixture("codex", "plain.jsonl"), "codex");
    let written = write(&View::recorded(&codex, &[]), ID);
    assert_eq!(detected(&written.text), Some(ID));
    let again = session(&written.text, ID);
    check(&again);
    let said = |session: &Session| -> Vec<(Role, String)> {
        let said = session.messages.iter().filter(|m| !m.shown_text().is_empty());
        said.map(|m| (m.role, m.said())).collect()
    };
    assert_eq!(said(&again), said(&codex));
    assert_eq!(written.losses.len(), 1, "{:?}", written.losses);

    // Within the family nothing is lost, signatures included.
    let cli = session(&fixture("gemini-cli", "plain.json"), "gemini-cli");
    assert_eq!(write(&View::recorded(&cli, &[]), ID).losses, [] as [&str; 0]);
}

#[needs_sessions]
#[test]
fn recorded_sessions_import_whole() {
    for path in recorded("gemini-cli") {
        let text = std::fs::read_to_string(&path).unwrap();
        if !path.ends_with("gemini-cli-contents-trajectory.json") {
            continue;
        }
        assert_eq!(detected(&text), Some(ID));
        let session = session(&text, ID);
        check(&session);
        assert_eq!(session.recorded_messages(), 105);
        assert_eq!(session.recorded_tool_calls(), 45);
        let results = session.messages.iter().filter(|m| m.role == Role::Tool);
        // It begins with the summary that the client made, and goes on for six turns.
        assert_eq!((session.boundaries.len(), session.turns()), (1, 6));
        // One result was kept when its call was compressed away.
        assert_eq!(results.count(), 46);
        assert_eq!(warnings(&session), ["orphan-result"]);
        assert!(rewritten(&session, ID).text == text);
    }
}
