//! Every session in every format that can be written: what comes back, and what is said to be lost.
use crate::common::{bare, fixture, fixtures, recorded, session, sessions, usage};
use crate::recorded::files;
use foldback_core::log::{PartKind, Role};
use foldback_formats::convert::{Converted, convert, writable};
use foldback_formats::{Session, format, read};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Which formats may lose what, by the singular of [`foldback_formats::convert::Loss::what`]. Losses that are
/// not here are bookkeeping (ids of messages, names of agents) and only have to be said.
const MAY_LOSE: &[(&str, &[&str])] = &[
    // An observation is told from a user message by its place alone.
    ("text", &["mini-swe-agent"]),
    // Arguments that are no object.
    ("tool call", &["anthropic", "claude-code", "gemini", "opencode", "pi", "roo-code"]),
    ("tool result", &[]),
    // Letters that the provider does not take.
    ("id of a tool call", &["anthropic", "claude-code", "roo-code"]),
    ("join of a result with its call", &[]),
    ("reasoning text", &["anthropic", "claude-code", "mini-swe-agent", "roo-code", "swe-agent"]),
    (
        "reasoning signature",
        &[
            "anthropic",
            "claude-code",
            "codex",
            "gemini",
            "mini-swe-agent",
            "openai-chat",
            "openai-responses",
            "roo-code",
            "swe-agent",
        ],
    ),
    (
        "file or image",
        &[
            "anthropic",
            "claude-code",
            "codex",
            "gemini",
            "mini-swe-agent",
            "openai-chat",
            "openai-responses",
            "pi",
            "pydantic-ai",
            "roo-code",
            "swe-agent",
        ],
    ),
    ("system prompt around the history", &["claude-code", "opencode", "pi", "roo-code"]),
    (
        "token count of a call",
        &[
            "anthropic",
            "codex",
            "gemini",
            "openai-chat",
            "openai-responses",
            "roo-code",
            "swe-agent",
        ],
    ),
];

/// The sessions of every fixture, each with a name, and the size of the file.
fn of_fixtures() -> Vec<(String, usize, Session)> {
    let named = |(id, name, text): (String, String, String)| {
        let size = text.len();
        sessions(&text, &id).into_iter().map(move |found| (format!("{id} {name}"), size, found))
    };
    fixtures().into_iter().flat_map(named).collect()
}

/// The same of every recorded session.
fn of_recorded() -> Vec<(String, usize, Session)> {
    let folders = recorded("").into_iter().filter(|path| path.is_dir());
    let files = folders.flat_map(|folder| files(&folder.file_name().unwrap().to_string_lossy()));
    let named = |(name, text, sessions): (String, String, Vec<Session>)| {
        let size = text.len();
        sessions.into_iter().map(move |session| (name.clone(), size, session))
    };
    files.flat_map(named).collect()
}

