//! Connections that end at a bad moment, at either side, and clients that say nothing.

use crate::support::hand::{Hand, Line, answer, chunk, request};
use crate::support::{Proxy, folding, http, outcome, settings, within};
use crate::support::{WINDOW, talk};
use foldback::Limits;
use foldback::wire::Dialect;
use foldback_fake_provider::{FakeProvider, Reply};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::AsyncWriteExt as _;

const CHAT: &str = r#"{"model": "m", "messages": [{"role": "user", "content": "Hi."}]}"#;

/// What a client sends: a request of a conversation, others, and one that is not read.
const ASKED: [(&str, &str, &str); 5] = [
    ("POST /v1/chat/completions", "", CHAT),
    ("POST /v1/messages", "", "{}"),
    ("POST /v1/messages/count_tokens", "", "{}"),
    ("POST /v1/messages", "content-encoding: gzip\r\n", "xx"),
    ("DELETE /v1/files/f", "", ""),
];

#[tokio::test]
async fn a_request_on_a_connection_that_was_closed_is_sent_once_more() {
    for (line, headers, body) in ASKED {
        let provider = Hand::new().await;
        let proxy = Proxy::with(provider.settings()).await;
        let mut client = Line::to(proxy.address).await;
        client.say(&request(line, headers, body)).await;
        let mut first = provider.accept().await;
        let asked = first.message().await;
        first.say(&answer("200 OK", "1")).await;
        assert!(client.message().await.ends_with("\r\n\r\n1"), "{line}");
        client.say(&request(line, headers, body)).await;
        // It is the same connection, and it ends without a word.
        assert_eq!(first.message().await, asked, "{line}");
        drop(first);
        let mut second = provider.accept().await;
        assert_eq!(second.message().await, asked, "{line}");
        second.say(&answer("200 OK", "2")).await;
        assert!(client.message().await.ends_with("\r\n\r\n2"), "{line}");
    }
}

#[tokio::test]
async fn a_request_that_the_provider_may_have_begun_to_answer_is_sent_once() {
    let (line, headers, body) = ASKED[0];
    // What it says on a new connection, and what on one that has brought an answer, before it closes.
    for (fresh, reused) in
        [(Some(""), ""), (Some("HTTP/1.1 2"), ""), (None, "H"), (None, "HTTP/1.1 200 OK\r\n")]
    {
        let provider = Hand::new().await;
        let proxy = Proxy::with(provider.settings()).await;
        let mut client = Line::to(proxy.address).await;
        client.say(&request(line, headers, body)).await;
        let mut first = provider.accept().await;
        first.message().await;
        if let Some(fresh) = fresh {
            first.say(fresh).await;
        } else {
            first.say(&answer("200 OK", "1")).await;
            client.message().await;
            client.say(&request(line, headers, body)).await;
            first.message().await;
            first.say(reused).await;
        }
        drop(first);
        assert!(client.message().await.starts_with("HTTP/1.1 502 "), "{fresh:?}, {reused}");
        let again = tokio::time::timeout(Duration::from_millis(50), provider.accept()).await;
        assert!(again.is_err(), "{fresh:?}, {reused}: it was sent again");
    }
}

#[tokio::test]
async fn a_body_that_can_not_be_repeated_goes_on_a_connection_of_its_own() {
    let provider = Hand::new().await;
    let proxy = Proxy::with(provider.settings()).await;
    let mut client = Line::to(proxy.address).await;
    for number in 0..3 {
        let head =
            "POST /v1/files HTTP/1.1\r\nhost: 127.0.0.1\r\ntransfer-encoding: chunked\r\n\r\n";
        client.say(&format!("{head}{}0\r\n\r\n", chunk("a file"))).await;
        let mut line = provider.accept().await;
        assert!(line.message().await.contains("a file"), "{number}");
        line.say(&answer("200 OK", "1")).await;
        assert!(client.message().await.ends_with("\r\n\r\n1"), "{number}");
    }
}

#[tokio::test]
async fn the_address_that_can_not_be_reached_is_named_and_said_once() {
    let gone = Hand::new().await;
    let mut settings = gone.settings();
    drop(gone);
    let said = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&said);
    settings.say = Arc::new(move |line| into.lock().unwrap().push(line.to_owned()));
    let address = format!("{:?}", settings.upstream);
    let port = address
        .split("127.0.0.1:")
        .nth(1)
        .unwrap()
        .split(|sign: char| !sign.is_ascii_digit())
        .next();
    let address = format!("http://127.0.0.1:{}", port.unwrap());
    let proxy = Proxy::with(settings).await;
    for _ in 0..3 {
        let request = http().post(format!("{}/v1/messages?key=planted", proxy.url)).body("{}");
        let response = request.send().await.unwrap();
        assert_eq!((response.status().as_u16(), outcome(&response).as_str()), (502, "unreachable"));
        let text = response.text().await.unwrap();
        assert!(text.contains(&address) && text.contains("refused"), "{text}");
        assert!(!text.contains("planted"), "{text}");
    }
    let said = said.lock().unwrap();
    let [line] = &said[..] else { panic!("{said:?}") };
    assert!(line.contains(&address) && !line.contains("planted"), "{line}");
}

