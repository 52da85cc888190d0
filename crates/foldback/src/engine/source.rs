//! What messages are read from: the request of a provider, or a history of pydantic-ai.

use super::error::CompactError;
use crate::{Frame, Message};
use foldback_core::view::ShownMessage;
use foldback_providers::wire::{Dialect, Item, Outline, Request, Text};
use serde_json::Value;
#[cfg(feature = "pydantic-ai")]
use std::borrow::Cow;
use std::sync::Arc;

/// The form of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// The messages of a provider's protocol.
    Wire(Dialect),
    /// The messages of pydantic-ai.
    #[cfg(feature = "pydantic-ai")]
    PydanticAi,
}

impl Form {
    /// By its name.
    pub(crate) fn by_name(name: &str) -> Option<Self> {
        #[cfg(feature = "pydantic-ai")]
        if name == Self::PydanticAi.name() {
            return Some(Self::PydanticAi);
        }
        Dialect::ALL.into_iter().find(|dialect| dialect.as_str() == name).map(Self::Wire)
    }

    /// The one of a request's body, and the model that it asks. Texts alone are the same in Chat Completions and in
    /// Messages.
    pub(crate) fn of_body(body: &str) -> Result<(Self, Option<String>), CompactError> {
        let root: Value = serde_json::from_str(body).map_err(CompactError::text)?;
        let dialect = if root.get("contents").is_some() {
            Dialect::Gemini
        } else if root.get("input").is_some() {
            Dialect::OpenAiResponses
        } else if root.get("system").is_some() || uses_blocks_of_anthropic(&root) {
            Dialect::Anthropic
        } else if root.get("messages").is_some() {
            Dialect::OpenAiChat
        } else {
            let what = "this is no request: there are no `messages`, no `input` and no `contents`";
            return Err(CompactError::text(what));
        };
        Ok((Self::Wire(dialect), root["model"].as_str().map(str::to_owned)))
    }

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Wire(dialect) => dialect.as_str(),
            #[cfg(feature = "pydantic-ai")]
            Self::PydanticAi => "pydantic-ai",
        }
    }

    /// The provider whose rules its messages keep. pydantic-ai makes requests of any provider of its messages, and sees
    /// to the rules of each; what a call needs is the same for all.
    pub(crate) fn rules(self) -> Dialect {
        match self {
            Self::Wire(dialect) => dialect,
            #[cfg(feature = "pydantic-ai")]
            Self::PydanticAi => Dialect::OpenAiChat,
        }
    }
}

/// Messages with what they were read from.
pub(crate) enum Source {
    Request(Request),
    /// With the definitions of the tools, which a history does not have.
    #[cfg(feature = "pydantic-ai")]
    History(Box<foldback_formats::Session>, Frame),
}

/// What was read of a list of messages, for the next one that begins with the same.
pub(crate) struct KnownBody {
    text: Text,
    outline: Outline,
}

impl KnownBody {
    /// The outline of a body, as far as the source knows it.
    fn outline(self, body: &str) -> Option<Outline> {
        let end = self.outline.end();
        (body.get(..end)? == self.text.get(..end)?).then_some(self.outline)
    }
}

/// A source, how many of its first messages were known, and what the next one needs.
pub(crate) struct SourceRead {
    pub(crate) source: Source,
    pub(crate) known: usize,
    pub(crate) next: Option<KnownBody>,
}

impl Source {
    /// Reads a body that came at a time; of one that begins as the one before, only what is new.
    pub(crate) fn read(
        form: Form,
        body: &str,
        before: Option<KnownBody>,
        at: i64,
    ) -> Result<SourceRead, CompactError> {
        #[cfg(feature = "pydantic-ai")]
        if form == Form::PydanticAi {
            return Ok(SourceRead { source: Self::history(body)?, known: 0, next: None });
        }
        let dialect = form.rules();
        let text = Text::from(body);
        let before = before.and_then(|before| before.outline(body));
        let reading = Request::follow(dialect, text.clone(), before, at)?;
        let next = reading.outline.map(|outline| KnownBody { text, outline });
        Ok(SourceRead { source: Self::Request(reading.request), known: reading.known, next })
    }