/// Recordings with something opaque in every shape that a format has for it; it begins with `opaque-`, or `hidden-` where the
/// provider showed nobody what it stands for.
fn opaque() -> Vec<(&'static str, String)> {
    let chat = json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}, "extra_content": {"google": {"thought_signature": "opaque-1"}}},
        {"id": "c2", "type": "function", "function": {"name": "read", "arguments": "{}"}, "provider_specific_fields": {"thought_signature": "opaque-2"}},
    ]});
    let said = json!({"role": "assistant", "content": "So.", "extra_content": {"google": {"thought_signature": "opaque-3"}}});
    let user = json!({"role": "user", "content": "Why?"});
    let gemini = "gemini-3.1-pro-preview";
    let parts = json!([
        {"text": "Hm.", "thought": true, "thoughtSignature": "opaque-1"},
        {"functionCall": {"id": "c1", "name": "read", "args": {}}, "thoughtSignature": "opaque-2"},
        {"functionCall": {"id": "c2", "name": "read", "args": {}}, "thoughtSignature": "opaque-3"},
        {"text": "So.", "thoughtSignature": "opaque-4"},
    ]);
    let blocks = json!([
        {"type": "thinking", "thinking": "Hm.", "signature": "opaque-1"},
        {"type": "redacted_thinking", "data": "hidden-1"},
        {"type": "text", "text": "So."},
    ]);
    let lines = |lines: &[Value]| lines.iter().map(|line| format!("{line}\n")).collect();
    let answer = json!({"role": "assistant", "content": blocks});
    let hermes = json!({"id": "s", "source": "cli", "started_at": 1, "end_reason": null, "model": gemini, "messages": [
        {"id": 1, "role": "user", "content": "Why?"},
        {"id": 2, "role": "assistant", "content": "", "tool_calls": chat["tool_calls"]},
    ]});
    vec![
        ("openai-chat", json!({"model": gemini, "messages": [user, chat, said]}).to_string()),
        ("hermes", lines(&[hermes])),
        ("anthropic", json!({"model": "claude-opus-4-8", "messages": [user, answer]}).to_string()),
        (
            "claude-code",
            lines(&[
                json!({"type": "user", "uuid": "u", "parentUuid": null, "sessionId": "s", "message": user}),
                json!({"type": "assistant", "uuid": "a", "parentUuid": "u", "sessionId": "s", "message": {"id": "m", "model": "claude-opus-4-8", "role": "assistant", "content": blocks}}),
            ]),
        ),
        (
            "langchain",
            json!([
                {"type": "human", "data": {"content": "Why?"}},
                {"type": "ai", "data": {"content": blocks, "response_metadata": {"model_name": "claude-opus-4-8"}}},
            ])
            .to_string(),
        ),
        (
            "pi",
            lines(&[
                json!({"type": "session", "version": 3, "id": "s", "cwd": "/work"}),
                json!({"type": "message", "id": "e1", "parentId": null, "message": user}),
                json!({"type": "message", "id": "e2", "parentId": "e1", "message": {"role": "assistant", "model": "claude-opus-4-8", "content": [
                    {"type": "thinking", "thinking": "Hm.", "thinkingSignature": "opaque-1"},
                    {"type": "thinking", "thinking": "[Reasoning redacted]", "thinkingSignature": "hidden-1", "redacted": true},
                    {"type": "toolCall", "id": "c1", "name": "read", "arguments": {}, "thoughtSignature": "opaque-2"},
                ]}}),
            ]),
        ),
        (
            "opencode",
            json!({"info": {"id": "ses_1", "slug": "s", "time": {"created": 1}}, "messages": [
                {"info": {"id": "m1", "role": "user", "time": {"created": 1}}, "parts": [{"type": "text", "text": "Why?"}]},
                {"info": {"id": "m2", "role": "assistant", "modelID": "claude-opus-4-8", "time": {"created": 2}}, "parts": [
                    {"type": "reasoning", "text": "Hm.", "metadata": {"anthropic": {"signature": "opaque-1"}}},
                    {"type": "reasoning", "text": "", "metadata": {"anthropic": {"redactedData": "hidden-1"}}},
                    {"type": "text", "text": "So."},
                ]},
            ]})
            .to_string(),
        ),
        (
            "pydantic-ai",
            json!([
                {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Why?"}]},
                {"kind": "response", "model_name": "claude-opus-4-8", "parts": [
                    {"part_kind": "thinking", "content": "Hm.", "signature": "opaque-1"},
                    {"part_kind": "thinking", "id": "redacted_thinking", "content": "", "signature": "hidden-1"},
                    {"part_kind": "text", "content": "So."},
                ]},
            ])
            .to_string(),
        ),
        ("gemini", json!({"contents": [{"role": "user", "parts": [{"text": "Why?"}]}, {"role": "model", "parts": parts}]}).to_string()),
        (
            "qwen-code",
            lines(&[
                json!({"uuid": "u", "parentUuid": null, "sessionId": "s", "type": "user", "message": {"role": "user", "parts": [{"text": "Why?"}]}}),
                json!({"uuid": "a", "parentUuid": "u", "sessionId": "s", "type": "assistant", "model": gemini, "message": {"role": "model", "parts": parts}}),
            ]),
        ),
        (
            "gemini-cli",
            lines(&[
                json!({"sessionId": "s", "projectHash": "p", "startTime": "2026-01-01T00:00:00Z", "kind": "main"}),
                json!({"id": "1", "type": "user", "timestamp": "2026-01-01T00:00:00Z", "content": [{"text": "Why?"}]}),
                json!({"id": "2", "type": "gemini", "timestamp": "2026-01-01T00:00:01Z", "model": gemini, "content": parts}),
            ]),
        ),
        (
            "goose",
            json!({"id": "s", "working_dir": "/work", "model_config": {"model_name": gemini}, "conversation": [
                {"id": "m1", "role": "user", "created": 1, "content": [{"type": "text", "text": "Why?"}]},
                {"id": "m2", "role": "assistant", "created": 2, "content": [
                    {"type": "thinking", "thinking": "Hm.", "signature": "opaque-1"},
                    {"type": "redactedThinking", "data": "hidden-1"},
                    {"type": "toolRequest", "id": "c1", "toolCall": {"value": {"name": "read", "arguments": {}}}, "metadata": {"thoughtSignature": "opaque-2"}},
                ]},
            ]})
            .to_string(),
        ),
        (
            "openhands",
            lines(&[
                json!({"kind": "MessageEvent", "id": "e1", "source": "user", "timestamp": "2026-01-01T00:00:00", "llm_message": user}),
                json!({"kind": "MessageEvent", "id": "e2", "source": "agent", "timestamp": "2026-01-01T00:00:01", "llm_message": {
                    "role": "assistant", "content": [{"type": "text", "text": "So."}], "thinking_blocks": blocks.as_array().map(|blocks| &blocks[..2]),
                }}),
            ]),
        ),
        (
            "swe-agent",
            json!({"environment": "e", "trajectory": [], "info": {}, "history": [
                {"role": "user", "content": "Why?", "message_type": "observation"},
                {"role": "assistant", "content": "So.", "message_type": "action", "thinking_blocks": blocks.as_array().map(|blocks| &blocks[..2])},
            ]})
            .to_string(),
        ),
        (
            "inspect",
            json!({"id": 1, "epoch": 1, "messages": [user, {"role": "assistant", "id": "a", "model": "claude-opus-4-8", "content": [
                {"type": "reasoning", "reasoning": "Hm.", "signature": "opaque-1"},
                {"type": "reasoning", "reasoning": "hidden-1", "redacted": true},
                {"type": "text", "text": "So."},
            ]}]})
            .to_string(),
        ),
    ]
}

