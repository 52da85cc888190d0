//! A request: read into messages, and written again as a view shows them.

use crate::wire::outline::{Outline, settled};
use crate::wire::shared::messages::{Problem, ProblemKind};
use crate::wire::shared::raw::{self, Change, Item, rebuild};
use crate::wire::shared::rewrite::{Own, Stale, items};
use crate::wire::shared::source::{Parsed, Shape, Source, Text, list_of};
use crate::wire::shared::value;
use crate::wire::{WireError, anthropic, gemini, openai, responses};
use foldback_core::Frame;
use foldback_core::log::Message;
use foldback_core::validity::Dialect;
use foldback_core::view::ShownMessage;
use foldback_core::work;
use serde_json::Value;
use std::borrow::Cow;
use std::sync::Arc;

/// A request in one of the protocols, with its messages.
///
/// Every message knows the record that it was read from, so [`folded`](Self::folded) copies untouched messages byte for
/// byte. A list that is read twice gives its messages the same ids, so a conversation can be followed from request to
/// request.
#[derive(Clone, Debug)]
pub struct Request {
    dialect: Dialect,
    model: Option<String>,
    frame: Frame,
    messages: Arc<Vec<Arc<Message>>>,
    unknown: Vec<Problem>,
    source: Source,
}

/// A request that was read with the [`Outline`] of an earlier one.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Reading {
    /// The request.
    pub request: Request,
    /// What reading the next request needs; `None` if the body has no list of messages, or one that no request continues.
    pub outline: Option<Outline>,
    /// Number of leading messages that were known before.
    pub known: usize,
}

/// A request with other messages.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FoldedRequest {
    /// The body to send.
    pub body: String,
    /// What this protocol has no place for and was left out, one line each. Empty if all messages came from requests and
    /// answers in this protocol.
    pub losses: Vec<String>,
}

/// The messages of a request as a view shows them.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FoldedList {
    /// The messages, in order. Numbers are indexes into the request's own list.
    pub items: Vec<Item>,
    /// As in [`FoldedRequest`].
    pub losses: Vec<String>,
}

impl Request {
    /// Reads the body of a request.
    ///
    /// # Errors
    ///
    /// The body is not JSON or has no list of messages, an element of the list is not a message, or the provider keeps
    /// part of the conversation. Content of an unknown type is no error: it is kept as it is.
    pub fn parse(dialect: Dialect, body: impl Into<Text>) -> Result<Self, WireError> {
        Ok(Self::read(dialect, body.into(), None)?.0)
    }

    /// Reads a body that begins with the same bytes as an earlier one, up to [`Outline::end`], and returns what reading
    /// the next one needs. The request equals what [`parse`](Self::parse) reads; only the new part takes time.
    ///
    /// `at` is when the request arrived. New messages get it as their time, so that a log can share them.
    ///
    /// # Errors
    ///
    /// As with [`parse`](Self::parse).
    pub fn follow(
        dialect: Dialect,
        body: impl Into<Text>,
        before: Option<Outline>,
        at: i64,
    ) -> Result<Reading, WireError> {
        let text = body.into();
        let known = before.as_ref().map_or(0, Outline::count);
        let continued = before.and_then(|before| {
            let (before, source, root, list) = before.continued(dialect, &text)?;
            let around = (!list.is_empty()).then_some(&root);
            let unread = value::list_at(&root, list).get(1..)?;
            // The place of an error would be one in the shortened text, so the whole is read again.
            Self::behind(before, source, around, unread, Some(at)).ok()
        });
        match continued {
            Some((request, outline)) => Ok(Reading { request, outline, known }),
            None => {
                let (request, outline) = Self::read(dialect, text, Some(at))?;
                Ok(Reading { request, outline, known: 0 })
            }
        }
    }

    /// The request, and what reading the next one needs.
    fn read(
        dialect: Dialect,
        text: Text,
        at: Option<i64>,
    ) -> Result<(Self, Option<Outline>), WireError> {
        work::count(text.len() as u64);
        let root = raw::parse(&text)?;
        if !root.is_object() {
            return Err(WireError::shape("", "a request is an object"));
        }
        let list = list_of(dialect);
        let records = match (dialect, root.get("input")) {
            (Dialect::OpenAiResponses, Some(Value::String(_))) => vec![raw::locate(&text, list)?],
            _ => records(&text, &root, list)?,
        };
        let source = Source { text, shape: Shape::Document, records: records.into() };
        let unread = match root.pointer(list) {
            Some(Value::Array(records)) => records,
            Some(text) => std::slice::from_ref(text),
            None => &[],
        };
        Self::behind(Outline::empty(dialect), source, Some(&root), unread, at)
    }

