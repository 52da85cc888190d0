//! A request: read into messages, and written again as a view shows them.

use crate::outline::Outline;
use crate::shared::messages::{Messages, Problem, ProblemKind};
use crate::shared::pairing::pair;
use crate::shared::raw::{self, Change, Item, rebuild};
use crate::shared::rewrite::{Own, Stale, items};
use crate::shared::source::{Shape, Source};
use crate::shared::value;
use crate::{WireError, anthropic, gemini, openai, responses};
use foldback_core::Frame;
use foldback_core::log::Message;
use foldback_core::validity::Dialect;
use foldback_core::view::Shown;
use serde_json::Value;
use std::borrow::Cow;
use std::sync::Arc;

/// A request of one of the protocols, with the messages that it holds.
///
/// Every message knows the record that it was read from, so [`folded`](Self::folded) copies what was not touched byte
/// for byte. Reading the same list again gives the same ids: a conversation that grows from request to request can be
/// followed by its messages.
#[derive(Clone, Debug)]
pub struct Request {
    dialect: Dialect,
    model: Option<String>,
    frame: Frame,
    messages: Vec<Arc<Message>>,
    unknown: Vec<Problem>,
    source: Source,
}

/// A request with other messages.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Folded {
    /// The body to send.
    pub body: String,
    /// What has no place in this protocol and was left out, one line each. Empty for messages that came from requests
    /// and answers of the same protocol.
    pub losses: Vec<String>,
}

/// The messages of a request as a view shows them.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FoldedList {
    /// The messages, in order. Numbers count the elements of the request's own list.
    pub items: Vec<Item>,
    /// As in [`Folded`].
    pub losses: Vec<String>,
}

impl Request {
    /// Reads the body of a request.
    ///
    /// # Errors
    ///
    /// It is no JSON; there is no list of messages in it; something in the list is no message; the provider keeps part
    /// of the conversation. Content of a type that is not known is no error: it is kept as it is.
    pub fn parse(dialect: Dialect, body: impl Into<Arc<str>>) -> Result<Self, WireError> {
        Ok(Self::read(dialect, body.into())?.0)
    }

    /// Reads a body that begins with the same bytes as one before, as far as [`Outline::end`] says, and gives what the
    /// next one needs. The request is the one that [`parse`](Self::parse) reads; the time for it grows with what is new.
    /// There is no outline where the body has no list of messages.
    ///
    /// # Errors
    ///
    /// As with [`parse`](Self::parse).
    pub fn follow(
        dialect: Dialect,
        body: impl Into<Arc<str>>,
        before: Option<&Outline>,
    ) -> Result<(Self, Option<Outline>), WireError> {
        let text = body.into();
        let known = before.and_then(|before| Self::known(dialect, &text, before));
        let (before, (request, root)) = match known {
            Some(known) => (before, known),
            None => (None, Self::read(dialect, text)?),
        };
        let list = root.pointer(list_of(dialect)).and_then(Value::as_array);
        let list = list.filter(|list| !list.is_empty());
        let outline = list.map(|list| Outline::of(&request, before, list));
        Ok((request, outline))
    }

    /// A body of whose records the first are known.
    fn known(dialect: Dialect, text: &Arc<str>, before: &Outline) -> Option<(Self, Value)> {
        let (cut, end) = before.cut(dialect, text)?;
        let (mut request, root) = Self::read(dialect, cut.into()).ok()?;
        let mut records = request.source.records.to_vec();
        before.filled(&mut request.messages, &mut records, end)?;
        let text = Arc::clone(text);
        request.source = Source { text, shape: Shape::Document, records: records.into() };
        Some((request, root))
    }

    /// A request, and what it was read from.
    fn read(dialect: Dialect, text: Arc<str>) -> Result<(Self, Value), WireError> {
        let root = raw::parse(&text)?;
        if !root.is_object() {
            return Err(WireError::shape("", "a request is an object"));
        }
        let list = list_of(dialect);
        let (records, read) = match dialect {
            Dialect::OpenAiChat => (records(&text, &root, list)?, openai::read(&root, list)),
            Dialect::Anthropic => (records(&text, &root, list)?, anthropic::read(&root, list)),
            Dialect::Gemini => (records(&text, &root, list)?, gemini::read(&root, list)),
            Dialect::OpenAiResponses => {
                let records = match root.get("input") {
                    Some(Value::String(_)) => vec![raw::locate(&text, list)?],
                    _ => records(&text, &root, list)?,
                };
                (records, responses::read_request(&root)?)
            }
        };
        let Messages { messages, frame, problems, .. } = read;
        let mut unknown = Vec::new();
        for problem in problems {
            match problem.kind {
                ProblemKind::UnknownType => unknown.push(problem),
                _ => return Err(problem.into()),
            }
        }
        let mut messages: Vec<Arc<Message>> = messages.into_iter().map(Arc::new).collect();
        pair(&mut messages);
        let source = Source { text, shape: Shape::Document, records: records.into() };
        let model = value::string(&root, "model");
        Ok((Self { dialect, model, frame, messages, unknown, source }, root))
    }

