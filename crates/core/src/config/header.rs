//! The part of a strategy file that no stage owns.

use crate::carry::Carry;
use crate::guard::Guards;
use crate::idle::Idle;
use crate::limits::Limits;
use crate::strategy::{Deviation, Kind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Version of the form of a strategy file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
#[doc(hidden)]
pub enum Schema {
    /// The form that this version reads; also that of a file that does not say.
    #[default]
    #[serde(rename = "foldback/strategy/1")]
    One,
}

/// Everything in a strategy file except the sections of its stages.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[doc(hidden)]
pub struct Header {
    /// Version of the form of the file.
    pub schema: Schema,
    /// Name of the strategy.
    pub name: String,
    /// What it does, in a sentence.
    pub description: String,
    /// Which system and version it reproduces.
    pub reproduces: String,
    /// For whom it is not the right choice, one phrase each.
    pub not_for: Vec<String>,
    /// The systems that it is listed with, such as the versions of one project.
    pub family: String,
    /// The group of presets that a comparison takes it in by one name.
    pub group: String,
    /// Other names that it is known by.
    pub aliases: Vec<String>,
    /// The preset or file that this one changes.
    pub extends: Option<String>,
    /// `strategy` or `control`.
    pub kind: Kind,
    /// Model whose limits apply.
    pub model: Option<String>,
    /// Limits in tokens.
    #[schemars(with = "Window")]
    pub window: Limits,
    /// Which of the engine's guards are on.
    pub guards: Guards,
    /// What folds may not lose, in addition to pinned messages.
    pub carry: Carry,
    /// When the moment `idle` comes, and what folds at it.
    pub idle: Idle,
    /// Environment variables of the original that the command honors.
    pub env: Vec<EnvFlag>,
    /// How the strategy differs from what it reproduces.
    pub deviation: Vec<Deviation>,
}

/// Limits in tokens; 0 means "not given".
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only the schema is used")]
struct Window {
    /// The whole window.
    context: u64,
    /// Limit of the input alone.
    input: u64,
    /// Limit of the output.
    output: u64,
}

/// An environment variable of the original, and what it sets. The library never reads the
/// environment; the command does, and prints what it found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[doc(hidden)]
pub struct EnvFlag {
    /// Name of the variable.
    pub name: String,
    /// Path of what it sets, e.g. `overflow.auto` or `pruner.opencode.prune.enabled`.
    pub sets: String,
    /// What it is set to when the variable is truthy (`1` or `true`). Without it, the value of the
    /// variable itself is used, as a number or a boolean where it reads as one.
    pub to: Option<Value>,
    /// Only this value counts instead of `1` or `true`.
    #[serde(default)]
    pub when: Option<String>,
}
