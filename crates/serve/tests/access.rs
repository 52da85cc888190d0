//! Who may use the proxy, and how many at a time.

use crate::support::hand::{Line, request};
use crate::support::{Proxy, WINDOW, folding, http, settings};
use foldback_fake_provider::{FakeProvider, Reply, Script};
use foldback_serve::{ServeError, Server, Settings, SettingsError};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

async fn bind(settings: Settings) -> Result<Server, ServeError> {
    Server::bind(settings, folding("window", WINDOW)).await
}

async fn provider() -> FakeProvider {
    FakeProvider::start(Script::answer(|_| Reply::text("Hi."))).await.unwrap()
}

#[tokio::test]
async fn an_address_that_others_reach_needs_a_token() {
    let mut open = Settings::default();
    open.listen = "0.0.0.0:0".parse().unwrap();
    let refused = bind(open.clone()).await.unwrap_err();
    assert!(matches!(refused, ServeError::Settings(SettingsError::NoToken(_))), "{refused}");
    open.token = Some("t".to_owned());
    bind(open).await.unwrap();
}

#[tokio::test]
async fn a_request_without_the_token_never_reaches_the_provider() {
    let provider = provider().await;
    let mut settings = settings(&provider);
    settings.token = Some("planted-token".to_owned());
    let proxy = Proxy::with(settings).await;
    let url = format!("{}/v1/messages", proxy.url);
    for token in [None, Some("another")] {
        let mut request = http().post(&url).body("{}");
        if let Some(token) = token {
            request = request.header("x-foldback-token", token);
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 401, "{token:?}");
        assert!(!response.text().await.unwrap().contains("planted-token"));
    }
    assert!(provider.requests().is_empty());
    let request = http().post(&url).body("{}").header("x-foldback-token", "planted-token");
    assert_eq!(request.send().await.unwrap().status(), 200);
    let [request] = &provider.requests()[..] else { panic!("one request") };
    assert_eq!(request.header("x-foldback-token"), None, "the token is the proxy's alone");
    // Whoever watches the process needs no token.
    let health = http().get(format!("{}/healthz", proxy.url)).send().await.unwrap();
    assert_eq!(health.text().await.unwrap(), "ok\n");
}

#[tokio::test]
async fn a_page_that_points_its_name_at_this_machine_is_refused() {
    let provider = provider().await;
    let proxy = Proxy::start(&provider).await;
    let url = format!("{}/v1/messages", proxy.url);
    let request = http().post(&url).header("host", "evil.example").body("{}");
    assert_eq!(request.send().await.unwrap().status(), 421);
    assert!(provider.requests().is_empty());
    let metrics = proxy.metrics().await;
    assert!(metrics.contains("foldback_proxy_refused_total{why=\"host\"} 1"), "{metrics}");
}

/// A connection that has a place and keeps it: its request is not whole.
async fn held(proxy: &Proxy) -> TcpStream {
    let mut stream = TcpStream::connect(proxy.address).await.unwrap();
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n").await.unwrap();
    stream
}

#[tokio::test]
async fn connections_over_the_limit_are_told_so_once_it_was_reached_for_a_while() {
    let provider = provider().await;
    let mut settings = settings(&provider);
    settings.max_connections = 1;
    settings.queue = Duration::from_millis(50);
    let proxy = Proxy::with(settings).await;
    let first = held(&proxy).await;
    let url = format!("{}/v1/messages", proxy.url);
    for number in 0..40 {
        // A client that sends all before it reads; some send more than the system takes for a proxy that does not read.
        let body = "x".repeat(if number % 10 == 0 { 20 << 20 } else { 100 });
        let mut client = Line::to(proxy.address).await;
        client.say(&request("POST /v1/messages", "", &body)).await;
        let got = client.rest().await;
        assert!(got.starts_with("HTTP/1.1 503 "), "{number}: {got}");
        assert!(got.contains("\r\nretry-after: 5\r\n"), "{got}");
        assert!(got.contains("foldback_full") && got.contains("serves 1 connections"), "{got}");
    }
    // A page learns no more than at other times.
    let page = http().post(&url).header("origin", "http://evil.example").body("{}");
    assert_eq!(page.send().await.unwrap().status(), 403);
    assert!(provider.requests().is_empty());
    // Who begins a request and says no more is not waited for, and holds up nobody.
    let mut silent = Vec::new();
    for _ in 0..20 {
        let mut stream = TcpStream::connect(proxy.address).await.unwrap();
        stream.write_all(b"POST /v1/mess").await.unwrap();
        silent.push(stream);
    }
    for mut stream in silent {
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest).await;
        assert!(rest.is_empty(), "{}", String::from_utf8_lossy(&rest));
    }
    drop(first);
    // There is room again.
    let mut status = 503;
    while status == 503 {
        status = http().get(format!("{}/healthz", proxy.url)).send().await.unwrap().status().into();
    }
    assert_eq!(status, 200);
    let metrics = proxy.metrics().await;
    assert!(metrics.contains("foldback_proxy_refused_total{why=\"full\"} 4"), "{metrics}");
}

#[tokio::test]
async fn connections_over_the_limit_wait() {
    let provider = provider().await;
    let mut settings = settings(&provider);
    settings.max_connections = 1;
    let proxy = Proxy::with(settings).await;
    let first = held(&proxy).await;
    let ask = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let mut read = [0; 12];
    let mut second = TcpStream::connect(proxy.address).await.unwrap();
    second.write_all(ask).await.unwrap();
    let early = tokio::time::timeout(Duration::from_millis(100), second.read_exact(&mut read));
    assert!(early.await.is_err(), "there is no room yet");
    drop(first);
    second.read_exact(&mut read).await.unwrap();
    assert_eq!(&read, b"HTTP/1.1 200");
}

/// One that has its answer may stay open for long: it does while there are places, and goes when there are none.
#[tokio::test]
async fn an_answered_connection_gives_its_place_away_once_all_are_taken() {
    let provider = provider().await;
    let mut settings = settings(&provider);
    settings.max_connections = 2;
    let proxy = Proxy::with(settings).await;
    let ask = request("GET /healthz", "", "");
    let mut first = Line::to(proxy.address).await;
    for _ in 0..3 {
        first.say(&ask).await;
        assert!(!first.message().await.contains("connection: close"), "there is another place");
    }
    let mut second = Line::to(proxy.address).await;
    second.say(&ask).await;
    // The listener notices that the last place is taken a moment later.
    while !second.message().await.contains("connection: close") {
        second.say(&ask).await;
    }
    assert_eq!(second.rest().await, "");
    let mut third = Line::to(proxy.address).await;
    third.say(&ask).await;
    assert!(third.message().await.starts_with("HTTP/1.1 200 "));
}
