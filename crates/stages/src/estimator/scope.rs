//! Which parts of a message count, besides texts and tool results.

use crate::python::{self, repr};
use foldback_core::log::{Message, Part, PartKind, ToolCall};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// How much of a tool call counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Calls {
    /// Nothing: calls are free.
    None,
    /// The arguments alone.
    Arguments,
    /// The arguments and the name of the tool, each as a text of its own.
    #[default]
    Named,
    /// The name of the tool, and the arguments as a string in JSON, each as a text of its own.
    Quoted,
    /// The arguments behind the name of the tool, as one text.
    Joined,
    /// The call as JSON in the form of OpenAI's chat completions: id, type, function, name, arguments.
    Json,
    /// The id, the name of the tool, and the arguments as Python prints them, each as a text of its own.
    Python,
}

impl Calls {
    fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Arguments => "arguments",
            Self::Named => "named",
            Self::Quoted => "quoted",
            Self::Joined => "joined",
            Self::Json => "json",
            Self::Python => "python",
        }
    }
}

/// Which parts of a message count, and what a message and a file cost besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope {
    /// Tokens that every message costs besides its parts.
    pub per_message: u64,
    /// Tokens that every part costs besides its content; a result costs them twice, for itself and for its text.
    pub per_part: u64,
    /// Tokens that every file or image costs.
    pub per_file: u64,
    /// How much of a tool call counts.
    pub calls: Calls,
    /// Whether reasoning counts.
    pub reasoning: bool,
    /// Whether content that is not a string counts: structured tool results, parts of unknown kind.
    pub structured: bool,
}

impl Default for Scope {
    fn default() -> Self {
        Self {
            per_message: 0,
            per_part: 0,
            per_file: 0,
            calls: Calls::default(),
            reasoning: true,
            structured: true,
        }
    }
}

impl Scope {
    /// What the id of an estimator says about its scope: only what differs from the default.
    pub(crate) fn describe(self) -> String {
        let default = Self::default();
        let mut out = String::new();
        if self.per_message != default.per_message {
            out += &format!(" +{}/message", self.per_message);
        }
        if self.per_part != default.per_part {
            out += &format!(" +{}/part", self.per_part);
        }
        if self.per_file != default.per_file {
            out += &format!(" +{}/file", self.per_file);
        }
        if self.calls != default.calls {
            out += &format!(" calls={}", self.calls.as_str());
        }
        if self.reasoning != default.reasoning {
            out += " no-reasoning";
        }
        if self.structured != default.structured {
            out += " no-structured";
        }
        out
    }

    /// Tokens of a part that shows `shown`, with `text` counting a bare text.
    pub(crate) fn part(self, part: &Part, shown: &str, text: impl Fn(&str) -> u64) -> u64 {
        self.around(part) + self.content(part, shown, text)
    }

    /// Tokens of a part besides its content.
    fn around(self, part: &Part) -> u64 {
        match &part.kind {
            PartKind::Reasoning { .. } if !self.reasoning => 0,
            PartKind::Result(_) => self.around_result(),
            _ => self.per_part,
        }
    }

    /// Tokens of a result besides its text: its own, and those of the part that the text would be.
    pub(crate) fn around_result(self) -> u64 {
        2 * self.per_part
    }

    fn content(self, part: &Part, shown: &str, text: impl Fn(&str) -> u64) -> u64 {
        match &part.kind {
            PartKind::Text { .. } | PartKind::Marker(_) => text(shown),
            PartKind::Reasoning { .. } if !self.reasoning => 0,
            PartKind::Reasoning { .. } => text(shown),
            PartKind::Call(call) => self.call(call, shown, text),
            PartKind::Result(result) => {
                // What an edit puts in the place of structured content is a string again.
                let structured = result.structured.is_some() && shown == result.text;
                let content = if structured && !self.structured { 0 } else { text(shown) };
                content + self.per_file * result.media.len() as u64
            }
            PartKind::File(_) => self.per_file,
            PartKind::Unknown { .. } if !self.structured => 0,
            PartKind::Unknown { .. } => text(shown),
        }
    }

    fn call(self, call: &ToolCall, arguments: &str, text: impl Fn(&str) -> u64) -> u64 {
        match self.calls {
            Calls::None => 0,
            Calls::Arguments => text(arguments),
            Calls::Named => text(&call.tool) + text(arguments),
            Calls::Quoted => text(&call.tool) + text(&json!(arguments).to_string()),
            Calls::Joined => text(&format!("{}{arguments}", call.tool)),
            // Each call is counted as a list of its own, so that clearing one shows in the count.
            Calls::Json => text(&json!([chat_call(call, arguments)]).to_string()),
            Calls::Python => {
                text(&call.call_id) + text(&call.tool) + text(&repr(&python::arguments(arguments)))
            }
        }
    }
}

/// A call with these arguments in the form of OpenAI's chat completions.
pub fn chat_call(call: &ToolCall, arguments: &str) -> Value {
    let function = json!({ "name": call.tool, "arguments": arguments });
    json!({ "id": call.call_id, "type": "function", "function": function })
}

/// The metadata of a message as JSON, as far as the canonical form keeps any; `None` without any.
pub(crate) fn metadata(message: &Message) -> Option<String> {
    let agent = message.agent.iter().map(|agent| ("agent", agent));
    let annotations = message.annotations.iter().map(|(name, value)| (name.as_str(), value));
    let map: serde_json::Map<String, Value> = agent
        .chain(annotations)
        .map(|(name, value)| (name.to_owned(), value.clone().into()))
        .collect();
    (!map.is_empty()).then(|| Value::Object(map).to_string())
}