#[tokio::test]
async fn the_words_of_an_error_go_through_as_they_come() {
    within(async {
        for status in [400, 401, 404, 413, 422, 429, 500, 529] {
            let provider = Hand::new().await;
            let proxy = Proxy::with(provider.settings()).await;
            let mut client = Line::to(proxy.address).await;
            client.say(&request(ASKED[0].0, "", CHAT)).await;
            let mut line = provider.accept().await;
            line.message().await;
            line.say(&format!("HTTP/1.1 {status} No\r\ntransfer-encoding: chunked\r\n\r\n")).await;
            line.say(&chunk("first")).await;
            client.until("first\r\n").await;
            line.say(&(chunk("second") + "0\r\n\r\n")).await;
            client.until("second\r\n0\r\n\r\n").await;
        }
    })
    .await;
}

/// Answers that end too early: after the head, in the words of an error, and in a stream before anything of an answer.
#[tokio::test]
async fn what_came_of_an_answer_that_breaks_off_goes_on_to_the_client() {
    let start = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"role\":\"assistant\",\"content\":[]}}\n\n";
    let stream =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    let long = "HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n";
    let error = "HTTP/1.1 400 Bad Request\r\ncontent-length: 99\r\n\r\n";
    for (head, piece) in [
        (stream, chunk(start)),
        (stream, chunk(": a comment\n\n")),
        (stream, String::new()),
        (long, "a part".to_owned()),
        (error, "a part".to_owned()),
        (error, String::new()),
    ] {
        let provider = Hand::new().await;
        let proxy = Proxy::with(provider.settings()).await;
        let mut client = Line::to(proxy.address).await;
        client
            .say(&request("POST /v1/messages", "", &CHAT.replace("{ ", "{ \"stream\": true, ")))
            .await;
        let mut line = provider.accept().await;
        line.message().await;
        line.say(head).await;
        line.say(&piece).await;
        drop(line);
        let got = client.rest().await;
        let (status, _) = head.split_once("\r\n").unwrap();
        assert!(got.starts_with(status), "{head}{piece}: {got}");
        assert!(got.ends_with(&format!("\r\n\r\n{piece}")), "{head}{piece}: {got}");
    }
}

/// The first answer is about the client's own request; what comes to the second, which it does not know, is not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_refusal_for_size_any_other_failure_leaves_the_first_answer() {
    let log = talk::task(60);
    let (before, _) = talk::calls(&log).pop().unwrap();
    let wide = Limits { context: 400_000, input: 0, output: 2_000 };
    let first = r#"{"error":{"message":"prompt is too long: 250000 tokens > 200000 maximum"}}"#;
    let words = r#"{"error":{"message":"another"}}"#;
    let stream = "data: {\"error\":{\"message\":\"another\"}}\n\n";
    for second in [
        Reply::status(400, words),
        Reply::status(401, words),
        Reply::status(429, words),
        Reply::status(500, words),
        Reply::status(529, words),
        Reply::raw(200, "text/event-stream", stream),
        Reply::text("x").cut(0),
    ] {
        let name = format!("{second:?}");
        let provider = FakeProvider::start([Reply::status(400, first), second]).await.unwrap();
        let proxy = Proxy::folding(&provider, folding("tiered", wide)).await;
        let url = format!("{}/v1/chat/completions", proxy.url);
        let body = talk::body(Dialect::OpenAiChat, before);
        let response = http().post(url).body(body).send().await.unwrap();
        assert_eq!(response.status(), 400, "{name}");
        assert!(outcome(&response).starts_with("unchanged"), "{name}: {}", outcome(&response));
        assert_eq!(response.text().await.unwrap(), first, "{name}");
        // Where the connection broke off without a word, it was sent on another.
        let lost = usize::from(name.contains("cut: Some(0)"));
        assert_eq!(provider.requests().len(), 2 + lost, "{name}");
    }
}

