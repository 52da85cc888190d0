//! What is sent around the history: system prompt, tool definitions, and the other named segments
//! that prompt builders put before or after the conversation.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Which segment of a request this is; written as its name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum SegmentKind {
    /// `system`: the system prompt.
    System,
    /// `tools`: definitions of the tools.
    Tools,
    /// `unrecorded`: everything a recorder sent but did not write down; known from usage only.
    Unrecorded,
    /// Any other, under the name that a prompt builder or a strategy gives it.
    Named(Cow<'static, str>),
}

impl SegmentKind {
    /// A segment with a name of one's own.
    pub const fn named(name: &'static str) -> Self {
        Self::Named(Cow::Borrowed(name))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        match self {
            Self::System => "system",
            Self::Tools => "tools",
            Self::Unrecorded => "unrecorded",
            Self::Named(name) => name,
        }
    }
}

impl From<String> for SegmentKind {
    fn from(name: String) -> Self {
        match name.as_str() {
            "system" => Self::System,
            "tools" => Self::Tools,
            "unrecorded" => Self::Unrecorded,
            _ => Self::Named(name.into()),
        }
    }
}

impl From<SegmentKind> for String {
    fn from(kind: SegmentKind) -> Self {
        kind.as_str().to_owned()
    }
}

/// One named segment with its text, or with its size alone where the text was not recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    /// Which one.
    pub kind: SegmentKind,
    /// The text; empty where only the size is known.
    pub text: String,
    /// Size in tokens where it is known from usage; otherwise the estimator counts the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
}

/// All segments around a history.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Frame {
    /// The segments in the order they are sent.
    pub segments: Vec<Segment>,
}

impl Frame {
    /// Adds a segment with a text.
    pub fn push_text(&mut self, kind: SegmentKind, text: impl Into<String>) {
        self.segments.push(Segment { kind, text: text.into(), tokens: None });
    }

    /// Adds a segment of which only the size is known.
    pub fn push_tokens(&mut self, kind: SegmentKind, tokens: u64) {
        self.segments.push(Segment { kind, text: String::new(), tokens: Some(tokens) });
    }

    /// Tokens of the segments of one kind, counted by `count` where the size is not known.
    pub fn tokens_of(&self, kind: &SegmentKind, mut count: impl FnMut(&str) -> u64) -> u64 {
        self.segments
            .iter()
            .filter(|segment| segment.kind == *kind)
            .map(|segment| segment.tokens.unwrap_or_else(|| count(&segment.text)))
            .sum()
    }

    /// Tokens of all segments, counted by `count` where the size is not known.
    pub fn tokens(&self, mut count: impl FnMut(&str) -> u64) -> u64 {
        self.segments
            .iter()
            .map(|segment| segment.tokens.unwrap_or_else(|| count(&segment.text)))
            .sum()
    }

    /// The text of the first segment of a kind.
    pub fn text_of(&self, kind: SegmentKind) -> Option<&str> {
        self.segments
            .iter()
            .find(|segment| segment.kind == kind && !segment.text.is_empty())
            .map(|segment| segment.text.as_str())
    }
}
