//! What the provider is sent is what the engine shows: at every call, in every protocol, under every kind of preset.

use crate::support::talk::{body, calls, list, recorded, reply, send, spelt, task};
use crate::support::{Proxy, WINDOW, folding, strategy};
use foldback::Limits;
use foldback::core::log::{Answer, Finish, Message, Part, PartKind};
use foldback::wire::{self, Dialect};
use foldback_fake_provider::{FakeProvider, Script};
use foldback_formats::Session;
use foldback_replay::ReplayOptions;
use foldback_replay::index::Index;
use foldback_replay::{Probe, Request, replay_with};
use serde_json::{Value, json};
use std::sync::Arc;

/// A provider that gives the answers of a log, and does not say what they cost.
async fn provider(log: &[Arc<Message>]) -> FakeProvider {
    let answers: Vec<_> = calls(log).into_iter().map(|(_, answer)| reply(answer)).collect();
    let answer = move |request: &foldback_fake_provider::Recorded| {
        answers[(request.number - 1) % answers.len()].clone().without_usage()
    };
    FakeProvider::start(Script::answer(answer)).await.unwrap()
}

/// What a replay sends at every call: what `foldback compact --when live` is left with.
#[derive(Default)]
struct Sent(Vec<Vec<Message>>);

impl Probe for Sent {
    fn call(&mut self, request: &Request<'_>) {
        self.0.push(request.conversation.sent().iter().map(|shown| shown.to_message()).collect());
    }
}

fn replayed(
    log: &[Arc<Message>],
    dialect: Dialect,
    preset: &str,
    limits: Limits,
) -> Vec<Vec<Message>> {
    // The proxy notes when a message came, and its clock stands.
    let came = log.iter().map(|message| Arc::new(Message::clone(message).with_time(0)));
    let mut session = Session::of_messages("s", came.collect());
    // What is sent around the messages counts, too.
    session.frame = wire::Request::parse(dialect, body(dialect, log)).unwrap().frame().clone();
    let index = Arc::new(Index::new(&session));
    let options = ReplayOptions {
        limits,
        // The stand-in takes requests of any size.
        ceiling: Some(u64::MAX),
        model: Some("m-1".to_owned()),
        prices: None,
        measure: Arc::clone(strategy(preset).estimator()),
        validate: false,
        completions: None,
    };
    // A replay has a runtime of its own, which the thread of a test can't have.
    std::thread::scope(|scope| {
        let replay = scope.spawn(|| {
            let mut sent = Sent::default();
            replay_with(&session, &index, &strategy(preset), &options, &mut [&mut sent]);
            sent.0
        });
        replay.join().unwrap()
    })
}

async fn same_as_the_replay(log: &[Arc<Message>], dialect: Dialect, preset: &str) -> usize {
    within(log, dialect, preset, WINDOW).await
}

