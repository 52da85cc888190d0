//! Every session in every format that can be written: what comes back, and what is said to be lost.
use crate::common::{bare, fixture, fixtures, recorded, session, sessions, usage};
use crate::recorded::files;
use foldback_core::log::Role;
use foldback_formats::convert::{Converted, convert, writable};
use foldback_formats::{Session, format, read};
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
