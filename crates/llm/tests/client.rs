//! The client against a server that speaks the real protocols: what is sent, what is read, and what each
//! failure is called.

use crate::support::{KEY, PROVIDERS, client, endpoint, request};
use foldback_core::log::{Finish, Role, Usage};
use foldback_core::provider::{Completion, Endpoint, ErrorKind, Model, ProviderError, Turn};
use foldback_fake_provider::{Call, FakeProvider, Reply, errors};
use foldback_llm::{Client, Keys};
use foldback_test_support::table;
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;

async fn ask(provider: &str, reply: Reply) -> Result<Completion, ProviderError> {
    let server = FakeProvider::start([reply]).await.expect("a port");
    let asked = request(endpoint(provider, &server));
    client().complete(&asked).await
}

fn usage(cached: u64) -> foldback_fake_provider::Usage {
    foldback_fake_provider::Usage { input: 100, output: 7, cached, written: 0 }
}

/// Texts, finishes and usage of all protocols come out alike.
#[tokio::test]
async fn answers() {
    let call = || Call::new("c1", "read", json!({"path": "a"}));
    type Case = (&'static str, fn(Call) -> Reply, &'static str, Finish);
    let table: [Case; 6] = [
        ("text", |_| Reply::text("A summary."), "A summary.", Finish::Stop),
        ("length", |_| Reply::length("A summ"), "A summ", Finish::Length),
        ("calls", |call| Reply::calls([call]), "", Finish::ToolCalls),
        ("reasoning", |_| Reply::reasoning("Hm."), "", Finish::Stop),
        ("empty", |_| Reply::empty(), "", Finish::Stop),
        ("cached", |_| Reply::text("x").usage_of(usage(60)), "x", Finish::Stop),
    ];
    for provider in PROVIDERS {
        for (name, reply, text, finish) in &table {
            let reply = reply(call());
            let reply = if *name == "cached" { reply } else { reply.usage(100, 7) };
            let answer = ask(provider, reply).await;
            let case = format!("{provider}, {name}");
            let answer = answer.unwrap_or_else(|error| panic!("{case}: {error}"));
            assert_eq!((answer.text.as_str(), answer.finish), (*text, *finish), "{case}");
            let usage = answer.usage.unwrap_or_else(|| panic!("{case}: no usage"));
            assert_eq!(usage.input_total(), 100, "{case}: {usage:?}");
            assert_eq!(usage.output + usage.reasoning, 7, "{case}: {usage:?}");
            // Ollama's protocol as the server speaks it does not tell what was cached.
            let tells = *name == "cached" && provider != "ollama";
            let cached = if tells { 60 } else { 0 };
            assert_eq!(usage.cache_read, cached, "{case}: {usage:?}");
        }
    }
}

#[tokio::test]
async fn usage_that_is_not_told_is_not_made_up() {
    let answer = ask("openai", Reply::text("x").without_usage()).await;
    assert_eq!(answer.unwrap().usage, None::<Usage>);
}

/// Where things stand in a request of a provider; a row of `client.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arrives {
    provider: String,
    path: String,
    header: Option<[String; 2]>,
    body: Vec<(String, Value)>,
}

/// Texts, limits, temperature and key arrive where each protocol has its place for them.
#[tokio::test]
async fn requests() {
    let rows: Vec<Arrives> = table::rows(include_str!("client.toml"), "requests");
    for Arrives { provider, path, header, body } in rows {
        let server = FakeProvider::start([Reply::text("x")]).await.unwrap();
        let mut asked = request(endpoint(&provider, &server));
        asked.temperature = Some(0.5);
        if matches!(&*provider, "openai" | "openai-compatible" | "ollama") {
            // A name that ends like an effort is a name all the same.
            asked.endpoint.model = "a-model-max".to_owned();
        }
        for (role, text) in [(Role::Assistant, "What?"), (Role::User, "Again.")] {
            let text = text.to_owned();
            asked.turns.push(Turn { role, text });
        }
        client().complete(&asked).await.unwrap();
        let got = &server.requests()[0];
        assert!(got.path.ends_with(&path), "{provider}: {}", got.path);
        for (pointer, value) in body {
            let value = if value == "null" { Value::Null } else { value };
            let found = got.body.pointer(&pointer).unwrap_or(&Value::Null);
            assert_eq!(*found, value, "{provider} {pointer}: {}", got.body);
        }
        match header {
            Some([name, value]) => {
                let value = value.replace("{KEY}", KEY);
                assert_eq!(got.header(&name), Some(&*value), "{provider}");
            }
            None => assert_eq!(got.header("authorization"), None, "{provider}"),
        }
    }
}