/// The opaque payloads in a text, and those among them that stand as what their provider hid.
fn payloads(text: &str) -> [BTreeSet<String>; 2] {
    fn walk(value: &Value, found: &mut [BTreeSet<String>; 2]) {
        match value {
            Value::Object(object) => {
                let hidden = object.get("redacted") == Some(&true.into())
                    || ["type", "id"].iter().any(|key| {
                        let name = object.get(*key).and_then(Value::as_str).unwrap_or_default();
                        name == "redacted_thinking" || name == "redactedThinking"
                    });
                for (key, member) in object {
                    match member.as_str() {
                        Some(text)
                            if text.starts_with("opaque-") || text.starts_with("hidden-") =>
                        {
                            found[0].insert(text.to_owned());
                            if hidden || key == "redactedData" {
                                found[1].insert(text.to_owned());
                            }
                        }
                        _ => walk(member, found),
                    }
                }
            }
            Value::Array(list) => list.iter().for_each(|value| walk(value, found)),
            _ => {}
        }
    }
    let mut found = [BTreeSet::new(), BTreeSet::new()];
    for value in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
        walk(&value.unwrap(), &mut found);
    }
    found
}

/// The same of a session.
fn held(session: &Session) -> [BTreeSet<String>; 2] {
    let mut found = [BTreeSet::new(), BTreeSet::new()];
    for part in session.log().flat_map(|message| &message.parts) {
        if let PartKind::Reasoning { opaque: Some(opaque), .. } = &part.kind {
            found[0].insert(opaque.clone());
            if part.redacted {
                found[1].insert(opaque.clone());
            }
        }
    }
    found
}

/// What only a provider can read is in the file as what it was, or it is said that it is not.
#[test]
fn opaque_payloads_keep_their_kind_or_are_told() {
    let (mut kept, mut told) = (0, 0);
    for (id, text) in opaque() {
        let session = session(&text, id);
        let [all, hidden] = payloads(&text);
        assert!(!all.is_empty(), "{id}");
        for to in writable() {
            let (converted, again) = written(&session, to.id);
            let lost = |what: &str| {
                let losses = converted.losses.iter().filter(|loss| loss.what[0] == what);
                losses.map(|loss| loss.lost).sum::<usize>()
            };
            let [there, as_hidden] = match to.id {
                // Members of their own.
                "foldback" | "atif" => held(&again),
                _ => payloads(&converted.text),
            };
            let name = format!("{id} → {}", to.id);
            let gone = all.difference(&there).count();
            assert_eq!(gone, lost("reasoning signature"), "{name}: {:?}", converted.losses);
            let gone = hidden.difference(&as_hidden).count();
            let marks = lost("mark of reasoning that its provider hid");
            assert_eq!(gone, marks, "{name}: {:?}\n{}", converted.losses, converted.text);
            assert!(as_hidden.is_subset(&hidden), "{name}");
            (kept, told) = (kept + there.len(), told + all.len() - there.len());
        }
    }
    assert!(kept > 200 && told > 100, "{kept} kept, {told} told");
}