/// Both reasons for which a request is sent once more, each as often as a provider can give it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_is_sent_four_times_at_most() {
    let log = talk::task(60);
    let (before, _) = talk::calls(&log).pop().unwrap();
    let wide = Limits { context: 400_000, input: 0, output: 2_000 };
    let provider = Hand::new().await;
    let proxy = Proxy::both(provider.settings(), folding("tiered", wide)).await;
    let [mut one, mut two] = [Line::to(proxy.address).await, Line::to(proxy.address).await];
    let mut used = Vec::new();
    for client in [&mut one, &mut two] {
        client.say(&request("DELETE /v1/files/f", "", "")).await;
        let mut line = provider.accept().await;
        line.message().await;
        used.push(line);
    }
    for (client, line) in [&mut one, &mut two].into_iter().zip(&mut used) {
        line.say(&answer("200 OK", "1")).await;
        client.message().await;
    }
    let [a, b] = <[Line; 2]>::try_from(used).ok().unwrap();
    let body = talk::body(Dialect::OpenAiChat, before);
    one.say(&request(ASKED[0].0, "", &body)).await;
    // Which of the two it takes is the pool's choice.
    let (mut of_a, mut of_b) = ([0], [0]);
    let is_a = tokio::select! {
        _ = a.0.peek(&mut of_a) => true,
        _ = b.0.peek(&mut of_b) => false,
    };
    let (mut taken, mut other) = if is_a { (a, b) } else { (b, a) };
    let first = taken.message().await;
    drop(taken);
    assert!(first.ends_with(&body));
    let mut fresh = provider.accept().await;
    assert_eq!(fresh.message().await, first);
    let words = r#"{"error":{"message":"prompt is too long: 250000 tokens > 200000 maximum"}}"#;
    fresh.say(&answer("400 Bad Request", words)).await;
    let folded = other.message().await;
    assert!(folded.len() < first.len());
    drop(other);
    let mut last = provider.accept().await;
    assert_eq!(last.message().await, folded);
    last.say(&answer("400 Bad Request", words)).await;
    let got = one.message().await;
    assert!(got.starts_with("HTTP/1.1 400 ") && got.ends_with(words), "{got}");
    let again = tokio::time::timeout(Duration::from_millis(50), provider.accept()).await;
    assert!(again.is_err(), "it was sent again");
}

#[tokio::test]
async fn a_client_that_closed_its_half_gets_its_answer() {
    for (line, headers, body) in ASKED {
        let provider = Hand::new().await;
        let proxy = Proxy::with(provider.settings()).await;
        let mut client = Line::to(proxy.address).await;
        client.say(&request(line, headers, body)).await;
        client.0.shutdown().await.unwrap();
        let mut far = provider.accept().await;
        far.message().await;
        far.say("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").await;
        far.say(&chunk("first")).await;
        client.until("first\r\n").await;
        far.say(&(chunk("second") + "0\r\n\r\n")).await;
        assert!(client.rest().await.ends_with("second\r\n0\r\n\r\n"), "{line}");
    }
}

#[tokio::test]
async fn a_client_that_is_gone_ends_its_request() {
    // Before an answer, and in the middle of one.
    for begun in [false, true] {
        let provider = Hand::new().await;
        let proxy = Proxy::with(provider.settings()).await;
        let mut client = Line::to(proxy.address).await;
        client.say(&request(ASKED[0].0, "", CHAT)).await;
        let mut far = provider.accept().await;
        far.message().await;
        if begun {
            far.say("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").await;
            far.say(&chunk("first")).await;
            client.until("first\r\n").await;
        }
        // A process that dies resets what it has open, and so does the system of one that is gone when it is asked.
        socket2::SockRef::from(&client.0).set_linger(Some(Duration::ZERO)).unwrap();
        drop(client);
        assert_eq!(far.rest().await, "", "the provider's connection is closed, too");
    }
}

