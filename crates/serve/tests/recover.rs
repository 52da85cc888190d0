//! What goes wrong at the provider: a request that is too large, answers that can't be read, connections that break.

use crate::support::talk::{body, calls, path, send, streamed, task};
use crate::support::{Proxy, WINDOW, folding, http, outcome};
use foldback::Limits;
use foldback::core::log::Message;
use foldback::core::services::Clock;
use foldback::wire::Dialect;
use foldback_fake_provider::{FakeProvider, Reply, Script, errors};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const DIALECTS: [(Dialect, errors::Refusal); 4] = [
    (Dialect::Anthropic, errors::ANTHROPIC_PROMPT),
    (Dialect::OpenAiChat, errors::OPENAI_MESSAGES),
    (Dialect::OpenAiResponses, errors::OPENAI_MESSAGES),
    (Dialect::Gemini, errors::GEMINI_INPUT),
];

/// The proxy believes in a window that the provider does not have.
const WIDE: Limits = Limits { context: 400_000, input: 0, output: 2_000 };

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_is_too_large_is_folded_and_sent_once_more() {
    let log = task(60);
    let (before, _) = calls(&log).pop().unwrap();
    // A stream that is not asked for as events is refused in a list.
    let body_of_list = concat!(
        "[",
        r#"{"error":{"code":400,"message":"The input token count (3475108) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}"#,
        "]"
    );
    let list = errors::Refusal { body: body_of_list, ..errors::GEMINI_INPUT };
    for (dialect, refusal) in DIALECTS.into_iter().chain([(Dialect::Gemini, list)]) {
        let provider = FakeProvider::start([refusal.into(), Reply::text("Good.")]).await.unwrap();
        let proxy = Proxy::folding(&provider, folding("tiered", WIDE)).await;
        let client = body(dialect, before);
        let url = format!("{}{}", proxy.url, path(dialect));
        let response = http().post(url).body(client.clone()).send().await.unwrap();
        assert!(outcome(&response).starts_with("recovered"), "{dialect}: {}", outcome(&response));
        assert!(response.text().await.unwrap().contains("Good."), "{dialect}");
        let requests = provider.requests();
        assert_eq!(requests.len(), 2, "{dialect}");
        assert_eq!(requests[0].text, client, "{dialect}");
        assert!(requests[1].bytes < client.len() / 2, "{dialect}: {}", requests[1].bytes);
    }
}