    /// A request that begins with the records of `before`: reads the records behind them, `unread`. `around` is the body
    /// without those records; `None` if nothing outside the records changed.
    fn behind(
        before: Outline,
        source: Source,
        around: Option<&Value>,
        unread: &[Value],
        at: Option<i64>,
    ) -> Result<(Self, Option<Outline>), WireError> {
        let Outline { dialect, mut messages, mut unknown, known, mut read, mut model, .. } = before;
        if let Some(root) = around {
            read.frame = Frame::default();
            match dialect {
                Dialect::OpenAiChat => openai::read::frame(&mut read, root),
                Dialect::Anthropic => anthropic::read::frame(&mut read, root),
                Dialect::OpenAiResponses => {
                    responses::check(root)?;
                    responses::read::frame(&mut read, root);
                }
                Dialect::Gemini => gemini::read::frame(&mut read, root),
            }
            read.frame_is_read();
            model = value::string(root, "model");
        }
        let list = list_of(dialect);
        let listed = !around.is_some_and(|root| root.pointer(list).is_some_and(Value::is_string));
        let unread: Vec<(u32, &Value)> = (known..).zip(unread).collect();
        let settled = settled(dialect, &source).max(known as usize);
        let (first, last) = unread.split_at((settled - known as usize).min(unread.len()));
        let all = Arc::make_mut(&mut messages);
        let mut outline = None;
        for (records, settles) in [(first, true), (last, false)] {
            read = match dialect {
                Dialect::OpenAiChat => openai::read::records(read, list, records),
                Dialect::Anthropic => anthropic::read::records(read, list, records),
                Dialect::OpenAiResponses => responses::read_items(read, records, listed)?,
                Dialect::Gemini => gemini::read::records(read, list, records),
            };
            all.append(&mut read.take(at));
            for problem in read.problems.drain(..) {
                match problem.kind {
                    ProblemKind::UnknownType => unknown.push(problem),
                    _ => return Err(problem.into()),
                }
            }
            if settles && Outline::goes_on(dialect, settled, all) {
                outline = Some((all.len(), unknown.clone(), read.mark()));
            }
        }
        let outline = outline.map(|(count, unknown, read)| Outline {
            dialect,
            records: source.records.clone(),
            messages: Arc::clone(&messages),
            unknown,
            known: u32::try_from(settled).unwrap_or(u32::MAX),
            count,
            read,
            model: model.clone(),
            tail: source.records.last().map_or("", |last| &source.text[last.end..]).into(),
        });
        let frame = read.frame;
        Ok((Self { dialect, model, frame, messages, unknown, source }, outline))
    }