#[tokio::test]
async fn a_client_that_closed_both_halves_ends_its_request_with_the_next_pieces() {
    within(async {
        let provider = Hand::new().await;
        let proxy = Proxy::with(provider.settings()).await;
        let mut client = Line::to(proxy.address).await;
        client.say(&request(ASKED[0].0, "", CHAT)).await;
        let mut far = provider.accept().await;
        far.message().await;
        drop(client);
        let mut answer = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_owned();
        while far.0.write_all(answer.as_bytes()).await.is_ok() {
            answer = chunk("more");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_client_that_says_nothing_more_is_not_waited_for() {
    let provider = Hand::new().await;
    let mut settings = provider.settings();
    settings.patience = Duration::from_millis(60);
    settings.max_body = 1_000;
    settings.max_connections = 1;
    let proxy = Proxy::with(settings).await;
    let half = |line: &str, length: &str, part: &str| {
        format!("{line} HTTP/1.1\r\nhost: 127.0.0.1\r\n{length}\r\n\r\n{part}")
    };
    let chunked = "transfer-encoding: chunked";
    let rows = [
        (String::new(), ""),
        ("POST /v1/mess".to_owned(), ""),
        ("GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n".to_owned(), ""),
        (half("POST /v1/messages", "content-length: 9", "{"), "HTTP/1.1 408 "),
        (half("POST /v1/messages", chunked, "1\r\n{\r\n"), "HTTP/1.1 408 "),
        (half("POST /v1/messages", "content-length: 2000", "{"), "HTTP/1.1 408 "),
        (half("POST /v1/files", "content-length: 9", "{"), "HTTP/1.1 408 "),
        (half("POST /v1/files", chunked, "1\r\n{\r\n"), "HTTP/1.1 408 "),
        (half("POST /v1/files", "content-length: 2000000", "{"), "HTTP/1.1 408 "),
        // One that has its answer.
        (half("GET /healthz", "x: y", ""), "HTTP/1.1 200 "),
    ];
    for (said, expected) in rows {
        // There is room for one, so each must go.
        let mut client = Line::to(proxy.address).await;
        client.say(&said).await;
        let got = client.rest().await;
        assert!(got.starts_with(expected), "{said}: {got}");
        assert_eq!(got.is_empty(), expected.is_empty(), "{said}: {got}");
    }
}

/// A client that closes sends the end of its data, as one does that waits for its answer.
#[tokio::test]
async fn a_client_that_closes_before_its_answer_begins_ends_its_request_at_once() {
    for (line, headers, body) in ASKED {
        let provider = Hand::new().await;
        let proxy = Proxy::with(provider.settings()).await;
        let mut client = Line::to(proxy.address).await;
        client.say(&request(line, headers, body)).await;
        let mut far = provider.accept().await;
        far.message().await;
        drop(client);
        let ended = tokio::time::timeout(Duration::from_secs(2), far.rest()).await;
        assert_eq!(ended.as_deref(), Ok(""), "{line}: the provider's connection is closed, too");
    }
}

#[tokio::test]
async fn a_client_that_closed_its_half_and_waits_is_asked_whether_it_is_there() {
    for (version, nothing) in [("1.1", "HTTP/1.1 100 Continue\r\n\r\n"), ("1.0", "")] {
        let provider = Hand::new().await;
        let proxy = Proxy::with(provider.settings()).await;
        let mut client = Line::to(proxy.address).await;
        let asked =
            request(ASKED[0].0, "", CHAT).replacen("HTTP/1.1", &format!("HTTP/{version}"), 1);
        client.say(&asked).await;
        client.0.shutdown().await.unwrap();
        let mut far = provider.accept().await;
        far.message().await;
        tokio::time::sleep(Duration::from_millis(1_800)).await;
        far.say(&answer("200 OK", "{}")).await;
        let got = client.rest().await;
        let rest = got.strip_prefix(nothing).unwrap();
        assert!(
            rest.starts_with(&format!("HTTP/{version} 200 OK\r\n")) && rest.ends_with("{}"),
            "{got}"
        );
    }
}

#[tokio::test]
async fn what_is_no_http_is_answered_with_a_sentence() {
    let provider =
        FakeProvider::start(foldback_fake_provider::Script::answer(|_| Reply::text("Good.")));
    let provider = provider.await.unwrap();
    let proxy = Proxy::start(&provider).await;
    let path = |sign: &str| format!("GET /v1/models/{sign} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n");
    let many = format!("x-long: {}\r\n", "y".repeat(60_000)).repeat(9);
    let rows = [
        (path("<"), "400", "%3C"),
        (path(">x"), "400", "%3E"),
        (path("`"), "400", "%60"),
        (path("a b"), "400", "%20"),
        ("no request\r\n\r\n".to_owned(), "400", "HTTP"),
        ("GET / HTTP/1.1\r\nno header\r\n\r\n".to_owned(), "400", "a colon"),
        (format!("GET / HTTP/1.1\r\n{many}\r\n"), "431", "400 kB"),
        (format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(70_000)), "414", "longer"),
    ];
    for (said, status, expected) in rows {
        let mut client = Line::to(proxy.address).await;
        client.say(&said).await;
        let got = client.rest().await;
        let what = &said[..said.len().min(60)];
        assert!(got.starts_with(&format!("HTTP/1.1 {status} ")), "{what}: {got}");
        let (head, body) = got.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("content-length: {}", body.len())), "{what}: {got}");
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        let text = body["error"]["message"].as_str().unwrap();
        assert!(text.contains(expected), "{what}: {text}");
    }
    // After an answer, too, and what is HTTP goes on as before.
    let mut client = Line::to(proxy.address).await;
    client.say("GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n").await;
    client.until("ok\n").await;
    client.say(&path("<")).await;
    assert!(client.rest().await.contains("%3C"));
    let quoted = http().get(format!("{}/v1/models/%22", proxy.url)).send().await.unwrap();
    assert_eq!(outcome(&quoted), "passed; why=path");
    let metrics = proxy.metrics().await;
    for (why, count) in [("http", 7), ("headers", 1), ("long", 1)] {
        let line = format!("{{why=\"{why}\"}} {count}\n");
        assert!(metrics.contains(&line), "{line}: {metrics}");
    }
}

/// What is whole is answered; a client that is in the middle of its request and says nothing more is not waited for.
#[tokio::test]
async fn half_a_request_does_not_hold_a_proxy_that_is_to_stop() {
    for half in [
        "GET /healthz HTTP/1.1\r\nhost: ",
        "POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 9\r\n\r\n{",
        "POST /v1/files HTTP/1.1\r\nhost: 127.0.0.1\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n",
        "POST /v1/files HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 2000000\r\n\r\n{",
    ] {
        let provider = Hand::new().await;
        let proxy = Proxy::with(provider.settings()).await;
        let [mut client, mut again, mut whole] = [
            Line::to(proxy.address).await,
            Line::to(proxy.address).await,
            Line::to(proxy.address).await,
        ];
        client.say(half).await;
        again.say("GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n").await;
        again.until("ok\n").await;
        again.say(half).await;
        whole.say(&request(ASKED[0].0, "", CHAT)).await;
        let mut far = provider.accept().await;
        // Of the two that pass, bodies may come first.
        while !far.until("\r\n\r\n").await.starts_with("POST /v1/chat/completions") {
            far = provider.accept().await;
        }
        let stopping = proxy.stopping();
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        far.say(&answer("200 OK", "{}")).await;
        assert!(whole.rest().await.ends_with("{}"), "{half}");
        let ended = tokio::time::timeout(Duration::from_secs(3), stopping).await;
        assert!(ended.is_ok(), "{half}");
    }
}

#[tokio::test]
async fn a_slow_body_that_goes_on_is_waited_for() {
    let provider = Hand::new().await;
    let mut settings = provider.settings();
    settings.patience = Duration::from_millis(400);
    let proxy = Proxy::with(settings).await;
    let mut client = Line::to(proxy.address).await;
    client.say("POST /v1/files HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 12\r\n\r\n").await;
    let slow = async {
        for _ in 0..12 {
            tokio::time::sleep(Duration::from_millis(50)).await;
            client.say("x").await;
        }
    };
    let ((), mut far) = tokio::join!(slow, provider.accept());
    assert!(far.message().await.ends_with(&"x".repeat(12)));
}

/// One large body after the other is folded while a small one comes. No clock: the large ones stand until it has been answered.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn small_requests_do_not_wait_behind_large_ones() {
    let provider =
        FakeProvider::start(foldback_fake_provider::Script::answer(|_| Reply::text("Good.")));
    let provider = provider.await.unwrap();
    let (open, gate) = std::sync::mpsc::channel::<()>();
    let gate = Mutex::new(gate);
    let mut folding = folding("window", WINDOW);
    folding.limits = Arc::new(move |model| {
        if model == Some("large") {
            // The other end is dropped where the small ones are through.
            let _ = gate.lock().unwrap_or_else(std::sync::PoisonError::into_inner).recv();
        }
        Some(WINDOW)
    });
    let mut settings = settings(&provider);
    settings.max_connections = 200;
    let proxy = Proxy::both(settings, folding).await;
    let url = format!("{}/v1/chat/completions", proxy.url);
    let body = |model: &str, size: usize| {
        CHAT.replace("\"m\"", &format!("\"{model}\"")).replace("Hi.", &"x".repeat(size))
    };
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let large: Vec<_> = (0..2 * processors + 2)
        .map(|_| tokio::spawn(http().post(&url).body(body("large", 3 << 20)).send()))
        .collect();
    for number in 0..50 {
        let response = http().post(&url).body(body("small", 1_000 + number)).send().await.unwrap();
        assert_eq!(response.status(), 200);
        assert!(large.iter().all(|large| !large.is_finished()), "{number}");
    }
    drop(open);
    for large in large {
        assert_eq!(large.await.unwrap().unwrap().status(), 200);
    }
}
