//! OpenCode exports: what is read from them, and what is written back.
use crate::common::{
    append, check, clear, detected, edits, fixture, hide, recorded, rewritten, session, warnings,
    write,
};
use foldback_core::log::{EntryKind, Finish, Marker, Origin, PartKind, ResultStatus, Role};
use foldback_core::view::{EditKind, Shown};
use foldback_core::{Message, Part};
use foldback_formats::{Session, View};
use foldback_testkit::needs_sessions;
use serde_json::Value;
use std::sync::Arc;

const ID: &str = "opencode";

fn read(name: &str) -> Session {
    session(&fixture(ID, name), ID)
}

/// The parts of all messages of a written export, by record.
fn parts(text: &str) -> Vec<Vec<Value>> {
    let root: Value = serde_json::from_str(text).unwrap();
    let messages = root["messages"].as_array().unwrap();
    messages
        .iter()
        .map(|message| message["parts"].as_array().cloned().unwrap_or_default())
        .collect()
}

fn marked(text: &str) -> Vec<(String, i64)> {
    parts(text)
        .iter()
        .flatten()
        .filter_map(|part| {
            let time = part.pointer("/state/time/compacted")?.as_i64()?;
            Some((part["callID"].as_str()?.to_owned(), time))
        })
        .collect()
}

#[test]
fn a_total_tells_whether_output_holds_the_reasoning() {
    let table = [(130, 30, 20, 10), (140, 30, 30, 10), (0, 30, 30, 10)];
    for (total, output, left, reasoning) in table {
        let tokens = format!(
            r#""tokens":{{"total":{total},"input":100,"output":{output},"reasoning":10,"cache":{{"read":0,"write":0}}}}"#
        );
        let text = format!(
            r#"{{"info":{{"id":"ses_1"}},"messages":[{{"info":{{"role":"assistant","finish":"stop",{tokens}}},"parts":[]}}]}}"#
        );
        let session = session(&text, ID);
        let found = session.messages[0].answer.as_ref().unwrap().usage.unwrap();
        assert_eq!((found.output, found.reasoning), (left, reasoning), "total {total}");
    }
}

#[test]
fn steps_become_messages_of_their_own() {
    let session = read("parallel.json");
    let shape: Vec<_> = session
        .messages
        .iter()
        .map(|message| (message.record.unwrap(), message.role, message.mid_turn))
        .collect();
    use Role::{Assistant, Tool, User};
    assert_eq!(
        shape,
        [
            (0, User, false),
            (1, Assistant, false),
            (1, Tool, false),
            (1, Tool, false),
            (1, Assistant, false),
            (1, Tool, false),
            (1, Tool, false),
            // The loop was still running: the last answer had asked for tools.
            (2, User, true),
            (3, Assistant, false),
            // The answer before was aborted, and the loop with it.
            (4, User, false),
            (5, Assistant, false),
            (5, Tool, false),
            (8, User, true),
        ]
    );
    let results: Vec<_> = session
        .messages
        .iter()
        .filter_map(|message| message.parts.first()?.as_result())
        .map(|result| (&*result.call_id, result.status, &*result.text))
        .collect();
    let interrupted = "[Tool execution was interrupted]";
    assert_eq!(
        results,
        [
            ("c", ResultStatus::Completed, "A"),
            ("c_2", ResultStatus::Error, "no such file"),
            ("d", ResultStatus::Running, interrupted),
            ("e", ResultStatus::Pending, interrupted),
            ("f", ResultStatus::Completed, "fine"),
        ]
    );
    let answers: Vec<_> = session
        .messages
        .iter()
        .filter(|message| message.role == Assistant)
        .map(|message| {
            let answer = message.answer.as_ref()?;
            Some((answer.finish, answer.error.as_deref(), answer.usage.map(|u| u.uncached)))
        })
        .collect();
    assert_eq!(
        answers,
        [
            Some((Some(Finish::ToolCalls), None, Some(100))),
            Some((Some(Finish::ToolCalls), None, Some(30))),
            Some((None, Some("MessageAbortedError"), None)),
            // Run by the user, not asked for by a model.
            None,
        ]
    );
}

#[test]
fn parts_without_model_text_are_left_out() {
    let session = read("plain.json");
    let kinds: Vec<Vec<&str>> = session
        .messages
        .iter()
        .map(|message| message.parts.iter().map(Part::kind_name).collect())
        .collect();
    assert_eq!(
        kinds,
        [
            vec!["text", "text"],
            vec!["reasoning", "text", "tool-call"],
            vec!["tool-result"],
            vec!["text"],
            vec!["file", "text"],
        ]
    );
    assert_eq!(session.messages[4].shown_text(), "");
    assert_eq!(session.messages[4].said(), "");
}

