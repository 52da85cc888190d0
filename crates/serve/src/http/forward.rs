//! Sends a request to its provider and the answer back, as they come.

use super::headers::{self, OUTCOME};
use super::provider::ModelPath;
use super::upstream::{Answer, Target, Upstream};
use crate::outcome::Outcome;
use axum::body::{Body, Bytes, HttpBody as _};
use axum::http::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::uri::PathAndQuery;
use axum::http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri};
use axum::response::Response;
use futures_util::stream::{self, BoxStream, StreamExt};
use hyper_util::client::legacy::Error;
use serde_json::json;
use std::time::Duration;
use thiserror::Error as ThisError;
use tokio::sync::watch;

/// The bytes of a body.
pub(crate) type Pieces = BoxStream<'static, Result<Bytes, axum::Error>>;

/// Most memory that is reserved for a body by its declared length.
const AT_ONCE: usize = 4 << 20;

/// How long a connection has to send its last piece after an answer broke off.
const LAST: Duration = Duration::from_millis(20);

/// A client that stopped in the middle of a body.
#[derive(Clone, Copy, Debug, ThisError)]
#[error("the client stopped in the middle of its request: nothing came for {seconds} s")]
pub(crate) struct Silent {
    seconds: u64,
}

/// A body that was read to be understood.
pub(crate) enum Gathered {
    /// The whole body.
    Whole(Vec<u8>),
    /// The pieces of a body that is too large.
    TooLarge(Pieces),
    /// The client went away.
    Broken,
    /// The client says nothing more.
    Silent(Silent),
}

/// The pieces of a client's body. None may take longer than `patience`, or than a moment once the proxy is to stop.
pub(crate) fn pieces(body: Body, patience: Duration, stop: Stop) -> Pieces {
    let pieces = body.into_data_stream().boxed();
    let next = move |(pieces, stop): (Option<Pieces>, Stop)| async move {
        let mut pieces = pieces?;
        let next = tokio::select! {
            biased;
            piece = pieces.next() => Ok(piece),
            () = tokio::time::sleep(patience) => Err(Silent { seconds: patience.as_secs() }),
            () = stop.and_a_moment() => Err(Silent { seconds: Stop::MOMENT.as_secs() }),
        };
        match next {
            Ok(piece) => Some((piece?, (Some(pieces), stop))),
            Err(silent) => Some((Err(axum::Error::new(silent)), (None, stop))),
        }
    };
    stream::unfold((Some(pieces), stop), next).boxed()
}

/// Tells when the proxy is to stop.
#[derive(Clone, Debug)]
pub(crate) struct Stop(pub(crate) watch::Receiver<bool>);

impl Stop {
    /// How long a client that is in the middle of its request may then say nothing.
    pub(crate) const MOMENT: Duration = Duration::from_secs(1);

    /// Waits until the proxy is to stop, and a moment.
    pub(crate) async fn and_a_moment(&self) {
        // Without a sender it never stops.
        if self.0.clone().wait_for(|stop| *stop).await.is_err() {
            std::future::pending::<()>().await;
        }
        tokio::time::sleep(Self::MOMENT).await;
    }
}

/// The length that a request says its body has.
pub(crate) fn length(headers: &HeaderMap) -> Option<usize> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Reads a body up to a limit.
pub(crate) async fn gather(mut pieces: Pieces, length: Option<usize>, most: usize) -> Gathered {
    if length.is_some_and(|length| length > most) {
        return Gathered::TooLarge(pieces);
    }
    // Requests of a conversation grow: room of the same size for many of them is memory that the allocator has.
    let room = length.unwrap_or(0).min(AT_ONCE).next_power_of_two();
    let mut whole = Vec::with_capacity(room);
    while let Some(piece) = pieces.next().await {
        let piece = match piece {
            Ok(piece) => piece,
            Err(error) => return silence(&error).map_or(Gathered::Broken, Gathered::Silent),
        };
        if whole.len() + piece.len() > most {
            let read = [Bytes::from(whole), piece].map(Ok);
            return Gathered::TooLarge(stream::iter(read).chain(pieces).boxed());
        }
        whole.extend_from_slice(&piece);
    }
    Gathered::Whole(whole)
}

/// The silent client behind an error, if that is its cause.
pub(crate) fn silence(error: &(dyn std::error::Error + 'static)) -> Option<Silent> {
    let mut causes = std::iter::successors(Some(error), |error| error.source());
    causes.find_map(|error| error.downcast_ref::<Silent>().copied())
}

/// A request without its body, for a provider.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    method: Method,
    target: Target,
    headers: HeaderMap,
}

