//! A proxy that keeps journals is killed at any moment: what a provider is sent is what it would have been sent by one
//! that was never killed.
//!
//! Two agents begin with the same words and go on with different answers, one of them streamed. An agent that gets no
//! answer asks again, as real ones do. Every request says in a header which call of which agent it is, and the header
//! goes through.

use crate::serve::{ask, start};
use foldback_fake_provider::{Answer, Background, Call, Recorded, Reply, errors};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Child;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// How often the proxy is killed; another number says how often it is to be instead.
const KILLS: usize = 15;

/// Names that number.
const WANTED: &str = "FOLDBACK_TEST_KILLS";

/// Calls of each agent.
const CALLS: usize = 40;

/// The agents.
const AGENTS: [&str; 2] = ["plain", "streamed"];

/// How the proxy folds, and the largest request that the provider takes, in bytes: by its own count, by what the provider
/// said of the last answer, by the provider's refusals.
const FOLDING: [(&str, usize); 3] = [
    ("--preset window --window 24k --max-output 1k", usize::MAX),
    ("--preset opencode --window 32k --max-output 1k", usize::MAX),
    ("--preset tiered --window 400k --max-output 1k", 60_000),
];

/// The texts of the requests for each call, in the order in which they came.
type Sent = BTreeMap<(String, usize), Vec<String>>;

/// What an agent's model says at a call.
fn answer(agent: &str, call: usize) -> Answer {
    let arguments = json!({"path": format!("{agent}/{call}.rs")});
    let text = format!("The {agent} agent reads part {call}.");
    let calls = vec![Call::new(format!("call-{call}"), "read", arguments)];
    Answer { text, calls, ..Answer::default() }
}

/// An agent's request for a call.
fn request(agent: &str, call: usize) -> String {
    let mut messages = vec![json!({"role": "user", "content": "Read all parts."})];
    for before in 0..call {
        let Answer { text, calls, .. } = answer(agent, before);
        let [Call { id, name, arguments }] = &calls[..] else { panic!("one call") };
        let function = json!({"name": name, "arguments": arguments.to_string()});
        messages.push(json!({
            "role": "assistant",
            "content": text,
            "tool_calls": [{"id": id, "type": "function", "function": function}],
        }));
        let lines = (0..60 + before % 30).map(|line| format!("let {agent}_{before} = {line};\n"));
        let content = lines.collect::<String>();
        messages.push(json!({"role": "tool", "tool_call_id": id, "content": content}));
    }
    let stream = agent == "streamed";
    let mut body = json!({"model": "m", "stream": stream, "messages": messages});
    if stream {
        body["stream_options"] = json!({"include_usage": true});
    }
    body.to_string()
}

/// Which call of which agent a request is.
fn call_of(got: &Recorded) -> (String, usize) {
    let (agent, call) = got.header("x-call").unwrap().split_once(' ').unwrap();
    (agent.to_owned(), call.parse().unwrap())
}

/// A provider that refuses what is too large for it, and counts twice the tokens that the proxy does. It names the window
/// that the proxy assumes: from a smaller one the agents would learn of each other.
fn provider(sent: &Arc<Mutex<Sent>>, largest: usize) -> Background {
    let sent = Arc::clone(sent);
    let reply = move |got: &Recorded| {
        let of = call_of(got);
        let reply = match got.bytes > largest {
            true => Reply::status(400, errors::OPENAI_MESSAGES.body.replace("4097", "400000")),
            false => Reply::answer(answer(&of.0, of.1)).usage(got.tokens * 2, 60),
        };
        sent.lock().unwrap().entry(of).or_default().push(got.text.clone());
        reply
    };
    Background::start(reply).unwrap()
}

/// Whether all of an answer came.
fn is_whole(answer: &str) -> bool {
    let Some((head, body)) = answer.split_once("\r\n\r\n") else { return false };
    let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
    match length {
        Some(length) => body.len() == length.parse::<usize>().unwrap(),
        None => body.ends_with("\r\n0\r\n\r\n"),
    }
}

