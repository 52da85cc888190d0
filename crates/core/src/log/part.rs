//! The parts of a message.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;

/// One part of a message, with the place it was read from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// What the part is.
    #[serde(flatten)]
    pub kind: PartKind,
    /// JSON pointer inside the record ([`super::Message::record`], or `source_record`) to the element
    /// that this part was read from. Writers patch that element and leave every other byte alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// The record that `pointer` goes into, where it is not the message's own: formats that spread
    /// one answer over several lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_record: Option<u32>,
    /// Reasoning that the provider hid from everybody (`redacted_thinking`). It goes back in another form than
    /// reasoning whose text is just empty.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redacted: bool,
}

/// What a part is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum PartKind {
    /// Text.
    Text {
        /// The text.
        text: String,
        /// Written by the harness in the user's name (a reminder, an injected file), not by a person.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        synthetic: bool,
        /// Stored but never sent to the model.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        ignored: bool,
    },
    /// The model's reasoning.
    Reasoning {
        /// Readable reasoning; may be empty where only the opaque form was recorded.
        text: String,
        /// Signature or encrypted content that must go back unaltered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        opaque: Option<String>,
    },
    /// The model asks for a tool to be run.
    Call(ToolCall),
    /// What a tool answered.
    Result(ToolResult),
    /// A file or an image in the conversation.
    File(Media),
    /// The stub at the position where a compaction was requested.
    Marker(Marker),
    /// Anything an importer does not know; kept as it came and sent as it came.
    Unknown {
        /// The recorder's own name for the part.
        name: String,
        /// The part as it was recorded.
        raw: Value,
    },
}

/// A request of the model to run a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Joins the call with its result.
    pub call_id: String,
    /// Name of the tool.
    pub tool: String,
    /// Arguments as JSON text (free text for tools that take free text).
    pub arguments: String,
}

impl ToolCall {
    /// The arguments as JSON; free text becomes a JSON string.
    pub fn arguments_value(&self) -> Value {
        serde_json::from_str(&self.arguments)
            .unwrap_or_else(|_| Value::String(self.arguments.clone()))
    }
}

/// How a tool run ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResultStatus {
    /// The tool ran and returned something.
    #[default]
    Completed,
    /// The tool failed; the text is the error.
    Error,
    /// The harness refused the call and asked the model to try again (pydantic-ai `retry-prompt`).
    Retry,
    /// The call was never started.
    Pending,
    /// The call was still running when the session was recorded.
    Running,
}

impl ResultStatus {
    /// Whether the tool ran to an end that produced this content.
    #[doc(hidden)]
    pub fn is_settled(self) -> bool {
        matches!(self, Self::Completed | Self::Error | Self::Retry)
    }
}

/// What a tool answered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// Joins the result with its call.
    pub call_id: String,
    /// Name of the tool; filled from the call where the recorder did not repeat it.
    #[serde(default)]
    pub tool: String,
    /// How the run ended.
    #[serde(default)]
    pub status: ResultStatus,
    /// What the model is shown. Structured content is rendered as compact JSON.
    pub text: String,
    /// The content as recorded, where it is not a string (a pydantic-ai return of any JSON value).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured: Option<Value>,
    /// Files and images that came with the result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<Media>,
}

/// A file or an image. The bytes stay in the record; only what is needed to describe it is kept here.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[doc(hidden)]
pub struct Media {
    /// MIME type.
    pub mime: String,
    /// File name, where recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// URL, `data:` URLs included, or the base64 text as recorded.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub url: String,
}

/// The stub at the position where a compaction was requested.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[doc(hidden)]
pub struct Marker {
    /// What the model is shown in its place.
    #[serde(default)]
    pub text: String,
    /// The compaction was triggered by a policy, not by a person.
    #[serde(default)]
    pub auto: bool,
    /// The provider had refused a request for its length.
    #[serde(default)]
    pub overflow: bool,
    /// Id of the message that the kept tail starts with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail_start: Option<String>,
}

/// Names of the parts in which providers keep what they compacted themselves: Anthropic's and OpenAI's, and OpenAI's older one.
#[doc(hidden)]
pub const COMPACTIONS: [&str; 2] = ["compaction", "compaction_summary"];