async fn within(log: &[Arc<Message>], dialect: Dialect, preset: &str, limits: Limits) -> usize {
    let provider = provider(log).await;
    let proxy = Proxy::folding(&provider, folding(preset, limits)).await;
    let mut folded = 0;
    let sent = replayed(log, dialect, preset, limits);
    for ((before, _), sent) in calls(log).into_iter().zip(sent) {
        let client = body(dialect, before);
        let (outcome, status) = send(&proxy, dialect, client.clone()).await;
        assert_eq!(status, 200);
        let got = provider.requests().pop().unwrap();
        let call = format!("{preset}, {dialect}, call {}", got.number);
        let expected = wire::messages(dialect, &sent, &mut Vec::new());
        assert_eq!(got.body[list(dialect)], Value::from(expected), "{call}");
        if outcome.starts_with("folded") {
            folded += 1;
            assert!(got.text.ends_with("] , \"temperature\" : 1.0 }\n"), "{call}: {}", got.text);
        } else {
            assert!(outcome.starts_with("unchanged"), "{call}: {outcome}");
            assert_eq!(got.text, client, "{call}: the client's own bytes");
        }
    }
    folded
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_call_of_a_long_task_is_sent_as_its_replay_shows_it() {
    for (preset, calls, least) in
        [("tunacode", 300, 50), ("opencode", 100, 10), ("window", 50, 30), ("tiered", 120, 10)]
    {
        let folded = same_as_the_replay(&task(calls), Dialect::OpenAiChat, preset).await;
        assert!(folded >= least, "{preset} folded {folded} requests of {calls}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn so_it_is_in_every_protocol() {
    let log = task(60);
    for dialect in Dialect::ALL {
        assert!(same_as_the_replay(&log, dialect, "window").await > 10, "{dialect}");
        assert_eq!(same_as_the_replay(&log, dialect, "none").await, 0, "{dialect}");
    }
}

/// A fold begins a new prefix; between two folds, each request begins with the one before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_bytes_of_the_shared_prefix_stay_between_folds() {
    let log = task(160);
    for dialect in Dialect::ALL {
        let provider = provider(&log).await;
        let proxy = Proxy::folding(&provider, folding("opencode", WINDOW)).await;
        let mut folds = String::new();
        let (mut changed, mut last) = (0, String::new());
        for (before, _) in calls(&log) {
            let (outcome, _) = send(&proxy, dialect, body(dialect, before)).await;
            let text = provider.requests().pop().unwrap().text.clone();
            let now = outcome.split("folds=").last().unwrap().to_owned();
            let end = last.find("] , \"temperature\"").unwrap_or(0);
            // Without the blank in front of the end of the list.
            let shared = last[..end].trim_end();
            match now == folds {
                true => assert!(text.starts_with(shared), "{dialect}: {outcome}"),
                false => changed += 1,
            }
            (folds, last) = (now, text);
        }
        assert!(changed > 1 && changed < 20, "{dialect}: {changed} changes");
    }
}

/// A proxy that meets a conversation in its middle stands as if it had seen its beginning.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_conversation_that_is_met_late_or_was_forgotten_is_the_same() {
    let log = task(80);
    let provider = provider(&log).await;
    let mut small = folding("window", WINDOW);
    small.max_conversations = 1;
    let proxy = Proxy::folding(&provider, folding("window", WINDOW)).await;
    let forgetful = Proxy::folding(&provider, small).await;
    let all = calls(&log);
    for (before, _) in &all {
        send(&proxy, Dialect::Anthropic, body(Dialect::Anthropic, before)).await;
        let expected = provider.requests().pop().unwrap().text.clone();
        let other = spelt(Dialect::Anthropic, &[json!({"role": "user", "content": "Another."})]);
        send(&forgetful, Dialect::Anthropic, other).await;
        send(&forgetful, Dialect::Anthropic, body(Dialect::Anthropic, before)).await;
        assert_eq!(provider.requests().pop().unwrap().text, expected);
    }
    let metrics = forgetful.metrics().await;
    assert!(metrics.contains("foldback_proxy_conversations 1\n"), "{metrics}");
    assert!(metrics.contains("foldback_proxy_evicted_total 159\n"), "{metrics}");
}

/// Breakpoints move from request to request; the conversation stays the same, and the provider is sent as many.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cache_breakpoints_are_kept_or_moved() {
    let log = task(80);
    let provider = provider(&log).await;
    let proxy = Proxy::folding(&provider, folding("window", WINDOW)).await;
    let mut folded = 0;
    for (before, _) in calls(&log) {
        let messages: Vec<Message> = before.iter().map(|message| Message::clone(message)).collect();
        let mut messages = wire::messages(Dialect::Anthropic, &messages, &mut Vec::new());
        let last = messages.len() - 1;
        for index in [0, last] {
            let content = &mut messages[index]["content"];
            if let Value::String(text) = content {
                *content = json!([{"type": "text", "text": text}]);
            }
            let mark = json!({"type": "ephemeral"});
            content.as_array_mut().unwrap().last_mut().unwrap()["cache_control"] = mark;
        }
        let marks = |body: &str| body.matches("cache_control").count();
        let client = spelt(Dialect::Anthropic, &messages);
        let (outcome, _) = send(&proxy, Dialect::Anthropic, client.clone()).await;
        let got = provider.requests().pop().unwrap();
        folded += usize::from(outcome.starts_with("folded"));
        assert_eq!(marks(&got.text), marks(&client), "{outcome}");
        let first = &got.messages()[0]["content"];
        assert!(first.to_string().contains("cache_control"), "{outcome}: {first}");
    }
    assert!(folded > 20, "{folded} of 80");
    assert!(proxy.metrics().await.contains("foldback_proxy_conversations 1\n"));
}

