//! Which parts lose their content?

use super::StageContext;
use crate::moment::Moment;
use crate::outcome::Why;
use crate::plan::Edit;
use std::fmt;

/// What a pruner proposes.
#[derive(Clone, Debug)]
pub enum Pruning {
    /// These edits.
    Edits {
        /// The edits, in the order in which the stage made them.
        edits: Vec<Edit>,
        /// What the original counts as pruned: the tokens of the content that goes, placeholders not
        /// taken off. The net figure is in the plan.
        prunable: u64,
        /// The arithmetic in words.
        reason: String,
    },
    /// Nothing, and why.
    Nothing(Why),
}

impl Pruning {
    /// A pruning with these edits. The tokens of everything that they replace count as pruned.
    pub fn from_edits(edits: Vec<Edit>, reason: String) -> Self {
        let prunable = edits.iter().map(|edit| edit.before).sum();
        Self::Edits { edits, prunable, reason }
    }
}

/// Edits inside messages: clears a part to a placeholder or cuts it. Never removes a message, and may
/// mark parts that the view already hides.
pub trait Pruner: Send + Sync + fmt::Debug {
    /// When the original runs it, unless the configuration says otherwise.
    fn moment(&self) -> Moment;

    /// Proposes edits.
    fn prune(&self, context: &StageContext<'_>) -> Pruning;
}