    #[cfg(feature = "pydantic-ai")]
    fn history(body: &str) -> Result<Self, CompactError> {
        use foldback_providers::wire::shared::messages::wrong;
        #[derive(serde::Deserialize)]
        struct Tools<'a> {
            #[serde(borrow)]
            tools: Option<&'a serde_json::value::RawValue>,
        }

        let failed = |error: &dyn std::fmt::Display| CompactError::text(error);
        let read = foldback_formats::read(body.as_bytes(), Some(Form::PydanticAi.name()));
        let session = read.map_err(|error| failed(&error))?.into_iter().next();
        let session = session.ok_or_else(|| failed(&"no messages"))?;
        if let Some(damaged) =
            session.warnings.iter().find(|warning| warning.code == "damaged-line")
        {
            return Err(CompactError::At(damaged.place.clone(), wrong(&damaged.detail).to_owned()));
        }
        let mut frame = session.frame.clone();
        let tools: Tools<'_> = serde_json::from_str(body).map_err(|error| failed(&error))?;
        if let Some(tools) = tools.tools {
            frame.push_text(crate::SegmentKind::Tools, tools.get());
        }
        Ok(Self::History(Box::new(session), frame))
    }

    /// The messages, in order.
    pub(crate) fn messages(&self) -> &[Arc<Message>] {
        match self {
            Self::Request(request) => request.messages(),
            #[cfg(feature = "pydantic-ai")]
            Self::History(session, _) => &session.messages,
        }
    }

    /// System prompt and tools.
    pub(crate) fn frame(&self) -> &Frame {
        match self {
            Self::Request(request) => request.frame(),
            #[cfg(feature = "pydantic-ai")]
            Self::History(_, frame) => frame,
        }
    }

    /// The model that is asked.
    pub(crate) fn model(&self) -> Option<&str> {
        match self {
            Self::Request(request) => request.model(),
            #[cfg(feature = "pydantic-ai")]
            Self::History(session, _) => session.model.as_deref(),
        }
    }

    /// The body to send. Where nothing is folded nothing is `shown`, and it is the one that came.
    pub(crate) fn body(&self, shown: Option<&[ShownMessage<'_>]>) -> Result<String, CompactError> {
        match (self, shown) {
            (Self::Request(request), Some(shown)) => Ok(request.folded(shown)?.body),
            (Self::Request(request), None) => Ok(request.body().to_owned()),
            #[cfg(feature = "pydantic-ai")]
            (Self::History(..), _) => Err(CompactError::text("a history is no body of a request")),
        }
    }

    /// The messages to send, one by one. Where nothing is folded nothing is `shown`, and they are those that came.
    pub(crate) fn items(
        &self,
        shown: Option<&[ShownMessage<'_>]>,
    ) -> Result<Vec<Item>, CompactError> {
        match (self, shown) {
            (Self::Request(request), Some(shown)) => Ok(request.folded_list(shown)?.items),
            (Self::Request(request), None) => Ok(request.kept_list()),
            #[cfg(feature = "pydantic-ai")]
            (Self::History(session, _), shown) => {
                let plain = || session.messages.iter().map(ShownMessage::plain).collect();
                let shown: Cow<'_, [ShownMessage<'_>]> =
                    shown.map_or_else(|| Cow::Owned(plain()), Cow::Borrowed);
                let items = foldback_formats::pydantic_ai::items(session, &shown, &mut Vec::new());
                items.map_err(CompactError::text)
            }
        }
    }
}

fn each(list: &Value) -> &[Value] {
    list.as_array().map_or(&[], Vec::as_slice)
}

/// Whether there is something in the messages or the tools that only Anthropic's protocol has.
fn uses_blocks_of_anthropic(root: &Value) -> bool {
    let kinds = ["tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document"];
    let is_block = |block: &Value| block["type"].as_str().is_some_and(|kind| kinds.contains(&kind));
    each(&root["tools"]).iter().any(|tool| tool.get("input_schema").is_some())
        || each(&root["messages"])
            .iter()
            .any(|message| each(&message["content"]).iter().any(is_block))
}
