//! Messages as a model is sent them, in the shape of OpenCode's SDK (`ModelMessage`).
//!
//! Provider-neutral: what a provider makes of them is no business of compaction. The JSON of these
//! types is what OpenCode measures a kept tail by.

use serde::Serialize;
use serde_json::Value;

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ModelRole {
    /// Instructions of the harness.
    System,
    /// The user.
    User,
    /// The model.
    Assistant,
    /// Tools: the results of the assistant message before.
    Tool,
}

/// One message of a request.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelMessage {
    /// Who speaks.
    pub role: ModelRole,
    /// The content.
    pub content: Vec<Content>,
}

impl ModelMessage {
    /// A message.
    pub fn new(role: ModelRole, content: Vec<Content>) -> Self {
        Self { role, content }
    }
}

/// One part of a message.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Content {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// Reasoning.
    Reasoning {
        /// The readable form.
        text: String,
        /// The form that only its own provider can read.
        #[serde(skip_serializing_if = "Option::is_none")]
        provider_options: Option<String>,
    },
    /// A file or an image.
    File {
        /// MIME type.
        media_type: String,
        /// Name, where known.
        #[serde(skip_serializing_if = "Option::is_none")]
        filename: Option<String>,
        /// URL or data.
        data: String,
    },
    /// A request to run a tool.
    ToolCall {
        /// Joins call and result.
        tool_call_id: String,
        /// The tool.
        tool_name: String,
        /// Its arguments.
        input: Value,
    },
    /// What a tool answered.
    ToolResult {
        /// Joins call and result.
        tool_call_id: String,
        /// The tool.
        tool_name: String,
        /// The answer.
        output: Output,
    },
    /// A part that OpenCode does not know, as it was recorded.
    Other {
        /// The part.
        value: Value,
    },
}

impl Content {
    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

/// What a tool answered.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", content = "value", rename_all = "kebab-case")]
pub enum Output {
    /// Text.
    Text(String),
    /// The text of an error.
    ErrorText(String),
    /// Text and media.
    Content(Vec<Content>),
}