/// What goes wrong; a row of `client.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Failure {
    name: String,
    status: u16,
    #[serde(rename = "type")]
    content_type: Option<String>,
    body: String,
    retry_after: Option<String>,
    kind: ErrorKind,
    says: String,
}

impl Failure {
    fn reply(&self) -> Reply {
        let content_type = self.content_type.as_deref().unwrap_or("application/json");
        let reply = Reply::raw(self.status, content_type, &*self.body);
        self.retry_after.iter().fold(reply, |reply, wait| reply.header("retry-after", wait))
    }
}

#[tokio::test]
async fn failures() {
    let rows: Vec<Failure> = table::rows(include_str!("client.toml"), "failures");
    let mut table: Vec<(&str, Reply, ErrorKind, &str)> =
        rows.iter().map(|row| (&*row.name, row.reply(), row.kind, &*row.says)).collect();
    table.extend([
        ("cut before", Reply::text("x").cut(0), ErrorKind::Transport, "was cut"),
        ("cut inside", Reply::text("x").cut(9), ErrorKind::Transport, "was cut"),
        ("garbage", Reply::garbage(), ErrorKind::Decode, "can't be read"),
    ]);
    for provider in PROVIDERS {
        for (name, reply, kind, part) in &table {
            let answer = ask(provider, reply.clone()).await;
            let case = format!("{provider}, {name}");
            let error = answer.err().unwrap_or_else(|| panic!("{case}: answered"));
            assert_eq!(error.kind, *kind, "{case}: {error}");
            assert!(error.message.contains(part), "{case}: {error}");
            if *name == "429" {
                assert_eq!(error.retry_after, Some(Duration::from_secs(7)), "{case}");
                assert_eq!(error.status, Some(429), "{case}");
            }
        }
    }
}

#[tokio::test]
async fn overflows_as_providers_word_them() {
    for refusal in errors::OVERFLOWS {
        let provider = match refusal.provider {
            "anthropic" | "gemini" | "openai" => refusal.provider,
            _ => "openai-compatible",
        };
        let answer = ask(provider, refusal.into()).await;
        let error = answer.unwrap_err();
        assert!(error.kind.is_overflow(), "{}: {error}", refusal.source);
    }
}

/// A refused key names the variable that held it.
#[tokio::test]
async fn a_refused_key_is_looked_for_in_its_variable() {
    let reply = Reply::status(401, r#"{"error":{"message":"bad key"}}"#);
    let answer = ask("anthropic", reply).await;
    let error = answer.unwrap_err();
    assert!(error.message.ends_with("check the key in the variable ANTHROPIC_API_KEY"), "{error}");
}

/// A port without a listener.
#[tokio::test]
async fn nobody_there() {
    let server = FakeProvider::start([]).await.unwrap();
    let endpoint = endpoint("openai-compatible", &server);
    client().reach(&endpoint).await.unwrap();
    let url = endpoint.base_url.clone().unwrap();
    drop(server);
    tokio::task::yield_now().await;
    for error in [
        client().reach(&endpoint).await.unwrap_err(),
        client().complete(&request(endpoint)).await.unwrap_err(),
    ] {
        assert_eq!(error.kind, ErrorKind::Transport, "{error}");
        for part in [&*url, "can't be reached", "`base_url`"] {
            assert!(error.message.contains(part), "no {part}: {error}");
        }
    }
}

/// Nothing is sent without a key, and the error says which variable is missing.
#[tokio::test]
async fn no_key() {
    let server = FakeProvider::start([Reply::text("x")]).await.unwrap();
    let client = Client::new(Keys::new(|_| None)).unwrap();
    for (provider, variable) in [("anthropic", "ANTHROPIC_API_KEY"), ("gemini", "GEMINI_API_KEY")] {
        let endpoint = endpoint(provider, &server);
        let checked = client.check(&endpoint).unwrap_err();
        let error = client.complete(&request(endpoint)).await.unwrap_err();
        assert_eq!(error, checked, "{provider}");
        assert_eq!(error.kind, ErrorKind::Auth, "{provider}");
        for part in [variable, "`key_variable` of [summarizer]"] {
            assert!(error.message.contains(part), "{provider}: {error}");
        }
    }
    assert_eq!(server.requests().len(), 0);
}

#[tokio::test]
async fn a_request_that_takes_too_long_is_given_up() {
    let server = FakeProvider::start([Reply::text("late").hang()]).await.unwrap();
    let mut asked = request(endpoint("openai", &server));
    asked.timeout = Duration::from_millis(50);
    let error = client().complete(&asked).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Timeout, "{error}");
    assert!(error.message.contains("`timeout_seconds`"), "{error}");
}

