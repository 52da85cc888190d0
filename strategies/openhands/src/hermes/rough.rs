//! `hermes.rough`, the estimate of a request: characters of a message as Python prints it, divided by four; and the smaller one that the
//! newest messages are measured by.

use foldback_core::log::{Media, Message, Part, PartKind, Role, ToolCall};
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::Estimator;
use foldback_stages::python::repr;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;

/// Characters of a token.
const CHARS: u64 = 4;

/// Tokens of an image in the estimate of a request.
const IMAGE: u64 = 1_500;

/// Tokens of an image, and of a message besides its content, where the newest messages are measured.
const BUDGET_IMAGE: u64 = 1_600;
const BUDGET_MESSAGE: u64 = 10;

/// Configuration of [`Rough`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RoughConfig {}

impl StageConfig<dyn Estimator> for RoughConfig {
    fn build(self) -> Result<Arc<dyn Estimator>, Invalid> {
        Ok(Arc::new(Rough("hermes.rough".into())))
    }
}

/// Characters of messages as Python prints them.
#[derive(Clone, Debug)]
pub struct Rough(Arc<str>);

fn chars(text: &str) -> u64 {
    text.chars().count() as u64
}

/// The length of a text as Python prints it.
fn printed(text: &str) -> u64 {
    chars(&repr(&Value::from(text)))
}

fn images<'a>(media: impl IntoIterator<Item = &'a Media>) -> u64 {
    media.into_iter().filter(|media| media.mime.starts_with("image/")).count() as u64
}

/// A call as it is sent.
fn sent(call: &ToolCall, arguments: &str) -> Value {
    json!({"id": call.call_id, "type": "function", "function": {"name": call.tool, "arguments": arguments}})
}

/// The id that the Responses API wants for a call.
fn item_id(call: &str) -> String {
    let behind = |id: &str| match id.strip_prefix("call_").filter(|rest| !rest.is_empty()) {
        _ if id.starts_with("fc_") => Some(id.to_owned()),
        rest => rest.map(|rest| format!("fc_{rest}")),
    };
    behind(call).unwrap_or_else(|| {
        let id = call.replace(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-', "");
        // The id has only ASCII characters now, so it can be cut at any byte.
        behind(&id).unwrap_or_else(|| format!("fc_{}", &id[..id.len().min(48)]))
    })
}

/// A call as the harness keeps it.
fn kept(call: &ToolCall, arguments: &str) -> Value {
    let id = &call.call_id;
    let function = json!({"name": call.tool, "arguments": arguments});
    json!({"id": id, "call_id": id, "response_item_id": item_id(id), "type": "function", "function": function})
}

/// What the message is besides its calls, with the texts as Python prints them.
fn message(role: Role, content: u64, thought: Option<u64>) -> u64 {
    let fields = chars("{'role': '', 'content': }") + chars(role.as_str()) + content;
    fields + thought.map_or(0, |thought| chars(", 'reasoning_content': ") + thought)
}

/// A result, which is a message of its own.
fn result(tool: &str, call_id: &str, text: u64) -> u64 {
    let fields = chars(", 'name': , 'tool_name': , 'tool_call_id': ");
    message(Role::Tool, text, None) + fields + 2 * printed(tool) + printed(call_id)
}

impl Rough {
    /// Tokens of what is no result, as it was recorded.
    fn whole(message_of: &Message) -> u64 {
        let (mut said, mut thought) = (String::new(), String::new());
        let (mut calls, mut seen) = (Vec::new(), 0);
        for part in &message_of.parts {
            match &part.kind {
                PartKind::Result(_) => {}
                PartKind::Reasoning { text, .. } => thought += text,
                PartKind::Call(call) => calls.push(sent(call, &call.arguments)),
                PartKind::File(media) => seen += images([media]),
                _ => said += &part.shown(),
            }
        }
        let content = match seen {
            0 => printed(&said),
            seen => {
                let text = (!said.is_empty()).then(|| json!({"type": "text", "text": said}));
                let image = |_| json!({"type": "image_url", "image": "[stripped]"});
                let parts = text.into_iter().chain((0..seen).map(image));
                chars(&repr(&Value::Array(parts.collect())))
            }
        };
        let thought = (!thought.is_empty()).then(|| printed(&thought));
        let mut length = message(message_of.role, content, thought);
        if !calls.is_empty() {
            length += chars(", 'tool_calls': ") + chars(&repr(&Value::Array(calls)));
        }
        length.div_ceil(CHARS) + seen * IMAGE
    }
}

impl Estimator for Rough {
    fn id(&self) -> &Arc<str> {
        &self.0
    }

    fn text(&self, text: &str) -> u64 {
        chars(text).div_ceil(CHARS)
    }

    /// A result is a message of its own. Of other messages the parts are rounded down, and what is left is counted with the message.
    fn part(&self, part: &Part, shown: &str) -> u64 {
        match &part.kind {
            PartKind::Result(of) => {
                let length = result(&of.tool, &of.call_id, printed(shown));
                length.div_ceil(CHARS) + images(&of.media) * IMAGE
            }
            PartKind::Call(call) => chars(&repr(&sent(call, shown))) / CHARS,
            PartKind::File(media) => images([media]) * IMAGE,
            _ => chars(shown) / CHARS,
        }
    }

    fn overhead(&self, message: &Message) -> u64 {
        let other = message.parts.iter().filter(|part| part.as_result().is_none());
        let counted: u64 = other.clone().map(|part| self.part(part, &part.shown())).sum();
        match message.role == Role::Tool && other.count() == 0 {
            true => 0,
            false => Self::whole(message).saturating_sub(counted),
        }
    }
}

/// Tokens of a message where the newest ones are measured: its content with ten more, each call, and reasoning in both places that it is
/// kept in.
pub fn budget(message: &Message) -> u64 {
    let (mut content, mut rest, mut thought) = (0, 0, 0);
    for part in &message.parts {
        match &part.kind {
            PartKind::Reasoning { text, .. } => thought += chars(text),
            PartKind::Call(call) => rest += chars(&repr(&kept(call, &call.arguments))) / CHARS,
            PartKind::File(media) => content += images([media]) * BUDGET_IMAGE * CHARS,
            PartKind::Result(result) => {
                content += chars(&result.text) + images(&result.media) * BUDGET_IMAGE * CHARS;
            }
            _ => content += chars(&part.shown()),
        }
    }
    content / CHARS + BUDGET_MESSAGE + rest + 2 * (thought / CHARS)
}
