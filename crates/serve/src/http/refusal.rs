//! Refusals by a provider: an error status, or a stream that begins with an error.
//!
//! An answer goes through as it comes. Only a possible refusal for size is held back, and not for long: once the
//! client has its beginning, the request can't be made again. What was read until then is passed on unchanged, with
//! all that follows.

use super::forward::Pieces;
use super::upstream::Answer;
use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use foldback_providers::wire::{Dialect, Stream as Assembled, WireError};
use futures_util::stream::{self, StreamExt as _};
use std::ops::ControlFlow::{self, Break, Continue};
use std::time::Duration;

/// Longest refusal that is read, in bytes.
const MOST: usize = 256 << 10;

/// How long the text of an error waits for its end.
const WORDS: Duration = Duration::from_secs(1);

/// How long the announcement of an answer waits for the answer.
const ANNOUNCED: Duration = Duration::from_secs(3);

/// The text of a refusal, if the answer is one, and the whole answer.
pub(crate) async fn refusal(dialect: Dialect, answer: Answer) -> (Option<Bytes>, Answer) {
    let kind = answer.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let streams = kind.is_some_and(|kind| kind.starts_with("text/event-stream"));
    let packed = answer.headers().contains_key(CONTENT_ENCODING);
    let (head, body) = answer.into_parts();
    let (words, body) = if may_be_for_size(head.status) {
        let opening = begin(body, WORDS, |_| Continue(())).await;
        (opening.is_whole.then(|| opening.text()), opening.body())
    } else if head.status.is_success() && streams && !packed {
        opened(dialect, body).await
    } else {
        (None, body)
    };
    (words, Answer::from_parts(head, body))
}

/// Whether a status may come with a refusal for size. Missing rights, rate limits and unknown paths have other
/// statuses.
fn may_be_for_size(status: StatusCode) -> bool {
    let others = [
        StatusCode::UNAUTHORIZED,
        StatusCode::PAYMENT_REQUIRED,
        StatusCode::FORBIDDEN,
        StatusCode::NOT_FOUND,
        StatusCode::METHOD_NOT_ALLOWED,
        StatusCode::REQUEST_TIMEOUT,
        StatusCode::CONFLICT,
        StatusCode::TOO_MANY_REQUESTS,
    ];
    status.is_client_error() && !others.contains(&status)
}

/// The beginning of a stream, if it is an error before anything of an answer, and the whole stream.
async fn opened(dialect: Dialect, body: Body) -> (Option<Bytes>, Body) {
    let (mut events, mut refused) = (Assembled::new(dialect), false);
    let opening = begin(body, ANNOUNCED, |piece| {
        let taken = events.push(piece);
        refused = matches!(taken, Err(WireError::Refused { .. })) && !events.has_begun();
        if taken.is_ok() && !events.has_begun() { Continue(()) } else { Break(()) }
    })
    .await;
    (refused.then(|| opening.text()), opening.body())
}

/// The pieces of a body that were read, and those that come.
struct Opening {
    read: Vec<Result<Bytes, axum::Error>>,
    rest: Pieces,
    /// No pieces follow.
    is_whole: bool,
}

/// Reads a body until it ends, breaks off, exceeds the size or the time, or `take` has seen enough.
async fn begin(
    body: Body,
    wait: Duration,
    mut take: impl FnMut(&Bytes) -> ControlFlow<()>,
) -> Opening {
    let mut rest = body.into_data_stream().fuse().boxed();
    let (mut read, mut bytes, mut is_whole) = (Vec::new(), 0, false);
    let reading = async {
        while bytes <= MOST {
            let Some(piece) = rest.next().await else {
                is_whole = true;
                return;
            };
            let goes_on = piece.as_ref().is_ok_and(|piece| {
                bytes += piece.len();
                take(piece).is_continue()
            });
            read.push(piece);
            if !goes_on {
                return;
            }
        }
    };
    // Where nothing came in time, it goes on as it is.
    let _ = tokio::time::timeout(wait, reading).await;
    Opening { read, rest, is_whole }
}

impl Opening {
    fn text(&self) -> Bytes {
        let pieces = self.read.iter().filter_map(|piece| piece.as_deref().ok());
        pieces.collect::<Vec<_>>().concat().into()
    }

    fn body(self) -> Body {
        Body::from_stream(stream::iter(self.read).chain(self.rest))
    }
}
