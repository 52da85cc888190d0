//! What goes through goes through byte for byte, in both directions, as it comes.

use crate::support::{Proxy, http, outcome, settings, within};
use foldback_fake_provider::{FakeProvider, Reply, Script};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const KEY: &str = "sk-planted-key";

/// Not as any writer would spell it, and not as any protocol has it.
const ODD: &str = "{\"b\" : 1.50,\n\t\"a\": \"\\u00e9\", \"a\": [ ] }\n";

async fn anywhere(reply: Reply) -> FakeProvider {
    let script = Script::answer(move |_| reply.clone());
    FakeProvider::builder(script).everywhere().start().await.unwrap()
}

#[tokio::test]
async fn what_is_not_understood_goes_through_byte_for_byte() {
    let page = "{ \"id\" : \"\\u00e9\" }\n";
    let reply =
        Reply::raw(418, "application/x-own", page).header("x-own", "1").header("x-own", "2");
    let provider = anywhere(reply).await;
    let proxy = Proxy::start(&provider).await;
    let rows = [
        ("POST", "/v1/messages/count_tokens?beta=true", ODD),
        ("GET", "/v1/models", ""),
        ("POST", "/v1/files", "\u{0}\u{1}binary"),
        ("DELETE", "/v1/responses/resp_1", ""),
        ("GET", "/v1/responses/resp_1?stream=true", ""),
        ("POST", "/elsewhere/entirely", ODD),
        ("POST", "/v1/messages", ODD),
        ("POST", "/v1/chat/completions", "no JSON at all"),
        ("POST", "/v1/responses", "[1, 2]"),
    ];
    for (method, path, body) in rows {
        let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
        let request = http().request(method, format!("{}{path}", proxy.url));
        let request = request.header("x-api-key", KEY).header("accept-encoding", "gzip, br");
        let response = request.body(body).send().await.unwrap();
        assert!(outcome(&response).starts_with("passed; why="), "{path}: {}", outcome(&response));
        assert_eq!(response.status(), 418, "{path}");
        assert_eq!(response.headers()["content-type"], "application/x-own", "{path}");
        let own: Vec<_> = response.headers().get_all("x-own").iter().collect();
        assert_eq!(own, ["1", "2"], "{path}");
        assert_eq!(response.text().await.unwrap(), page, "{path}");
        let requests = provider.requests();
        let request = requests.last().unwrap();
        assert_eq!((request.path.as_str(), request.text.as_str()), (path, body));
        assert_eq!(request.header("x-api-key"), Some(KEY), "{path}");
        assert_eq!(request.header("host"), provider.url().strip_prefix("http://"), "{path}");
        let length = request.header("content-length").unwrap_or("0");
        assert_eq!(length, body.len().to_string(), "{path}: {:?}", request.headers);
        assert_eq!(request.header("transfer-encoding"), None, "{path}");
    }
    assert!(!proxy.metrics().await.contains(KEY));
}

/// Gemini's answers in one piece, as events, and as the list that a stream is without `alt=sse`: each is read for what it
/// cost by the model of the path, and goes through as it is, also where it can't be read.
#[tokio::test]
async fn an_answer_of_gemini_is_read_however_it_comes() {
    const SAYS: &str = r#"{"candidates": [{"content": {"role": "model", "parts": [{"text": "Good"}]}}], "usageMetadata": {"promptTokenCount": 4000}}"#;
    const ENDS: &str = r#"{"candidates": [{"content": {"role": "model", "parts": [{"text": "."}]}, "finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 4000, "cachedContentTokenCount": 3000, "candidatesTokenCount": 100, "thoughtsTokenCount": 50, "totalTokenCount": 4150}}"#;
    const ERROR: &str = r#"{"error": {"code": 503, "status": "UNAVAILABLE"}}"#;
    // 1,000 tokens of input at $1.25 a million, 3,000 from the cache at $0.125, 150 of output at $10.
    let usd = Some("0.003125");
    let json = "application/json";
    let rows = [
        ("generateContent", json, ENDS.to_owned(), usd),
        (
            "streamGenerateContent?alt=sse",
            "text/event-stream",
            format!("data: {SAYS}\r\n\r\ndata: {ENDS}\r\n\r\n"),
            usd,
        ),
        ("streamGenerateContent", json, format!("[{SAYS}\n,\r\n{ENDS}\n]"), usd),
        ("streamGenerateContent", json, format!("[{SAYS}\n,\r\n{ENDS}"), None),
        ("streamGenerateContent", json, format!("[{SAYS}\n,\r\n{ERROR}\n]"), None),
        ("streamGenerateContent", json, "[1]".to_owned(), None),
        ("streamGenerateContent", json, "[]".to_owned(), None),
    ];
    for (method, kind, text, usd) in rows {
        let provider = FakeProvider::start([Reply::raw(200, kind, text.clone())]).await.unwrap();
        let proxy = Proxy::start(&provider).await;
        let url = format!("{}/v1beta/models/gemini-2.5-pro:{method}", proxy.url);
        let body = r#"{"contents": [{"role": "user", "parts": [{"text": "Fix it."}]}]}"#;
        let response = http().post(url).body(body).send().await.unwrap();
        assert!(outcome(&response).starts_with("unchanged; "), "{text}: {}", outcome(&response));
        assert_eq!(response.text().await.unwrap(), text);
        let metrics = proxy.metrics().await;
        let reported = "foldback_proxy_priced_total{protocol=\"gemini\",by=\"reported\"} 1\n";
        assert_eq!(metrics.contains(reported), usd.is_some(), "{text}: {metrics}");
        if let Some(usd) = usd {
            let sent = format!("foldback_proxy_sent_usd_total{{protocol=\"gemini\"}} {usd}");
            assert!(metrics.contains(&sent), "{text}: {metrics}");
        }
    }
}

