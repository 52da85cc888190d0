//! What the summarizer is given (OpenCode 1.2.15 and later): no media, no long tool outputs.
//!
//! These cuts are made for the request alone and never committed.

use crate::render::{attached, truncated};
use foldback_core::log::{Message, Part, PartKind, ResultStatus, ToolResult};
use foldback_core::view::{EditKind, ShownMessage};
use foldback_stages::filter::first_units;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the request shows the messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// As they were sent: an output that is cut says how much is left out, and its files are gone (until 1.17).
    #[default]
    Messages,
    /// As a record of who said what: the files of a result are named below its output, both are cut together, and the ending
    /// does not say how much was cut (1.18).
    Text,
}

/// Ends what was cut in a record.
pub const TRUNCATED: &str = "\n[truncated]";

/// What is cut for the request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cuts {
    /// How the request shows the messages.
    pub form: Form,
    /// Replace files by a line that says what they were.
    pub strip_media: bool,
    /// Longest tool output in UTF-16 units.
    pub max_output: Option<usize>,
}

impl Cuts {
    /// The message as it goes into the request, from how the view shows it.
    pub fn shown(&self, shown: &ShownMessage<'_>) -> Message {
        let mut message = shown.to_message();
        if self.form == Form::Text {
            let parts = shown.message.parts.iter().enumerate();
            let is_cleared =
                |at: usize| shown.edit(at).is_some_and(|edit| edit.kind == EditKind::Clear);
            let cleared = parts.filter(|(at, _)| is_cleared(*at));
            let cleared: Vec<&str> =
                cleared.filter_map(|(_, part)| Some(&*part.as_result()?.call_id)).collect();
            for part in &mut message.parts {
                if let PartKind::Result(result) = &mut part.kind
                    && cleared.contains(&&*result.call_id)
                {
                    result.media.clear();
                }
            }
        }
        self.apply(message)
    }

    /// The message with its parts cut.
    pub fn apply(&self, mut message: Message) -> Message {
        for part in &mut message.parts {
            self.part(part);
        }
        message
    }

    fn part(&self, part: &mut Part) {
        match &mut part.kind {
            PartKind::File(media) if self.strip_media => {
                part.kind =
                    PartKind::Text { text: attached(media), synthetic: true, ignored: false };
            }
            PartKind::Result(result) => self.result(result),
            _ => {}
        }
    }

    fn result(&self, result: &mut ToolResult) {
        let media = if self.strip_media { std::mem::take(&mut result.media) } else { Vec::new() };
        if result.status != ResultStatus::Completed {
            return;
        }
        let mut text = std::mem::take(&mut result.text);
        if self.form == Form::Text {
            for media in &media {
                text.push('\n');
                text.push_str(&attached(media));
            }
        }
        let cut = self.max_output.and_then(|limit| match self.form {
            Form::Messages => first_units(&text, limit).map(|_| truncated(&text, limit)),
            Form::Text => first_units(&text, limit).map(|(kept, _)| format!("{kept}{TRUNCATED}")),
        });
        let changed = cut.is_some() || (self.form == Form::Text && !media.is_empty());
        result.text = cut.unwrap_or(text);
        if changed {
            result.structured = None;
        }
    }
}
