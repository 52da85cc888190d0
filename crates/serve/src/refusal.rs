//! What a provider says against a request: an error by the status, or a stream that begins with one.
//!
//! A stream goes through as it comes. Its announcements alone wait for what comes next, and not for long: once the client
//! has them, the request can't be made again.

use crate::forward::{Answer, Gathered, Pieces, gather};
use axum::body::{Body, Bytes};
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use foldback_wire::{Dialect, Stream as Assembled, WireError};
use futures_util::stream::{self, StreamExt as _};
use std::time::Duration;

/// Longest refusal that is read, in bytes.
const MOST: usize = 256 << 10;

/// How long the announcement of an answer waits for the answer.
const WAIT: Duration = Duration::from_secs(3);

/// The words of a refusal, if the answer is one, and the answer as it came.
pub(crate) async fn refusal(dialect: Dialect, answer: Answer) -> (Option<Bytes>, Answer) {
    let kind = answer.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let streams = kind.is_some_and(|kind| kind.starts_with("text/event-stream"));
    let packed = answer.headers().contains_key(CONTENT_ENCODING);
    let (head, body) = answer.into_parts();
    let (words, body) = if head.status.is_client_error() {
        match gather(body, &head.headers, MOST).await {
            Gathered::Whole(bytes) => {
                let bytes = Bytes::from(bytes);
                (Some(bytes.clone()), Body::from(bytes))
            }
            Gathered::TooLarge(pieces) => (None, Body::from_stream(pieces)),
            Gathered::Broken => (None, Body::from_stream(broken())),
        }
    } else if head.status.is_success() && streams && !packed {
        opened(dialect, body.into_data_stream().boxed()).await
    } else {
        (None, body)
    };
    (words, Answer::from_parts(head, body))
}

/// The beginning of a stream, if it is an error before anything of an answer, and the whole stream.
async fn opened(dialect: Dialect, mut pieces: Pieces) -> (Option<Bytes>, Body) {
    let (mut read, mut bytes, mut refused) = (Vec::new(), 0, false);
    let mut events = Assembled::new(dialect);
    let announced = async {
        while let Some(piece) = pieces.next().await {
            let next = piece.as_ref().map(|piece| (piece.len(), events.push(piece)));
            let goes_on = matches!(&next, Ok((_, Ok(()))) if !events.has_begun());
            if let Ok((length, taken)) = next {
                bytes += length;
                refused = matches!(taken, Err(WireError::Refused { .. })) && !events.has_begun();
            }
            read.push(piece);
            if !goes_on || bytes > MOST {
                return;
            }
        }
    };
    // Where nothing came in time, it goes on as it is.
    let _ = tokio::time::timeout(WAIT, announced).await;
    let words = refused.then(|| {
        let pieces = read.iter().filter_map(|piece| piece.as_deref().ok());
        pieces.collect::<Vec<_>>().concat().into()
    });
    (words, Body::from_stream(stream::iter(read).chain(pieces)))
}

/// The end of a body that broke off.
fn broken() -> Pieces {
    let error = std::io::Error::other("the answer broke off");
    stream::iter([Err(axum::Error::new(error))]).boxed()
}