#[tokio::test]
async fn a_body_over_the_limit_goes_through_unread() {
    let provider = anywhere(Reply::text("Good.")).await;
    let mut settings = settings(&provider);
    settings.max_body = 1_000;
    let proxy = Proxy::with(settings).await;
    let url = format!("{}/v1/messages", proxy.url);
    let large = format!("{{\"messages\": [\"{}\"]}}", "x".repeat(50 << 20));
    let sized = http().post(&url).body(large.clone()).send().await.unwrap();
    assert_eq!(outcome(&sized), "passed; why=large");
    // Without a length, that it is too large shows only as it comes.
    let pieces: Vec<Result<Vec<u8>, std::io::Error>> =
        large.as_bytes().chunks(700).map(|piece| Ok(piece.to_vec())).take(3_000).collect();
    let streamed = reqwest::Body::wrap_stream(futures_util::stream::iter(pieces));
    let streamed = http().post(&url).body(streamed).send().await.unwrap();
    assert_eq!(outcome(&streamed), "passed; why=large");
    let requests = provider.requests();
    assert!(requests[0].text == large && requests[1].text == large[..700 * 3_000]);
}

#[tokio::test]
async fn a_stream_goes_through_piece_by_piece() {
    let provider = FakeProvider::start([Reply::text("One two three.")]).await.unwrap();
    let direct = FakeProvider::start([Reply::text("One two three.")]).await.unwrap();
    let proxy = Proxy::start(&provider).await;
    let body = r#"{"model": "m", "stream": true, "messages": []}"#;
    let ask = |url: String| http().post(url).body(body).send();
    let through = ask(format!("{}/v1/messages", proxy.url)).await.unwrap();
    let direct = ask(format!("{}/v1/messages", direct.url())).await.unwrap();
    assert_eq!(through.headers()["content-type"], "text/event-stream");
    assert_eq!(through.bytes().await.unwrap(), direct.bytes().await.unwrap());
}

#[tokio::test]
async fn the_first_piece_comes_before_the_second_is_sent() {
    // A provider by hand: what it sends next waits for the test.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut settings = foldback_serve::Settings::default();
    settings.listen = "127.0.0.1:0".parse().unwrap();
    settings.set_upstream(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    let proxy = Proxy::with(settings).await;
    let request = http().post(format!("{}/v1/messages", proxy.url)).body("{}");
    let answer = tokio::spawn(request.send());
    let (mut provider, _) = listener.accept().await.unwrap();
    let mut read = [0; 4_096];
    let _ = provider.read(&mut read).await.unwrap();
    let head =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    provider.write_all(head.as_bytes()).await.unwrap();
    provider.write_all(b"5\r\nfirst\r\n").await.unwrap();
    let mut answer = answer.await.unwrap().unwrap();
    assert_eq!(answer.chunk().await.unwrap().unwrap(), "first");
    provider.write_all(b"6\r\nsecond\r\n0\r\n\r\n").await.unwrap();
    assert_eq!(answer.chunk().await.unwrap().unwrap(), "second");
    assert_eq!(answer.chunk().await.unwrap(), None);
}

#[tokio::test]
async fn a_provider_that_dies_is_an_error_and_no_end() {
    let body = r#"{"model": "m", "stream": true, "messages": []}"#;
    let provider =
        FakeProvider::start([Reply::text("Some text").cut(90), Reply::text("x").cut(0)]).await;
    let provider = provider.unwrap();
    let proxy = Proxy::start(&provider).await;
    let url = format!("{}/v1/messages", proxy.url);
    let cut = http().post(&url).body(body).send().await.unwrap();
    assert_eq!(cut.status(), 200);
    assert!(cut.bytes().await.is_err(), "an answer that was cut must not look whole");
    let nothing = http().post(&url).body(body).header("x-api-key", KEY).send().await.unwrap();
    assert_eq!((nothing.status().as_u16(), outcome(&nothing).as_str()), (502, "unreachable"));
    let said = nothing.text().await.unwrap();
    assert!(said.contains("upstream_unreachable") && !said.contains(KEY), "{said}");
    assert!(proxy.metrics().await.contains("outcome=\"unreachable\",why=\"\"} 1"));
}

#[tokio::test]
async fn a_request_under_way_is_finished_before_the_proxy_stops() {
    let provider = FakeProvider::start([Reply::text("Late.").hang()]).await.unwrap();
    let proxy = Proxy::start(&provider).await;
    let request = http().post(format!("{}/v1/messages", proxy.url)).body("{}");
    let asking = tokio::spawn(request.send());
    provider.received(1).await;
    let address = proxy.address;
    let stopping = proxy.stopping();
    while TcpStream::connect(address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    provider.release();
    let answer = asking.await.unwrap().unwrap();
    assert!(answer.text().await.unwrap().contains("Late."));
    stopping.await.unwrap();
}

#[tokio::test]
async fn a_request_that_does_not_end_is_given_up() {
    within(async {
        let provider = FakeProvider::start([Reply::text("Never.").hang()]).await.unwrap();
        let mut settings = settings(&provider);
        settings.grace = Duration::from_millis(20);
        let proxy = Proxy::with(settings).await;
        let request = http().post(format!("{}/v1/messages", proxy.url)).body("{}");
        let asking = tokio::spawn(request.send());
        provider.received(1).await;
        proxy.stop().await;
        asking.abort();
    })
    .await;
}
