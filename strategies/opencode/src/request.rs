//! What the summarizer is given (OpenCode 1.2.15 and later): no media, no long tool outputs.
//!
//! These cuts are made for the request alone and never committed.

use crate::render::{attached, truncated};
use foldback_core::log::{Message, Part, PartKind, ResultStatus};

/// What is cut for the request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cuts {
    /// Replace files by a line that says what they were, and leave out the media of tool results.
    pub strip_media: bool,
    /// Longest tool output in UTF-16 units.
    pub max_output: Option<usize>,
}

impl Cuts {
    /// The message as it goes into the request.
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
            PartKind::Result(result) => {
                if self.strip_media {
                    result.media.clear();
                }
                if let (ResultStatus::Completed, Some(limit)) = (result.status, self.max_output)
                    && result.text.encode_utf16().count() > limit
                {
                    result.text = truncated(&result.text, limit);
                    result.structured = None;
                }
            }
            _ => {}
        }
    }
}
