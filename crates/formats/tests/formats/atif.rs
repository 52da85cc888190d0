//! ATIF trajectories: what is read from them, and what is written back.
use crate::common::{
    append, check, clear, detected, fixture, hide, outline, recorded, rewritten, session, usage,
    warnings, write,
};
use foldback_core::Message;
use foldback_core::log::{EntryKind, Origin, Role};
use foldback_core::view::Shown;
use foldback_formats::{Session, View};
use foldback_testkit::needs_sessions;
use serde_json::Value;
use std::sync::Arc;

const ID: &str = "atif";

fn sessions(text: &str) -> Vec<Session> {
    foldback_formats::read(text.as_bytes(), Some(ID)).unwrap()
}

fn load(name: &str) -> Session {
    sessions(&fixture(ID, name)).swap_remove(0)
}

fn steps(text: &str) -> Vec<Value> {
    let document: Value = serde_json::from_str(text).unwrap();
    document["steps"].as_array().unwrap().clone()
}

#[test]
fn subagents_are_sessions_of_their_own() {
    let text = fixture(ID, "parallel.json");
    let sessions = sessions(&text);
    let ids: Vec<_> = sessions.iter().map(|session| &*session.id).collect();
    assert_eq!(ids, ["run-2", "sub"]);
    assert_eq!(outline(&sessions[1], 40), ["useru text:Sub task.", "assistant text:Sub answer."]);
    check(&sessions[1]);
    // Written alone, it is the part of the file that it was read from.
    assert!(text.contains(&rewritten(&sessions[1], ID).text));
    let place = sessions[0].warnings.iter().find(|w| w.place.starts_with("/subagent"));
    assert!(place.unwrap().detail.contains("/steps: a trajectory has its list of steps here"));
}

#[test]
fn compactions_are_boundaries_and_copied_steps_no_calls() {
    let session = load("compaction.json");
    let boundaries: Vec<_> = session
        .boundaries
        .iter()
        .map(|b| {
            (b.before, &*b.trigger, &*b.kind, b.tokens_before, b.tokens_after, b.original_kept)
        })
        .collect();
    assert_eq!(
        boundaries,
        [
            (5, "manual", "summary", Some(820), Some(30), true),
            (8, "auto", "summary", Some(320), None, true),
        ]
    );
    assert_eq!(session.recorded_summaries(), 2);
    assert_eq!(session.calls(), 3, "the copied answer is none");
    assert_eq!(usage(&session), [1100, 0, 0, 40, 0]);
    let cleared: Vec<_> = session
        .cleared
        .iter()
        .map(|cleared| (cleared.at.item, cleared.at.part, cleared.time))
        .collect();
    assert_eq!(cleared, [(3, 0, 5)]);
}

#[test]
fn cleared_results_are_listed_in_a_step() {
    let text = fixture(ID, "plain.json");
    let read = session(&text, ID);
    let edits = clear(&read, 7, |message| message.role == Role::Tool);
    let written = write(&View::recorded(&read, &edits), ID).text;
    let expected = text
        .replace("\"total_steps\": 4", "\"total_steps\": 5")
        .replace("\n  ],\n  \"final_metrics\"", concat!(
            ",\n    {\n      \"step_id\": 5,\n      \"source\": \"system\",\n",
            "      \"message\": \"1 part(s) of the context cleared or cut\",\n",
            "      \"extra\": {\n        \"context_management\": {\n          \"type\": \"pruning\",\n",
            "          \"boundary\": \"in-place\",\n          \"edits\": [\n            {\n",
            "              \"step_id\": 3,\n              \"pointer\": \"/observation/results/0/content\",\n",
            "              \"kind\": \"clear\",\n",
            "              \"text\": \"[Old tool result content cleared]\",\n",
            "              \"at\": 7\n            }\n          ]\n        }\n      }\n    }",
            "\n  ],\n  \"final_metrics\""
        ));
    assert_eq!(written, expected);
    // Read again, it is the same log with the same part cleared, and writes the same file.
    let again = session(&written, ID);
    assert_eq!(outline(&again, 40), outline(&read, 40));
    assert_eq!(again.recorded_edits(), edits);
    assert_eq!(rewritten(&again, ID).text, written);
}