/// Reasoning that is signed is never edited, and what the provider compacted itself is never folded across.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_opaque_stays_as_it_is() {
    let mut log = task(80);
    for message in &mut log {
        if message.is_answer() {
            let thought = PartKind::Reasoning {
                text: "Hm.".repeat(40),
                opaque: Some(format!("sig-{}", message.id)),
            };
            let mut parts = vec![Part::new(thought)];
            parts.extend(message.parts.iter().cloned());
            *message = Arc::new(message.with_parts(parts));
        }
    }
    let raw = json!({"type": "compaction", "content": "What was before."});
    let compacted =
        Part::new(PartKind::Unknown { name: "compaction".to_owned(), raw: raw.clone() });
    let mut parts = vec![compacted];
    parts.extend(log[1].parts.iter().cloned());
    log[1] = Arc::new(log[1].with_parts(parts));
    let provider = provider(&log).await;
    for (preset, limits) in [("window", WINDOW), ("tiered", Limits::new(14_000, 2_000))] {
        let proxy = Proxy::folding(&provider, folding(preset, limits)).await;
        let mut folded = 0;
        for (before, _) in calls(&log) {
            let client = body(Dialect::Anthropic, before);
            let (outcome, _) = send(&proxy, Dialect::Anthropic, client.clone()).await;
            folded += usize::from(outcome.starts_with("folded"));
            let got = provider.requests().pop().unwrap();
            let blocks = |text: &str| -> Vec<Value> {
                let body: Value = serde_json::from_str(text).unwrap();
                let messages = body["messages"].as_array().unwrap().clone();
                messages
                    .iter()
                    .flat_map(|message| message["content"].as_array().cloned())
                    .flatten()
                    .collect()
            };
            let thoughts = blocks(&client);
            for block in blocks(&got.text) {
                if block["type"] == "thinking" {
                    assert!(thoughts.contains(&block), "{preset}: {block}");
                }
            }
            if before.len() > 1 {
                assert_eq!(got.messages()[1]["content"][0], raw, "{preset}: {outcome}");
                assert!(got.text.contains("Fix the build of the parser."), "{preset}: {outcome}");
            }
        }
        assert!(folded > 2, "{preset}: {folded} of 80");
    }
}

/// Gemini's answers with what only the model can read, and calls with ids and without, two of one tool among them.
fn signed_contents(calls: usize) -> Vec<Value> {
    let mut contents =
        vec![json!({"role": "user", "parts": [{"text": "Fix the build of the parser."}]})];
    for call in 0..calls {
        let read = |file: &str| {
            let args = json!({"path": format!("src/part_{call}{file}.rs")});
            match call % 3 {
                0 => json!({"id": format!("fc-{call}{file}"), "name": "read", "args": args}),
                _ => json!({"name": "read", "args": args}),
            }
        };
        let lines = (0..20 + call % 40).map(|line| format!("let v_{call}_{line} = {line};\n"));
        let lines = lines.collect::<String>();
        let response = |call: &Value| {
            let mut response = call.clone();
            response.as_object_mut().unwrap().remove("args");
            response["response"] = json!({"output": lines});
            json!({"functionResponse": response})
        };
        // The signature of parallel calls stands on the first.
        let (one, other) = (read("a"), read("b"));
        contents.push(json!({"role": "model", "parts": [
            {"text": "Hm.".repeat(40), "thought": true},
            {"functionCall": one, "thoughtSignature": format!("sig-{call}")},
            {"functionCall": other},
        ]}));
        contents.push(json!({"role": "user", "parts": [response(&one), response(&other)]}));
        if call % 25 == 24 {
            let said = json!({"text": format!("{call} is done."), "thoughtSignature": "sig-end"});
            contents.push(json!({"role": "model", "parts": [said]}));
            let more = json!({"text": format!("Now fix part {call}, too.")});
            contents.push(json!({"role": "user", "parts": [more]}));
        }
    }
    contents
}

/// The members of this name of a content's parts.
fn members<'a>(content: &'a Value, name: &'a str) -> impl Iterator<Item = &'a Value> {
    content["parts"].as_array().unwrap().iter().filter_map(move |part| part.get(name))
}

