//! Files as they lie about: glued, nested deep, packed, in another encoding, behind a prefix, of newer recorders.
use crate::common::{self, bare, outline, read_case, sessions, usage, warnings};
use foldback_core::log::{Answer, Service, Usage};
use foldback_formats::convert::convert;
use foldback_formats::{Session, format, read};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// A file of `tests/cases`, its sessions: messages of the log, calls, turns, tool calls, input tokens; and the codes of
/// what is noted beside what the same file says without its fault.
type Row = (&'static str, &'static [[u64; 5]], &'static [&'static str]);

const ROWS: &[Row] = &[
    ("B05-gemini-first-history/gemini-context-first.jsonl", &[[5, 2, 2, 0, 6_100]], &[]),
    ("B05-gemini-first-history/gemini-set-then-bare.jsonl", &[[6, 3, 2, 1, 3_900]], &[]),
    ("B05-gemini-first-history/recorded-plain.jsonl", &[[5, 2, 1, 1, 6_200]], &[]),
    ("B06-gemini-thought-in-content/gemini-thought-content.jsonl", &[[4, 2, 1, 1, 2_100]], &[]),
    ("B13-glued-lines/glued-claude-ref.jsonl", &[[10, 5, 1, 4, 7_120]], &[]),
    ("B13-glued-lines/glued-claude.jsonl", &[[10, 5, 1, 4, 7_120]], &["glued-line"]),
    (
        "B13-glued-lines/glued-codex.jsonl",
        &[[14, 4, 2, 4, 3_000]],
        &["glued-line", "unknown-type", "unknown-type", "orphan-result", "call-without-result"],
    ),
    (
        "B13-glued-lines/glued-copilot.jsonl",
        &[[8, 2, 2, 2, 900], [2, 1, 1, 0, 0]],
        &["glued-line", "truncated-line", "unknown-type"],
    ),
    (
        "B13-glued-lines/glued-gemini.jsonl",
        &[[8, 3, 3, 2, 2_405]],
        &["glued-line", "abandoned-branch", "truncated-line"],
    ),
    ("B13-glued-lines/glued-pi.jsonl", &[[8, 3, 2, 1, 6_055]], &["glued-line"]),
    ("B14-nested-over-127/deep.jsonl", &[[4, 2, 1, 1, 1_008]], &[]),
    (
        "B14-nested-over-127/deep-opencode.json",
        &[[13, 3, 2, 5, 230]],
        &[
            "unknown-role",
            "damaged-line",
            "unknown-type",
            "call-without-result",
            "call-without-result",
        ],
    ),
    ("B18-otel/otel-strings.jsonl", &[[4, 2, 1, 1, 300]], &[]),
    ("B18-otel/otel-arrays-of-strings.jsonl", &[[4, 2, 1, 1, 300]], &[]),
    ("B18-otel/otel-user-tool.jsonl", &[[5, 2, 1, 1, 300]], &[]),
    (
        "B19-refused-files/opencode-powershell.json",
        &[[13, 3, 2, 5, 230]],
        &[
            "unknown-role",
            "damaged-line",
            "unknown-type",
            "call-without-result",
            "call-without-result",
        ],
    ),
    (
        "B19-refused-files/opencode-prefix.json",
        &[[13, 3, 2, 5, 230]],
        &[
            "unknown-role",
            "damaged-line",
            "unknown-type",
            "call-without-result",
            "call-without-result",
            "prefix",
        ],
    ),
    ("B19-refused-files/s.jsonl.gz", &[[8, 4, 1, 3, 4_616]], &[]),
    ("B19-refused-files/stream-json.jsonl", &[[6, 3, 1, 2, 80], [2, 1, 1, 0, 7]], &[]),
    ("B26-constant-message-id/constant-id.jsonl", &[[10, 5, 1, 4, 15_000]], &["reused-id"]),
    (
        "B26-constant-message-id/constant-id-null-request.jsonl",
        &[[10, 5, 1, 4, 15_000]],
        &["reused-id"],
    ),
    ("B26-constant-message-id/control.jsonl", &[[10, 5, 1, 4, 15_000]], &[]),
    ("B26-constant-message-id/provider-distinct-requests.jsonl", &[[14, 7, 1, 6, 31_014]], &[]),
    // The largest request is the last of its answer's, not the sum of them.
    ("B23-advisor-rollup/session.jsonl", &[[6, 3, 1, 2, 304_403]], &[]),
    ("B35-otel-cache/semconv-inclusive.jsonl", &[[4, 2, 2, 0, 261_213]], &[]),
    ("B35-otel-cache/details-form.jsonl", &[[4, 2, 2, 0, 261_213]], &[]),
    ("B35-otel-cache/anthropic-exclusive.jsonl", &[[4, 2, 2, 0, 261_213]], &["usage-contradicts"]),
    ("B41-codex-totals/totals-only.jsonl", &[[8, 4, 1, 3, 10_000]], &[]),
    ("B41-codex-totals/restarted-counter.jsonl", &[[8, 4, 2, 2, 6_000]], &[]),
    ("B49-counts-as-text/session.jsonl", &[[4, 2, 1, 1, 18_500]], &[]),
    ("B53-cost-of-branches/claude.jsonl", &[[4, 2, 2, 0, 50_000]], &["abandoned-branch"]),
    (
        "B26-constant-message-id/provider-same-request.jsonl",
        &[[14, 7, 1, 6, 31_014]],
        &["reused-id"],
    ),
    ("B29-codex-rollback-steered/control.jsonl", &[[6, 3, 2, 1, 3_400]], &["abandoned-branch"]),
    ("B29-codex-rollback-steered/one.jsonl", &[[5, 2, 2, 1, 2_300]], &["abandoned-branch"]),
    ("B29-codex-rollback-steered/two.jsonl", &[[2, 1, 1, 0, 1_300]], &["abandoned-branch"]),
    ("B43-opencode-revert/session.json", &[[6, 2, 2, 2, 5_001]], &["abandoned-branch"]),
];