#[test]
fn what_was_folded_stands_in_one_step_and_the_log_stays() {
    for name in ["plain.json", "parallel.json"] {
        let read = load(name);
        let mut summary = Message::user("summary", "What went before.");
        summary.origin = Origin::Entry(EntryKind::Summary);
        let new = [Arc::new(summary)];
        let mut view = View::recorded(&read, &[]);
        append(&mut view, &new);
        let last = read.messages.len() - 1;
        hide(&mut view, |index, message| index < last && !message.is_entry());
        // The summary first, then what is kept of the log.
        view.sent.rotate_right(1);
        let outcome = write(&view, ID);
        let again = sessions(&outcome.text).swap_remove(0);
        let mut expected = outline(&read, 40);
        expected.insert(last, "userE text:What went before.".to_owned());
        assert_eq!(outline(&again, 40), expected, "{name}");
        assert_eq!(again.boundaries.len(), 1, "{name}");
        let numbers: Vec<_> =
            steps(&outcome.text).iter().filter_map(|step| step.get("step_id")?.as_u64()).collect();
        assert!(numbers.iter().copied().eq(1..=numbers.len() as u64), "{name}: {numbers:?}");
        assert_eq!(rewritten(&again, ID).text, outcome.text, "{name}");
    }
}

#[test]
fn steps_that_a_view_undoes_go() {
    let read = load("compaction.json");
    // As a strategy leaves it that does nothing: the log alone.
    let mut view = View::recorded(&read, &[]);
    view.stored.retain(|stored| !stored.shown.message.is_entry());
    for (pos, stored) in view.stored.iter_mut().enumerate() {
        stored.shown.pos = Some(pos);
    }
    view.sent = view.stored.iter().map(|stored| stored.shown.clone()).collect();
    let outcome = write(&view, ID);
    assert_eq!(
        outcome.losses,
        ["3 step(s) that tell of the recorder's own compactions: the view has others"]
    );
    let again = session(&outcome.text, ID);
    let log: Vec<_> =
        outline(&read, 40).into_iter().filter(|line| !line.starts_with("userE")).collect();
    // The hand-over of before 1.7 is known by its subagents alone, and the step that follows is gone.
    assert_eq!(outline(&again, 40), log);
    assert_eq!(again.cleared, []);
    assert_eq!(steps(&outcome.text).len(), 11 - 3);
}

#[test]
fn hidden_results_take_their_step_with_them() {
    let read = load("plain.json");
    let mut view = View::recorded(&read, &[]);
    // The call is hidden, its result is shown: nothing of the step can stay where it is.
    hide(&mut view, |index, _| index < 2);
    let text = write(&view, ID).text;
    let folded = &steps(&text)[3];
    assert_eq!(folded["extra"]["context_management"]["boundary"], "replace");
    assert_eq!(folded["observation"]["results"][0]["content"], "fn a() {}");
    assert_eq!(folded["observation"]["results"][0]["extra"]["role"], "tool");
}

#[test]
fn sessions_of_other_formats_become_trajectories() {
    let table = [
        ("openai-chat", "plain.json"),
        ("anthropic", "plain.json"),
        ("claude-code", "parallel.jsonl"),
        ("codex", "plain.jsonl"),
        ("opencode", "compaction.json"),
        ("opencode", "plain.json"),
    ];
    for (format, name) in table {
        let original = session(&fixture(format, name), format);
        let edits = original.recorded_edits();
        let outcome = write(&View::recorded(&original, &edits), ID);
        assert_eq!(detected(&outcome.text), Some(ID));
        let again = session(&outcome.text, ID);
        check(&again);
        let said = |session: &Session| -> Vec<(Role, String)> {
            session
                .log()
                .filter(|message| !message.shown_text().is_empty())
                .map(|message| (message.role, message.said()))
                .collect()
        };
        assert_eq!(said(&again), said(&original), "{format} {name}");
        assert_eq!(again.tool_calls(), original.tool_calls(), "{format} {name}");
        assert_eq!(usage(&again), usage(&original), "{format} {name}");
        assert_eq!(again.recorded_summaries(), original.recorded_summaries(), "{format} {name}");
        assert_eq!(again.cleared.len(), original.cleared.len(), "{format} {name}");
        assert_eq!(rewritten(&again, ID).text, outcome.text, "{format} {name}");
    }
}

