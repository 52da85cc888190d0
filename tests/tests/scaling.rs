//! Inputs that somebody made to be slow: four times the input takes four times the steps.

use foldback::wire;
use foldback_core::conversation::Conversation;
use foldback_core::services::{FixedClock, Services};
use foldback_core::validity::Dialect;
use foldback_core::{Frame, Limits, work};
use foldback_formats::convert::{convert, writable};
use foldback_formats::{Session, View};
use foldback_live::follow::{Followed, Received, identity};
use foldback_replay::index::Index;
use foldback_replay::replay_with;
use foldback_tests::{options, strategy};
use serde_json::{Value, json};
use std::sync::Arc;

/// Lines of a Claude Code session, each behind the one before.
#[derive(Default)]
struct Lines(Vec<Value>);

impl Lines {
    fn begun() -> Self {
        let mut lines = Self::default();
        lines.user("u", &json!("hello"));
        lines
    }

    fn line(&mut self, kind: &str, message: Value) -> &mut Value {
        let at = self.0.len();
        let parent = at.checked_sub(1).map(|before| format!("line-{before}"));
        self.0.push(json!({
            "type": kind, "uuid": format!("line-{at}"), "parentUuid": parent, "sessionId": "s",
            "timestamp": "2026-01-01T00:00:00Z", "message": message,
        }));
        &mut self.0[at]
    }

    fn user(&mut self, role: &str, content: &Value) -> &mut Value {
        let role = if role == "u" { "user" } else { role };
        self.line(role, json!({ "role": role, "content": content }))
    }

    fn answer(&mut self, id: &str, blocks: &[Value]) {
        let message = json!({
            "id": id, "role": "assistant", "model": "claude-sonnet-4-5", "content": blocks,
            "usage": { "input_tokens": 10, "output_tokens": 1 },
        });
        self.line("assistant", message);
    }

    fn text(&self) -> String {
        self.0.iter().map(|line| format!("{line}\n")).collect()
    }
}

fn call(id: &str, number: usize) -> Value {
    json!({ "type": "tool_use", "id": id, "name": "Read", "input": { "file_path": format!("f{number}") } })
}

fn result(id: &str, number: usize) -> Value {
    json!([{ "type": "tool_result", "tool_use_id": id, "content": format!("text {number}") }])
}

fn damaged_lines(n: usize) -> String {
    let broken: String = (0..n).map(|number| format!("{{broken {number}\n")).collect();
    Lines::begun().text() + &broken
}

fn one_id_for_all_calls(n: usize) -> String {
    let mut lines = Lines::begun();
    for number in 0..n {
        lines.answer(&format!("m{number}"), &[call("same", number)]);
        lines.user("u", &result("same", number));
    }
    lines.text()
}

fn one_long_sidechain(n: usize) -> String {
    let mut lines = Lines::begun();
    for number in 0..n {
        let line = lines.user("u", &json!(format!("said {number}")));
        line["isSidechain"] = json!(true);
    }
    lines.text()
}

fn many_agents(n: usize) -> String {
    let mut lines = Lines::begun();
    for number in 0..n {
        let line = lines.user("u", &json!(format!("said {number}")));
        line["isSidechain"] = json!(true);
        line["agentId"] = json!(format!("agent-{number}"));
    }
    lines.text()
}

fn blocks_of_one_answer(n: usize) -> String {
    let mut lines = Lines::begun();
    for number in 0..n {
        lines.answer("one", &[json!({ "type": "text", "text": format!("block {number}") })]);
    }
    lines.text()
}

fn unanswered_calls(n: usize) -> String {
    let mut lines = Lines::begun();
    for number in 0..n {
        lines.answer(&format!("m{number}"), &[call(&format!("c{number}"), number)]);
    }
    lines.text()
}

fn unanswered_calls_of_a_chat(n: usize) -> String {
    let call = |number: usize| {
        let arguments = format!("{{\"path\": \"f{number}\"}}");
        let function = json!({ "name": "read", "arguments": arguments });
        let call = json!({ "id": format!("c{number}"), "type": "function", "function": function });
        json!({ "role": "assistant", "content": null, "tool_calls": [call] })
    };
    let said = json!({ "role": "user", "content": "hello" });
    let messages: Vec<Value> = std::iter::once(said).chain((0..n).map(call)).collect();
    json!({ "model": "gpt-4o", "messages": messages }).to_string()
}

