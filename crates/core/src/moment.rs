//! The moments at which a conversation may be folded.
//!
//! The systems differ in exactly this: tunacode acts when a user turn starts, the window compactor
//! before every model call, OpenCode when an answer's usage is known and again when the loop ends. A
//! turn has many calls; mixing up the two makes every number wrong.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr};

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
    JsonSchema,
    Display,
    IntoStaticStr,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
#[non_exhaustive]
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
    /// The model stopped because the output limit or the window was reached. Comes just before the end of the step.
    LengthStop,
    /// The provider refused the request for its length.
    ProviderOverflow,
    /// A fold was decided on and its summary has not been asked for yet.
    BeforeSummary,
    /// The agent's loop ended.
    TurnEnd,
    /// The model has finished, and its user has said nothing for so long that the provider's prompt cache will soon expire.
    Idle,
    /// A person asked for it.
    Manual,
}

impl Moment {
    /// Every moment.
    pub const ALL: &'static [Self] = &[
        Self::TurnStart,
        Self::CallStart,
        Self::StepEnd,
        Self::ToolResult,
        Self::LengthStop,
        Self::ProviderOverflow,
        Self::BeforeSummary,
        Self::TurnEnd,
        Self::Idle,
        Self::Manual,
    ];

    /// Whether something has gone wrong already: the request was refused, or its answer cut.
    pub fn is_reactive(self) -> bool {
        matches!(self, Self::LengthStop | Self::ProviderOverflow)
    }

    /// The name used in configuration and output.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// Who asked for a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
#[non_exhaustive]
pub enum Trigger {
    /// A policy.
    Auto,
    /// A person.
    Manual,
}

impl Trigger {
    /// `auto` or `manual`.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}
