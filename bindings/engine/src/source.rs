//! What messages are read from: the request of a provider, or a history of pydantic-ai.

use crate::error::Unusable;
use foldback::core::view::Shown;
use foldback::wire::shared::messages::wrong;
use foldback::wire::{Dialect, Item, Outline, Request, Text};
use foldback::{Frame, Message, SegmentKind};
use foldback_formats::{Session, pydantic_ai};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::sync::Arc;

/// The form of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Those of a provider.
    Wire(Dialect),
    /// Those of pydantic-ai.
    PydanticAi,
}

impl Form {
    /// By its name.
    pub(crate) fn of(name: &str) -> Option<Self> {
        let dialects = Dialect::ALL.into_iter().map(Self::Wire);
        dialects.chain([Self::PydanticAi]).find(|form| form.name() == name)
    }

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Wire(dialect) => dialect.as_str(),
            Self::PydanticAi => "pydantic-ai",
        }
    }

    /// The provider whose rules its messages keep. pydantic-ai makes requests of any provider of its messages, and sees
    /// to the rules of each; what a call needs is the same for all.
    pub(crate) fn rules(self) -> Dialect {
        match self {
            Self::Wire(dialect) => dialect,
            Self::PydanticAi => Dialect::OpenAiChat,
        }
    }
}

/// Messages with what they were read from.
pub(crate) enum Source {
    Request(Request),
    /// With the definitions of the tools, which a history does not have.
    History(Box<Session>, Frame),
}

/// What was read of a list of messages, for the next one that begins with the same.
pub(crate) struct Known {
    text: Text,
    outline: Outline,
}

impl Known {
    /// What it knows of a body.
    fn of(self, body: &str) -> Option<Outline> {
        let end = self.outline.end();
        (body.get(..end)? == self.text.get(..end)?).then_some(self.outline)
    }
}

/// A source, how many of its first messages were known, and what the next one needs.
pub(crate) struct Read {
    pub(crate) source: Source,
    pub(crate) known: usize,
    pub(crate) next: Option<Known>,
}

#[derive(Deserialize)]
struct Tools<'a> {
    #[serde(borrow)]
    tools: Option<&'a RawValue>,
}

impl Source {
    /// Reads a body that came at a time; of one that begins as the one before, only what is new.
    pub(crate) fn read(
        form: Form,
        body: &str,
        before: Option<Known>,
        at: i64,
    ) -> Result<Read, Unusable> {
        let Form::Wire(dialect) = form else {
            return Ok(Read { source: Self::history(body)?, known: 0, next: None });
        };
        let text = Text::from(body);
        let before = before.and_then(|before| before.of(body));
        let reading = Request::follow(dialect, text.clone(), before, at)?;
        let next = reading.outline.map(|outline| Known { text, outline });
        Ok(Read { source: Self::Request(reading.request), known: reading.known, next })
    }

    fn history(body: &str) -> Result<Self, Unusable> {
        let failed = |error: &dyn std::fmt::Display| Unusable::text(error);
        let read = foldback_formats::read(body.as_bytes(), Some(Form::PydanticAi.name()));
        let session = read.map_err(|error| failed(&error))?.into_iter().next();
        let session = session.ok_or_else(|| failed(&"no messages"))?;
        if let Some(damaged) =
            session.warnings.iter().find(|warning| warning.code == "damaged-line")
        {
            return Err(Unusable::At(damaged.place.clone(), wrong(&damaged.detail).to_owned()));
        }
        let mut frame = session.frame.clone();
        let tools: Tools<'_> = serde_json::from_str(body).map_err(|error| failed(&error))?;
        if let Some(tools) = tools.tools {
            frame.push_text(SegmentKind::Tools, tools.get());
        }
        Ok(Self::History(Box::new(session), frame))
    }

    /// The messages, in order.
    pub(crate) fn messages(&self) -> &[Arc<Message>] {
        match self {
            Self::Request(request) => request.messages(),
            Self::History(session, _) => &session.messages,
        }
    }

    /// System prompt and tools.
    pub(crate) fn frame(&self) -> &Frame {
        match self {
            Self::Request(request) => request.frame(),
            Self::History(_, frame) => frame,
        }
    }

    /// The model that is asked.
    pub(crate) fn model(&self) -> Option<&str> {
        match self {
            Self::Request(request) => request.model(),
            Self::History(session, _) => session.model.as_deref(),
        }
    }

    /// The messages to send, one by one.
    pub(crate) fn items(&self, shown: &[Shown<'_>]) -> Result<Vec<Item>, Unusable> {
        match self {
            Self::Request(request) => Ok(request.folded_list(shown)?.items),
            Self::History(session, _) => {
                pydantic_ai::items(session, shown, &mut Vec::new()).map_err(Unusable::text)
            }
        }
    }
}