/// All calls of an agent, each until it is answered.
fn converse(agent: &str, address: &Mutex<String>) {
    for call in 0..CALLS {
        let body = request(agent, call);
        let header = format!("x-call: {agent} {call}\r\n");
        loop {
            let at = address.lock().unwrap().clone();
            match ask(&at, "POST /v1/chat/completions", &header, &body) {
                Ok(answer) if is_whole(&answer) => {
                    assert!(answer.starts_with("HTTP/1.1 200"), "{agent} {call}: {answer}");
                    break;
                }
                // It is being started again.
                _ => thread::sleep(Duration::from_millis(2)),
            }
        }
    }
}

/// A proxy that is killed when it is dropped.
pub(crate) struct Proxy(pub(crate) Child);

impl Proxy {
    /// One that keeps journals in a folder, and its address.
    fn start(folding: &str, upstream: &str, journal: &Path) -> (Self, String) {
        let mut args: Vec<&str> = folding.split(' ').collect();
        args.extend(["--upstream", upstream, "--journal", journal.to_str().unwrap()]);
        let (proxy, address, _) = start(&args);
        (Self(proxy), address)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// Both agents through a proxy that is killed so many times at most, each time so long after it began to listen. What
/// the provider was sent, and how often the proxy was killed.
fn run(
    (folding, largest): (&str, usize),
    mut most: usize,
    mut moment: impl FnMut() -> Duration,
) -> (Sent, usize) {
    let sent = Arc::default();
    let provider = provider(&sent, largest);
    let journal = tempfile::tempdir().unwrap();
    let started = || Proxy::start(folding, &provider.url(), journal.path());
    let (first, at) = started();
    let (mut running, address) = (Some(first), Mutex::new(at));
    let killed = thread::scope(|scope| {
        let agents = AGENTS.map(|agent| scope.spawn(|| converse(agent, &address)));
        let mut killed = 0;
        while most > 0 && !agents.iter().all(|agent| agent.is_finished()) {
            thread::sleep(moment());
            drop(running.take());
            (most, killed) = (most - 1, killed + 1);
            let (again, at) = started();
            running = Some(again);
            *address.lock().unwrap() = at;
        }
        killed
    });
    let metrics = ask(&address.lock().unwrap(), "GET /metrics", "", "").unwrap();
    assert!(metrics.contains("foldback_proxy_journal_failures_total 0\n"), "{metrics}");
    drop(running);
    provider.end();
    (Arc::into_inner(sent).unwrap().into_inner().unwrap(), killed)
}

#[test]
fn a_proxy_that_is_killed_sends_what_it_would_have_sent() {
    let wanted = std::env::var(WANTED).ok().map_or(KILLS, |wanted| wanted.parse().unwrap());
    // A linear congruential generator (Knuth's MMIX): moments that do not follow the calls.
    let mut state = 7_u64;
    let mut moment = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Duration::from_micros((state >> 33) % 40_000)
    };
    let expected = FOLDING.map(|folding| {
        let (sent, _) = run(folding, 0, || Duration::ZERO);
        for agent in AGENTS {
            let (call, client) = ((agent.to_owned(), CALLS - 1), request(agent, CALLS - 1));
            assert!(
                sent[&call].last().unwrap().len() < client.len() / 2,
                "{folding:?}: folds little"
            );
        }
        sent
    });
    let mut killed = 0;
    while killed < wanted {
        for (folding, expected) in FOLDING.iter().zip(&expected) {
            let (sent, kills) = run(*folding, (wanted / FOLDING.len()).max(1), &mut moment);
            killed += kills;
            assert_eq!(sent.len(), AGENTS.len() * CALLS);
            for (call, texts) in sent {
                // A call may come again from where it was, and not from before that.
                let (should, mut from) = (&expected[&call], 0);
                for text in &texts {
                    let at = should[from..].iter().position(|other| other == text);
                    from += at.unwrap_or_else(|| panic!("{folding:?}, {call:?}: {text}"));
                }
                assert_eq!(texts.last(), should.last(), "{folding:?}, {call:?}");
            }
        }
    }
    println!("killed {killed} times");
}
