//! OpenTelemetry spans: what is read from them.
use crate::common::{detected, fixture, outline, usage, warnings};
use foldback_core::SegmentKind;
use foldback_core::log::{Finish, ResultStatus};
use foldback_formats::{Session, read};
use serde_json::{Value, json};

const ID: &str = "otel";

fn load(name: &str) -> Vec<Session> {
    let text = fixture(ID, name);
    assert_eq!(detected(&text), Some(ID), "{name}");
    read(text.as_bytes(), None).unwrap()
}

#[test]
fn spans_that_continue_each_other_are_one_log() {
    let sessions = load("otlp.json");
    let [session] = sessions.as_slice() else {
        panic!("{} sessions", sessions.len());
    };
    assert_eq!(session.id, "t1");
    assert_eq!(
        outline(session, 20),
        [
            "useru text:Look at both.",
            "assistant reasoning:Hm. text:Both. tool-call:{\"path\":\"a\"} tool-call:{\"path\":\"b\"}",
            "tool tool-result:long A",
            "tool tool-result:{\"b\":1}",
            "assistant text:Read. tool-call:{}",
        ]
    );
    assert_eq!(warnings(session), ["call-without-result"]);
    assert_eq!(session.frame.text_of(SegmentKind::System), Some("Be brief."));
    assert!(session.frame.text_of(SegmentKind::Tools).is_some());
    assert_eq!(usage(session), [400 + 1200, 600, 0, 80, 0]);
    let answer = session.messages[1].answer.as_ref().unwrap();
    assert_eq!((answer.started, answer.ended), (Some(1_768_912_201_000), Some(1_768_912_203_000)));
    assert_eq!((answer.finish, answer.model.as_deref()), (Some(Finish::ToolCalls), Some("m-1")));
    let result = session.messages[2].parts[0].as_result().unwrap();
    assert_eq!((&*result.tool, result.status), ("read", ResultStatus::Completed));
    assert_eq!(session.boundaries, []);
}

#[test]
fn a_request_that_does_not_continue_is_a_boundary() {
    let sessions = load("spans.jsonl");
    let ids: Vec<_> = sessions.iter().map(|session| &*session.id).collect();
    assert_eq!(ids, ["conv-1", "conv-1_2"]);
    let session = &sessions[0];
    assert_eq!(
        outline(session, 20),
        [
            "useru text:Task.",
            "assistant tool-call:{\"path\":\"a\"}",
            "tool tool-result:long",
            "assistant text:One.",
            "useru text:Two?",
            "assistant text:Two.",
            "userE text:Summary: read a.",
            "useru text:Three?",
            "assistant text:Three.",
        ]
    );
    let [boundary] = session.boundaries.as_slice() else {
        panic!("{:?}", session.boundaries);
    };
    assert_eq!((boundary.before, &*boundary.kind, boundary.original_kept), (7, "summary", true));
    assert_eq!((boundary.tokens_before, boundary.tokens_after), (Some(160), Some(60)));
    let cleared: Vec<_> = session.cleared.iter().map(|c| (c.at.item, c.time)).collect();
    assert_eq!(cleared, [(2, 1_768_912_205_000)]);
    assert_eq!(warnings(session), ["repeated-call", "call-without-content", "damaged-line"]);
    assert_eq!(session.warnings[0].place, "line 6");
    assert_eq!(session.warnings[2].place, "line 3");
    assert_eq!(outline(&sessions[1], 20), ["useru text:Name this."]);
    assert_eq!(warnings(&sessions[1]), ["call-without-answer"]);
    assert_eq!(sessions[1].messages[0].agent.as_deref(), Some("titles"));
}

#[test]
fn the_same_spans_in_other_wrappings() {
    let lines = fixture(ID, "spans.jsonl");
    let spans: Vec<Value> =
        lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let expected: Vec<_> = load("spans.jsonl").iter().map(|session| outline(session, 40)).collect();
    let pretty: Vec<String> = spans.iter().map(|span| format!("{span:#}\n")).collect();
    let table = [
        ("a list", Value::from(spans.clone()).to_string()),
        ("an object", json!({"spans": spans}).to_string()),
        ("the console exporter", pretty.concat()),
    ];
    for (name, text) in table {
        assert_eq!(detected(&text), Some(ID), "{name}");
        let sessions = read(text.as_bytes(), None).unwrap();
        let found: Vec<_> = sessions.iter().map(|session| outline(session, 40)).collect();
        assert_eq!(found, expected, "{name}");
        for session in &sessions {
            for message in &session.messages {
                let raw = session.source.record(message.record.unwrap()).unwrap();
                let span: Value = serde_json::from_str(raw).unwrap();
                assert!(span.get("attributes").is_some(), "{name}");
            }
        }
    }
}

#[test]
fn the_agents_span_is_read_where_its_calls_are_not_recorded() {
    let span = json!({"name": "invoke_agent", "trace_id": "t", "attributes": {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.input.messages": "[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"content\":\"Hi.\"}]}]",
        "gen_ai.output.messages": "[{\"role\":\"assistant\",\"parts\":[{\"type\":\"text\",\"content\":\"Hello.\"}]}]"}});
    let sessions = read(span.to_string().as_bytes(), None).unwrap();
    assert_eq!(outline(&sessions[0], 20), ["useru text:Hi.", "assistant text:Hello."]);
}

#[test]
fn bad_input_is_named() {
    let table = [
        (r#"{"resourceSpans":[]}"#, "/resourceSpans: no span with `gen_ai.input.messages` in it"),
        (
            r#"{"attributes":{"gen_ai.request.model":"m"}}"#,
            "gen_ai.input.messages: 1 call(s) without content; it must be switched on where the spans are made (OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT)",
        ),
    ];
    for (text, expected) in table {
        let error = read(text.as_bytes(), Some(ID)).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}
