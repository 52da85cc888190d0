//! A request that begins like an earlier one: only its new part is read.
//!
//! A client sends its whole conversation with every request, and reading megabytes again takes longer than everything
//! else. So the messages of earlier records are kept, with the reader's state behind them. In the text that is read, one
//! placeholder stands for all known records. Reading takes time for the new records, and for what is sent around the
//! messages if that changed.
//!
//! Clients move their cache breakpoints (`cache_control`) from request to request. The last records that have one don't
//! count as known and are read again.

use crate::wire::shared::messages::{Messages, Problem};
use crate::wire::shared::raw;
use crate::wire::shared::source::{Records, Shape, Source, Text, list_of};
use foldback_core::log::{Message, Role};
use foldback_core::validity::Dialect;
use foldback_core::work;
use serde_json::Value;
use std::sync::Arc;

/// The placeholder for the known records.
const PLACEHOLDER: &str = "null";

/// The member that marks a cache breakpoint.
const BREAKPOINT: &str = "\"cache_control\"";

/// The last records, in which breakpoints are expected to move. A request may have four, on every other message.
const MOVING: usize = 8;

/// What was read of a request, for reading the next request that begins with the same bytes.
///
/// It shares its messages with the request. If that request is dropped before the next one is read, nothing is copied.
#[derive(Clone, Debug)]
pub struct Outline {
    pub(crate) dialect: Dialect,
    /// The messages of the request; the first `count` are known.
    pub(crate) records: Records,
    pub(crate) known: u32,
    /// The places of the request's records; the first `known` are known.
    pub(crate) messages: Arc<Vec<Arc<Message>>>,
    pub(crate) count: usize,
    /// Content of unknown types in the known records.
    pub(crate) unknown: Vec<Problem>,
    /// The state of the reader behind the known records, with the frame.
    pub(crate) read: Messages,
    pub(crate) model: Option<String>,
    /// The text behind the last record.
    pub(crate) tail: Box<str>,
}

impl Outline {
    /// An outline that knows nothing.
    pub(crate) fn empty(dialect: Dialect) -> Self {
        Self {
            dialect,
            records: Records::default(),
            known: 0,
            messages: Arc::default(),
            count: 0,
            unknown: Vec::new(),
            read: Messages::default(),
            model: None,
            tail: Box::default(),
        }
    }

    /// Whether a later request can continue records that were read into these messages.
    pub(crate) fn goes_on(dialect: Dialect, records: usize, messages: &[Arc<Message>]) -> bool {
        let goes_on = match dialect {
            Dialect::OpenAiChat | Dialect::Anthropic => true,
            // The items of an answer are one message, which could grow.
            Dialect::OpenAiResponses => {
                messages.last().is_some_and(|last| last.role != Role::Assistant)
            }
            // Its reader would have to know more.
            Dialect::Gemini => false,
        };
        goes_on && records > 0
    }

    /// Bytes that the next request must begin with: up to the end of the last known record.
    pub fn end(&self) -> usize {
        let last = self.records[..self.known as usize].last();
        last.map_or(0, |last| last.end)
    }

    /// Bytes of memory for what is sent around the messages.
    pub fn bytes(&self) -> usize {
        self.tail.len() + self.model.as_ref().map_or(0, String::len) + self.read.around()
    }

    /// How many messages are known.
    pub fn count(&self) -> usize {
        self.count
    }

    /// A body that begins with these records: what is known of it, its source, what has to be read, and where in that the
    /// list of records is, the first of which stands for all known ones. It is the whole if the pointer is empty: then
    /// nothing outside the records changed. `None` if the list does not continue behind them.
    pub(crate) fn continued(
        mut self,
        dialect: Dialect,
        text: &Text,
    ) -> Option<(Self, Source, Value, &'static str)> {
        if dialect != self.dialect {
            return None;
        }
        let (begin, end) = (self.records.first()?.start, self.end());
        let (head, rest) = (text.get(..begin)?, text.get(end..)?);
        // The same stands around the messages: what is new is all that is read.
        let new = rest.strip_suffix(&*self.tail);
        let new = new.map(|new| (["[", PLACEHOLDER, new, "]"].concat(), "", 1));
        let all = || ([head, PLACEHOLDER, rest].concat(), list_of(dialect), begin);
        let read = |(short, list, begin): (String, &'static str, usize)| {
            work::count(short.len() as u64);
            let root = raw::parse(&short).ok()?;
            let mut ranges = raw::elements(&short, list).ok()?.into_iter();
            let placeholder = begin..begin + PLACEHOLDER.len();
            // Of two lists the last counts, which must be the one that is known.
            if ranges.next()? != placeholder {
                return None;
            }
            let moved = move |at: usize| at - placeholder.end + end;
            let ranges = ranges.map(move |range| moved(range.start)..moved(range.end));
            Some((root, list, ranges.collect::<Vec<_>>()))
        };
        let (root, list, ranges) = new.and_then(read).or_else(|| read(all()))?;
        let records = std::mem::take(&mut self.records).replaced(self.known as usize, ranges);
        Arc::make_mut(&mut self.messages).truncate(self.count);
        let source = Source { text: text.clone(), shape: Shape::Document, records };
        Some((self, source, root, list))
    }
}

/// How many of the first records will be the same bytes in the next request.
pub(crate) fn settled(dialect: Dialect, source: &Source) -> usize {
    let records = &source.records;
    let is_list = records.first().is_some_and(|first| !source.text[first.clone()].starts_with('"'));
    if !is_list || dialect == Dialect::Gemini {
        return 0;
    }
    let last = records.len().saturating_sub(MOVING)..records.len();
    let marked = |record: &usize| source.text[records[*record].clone()].contains(BREAKPOINT);
    // Items have no breakpoints.
    let moving = (dialect != Dialect::OpenAiResponses).then(|| last.clone().find(marked)).flatten();
    moving.unwrap_or(last.end)
}
