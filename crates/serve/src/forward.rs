//! Sends a request to its provider and the answer back, as they come.

use crate::headers::{self, OUTCOME};
use crate::outcome::Outcome;
use crate::watch::{Watch, Watched};
use axum::body::{Body, Bytes};
use axum::http::header::{ACCEPT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use futures_util::stream::{self, BoxStream, StreamExt};
use reqwest::Url;
use serde_json::json;

/// The bytes of a body.
pub(crate) type Pieces = BoxStream<'static, Result<Bytes, axum::Error>>;

/// What a provider answered.
pub(crate) type Answer = axum::http::Response<Body>;

/// Room that a body gets for the asking; more comes with its bytes.
const AT_ONCE: usize = 4 << 20;

/// A body that was read to be understood.
pub(crate) enum Gathered {
    /// All of it.
    Whole(Vec<u8>),
    /// It is too large; its pieces, as they come.
    TooLarge(Pieces),
    /// The client went away.
    Broken,
}

/// Reads a body up to a limit.
pub(crate) async fn gather(body: Body, headers: &HeaderMap, most: usize) -> Gathered {
    let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    let length: Option<usize> = length.and_then(|length| length.parse().ok());
    let mut pieces = body.into_data_stream().boxed();
    if length.is_some_and(|length| length > most) {
        return Gathered::TooLarge(pieces);
    }
    // Requests of a conversation grow: room of the same size for many of them is memory that the allocator has.
    let room = length.unwrap_or(0).min(AT_ONCE).next_power_of_two();
    let mut whole = Vec::with_capacity(room);
    while let Some(piece) = pieces.next().await {
        let Ok(piece) = piece else { return Gathered::Broken };
        if whole.len() + piece.len() > most {
            let read = [Bytes::from(whole), piece].map(Ok);
            return Gathered::TooLarge(stream::iter(read).chain(pieces).boxed());
        }
        whole.extend_from_slice(&piece);
    }
    Gathered::Whole(whole)
}

/// A request without its body, for a provider.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    http: reqwest::Client,
    method: reqwest::Method,
    url: Url,
    headers: HeaderMap,
}

impl Ask {
    pub(crate) fn new(http: &reqwest::Client, head: &Parts, url: Url) -> Self {
        let headers = headers::of_request(&head.headers);
        Self { http: http.clone(), method: head.method.clone(), url, headers }
    }

    /// Asks for an answer that is not packed.
    pub(crate) fn unpacked(mut self) -> Self {
        self.headers.remove(ACCEPT_ENCODING);
        self
    }

    /// Sends it with a body that goes through as it comes.
    pub(crate) async fn streamed(
        self,
        head: &Parts,
        body: Pieces,
    ) -> Result<Answer, reqwest::Error> {
        let framed = [CONTENT_LENGTH, TRANSFER_ENCODING];
        let has_body = framed.iter().any(|name| head.headers.contains_key(name));
        let request = self.http.request(self.method, self.url).headers(self.headers);
        let request = match has_body {
            true => request.body(reqwest::Body::wrap_stream(body)),
            false => request,
        };
        answer(request).await
    }

    /// Sends it with a body that is there.
    pub(crate) async fn whole(mut self, body: Bytes) -> Result<Answer, reqwest::Error> {
        self.headers.remove(CONTENT_LENGTH);
        let request = self.http.request(self.method, self.url).headers(self.headers);
        answer(request.body(body)).await
    }
}

async fn answer(request: reqwest::RequestBuilder) -> Result<Answer, reqwest::Error> {
    let answer = request.send().await?;
    Ok(axum::http::Response::<reqwest::Body>::from(answer).map(Body::new))
}

/// The provider's answer for the client, its body as it comes, read on its way.
pub(crate) fn answered(answer: Answer, outcome: Outcome, watch: Option<Watch>) -> Response {
    let (head, mut body) = answer.into_parts();
    if watch.is_some() {
        body = Body::from_stream(Watched::new(body.into_data_stream(), watch));
    }
    let mut response = Response::new(body);
    *response.status_mut() = head.status;
    *response.headers_mut() = headers::of_answer(&head.headers);
    say(&mut response, outcome);
    response
}

/// The answer where the provider gave none.
pub(crate) fn unreachable(error: reqwest::Error) -> Response {
    // The address may hold a key.
    let error = error.without_url();
    let mut text = format!("foldback: the provider can't be reached: {error}");
    let mut cause = std::error::Error::source(&error);
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    let mut response = failure(502, "upstream_unreachable", &text);
    say(&mut response, Outcome::Unreachable);
    response
}

/// An error of the proxy, in a form that clients of all protocols read.
pub(crate) fn failure(status: u16, kind: &str, message: &str) -> Response {
    let body = json!({"type": "error", "error": {"type": kind, "message": message}});
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn say(response: &mut Response, outcome: Outcome) {
    if let Ok(value) = HeaderValue::try_from(outcome.header()) {
        response.headers_mut().insert(OUTCOME, value);
    }
}