impl Part {
    /// A part without a place in a record.
    pub fn new(kind: PartKind) -> Self {
        Self { kind, pointer: None, source_record: None, redacted: false }
    }

    /// Plain text, as a person or a model writes it.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(PartKind::Text { text: text.into(), synthetic: false, ignored: false })
    }

    /// Text that the harness wrote in the user's name.
    #[doc(hidden)]
    pub fn synthetic(text: impl Into<String>) -> Self {
        Self::new(PartKind::Text { text: text.into(), synthetic: true, ignored: false })
    }

    /// A tool call with its arguments as JSON text.
    pub fn call(
        call_id: impl Into<String>,
        tool: impl Into<String>,
        arguments: impl Into<String>,
    ) -> Self {
        Self::new(PartKind::Call(ToolCall {
            call_id: call_id.into(),
            tool: tool.into(),
            arguments: arguments.into(),
        }))
    }

    /// A completed tool result.
    pub fn result(
        call_id: impl Into<String>,
        tool: impl Into<String>,
        text: impl Into<String>,
    ) -> Self {
        Self::new(PartKind::Result(ToolResult {
            call_id: call_id.into(),
            tool: tool.into(),
            text: text.into(),
            ..ToolResult::default()
        }))
    }

    /// This part with the place that it was read from.
    #[must_use]
    #[doc(hidden)]
    pub fn at(mut self, pointer: impl Into<String>) -> Self {
        self.pointer = Some(pointer.into());
        self
    }

    /// The tool call, if the part is one.
    pub fn as_call(&self) -> Option<&ToolCall> {
        match &self.kind {
            PartKind::Call(call) => Some(call),
            _ => None,
        }
    }

    /// The tool result, if the part is one.
    pub fn as_result(&self) -> Option<&ToolResult> {
        match &self.kind {
            PartKind::Result(result) => Some(result),
            _ => None,
        }
    }

    /// Whether the provider itself wrote the part, as its protocol has it, in place of what stood before it, readable or sealed. A
    /// block that says that this failed replaces nothing.
    #[doc(hidden)]
    pub fn is_compaction(&self) -> bool {
        let PartKind::Unknown { name, raw } = &self.kind else { return false };
        let says = |key: &str| raw.get(key).is_some_and(Value::is_string);
        let sealed = raw.get("content").is_none() && says("encrypted_content");
        let of_wire = raw.get("type").and_then(Value::as_str) == Some(name);
        of_wire && COMPACTIONS.contains(&&**name) && (says("content") || sealed)
    }

    /// The text that the part puts in front of the model: for a call its arguments, for a file nothing.
    /// Parts that are stored but never sent show nothing.
    pub fn shown(&self) -> Cow<'_, str> {
        match &self.kind {
            PartKind::Text { ignored: true, .. } => Cow::Borrowed(""),
            PartKind::Text { text, .. } | PartKind::Reasoning { text, .. } => Cow::Borrowed(text),
            PartKind::Call(call) => Cow::Borrowed(&call.arguments),
            PartKind::Result(result) => Cow::Borrowed(&result.text),
            PartKind::File(_) => Cow::Borrowed(""),
            PartKind::Marker(marker) => Cow::Borrowed(&marker.text),
            // A compaction that can be read shows what it says.
            PartKind::Unknown { raw, .. } => match raw.get("content").and_then(Value::as_str) {
                Some(text) if self.is_compaction() => Cow::Borrowed(text),
                _ => Cow::Owned(raw.to_string()),
            },
        }
    }

    /// The word that reports use for this kind of part.
    #[doc(hidden)]
    pub fn kind_name(&self) -> &'static str {
        match &self.kind {
            PartKind::Text { .. } => "text",
            PartKind::Reasoning { .. } => "reasoning",
            PartKind::Call(_) => "tool-call",
            PartKind::Result(_) => "tool-result",
            PartKind::File(_) => "file",
            PartKind::Marker(_) => "marker",
            PartKind::Unknown { .. } => "unknown",
        }
    }
}
