//! The server: reads a request, asks the script, writes what it says.

use crate::protocol::{Protocol, Spelling};
use crate::recorded::Recorded;
use crate::reply::{Content, Reply, Usage};
use crate::state::{Counter, State, Waiting};
use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::response::Response;
use axum::serve::ListenerExt;
use futures_util::stream::{self, StreamExt};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// What the provider answers.
pub enum Script {
    /// One after the other. Past the end every request is refused with status 400.
    List(VecDeque<Reply>),
    /// Whatever this says to a request.
    Answer(Box<dyn FnMut(&Recorded) -> Reply + Send>),
}

impl Script {
    /// Answers by a function of the request.
    pub fn answer(answer: impl FnMut(&Recorded) -> Reply + Send + 'static) -> Self {
        Self::Answer(Box::new(answer))
    }
}

impl<I: IntoIterator<Item = Reply>> From<I> for Script {
    fn from(replies: I) -> Self {
        Self::List(replies.into_iter().collect())
    }
}

/// Settings of a server.
pub struct Builder {
    pub(crate) script: Script,
    pub(crate) counter: Counter,
    pub(crate) window: Option<u64>,
    pub(crate) output_counts: bool,
    pub(crate) pairs: bool,
    pub(crate) everywhere: bool,
}

impl Builder {
    /// Refuses requests that, with the output they ask for, have more tokens than this, in the words of
    /// the protocol's own provider; the script is not asked.
    #[must_use]
    pub fn window(mut self, tokens: u64) -> Self {
        self.window = Some(tokens);
        self.output_counts = true;
        self
    }

    /// As [`window`](Self::window), for a provider to which the output asked for does not count.
    #[must_use]
    pub fn input_window(mut self, tokens: u64) -> Self {
        self.window = Some(tokens);
        self.output_counts = false;
        self
    }

    /// Refuses requests in which a tool result has no call before it, or a call no result behind it, in
    /// OpenAI's words; other protocols are not looked at.
    #[must_use]
    pub fn pairs(mut self) -> Self {
        self.pairs = true;
        self
    }

    /// Answers at every path, with what the script says; by default, paths of no protocol are not found.
    #[must_use]
    pub fn everywhere(mut self) -> Self {
        self.everywhere = true;
        self
    }

    /// Counts the tokens of a request, for its usage and for the window. By default four bytes of the
    /// body are a token.
    #[must_use]
    pub fn counter(mut self, counter: impl Fn(&Recorded) -> u64 + Send + Sync + 'static) -> Self {
        self.counter = Box::new(counter);
        self
    }

    /// Listens on a free port of this machine, on the current runtime.
    ///
    /// # Errors
    ///
    /// No port could be opened.
    pub async fn start(self) -> io::Result<FakeProvider> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        // Pieces of a stream go out at once instead of waiting for the client to confirm the last.
        let listener = listener.tap_io(|connection| {
            let _ = connection.set_nodelay(true);
        });
        let state = Arc::new(State::new(self));
        let shared = Arc::clone(&state);
        let app = Router::new().fallback(move |request: Request| {
            let state = Arc::clone(&shared);
            async move { serve(&state, request).await }
        });
        let serving = tokio::spawn(async move {
            // Serving ends with the task only.
            let _ = axum::serve(listener, app).await;
        });
        Ok(FakeProvider { address, state, serving })
    }
}

/// A running server. Dropped, it accepts no more connections.
pub struct FakeProvider {
    address: SocketAddr,
    state: Arc<State>,
    serving: JoinHandle<()>,
}

impl FakeProvider {
    /// A server with a script and default settings.
    ///
    /// # Errors
    ///
    /// No port could be opened.
    pub async fn start(script: impl Into<Script>) -> io::Result<Self> {
        Self::builder(script).start().await
    }

    /// Settings of a server.
    pub fn builder(script: impl Into<Script>) -> Builder {
        Builder {
            script: script.into(),
            counter: Box::new(|request| (request.bytes as u64).div_ceil(4)),
            window: None,
            output_counts: true,
            pairs: false,
            everywhere: false,
        }
    }

    /// Where it listens, e.g. `http://127.0.0.1:41234`, without a slash at the end. Ollama's base URL,
    /// with a slash.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Base URL of the OpenAI and the Anthropic protocol.
    pub fn openai_url(&self) -> String {
        format!("{}/v1/", self.url())
    }

    /// Base URL of the Gemini protocol.
    pub fn gemini_url(&self) -> String {
        format!("{}/v1beta/", self.url())
    }

    /// Every request so far, answered or not.
    pub fn requests(&self) -> Vec<Arc<Recorded>> {
        self.state.requests()
    }

    /// Adds to the list of replies; a script that is a function is not changed.
    pub fn push(&self, reply: Reply) {
        self.state.push(reply);
    }

    /// Answers all requests that [hang](Reply::hang) now.
    pub fn release(&self) {
        self.state.released.send_modify(|releases| *releases += 1);
    }

    /// Waits until so many requests were received.
    pub async fn received(&self, requests: usize) {
        let mut received = self.state.received.subscribe();
        // The sender lives in `self`.
        let _ = received.wait_for(|count| *count >= requests).await;
    }

