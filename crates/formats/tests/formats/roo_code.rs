//! Roo Code and Cline histories: what is read from them, and what is written back.
use crate::common::{
    check, clear, detected, edits, fixture, hide, outline, recorded, rewritten, session, warnings,
    write,
};
use foldback_core::Message;
use foldback_core::log::{EntryKind, Origin, PartKind, ResultStatus, Role};
use foldback_core::view::{EditKind, Shown};
use foldback_formats::{Session, View};
use foldback_testkit::needs_sessions;
use serde_json::Value;
use std::sync::Arc;

const ID: &str = "roo-code";

fn read(name: &str) -> Session {
    session(&fixture(ID, name), ID)
}

#[test]
fn results_find_their_calls() {
    type Found<'a> = (&'a str, &'a str, ResultStatus, usize);
    let table: &[(&str, &[Found<'_>])] = &[
        (
            "xml.json",
            &[
                ("call-1", "read_file", ResultStatus::Completed, 1),
                ("call-3", "execute_command", ResultStatus::Error, 0),
            ],
        ),
        (
            "native.json",
            &[
                ("t2", "read_file", ResultStatus::Error, 0),
                ("t1", "read_file", ResultStatus::Completed, 0),
            ],
        ),
    ];
    for (name, expected) in table {
        let session = read(name);
        let found: Vec<_> = session
            .messages
            .iter()
            .filter_map(|message| message.parts[0].as_result())
            .map(|r| (r.call_id.as_str(), r.tool.as_str(), r.status, r.media.len()))
            .collect();
        assert_eq!(found, *expected, "{name}");
    }
}

#[test]
fn condensations_are_undone_where_the_file_allows() {
    let list = |session: &Session| -> Vec<(usize, String, bool)> {
        let boundaries = session.boundaries.iter();
        boundaries.map(|b| (b.before, b.kind.clone(), b.original_kept)).collect()
    };
    let native = read("native.json");
    assert_eq!(list(&native), [(6, "summary".into(), true), (9, "drop".into(), true)]);
    assert_eq!(native.recorded_summaries(), 1);
    assert_eq!(native.messages[6].origin, Origin::Entry(EntryKind::Summary));
    // What the summary stands for is gone: the log has nothing but the summary.
    let condensed = read("condensed.json");
    assert_eq!(list(&condensed), [(1, "summary".into(), false)]);
    assert_eq!(condensed.messages[1].origin, Origin::Log);
    assert!(!condensed.messages[1].is_answer());
    assert_eq!(condensed.calls(), 1);
}

#[test]
fn a_cleared_result_is_cleared_where_it_stands() {
    let cleared = "[Old tool result content cleared]";
    let table = [
        ("xml.json", 2, "/2/content/1/text", cleared.to_owned()),
        (
            "xml.json",
            5,
            "/4/content/0/text",
            format!("[execute_command for 'make'] Result:\n{cleared}"),
        ),
        ("native.json", 3, "/2/content/1/content", cleared.to_owned()),
    ];
    for (name, message, pointer, expected) in table {
        let session = read(name);
        let edits = clear(&session, 7, |m| m.id == session.messages[message].id);
        let written = write(&View::recorded(&session, &edits), ID).text;
        let root: Value = serde_json::from_str(&written).unwrap();
        assert_eq!(root.pointer(pointer).unwrap(), expected.as_str(), "{name}");
        let again = crate::common::session(&written, ID);
        assert_eq!(again.messages[message].shown_text(), cleared, "{name}");
        assert_eq!(outline(&again, 0), outline(&session, 0), "{name}");
    }
}

/// Words and calls of one text are edited each by itself.
#[test]
fn an_edit_of_words_leaves_the_call_beside_them() {
    let session = read("xml.json");
    let edits = edits(&session, EditKind::Clear, "[gone]", 7, |m| m.role == Role::Assistant);
    let again = crate::common::session(&write(&View::recorded(&session, &edits), ID).text, ID);
    let answers: Vec<String> =
        outline(&again, 30).into_iter().filter(|line| line.starts_with("assistant")).collect();
    assert_eq!(
        answers,
        [
            "assistant text:[gone] tool-call:{\"path\":\"a.c\"}",
            "assistant tool-call:{\"input\":\"[gone]\"}",
            "assistant text:[gone]",
            "assistant tool-call:{\"input\":\"[gone]\"}",
        ]
    );
}

#[test]
fn hidden_messages_go_and_a_summary_is_marked() {
    let session = read("xml.json");
    let summary = Arc::new(Message {
        origin: Origin::Entry(EntryKind::Summary),
        ..Message::user("summary-1", "What went before.")
    });
    let mut view = View::recorded(&session, &[]);
    hide(&mut view, |index, _| index < 7);
    view.sent.insert(0, Shown::plain(&summary));
    let written = write(&view, ID).text;
    let root: Value = serde_json::from_str(&written).unwrap();
    assert_eq!(root[0]["isSummary"], true);
    assert_eq!(root.as_array().unwrap().len(), 4);
    assert_eq!(write(&view, ID).text, written, "the same again");
}

#[test]
fn sessions_of_other_formats_become_plain_files() {
    let claude = session(&fixture("claude-code", "plain.jsonl"), "claude-code");
    let written = write(&View::recorded(&claude, &[]), ID);
    assert_eq!(detected(&written.text), Some(ID));
    let again = session(&written.text, ID);
    check(&again);
    let shown = |session: &Session| -> Vec<(Role, String)> {
        let messages = session.messages.iter();
        let without_reasoning = messages.map(|message| {
            let parts = message.parts.iter();
            let shown = parts.filter(|p| !matches!(p.kind, PartKind::Reasoning { .. }));
            (message.role, shown.map(|p| p.shown().into_owned()).collect())
        });
        without_reasoning.collect()
    };
    assert_eq!(shown(&again), shown(&claude));
}

#[needs_sessions]
#[test]
fn recorded_sessions_import_whole() {
    for path in recorded(ID) {
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(detected(&text), Some(ID));
        let session = session(&text, ID);
        assert_eq!(session.recorded_messages(), 20);
        assert_eq!(session.recorded_tool_calls(), 9);
        let results = session.messages.iter().filter(|m| m.role == Role::Tool);
        let results: Vec<&str> = results
            .filter_map(|m| m.parts[0].as_result())
            .map(|result| result.tool.as_str())
            .collect();
        let mut expected = vec!["execute_command"];
        expected.extend(["read_file"; 7]);
        assert_eq!(results, expected);
        assert_eq!((session.calls(), session.turns()), (10, 1));
        // The call that ends a task is answered only when the user comes back.
        assert_eq!(warnings(&session), ["call-without-result"]);
        assert!(rewritten(&session, ID).text == text);
    }
}
