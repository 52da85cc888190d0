//! From stored messages to what the model is sent (OpenCode's `toModelMessages`).
//!
//! The log has no `step-start` parts: every answer of a stored message that spans several is a message
//! of its own, and the beginning of one is where a step starts. A part of unknown kind that is named
//! `step-start` splits as well, and one named `subtask` is the tool run that a user asked for.

mod model;
mod tool;

pub use model::{Content, ModelMessage, ModelRole, Output};
use tool::Rendered;

use crate::stored::StoredMessage;
use foldback_core::Role;
use foldback_core::history::History;
use foldback_core::log::{Media, Message, Part, PartKind};
use foldback_core::view::{ShownMessage, View};
use foldback_stages::filter::first_units;

/// What the model is shown in place of a tool run that a user asked for.
pub const SUBTASK_TEXT: &str = "The following tool was executed by the user";

/// Name of the error of an answer that the user broke off.
const ABORTED: &str = "MessageAbortedError";

/// Names of parts that split an assistant message, and that stand for a tool run.
const STEP_START: &str = "step-start";
const SUBTASK: &str = "subtask";

/// Parts that OpenCode stores and never sends.
const NEVER_SENT: &[&str] = &[STEP_START, "step-finish", "snapshot", "patch", "agent", "retry"];

/// Which version's rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// v1.1.28.
    #[default]
    January,
    /// v1.17.10.
    V1_17,
}

/// Which media a provider takes inside the result of a tool (1.17).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ResultMedia {
    /// All.
    #[default]
    All,
    /// Images alone (Bedrock); the rest follows in a user message.
    Images,
    /// None; all of it follows in a user message.
    Nothing,
}

impl ResultMedia {
    fn takes(self, media: &Media) -> bool {
        match self {
            Self::All => true,
            Self::Images => media.mime.starts_with("image/"),
            Self::Nothing => false,
        }
    }
}

/// How to render.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rendering<'a> {
    /// Which version's rules.
    pub version: Version,
    /// The model that the request goes to; `None` where every message is taken to be its own.
    pub model: Option<&'a str>,
    /// Which media its provider takes inside the result of a tool.
    pub result_media: ResultMedia,
    /// Whether media are replaced by their description.
    pub strip_media: bool,
    /// Longest tool output in UTF-16 units; what goes over is cut off.
    pub max_output: Option<usize>,
}

/// A text that says what an image or a file was.
pub fn attached(media: &Media) -> String {
    format!("[Attached {}: {}]", media.mime, media.name.as_deref().unwrap_or("file"))
}

/// The first `limit` UTF-16 units of a text and a line that says how many were left out. A character
/// that the limit would cut in two is left out whole.
pub fn truncated(text: &str, limit: usize) -> String {
    match first_units(text, limit) {
        None => text.to_owned(),
        Some((kept, omitted)) => {
            format!("{kept}\n[Tool output truncated for compaction: omitted {omitted} chars]")
        }
    }
}

/// Stored messages as the model is sent them.
pub fn to_model_messages(
    history: &History,
    view: &View,
    messages: &[StoredMessage],
    rendering: Rendering<'_>,
) -> Vec<ModelMessage> {
    let mut out = Vec::new();
    for message in messages {
        let shown: Vec<ShownMessage<'_>> =
            message.items.iter().map(|pos| view.show_item(history, *pos)).collect();
        match message.role {
            Role::System => system(&shown, &mut out),
            Role::User => user(&shown, rendering, &mut out),
            Role::Assistant | Role::Tool => assistant(&shown, rendering, &mut out),
        }
    }
    out
}

