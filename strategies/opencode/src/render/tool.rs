//! Tool results: what a model is shown of a run that ended well, ended badly or never ended.

use super::model::{Content, Output};
use super::{Rendering, Version, file, truncated};
use foldback_core::log::{ResultStatus, ToolResult};
use foldback_core::view::{EditKind, PartEdit, ShownMessage};
use serde_json::Value;

/// What a run that never ended shows.
const INTERRUPTED: &str = "[Tool execution was interrupted]";

/// The results of a stored message, to be joined with its calls.
pub(super) struct Answers<'a>(Vec<(&'a ToolResult, Option<&'a PartEdit>)>);

impl<'a> Answers<'a> {
    pub(super) fn new(shown: &[ShownMessage<'a>]) -> Self {
        let mut results = Vec::new();
        for item in shown {
            for (index, part) in item.message.parts.iter().enumerate() {
                if let Some(result) = part.as_result() {
                    results.push((result, item.edit(index)));
                }
            }
        }
        Self(results)
    }

    /// The first result that answers a call and was not taken yet.
    pub(super) fn take(&mut self, call_id: &str) -> Option<(&'a ToolResult, Option<&'a PartEdit>)> {
        let index = self.0.iter().position(|(result, _)| result.call_id == call_id)?;
        Some(self.0.remove(index))
    }

    /// The results that no call took.
    pub(super) fn rest(self) -> impl Iterator<Item = (&'a ToolResult, Option<&'a PartEdit>)> {
        self.0.into_iter()
    }
}

/// Media that came with a result and are sent beside it.
pub(super) struct Attachments {
    pub(super) tool: String,
    pub(super) files: Vec<Content>,
}

impl Attachments {
    /// The files under a note, as the content of a message.
    pub(super) fn message(&self, note: String) -> Vec<Content> {
        std::iter::once(Content::text(note)).chain(self.files.iter().cloned()).collect()
    }
}

/// A rendered result.
pub(super) struct Rendered {
    pub(super) content: Content,
    pub(super) beside: Option<Attachments>,
}

impl Rendered {
    /// The result of a call without a recorded result.
    pub(super) fn interrupted(call_id: &str, tool: &str) -> Self {
        Self {
            content: Content::ToolResult {
                tool_call_id: call_id.to_owned(),
                tool_name: tool.to_owned(),
                output: Output::ErrorText(INTERRUPTED.to_owned()),
            },
            beside: None,
        }
    }
}

pub(super) fn result(
    result: &ToolResult,
    edit: Option<&PartEdit>,
    rendering: Rendering<'_>,
) -> Rendered {
    let mut beside = Vec::new();
    let output = match result.status {
        ResultStatus::Completed => completed(result, edit, rendering, &mut beside),
        ResultStatus::Pending | ResultStatus::Running => Output::ErrorText(INTERRUPTED.to_owned()),
        ResultStatus::Error | ResultStatus::Retry => match partial_output(result) {
            Some(partial) if rendering.version == Version::V1_17 => Output::Text(partial),
            _ => Output::ErrorText(shown(result, edit).to_owned()),
        },
    };
    Rendered {
        content: Content::ToolResult {
            tool_call_id: result.call_id.clone(),
            tool_name: result.tool.clone(),
            output,
        },
        beside: (!beside.is_empty())
            .then(|| Attachments { tool: result.tool.clone(), files: beside }),
    }
}

fn completed(
    result: &ToolResult,
    edit: Option<&PartEdit>,
    rendering: Rendering<'_>,
    beside: &mut Vec<Content>,
) -> Output {
    let cleared = edit.is_some_and(|edit| edit.kind == EditKind::Clear);
    let text = match rendering.max_output {
        Some(limit) if !cleared => truncated(shown(result, edit), limit),
        _ => shown(result, edit).to_owned(),
    };
    let mut inside = Vec::new();
    for media in &result.media {
        match rendering.version {
            // January sent the attachments of a cleared output anyway.
            Version::January => beside.push(file(media)),
            Version::V1_17 if cleared || rendering.strip_media => {}
            Version::V1_17 if rendering.result_media.takes(media) => inside.push(file(media)),
            Version::V1_17 => beside.push(file(media)),
        }
    }
    if inside.is_empty() {
        return Output::Text(text);
    }
    inside.insert(0, Content::text(text));
    Output::Content(inside)
}

fn shown<'a>(result: &'a ToolResult, edit: Option<&'a PartEdit>) -> &'a str {
    edit.map_or(&result.text, |edit| &edit.text)
}

/// What an interrupted tool had written so far, which OpenCode keeps in the metadata of the error.
fn partial_output(result: &ToolResult) -> Option<String> {
    let metadata = result.structured.as_ref()?;
    if metadata.get("interrupted") != Some(&Value::Bool(true)) {
        return None;
    }
    metadata.get("output")?.as_str().map(str::to_owned)
}
