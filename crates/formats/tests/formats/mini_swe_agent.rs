//! mini-swe-agent trajectories: what is read from them, and what is written back.
use crate::common::{
    check, clear, detected, edits, fixture, hide, recorded, rewritten, session, usage, warnings,
    write,
};
use foldback_core::Message;
use foldback_core::log::Role;
use foldback_core::view::{EditKind, Shown};
use foldback_formats::{Session, View};
use foldback_testkit::needs_sessions;
use serde_json::Value;
use std::sync::Arc;

const ID: &str = "mini-swe-agent";
const FIXTURES: [&str; 3] = ["v1.traj.json", "v2.traj.json", "bare-list.traj.json"];

fn read(name: &str) -> Session {
    session(&fixture(ID, name), ID)
}

/// Role and parts of each message; `u` begins a turn, `+` came mid-turn.
fn outline(session: &Session) -> Vec<String> {
    session
        .messages
        .iter()
        .map(|message| {
            let mark = match (message.begins_turn(), message.mid_turn) {
                (true, _) => "u",
                (_, true) => "+",
                _ => "",
            };
            let parts: Vec<String> = message
                .parts
                .iter()
                .map(|part| {
                    let text: String = part.shown().chars().take(30).collect();
                    format!("{}:{}", part.kind_name(), text.replace('\n', "|"))
                })
                .collect();
            format!("{}{mark} {}", message.role.as_str(), parts.join(" "))
        })
        .collect()
}

#[test]
fn a_cleared_result_changes_one_value() {
    let table = [
        ("v1.traj.json", 2, "/messages/3/content"),
        ("bare-list.traj.json", 2, "/3/content"),
        ("v2.traj.json", 4, "/messages/5/content"),
    ];
    for (name, item, pointer) in table {
        let text = fixture(ID, name);
        let session = session(&text, ID);
        let edits = clear(&session, 7, |message| message.id == session.messages[item].id);
        let written = write(&View::recorded(&session, &edits), ID).text;
        let mut expected: Value = serde_json::from_str(&text).unwrap();
        *expected.pointer_mut(pointer).unwrap() = "[Old tool result content cleared]".into();
        let found: Value = serde_json::from_str(&written).unwrap();
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn an_edited_text_leaves_the_command() {
    let session = read("v1.traj.json");
    let edits = edits(&session, EditKind::Truncate, "Lo…", 7, |message| {
        message.id == session.messages[1].id
    });
    let written = write(&View::recorded(&session, &edits), ID).text;
    let found: Value = serde_json::from_str(&written).unwrap();
    assert_eq!(found["messages"][2]["content"], "Lo…\n\n```bash\nls -F\n```");
}

#[test]
fn hidden_messages_go_and_new_ones_stand_where_they_are_shown() {
    for name in FIXTURES {
        let session = read(name);
        let summary = Arc::new(Message::user("summary-1", "What went before."));
        let mut view = View::recorded(&session, &[]);
        hide(&mut view, |index, _| index < 3);
        view.sent.insert(0, Shown::plain(&summary));
        let again = crate::common::session(&write(&view, ID).text, ID);
        let mut expected = outline(&session)[2..].to_vec();
        expected[0] = "useru text:What went before.".to_owned();
        assert_eq!(outline(&again), expected, "{name}");
        assert_eq!(again.frame, session.frame, "{name}");
    }
}

#[test]
fn sessions_of_other_formats_become_plain_files() {
    let claude = session(&fixture("claude-code", "plain.jsonl"), "claude-code");
    let written = write(&View::recorded(&claude, &[]), ID);
    assert_eq!(detected(&written.text), Some(ID));
    let again = session(&written.text, ID);
    let said = |session: &Session| -> Vec<(Role, String)> {
        session.messages.iter().map(|message| (message.role, message.said())).collect()
    };
    assert_eq!(said(&again), said(&claude));
    assert_eq!(again.tool_calls(), claude.tool_calls());
    assert_eq!(usage(&again), usage(&claude));
}

/// 316 stored messages: one is the system prompt, one the `exit`; the last command was never answered.
#[needs_sessions]
#[test]
fn recorded_sessions_import_whole() {
    for path in recorded(ID) {
        let text = std::fs::read_to_string(path).unwrap();
        assert_eq!(detected(&text), Some(ID));
        let session = session(&text, ID);
        check(&session);
        let counted = session.recorded.unwrap();
        assert_eq!((counted.messages, counted.tool_calls), (316, 157));
        assert_eq!(session.messages.len(), 314);
        assert_eq!(session.tool_calls(), 157);
        assert_eq!(session.turns(), 1);
        assert_eq!(warnings(&session), ["call-without-result"]);
        assert!(rewritten(&session, ID).text == text);
    }
}
