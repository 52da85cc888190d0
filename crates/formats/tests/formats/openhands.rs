//! OpenHands event streams: what is read from them.
use crate::common::{check, detected, fixture, outline, recorded, session, usage, warnings};
use foldback_core::SegmentKind;
use foldback_core::log::{Finish, PartKind, ResultStatus};
use foldback_formats::Session;
use foldback_testkit::needs_sessions;

const ID: &str = "openhands";

fn sessions(text: &str) -> Vec<Session> {
    foldback_formats::read(text.as_bytes(), Some(ID)).unwrap_or_else(|error| panic!("{error}"))
}

fn read(name: &str) -> Vec<Session> {
    sessions(&fixture(ID, name))
}

#[test]
fn one_response_is_one_answer() {
    let v0 = &read("v0.json")[0];
    assert_eq!(v0.calls(), 3);
    let calls: Vec<_> = v0.messages.iter().flat_map(|m| m.call_ids()).collect();
    assert_eq!(calls, ["c1", "c2", "c1_2", "c4"], "ids repeat from call to call");
    assert_eq!(v0.messages[2].parts[2].source_record, Some(6));
    let finish: Vec<_> =
        v0.messages.iter().filter_map(|message| message.answer.as_ref()?.finish).collect();
    assert_eq!(finish, [Finish::ToolCalls; 3]);
    let v1 = &read("v1.jsonl")[0];
    assert_eq!(v1.calls(), 3);
    let status: Vec<_> = v1
        .messages
        .iter()
        .filter_map(|message| message.parts[0].as_result())
        .map(|result| (result.call_id.as_str(), result.tool.as_str(), result.status))
        .collect();
    assert_eq!(
        status,
        [
            ("t1", "terminal", ResultStatus::Completed),
            ("t2", "viewer", ResultStatus::Error),
            ("t3", "terminal", ResultStatus::Error),
        ]
    );
}

#[test]
fn condensations_are_undone_and_their_tails_known() {
    for (name, before, tail) in [("v0.json", 6, "event-8"), ("v1.jsonl", 5, "event-e7")] {
        let session = &read(name)[0];
        let [boundary] = session.boundaries.as_slice() else {
            panic!("{name}");
        };
        assert_eq!(boundary.before, before, "{name}");
        assert_eq!(boundary.kind, "summary");
        assert!(boundary.original_kept);
        let PartKind::Marker(marker) = &session.messages[before].parts[1].kind else {
            panic!("{name}: no marker");
        };
        assert_eq!(marker.tail_start.as_deref(), Some(tail), "{name}");
    }
    let forgets = fixture(ID, "v0.json").replacen("\"a.c was read.\"", "null", 1);
    let forgets = &sessions(&forgets)[0];
    assert_eq!(forgets.boundaries[0].kind, "drop");
    assert_eq!(forgets.recorded_summaries(), 0);
}

#[test]
fn frames_and_ids() {
    let frame = |session: &Session| -> Vec<(SegmentKind, String)> {
        let segments = session.frame.segments.iter();
        segments.map(|s| (s.kind.clone(), s.text.to_string())).collect()
    };
    let v0 = &read("v0.json")[0];
    assert_eq!(frame(v0)[0], (SegmentKind::System, "You are OpenHands.".into()));
    assert_eq!(frame(v0)[1].0, SegmentKind::Tools);
    let v1 = &read("v1.jsonl")[0];
    assert_eq!(frame(v1)[1], (SegmentKind::System, "Host: here.".into()));
    let ids: Vec<_> = read("output.jsonl").into_iter().map(|s| s.id).collect();
    assert_eq!(ids, ["repo-1", "repo-2"]);
}

#[test]
fn other_ways_to_keep_events() {
    let v1: Vec<String> = fixture(ID, "v1.jsonl").lines().map(str::to_owned).collect();
    let list = format!("[{}]", v1.join(","));
    let expected = outline(&read("v1.jsonl")[0], 16);
    for text in [list.clone(), format!("{{\"id\":\"x\",\"items\":{list}}}")] {
        assert_eq!(detected(&text), Some(ID));
        assert_eq!(outline(&session(&text, ID), 16), expected);
    }
    let output = fixture(ID, "output.jsonl");
    let instances: Vec<&str> = output.lines().filter(|line| line.ends_with('}')).collect();
    let list = format!("[{}]", instances.join(","));
    assert_eq!(sessions(&list).len(), 2);
}

#[test]
fn what_holds_no_events_is_refused() {
    for text in ["{}", "[]", "[1]", "{\"history\":[]}", "[{\"source\":\"x\"}]"] {
        assert!(foldback_formats::read(text.as_bytes(), Some(ID)).is_err(), "{text}");
    }
}

/// Events and tool calls, answers, turns and results of each instance.
const REAL: &[(&str, [usize; 5])] = &[
    ("ponylang__ponyc-4595", [49, 23, 23, 1, 22]),
    ("ponylang__ponyc-4593", [70, 33, 33, 1, 32]),
    ("ponylang__ponyc-4588", [103, 49, 49, 1, 49]),
];

#[needs_sessions]
#[test]
fn recorded_sessions_import_whole() {
    for path in recorded(ID) {
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(detected(&text), Some(ID));
        let sessions = sessions(&text);
        assert_eq!(sessions.len(), REAL.len());
        for (session, (id, expected)) in sessions.iter().zip(REAL) {
            check(session);
            assert_eq!(session.id, *id);
            let counted = session.recorded.unwrap();
            let results = session.messages.iter();
            let results = results.filter(|m| m.parts.iter().any(|p| p.as_result().is_some()));
            let found = [
                counted.messages,
                counted.tool_calls,
                session.calls(),
                session.turns(),
                results.count(),
            ];
            assert_eq!(found, *expected, "{id}");
            // The call that ends a run has no observation.
            assert!(warnings(session).iter().all(|code| *code == "call-without-result"));
            let record: serde_json::Value = serde_json::from_str(&session.source.text).unwrap();
            let total = &record["metrics"]["accumulated_token_usage"];
            let [uncached, read, written, output, reasoning] = usage(session);
            assert_eq!(total["prompt_tokens"], uncached + read + written, "{id}");
            assert_eq!(total["completion_tokens"], output + reasoning, "{id}");
        }
    }
}
