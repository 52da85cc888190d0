//! OpenHands event streams: what is read from them.
use crate::common::{
    check, cut_anywhere, detected, fixture, outline, recorded, session, usage, warnings,
};
use foldback_core::SegmentKind;
use foldback_core::log::{Finish, PartKind, ResultStatus};
use foldback_formats::Session;
use foldback_testkit::needs_sessions;

const ID: &str = "openhands";
const FIXTURES: [&str; 3] = ["v0.json", "output.jsonl", "v1.jsonl"];

fn sessions(text: &str) -> Vec<Session> {
    foldback_formats::read(text.as_bytes(), Some(ID)).unwrap_or_else(|error| panic!("{error}"))
}

fn read(name: &str) -> Vec<Session> {
    sessions(&fixture(ID, name))
}

#[test]
fn outlines_of_the_fixtures() {
    let table: &[(&str, usize, &[&str])] = &[
        (
            "v0.json",
            0,
            &[
                "useru text:Fix it",
                "user+ text:Use git.",
                "assistant text:Look around. tool-call:{\"command\": \"ls\" \
                 tool-call:{\"command\": \"vie",
                "tool tool-result:a.c",
                "tool tool-result:int a;",
                "user+ text:Parameter 'comma",
                "user+E text:a.c was read. marker:",
                "assistant tool-call:{\"thought\": \"hm\"",
                "tool tool-result:Your thought has",
                "assistant text:Done. tool-call:{\"message\": \"don",
            ],
        ),
        (
            "output.jsonl",
            0,
            &[
                "useru text:Fix it",
                "assistant text:Look around. tool-call:{\"command\": \"ls\" \
                 tool-call:{\"command\": \"vie",
                "tool tool-result:a.c",
                "tool tool-result:int a;",
            ],
        ),
        (
            "output.jsonl",
            1,
            &[
                "useru text:Say hi",
                "assistant text:Greet. tool-call:{\"command\":\"echo",
                "tool tool-result:hi",
                "assistant text:I said hi.",
                "useru text:Go on file:",
                "assistant text:Nothing left.",
            ],
        ),
        (
            "v1.jsonl",
            0,
            &[
                "useru text:Fix it file: text:Use git.",
                "assistant reasoning:Think. text:Look around. tool-call:{\"command\": \"ls\" \
                 tool-call:{}",
                "tool tool-result:a.c|Rules of a.",
                "tool tool-result:no such tool",
                "user+ text:Hurry",
                "user+E text:Listed. marker:",
                "assistant tool-call:{\"command\":\"rm\"}",
                "tool tool-result:No.",
                "assistant text:As you wish.",
            ],
        ),
    ];
    for (name, index, expected) in table {
        let session = &read(name)[*index];
        check(session);
        assert_eq!(outline(session, 16), *expected, "{name} {index}");
    }
}

#[test]
fn usage_models_and_warnings() {
    type Row = (&'static str, usize, [u64; 5], &'static str, &'static [&'static str]);
    let table: &[Row] = &[
        ("v0.json", 0, [2004, 896, 0, 100, 0], "model-a", &["call-without-result"]),
        // The run's metrics know the cache where the response does not.
        ("output.jsonl", 0, [300, 600, 100, 50, 0], "model-a", &["damaged-line"]),
        // Only running totals: what one call used is the difference.
        ("output.jsonl", 1, [190, 900, 10, 15, 0], "model-b", &[]),
        ("v1.jsonl", 0, [100, 0, 800, 30, 10], "", &["unknown-type"]),
    ];
    for (name, index, expected, model, codes) in table {
        let session = &read(name)[*index];
        assert_eq!(usage(session), *expected, "{name} {index}");
        assert_eq!(session.model.as_deref().unwrap_or(""), *model, "{name}");
        assert_eq!(warnings(session), *codes, "{name} {index}");
    }
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
fn a_file_appended_to_itself_is_the_same() {
    for name in ["output.jsonl", "v1.jsonl"] {
        let text = fixture(ID, name);
        let once = sessions(&text);
        let twice = sessions(&format!("{text}{text}"));
        assert_eq!(once.len(), twice.len(), "{name}");
        for (once, twice) in once.iter().zip(&twice) {
            assert_eq!(once.messages, twice.messages, "{name}");
            assert_eq!(warnings(once), warnings(twice), "{name}");
        }
    }
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
fn detection_and_files_cut_off_anywhere() {
    for name in FIXTURES {
        let text = fixture(ID, name);
        assert_eq!(detected(&text), Some(ID), "{name}");
        cut_anywhere(ID, &text);
    }
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
