//! What one compaction would do, as data: it can be printed, compared, snapshotted, undone.

use crate::log::{Message, is_zero};
use crate::moment::{Moment, Trigger};
use crate::outcome::Why;
use crate::position::PartPos;
use crate::stage::Decision;
use crate::view::EditKind;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

pub use crate::layout::{Insert, Layout, Slot, push_kept};

/// Content of one part that is replaced in the view.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edit {
    /// Which part.
    pub at: PartPos,
    /// Cleared or cut.
    pub kind: EditKind,
    /// What is shown instead.
    pub text: Arc<str>,
    /// The rule that asked for the edit.
    pub reason: Cow<'static, str>,
    /// Tokens of the part as it was shown before.
    pub before: u64,
    /// Tokens of the part as it is shown after.
    pub after: u64,
}

/// Number of the state that a plan was made on; every append and every commit moves it.
pub type Revision = u64;

/// Number of a fold, counted from one over the life of a conversation.
pub type FoldId = u64;

/// What one compaction would do.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Plan {
    /// The state that it was made on. A plan on another state is refused.
    pub base: Revision,
    /// When it was made.
    pub moment: Moment,
    /// Who asked.
    pub trigger: Trigger,
    /// The stage that proposed the plan.
    pub stage: String,
    /// Name of the estimator that counted all tokens of the plan.
    pub estimator: Arc<str>,
    /// Tokens of the view before.
    pub tokens_before: u64,
    /// Tokens of the view after.
    pub tokens_after: u64,
    /// What the original counts as pruned: content that goes, placeholders not taken off.
    pub prunable: u64,
    /// The net reduction of the view by the edits: removed content minus its replacement. Parts that
    /// the view hides do not count.
    pub reclaimed: u64,
    /// Why, in words, one line each.
    pub reasons: Vec<String>,
    /// Decision of the policy, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// Content that is replaced.
    pub edits: Vec<Edit>,
    /// Messages that go into the history.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<Message>,
    /// The new layout; `None` if nothing moves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<Layout>,
    /// Who wrote the summaries, in order; empty if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub summaries: Vec<String>,
    /// Tokens that models read and wrote for the summaries, as they reported them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub summary_tokens: u64,
    /// What the stages want kept with the plan, by name (a budget, the scores).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tables: BTreeMap<String, Value>,
    /// What did not go as the strategy meant it to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub degraded: Option<Why>,
}
