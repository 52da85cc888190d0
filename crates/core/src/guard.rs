//! The engine's invariants, each with a name, checked on every plan before it is committed.
//!
//! The systems that foldback reproduces break some of them. Where people will want such a defect for
//! study, a preset turns the guard off by name and is reported as such.

use crate::history::History;
use crate::outcome::Why;
use crate::plan::{Layout, Plan, Slot};
use crate::view::Pos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Which guards are on. All are, unless a preset says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Guards {
    /// A call and its results are shown together or not at all, and no view starts with a result.
    pub pairs: bool,
    /// A fold does not make the view larger.
    pub no_growth: bool,
    /// No automatic compaction when nothing was appended since the last one.
    pub repeat: bool,
    /// An empty or over-long summary is not accepted.
    pub summary: bool,
}

impl Default for Guards {
    fn default() -> Self {
        Self {
            pairs: true,
            no_growth: true,
            repeat: true,
            summary: true,
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
        ]
        .into_iter()
        .filter(|(on, _)| !on)
        .map(|(_, name)| name)
        .collect()
    }

    /// Checks a plan; the reason names the guard that refuses it.
    pub fn check(&self, history: &History, plan: &Plan) -> Result<(), Why> {
        if self.no_growth && plan.tokens_after > plan.tokens_before {
            return Err(Why::new(
                "no-gain",
                format!(
                    "the view would grow from {} to {} tokens",
                    plan.tokens_before, plan.tokens_after
                ),
            ));
        }
        if let (true, Some(layout)) = (self.pairs, &plan.layout) {
            check_pairs(history, layout)?;
        }
        Ok(())
    }
}

/// Refuses a layout that separates a call from its results or puts a result first.
fn check_pairs(history: &History, layout: &Layout) -> Result<(), Why> {
    let shown: Vec<Pos> = layout
        .slots
        .iter()
        .filter_map(|slot| match slot {
            Slot::Keep(range) => Some(range.clone()),
            Slot::Insert(_) => None,
        })
        .chain(std::iter::once(layout.tail_from..history.len()))
        .flat_map(|range| history.range(range).map(|(pos, _)| pos))
        .collect();
    // Where each message stands in the view; groups of one message can't be torn apart.
    let order: HashMap<Pos, usize> = shown.iter().enumerate().map(|(i, pos)| (*pos, i)).collect();
    for pos in &shown {
        let group = history.group(history.group_of(*pos));
        let Some(first) = group.items.first() else {
            continue;
        };
        if group.items.len() == 1 {
            continue;
        }
        for member in &group.items {
            match order.get(member) {
                None => {
                    return Err(Why::new(
                        "pair-broken",
                        format!(
                            "message {pos} would stay without message {member}, which belongs to the same tool call"
                        ),
                    ));
                }
                Some(place) if *member != *first && order.get(first).is_some_and(|f| f > place) => {
                    return Err(Why::new(
                        "pair-broken",
                        format!("the result in message {member} would stand before its call"),
                    ));
                }
                Some(_) => {}
            }
        }
    }
    Ok(())
}
