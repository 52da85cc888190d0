//! Reads an answer while it goes through, for what it cost and why the model stopped.
//!
//! The client gets the provider's bytes as they come. An answer that can't be read is no error: the conversation goes on
//! without its usage.

use super::idle::IdleWaits;
use super::turn::Turn;
use crate::http::forward::Ask;
use crate::settings::Say;
use axum::body::Bytes;
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use foldback_providers::wire::responses::referable;
use foldback_providers::wire::{Dialect, Stream as Assembled, answer_of};
use futures_util::stream::Stream;
use serde_json::Value;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Longest answer in one piece that is read, in bytes.
const MOST: usize = 16 << 20;

/// The answer as far as it was received.
enum Assembly {
    Streamed(Box<Assembled>),
    Whole(Vec<u8>),
}

/// Who waits for the idle moment behind an answer, and the request that is answered.
pub(crate) type Idle = (Arc<IdleWaits>, Ask, Say);

/// Reads the answer to one request.
pub(crate) struct Watch {
    turn: Turn,
    idle: Option<Idle>,
    dialect: Dialect,
    assembly: Assembly,
    /// Bytes still to come, if the provider says how many.
    length: Option<usize>,
}

impl Watch {
    /// Begins to read an answer; `None` if it is packed. `idle` where the strategy waits for the idle moment behind it.
    pub(crate) fn new(
        turn: Turn,
        dialect: Dialect,
        headers: &HeaderMap,
        idle: Option<Idle>,
    ) -> Option<Self> {
        if headers.get(CONTENT_ENCODING).is_some_and(|encoding| encoding != "identity") {
            return None;
        }
        let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let assembly = match kind.is_some_and(|kind| kind.starts_with("text/event-stream")) {
            true => Assembly::Streamed(Box::new(Assembled::new(dialect))),
            false => Assembly::Whole(Vec::new()),
        };
        let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok());
        let length = length.and_then(|length| length.parse().ok());
        Some(Self { turn, idle, dialect, assembly, length })
    }

    /// Takes the next bytes; `None` once nothing more is to be read. An answer ends with its last event, or with
    /// the last byte of a known length: the client may go on before anybody asks for more.
    fn push(mut self, bytes: &[u8]) -> Option<Self> {
        match &mut self.assembly {
            Assembly::Streamed(stream) => {
                stream.push(bytes).ok()?;
                if stream.is_over() {
                    self.finish();
                    return None;
                }
                Some(self)
            }
            Assembly::Whole(whole) => {
                whole.extend_from_slice(bytes);
                let read = whole.len();
                if self.length.is_some_and(|length| read >= length) {
                    self.finish();
                    return None;
                }
                (read <= MOST).then_some(self)
            }
        }
    }

    /// The answer has ended. An incomplete answer is not remembered.
    fn finish(self) {
        let body = match self.assembly {
            Assembly::Streamed(stream) => stream.body().ok(),
            Assembly::Whole(whole) => serde_json::from_slice::<Value>(&whole).ok(),
        };
        let Some(body) = body else { return };
        if let Ok(message) = answer_of(self.dialect, "answer", &body) {
            let items = referable(&body).filter(|_| self.turn.is_stored);
            let items = items.map(|(id, item)| (id.to_owned(), item)).collect();
            self.turn.answered(&message, items);
            if let Some((waits, ask, say)) = self.idle {
                waits.begin(&self.turn, message, &ask, &say);
            }
        }
    }
}

/// A body that is read as it goes through. A client may close the connection after the last event, so a dropped body has
/// ended, too.
pub(crate) struct Watched<S> {
    pieces: S,
    watch: Option<Watch>,
}

impl<S> Watched<S> {
    pub(crate) fn new(pieces: S, watch: Option<Watch>) -> Self {
        Self { pieces, watch }
    }
}

impl<E, S: Stream<Item = Result<Bytes, E>> + Unpin> Stream for Watched<S> {
    type Item = Result<Bytes, E>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = Pin::new(&mut self.pieces).poll_next(context);
        match &next {
            Poll::Ready(Some(Ok(bytes))) => {
                self.watch = self.watch.take().and_then(|watch| watch.push(bytes));
            }
            Poll::Ready(Some(Err(_))) => self.watch = None,
            Poll::Ready(None) => {
                if let Some(watch) = self.watch.take() {
                    watch.finish();
                }
            }
            Poll::Pending => {}
        }
        next
    }
}

impl<S> Drop for Watched<S> {
    fn drop(&mut self) {
        if let Some(watch) = self.watch.take() {
            watch.finish();
        }
    }
}