fn written(session: &Session, to: &str) -> (Converted, Session) {
    let converted = convert(std::slice::from_ref(session), format(to).unwrap())
        .unwrap_or_else(|error| panic!("{} {} → {to}: {error}", session.format, session.id));
    let mut again = read(converted.text.as_bytes(), Some(to)).unwrap();
    let same = again.iter().position(|again| again.id == session.id);
    (converted, again.swap_remove(same.unwrap_or(0)))
}

#[test]
fn foldback_and_atif_give_back_everything() {
    are_given_back(of_fixtures());
}

#[foldback_needs::sessions]
#[test]
fn foldback_and_atif_give_back_every_recorded_session() {
    are_given_back(of_recorded());
}

/// Nothing of these files is lost on the way through either format.
fn are_given_back(sessions: Vec<(String, usize, Session)>) {
    for ((name, _, session), to) in
        sessions.iter().flat_map(|found| ["foldback", "atif"].map(|to| (found, to)))
    {
        let (converted, again) = written(session, to);
        let name = format!("{name} {} → {to}", session.id);
        // The trajectory of a subagent is called otherwise when it stands alone.
        if !(session.format == "atif" && to == "atif") {
            assert_eq!(converted.losses, [], "{name}");
            assert_eq!(again.id, session.id, "{name}");
        }
        assert!(bare(&again) == bare(session), "{name}: messages");
        assert_eq!(again.frame, session.frame, "{name}");
        assert_eq!(again.boundaries, session.boundaries, "{name}");
        assert_eq!(again.cleared, session.cleared, "{name}");
        assert_eq!(usage(&again), usage(session), "{name}");
        assert_eq!(
            (&again.model, &again.cluster, again.limits),
            (&session.model, &session.cluster, session.limits),
            "{name}"
        );
    }
}

/// What a message says and does, with what came of it: the part of a session that no format may lose
/// without saying so. Some formats keep a result with its call, so where it stands alone does not count.
type Content = (Role, String, Vec<[String; 4]>);

/// The content of the messages. Calls without a result and results without a call are left out: some formats
/// make up the other half, so that a provider would take them.
fn content(session: &Session, paired: &BTreeSet<String>) -> Vec<Content> {
    let results: BTreeMap<&str, &str> = session
        .log()
        .flat_map(|message| &message.parts)
        .filter_map(|part| part.as_result())
        .map(|result| (&*result.call_id, &*result.text))
        .collect();
    session
        .log()
        .map(|message| {
            let calls = message.parts.iter().filter_map(|part| part.as_call());
            let calls = calls.filter(|call| paired.contains(&call.call_id));
            let calls = calls.map(|call| {
                let result = results.get(&*call.call_id).copied().unwrap_or_default();
                let arguments = call.arguments_value().to_string();
                [&call.call_id, &call.tool, &arguments, result].map(|text: &str| text.to_owned())
            });
            (message.role, message.said(), calls.collect())
        })
        .filter(|(_, said, calls): &Content| !said.is_empty() || !calls.is_empty())
        .collect()
}

fn paired(session: &Session) -> BTreeSet<String> {
    let calls: BTreeSet<&str> = session.log().flat_map(|m| m.call_ids()).collect();
    let results = session.log().flat_map(|message| &message.parts);
    results
        .filter_map(|part| Some(&part.as_result()?.call_id))
        .filter(|id| calls.contains(id.as_str()))
        .cloned()
        .collect()
}

/// Losses after which the order and the words of a session are not what they were.
const WEIGHTY: &[&str] = &[
    "text",
    "blank text",
    "tool call",
    "result without a call",
    "id of a tool call",
    "speaker of a text",
    "file or image",
    "part of an unknown type",
    "compaction that only its provider takes",
    "system prompt around the history",
];

/// Recorded sessions up to this size go through all writers; larger ones are more of the same.
const LARGEST: usize = 1_300_000;

#[test]
fn what_is_not_said_to_be_lost_comes_back() {
    come_back(of_fixtures());
}

#[foldback_needs::sessions]
#[test]
fn what_is_not_said_to_be_lost_of_recorded_sessions_comes_back() {
    come_back(of_recorded());
}

