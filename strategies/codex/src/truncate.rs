//! `codex.truncate`: cuts the middle out of long tool results when they are recorded.

use crate::middle::{Unit, cut, was_cut};
use foldback_core::log::Part;
use foldback_core::moment::Moment;
use foldback_core::outcome::Why;
use foldback_core::plan::Edit;
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::{Pruner, Pruning, StageContext};
use foldback_core::view::{EditKind, PartPos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::num::NonZeroUsize;
use std::sync::Arc;

/// Configuration of [`Truncate`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TruncateConfig {
    /// What `limit` counts.
    pub unit: Unit,
    /// How much of a result is kept: the model's limit, and a fifth more for what surrounds the text.
    pub limit: NonZeroUsize,
}

impl StageConfig<dyn Pruner> for TruncateConfig {
    fn build(self) -> Result<Arc<dyn Pruner>, Invalid> {
        Ok(Arc::new(Truncate { unit: self.unit, limit: self.limit.get() }))
    }
}

/// Cuts the middle out of long tool results.
#[derive(Clone, Debug)]
pub struct Truncate {
    unit: Unit,
    limit: usize,
}

impl Truncate {
    /// The cut of a result that was just recorded; `None` if it is short, was cut before,
    /// or the note is longer than what would go.
    fn edit(&self, context: &StageContext<'_>, at: PartPos, part: &Part) -> Option<Edit> {
        let text = &part.as_result()?.text;
        let shorter = cut(text, self.limit, self.unit)?;
        let reason = "over the limit of a recorded result";
        (shorter.len() < text.len() && !was_cut(text, self.limit, self.unit))
            .then(|| context.edit(at.item, at.part, EditKind::Truncate, shorter.into(), reason))
    }
}

impl Pruner for Truncate {
    fn moment(&self) -> Moment {
        Moment::ToolResult
    }

    fn prune(&self, context: &StageContext<'_>) -> Pruning {
        let Some((item, message)) = context.history.iter().next_back() else {
            return Pruning::Nothing(Why::new("no-result", "nothing was recorded"));
        };
        let parts = message.parts.iter().enumerate();
        let edits: Vec<Edit> = parts
            .filter(|(part, _)| context.view.edit(PartPos { item, part: *part }).is_none())
            .filter_map(|(part, kind)| self.edit(context, PartPos { item, part }, kind))
            .collect();
        if edits.is_empty() {
            return Pruning::Nothing(Why::new(
                "within-limit",
                "the newest result is within the limit",
            ));
        }
        let prunable = edits.iter().map(|edit| edit.before - edit.after.min(edit.before)).sum();
        let reason = format!("cut to {} {:?}", self.limit, self.unit).to_lowercase();
        Pruning::Edits { edits, prunable, reason }
    }
}
