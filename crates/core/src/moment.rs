//! The moments at which a conversation may be folded.
//!
//! The systems differ in exactly this: tunacode acts when a user turn starts, the window compactor
//! before every model call, OpenCode when an answer's usage is known and again when the loop ends. A
//! turn has many calls; mixing up the two makes every number wrong.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A point in an agent's loop at which stages may act.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Moment {
    /// A user turn begins. The new user message is not in the history yet (tunacode prunes the
    /// stored messages before it runs the agent on the new prompt).
    TurnStart,
    /// A request is about to be sent to the model.
    CallStart,
    /// An answer with usage came, and the results of the tools it called are in the history.
    StepEnd,
    /// A tool result was appended.
    ToolResult,
    /// The model stopped because the output limit or the window was reached.
    LengthStop,
    /// The provider refused the request for its length.
    ProviderOverflow,
    /// A fold was decided on and its summary has not been asked for yet.
    BeforeSummary,
    /// The agent's loop ended.
    TurnEnd,
    /// A person asked for it.
    Manual,
}

impl Moment {
    /// Every moment.
    pub const ALL: [Self; 9] = [
        Self::TurnStart,
        Self::CallStart,
        Self::StepEnd,
        Self::ToolResult,
        Self::LengthStop,
        Self::ProviderOverflow,
        Self::BeforeSummary,
        Self::TurnEnd,
        Self::Manual,
    ];

    /// Whether something has gone wrong already: the request was refused, or its answer cut.
    pub fn is_reactive(self) -> bool {
        matches!(self, Self::LengthStop | Self::ProviderOverflow)
    }

    /// The name used in configuration and output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TurnStart => "turn-start",
            Self::CallStart => "call-start",
            Self::StepEnd => "step-end",
            Self::ToolResult => "tool-result",
            Self::LengthStop => "length-stop",
            Self::ProviderOverflow => "provider-overflow",
            Self::BeforeSummary => "before-summary",
            Self::TurnEnd => "turn-end",
            Self::Manual => "manual",
        }
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Who asked for a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trigger {
    /// A policy.
    Auto,
    /// A person.
    Manual,
}

impl Trigger {
    /// `auto` or `manual`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Manual => "manual",
        }
    }
}