    /// Requests whose client went away while they hung.
    pub fn cancelled(&self) -> usize {
        self.state.cancelled()
    }
}

impl Drop for FakeProvider {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl fmt::Debug for FakeProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FakeProvider")
            .field("address", &self.address)
            .field("requests", &self.state.count())
            .finish_non_exhaustive()
    }
}

async fn serve(state: &State, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let path = head.uri.path().to_owned();
    let unknown = || state.everywhere.then_some(Protocol::Unknown);
    let Some(protocol) = Protocol::of(&path).or_else(unknown) else {
        let message = format!("no model protocol is spoken at {path}");
        return response(404, &json!({"error": {"message": message}}));
    };
    let Ok(bytes) = to_bytes(body, usize::MAX).await else {
        return response(400, &json!({"error": {"message": "the body broke off"}}));
    };
    let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
    let headers = head.headers.iter().map(|(name, value)| {
        let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
        (name.as_str().to_owned(), value)
    });
    // Subscribed before the request can be seen, so that no release is missed.
    let mut released = state.released.subscribe();
    let request = state.record(Recorded {
        number: 0,
        protocol,
        path: head.uri.to_string(),
        headers: headers.collect(),
        stream: protocol.streams(&path, &body),
        bytes: bytes.len(),
        tokens: 0,
        body,
        text: String::from_utf8_lossy(&bytes).into_owned(),
    });
    let output = match state.output_counts {
        true => request.max_output().unwrap_or(0),
        false => 0,
    };
    if let Some(window) = state.window
        && request.tokens + output > window
    {
        return response(400, &protocol.overflow(window, request.tokens, output));
    }
    if let Some(refusal) = state.pairs.then(|| protocol.unpaired(request.messages())).flatten() {
        return response(400, &refusal);
    }
    let Some(reply) = state.next(&request) else {
        let message = format!("the script has no reply number {}", request.number);
        return response(400, &json!({"error": {"message": message}}));
    };
    if reply.hang {
        let mut waiting = Waiting { state, answered: false };
        // The sender lives in `state`.
        let _ = released.changed().await;
        waiting.answered = true;
    }
    write(&request, &path, reply)
}

/// Spells a reply.
fn write(request: &Recorded, path: &str, reply: Reply) -> Response {
    let protocol = request.protocol;
    let json_type = "application/json";
    let (status, content_type, mut pieces) = match (&reply.content, request.stream) {
        (Content::Raw { status, content_type, body }, _) => {
            (*status, content_type.as_str(), vec![body.clone()])
        }
        (Content::Garbage, false) => (200, json_type, vec!["{\"choices\": [{\"mess".to_owned()]),
        (Content::Garbage, true) => (200, protocol.stream_type(), protocol.garbage()),
        (Content::Answer(answer), stream) => {
            let counted = Usage {
                input: request.tokens,
                output: (answer.bytes() as u64).div_ceil(4),
                ..Usage::default()
            };
            let usage = reply.usage.unwrap_or(counted);
            let spelling = Spelling {
                model: &protocol.model(path, &request.body),
                answer,
                usage: (!reply.silent).then_some(usage),
                told: reply.told,
                number: request.number,
                stream_usage: request.body["stream_options"]["include_usage"] == json!(true),
            };
            if stream {
                (200, protocol.stream_type(), protocol.pieces(&spelling))
            } else {
                let whole = protocol.whole(&spelling).to_string();
                (200, json_type, vec![whole])
            }
        }
    };
    if let Some(error) = &reply.error_event {
        pieces.pop();
        pieces.push(match request.stream {
            true => protocol.error_piece(error),
            false => error.clone(),
        });
    }
    let mut response = Response::new(body(pieces, reply.cut));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::IM_A_TEAPOT);
    let content_type = [("content-type".to_owned(), content_type.to_owned())];
    for (name, value) in content_type.into_iter().chain(reply.headers) {
        if let (Ok(name), Ok(value)) =
            (header::HeaderName::try_from(name), header::HeaderValue::try_from(value))
        {
            response.headers_mut().append(name, value);
        }
    }
    response
}

/// A body of pieces, each sent on its own; cut, it ends with an error after so many bytes, at which the
/// connection is closed.
fn body(pieces: Vec<String>, cut: Option<usize>) -> Body {
    let mut left = cut.unwrap_or(usize::MAX);
    let mut kept = Vec::new();
    for piece in pieces {
        let mut bytes = Bytes::from(piece);
        bytes.truncate(left);
        left -= bytes.len();
        if !bytes.is_empty() {
            kept.push(Ok(bytes));
        }
    }
    let sent = !kept.is_empty();
    let kept = stream::iter(kept).then(|piece| async move {
        // Lets the connection send what it has, so that pieces arrive one by one.
        tokio::task::yield_now().await;
        piece
    });
    let end = stream::iter(cut.map(|_| Err(io::Error::other("cut")))).then(move |end| async move {
        // Without anything sent before, not even the head of the response may go out.
        if sent {
            tokio::task::yield_now().await;
        }
        end
    });
    Body::from_stream(kept.chain(end))
}

fn response(status: u16, body: &Value) -> Response {
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::IM_A_TEAPOT);
    let json = header::HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}
