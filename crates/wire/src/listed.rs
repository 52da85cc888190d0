//! Lists of another crate's messages, by the JSON that the crate itself makes of them.
//!
//! The crate's own serialization is read and written as the protocols are: each of its messages is a record, and what
//! a fold did not touch is made of the same JSON again, so nothing of it is lost that this crate has no word for.

use crate::WireError;
use crate::shared::messages::{Messages, ProblemKind};
use crate::shared::pairing::pair;
use crate::shared::raw::{self, Change};
use crate::shared::rewrite::{Dialect, Own, rewrite};
use crate::shared::source::Source;
use foldback_core::Frame;
use foldback_core::log::Message;
use foldback_core::view::Shown;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::marker::PhantomData;
use std::sync::Arc;

/// A list of another crate's messages `T`, with what they are here.
#[derive(Clone, Debug)]
pub struct History<T> {
    messages: Vec<Arc<Message>>,
    pub(crate) frame: Frame,
    source: Source,
    of: PhantomData<fn() -> T>,
}

impl<T: Serialize + DeserializeOwned> History<T> {
    /// Reads a list.
    pub(crate) fn read(list: &[T], read: fn(&Value) -> Messages) -> Result<Self, WireError> {
        let text = serde_json::to_string(list)?;
        let read = read(&serde_json::from_str(&text)?);
        if let Some(problem) =
            read.problems.into_iter().find(|problem| problem.kind != ProblemKind::UnknownType)
        {
            return Err(problem.into());
        }
        let mut messages: Vec<Arc<Message>> = read.messages.into_iter().map(Arc::new).collect();
        pair(&mut messages);
        let source = Source::document(&text, "")?;
        Ok(Self { messages, frame: read.frame, source, of: PhantomData })
    }

    /// The messages, in order. One assistant message for every answer, one tool message for every result.
    pub fn messages(&self) -> &[Arc<Message>] {
        &self.messages
    }

    /// The system prompt in front of them.
    pub fn frame(&self) -> &Frame {
        &self.frame
    }

    /// The list with the messages that a view shows, through the writer of the crate's JSON.
    pub(crate) fn shown(
        &self,
        sent: &[Shown<'_>],
        dialect: &mut dyn Dialect,
    ) -> Result<Vec<T>, WireError> {
        let text = if self.source.records.is_empty() {
            let messages: Vec<Message> = sent.iter().map(Shown::to_message).collect();
            let list = Value::from(dialect.generate(&messages, None));
            raw::patch(&self.source.text, &[(String::new(), Change::Set(list.to_string()))])?
        } else {
            rewrite(&Own::new(&self.messages, &self.source), sent, dialect, None)?
        };
        Ok(serde_json::from_str(&text)?)
    }
}
