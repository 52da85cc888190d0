//! What one compaction would do, as data: it can be printed, compared, snapshotted, undone.

use crate::history::History;
use crate::log::{EntryKind, Message, Origin, Part, Role};
use crate::moment::{Moment, Trigger};
use crate::outcome::Why;
use crate::stage::Decision;
use crate::view::{EditKind, PartPos, Pos};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Content of one part that is replaced in the view.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edit {
    /// Which part.
    pub at: PartPos,
    /// Cleared or cut.
    pub kind: EditKind,
    /// What is shown instead.
    pub text: Arc<str>,
    /// Which rule asked for it.
    pub reason: Cow<'static, str>,
    /// Tokens of the part as it was shown before.
    pub before: u64,
    /// Tokens of the part as it is shown after.
    pub after: u64,
}

/// A message that stands in the view without being in the history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Insert {
    /// Id of the message.
    pub id: String,
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub text: String,
    /// Which kind of entry it is.
    pub origin: EntryKind,
}

impl Insert {
    /// The message that is shown.
    pub fn to_message(&self) -> Message {
        Message {
            origin: Origin::Entry(self.origin),
            ..Message::new(self.id.clone(), self.role, vec![Part::synthetic(self.text.clone())])
        }
    }
}

/// One slot of a layout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Slot {
    /// These messages of the history, in stored order (half-open range of positions).
    Keep(Range<Pos>),
    /// This message, which is not in the history.
    Insert(Insert),
}

/// What stands where: the slots in order, then everything in the history from `tail_from` on,
/// whatever is appended later included.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    /// What comes before the tail.
    pub slots: Vec<Slot>,
    /// Where the tail starts.
    pub tail_from: Pos,
}

impl Layout {
    /// The layout from a list of positions: runs of neighbours become ranges. `tail_from` must be
    /// above all of them.
    pub fn of_positions(positions: impl IntoIterator<Item = Pos>, tail_from: Pos) -> Self {
        let mut slots = Vec::new();
        for pos in positions {
            push_kept(&mut slots, pos);
        }
        Self { slots, tail_from }
    }

    /// By position, whether the layout shows the message.
    pub fn visible(&self, history: &History) -> Vec<bool> {
        let mut visible = vec![false; history.len()];
        let kept = self.slots.iter().filter_map(|slot| match slot {
            Slot::Keep(range) => Some(range.clone()),
            Slot::Insert(_) => None,
        });
        for range in kept.chain(std::iter::once(self.tail_from..history.len())) {
            for (pos, _) in history.range(range) {
                visible[pos] = true;
            }
        }
        visible
    }
}

/// Appends a kept position to slots, joining it to the range before where it follows it.
pub fn push_kept(slots: &mut Vec<Slot>, pos: Pos) {
    match slots.last_mut() {
        Some(Slot::Keep(range)) if range.end == pos => range.end += 1,
        _ => slots.push(Slot::Keep(pos..pos + 1)),
    }
}

/// Number of the state that a plan was made on; every append and every commit moves it.
pub type Revision = u64;

/// What one compaction would do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// The state that it was made on. A plan on another state is refused.
    pub base: Revision,
    /// When it was made.
    pub moment: Moment,
    /// Who asked.
    pub trigger: Trigger,
    /// The stage that proposed it.
    pub stage: String,
    /// Estimator of all token counts here.
    pub estimator: Arc<str>,
    /// Tokens of the view before.
    pub tokens_before: u64,
    /// Tokens of the view after.
    pub tokens_after: u64,
    /// What the original counts as pruned: content that goes, placeholders not taken off.
    pub prunable: u64,
    /// What the edits take off the view: content that goes less what stands in its place. Parts that
    /// the view hides do not count.
    pub reclaimed: u64,
    /// Why, in words, one line each.
    pub reasons: Vec<String>,
    /// What the policy decided, where one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// Content that is replaced.
    pub edits: Vec<Edit>,
    /// Messages that go into the history.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<Message>,
    /// What stands where from now on; `None` where nothing moves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<Layout>,
    /// Who wrote the summaries, in order; empty where there are none.
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

fn is_zero(tokens: &u64) -> bool {
    *tokens == 0
}