#[test]
fn compaction_entries_are_told_from_the_log() {
    let session = read("compaction.json");
    let entries: Vec<_> = session
        .messages
        .iter()
        .filter_map(|message| match message.origin {
            Origin::Entry(kind) => Some((kind, &*message.id, message.parent.as_deref())),
            Origin::Log => None,
        })
        .collect();
    assert_eq!(
        entries,
        [
            (EntryKind::Marker, "msg_003", None),
            (EntryKind::Summary, "msg_004", Some("msg_003")),
            (EntryKind::Continue, "msg_005", None),
        ]
    );
    let PartKind::Marker(marker) = &session.messages[3].parts[0].kind else {
        panic!("no marker: {:?}", session.messages[3]);
    };
    assert_eq!(
        *marker,
        Marker {
            text: "What did we do so far?".into(),
            auto: true,
            overflow: false,
            tail_start: Some("msg_002".into()),
        }
    );
    let boundary = &session.boundaries[0];
    assert_eq!((boundary.before, boundary.tokens_before), (5, Some(90_100)));
    assert_eq!((&*boundary.trigger, &*boundary.kind), ("auto", "summary"));
}

#[test]
fn repeated_ids_are_made_unique() {
    let mut root: Value = serde_json::from_str(&fixture(ID, "plain.json")).unwrap();
    for message in root["messages"].as_array_mut().unwrap() {
        message["info"]["id"] = "REDACTED".into();
    }
    let session = session(&root.to_string(), ID);
    check(&session);
    let ids: Vec<&str> = session.messages.iter().map(|message| &*message.id).collect();
    assert_eq!(ids, ["REDACTED", "REDACTED_2", "prt_002_3", "REDACTED_3", "REDACTED_4"]);
}

#[needs_sessions]
#[test]
fn recorded_files_are_given_back() {
    for path in recorded(ID) {
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(detected(&text), Some(ID), "{}", path.display());
        let session = session(&text, ID);
        check(&session);
        assert!(rewritten(&session, ID).text == text, "{}", path.display());
    }
}

#[needs_sessions]
#[test]
fn real_exports_are_counted_as_they_are_listed() {
    let table = [
        ("gatomia-gemini31-49msg.json", 49, 47, 48, 0, 0),
        ("gatomia-gpt54-131tools-208k.json", 67, 131, 65, 0, 0),
        ("nimbus-171msg-pruned.json", 171, 229, 145, 116, 0),
        ("nimbus-82msg-pruned.json", 82, 93, 73, 52, 0),
        ("sessionbridge-sonnet46-compaction.json", 74, 72, 68, 0, 1),
    ];
    for path in recorded(ID) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let Some((_, records, tools, calls, cleared, summaries)) =
            table.iter().find(|row| row.0 == name).copied()
        else {
            continue;
        };
        let session = session(&std::fs::read_to_string(&path).unwrap(), ID);
        assert_eq!(session.source.records.len(), records, "{name}");
        assert_eq!(session.tool_calls(), tools, "{name}");
        assert_eq!(session.calls(), calls, "{name}");
        assert_eq!(session.cleared.len(), cleared, "{name}");
        assert_eq!(session.recorded_summaries(), summaries, "{name}");
        assert_eq!(warnings(&session), [""; 0], "{name}");
    }
}

#[test]
fn clearing_sets_the_mark_and_keeps_the_output() {
    let session = read("plain.json");
    let edits = clear(&session, 7000, |message| message.role == Role::Tool);
    let text = write(&View::recorded(&session, &edits), ID).text;
    assert_eq!(marked(&text), [("c1".to_owned(), 7000)]);
    assert!(text.contains("\"output\": \"fn a() {}\""));
    // Nothing else changed: without the line of the mark it is the file again.
    let without = text.replace(",\n              \"compacted\": 7000", "");
    assert_eq!(without, fixture(ID, "plain.json"));
    // And the mark is found again.
    let again = self::session(&text, ID);
    assert_eq!(again.cleared.len(), 1);
    assert_eq!(again.cleared[0].time, 7000);
}

#[test]
fn marks_without_an_edit_are_taken_out() {
    let before = read("parallel.json");
    assert_eq!(before.cleared.len(), 1);
    let text = write(&View::recorded(&before, &[]), ID).text;
    assert_eq!(marked(&text), []);
    assert_eq!(
        text,
        fixture(ID, "parallel.json")
            .replace(",\"compacted\":5000", "")
            .replace(", \"compacted\": 5000", "")
    );
}

#[needs_sessions]
#[test]
fn recorded_marks_are_taken_out_and_set_again() {
    for path in recorded(ID) {
        let original = std::fs::read_to_string(&path).unwrap();
        let pruned = session(&original, ID);
        let bare = write(&View::recorded(&pruned, &[]), ID).text;
        assert_eq!(marked(&bare).len(), 0, "{}", path.display());
        // Setting them again gives the file that OpenCode wrote.
        let bare = session(&bare, ID);
        let edits = pruned.recorded_edits();
        let text = write(&View::recorded(&bare, &edits), ID).text;
        assert!(text == original, "{}", path.display());
    }
}

