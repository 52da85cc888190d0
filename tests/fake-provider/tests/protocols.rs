//! Each protocol as a client of many providers reads it, in one piece and streamed, and each way to
//! fail. What is expected stands in tables; nothing waits for a clock.

use foldback_fake_provider::{Answer, Call, FakeProvider, Finish, Recorded, Reply, Script, errors};
use futures_util::StreamExt;
use genai::adapter::AdapterKind;
use genai::chat::{ChatMessage, ChatOptions, ChatRequest, StopReason, Usage};
use genai::resolver::{AuthData, Endpoint};
use genai::{Client, ModelIden, ServiceTarget};
use serde_json::{Value, json};
use std::sync::Arc;

const KEY: &str = "sk-planted-key";

/// What a client understood.
#[derive(Clone, Debug, Default, PartialEq)]
struct Read {
    text: String,
    reasoning: String,
    calls: Vec<(String, Value)>,
    finish: String,
    /// Input and output.
    usage: Option<(i32, i32)>,
}

fn adapters(provider: &FakeProvider) -> [(AdapterKind, String); 5] {
    [
        (AdapterKind::OpenAI, provider.openai_url()),
        (AdapterKind::Anthropic, provider.openai_url()),
        (AdapterKind::Gemini, provider.gemini_url()),
        (AdapterKind::Ollama, format!("{}/", provider.url())),
        (AdapterKind::OpenAIResp, provider.openai_url()),
    ]
}

fn target(kind: AdapterKind, url: String) -> ServiceTarget {
    ServiceTarget {
        endpoint: Endpoint::from_owned(url),
        auth: AuthData::from_single(KEY),
        model: ModelIden::new(kind, "some-model"),
    }
}

fn options() -> ChatOptions {
    ChatOptions::default()
        .with_max_tokens(100)
        .with_capture_content(true)
        .with_capture_reasoning_content(true)
        .with_capture_tool_calls(true)
        .with_capture_usage(true)
}

async fn ask(target: ServiceTarget, stream: bool) -> Result<Read, genai::Error> {
    // An error says that an earlier test installed it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = Client::new()?;
    let request = ChatRequest::new(vec![ChatMessage::user("Hi.")]);
    let options = options();
    if !stream {
        let response = client.exec_chat(target, request, Some(&options)).await?;
        return Ok(Read {
            text: response.texts().concat(),
            reasoning: response.reasoning_content.clone().unwrap_or_default(),
            finish: finish(response.stop_reason.as_ref()),
            usage: figures(&response.usage),
            calls: response
                .tool_calls()
                .into_iter()
                .map(|call| (call.fn_name.clone(), call.fn_arguments.clone()))
                .collect(),
        });
    }
    let mut stream = client.exec_chat_stream(target, request, Some(&options)).await?.stream;
    let mut read = Read::default();
    while let Some(event) = stream.next().await {
        if let genai::chat::ChatStreamEvent::End(end) = event? {
            read.text = end.captured_texts().unwrap_or_default().concat();
            read.reasoning = end.captured_reasoning_content.clone().unwrap_or_default();
            read.finish = finish(end.captured_stop_reason.as_ref());
            read.usage = end.captured_usage.as_ref().and_then(figures);
            let calls = end.captured_tool_calls().unwrap_or_default().into_iter();
            let calls = calls.map(|call| (call.fn_name.clone(), call.fn_arguments.clone()));
            read.calls = calls.collect();
        }
    }
    Ok(read)
}

/// In a stream the client's HTTP error is inside another.
fn retry_after(error: &genai::Error) -> Option<&str> {
    match error {
        genai::Error::WebStream { error, .. } => retry_after(error.downcast_ref::<genai::Error>()?),
        other => other.headers()?.get("retry-after")?.to_str().ok(),
    }
}

fn finish(reason: Option<&StopReason>) -> String {
    match reason {
        Some(StopReason::Completed(_)) => "stop",
        Some(StopReason::MaxTokens(_)) => "length",
        Some(StopReason::ToolCall(_)) => "tools",
        Some(StopReason::ContentFilter(_)) => "filter",
        Some(_) => "other",
        None => "",
    }
    .to_owned()
}

