//! What the folds of a conversation gained and cost: kept with it, for policies that learn from it.
//!
//! A fold yields tokens, costs a summary, and may be followed by the model asking again for what it
//! hid. "Asking again" is the same tool with the same arguments as a call whose result the view no
//! longer shows unchanged, regardless of what cleared it, and every
//! [recall](crate::conversation::Conversation::note_recall). Neither needs to understand a text; a call
//! that is repeated by nature (`git status`) counts where its last result is gone.

use crate::log::ToolCall;
use crate::plan::FoldId;
use crate::position::Pos;
use rustc_hash::{FxBuildHasher, FxHashMap};
use serde::{Deserialize, Serialize};
use std::hash::BuildHasher as _;

/// Gain and cost of one fold so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoldStats {
    /// The fold.
    pub fold: FoldId,
    /// Tokens of the view before, by the strategy's estimator.
    pub tokens_before: u64,
    /// Tokens of the view after.
    pub tokens_after: u64,
    /// Tokens that models read and wrote for the summaries of the fold, as they reported them.
    pub summary_tokens: u64,
    /// Results that the model asked for again while this was the newest fold in force.
    pub missed: u64,
    /// Answers of the model while this was the newest fold in force.
    pub answers: u64,
}

impl FoldStats {
    /// Share of the view that the fold took off.
    pub fn gain(&self) -> f64 {
        if self.tokens_before == 0 {
            return 0.0;
        }
        self.tokens_before.saturating_sub(self.tokens_after) as f64 / self.tokens_before as f64
    }
}

/// Which calls were made before, by what they ask for.
#[derive(Clone, Debug, Default)]
pub(crate) struct RepeatedCalls(FxHashMap<u64, Pos>);

impl RepeatedCalls {
    /// Records a call at a position, and gives the position of the last one that asked for the same.
    pub(crate) fn again(&mut self, call: &ToolCall, pos: Pos) -> Option<Pos> {
        // Without random keys: the same log gives the same answers. Whoever asks compares the calls themselves.
        self.0.insert(FxBuildHasher.hash_one((&call.tool, &call.arguments)), pos)
    }
}
