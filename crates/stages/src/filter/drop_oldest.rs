//! `drop-oldest`: leaves out the oldest messages until a target is reached, and puts nothing in their
//! place.
//!
//! The unit is a call with its results, so no pair is broken. The head stays: the frame, system
//! messages in front, and the first user message. So does the newest unit, which the model is to
//! answer to.

use super::arranged;
use crate::usable::{Usable, check_shares, unknown};
use foldback_core::history::GroupId;
use foldback_core::log::Role;
use foldback_core::outcome::Why;
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::{Arrangement, Filter, Proposal, StageContext};
use foldback_core::view::{Place, Pos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Configuration of [`DropOldest`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DropOldestConfig {
    /// Share of the usable window that the request is brought down to where no policy says how far (0 to 1).
    pub target: f64,
}

impl Default for DropOldestConfig {
    fn default() -> Self {
        Self { target: 0.65 }
    }
}

impl StageConfig<dyn Filter> for DropOldestConfig {
    fn build(self) -> Result<Arc<dyn Filter>, Invalid> {
        check_shares(1.0, self.target)
            .map_err(|_| Invalid::new("target", "must be a share of the window, e.g. 0.65"))?;
        Ok(Arc::new(DropOldest { config: self }))
    }
}

/// Leaves out the oldest messages until a target is reached.
#[derive(Clone, Debug)]
pub struct DropOldest {
    config: DropOldestConfig,
}

/// What stays or goes together: the visible messages of a group.
#[derive(Clone, Debug, Default)]
struct Unit {
    positions: Vec<Pos>,
    tokens: u64,
}

impl DropOldest {
    /// The request and what it should come down to.
    fn excess(&self, context: &StageContext<'_>) -> Result<(u64, u64), Why> {
        let request = context.frame_tokens() + context.view_tokens();
        let decided = context.decision.and_then(|decision| decision.target);
        let target = match decided {
            Some(target) => target,
            None => {
                Usable::new(context.limits, true).ok_or_else(unknown)?.share(self.config.target)
            }
        };
        if request <= target {
            let detail = format!("{request} <= {target}: the request is already at the target");
            return Err(Why::new("below-target", detail));
        }
        Ok((request, target))
    }
}

/// The messages that always stay: the first user message, and system messages in front of it.
pub fn head(context: &StageContext<'_>, visible: &[Pos]) -> BTreeSet<Pos> {
    let role = |pos: &Pos| context.history.kind(*pos).role;
    let first_user = visible.iter().position(|pos| role(pos) == Role::User);
    let front = visible.iter().take(first_user.map_or(0, |at| at + 1));
    front.filter(|pos| matches!(role(pos), Role::System | Role::User)).copied().collect()
}

impl Filter for DropOldest {
    fn propose(&self, context: &StageContext<'_>) -> Result<Proposal<'_>, Why> {
        let (request, target) = self.excess(context)?;
        let visible: Vec<Pos> = context.items().collect();
        let head = head(context, &visible);
        let mut units: BTreeMap<GroupId, Unit> = BTreeMap::new();
        for pos in visible.iter().filter(|pos| !head.contains(pos)) {
            let unit = units.entry(context.history.group_of(*pos)).or_default();
            unit.positions.push(*pos);
            unit.tokens += context.tokens(Place::Item(*pos));
        }
        let newest = visible.last().map(|pos| context.history.group_of(*pos));
        // Groups are numbered by their first message: ascending is oldest first.
        let (mut gone, mut dropped) = (0, BTreeSet::new());
        for (group, unit) in &units {
            // A result whose call was left out before it came can't stay behind alone.
            let torn = unit.positions.len() < context.history.group(*group).items.len();
            let wanted = request - gone > target && Some(*group) != newest;
            if wanted || torn {
                gone += unit.tokens;
                dropped.extend(unit.positions.iter().copied());
            }
        }
        if dropped.is_empty() {
            let detail = "only the head and the newest messages are left";
            return Err(Why::new("nothing-to-drop", detail));
        }
        let reason = format!(
            "drops {} of {} messages, {gone} tokens: {request} > {target}",
            dropped.len(),
            visible.len()
        );
        let kept = visible.into_iter().filter(|pos| !dropped.contains(pos));
        let shown = arranged(context, Vec::new(), kept);
        Ok(Proposal::Layout(Arrangement { reasons: vec![reason], ..shown }))
    }
}
