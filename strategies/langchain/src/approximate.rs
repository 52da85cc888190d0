//! `langchain.approximate`: `count_tokens_approximately` of langchain-core.
//!
//! A message counts by its characters, those of its role, name and call id included, divided by four and rounded up for the message as
//! a whole, and three tokens more; an image has a fixed size. Calls are measured as Python prints the list of them.

use foldback_core::log::{Media, Message, Part, PartKind, Role, ToolCall};
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::Estimator;
use foldback_stages::python::{self, repr};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;

/// Characters of a token.
const PER_TOKEN: u64 = 4;

/// Tokens of every message besides its characters.
const PER_MESSAGE: u64 = 3;

/// Tokens of an image.
const PER_IMAGE: u64 = 85;

/// Configuration of [`Approximate`]; there is nothing to set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ApproximateConfig {}

impl StageConfig<dyn Estimator> for ApproximateConfig {
    fn build(self) -> Result<Arc<dyn Estimator>, Invalid> {
        let id = format!("langchain.approximate/{PER_TOKEN} +{PER_MESSAGE} image {PER_IMAGE}");
        Ok(Arc::new(Approximate { id: id.into() }))
    }
}

/// Characters by message.
#[derive(Clone, Debug)]
pub struct Approximate {
    id: Arc<str>,
}

fn chars(text: &str) -> u64 {
    text.chars().count() as u64
}

/// A call as LangChain holds it. Arguments that are no object are an invalid call there, which has none.
fn call(call: &ToolCall, arguments: &str) -> Value {
    json!({"name": call.tool, "args": python::arguments(arguments), "id": call.call_id, "type": "tool_call"})
}

fn images<'a>(media: impl IntoIterator<Item = &'a Media>) -> u64 {
    media.into_iter().filter(|media| media.mime.starts_with("image/")).count() as u64
}

/// Tokens of a whole message with so many characters.
fn of_message(chars: u64) -> u64 {
    chars.div_ceil(PER_TOKEN) + PER_MESSAGE
}

impl Approximate {
    /// Tokens of a message that is no tool result, as it was recorded.
    fn whole(message: &Message) -> u64 {
        let (mut sum, mut calls, mut seen) = (chars(message.role.as_str()), Vec::new(), 0);
        for part in &message.parts {
            match &part.kind {
                PartKind::Text { text, ignored: false, .. } => sum += chars(text),
                PartKind::Call(one) => calls.push(call(one, &one.arguments)),
                PartKind::File(media) => seen += images([media]),
                _ => {}
            }
        }
        if !calls.is_empty() {
            sum += chars(&repr(&Value::Array(calls)));
        }
        of_message(sum) + seen * PER_IMAGE
    }
}

impl Estimator for Approximate {
    fn id(&self) -> &Arc<str> {
        &self.id
    }

    fn text(&self, text: &str) -> u64 {
        chars(text).div_ceil(PER_TOKEN)
    }

    /// A result is a message of its own. Of other messages the parts are rounded down, and what is left is
    /// counted with the message.
    fn part(&self, part: &Part, shown: &str) -> u64 {
        match &part.kind {
            PartKind::Result(result) => {
                let named =
                    chars(&result.call_id) + chars(&result.tool) + chars(Role::Tool.as_str());
                let images = images(&result.media) * PER_IMAGE;
                of_message(chars(shown) + named) + images
            }
            PartKind::Text { ignored: false, .. } => chars(shown) / PER_TOKEN,
            PartKind::Call(one) => chars(&repr(&call(one, shown))) / PER_TOKEN,
            PartKind::File(media) => images([media]) * PER_IMAGE,
            _ => 0,
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
