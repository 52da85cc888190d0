//! A strategy crate of one's own: a stage, a preset, and their registration.
//!
//! The stage keeps the first and the last lines of long tool results, because that is where commands
//! say what they do and how it ended. Nothing else is needed: `foldback stages`, `presets`, `check`,
//! `compare` and `compact` find stage and preset in the registry of the binary that links this crate.

use foldback::core::registry::{Invalid, PresetDescriptor, StageConfig, StageDescriptor};
use foldback::core::stage::{Pruner, Pruning, StageContext};
use foldback::core::view::{EditKind, PartPos};
use foldback::{Moment, Registration, Why};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Keeps the first and the last lines of long tool results. Stage and configuration in one.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HeadTail {
    /// Lines that stay at either end of a result.
    pub lines: usize,
    /// Results of fewer tokens stay whole, and are not even read.
    pub over_tokens: u64,
}

impl Default for HeadTail {
    fn default() -> Self {
        Self { lines: 20, over_tokens: 400 }
    }
}

impl StageConfig<dyn Pruner> for HeadTail {
    fn build(self) -> Result<Arc<dyn Pruner>, Invalid> {
        match self.lines {
            0 => Err(Invalid::new("lines", "must be at least 1")),
            _ => Ok(Arc::new(self)),
        }
    }
}

impl HeadTail {
    /// The text without its middle; `None` where that would save nothing.
    pub fn cut(&self, text: &str) -> Option<String> {
        let lines: Vec<&str> = text.lines().collect();
        let left_out =
            lines.len().checked_sub(self.lines.saturating_mul(2)).filter(|&count| count > 1)?;
        let (head, tail) = (&lines[..self.lines], &lines[lines.len() - self.lines..]);
        let note = format!("[{left_out} lines left out]");
        Some([head, &[note.as_str()], tail].concat().join("\n"))
    }
}

impl Pruner for HeadTail {
    fn moment(&self) -> Moment {
        Moment::TurnStart
    }

    fn prune(&self, context: &StageContext<'_>) -> Pruning {
        let (mut edits, mut prunable) = (Vec::new(), 0);
        // The meter has a row of all results. Going through the messages instead would cost more with every call.
        for result in context.meter.standing() {
            if result.edit.is_some() || result.tokens < self.over_tokens {
                continue;
            }
            let PartPos { item, part } = result.at;
            let original = &context.history.message(item).parts[part];
            if let Some(text) = self.cut(&original.shown()) {
                let edit = context.edit(item, part, EditKind::Truncate, text.into(), "long result");
                prunable += edit.before.saturating_sub(edit.after);
                edits.push(edit);
            }
        }
        if edits.is_empty() {
            return Pruning::Nothing(Why::new(
                "nothing-long",
                "every result is short, or was cut before",
            ));
        }
        let reason = format!("{} results cut to {} lines at either end", edits.len(), self.lines);
        Pruning::Edits { edits, prunable, reason }
    }
}

/// What this crate adds to the registry.
pub const REGISTRATION: Registration = Registration {
    package: env!("CARGO_PKG_NAME"),
    version: env!("CARGO_PKG_VERSION"),
    stages: &[StageDescriptor::pruner::<HeadTail>(
        "head-tail",
        "Keeps the first and the last lines of long tool results",
    )],
    presets: &[PresetDescriptor { name: "head-tail", toml: include_str!("../head-tail.toml") }],
};

foldback::core::inventory::submit! { REGISTRATION }