/// Dropping the future ends the request: the server sees its client go.
#[tokio::test]
async fn a_dropped_request_is_cancelled() {
    let server = FakeProvider::start([Reply::text("late").hang()]).await.unwrap();
    let asked = request(endpoint("anthropic", &server));
    let client = client();
    tokio::select! {
        answer = client.complete(&asked) => panic!("{answer:?}"),
        () = server.received(1) => {}
    }
    while server.cancelled() == 0 {
        tokio::task::yield_now().await;
    }
}

/// Replays run on many threads, each with a runtime of its own that ends before the next one starts.
#[test]
fn one_client_serves_one_runtime_after_the_other() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let home = runtime();
    let server = home.block_on(FakeProvider::start((0..4).map(|_| Reply::text("x")))).unwrap();
    let asked = request(endpoint("openai", &server));
    let stop = std::sync::Arc::new(tokio::sync::Notify::new());
    let stopped = std::sync::Arc::clone(&stop);
    let serving = std::thread::spawn(move || home.block_on(stopped.notified()));
    let client = client();
    // Both runtimes are alive, and only one of them runs at a time: a connection that the other one
    // had opened would never move.
    let (one, two) = (runtime(), runtime());
    for runtime in [&one, &two, &one] {
        let answer = runtime.block_on(client.complete(&asked));
        assert_eq!(answer.unwrap().text, "x");
    }
    drop((one, two));
    assert_eq!(runtime().block_on(client.complete(&asked)).unwrap().text, "x");
    stop.notify_one();
    serving.join().unwrap();
}

/// A server that answers every request with a status line, these headers, and its body over and over again for as
/// long as anybody reads; its address, and how many bytes it got rid of.
fn endless(headers: &str, body: Vec<u8>) -> (String, std::thread::JoinHandle<u64>) {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let head = format!("HTTP/1.1 200 OK\r\nconnection: close\r\n{headers}\r\n");
    let serving = std::thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let _ = client.read(&mut [0; 65_536]).unwrap();
        client.write_all(head.as_bytes()).unwrap();
        // More than any test reads.
        (0..4_096u64).take_while(|_| client.write_all(&body).is_ok()).count() as u64
            * body.len() as u64
    });
    (url, serving)
}

/// An answer without an end, and one that unpacks to more than it is, end with an error; so much is read and no more.
#[tokio::test]
async fn what_an_answer_may_have() {
    const LIMIT: u64 = 1 << 20;
    let json = "content-type: application/json\r\n";
    let told = format!("has more than {LIMIT} bytes; FOLDBACK_MAX_ANSWER_BYTES raises the limit");
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, &vec![b' '; 8 << 20]).unwrap();
    let packed = packed.finish().unwrap();
    let gzip = format!("{json}content-encoding: gzip\r\ncontent-length: {}\r\n", packed.len());
    let table = [
        (json.to_owned(), vec![b' '; 1 << 16], &*told),
        (format!("{json}content-length: {}\r\n", 1u64 << 40), vec![b' '; 1 << 16], &*told),
        ("content-type: text/event-stream\r\n".to_owned(), b"data: {}\n\n".repeat(999), &*told),
        (gzip, packed, "packed as `gzip`, which nobody asked for"),
    ];
    for provider in PROVIDERS {
        for (headers, body, told) in &table {
            let (url, serving) = endless(headers, body.clone());
            let mut asked = request(Endpoint {
                provider: provider.to_owned(),
                model: "a-model".to_owned(),
                base_url: Some(url),
                key_variable: None,
            });
            asked.timeout = Duration::from_secs(30);
            let error = client().with_largest_answer(LIMIT).complete(&asked).await.unwrap_err();
            assert!(error.message.contains(told), "{provider}, {headers}: {error}");
            // What stands in buffers of the system is sent, too. The connection is closed on this runtime.
            let sent = tokio::task::spawn_blocking(|| serving.join().unwrap()).await.unwrap();
            assert!(sent < LIMIT + (16 << 20), "{provider}, {headers}: {sent} bytes were sent");
        }
    }
}