    /// The protocol.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The model. Gemini's protocol names it in the path and not in the body: there it is the one of
    /// [`with_model`](Self::with_model), or `None`.
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// The request to a model that its body does not name. The body stays as it is.
    #[must_use]
    pub fn with_model(mut self, model: impl Into<String>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// The system prompt and the tool definitions, as they are sent.
    pub fn frame(&self) -> &Frame {
        &self.frame
    }

    /// The messages, in order: one assistant message for every answer, one tool message for every result.
    pub fn messages(&self) -> &[Arc<Message>] {
        &self.messages
    }

    /// Content of unknown types, with its places. It is sent as it came.
    pub fn unknown(&self) -> impl Iterator<Item = &Problem> {
        self.unknown.iter()
    }

    /// The body as it came.
    pub fn body(&self) -> &str {
        &self.source.text
    }

    /// The request with the messages that a view shows: what
    /// [`Conversation::sent`](foldback_core::conversation::Conversation::sent) returns.
    ///
    /// Only the list of messages changes. Messages of this request that are shown without edits are copied byte for byte.
    /// In edited messages only the edited text changes. Other messages are made. If all messages are shown and none is
    /// edited, the body is the one that came, byte for byte.
    ///
    /// # Errors
    ///
    /// [`WireError::Stale`] if a message claims to come from this request and doesn't.
    pub fn folded(&self, sent: &[ShownMessage<'_>]) -> Result<FoldedRequest, WireError> {
        let mut losses = Vec::new();
        if self.source.records.is_empty() {
            let list = Value::from(self.made(sent, &mut losses));
            let change = (list_of(self.dialect).to_owned(), Change::Set(list.to_string()));
            return Ok(FoldedRequest { body: raw::patch(&self.source.text, &[change])?, losses });
        }
        let own = Own::new(&self.messages, &self.source);
        let (source, items) = self.items(&own, sent, &mut losses)?;
        Ok(FoldedRequest { body: rebuild(&source, &items), losses })
    }

    /// The list of messages of [`folded`](Self::folded), one by one: which messages of this request are sent as they came,
    /// which are sent with changes, and which are new. For a caller that holds the messages as values of its own and keeps
    /// the untouched ones.
    ///
    /// # Errors
    ///
    /// As with [`folded`](Self::folded).
    pub fn folded_list(&self, sent: &[ShownMessage<'_>]) -> Result<FoldedList, WireError> {
        let mut losses = Vec::new();
        let items = if self.source.records.is_empty() {
            self.made(sent, &mut losses).into_iter().map(Item::New).collect()
        } else {
            let own = Own::new(&self.messages, &self.source);
            self.items(&own, sent, &mut losses)?.1
        };
        Ok(FoldedList { items, losses })
    }

    /// The list of [`folded_list`](Self::folded_list) where all messages are shown and none is edited.
    pub fn kept_list(&self) -> Vec<Item> {
        (0u32..).zip(self.source.records.iter()).map(|(record, _)| Item::Keep(record)).collect()
    }

    /// The body with another list of messages: with the one of [`folded_list`](Self::folded_list), what
    /// [`folded`](Self::folded) writes. The request must have a list of messages.
    pub fn with_list(&self, items: &[Item]) -> String {
        rebuild(&self.source, items)
    }

    /// The text of an element of the request's list of messages.
    pub fn record(&self, record: u32) -> Option<&str> {
        self.source.record(record)
    }

    /// Index of the element of the request's list of messages that a byte of the body belongs to.
    pub fn record_at(&self, offset: usize) -> Option<u32> {
        let records = &self.source.records;
        let record = records.partition_point(|record| record.end <= offset);
        let found = records.get(record)?.contains(&offset);
        found.then(|| u32::try_from(record).ok()).flatten()
    }

    /// The messages of a view, all of them written anew.
    fn made(&self, sent: &[ShownMessage<'_>], losses: &mut Vec<String>) -> Vec<Value> {
        let messages: Vec<Message> = sent.iter().map(ShownMessage::to_message).collect();
        crate::wire::messages(self.dialect, &messages, losses)
    }

    fn items<'a>(
        &self,
        own: &Own<'a>,
        sent: &[ShownMessage<'_>],
        losses: &mut Vec<String>,
    ) -> Result<(Cow<'a, Source>, Vec<Item>), Stale> {
        let items = match self.dialect {
            Dialect::OpenAiChat => items(own, sent, &mut openai::Writer { losses }, None),
            Dialect::Anthropic => {
                let parsed = Parsed::new(own.messages, own.source);
                items(own, sent, &mut anthropic::Writer { parsed, losses }, None)
            }
            Dialect::Gemini => items(own, sent, &mut gemini::Writer, None),
            Dialect::OpenAiResponses => {
                let none = || Stale { record: 0, detail: "no list of items".to_owned() };
                return responses::items_of(own, sent, losses)?.ok_or_else(none);
            }
        };
        Ok((Cow::Borrowed(own.source), items?))
    }
}

fn records(text: &str, root: &Value, list: &str) -> Result<Vec<std::ops::Range<usize>>, WireError> {
    match root.pointer(list) {
        Some(Value::Array(_)) => Ok(raw::elements(text, list)?),
        Some(_) => Err(WireError::shape(list, "this is to be a list of messages")),
        None => Err(WireError::shape(list, "a request has its messages here; there are none")),
    }
}