fn figures(usage: &Usage) -> Option<(i32, i32)> {
    Some((usage.prompt_tokens?, usage.completion_tokens?))
}

#[tokio::test]
async fn every_protocol_says_the_same_whole_and_streamed() {
    let calls = || {
        [
            Call::new("call_a", "read", json!({"path": "src/é.rs"})),
            Call::new("call_b", "search", json!({"query": "x", "limit": 3})),
        ]
    };
    let filtered = Answer { text: "I".into(), finish: Finish::Filter, ..Answer::default() };
    let said = |text: &str, finish: &str| Read {
        text: text.to_owned(),
        finish: finish.to_owned(),
        ..Read::default()
    };
    let called = calls().map(|call| (call.name, call.arguments)).to_vec();
    let thought = Read { reasoning: "Hm, well".into(), ..said("", "stop") };
    let rows: [(&str, Reply, Read); 6] = [
        ("text", Reply::text("Good évening."), said("Good évening.", "stop")),
        ("calls", Reply::calls(calls()), Read { calls: called, ..said("", "tools") }),
        ("reasoning only", Reply::reasoning("Hm, well"), thought),
        ("nothing", Reply::empty(), said("", "stop")),
        ("cut by the limit", Reply::length("Half of"), said("Half of", "length")),
        ("filtered", Reply::answer(filtered), said("I", "filter")),
    ];
    for (name, reply, expect) in rows {
        let answer = reply.usage(1_200, 34);
        let provider = FakeProvider::start(Script::answer(move |_| answer.clone())).await.unwrap();
        for (kind, url) in adapters(&provider) {
            for stream in [false, true] {
                let read = ask(target(kind, url.clone()), stream).await;
                let read = read.unwrap_or_else(|error| panic!("{name}, {kind}, {stream}: {error}"));
                let mut expect = Read { usage: Some((1_200, 34)), ..expect.clone() };
                // Only Chat and Anthropic have words of their own for calls; Ollama has none for a filter.
                if !matches!(kind, AdapterKind::OpenAI | AdapterKind::Anthropic) && name == "calls"
                {
                    expect.finish = "stop".into();
                }
                if kind == AdapterKind::Ollama && name == "filtered" {
                    expect.finish = "stop".into();
                }
                // This client reads no reason of an answer that is incomplete.
                if kind == AdapterKind::OpenAIResp && name == "filtered" {
                    expect.finish = "length".into();
                }
                assert_eq!(read, expect, "{name}, {kind}, stream {stream}");
            }
        }
        let requests = provider.requests();
        assert_eq!(requests.len(), 10, "{name}: one request each");
        let mut sent = requests.iter().map(|request| request.messages());
        assert!(sent.all(|messages| messages.len() == 1), "{name}");
        let mut limits = requests.iter().map(|request| request.max_output());
        assert!(limits.all(|limit| limit == Some(100)), "{name}");
        let keyed = |request: &Arc<Recorded>| request.headers.iter().any(|(_, v)| v.contains(KEY));
        assert!(requests[..4].iter().all(keyed), "{name}: keys are recorded");
    }
}

#[tokio::test]
async fn a_request_larger_than_the_window_is_refused_in_the_providers_words() {
    let provider = FakeProvider::builder([])
        .window(60)
        .counter(|request| request.messages().len() as u64 * 50)
        .start()
        .await
        .unwrap();
    let words = [
        "maximum context length is 60 tokens. However, you requested 150 tokens (50 in the messages, 100 ",
        "`max_tokens` exceed context limit: 50 + 100 > 60",
        "The input token count (50) exceeds",
        "the input length exceeds the context length",
        "maximum context length is 60 tokens. However, you requested 150 tokens (50 in the messages, 100 ",
    ];
    for ((kind, url), words) in adapters(&provider).into_iter().zip(words) {
        let error = ask(target(kind, url), false).await.unwrap_err();
        assert_eq!(error.status().map(|status| status.as_u16()), Some(400), "{kind}");
        assert!(error.to_string().contains(words), "{kind}: {error}");
    }
    assert_eq!(provider.requests()[0].tokens, 50);
}