fn come_back(sessions: Vec<(String, usize, Session)>) {
    let mut compared = 0;
    for (name, _, session) in sessions.iter().filter(|(_, size, _)| *size <= LARGEST) {
        let paired = paired(session);
        let before = content(session, &paired);
        for to in writable() {
            let name = format!("{name} {} → {}", session.id, to.id);
            let (converted, again) = written(session, to.id);
            let lost: BTreeSet<&str> = converted.losses.iter().map(|l| l.what[0]).collect();
            for (what, may) in MAY_LOSE {
                assert!(!lost.contains(what) || may.contains(&to.id), "{name}: {what}");
            }
            if !WEIGHTY.iter().any(|what| lost.contains(what)) {
                assert!(content(&again, &paired) == before, "{name}");
                compared += 1;
            }
        }
    }
    assert!(compared > 300, "{compared} comparisons");
}

#[test]
fn losses_say_what_and_how_many() {
    let text = r#"{"type":"user","uuid":"1","sessionId":"s","cwd":"/r","timestamp":"2026-01-01T00:00:00Z","message":{"role":"user","content":"hi"}}
{"type":"assistant","uuid":"2","parentUuid":"1","sessionId":"s","timestamp":"2026-01-01T00:00:01Z","message":{"id":"m","role":"assistant","model":"m-1","stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":2},"content":[{"type":"thinking","thinking":"Hm.","signature":"s1"},{"type":"text","text":"ho"}]}}"#;
    let session = session(text, "claude-code");
    let (converted, _) = written(&session, "openai-chat");
    let lines: Vec<String> = converted.losses.iter().map(ToString::to_string).collect();
    assert_eq!(
        lines,
        [
            "1 reasoning signature",
            "1 token count of a call",
            "2 timestamps",
            "1 reason why the model stopped",
            "1 model name of a call",
            "1 start or end time of a call",
            "2 message ids",
            "1 link to a parent message",
            "1 session id",
            "1 model name of the session",
            "1 name of the repository or task",
        ]
    );
}

#[test]
fn a_file_of_the_same_format_is_copied() {
    for (id, name) in [
        ("claude-code", "compaction.jsonl"),
        ("openai-responses", "compacted.json"),
        ("openai-responses", "answer-compacted.json"),
        ("openai-responses", "compact-endpoint.json"),
        ("anthropic", "compacted.json"),
        ("anthropic", "compacted-first.json"),
        ("opencode", "compaction.json"),
    ] {
        let text = fixture(id, name);
        let (converted, _) = written(&session(&text, id), id);
        assert_eq!(converted.text, text);
        assert_eq!(converted.losses, []);
    }
}

/// No other provider takes it. What can be read of it stays.
#[test]
fn what_a_provider_compacted_goes_to_no_other() {
    for (id, name, text, others) in [
        ("anthropic", "compacted-first.json", true, ["openai-responses", "openai-chat", "gemini"]),
        ("openai-responses", "compacted.json", false, ["anthropic", "openai-chat", "gemini"]),
    ] {
        let session = session(&fixture(id, name), id);
        for to in others {
            let (converted, _) = written(&session, to);
            let lost: Vec<String> = converted.losses.iter().map(ToString::to_string).collect();
            let said = "1 compaction that only its provider takes".to_owned();
            assert!(lost.contains(&said), "{to}: {lost:?}");
            assert_eq!(converted.text.contains("So far: a."), text, "{to}: {}", converted.text);
            for word in ["compaction", "c2ln", "gBBB"] {
                assert!(!converted.text.contains(word), "{to}: {word} in {}", converted.text);
            }
        }
    }
}

#[test]
fn several_sessions_are_one_file_only_where_they_can_be() {
    let sessions = sessions(&fixture("openai-chat", "many.jsonl"), "openai-chat");
    let converted = convert(&sessions, format("foldback").unwrap()).unwrap();
    let again = read(converted.text.as_bytes(), None).unwrap();
    let ids = |sessions: &[Session]| -> Vec<String> {
        sessions.iter().map(|session| session.id.clone()).collect()
    };
    assert_eq!(ids(&again), ids(&sessions));
    let refused = |to: &str| convert(&sessions, format(to).unwrap()).unwrap_err().to_string();
    assert_eq!(refused("pydantic-ai"), "a pydantic-ai file holds one session, and these are 3");
    let error = convert(&sessions[..1], format("tau2").unwrap()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the format tau2 can only be read; these can be written: foldback, claude-code, codex, pi, roo-code, \
         gemini, opencode, atif, pydantic-ai, swe-agent, mini-swe-agent, openai-responses, openai-chat, anthropic"
    );
}