fn elements_that_are_no_message(n: usize) -> String {
    let said = |role: &str| json!({ "role": role, "content": "some" });
    let odd = (0..n).flat_map(|number| [said("assistant"), json!({ "step": number })]);
    let messages: Vec<Value> = std::iter::once(said("user")).chain(odd).collect();
    json!({ "model": "gpt-4o", "messages": messages }).to_string()
}

fn results_of_one_answer(n: usize) -> String {
    let said = |role: &str, content: Vec<Value>| json!({ "role": role, "content": content });
    let id = |number: usize| format!("c{number}");
    let calls = (0..n).map(|number| call(&id(number), number)).collect();
    let results = (0..n).flat_map(|number| {
        let mut result = result(&id(number), number);
        result[0]["content"] = "text ".repeat(100).into();
        result.as_array_mut().map(std::mem::take).unwrap_or_default()
    });
    let last = vec![json!({ "type": "text", "text": "go on" })];
    let messages = [
        said("user", last.clone()),
        said("assistant", calls),
        said("user", results.collect()),
        said("assistant", last.clone()),
        said("user", last),
    ];
    json!({ "model": "claude-sonnet-4-5", "messages": messages }).to_string()
}

fn parallel_results(n: usize) -> String {
    let mut lines = Lines::begun();
    let calls: Vec<Value> = (0..n).map(|number| call(&format!("c{number}"), number)).collect();
    lines.answer("one", &calls);
    for number in 0..n {
        lines.user("u", &result(&format!("c{number}"), number));
    }
    lines.answer("two", &[json!({ "type": "text", "text": "done" })]);
    lines.text()
}

fn roo_code(text: &str) -> String {
    json!([
        { "role": "user", "content": [{ "type": "text", "text": "<task>\nx\n</task>" }], "ts": 1 },
        { "role": "assistant", "content": [{ "type": "text", "text": text }], "ts": 2 },
    ])
    .to_string()
}

fn opening_signs(n: usize) -> String {
    roo_code(&"<".repeat(n))
}

fn unclosed_tags(n: usize) -> String {
    roo_code(&"<read_file>\n\n[Response interrupted\n".repeat(n))
}

/// What an input is called, how it is made, and the preset that it is replayed and written under, if it is.
type Row = (&'static str, fn(usize) -> String, Option<&'static str>);

const ROWS: [Row; 12] = [
    ("damaged lines", damaged_lines, None),
    ("one id for all calls", one_id_for_all_calls, Some("none")),
    ("one long sidechain", one_long_sidechain, Some("none")),
    ("many agents", many_agents, None),
    ("blocks of one answer", blocks_of_one_answer, Some("none")),
    ("unanswered calls", unanswered_calls, Some("opencode")),
    ("unanswered calls of a chat", unanswered_calls_of_a_chat, Some("window")),
    ("elements that are no message", elements_that_are_no_message, Some("none")),
    ("results of one answer", results_of_one_answer, Some("tunacode-local")),
    ("parallel results", parallel_results, Some("tunacode-local")),
    ("opening signs", opening_signs, None),
    ("tags that are never closed", unclosed_tags, None),
];

/// The steps that it takes to read an input, to replay it, and to write what is sent then.
fn steps(make: fn(usize) -> String, preset: Option<&str>, n: usize) -> u64 {
    let text = make(n);
    let before = work::counted();
    let sessions: Vec<Session> = foldback_formats::read(text.as_bytes(), None).unwrap();
    let mut reads = 0;
    if let Some(preset) = preset {
        let index = Arc::new(Index::new(&sessions[0]));
        let options = options(200_000, 20_000);
        let replay = replay_with(&sessions[0], &index, &strategy(preset), &options, &mut []);
        let (session, talk) = (&sessions[0], &replay.conversation);
        reads = talk.history().reads();
        let (sent, stored) = (talk.sent(), talk.stored());
        let view = View { session, frame: &session.frame, unrecorded: 0, sent, stored };
        foldback_formats::format(session.format).unwrap().write(&view).unwrap().unwrap();
    }
    work::counted() - before + reads
}