fn entries() -> Vec<Arc<Message>> {
    let marker = Part::new(PartKind::Marker(Marker {
        auto: true,
        tail_start: Some("prt_002_3".into()),
        ..Marker::default()
    }));
    let mut marker = Message::new("entry-1", Role::User, vec![marker]);
    marker.origin = Origin::Entry(EntryKind::Marker);
    let mut summary = Message::assistant("entry-2", vec![Part::text("The summary.")]);
    summary.origin = Origin::Entry(EntryKind::Summary);
    summary.parent = Some("entry-1".into());
    if let Some(answer) = &mut summary.answer {
        answer.finish = Some(Finish::Stop);
    }
    let mut next = Message::new(
        "entry-3",
        Role::User,
        vec![Part::synthetic("Continue if you have next steps")],
    );
    next.origin = Origin::Entry(EntryKind::Continue);
    [marker, summary, next].map(Arc::new).into()
}

#[test]
fn entries_of_a_strategy_are_stored_as_opencode_stores_them() {
    let session = read("plain.json");
    let new = entries();
    let mut view = View::recorded(&session, &[]);
    append(&mut view, &new);
    hide(&mut view, |index, _| index < 2);
    let outcome = write(&view, ID);
    assert_eq!(outcome.losses, [""; 0]);
    // The tail begins with a result: OpenCode knows it as the message that it is a part of.
    assert!(outcome.text.contains("\"tail_start_id\": \"msg_002\""));
    let again = self::session(&outcome.text, ID);
    assert_eq!(again.source.records.len(), 7);
    assert_eq!(again.boundaries.len(), 1);
    let tail = &again.messages[5..];
    let kinds: Vec<_> = tail.iter().map(|message| message.origin).collect();
    use EntryKind::{Continue, Marker, Summary};
    assert_eq!(kinds, [Marker, Summary, Continue].map(Origin::Entry));
    assert_eq!(tail[1].parent.as_ref(), Some(&tail[0].id));
    assert_eq!(tail[1].agent.as_deref(), Some("compaction"));
    assert_eq!(tail[0].agent.as_deref(), Some("build"));
    assert_eq!(tail[1].said(), "The summary.");
    assert!(tail.is_sorted_by_key(|message| &message.id));
    assert!(tail[0].id > again.messages[4].id);
    // The records before are the file's own bytes, and so is the indentation.
    let original = fixture(ID, "plain.json");
    assert!(outcome.text.starts_with(original.trim_end().trim_end_matches(['}', ']', ' ', '\n'])));
    assert!(
        outcome.text.contains("\n    {\n      \"info\": {\n        \"id\": \"msg_004_000001\"")
    );
}

#[test]
fn recorded_entries_go_when_the_view_has_none() {
    let session = read("compaction.json");
    let mut view = View::recorded(&session, &[]);
    view.stored.retain(|item| !item.shown.message.is_entry());
    view.sent.retain(|shown| !shown.message.is_entry());
    let outcome = write(&view, ID);
    assert_eq!(outcome.losses, [""; 0]);
    let again = self::session(&outcome.text, ID);
    assert_eq!(again.source.records.len(), 4);
    assert!(again.messages.iter().all(|message| !message.is_entry()));
}

#[test]
fn what_the_store_cannot_hold_is_written_as_it_was_sent() {
    let session = read("plain.json");
    let insert = [Arc::new(Message::user("note", "An inserted note."))];

    let mut inserted = View::recorded(&session, &[]);
    inserted.sent.insert(1, Shown::plain(&insert[0]));
    let truncation = edits(&session, EditKind::Truncate, "fn", 1, |m| m.role == Role::Tool);
    let truncated = View::recorded(&session, &truncation);
    let mut hidden = View::recorded(&session, &[]);
    hide(&mut hidden, |index, _| index == 1 || index == 2);

    let table = [
        ("inserted", inserted, 5, "An inserted note."),
        ("truncated", truncated, 4, "\"output\": \"fn\""),
        ("hidden", hidden, 3, "It is empty."),
    ];
    for (name, view, records, holds) in table {
        let outcome = write(&view, ID);
        assert_eq!(outcome.losses.len(), 1, "{name}");
        assert!(outcome.losses[0].starts_with("written as it was sent"), "{name}");
        assert_eq!(parts(&outcome.text).len(), records, "{name}");
        assert!(outcome.text.contains(holds), "{name}");
        check(&self::session(&outcome.text, ID));
    }
}

#[test]
fn half_hidden_records_lose_the_hidden_parts_alone() {
    let session = read("parallel.json");
    let mut view = View::recorded(&session, &[]);
    // The second step of the second record with its two results.
    hide(&mut view, |index, _| (4..=6).contains(&index));
    let types: Vec<Value> =
        parts(&write(&view, ID).text)[1].iter().map(|part| part["type"].clone()).collect();
    let expected =
        ["step-start", "text", "tool", "tool", "step-finish", "step-start", "step-finish"];
    assert_eq!(types, expected);
}

#[test]
fn a_truncated_document_names_the_place() {
    let text = fixture(ID, "plain.json");
    let error = foldback_formats::read(&text.as_bytes()[..700], None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "line 36, column 28: the JSON document ends in the middle; the file is truncated or still being written"
    );
}
