//! Requests that go nowhere: of pages in a browser, to nobody's path, with somebody else's key, in another protocol. And
//! what is odd and goes through all the same.

use crate::support::hand::{Hand, Line, answer, request};
use crate::support::{Proxy, http};
use foldback_fake_provider::{FakeProvider, Reply, Script};
use serde_json::Value;

async fn provider() -> FakeProvider {
    let script = Script::answer(|_| Reply::text("Hi."));
    FakeProvider::builder(script).everywhere().start().await.unwrap()
}

/// What a page can send without leave: forms and texts, reads, and the question whether it has leave.
#[tokio::test]
async fn a_page_of_another_origin_is_refused_on_every_path() {
    let provider = provider().await;
    let proxy = Proxy::start(&provider).await;
    let paths = [
        ("POST", "/v1/messages"),
        ("POST", "/v1/chat/completions"),
        ("POST", "/v1/responses"),
        ("OPTIONS", "/v1/messages"),
        ("GET", "/v1/models"),
        ("DELETE", "/v1/files/f"),
        ("GET", "/"),
        ("HEAD", "/"),
        ("GET", "/metrics"),
        ("GET", "/healthz"),
        ("GET", "/nowhere"),
    ];
    let foreign = [
        ("origin", "http://evil.example"),
        ("origin", "null"),
        ("origin", "http://localhost:3000"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
    ];
    let mut refused = 0;
    for (method, path) in paths {
        for (name, value) in foreign {
            let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
            let request = http().request(method.clone(), format!("{}{path}", proxy.url));
            let request = request.header("content-type", "text/plain").header(name, value);
            let body = r#"{"model": "m", "messages": [{"role": "user", "content": "Hi."}]}"#;
            let response = request.body(body).send().await.unwrap();
            assert_eq!(response.status(), 403, "{method} {path}, {name}: {value}");
            let leave = "access-control-allow-origin";
            assert!(!response.headers().contains_key(leave), "{method} {path}");
            refused += 1;
        }
    }
    assert_eq!(provider.requests().len(), 0);
    let metrics = proxy.metrics().await;
    let line = format!("foldback_proxy_refused_total{{why=\"page\"}} {refused}\n");
    assert!(metrics.contains(&line), "{metrics}");
    assert!(metrics.contains("foldback_proxy_conversations 0\n"));
    // The own page asks for itself again, and a person types an address.
    for (name, value) in [
        ("origin", proxy.url.as_str()),
        ("sec-fetch-site", "same-origin"),
        ("sec-fetch-site", "none"),
    ] {
        let response = http().get(&proxy.url).header(name, value).send().await.unwrap();
        assert_eq!(response.status(), 200, "{name}: {value}");
    }
}

#[tokio::test]
async fn what_belongs_to_nobody_is_refused_with_a_sentence() {
    let proxy = Proxy::alone().await;
    let gemini = "/v1beta/models/gemini-3-pro:generateContent";
    let rows = [
        ("POST", gemini, "authorization", "Bearer sk-x", 403, "foldback_key"),
        ("POST", "/v1internal:generateContent", "authorization", "ya29.x", 404, "foldback_path"),
        ("POST", "/v1/unheard_of", "authorization", "Bearer sk-ant-x", 404, "foldback_path"),
        ("POST", "/chat/completions", "authorization", "Bearer sk-x", 404, "foldback_path"),
        ("POST", "/v1/threads/t/messages", "authorization", "Bearer sk-ant-x", 403, "foldback_key"),
        ("POST", "/v1/messages", "authorization", "Bearer sk-proj-x", 403, "foldback_key"),
        ("POST", "/v1/chat/completions", "x-api-key", "sk-ant-x", 403, "foldback_key"),
        ("GET", "/v1/files", "x-goog-api-key", "AIzaX", 403, "foldback_key"),
    ];
    for (method, path, name, value, status, kind) in rows {
        let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
        let request = http().request(method, format!("{}{path}", proxy.url)).header(name, value);
        let response = request.body("{}").send().await.unwrap();
        assert_eq!(response.status(), status, "{path}, {value}");
        let said: Value = serde_json::from_str(&response.text().await.unwrap()).unwrap();
        assert_eq!(said["error"]["type"], kind, "{path}, {value}");
        let text = said["error"]["message"].as_str().unwrap();
        assert!(text.contains("--upstream URL") && !text.contains(value), "{text}");
    }
}

#[tokio::test]
async fn with_one_provider_every_path_and_key_is_its_own() {
    let provider = provider().await;
    let proxy = Proxy::start(&provider).await;
    for path in ["/v1beta/models/m:countTokens?key=AIzaX", "/v1/threads/t/messages", "/x"] {
        let request = http().post(format!("{}{path}", proxy.url)).header("x-goog-api-key", "AIzaX");
        let response = request.body("{\"a\": 1}").send().await.unwrap();
        assert_eq!(response.headers()["x-foldback"], "passed; why=path", "{path}");
        let last = provider.requests().pop().unwrap();
        assert_eq!((last.path.as_str(), last.text.as_str()), (path, "{\"a\": 1}"));
        assert_eq!(last.header("x-goog-api-key"), Some("AIzaX"));
    }
}

#[tokio::test]
async fn other_protocols_get_a_sentence_and_nothing_is_sent() {
    let provider = provider().await;
    let proxy = Proxy::start(&provider).await;
    let socket = "connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n";
    for (line, headers, status, words) in [
        ("GET /v1/responses", socket, 426, "no websockets"),
        ("GET /v1/realtime?model=m", socket, 426, "no websockets"),
        ("CONNECT api.openai.com:443", "", 501, "no tunnels"),
    ] {
        let mut client = Line::to(proxy.address).await;
        client.say(&format!("{line} HTTP/1.1\r\nhost: 127.0.0.1\r\n{headers}\r\n")).await;
        let got = client.message().await;
        assert!(got.starts_with(&format!("HTTP/1.1 {status} ")) && got.contains(words), "{got}");
    }
    assert_eq!(provider.requests().len(), 0);
    // An offer of HTTP/2 is not taken, and the request goes through.
    let mut client = Line::to(proxy.address).await;
    let offer =
        "connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABk\r\n";
    client.say(&request("POST /v1/messages", offer, "{}")).await;
    assert!(client.message().await.starts_with("HTTP/1.1 200 "));
}

#[tokio::test]
async fn paths_and_many_headers_go_through_byte_for_byte() {
    let provider = Hand::new().await;
    let proxy = Proxy::with(provider.settings()).await;
    let mut client = Line::to(proxy.address).await;
    let mut far = None;
    let rows = [
        (r"/v1/it's/a\b/../c/./d//e?q='x'&r=a\b&s=|^`{}", 0),
        ("/v1/%2e%2E/%zz/a%20b?%zz", 0),
        ("/v1/x?", 0),
        ("/v1/\"x\"/{y}", 0),
        ("/v1/models", 101),
        ("/v1/models", 1_000),
        ("/v1/models", 3_000),
    ];
    for (path, headers) in rows {
        let many: String =
            (0..headers).map(|number| format!("x-h-{number}: {number}\r\n")).collect();
        client.say(&format!("GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n{many}\r\n")).await;
        if far.is_none() {
            far = Some(provider.accept().await);
        }
        let far = far.as_mut().unwrap();
        let got = far.message().await;
        assert!(got.starts_with(&format!("GET {path} HTTP/1.1\r\n")), "{path}: {got}");
        assert_eq!(got.matches("x-h-").count(), headers, "{path}");
        far.say(&format!("HTTP/1.1 200 OK\r\n{many}content-length: 0\r\n\r\n")).await;
        assert_eq!(client.message().await.matches("x-h-").count(), headers, "{path}");
    }
    // A path of a conversation, as a server may read it: it is none, and goes through unread.
    let far = far.as_mut().unwrap();
    let body = answer("200 OK", "");
    client.say(&request("POST /v1/x/../messages", "", "{}")).await;
    assert!(far.message().await.starts_with("POST /v1/x/../messages HTTP/1.1\r\n"));
    far.say(&body).await;
    assert!(client.message().await.contains("x-foldback: passed; why=path"));
}

/// The sentence is the proxy's own; where the server's parser gives up before, there is the status alone.
#[tokio::test]
async fn too_many_headers_get_a_sentence() {
    let provider = Hand::new().await;
    let proxy = Proxy::with(provider.settings()).await;
    let head = |headers: usize, size: usize| {
        let value = "v".repeat(size);
        let many: String =
            (1..headers).map(|number| format!("x-h-{number}: {value}\r\n")).collect();
        format!("GET /v1/models HTTP/1.1\r\nhost: 127.0.0.1\r\n{many}\r\n")
    };
    let mut client = Line::to(proxy.address).await;
    client.say(&head(4_096, 1)).await;
    let mut far = provider.accept().await;
    assert_eq!(far.message().await.matches("x-h-").count(), 4_095);
    far.say(&answer("200 OK", "1")).await;
    assert!(client.message().await.ends_with("\r\n\r\n1"));
    let sentence = "and this proxy takes 4096; nothing was sent";
    // What is more than the parser of HTTP reads has no count.
    let unread = "(400 kB, 8,192 lines); nothing was sent";
    for (headers, size, words, sentence) in [
        (4_097, 1, "the request has 4097 headers", sentence),
        (8_192, 1, "the request has 8192 headers", sentence),
        (8_193, 1, "longer, or more,", unread),
        (100, 5_000, "longer, or more,", unread),
    ] {
        let mut client = Line::to(proxy.address).await;
        client.say(&head(headers, size)).await;
        let got = client.message().await;
        assert!(got.starts_with("HTTP/1.1 431 "), "{headers}: {got}");
        assert!(got.contains(words) && got.contains(sentence), "{got}");
    }
}