/// Members that hold the id of a response, as the provider gave it.
const RESPONSE_IDS: &[&str] =
    &["gen_ai.response.id", "llm_response_id", "messageId", "responseId", "response_id"];

/// Members whose `id` is that of a response, by format.
const RESPONSES: &[(&str, &[&str])] = &[
    ("claude-code", &["message"]),
    ("openhands", &["model_response"]),
    ("goose", &["", "conversation"]),
    ("inspect", &["messages", "message"]),
    ("openai-chat", &["", "response"]),
    ("langchain", &["messages", "kwargs"]),
];

/// Gives every response the same id.
fn with_one_id(value: &mut Value, at: &str, inside: &[&str]) {
    match value {
        Value::Object(object) => {
            let answers = object.get("role").is_none_or(|role| role == "assistant");
            for (key, member) in object {
                let is_id = RESPONSE_IDS.contains(&&**key)
                    || key == "id" && answers && inside.contains(&at);
                if is_id && member.is_string() {
                    *member = "constant".into();
                }
                with_one_id(member, key, inside);
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|value| with_one_id(value, at, inside)),
        _ => {}
    }
}

/// Gateways give every response the same id: it is no answer's name in any format.
#[test]
fn a_constant_response_id_changes_no_count() {
    let mut changed = BTreeSet::new();
    for (id, name, text) in common::fixtures() {
        let inside = RESPONSES.iter().find(|(known, _)| *known == id).map_or(&[][..], |row| row.1);
        let respelled = |text: &str| {
            let mut value: Value = serde_json::from_str(text).ok()?;
            let before = value.clone();
            with_one_id(&mut value, "", inside);
            Some((value.to_string(), value != before))
        };
        let lines = || text.lines().map(|line| respelled(line).unwrap_or((line.to_owned(), false)));
        let (constant, differs) = respelled(&text).unwrap_or_else(|| {
            let texts: Vec<String> = lines().map(|line| line.0).collect();
            (texts.join("\n") + "\n", lines().any(|line| line.1))
        });
        if !differs {
            continue;
        }
        changed.insert(id.clone());
        let [before, after] = [&text, &constant]
            .map(|text| sessions(text, &id).iter().map(counts).collect::<Vec<_>>());
        assert_eq!(after, before, "{id} {name}");
    }
    let expected = ["claude-code", "goose", "inspect", "openhands"];
    assert!(expected.iter().all(|id| changed.contains(*id)), "{changed:?}");
}

/// A fork and a spawned child name the session that their history comes from, in whichever member their format has for it.
#[test]
fn a_session_names_the_one_that_it_comes_from() {
    let opencode = r#"{"info":{"id":"b","forkSessionID":"a","time":{"created":1}},"messages":[{"info":{"id":"m","role":"user","time":{"created":1}},"parts":[{"id":"p","type":"text","text":"go"}]}]}"#;
    let hermes = r#"{"id":"b","source":"cli","parent_session_id":"a","started_at":1,"messages":[{"id":1,"role":"user","content":"go"}]}"#;
    let dsh = "{\"type\":\"session\",\"id\":\"b\",\"createdAt\":1,\"parentSession\":\"a\"}\n{\"type\":\"user/message\",\"seq\":1,\"time\":1,\"data\":{\"content\":[{\"type\":\"text\",\"text\":\"go\"}]}}\n";
    let codex = |member: &str| {
        format!(
            "{{\"type\":\"session_meta\",\"payload\":{{\"id\":\"b\",{member}}}}}\n{{\"type\":\"response_item\",\"payload\":{{\"type\":\"message\",\"role\":\"user\",\"content\":[{{\"type\":\"input_text\",\"text\":\"go\"}}]}}}}\n"
        )
    };
    let rows = [
        ("opencode", opencode.to_owned()),
        ("hermes", hermes.to_owned()),
        ("dsh", dsh.to_owned()),
        ("codex", codex(r#""forked_from_id":"a""#)),
        ("codex", codex(r#""source":{"subagent":{"thread_spawn":{"parent_thread_id":"a"}}}"#)),
    ];
    for (id, text) in rows {
        let read = sessions(&text, id);
        assert_eq!(read[0].parent.as_deref(), Some("a"), "{id}: {text}");
    }
}

/// A request may say only what is new, where the provider keeps what was said before: no new conversation.
#[test]
fn a_thread_that_the_provider_keeps_goes_on() {
    let said = |role: &str, text: &str| json!({"role": role, "parts": [{"type": "text", "content": text}]});
    let span = |number: u64, previous: Option<&str>| {
        let mut attributes = json!({
            "gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-5.4", "gen_ai.response.id": format!("resp_{number}"),
            "gen_ai.usage.input_tokens": 100 * number, "gen_ai.usage.output_tokens": 5,
            "gen_ai.input.messages": [said("user", &format!("Question {number}"))],
            "gen_ai.output.messages": [said("assistant", &format!("Answer {number}"))],
        });
        if let Some(previous) = previous {
            attributes["gen_ai.request.previous_response_id"] = previous.into();
        }
        json!({"spanId": number.to_string(), "traceId": "t", "startTimeUnixNano": number, "attributes": attributes}).to_string()
    };
    let read = |spans: &[String]| {
        let sessions = sessions(&spans.join("\n"), "otel");
        sessions.iter().map(|s| (counts(s), s.begins_midway())).collect::<Vec<_>>()
    };
    let all = [span(1, None), span(2, Some("resp_1")), span(3, Some("resp_2"))];
    assert_eq!(read(&all), [([6, 3, 3, 0, 600], false)]);
    assert_eq!(read(&all[1..]), [([4, 2, 2, 0, 500], true)]);
    assert_eq!(read(&[span(1, None), span(2, None)]).len(), 2);
    let body = json!({"input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "And?"}]}]});
    for (member, kept) in
        [("previous_response_id", true), ("conversation", true), ("prompt", false)]
    {
        let mut body = body.clone();
        body[member] = "id".into();
        let session = &sessions(&body.to_string(), "openai-responses")[0];
        assert_eq!(session.begins_midway(), kept, "{member}");
        assert_eq!(warnings(session).contains(&"kept-elsewhere"), kept, "{member}");
    }
}

fn counts(session: &Session) -> [u64; 5] {
    let [uncached, read, written, ..] = usage(session);
    let counts = [session.log().count(), session.calls(), session.turns(), session.tool_calls()];
    let [messages, calls, turns, tools] = counts.map(|count| count as u64);
    [messages, calls, turns, tools, uncached + read + written]
}

#[test]
fn files_that_once_went_wrong_are_read() {
    for (name, expected, codes) in ROWS {
        let found = read(&read_case(name), None).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(found.iter().map(counts).collect::<Vec<_>>(), *expected, "{name}");
        assert_eq!(warnings(&found[0]), *codes, "{name}");
    }
    // What the user took back stays in the file.
    for (name, id) in [
        ("B29-codex-rollback-steered/one.jsonl", "codex"),
        ("B43-opencode-revert/session.json", "opencode"),
        ("B55-redacted-thinking/pi.jsonl", "pi"),
    ] {
        let text = common::case(name);
        assert_eq!(common::rewritten(&common::session(&text, id), id).text, text, "{name}");
    }
    let recorded: Vec<String> = sessions(
        &common::case("B06-gemini-thought-in-content/gemini-thought-content.jsonl"),
        "gemini-cli",
    )
    .iter()
    .flat_map(|session| outline(session, 20))
    .collect();
    assert_eq!(
        recorded[1],
        "assistant reasoning:**Plan**|open the fi text:Reading a. tool-call:{\"path\":\"a\"}"
    );
    let french = sessions(&common::case("B18-otel/otel-user-tool.jsonl"), "otel");
    assert_eq!(outline(&french[0], 20)[3], "user+ text:Answer in French");
}

/// What an answer cost beside its usage: other requests for it, what of the cache is kept for an hour, searches, how it was served;
/// and answers that are in no message.
#[test]
fn what_was_paid_for_is_read() {
    let read = |name: &str| sessions(&common::case(name), name_of_format(name)).remove(0);
    let advised = read("B23-advisor-rollup/session.jsonl");
    assert_eq!(advised.largest_request(), 102_403);
    let usage = |uncached, cache_read, cache_write, output| Usage {
        uncached,
        cache_read,
        cache_write,
        output,
        ..Usage::default()
    };
    let answers = |session: &Session| -> Vec<Answer> {
        session.log().filter_map(|message| message.answer.clone()).collect()
    };
    let told = &answers(&advised)[1];
    assert_eq!(told.usage, Some(usage(5, 100_990, 1_005, 350)));
    let unlogged = |session: &Session| -> Vec<_> {
        session.unlogged.iter().map(|answer| (answer.model.clone(), answer.usage)).collect()
    };
    let own = |model: &str| Some(model.to_owned());
    let before = (own("claude-opus-4-8"), Some(usage(2, 99_990, 1_000, 0)));
    let advisor = (own("claude-fable-5"), Some(usage(60_000, 0, 0, 900)));
    assert_eq!(unlogged(&advised), [before, advisor]);
    let services = |name: &str| -> Vec<Service> {
        answers(&read(name)).iter().map(|answer| answer.service).collect()
    };
    assert_eq!(services("B24-fast-mode/claude-standard.jsonl"), [Service::Standard; 6]);
    assert_eq!(services("B24-fast-mode/claude-fast.jsonl"), [Service::Fast; 6]);
    let codex = services("B24-fast-mode/codex-priority.jsonl");
    assert!(codex.len() > 2 && codex.iter().all(|service| *service == Service::Priority));
    let searched = &answers(&read("B63-hour-and-searches/session.jsonl"))[0];
    let written = searched.usage.map(|usage| [usage.cache_write, usage.cache_write_1h]);
    assert_eq!((written, searched.web_searches), (Some([100_000, 80_000]), 3));
    let mixed = answers(&read("E-mixed-cache-writes/session.jsonl"));
    let hours = mixed.iter().map(|answer| answer.usage.unwrap().cache_write_1h);
    assert_eq!(hours.collect::<Vec<_>>(), [0, 99_000]);
    // One usage in three spellings: what the cache read costs a tenth, and what was written to it 1.25 times the input.
    for name in ["details-form", "semconv-inclusive", "anthropic-exclusive"] {
        let traced = sessions(&common::case(&format!("B35-otel-cache/{name}.jsonl")), "otel");
        let first = answers(&traced[0])[0].usage.map(|used| Usage { total: None, ..used });
        assert_eq!(first, Some(usage(5, 128_955, 1_253, 20)), "{name}");
    }
    let left = read("B53-cost-of-branches/claude.jsonl");
    let gone = (own("claude-opus-4-8"), Some(usage(0, 50_000, 0, 40_000)));
    assert_eq!(unlogged(&left), [gone]);
    let reverted = read("B43-opencode-revert/session.json");
    let gone = [(1_002, 4_000, 102), (1_003, 6_000, 103)]
        .map(|(uncached, read, output)| usage(uncached, read, 500, output));
    let paid: Vec<_> = reverted.unlogged.iter().filter_map(|answer| answer.usage).collect();
    let same = |(paid, gone): (&Usage, &Usage)| {
        (paid.input_total(), paid.cache_read, paid.output)
            == (gone.input_total(), gone.cache_read, gone.output)
    };
    assert!(paid.len() == 2 && paid.iter().zip(&gone).all(same), "{paid:?}");
    // It survives the project's own lines.
    let lines = convert(std::slice::from_ref(&advised), format("foldback").unwrap()).unwrap().text;
    assert_eq!(answers(&sessions(&lines, "foldback")[0]), answers(&advised));
    let lines = convert(std::slice::from_ref(&left), format("foldback").unwrap()).unwrap().text;
    assert_eq!(unlogged(&sessions(&lines, "foldback")[0]), unlogged(&left));
}

/// Of every format that lets the user go back, what was taken back is kept apart.
#[test]
fn what_was_taken_back_was_paid_for() {
    let mut found = BTreeMap::new();
    for (id, _, text) in common::fixtures() {
        for session in sessions(&text, &id) {
            let paid = session.unlogged.iter().filter(|answer| answer.usage.is_some()).count();
            *found.entry(id.clone()).or_insert(0) += paid;
        }
    }
    for id in ["claude-code", "codex", "kimi-code", "pi"] {
        assert!(found[id] > 0, "{id}: {found:?}");
    }
    let gemini = r#"{"sessionId":"s","projectHash":"h"}
{"id":"u","type":"user","content":"go"}
{"id":"a","type":"gemini","content":"No.","model":"m","tokens":{"input":9,"cached":0,"output":2,"thoughts":0,"tool":0,"total":11}}
{"$rewindTo":"u"}
{"id":"v","type":"user","content":"go on"}
{"id":"b","type":"gemini","content":"Yes.","model":"m","tokens":{"input":8,"cached":0,"output":3,"thoughts":0,"tool":0,"total":11}}
"#;
    let qwen = r#"{"uuid":"u","parentUuid":null,"sessionId":"s","type":"user","message":{"role":"user","parts":[{"text":"go"}]}}
{"uuid":"a","parentUuid":"u","sessionId":"s","type":"assistant","model":"m","message":{"role":"model","parts":[{"text":"No."}]},"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":2,"totalTokenCount":11}}
{"uuid":"v","parentUuid":null,"sessionId":"s","type":"system","subtype":"rewind"}
{"uuid":"w","parentUuid":"v","sessionId":"s","type":"user","message":{"role":"user","parts":[{"text":"go on"}]}}
{"uuid":"b","parentUuid":"w","sessionId":"s","type":"assistant","model":"m","message":{"role":"model","parts":[{"text":"Yes."}]},"usageMetadata":{"promptTokenCount":8,"candidatesTokenCount":3,"totalTokenCount":11}}
"#;
    for (id, text) in [("gemini-cli", gemini), ("qwen-code", qwen)] {
        let read = &sessions(text, id)[0];
        let gone: Vec<_> = read.unlogged.iter().filter_map(|answer| answer.usage).collect();
        assert_eq!(gone.iter().map(Usage::input_total).collect::<Vec<_>>(), [9], "{id}");
        assert_eq!(read.calls(), 1, "{id}");
    }
}

/// Members that count tokens.
const COUNTED: [&str; 15] = [
    "token",
    "usage",
    "input",
    "output",
    "prompt",
    "completion",
    "cache",
    "total",
    "reasoning",
    "thoughts",
    "candidates",
    "tool",
    "read",
    "write",
    "intvalue",
];

/// Sets the counts whose name `which` wants.
fn with_counts(value: &mut Value, which: &impl Fn(&str) -> bool, to: &Value) {
    match value {
        Value::Object(object) => {
            for (key, member) in object {
                let counts = member.is_number() || key == "intValue";
                if counts && which(&key.to_lowercase()) {
                    *member = to.clone();
                }
                // Exporters of traces put the counts into a text.
                if key.contains("usage")
                    && let Some(text) = member.as_str()
                    && let Ok(mut inner @ Value::Object(_)) = serde_json::from_str(text)
                {
                    with_counts(&mut inner, which, to);
                    *member = inner.to_string().into();
                }
                with_counts(member, which, to);
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|value| with_counts(value, which, to)),
        _ => {}
    }
}

/// Recorders and gateways write 0 or null for what they do not know: no request of any format is that small.
#[test]
fn what_is_missing_is_not_zero() {
    let usages = |sessions: &[Session]| -> Vec<Usage> {
        let answers = sessions.iter().flat_map(Session::log);
        answers.filter_map(|message| message.answer.as_ref()?.usage).collect()
    };
    let all = |key: &str| COUNTED.iter().any(|word| key.contains(word));
    let output =
        |key: &str| ["output", "completion", "candidates"].iter().any(|word| key.contains(word));
    let mut formats = BTreeSet::new();
    for (id, name, text) in common::fixtures() {
        if usages(&sessions(&text, &id)).is_empty() {
            continue;
        }
        for to in [Value::Null, 0.into(), "0".into()] {
            let changed = |keeps_output: bool| {
                let which = |key: &str| all(key) && !(keeps_output && output(key));
                let respelled = |text: &str| {
                    let mut value: Value = serde_json::from_str(text).ok()?;
                    with_counts(&mut value, &which, &to);
                    Some(value.to_string())
                };
                // The counts of a damaged line can't be changed: it is left out.
                let kept = |line: &&str| !line.contains('{') || respelled(line).is_some();
                let lines = || {
                    let lines = text.lines().filter(kept);
                    lines.map(|line| respelled(line).unwrap_or(line.to_owned()))
                };
                respelled(&text).unwrap_or_else(|| lines().collect::<Vec<_>>().join("\n") + "\n")
            };
            let of = |text: &str| {
                let found = read(text.as_bytes(), Some(&id));
                usages(&found.unwrap_or_else(|error| panic!("{id} {name} {to}: {error}")))
            };
            assert_eq!(of(&changed(false)), [], "{id} {name} {to}");
            let counted = of(&changed(true));
            assert!(!counted.iter().any(Usage::has_input), "{id} {name} {to}: {counted:?}");
        }
        formats.insert(id);
    }
    assert!(formats.len() >= 16, "{formats:?}");
}

fn name_of_format(case: &str) -> &'static str {
    ["codex", "opencode"].into_iter().find(|agent| case.contains(agent)).unwrap_or("claude-code")
}

/// Two lines that were written as one are the same two records, in every format that grows by lines.
#[test]
fn lines_may_be_glued_anywhere() {
    let mut glued = 0;
    for (id, name, text) in common::fixtures() {
        if !name.ends_with(".jsonl") {
            continue;
        }
        let apart = sessions(&text, &id);
        let ends: Vec<usize> = text.match_indices("}\n{").map(|(at, _)| at + 1).collect();
        for end in ends {
            let joined = format!("{}{}", &text[..end], &text[end + 1..]);
            let found = sessions(&joined, &id);
            assert_eq!(found.len(), apart.len(), "{id} {name} at {end}");
            for (found, apart) in found.iter().zip(&apart) {
                // What pi could not read, it did not count: a tail that is named by its number may be another.
                if !(id == "pi" && text.contains("firstKeptEntryIndex")) {
                    assert_eq!(bare(found), bare(apart), "{id} {name} at {end}");
                }
                if !apart.id.starts_with("session-") {
                    assert_eq!(found.id, apart.id, "{id} {name} at {end}");
                }
            }
            glued += 1;
        }
    }
    assert!(glued > 100, "{glued}");
}

#[test]
fn values_may_be_nested_deeper_than_the_parser_goes() {
    let deep = format!("{}1{}", "{\"a\":[".repeat(90), "]}".repeat(90));
    let rows = [
        (
            "openai-chat",
            r#"{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b","x":DEEP}]}"#,
        ),
        (
            "anthropic",
            r#"{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":DEEP}]}]}"#,
        ),
        (
            "gemini",
            r#"{"contents":[{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":DEEP}}]}]}"#,
        ),
        (
            "codex",
            "{\"timestamp\":\"2026-01-01T00:00:00Z\",\"type\":\"session_meta\",\"payload\":{\"id\":\"s\",\"x\":DEEP}}\n{\"timestamp\":\"2026-01-01T00:00:00Z\",\"type\":\"response_item\",\"payload\":{\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"a\"}]}}\n{\"timestamp\":\"2026-01-01T00:00:00Z\",\"type\":\"response_item\",\"payload\":{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\",\"text\":\"b\",\"x\":DEEP}]}}\n",
        ),
        (
            "gemini-cli",
            "{\"sessionId\":\"s\",\"projectHash\":\"h\"}\n{\"id\":\"a\",\"type\":\"user\",\"content\":\"a\"}\n{\"id\":\"b\",\"type\":\"gemini\",\"content\":\"\",\"model\":\"m\",\"toolCalls\":[{\"id\":\"c\",\"name\":\"f\",\"args\":DEEP}]}\n",
        ),
        (
            "pi",
            "{\"type\":\"session\",\"id\":\"s\",\"cwd\":\"/\"}\n{\"type\":\"message\",\"id\":\"a\",\"parentId\":null,\"message\":{\"role\":\"user\",\"content\":\"a\"}}\n{\"type\":\"message\",\"id\":\"b\",\"parentId\":\"a\",\"message\":{\"role\":\"assistant\",\"content\":[{\"type\":\"toolCall\",\"id\":\"c\",\"name\":\"f\",\"arguments\":DEEP}]}}\n",
        ),
        (
            "otel",
            r#"{"attributes":{"gen_ai.operation.name":"chat","gen_ai.input.messages":[{"role":"user","parts":[{"type":"text","content":"a"}]}],"gen_ai.output.messages":[{"role":"assistant","parts":[{"type":"tool_call","id":"c","name":"f","arguments":DEEP}]}]}}"#,
        ),
    ];
    for (id, text) in rows {
        let text = text.replace("DEEP", &deep);
        let found = read(text.as_bytes(), None).unwrap_or_else(|error| panic!("{id}: {error}"));
        assert_eq!((found[0].format, found[0].messages.len()), (id, 2), "{id}");
        let damage = warnings(&found[0]).iter().any(|code| code.contains("line"));
        assert!(!damage, "{id}: {:?}", found[0].warnings);
    }
}

#[test]
fn a_text_may_come_in_other_bytes() {
    let text = common::fixture("opencode", "plain.json");
    let expected = bare(&sessions(&text, "opencode")[0]);
    let wide = |unit: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(unit).collect::<Vec<u8>>();
    let (little, big) = (wide(u16::to_le_bytes), wide(u16::to_be_bytes));
    let rows: [(&str, Vec<u8>); 7] = [
        ("UTF-8 with a mark", [b"\xef\xbb\xbf", text.as_bytes()].concat()),
        ("UTF-16, little", [b"\xff\xfe", &*little].concat()),
        ("UTF-16, big", [b"\xfe\xff", &*big].concat()),
        ("UTF-16 without a mark", little),
        ("big without a mark", big),
        ("behind a prompt", format!("$ opencode export\n[1/2] done\n{text}").into_bytes()),
        ("behind a word", format!("Exporting session: {text}").into_bytes()),
    ];
    for (name, bytes) in rows {
        for from in [None, Some("opencode")] {
            let found = read(&bytes, from).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(bare(&found[0]), expected, "{name}");
            assert_eq!(foldback_formats::detect_bytes(&bytes).unwrap().id, "opencode", "{name}");
        }
    }
    let packed = read_case("B19-refused-files/s.jsonl.gz");
    let error = read(&packed[..packed.len() / 2], None).unwrap_err().to_string();
    assert!(error.starts_with("the gzip file: cannot be unpacked: "), "{error}");
}

/// Lines that are equal were recorded twice because they happened twice.
#[test]
fn equal_lines_are_no_copies() {
    let codex = |lines: &str| -> String {
        let line =
            |payload: &str| format!("{{\"timestamp\":\"2026-01-01T00:00:00.000Z\",{payload}}}\n");
        let call = line(
            r#""type":"response_item","payload":{"type":"function_call","name":"f","arguments":"{}","call_id":"c"}"#,
        );
        let output = line(
            r#""type":"response_item","payload":{"type":"function_call_output","call_id":"c","output":"o"}"#,
        );
        let lines = lines.chars().map(|kind| match kind {
            'h' => line(r#""type":"session_meta","payload":{"id":"s"}"#),
            'c' => call.clone(),
            'o' => output.clone(),
            total => line(&format!(r#""type":"event_msg","payload":{{"type":"token_count","info":{{"total_token_usage":{{"total_tokens":{total}}},"last_token_usage":{{"input_tokens":1,"total_tokens":1}}}}}}"#)),
        });
        lines.collect()
    };
    // Stored items, calls of the model, tool calls.
    let rows = [
        ("hco1co2co3co4", [8, 4, 4]),
        ("co1co2co3co4", [8, 4, 4]),
        ("hco1co1co1co1", [8, 4, 4]),
        ("hco1hco1", [2, 1, 1]),
        ("hco1co2hco1co2co3", [6, 3, 3]),
    ];
    for (lines, expected) in rows {
        let found = &sessions(&codex(lines), "codex")[0];
        let counts = [found.recorded_messages(), found.calls(), found.tool_calls()];
        assert_eq!(counts, expected, "{lines}");
    }
    let pi = "{\"type\":\"session\",\"id\":\"s\",\"cwd\":\"/\"}\n".to_owned()
        + &"{\"type\":\"message\",\"timestamp\":\"2026-01-01T00:00:00Z\",\"message\":{\"role\":\"user\",\"content\":\"go on\"}}\n".repeat(3);
    assert_eq!(sessions(&pi, "pi")[0].messages.len(), 3);
}
