//! What is sent around the history: system prompt, tool definitions, and the other named segments
//! that prompt builders put before or after the conversation.

use crate::log::{CountCache, Counts};
use crate::stage::Estimator;
use serde::{Deserialize, Serialize};
use smallvec::smallvec;
use std::borrow::Cow;
use std::sync::Arc;

/// A segment of a request; serialized as its name.
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
    /// A segment with a custom name.
    #[doc(hidden)]
    pub const fn named(name: &'static str) -> Self {
        Self::Named(Cow::Borrowed(name))
    }

    /// The name.
    #[doc(hidden)]
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
    /// Every clone of a frame is counted once: strategies that are compared send the same one.
    #[serde(skip)]
    counts: Arc<CountCache>,
}

impl Segment {
    /// Its size; the text is counted where the size is not known.
    pub fn tokens(&self, estimator: &dyn Estimator) -> u64 {
        let count = || Counts { parts: smallvec![estimator.text(&self.text)], overhead: 0 };
        self.tokens.unwrap_or_else(|| self.counts.get_or_count(estimator.id(), count).total())
    }
}

/// All segments around a history.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Frame {
    segments: Vec<Segment>,
}

impl Frame {
    /// Adds a segment with a text.
    pub fn push_text(&mut self, kind: SegmentKind, text: impl Into<String>) {
        self.push(kind, text.into(), None);
    }

    /// Adds a segment with a known size and unknown text.
    #[doc(hidden)]
    pub fn push_tokens(&mut self, kind: SegmentKind, tokens: u64) {
        self.push(kind, String::new(), Some(tokens));
    }

    fn push(&mut self, kind: SegmentKind, text: String, tokens: Option<u64>) {
        self.segments.push(Segment { kind, text, tokens, counts: Arc::default() });
    }

    /// The segments in the order they are sent.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Tokens of the segments of one kind.
    #[doc(hidden)]
    pub fn tokens_of(&self, kind: &SegmentKind, estimator: &dyn Estimator) -> u64 {
        let segments = self.segments.iter().filter(|segment| segment.kind == *kind);
        segments.map(|segment| segment.tokens(estimator)).sum()
    }

    /// Tokens of all segments.
    pub fn tokens(&self, estimator: &dyn Estimator) -> u64 {
        self.segments.iter().map(|segment| segment.tokens(estimator)).sum()
    }

    /// The text of the first segment of a kind.
    #[doc(hidden)]
    pub fn text_of(&self, kind: SegmentKind) -> Option<&str> {
        self.segments
            .iter()
            .find(|segment| segment.kind == kind && !segment.text.is_empty())
            .map(|segment| segment.text.as_str())
    }
}
