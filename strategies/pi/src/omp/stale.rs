//! `oh-my-pi.stale`: when a turn ends, clears what a newer read of the same file has made stale, where little stands behind it that
//! the provider's cache would have to take in again.

use super::{calls, paths, stays};
use foldback_core::Role;
use foldback_core::moment::Moment;
use foldback_core::outcome::Why;
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::{Pruner, Pruning, StageContext};
use foldback_core::view::{PartPos, Place, Pos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Stands in place of a stale read.
pub const SUPERSEDED: &str = "[Superseded by a newer read of this file]";

/// Configuration of [`Stale`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StaleConfig {
    /// Tokens that may stand behind a result that is cleared.
    pub suffix_tokens: u64,
    /// Milliseconds since the last message from which on the cache is cold and any result may go.
    pub idle_ms: i64,
}

impl StageConfig<dyn Pruner> for StaleConfig {
    fn build(self) -> Result<Arc<dyn Pruner>, Invalid> {
        Ok(Arc::new(Stale(self)))
    }
}

/// Clears stale reads.
#[derive(Clone, Debug)]
pub struct Stale(StaleConfig);

impl Stale {
    /// The newest messages of the view, newest first: those behind which no more stands than may.
    fn tail(&self, context: &StageContext<'_>) -> Vec<Pos> {
        let last =
            context.history.iter().next_back().and_then(|(pos, _)| context.history.time(pos));
        let idle = last.is_some_and(|at| context.now().saturating_sub(at) >= self.0.idle_ms);
        let mut behind = 0;
        let reached = |pos: &Pos| {
            let within = idle || behind <= self.0.suffix_tokens;
            behind += context.tokens(Place::Item(*pos));
            within
        };
        context.items().rev().take_while(reached).collect()
    }

    fn stale(&self, context: &StageContext<'_>) -> Vec<PartPos> {
        let tail = self.tail(context);
        // The calls of the oldest results stand before them.
        let before = context.items().rev().skip(tail.len());
        let answer = before.take_while(|pos| context.history.kind(*pos).role != Role::User);
        let calls = calls(context, tail.iter().copied().chain(answer));
        let mut seen: BTreeSet<(String, Option<String>)> = BTreeSet::new();
        let mut stale = Vec::new();
        for pos in tail {
            let message = context.history.message(pos);
            for (part, result) in message.parts.iter().enumerate() {
                let Some(result) = result.as_result() else { continue };
                let at = PartPos { item: pos, part };
                let call = calls.get(&*result.call_id).filter(|call| call.tool == "read");
                let path = call.and_then(|call| paths::path(call));
                let Some(path) = path.filter(|path| !path.is_empty() && !path.contains("://"))
                else {
                    continue;
                };
                if context.view.edit(at).is_some() || stays(&result.tool, Some(&path), &[]) {
                    continue;
                }
                let (file, selector) = paths::split_selector(&path);
                let whole = (file.to_owned(), None);
                let key = (file.to_owned(), selector.map(str::to_owned));
                if seen.contains(&key) || seen.contains(&whole) {
                    stale.push(at);
                }
                seen.insert(key);
            }
        }
        stale.reverse();
        stale
    }
}

impl Pruner for Stale {
    fn moment(&self) -> Moment {
        Moment::StepEnd
    }

    fn prune(&self, context: &StageContext<'_>) -> Pruning {
        let last = context.history.iter().next_back();
        // The loop ends with an answer that calls nothing, also with one that was cut short.
        let ends_turn = last
            .is_some_and(|(_, message)| message.is_answer() && message.call_ids().next().is_none());
        if !ends_turn {
            return Pruning::Nothing(Why::new("turn-goes-on", "the turn has not ended"));
        }
        let edits = context.clear(self.stale(context), &SUPERSEDED.into(), "superseded");
        if edits.is_empty() {
            return Pruning::Nothing(Why::new("nothing-stale", "no read was repeated"));
        }
        let reason = format!("{} reads superseded by newer ones", edits.len());
        Pruning::from_edits(edits, reason)
    }
}