impl Ask {
    pub(crate) fn new(head: &Parts, target: Target) -> Self {
        let mut headers = headers::of_request(&head.headers);
        if let Some(credentials) = &target.credentials {
            headers.entry(AUTHORIZATION).or_insert_with(|| credentials.clone());
        }
        Self { method: head.method.clone(), target, headers }
    }

    /// Asks for an uncompressed answer.
    pub(crate) fn unpacked(mut self) -> Self {
        self.headers.remove(ACCEPT_ENCODING);
        self
    }

    /// Turns the request into one for a summary. Its idempotency key would bring the answer to the client's request.
    pub(crate) fn for_summary(self) -> Self {
        let mut ask = self.unpacked();
        ask.headers.remove("idempotency-key");
        ask.headers.insert(ACCEPT, HeaderValue::from_static("*/*"));
        ask.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        ask
    }

    /// Asks another model, where the path names it. `None` if no path can have that name.
    pub(crate) fn for_model(mut self, model: &str) -> Option<Self> {
        let uri = self.target.uri;
        let ModelPath { before, method, .. } = ModelPath::parse(uri.path())?;
        let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
        let path = PathAndQuery::try_from(format!("{before}{model}:{method}{query}")).ok()?;
        let mut parts = uri.into_parts();
        parts.path_and_query = Some(path);
        self.target.uri = Uri::from_parts(parts).ok()?;
        Some(self)
    }

    /// The provider's address.
    pub(crate) fn address(&self) -> String {
        self.target.address()
    }

    fn request<B>(self, body: B) -> Request<B> {
        let mut request = Request::new(body);
        *request.method_mut() = self.method;
        *request.uri_mut() = self.target.uri;
        *request.headers_mut() = self.headers;
        request
    }

    /// Sends the request with a body that goes through as it comes.
    pub(crate) async fn streamed(self, upstream: &Upstream, body: Pieces) -> Result<Answer, Error> {
        upstream.stream(self.request(Body::from_stream(body))).await
    }

    /// Sends the request with a complete body.
    pub(crate) async fn whole(mut self, upstream: &Upstream, body: Bytes) -> Result<Answer, Error> {
        self.headers.remove(CONTENT_LENGTH);
        upstream.ask(self.request(body)).await
    }
}

/// The provider's answer for the client, its body as it comes. The pieces of its body go `through` what reads them.
pub(crate) fn answered(
    answer: Answer,
    outcome: Outcome,
    through: impl FnOnce(Pieces) -> Body,
) -> Response {
    let (head, mut body) = answer.into_parts();
    if !body.is_end_stream() {
        let pieces = body.into_data_stream().then(|piece| async {
            if piece.is_err() {
                // The connection is dropped at an error, with what it has not sent.
                tokio::time::sleep(LAST).await;
            }
            piece
        });
        body = through(pieces.boxed());
    }
    let mut response = Response::new(body);
    *response.status_mut() = head.status;
    *response.headers_mut() = headers::of_answer(&head.headers);
    say(&mut response, outcome);
    response
}

/// Why a provider gave no answer, with its address.
pub(crate) fn why_unreachable(address: &str, error: &Error) -> String {
    let first: &dyn std::error::Error = error;
    let causes = std::iter::successors(Some(first), |error| error.source());
    let causes: Vec<String> = causes.map(ToString::to_string).collect();
    format!("{address} can't be reached: {}", causes.join(": "))
}

/// The proxy's answer if the provider gave none.
pub(crate) fn unreachable(why: &str) -> Response {
    let mut response = failure(502, "upstream_unreachable", &format!("foldback: {why}"));
    say(&mut response, Outcome::Unreachable);
    response
}

/// An error of the proxy, in a form that clients of all protocols read.
pub(crate) fn failure(status: u16, kind: &str, message: &str) -> Response {
    let mut response = Response::new(Body::from(failure_text(kind, message)));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// The body of an error of the proxy.
pub(crate) fn failure_text(kind: &str, message: &str) -> String {
    json!({"type": "error", "error": {"type": kind, "message": message}}).to_string()
}

fn say(response: &mut Response, outcome: Outcome) {
    if let Ok(value) = HeaderValue::try_from(outcome.header()) {
        response.headers_mut().insert(OUTCOME, value);
    }
}
