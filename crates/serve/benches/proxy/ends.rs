//! The provider and the two proxies.

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::Uri;
use axum::http::header::CONTENT_LENGTH;
use axum::response::{IntoResponse as _, Response};
use foldback::Limits;
use foldback_serve::{Folding, Server, Settings};
use std::io::{BufRead as _, BufReader};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Command, Stdio};
use std::sync::Arc;
use tokio::net::TcpListener;

/// What the plain proxy is called, where a preset could stand.
pub(crate) const PLAIN: &str = "plain";

/// A protocol that agents speak.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Protocol {
    Chat,
    Messages,
}

impl Protocol {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Chat => "Chat",
            Self::Messages => "Messages",
        }
    }

    fn path(self) -> &'static str {
        match self {
            Self::Chat => "/v1/chat/completions",
            Self::Messages => "/v1/messages",
        }
    }
}

const CHAT: &str = r#"{"model":"m","choices":[{"message":{"role":"assistant","content":"I read it."},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":4,"total_tokens":5}}"#;
const MESSAGES: &str = r#"{"model":"m","role":"assistant","content":[{"type":"text","text":"I read it."}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":4}}"#;

/// Listens for a router; the URL.
async fn listening(router: Router) -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    url
}

/// A provider that reads a request and gives the same answer to all of a protocol; its URL.
pub(crate) async fn answering() -> String {
    let all = move |uri: Uri, _: Bytes| async move {
        let answer = if uri.path() == Protocol::Messages.path() { MESSAGES } else { CHAT };
        ([("content-type", "application/json")], answer)
    };
    let limit = axum::extract::DefaultBodyLimit::disable();
    listening(Router::new().fallback(all).layer(limit)).await
}

fn http() -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().build().unwrap()
}

/// A proxy that sends a body on, piece by piece as it comes.
async fn plain(upstream: String) -> String {
    let http = http();
    let all = move |request: Request| {
        let (http, upstream) = (http.clone(), upstream.clone());
        async move {
            let (head, body) = request.into_parts();
            let url = format!("{upstream}{}", head.uri.path());
            let length = head.headers[CONTENT_LENGTH].clone();
            let body = reqwest::Body::wrap_stream(body.into_data_stream());
            let asked = http.request(head.method, url).header(CONTENT_LENGTH, length).body(body);
            let answer = asked.send().await.unwrap();
            Response::from(axum::http::Response::from(answer).map(Body::new)).into_response()
        }
    };
    listening(Router::new().fallback(all)).await
}

/// A proxy as a process of its own: says where it listens, and runs until it is killed.
pub(crate) async fn child(args: &[String]) {
    match args {
        [kind, upstream] if kind == PLAIN => {
            println!("{}", plain(upstream.clone()).await);
            std::future::pending::<()>().await;
        }
        [preset, upstream, window, kept] => {
            let registry = foldback::registry().unwrap();
            let strategy = Arc::new(foldback::preset(&registry, preset).unwrap());
            let limits = Limits::new(window.parse().unwrap(), 1_000);
            let mut folding = Folding::new(strategy, Arc::new(move |_| Some(limits))).unwrap();
            folding.max_conversations = kept.parse().unwrap();
            let mut settings = Settings::default();
            settings.listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
            settings.set_upstream(upstream).unwrap();
            let server = Server::bind(settings, folding).await.unwrap();
            println!("http://{}", server.address());
            server.run(std::future::pending()).await;
        }
        _ => panic!("what the bench starts itself"),
    }
}

/// A proxy in a process of its own, which ends with the last handle to it.
#[derive(Clone)]
pub(crate) struct Child {
    url: String,
    http: reqwest::Client,
    process: Arc<Process>,
}

struct Process(std::process::Child);

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Child {
    pub(crate) fn start(args: &[&str]) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let mut process = command.arg("child").args(args).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim().to_owned();
        Self { url, http: http(), process: Arc::new(Process(process)) }
    }

    /// Sends a body through the proxy; returns the header that says what was done with it.
    pub(crate) async fn ask(&self, protocol: Protocol, body: String) -> String {
        let url = format!("{}{}", self.url, protocol.path());
        let answer = self.http.post(url).body(body).send().await.unwrap();
        let outcome = answer.headers().get("x-foldback");
        let outcome = outcome.map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default();
        // A request that the proxy does not follow would be measured for nothing.
        let followed = ["", "unchanged", "folded"].contains(&outcome.split(';').next().unwrap());
        assert!(answer.status().is_success() && followed, "{outcome}");
        answer.bytes().await.unwrap();
        outcome
    }

    /// Bytes of conversations by its own count.
    pub(crate) async fn counted(&self) -> u64 {
        let metrics = self.http.get(format!("{}/metrics", self.url)).send().await.unwrap();
        let metrics = metrics.text().await.unwrap();
        let line = metrics
            .lines()
            .find_map(|line| line.strip_prefix("foldback_proxy_conversation_bytes "));
        line.unwrap().parse().unwrap()
    }

    /// Milliseconds of a processor that it has used.
    pub(crate) fn processor(&self) -> f64 {
        let stat = format!("/proc/{}/stat", self.process.0.id());
        let stat = std::fs::read_to_string(stat).unwrap();
        // Behind the name of the program; user and system time in hundredths of a second.
        let rest = stat.rsplit(')').next().unwrap().split_whitespace();
        rest.skip(11).take(2).map(|ticks| ticks.parse::<f64>().unwrap() * 10.0).sum()
    }

    /// Resident memory of the process, in bytes.
    pub(crate) fn memory(&self) -> u64 {
        let status = format!("/proc/{}/status", self.process.0.id());
        let status = std::fs::read_to_string(status).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.split_whitespace().next().unwrap().parse::<u64>().unwrap() * 1_024
    }
}