#[test]
fn four_times_the_input_takes_four_times_the_steps() {
    for (name, make, preset) in ROWS {
        let (once, four) = (steps(make, preset, 250), steps(make, preset, 1_000));
        println!("{name}: {once}, {four}");
        assert!(once >= 250, "{name}: {once} steps, so nothing was counted");
        assert!(four as f64 <= 4.4 * once as f64 + 100.0, "{name}: {once} steps became {four}");
    }
}

/// In every format that is written, four times the conversation is about four times the text.
#[test]
fn four_times_the_messages_take_four_times_the_room() {
    for (name, make, _) in ROWS {
        let [once, four] =
            [100, 400].map(|n| foldback_formats::read(make(n).as_bytes(), None).unwrap());
        for format in writable() {
            let [once, four] =
                [&once, &four].map(|read| convert(&read[..1], format).unwrap().text.len());
            let most = 4.4 * once as f64 + 1_000.0;
            assert!(four as f64 <= most, "{name} as {}: {once} bytes became {four}", format.id);
        }
    }
}

#[test]
fn the_agents_of_a_file_share_its_text_and_records() {
    let text = many_agents(50);
    let sessions = foldback_formats::read(text.as_bytes(), None).unwrap();
    assert_eq!(sessions.len(), 51);
    for session in &sessions {
        assert!(session.source.text.is(&sessions[0].source.text));
        assert!(std::ptr::eq(&*session.source.records, &*sessions[0].source.records));
    }
}

/// The steps of the last request of a conversation of so many calls, read and followed as a proxy does after the one
/// before it.
fn last_request(dialect: Dialect, calls: usize) -> u64 {
    let limits = Limits::new(2_000_000, 1_000);
    let conversation = Conversation::new(
        strategy("tiered"),
        limits,
        Frame::default(),
        Services::with_clock(Arc::new(FixedClock::default())),
    );
    let first = identity::first(dialect.as_str());
    let mut followed = Followed::new(conversation, 0, first);
    let (mut outline, mut keys, mut steps) = (None, vec![first], 0);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for calls in [calls - 1, calls] {
        let text = request(dialect, calls);
        let before = work::counted();
        let read = wire::Request::follow(dialect, text, outline.take(), 0).unwrap();
        keys.truncate(read.known + 1);
        identity::extend(&mut keys, read.request.messages());
        let received = Received::new(&read.request, &keys, limits);
        runtime.block_on(followed.take(received, |_, _| None)).unwrap();
        let shown = followed.shown(read.request.messages(), dialect).unwrap();
        assert!(shown.is_none(), "nothing is folded");
        steps = work::counted() - before;
        outline = read.outline;
    }
    steps
}

/// A request with so many calls; its newest result is a cache breakpoint, where the protocol has them.
fn request(dialect: Dialect, calls: usize) -> String {
    let both = |number: usize| match dialect {
        Dialect::Anthropic => {
            let mut result = result(&format!("c{number:05}"), number)[0].take();
            if number + 1 == calls {
                result["cache_control"] = json!({ "type": "ephemeral" });
            }
            [
                json!({ "role": "assistant", "content": [call(&format!("c{number:05}"), number)] }),
                json!({ "role": "user", "content": [result] }),
            ]
        }
        _ => [
            json!({ "type": "function_call", "call_id": format!("c{number:05}"), "name": "read", "arguments": "{}" }),
            json!({ "type": "function_call_output", "call_id": format!("c{number:05}"), "output": "text" }),
        ],
    };
    let said = json!({ "role": "user", "content": "hello" });
    let messages: Vec<Value> = std::iter::once(said).chain((0..calls).flat_map(both)).collect();
    let list = if dialect == Dialect::Anthropic { "messages" } else { "input" };
    json!({ "model": "m", list: messages, "tools": [{ "name": "read" }] }).to_string()
}

#[test]
fn a_request_of_a_conversation_takes_the_steps_of_what_is_new() {
    for dialect in [Dialect::Anthropic, Dialect::OpenAiResponses] {
        let (short, long) = (last_request(dialect, 100), last_request(dialect, 1_000));
        println!("{dialect}: {short}, {long}");
        assert!(short > 100, "{dialect}: {short} steps, so nothing was counted");
        assert!(long as f64 <= 1.1 * short as f64, "{dialect}: {short} steps became {long}");
    }
}