fn system(shown: &[ShownMessage<'_>], out: &mut Vec<ModelMessage>) {
    for item in shown {
        let text = item.message.shown_text();
        if !text.is_empty() {
            out.push(ModelMessage::new(ModelRole::System, vec![Content::text(text)]));
        }
    }
}

fn user(shown: &[ShownMessage<'_>], rendering: Rendering<'_>, out: &mut Vec<ModelMessage>) {
    let mut content = Vec::new();
    for item in shown {
        for (index, part) in item.message.parts.iter().enumerate() {
            content.extend(user_part(part, &item.text_of(index), rendering));
        }
    }
    push(out, ModelRole::User, content);
    let orphans = tool::Answers::new(shown).rest().map(|(result, edit)| {
        let Rendered { content, .. } = tool::result(result, edit, rendering);
        content
    });
    push(out, ModelRole::Tool, orphans.collect());
}

fn user_part(part: &Part, shown: &str, rendering: Rendering<'_>) -> Option<Content> {
    match &part.kind {
        PartKind::Text { ignored: true, .. } => None,
        PartKind::Text { .. } if rendering.version == Version::V1_17 && shown.is_empty() => None,
        PartKind::Text { .. } | PartKind::Marker(_) => Some(Content::text(shown)),
        // Text files and directories were expanded into text parts beside them.
        PartKind::File(media)
            if matches!(&*media.mime, "text/plain" | "application/x-directory") =>
        {
            None
        }
        PartKind::File(media) if rendering.strip_media => Some(Content::text(attached(media))),
        PartKind::File(media) => Some(file(media)),
        PartKind::Unknown { name, .. } if name == SUBTASK => Some(Content::text(SUBTASK_TEXT)),
        _ => other(part),
    }
}

/// What a model said and did between two starts of a step: one assistant message and the results of
/// its calls.
#[derive(Default)]
struct Block {
    content: Vec<Content>,
    results: Vec<Content>,
}

fn assistant(shown: &[ShownMessage<'_>], rendering: Rendering<'_>, out: &mut Vec<ModelMessage>) {
    if is_dropped(shown) {
        return;
    }
    let mut blocks = Vec::new();
    let mut block = Block::default();
    let mut attachments = Vec::new();
    let mut answers = tool::Answers::new(shown);
    for item in shown {
        if item.message.role == Role::Assistant {
            blocks.push(std::mem::take(&mut block));
        }
        for (index, part) in item.message.parts.iter().enumerate() {
            match &part.kind {
                PartKind::Unknown { name, .. } if name == STEP_START => {
                    blocks.push(std::mem::take(&mut block));
                }
                PartKind::Call(call) => {
                    block.content.push(Content::ToolCall {
                        tool_call_id: call.call_id.clone(),
                        tool_name: call.tool.clone(),
                        input: call.arguments_value(),
                    });
                    let rendered = match answers.take(&call.call_id) {
                        Some((result, edit)) => tool::result(result, edit, rendering),
                        None => Rendered::interrupted(&call.call_id, &call.tool),
                    };
                    block.results.push(rendered.content);
                    attachments.extend(rendered.beside);
                }
                _ => block.content.extend(assistant_part(
                    part,
                    &item.text_of(index),
                    is_foreign(item.message, rendering),
                    rendering.version,
                )),
            }
        }
    }
    // Results whose call is not there are sent as they are.
    for (result, edit) in answers.rest() {
        let rendered = tool::result(result, edit, rendering);
        block.results.push(rendered.content);
        attachments.extend(rendered.beside);
    }
    blocks.push(block);

    let january = rendering.version == Version::January;
    if january {
        for attached in &attachments {
            let note = format!("Tool {} returned an attachment:", attached.tool);
            push(out, ModelRole::User, attached.message(note));
        }
    }
    for block in blocks {
        push(out, ModelRole::Assistant, block.content);
        push(out, ModelRole::Tool, block.results);
    }
    if !january && !attachments.is_empty() {
        let files = attachments.into_iter().flat_map(|attached| attached.files);
        let note = Content::text("Attached media from tool result:");
        push(out, ModelRole::User, std::iter::once(note).chain(files).collect());
    }
}

fn assistant_part(part: &Part, shown: &str, foreign: bool, version: Version) -> Option<Content> {
    match &part.kind {
        PartKind::Text { ignored: true, .. } | PartKind::Result(_) => None,
        PartKind::Text { .. } | PartKind::Marker(_) => Some(Content::text(shown)),
        PartKind::Reasoning { .. } if foreign && version == Version::V1_17 => {
            (!shown.trim().is_empty()).then(|| Content::text(shown))
        }
        PartKind::Reasoning { opaque, .. } => Some(Content::Reasoning {
            text: shown.to_owned(),
            provider_options: opaque.clone().filter(|_| !foreign),
        }),
        PartKind::File(media) => Some(file(media)),
        _ => other(part),
    }
}

/// A part that OpenCode does not know; the log may come from elsewhere.
fn other(part: &Part) -> Option<Content> {
    match &part.kind {
        PartKind::Unknown { name, raw } if !NEVER_SENT.contains(&name.as_str()) => {
            Some(Content::Other { value: raw.clone() })
        }
        _ => None,
    }
}

/// Whether an answer that ended with an error is left out: always, unless the user broke it off when
/// there was more than reasoning.
fn is_dropped(shown: &[ShownMessage<'_>]) -> bool {
    let mut errors =
        shown.iter().filter_map(|item| item.message.answer.as_ref()?.error.as_deref()).peekable();
    if errors.peek().is_none() {
        return false;
    }
    let says_something =
        shown.iter().flat_map(|item| &item.message.parts).any(|part| match &part.kind {
            PartKind::Reasoning { .. } => false,
            PartKind::Unknown { name, .. } => name != STEP_START,
            _ => true,
        });
    errors.any(|error| error != ABORTED) || !says_something
}

fn is_foreign(message: &Message, rendering: Rendering<'_>) -> bool {
    let own = message.answer.as_ref().and_then(|answer| answer.model.as_deref());
    matches!((own, rendering.model), (Some(own), Some(target)) if own != target)
}

fn file(media: &Media) -> Content {
    Content::File {
        media_type: media.mime.clone(),
        filename: media.name.clone(),
        data: media.url.clone(),
    }
}

/// Appends a message unless there is nothing in it.
fn push(out: &mut Vec<ModelMessage>, role: ModelRole, content: Vec<Content>) {
    if !content.is_empty() {
        out.push(ModelMessage { role, content });
    }
}
