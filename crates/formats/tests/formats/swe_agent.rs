//! SWE-agent trajectories: what is read from them, and what is written back.
use crate::common::{
    check, clear, detected, edits, fixture, hide, rewritten, session, warnings, write,
};
use foldback_core::Message;
use foldback_core::log::Role;
use foldback_core::view::{EditKind, Shown};
use foldback_formats::{Session, View};
use foldback_testkit::{needs_sessions, sessions};
use serde_json::Value;
use std::sync::Arc;

const ID: &str = "swe-agent";
const FIXTURES: [&str; 3] = ["text-actions.traj", "function-calls.traj", "steps-only.traj"];

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
                .map(|part| match part.as_call() {
                    Some(call) => format!("{}({})", call.tool, call.arguments),
                    None => format!("{}:{}", part.kind_name(), part.shown()),
                })
                .collect();
            format!("{}{mark} {}", message.role.as_str(), parts.join(" "))
        })
        .collect()
}

#[test]
fn a_cleared_result_changes_one_value() {
    let table = [
        ("text-actions.traj", 2, "/history/6/content"),
        ("function-calls.traj", 4, "/history/5/content/0/text"),
    ];
    for (name, item, pointer) in table {
        let text = fixture(ID, name);
        let session = session(&text, ID);
        let edits = clear(&session, 7, |message| message.id == session.messages[item].id);
        let outcome = write(&View::recorded(&session, &edits), ID);
        let mut expected: Value = serde_json::from_str(&text).unwrap();
        *expected.pointer_mut(pointer).unwrap() = "[Old tool result content cleared]".into();
        let found: Value = serde_json::from_str(&outcome.text).unwrap();
        assert_eq!(found, expected, "{name}");
        assert_eq!(outcome.losses.len(), 1);
    }
}

#[test]
fn an_edited_thought_leaves_the_action_in_the_content() {
    let session = read("text-actions.traj");
    let edits = edits(&session, EditKind::Truncate, "Op…", 7, |message| {
        message.id == session.messages[1].id
    });
    let outcome = write(&View::recorded(&session, &edits), ID);
    let found: Value = serde_json::from_str(&outcome.text).unwrap();
    assert_eq!(found["history"][5]["thought"], "Op…");
    assert_eq!(found["history"][5]["content"], "Op…\n```\nopen a.py\n```");
}

#[test]
fn hidden_messages_go_and_new_ones_stand_where_they_are_shown() {
    for name in &FIXTURES[..2] {
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
    let claude = session(&fixture("claude-code", "parallel.jsonl"), "claude-code");
    let written = write(&View::recorded(&claude, &[]), ID);
    assert_eq!(detected(&written.text), Some(ID));
    let again = session(&written.text, ID);
    let said = |session: &Session| -> Vec<(Role, String)> {
        session.messages.iter().map(|message| (message.role, message.shown_text())).collect()
    };
    assert_eq!(said(&again), said(&claude));
}

struct Real {
    file: &'static str,
    /// Entries of `history` and steps of `trajectory`, as people count them.
    entries: usize,
    steps: usize,
    /// Messages, answers, tool calls.
    canonical: [usize; 3],
    warnings: &'static [&'static str],
    why: &'static str,
}

const REAL: &[Real] = &[
    Real {
        file: "demo-marshmallow-1867-fc.traj",
        entries: 28,
        steps: 13,
        canonical: [27, 13, 13],
        warnings: &[],
        why: "the system prompt is in the frame",
    },
    Real {
        file: "swebench-claude35-sphinx-doc__sphinx-11510.traj",
        entries: 77,
        steps: 27,
        canonical: [54, 27, 27],
        warnings: &["call-without-result"],
        why: "22 entries are a demonstration, one is the system prompt; nothing answers `submit`",
    },
    Real {
        file: "swesmith-pandas.95280573.pr_53652.traj",
        entries: 76,
        steps: 37,
        canonical: [75, 37, 37],
        warnings: &[],
        why: "the system prompt is in the frame",
    },
];

#[needs_sessions]
#[test]
fn recorded_sessions_import_whole() {
    for case in REAL {
        let text = std::fs::read_to_string(sessions().join(ID).join(case.file)).unwrap();
        assert_eq!(detected(&text), Some(ID), "{}", case.file);
        let session = session(&text, ID);
        check(&session);
        let counted = session.recorded.unwrap();
        assert_eq!((counted.messages, counted.tool_calls), (case.entries, case.steps));
        let found = [session.messages.len(), session.calls(), session.tool_calls()];
        assert_eq!(found, case.canonical, "{}: {}", case.file, case.why);
        assert_eq!(warnings(&session), case.warnings, "{}", case.file);
        assert_eq!(session.turns(), 1, "{}", case.file);
        assert!(rewritten(&session, ID).text == text, "{}", case.file);
    }
}