#[test]
fn inserted_messages_stand_in_the_step_too() {
    let read = load("plain.json");
    let note = Arc::new(Message::user("note", "A note."));
    let mut view = View::recorded(&read, &[]);
    view.sent.insert(1, Shown::plain(&note));
    let folded = &steps(&write(&view, ID).text)[2];
    let shown: Vec<_> = folded["observation"]["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|result| result["content"].as_str().unwrap())
        .collect();
    assert_eq!(shown, ["What is in a.rs?", "A note."]);
}

#[test]
fn bad_input_is_named() {
    let table = [
        (r#"{"schema_version":"ATIF-v1.7"}"#, "/steps: a trajectory has its list of steps here"),
        (r#"{"schema_version":"ATIF-v1.7","steps":[]}"#, "no messages in it"),
    ];
    for (text, expected) in table {
        let error = foldback_formats::read(text.as_bytes(), None).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

#[needs_sessions]
#[test]
fn recorded_sessions_import_whole() {
    // Part of the name; messages and tool calls as the format counts them, calls, boundaries, warnings.
    type Row = (&'static str, [usize; 4], &'static [&'static str]);
    let table: &[Row] = &[
        ("openhands-hello", [6, 2, 2, 0], &["call-without-result"]),
        ("terminus_2", [10, 7, 7, 1], &[]),
        ("hermes", [6, 4, 2, 0], &["unknown-source"; 5]),
        ("mechacoder", [8, 0, 1, 0], &[]),
    ];
    for path in recorded(ID) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(detected(&text), Some(ID), "{name}");
        let session = session(&text, ID);
        check(&session);
        let (_, counts, codes) = table.iter().find(|row| name.contains(row.0)).unwrap();
        let counted = session.recorded.unwrap();
        let found =
            [counted.messages, counted.tool_calls, session.calls(), session.boundaries.len()];
        assert_eq!(found, *counts, "{name}");
        assert_eq!(warnings(&session), *codes, "{name}");
        assert!(rewritten(&session, ID).text == text, "{name}");
    }
}

/// Without a summary in it, a compaction is followed by one only while the agent is at work; between
/// turns what follows is the user.
#[test]
fn who_speaks_after_a_compaction() {
    let compaction = r#"{"step_id":3,"source":"system","message":"Context compaction performed","extra":{"context_management":{"type":"compaction","boundary":"replace"}}}"#;
    let call = r#""tool_calls":[{"tool_call_id":"c","function_name":"ls","arguments":{}}],"observation":{"results":[{"source_call_id":"c","content":"a"}]}"#;
    let table = [
        (call, "userE text:Next.", "summary"),
        (r#""llm_call_count":1"#, "useru text:Next.", "replace"),
    ];
    for (answer, expected, kind) in table {
        let text = format!(
            r#"{{"schema_version":"ATIF-v1.7","agent":{{"name":"toy","version":"1"}},"steps":[{{"step_id":1,"source":"user","message":"Task."}},{{"step_id":2,"source":"agent","message":"One.",{answer}}},{compaction},{{"step_id":4,"source":"user","message":"Next."}}]}}"#
        );
        let read = session(&text, ID);
        assert_eq!(outline(&read, 20).last().unwrap(), expected);
        assert_eq!(read.boundaries[0].kind, kind);
        assert_eq!(rewritten(&read, ID).text, text);
    }
}