    /// Its text, and where the records lie in it.
    pub(crate) fn source(&self) -> &Source {
        &self.source
    }

    /// The protocol.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The model that is asked; Gemini has it in the path and not in the body.
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// System prompt and tool definitions, as they are sent.
    pub fn frame(&self) -> &Frame {
        &self.frame
    }

    /// The messages, in order. One assistant message for every answer, one tool message for every result.
    pub fn messages(&self) -> &[Arc<Message>] {
        &self.messages
    }

    /// Content of types that are not known, each with its place. It goes back as it came.
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
    /// Of the body only the list of messages changes. In it, messages of this request that are shown without edits are
    /// copied byte for byte; those with edits are the same bytes but for the edited text; others are made. If all are
    /// shown and nothing is edited, the body is the one that came, byte for byte.
    ///
    /// # Errors
    ///
    /// [`WireError::Stale`] where a message says that it is of this request and is not.
    pub fn folded(&self, sent: &[Shown<'_>]) -> Result<Folded, WireError> {
        let mut losses = Vec::new();
        if self.source.records.is_empty() {
            let list = Value::from(self.made(sent, &mut losses));
            let change = (list_of(self.dialect).to_owned(), Change::Set(list.to_string()));
            return Ok(Folded { body: raw::patch(&self.source.text, &[change])?, losses });
        }
        let own = Own::new(&self.messages, &self.source);
        let (source, items) = self.items(&own, sent, &mut losses)?;
        Ok(Folded { body: rebuild(&source, &items), losses })
    }

    /// The list of messages of [`folded`](Self::folded), one by one: which of this request's are sent as they came, which
    /// with changes, and which are new. For a caller that holds the messages as values of its own and keeps those that
    /// nothing touched.
    ///
    /// # Errors
    ///
    /// As with [`folded`](Self::folded).
    pub fn folded_list(&self, sent: &[Shown<'_>]) -> Result<FoldedList, WireError> {
        let mut losses = Vec::new();
        let items = if self.source.records.is_empty() {
            self.made(sent, &mut losses).into_iter().map(Item::New).collect()
        } else {
            let own = Own::new(&self.messages, &self.source);
            self.items(&own, sent, &mut losses)?.1
        };
        Ok(FoldedList { items, losses })
    }

    /// Messages of a view, all of them new.
    fn made(&self, sent: &[Shown<'_>], losses: &mut Vec<String>) -> Vec<Value> {
        let messages: Vec<Message> = sent.iter().map(Shown::to_message).collect();
        crate::messages(self.dialect, &messages, losses)
    }

    fn items<'a>(
        &self,
        own: &Own<'a>,
        sent: &[Shown<'_>],
        losses: &mut Vec<String>,
    ) -> Result<(Cow<'a, Source>, Vec<Item>), Stale> {
        let items = match self.dialect {
            Dialect::OpenAiChat => items(own, sent, &mut openai::Writer { losses }, None),
            Dialect::Anthropic => items(own, sent, &mut anthropic::Writer { own, losses }, None),
            Dialect::Gemini => items(own, sent, &mut gemini::Writer { losses }, None),
            Dialect::OpenAiResponses => {
                let none = || Stale { record: 0, detail: "no list of items".to_owned() };
                return responses::items_of(own, sent, losses)?.ok_or_else(none);
            }
        };
        Ok((Cow::Borrowed(own.source), items?))
    }
}

/// Where the messages of a request stand.
fn list_of(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::OpenAiChat | Dialect::Anthropic => "/messages",
        Dialect::Gemini => "/contents",
        Dialect::OpenAiResponses => "/input",
    }
}

fn records(text: &str, root: &Value, list: &str) -> Result<Vec<std::ops::Range<usize>>, WireError> {
    match root.pointer(list) {
        Some(Value::Array(_)) => Ok(raw::elements(text, list)?),
        Some(_) => Err(WireError::shape(list, "this is to be a list of messages")),
        None => Err(WireError::shape(list, "a request has its messages here; there are none")),
    }
}