/// Every signature stays on its part, and every response behind its call.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn signatures_and_calls_of_gemini_hold_after_folds() {
    let all = signed_contents(80);
    let script = Script::answer(|_| foldback_fake_provider::Reply::text("Good.").without_usage());
    let provider = FakeProvider::start(script).await.unwrap();
    for (preset, limits) in
        [("window", WINDOW), ("tiered", Limits::new(20_000, 2_000)), ("opencode", WINDOW)]
    {
        let proxy = Proxy::folding(&provider, folding(preset, limits)).await;
        let (mut folded, mut signed) = (0, 0);
        let ends = (1..=all.len()).filter(|end| all[end - 1]["role"] == "user");
        for end in ends {
            let client = spelt(Dialect::Gemini, &all[..end]);
            let (outcome, status) = send(&proxy, Dialect::Gemini, client).await;
            assert_eq!(status, 200);
            folded += usize::from(outcome.starts_with("folded"));
            let got = provider.requests().pop().unwrap();
            let contents = got.messages();
            for content in contents.iter().filter(|content| content["role"] == "model") {
                let signatures = members(content, "thoughtSignature").count();
                if signatures > 0 || members(content, "functionCall").next().is_some() {
                    assert!(all[..end].contains(content), "{preset}, {end}: {content}");
                }
                signed += signatures;
            }
            for (at, content) in contents.iter().enumerate() {
                let named = |call: &Value| (call["id"].clone(), call["name"].clone());
                let responses: Vec<_> = members(content, "functionResponse").map(named).collect();
                let before = at.checked_sub(1).map(|before| &contents[before]);
                let calls = before.into_iter().flat_map(|it| members(it, "functionCall"));
                assert_eq!(calls.map(named).collect::<Vec<_>>(), responses, "{preset}, {end}");
            }
        }
        assert!(folded > 5 && signed > 500, "{preset}: {folded} folded, {signed} signatures");
        assert!(proxy.metrics().await.contains("foldback_proxy_conversations 1\n"), "{preset}");
    }
}

/// In shadow nothing changes, and what is counted is what the same preset would have sent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shadow_changes_nothing_and_counts_the_same() {
    let log = task(60);
    let provider = provider(&log).await;
    let open = Proxy::folding(&provider, folding("window", WINDOW)).await;
    let mut shadow = folding("window", WINDOW);
    shadow.shadow = true;
    let shadow = Proxy::folding(&provider, shadow).await;
    for (before, _) in calls(&log) {
        let client = body(Dialect::Anthropic, before);
        let (outcome, _) = send(&shadow, Dialect::Anthropic, client.clone()).await;
        assert_eq!(provider.requests().pop().unwrap().text, client);
        let (done, _) = send(&open, Dialect::Anthropic, client).await;
        let sizes = |outcome: &str| outcome.split_once("; ").unwrap().1.to_owned();
        assert!(outcome.starts_with("shadow; "), "{outcome}");
        assert_eq!(sizes(&outcome), sizes(&done));
    }
    let line = |metrics: String, name: &str| {
        let line = metrics.lines().find(|line| line.starts_with(name)).map(str::to_owned);
        line.unwrap_or_else(|| panic!("{name}: {metrics}"))
    };
    for name in ["foldback_proxy_received_tokens_total{", "foldback_proxy_sent_tokens_total{"] {
        assert_eq!(line(shadow.metrics().await, name), line(open.metrics().await, name));
    }
}

/// A strategy that acts where a turn ends, and nowhere else.
const AT_TURN_END: &str = r#"
schema = "foldback/strategy/1"
name = "at-turn-end"
description = "Clears all results but the newest where a turn ends"

[estimator]
use = "chars"
unit = "utf16"
per_token = 4
rounding = "half-up"

[[pruner]]
use = "keep-last"
when = "turn-end"
keep = 1
batch = 1
"#;

/// A client may send the model's own words last and have it go on from there: no turn is at its end then.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_that_goes_on_from_its_own_words_is_followed() {
    let mut log = Vec::new();
    for message in task(60) {
        let is_final = message.is_final_answer();
        log.push(message);
        if is_final {
            let answer = Answer { finish: Some(Finish::Stop), ..Answer::default() };
            let more = Message::assistant(format!("m{}", log.len()), vec![Part::text("And more.")]);
            log.push(Arc::new(more.with_answer(answer)));
        }
    }
    let folded = same_as_the_replay(&log, Dialect::OpenAiChat, AT_TURN_END).await;
    assert!(folded > 20, "{folded} of 60");
}

/// What people really did, as its agent would have sent it: all calls of a recorded session, the recorder's own compactions
/// undone.
#[foldback_needs::sessions]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_recorded_session_is_sent_as_its_replay_shows_it() {
    let log = recorded("claude-code/cipherbox-1compact-233tools.jsonl", Dialect::OpenAiChat);
    assert!(calls(&log).len() > 200, "{} calls", calls(&log).len());
    let limits = Limits::new(60_000, 8_000);
    let folded = within(&log, Dialect::OpenAiChat, "tiered", limits).await;
    assert!(folded > 50, "{folded} requests were folded");
}