/// The window that a refusal names counts for every conversation of the model, also after a restart: only its first request
/// is refused.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_window_that_a_refusal_names_is_learned_once_a_model() {
    let mut other = task(60);
    other[0] = Message::user("u", "Fix the build of the printer.").into();
    for (dialect, refusal) in DIALECTS {
        // The refusal names a window in digits that stand in its body once.
        let limit = match dialect {
            Dialect::Anthropic => "200000",
            Dialect::Gemini => "1048576",
            _ => "4097",
        };
        let named = refusal.body.replace(limit, "12000");
        let replies = [Reply::status(400, named), Reply::text("Good."), Reply::text("Good, too.")];
        let provider = FakeProvider::start(replies).await.unwrap();
        let journal = tempfile::tempdir().unwrap();
        let mut journaled = folding("tiered", WIDE);
        journaled.journal = Some(journal.path().to_owned());
        let mut outcomes = Vec::new();
        for log in [&task(60), &other] {
            let proxy = Proxy::folding(&provider, journaled.clone()).await;
            let url = format!("{}{}", proxy.url, path(dialect));
            let (before, _) = calls(log).pop().unwrap();
            let response = http().post(&url).body(body(dialect, before)).send().await.unwrap();
            outcomes.push(outcome(&response).split(';').next().unwrap().to_owned());
        }
        assert_eq!(outcomes, ["recovered", "folded"], "{dialect}");
        assert_eq!(provider.requests().len(), 3, "{dialect}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_refusal_and_any_other_error_reach_the_client_as_they_are() {
    let log = task(60);
    let (before, _) = calls(&log).pop().unwrap();
    for (dialect, refusal) in DIALECTS {
        let other = r#"{"error":{"message":"no such model"}}"#;
        let replies =
            [refusal.into(), refusal.into(), Reply::status(400, other), Reply::status(529, other)];
        let provider = FakeProvider::start(replies).await.unwrap();
        let proxy = Proxy::folding(&provider, folding("tiered", WIDE)).await;
        let url = format!("{}{}", proxy.url, path(dialect));
        for (status, text) in [(400, refusal.body), (400, other), (529, other)] {
            let response = http().post(&url).body(body(dialect, before)).send().await.unwrap();
            assert_eq!(response.status(), status, "{dialect}");
            assert_eq!(response.text().await.unwrap(), text, "{dialect}");
        }
        assert_eq!(provider.requests().len(), 4, "{dialect}");
    }
}

/// Streams with status 200 that begin or go on with an error: the protocol, the events, and whether the request is made
/// once more.
const STREAMS: [(Dialect, &str, bool); 14] = [
    (Dialect::OpenAiResponses, RESPONSES_ERROR, true),
    (Dialect::OpenAiResponses, RESPONSES_FAILED, true),
    (
        Dialect::OpenAiResponses,
        "data: {\"type\":\"error\",\"code\":\"rate_limit_exceeded\",\"message\":\"Slow down.\"}\n\n",
        false,
    ),
    (
        Dialect::OpenAiResponses,
        "data: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{}}\n\ndata: {\"type\":\"error\",\"code\":\"context_length_exceeded\",\"message\":\"Too long.\"}\n\n",
        false,
    ),
    (Dialect::Anthropic, ANTHROPIC_ERROR, true),
    (
        Dialect::Anthropic,
        "event: ping\ndata: {\"type\":\"ping\"}\n\nevent: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long: 9 tokens > 8 maximum\"}}\n\n",
        true,
    ),
    (
        Dialect::Anthropic,
        "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n",
        false,
    ),
    (
        Dialect::Anthropic,
        "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\nevent: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long: 9 tokens > 8 maximum\"}}\n\n",
        false,
    ),
    (Dialect::Gemini, GEMINI_ERROR, true),
    (
        Dialect::Gemini,
        "data: {\"error\":{\"code\":503,\"message\":\"The model is overloaded.\",\"status\":\"UNAVAILABLE\"}}\n\n",
        false,
    ),
    (Dialect::Gemini, "data: {\"candidates\":[{\"cont\n\n", false),
    (Dialect::OpenAiChat, CHAT_ERROR, true),
    (Dialect::OpenAiChat, ": connected\n\n", false),
    (Dialect::OpenAiChat, "no event at all", false),
];

const RESPONSES_ERROR: &str = "event: response.created\ndata: {\"type\":\"response.created\",\"sequence_number\":0,\"response\":{\"id\":\"r\",\"error\":null}}\n\nevent: response.in_progress\ndata: {\"type\":\"response.in_progress\",\"sequence_number\":1,\"response\":{\"id\":\"r\",\"error\":null}}\n\nevent: error\ndata: {\"type\":\"error\",\"sequence_number\":2,\"error\":{\"type\":\"invalid_request_error\",\"code\":\"context_length_exceeded\",\"message\":\"Your input exceeds the context window of this model. Please adjust your input and try again.\",\"param\":\"input\"}}\n\n";
const RESPONSES_FAILED: &str = "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"r\"}}\n\nevent: response.failed\ndata: {\"type\":\"response.failed\",\"response\":{\"id\":\"r\",\"status\":\"failed\",\"error\":{\"code\":\"context_length_exceeded\",\"message\":\"Your input exceeds the context window of this model. Please adjust your input and try again.\"}}}\n\n";
const ANTHROPIC_ERROR: &str = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"role\":\"assistant\",\"content\":[]}}\n\nevent: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long: 200251 tokens > 200000 maximum\"}}\n\n";
const GEMINI_ERROR: &str = "data: {\"error\":{\"code\":400,\"message\":\"The input token count (3475108) exceeds the maximum number of tokens allowed (1048576).\",\"status\":\"INVALID_ARGUMENT\"}}\n\n";
const CHAT_ERROR: &str = "data: {\"error\":{\"message\":\"This model's maximum context length is 4097 tokens. However, your messages resulted in 4294 tokens. Please reduce the length of the messages.\",\"type\":\"invalid_request_error\",\"param\":\"messages\",\"code\":\"context_length_exceeded\"}}\n\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_begins_with_a_refusal_for_size_is_asked_for_once_more() {
    let log = task(60);
    let (before, _) = calls(&log).pop().unwrap();
    for (dialect, events, again) in STREAMS {
        let refused = || Reply::raw(200, "text/event-stream", events);
        let (path, text) = streamed(dialect, &body(dialect, before));
        // The second answer is good in one run, and the same refusal in the other.
        for second in [Reply::text("Good."), refused()] {
            let good = second != refused();
            let provider = FakeProvider::start([refused(), second]).await.unwrap();
            let proxy = Proxy::folding(&provider, folding("tiered", WIDE)).await;
            let url = format!("{}{path}", proxy.url);
            let response = http().post(url).body(text.clone()).send().await.unwrap();
            let done = outcome(&response);
            let answer = response.text().await.unwrap();
            let requests = provider.requests();
            assert_eq!(requests[0].text, text, "{events}");
            assert_eq!(requests.len(), 1 + usize::from(again), "{events}");
            // Where the second is a refusal, too, the client has the first.
            assert_eq!(done.starts_with("recovered"), again && good, "{events}: {done}");
            if again && good {
                assert!(
                    answer.contains("d.") && !answer.contains("too long"),
                    "{events}: {answer}"
                );
                assert!(requests[1].bytes < text.len() / 2, "{events}");
            } else {
                assert_eq!(answer, events);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_that_break_off_or_are_garbage_harm_nothing() {
    let log = task(60);
    let script = Script::answer(|request| match request.number % 4 {
        0 => Reply::text("A text of some length").cut(40),
        1 => Reply::garbage(),
        2 => Reply::text("x").cut(0),
        _ => Reply::text("Good.").without_usage(),
    });
    let broken = FakeProvider::start(script).await.unwrap();
    let whole = FakeProvider::start(Script::answer(|_| Reply::text("Good.").without_usage()))
        .await
        .unwrap();
    for (dialect, _) in DIALECTS {
        let proxy = Proxy::folding(&broken, folding("window", WINDOW)).await;
        let direct = Proxy::folding(&whole, folding("window", WINDOW)).await;
        for (index, (before, _)) in calls(&log).into_iter().enumerate() {
            let own = body(dialect, before);
            let (path, text) =
                if index % 2 == 0 { streamed(dialect, &own) } else { (path(dialect), own) };
            let url = format!("{}{path}", proxy.url);
            let response = http().post(url).body(text.clone()).send().await.unwrap();
            let _ = response.bytes().await;
            send(&direct, dialect, text).await;
            let got = broken.requests().pop().unwrap().text.clone();
            assert_eq!(got, whole.requests().pop().unwrap().text, "{dialect}, call {index}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_proxy_does_not_follow_goes_through_with_the_reason() {
    let provider = FakeProvider::start(Script::answer(|_| Reply::text("Good."))).await.unwrap();
    let proxy = Proxy::folding(&provider, folding("window", WINDOW)).await;
    let rows = [
        (Dialect::Anthropic, "{", "not-understood"),
        (Dialect::Anthropic, "[]", "not-understood"),
        (Dialect::Anthropic, r#"{"messages": []}"#, "no-messages"),
        (
            Dialect::Anthropic,
            r#"{"messages": [{"role": "robot", "content": ""}]}"#,
            "not-understood",
        ),
        (Dialect::OpenAiChat, r#"{"messages": [1]}"#, "not-understood"),
        (Dialect::Gemini, r#"{"request": {"contents": []}}"#, "not-understood"),
        (Dialect::Gemini, r#"{"contents": []}"#, "no-messages"),
        (
            Dialect::OpenAiResponses,
            r#"{"input": "And?", "previous_response_id": "r"}"#,
            "kept-elsewhere",
        ),
    ];
    for (dialect, text, why) in rows {
        let answered = send(&proxy, dialect, text.to_owned()).await;
        assert_eq!(answered, (format!("passed; why={why}"), 200), "{text}");
        assert_eq!(provider.requests().pop().unwrap().text, text);
    }
    let url = format!("{}/v1/messages", proxy.url);
    for (body, encoding, why) in
        [(&b"\xff\xfe"[..], None, "not-text"), (b"\x28\xb5", Some("zstd"), "packed")]
    {
        let mut request = http().post(&url).body(body);
        if let Some(encoding) = encoding {
            request = request.header("content-encoding", encoding);
        }
        let response = request.send().await.unwrap();
        assert_eq!(outcome(&response), format!("passed; why={why}"));
        assert_eq!(provider.requests().pop().unwrap().bytes, 2);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limits_that_nobody_knows_or_that_are_too_small_fold_nothing() {
    let provider = FakeProvider::start(Script::answer(|_| Reply::text("Good."))).await.unwrap();
    let text = body(Dialect::Anthropic, &task(1)[..1]);
    let mut unknown = folding("window", WINDOW);
    unknown.limits = Arc::new(|_| None);
    let tiny = folding("window", Limits::new(10, 0));
    for (folding, why) in [(unknown, "window-unknown"), (tiny, "window-too-small")] {
        let proxy = Proxy::folding(&provider, folding).await;
        let answered = send(&proxy, Dialect::Anthropic, text.clone()).await;
        assert_eq!(answered.0, format!("passed; why={why}"));
    }
}

/// A clock that breaks the engine.
#[derive(Debug)]
struct Broken(AtomicBool);

impl Clock for Broken {
    fn now(&self) -> i64 {
        assert!(!self.0.load(Ordering::SeqCst), "a planted fault");
        0
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fault_of_the_proxy_sends_what_the_client_sent() {
    let log = task(60);
    let provider = FakeProvider::start(Script::answer(|_| Reply::text("Good.").without_usage()));
    let provider = provider.await.unwrap();
    let clock = Arc::new(Broken(AtomicBool::new(false)));
    let mut faulty = folding("window", WINDOW);
    faulty.clock = Arc::clone(&clock) as _;
    let faulty = Proxy::folding(&provider, faulty).await;
    let sound = Proxy::folding(&provider, folding("window", WINDOW)).await;
    for (index, (before, _)) in calls(&log).into_iter().enumerate() {
        let client = body(Dialect::Anthropic, before);
        let broken = index % 10 == 7;
        clock.0.store(broken, Ordering::SeqCst);
        let answered = send(&faulty, Dialect::Anthropic, client.clone()).await;
        let sent = provider.requests().pop().unwrap().text.clone();
        if broken {
            assert_eq!(answered, ("fault; why=panic".to_owned(), 200), "call {index}");
            assert_eq!(sent, client, "call {index}");
            continue;
        }
        // The next request is followed from the beginning and stands where it would.
        send(&sound, Dialect::Anthropic, client).await;
        assert_eq!(sent, provider.requests().pop().unwrap().text, "call {index}");
    }
    let metrics = faulty.metrics().await;
    let line = "{protocol=\"anthropic\",outcome=\"fault\",why=\"panic\"} 6";
    assert!(metrics.contains(line), "{metrics}");
}
