//! A text and the places of its records.

use super::raw::{self, RawError};
use foldback_core::log::Message;
use foldback_core::validity::Dialect;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::cell::RefCell;
use std::ops::{Deref, Range};
use std::sync::{Arc, OnceLock};

/// How a file is divided into records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// One JSON value a line; a record is a line.
    #[default]
    Lines,
    /// One JSON document; a record is an element of its message array.
    Document,
}

/// The JSON pointer to the messages of a request.
pub(crate) fn list_of(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::OpenAiChat | Dialect::Anthropic => "/messages",
        Dialect::Gemini => "/contents",
        Dialect::OpenAiResponses => "/input",
    }
}

/// The text of a file or of a request, shared by everything that was read from it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text(Arc<String>);

impl Text {
    /// Whether both are the same text in memory.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl AsRef<[u8]> for Text {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self(Arc::new(text))
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}

/// The text of a file and the places of its records. A writer copies untouched records from here, byte for byte:
/// parsing and writing JSON again changes almost every real line.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// The whole text.
    pub text: Text,
    /// How the text is divided into records.
    pub shape: Shape,
    /// Byte range of each record in `text`, by record index.
    pub records: Records,
}

impl Source {
    /// A text whose records are its lines.
    pub fn lines(text: &str) -> Self {
        Self { text: text.into(), shape: Shape::Lines, records: raw::lines(text).into() }
    }

    /// A document whose records are the elements of the list at a JSON pointer.
    ///
    /// # Errors
    ///
    /// The document has no such list.
    pub fn document(text: &str, list: &str) -> Result<Self, RawError> {
        let records = raw::elements(text, list)?;
        Ok(Self { text: text.into(), shape: Shape::Document, records: records.into() })
    }

    /// The line that a record stands on, as an editor shows it.
    pub fn place(&self, record: u32) -> String {
        let start = self.records.get(record as usize).map_or(self.text.len(), |range| range.start);
        format!("line {}", self.records.line(&self.text, start))
    }

    /// The raw text of a record.
    pub fn record(&self, index: u32) -> Option<&str> {
        self.records.get(index as usize).and_then(|range| self.text.get(range.clone()))
    }
}

/// The records of messages, parsed. The last one is kept: the parts of a record are looked at one after the other.
#[derive(Debug)]
pub struct Parsed<'a> {
    /// The messages.
    pub messages: &'a [Arc<Message>],
    source: &'a Source,
    last: RefCell<Option<(u32, Arc<Value>)>>,
}

impl<'a> Parsed<'a> {
    /// Messages and the text that they were read from.
    pub fn new(messages: &'a [Arc<Message>], source: &'a Source) -> Self {
        Self { messages, source, last: RefCell::default() }
    }

    /// The record that a message was read from, by the message's index.
    pub fn record_of(&self, message: usize) -> Option<Arc<Value>> {
        let record = self.messages.get(message)?.record?;
        let mut last = self.last.borrow_mut();
        if let Some((_, value)) = last.as_ref().filter(|(number, _)| *number == record) {
            return Some(Arc::clone(value));
        }
        let text = self.source.record(record)?;
        foldback_core::work::count(text.len() as u64);
        let value = Arc::new(raw::parse(text).ok()?);
        *last = Some((record, Arc::clone(&value)));
        Some(value)
    }

    /// Sets a text in the record that was read last, for parts that share a text.
    pub fn put(&self, pointer: &str, text: &str) {
        let mut last = self.last.borrow_mut();
        let value = last.as_mut().and_then(|(_, value)| Arc::make_mut(value).pointer_mut(pointer));
        if let Some(value) = value {
            *value = Value::from(text);
        }
    }
}

/// Byte ranges of the records of a text, by record index. All sessions of a file share them.
#[derive(Clone, Debug, Default)]
pub struct Records {
    ranges: Arc<Vec<Range<usize>>>,
    /// Where the lines of the text end; found once, on first use.
    breaks: Arc<OnceLock<Vec<usize>>>,
}

impl Records {
    /// The first `first` of these records with `others` behind them, in a text that begins like theirs.
    #[must_use]
    pub fn replaced(mut self, first: usize, others: Vec<Range<usize>>) -> Self {
        let ranges = Arc::make_mut(&mut self.ranges);
        ranges.truncate(first);
        ranges.extend(others);
        Self { ranges: self.ranges, breaks: Arc::default() }
    }

    /// Adds a record behind the others.
    pub fn push(&mut self, range: Range<usize>) {
        Arc::make_mut(&mut self.ranges).push(range);
    }

    /// The line (1-based) of a byte offset into the text.
    pub fn line(&self, text: &str, offset: usize) -> usize {
        let breaks = self.breaks.get_or_init(|| {
            foldback_core::work::count(text.len() as u64);
            let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
            ends.map(|(at, _)| at).collect()
        });
        foldback_core::work::count(1);
        breaks.partition_point(|at| *at < offset) + 1
    }
}

impl From<Vec<Range<usize>>> for Records {
    fn from(ranges: Vec<Range<usize>>) -> Self {
        Self { ranges: Arc::new(ranges), breaks: Arc::default() }
    }
}

impl Deref for Records {
    type Target = [Range<usize>];

    fn deref(&self) -> &Self::Target {
        &self.ranges
    }
}
