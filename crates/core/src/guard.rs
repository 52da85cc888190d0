//! The engine's invariants, each with a name, checked on every plan before it is committed.
//!
//! The systems that foldback reproduces break some of them. If such a defect is wanted for
//! study, a preset turns the guard off by name and is reported as such.

use crate::history::History;
use crate::moment::{Moment, Trigger};
use crate::outcome::Why;
use crate::plan::{Layout, Plan};
use crate::view::Pos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The default limit for automatic folds in a row that have no effect.
const FRUITLESS: u32 = 3;

/// Which guards are on. All are, unless a preset says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Guards {
    /// A call and its results are shown together or not at all, and no view starts with a result. A result that comes
    /// after a fold has hidden its call brings the call back.
    pub pairs: bool,
    /// A fold does not make the view larger, and one that nobody asked for makes it smaller.
    pub no_growth: bool,
    /// At most one automatic compaction between two answers of the model.
    pub repeat: bool,
    /// An empty or over-long summary is not accepted.
    pub summary: bool,
    /// No message prompts a finished model to continue.
    pub continuation: bool,
    /// A fold that fails takes back the clearings that prepared it.
    pub atomic: bool,
    /// After this many automatic compactions in a row that had no effect, none is tried until the user
    /// speaks again or a person compacts; 0 for no end. See [`Breaker`](crate::conversation::Breaker).
    pub breaker: u32,
}

impl Default for Guards {
    fn default() -> Self {
        Self {
            pairs: true,
            no_growth: true,
            repeat: true,
            summary: true,
            continuation: true,
            atomic: true,
            breaker: FRUITLESS,
        }
    }
}

impl Guards {
    /// Names of the guards that are off.
    pub fn off(&self) -> Vec<&'static str> {
        [
            (self.pairs, "pairs"),
            (self.no_growth, "no-growth"),
            (self.repeat, "repeat"),
            (self.summary, "summary"),
            (self.continuation, "continuation"),
            (self.atomic, "atomic"),
            (self.breaker > 0, "breaker"),
        ]
        .into_iter()
        .filter(|(on, _)| !on)
        .map(|(_, name)| name)
        .collect()
    }

    /// Checks a plan; the reason names the guard that refuses it.
    ///
    /// # Errors
    ///
    /// What the first guard that refuses the plan says.
    #[doc(hidden)]
    pub fn check(&self, history: &History, plan: &Plan) -> Result<(), Why> {
        let (before, after) = (plan.tokens_before, plan.tokens_after);
        // A person who compacts gets what there is, if it is no more.
        let idle = after == before && plan.trigger == Trigger::Auto && plan.layout.is_some();
        if self.no_growth && (after > before || idle) {
            let detail = match idle {
                true => format!("the view would have {after} tokens as before"),
                false => format!("the view would grow from {before} to {after} tokens"),
            };
            return Err(Why::new("no-gain", detail));
        }
        if let (true, Some(layout)) = (self.pairs, &plan.layout) {
            check_pairs(history, layout)?;
            // At other moments a result that is not there does not come any more.
            if matches!(plan.moment, Moment::ToolResult | Moment::StepEnd | Moment::LengthStop) {
                check_open(history, layout)?;
            }
        }
        Ok(())
    }
}

/// Refuses a layout that hides a call whose result is still to come: it would be in the view without its call.
fn check_open(history: &History, layout: &Layout) -> Result<(), Why> {
    let open = history.open_calls();
    if open.is_empty() {
        return Ok(());
    }
    let visible = layout.visible(history);
    match open.iter().find(|(pos, _)| !visible[*pos]) {
        Some((pos, call)) => Err(Why::new(
            "pair-broken",
            format!(
                "message {pos} would be hidden before the result of its call {} arrives",
                call.call_id
            ),
        )),
        None => Ok(()),
    }
}

/// Refuses a layout that separates a call from its results or puts a result first.
fn check_pairs(history: &History, layout: &Layout) -> Result<(), Why> {
    let kept = layout.kept(history.len());
    let shown: Vec<Pos> = kept.flat_map(|range| history.range(range).map(|(pos, _)| pos)).collect();
    // Where each message is in the view. What is checked is the view, not the history behind it.
    let order: BTreeMap<Pos, usize> = shown.iter().copied().zip(0..).collect();
    let mut whole = BTreeSet::new();
    for pos in &shown {
        let id = history.group_of(*pos);
        let members = &history.group(id).items;
        if members.len() > 1
            && whole.insert(id)
            && let Some(member) = members.iter().find(|member| !order.contains_key(*member))
        {
            return Err(Why::new(
                "pair-broken",
                format!(
                    "message {pos} would stay without message {member}, which belongs to the same tool call"
                ),
            ));
        }
        if members.first().is_some_and(|first| order.get(first) > order.get(pos)) {
            return Err(Why::new(
                "pair-broken",
                format!("the result in message {pos} would stand before its call"),
            ));
        }
    }
    Ok(())
}