#[tokio::test]
async fn failures_reach_the_client_as_failures() {
    let overloaded =
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let slow = r#"{"error":{"message":"slow down"}}"#;
    let text = || Reply::text("A text of some length");
    // What the error says, whole and streamed.
    let rows: [(&str, Reply, [&str; 2]); 7] = [
        ("rate limit", Reply::status(429, slow).header("retry-after", "7"), ["slow down"; 2]),
        ("overflow", errors::OPENAI_MESSAGES.into(), ["context_length_exceeded"; 2]),
        ("a page", Reply::raw(502, "text/html", "<h1>Bad Gateway</h1>"), ["Bad Gateway"; 2]),
        ("garbage", Reply::garbage(), ["invalid json", "parse stream"]),
        ("nothing at all", text().cut(0), ["error sending request", "WebStream"]),
        ("cut", text().cut(70), ["decoding response body", "WebStream"]),
        (
            "an error in the stream",
            Reply::text("A text").error_event(overloaded),
            ["", "Overloaded"],
        ),
    ];
    for (name, reply, expect) in rows {
        for (stream, expect) in [false, true].into_iter().zip(expect) {
            let provider = FakeProvider::start([reply.clone()]).await.unwrap();
            let [(kind, url), ..] = adapters(&provider);
            let result = ask(target(kind, url), stream).await;
            let said = match result {
                Err(error) => {
                    if name == "rate limit" {
                        assert_eq!(retry_after(&error), Some("7"), "stream {stream}");
                    }
                    format!("{error:?} {error}")
                }
                // A body that is an error with status 200 is not recognized by every client.
                Ok(read) if name == "an error in the stream" && !stream => format!("{read:?}"),
                Ok(read) => panic!("{name}, stream {stream}: read as {read:?}"),
            };
            assert!(said.contains(expect), "{name}, stream {stream}: {said}");
            assert_eq!(provider.requests().len(), 1, "{name}: not sent twice");
        }
    }
}

#[tokio::test]
async fn a_list_that_is_at_its_end_refuses() {
    let provider = FakeProvider::start([Reply::text("One.")]).await.unwrap();
    let [(kind, url), ..] = adapters(&provider);
    assert!(ask(target(kind, url.clone()), false).await.is_ok());
    let error = ask(target(kind, url.clone()), false).await.unwrap_err();
    assert!(error.to_string().contains("no reply number 2"), "{error}");
    provider.push(Reply::text("Three."));
    assert_eq!(ask(target(kind, url), false).await.unwrap().text, "Three.");
}

#[tokio::test]
async fn a_hanging_request_is_answered_on_release_or_cancelled_by_its_client() {
    let replies = [Reply::text("Late.").hang(), Reply::text("Never.").hang()];
    let provider = FakeProvider::start(replies).await.unwrap();
    let [(kind, url), ..] = adapters(&provider);
    let late = tokio::spawn(ask(target(kind, url.clone()), true));
    provider.received(1).await;
    assert!(!late.is_finished());
    provider.release();
    assert_eq!(late.await.unwrap().unwrap().text, "Late.");

    let never = tokio::spawn(ask(target(kind, url), true));
    provider.received(2).await;
    assert_eq!(provider.cancelled(), 0);
    never.abort();
    assert!(never.await.unwrap_err().is_cancelled());
    while provider.cancelled() == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(provider.requests().len(), 2);
}

#[tokio::test]
async fn other_paths_are_not_found_and_not_counted() {
    let provider = FakeProvider::start([]).await.unwrap();
    let url = format!("{}/v1/elsewhere", provider.url());
    let [(kind, base), ..] = adapters(&provider);
    // An error says that an earlier test installed it.
    let _ = ask(target(kind, base), false).await;
    let response = reqwest::Client::new().post(&url).send().await.unwrap();
    assert_eq!(response.status(), 404);
    assert!(response.text().await.unwrap().contains("no model protocol is spoken at"));
    assert_eq!(provider.requests().len(), 1, "the one before");
}
