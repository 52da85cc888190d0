//! `opencode.prune`: clears old tool outputs.
//!
//! The walk goes over everything that is stored, newest first, whether the view still shows it or not.
//! It leaves the newest user turns alone, protects an amount of output behind them, and marks whatever
//! is older; unless that is too little to be worth it, and then it does nothing at all. A summary or a
//! part that is cleared already ends the walk, so what a walk once passed over is never looked at again.
//!
//! OpenCode runs it when the loop has ended, the BRUTUS design right before a summary.

use foldback_core::Role;
use foldback_core::history::Kind;
use foldback_core::log::{EntryKind, Origin, ResultStatus};
use foldback_core::meter::MeteredResult;
use foldback_core::moment::Moment;
use foldback_core::outcome::Why;
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::{Pruner, Pruning, StageContext};
use foldback_core::view::{PartPos, Pos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What a cleared output shows.
pub const PLACEHOLDER: &str = "[Old tool result content cleared]";

/// Configuration of [`Prune`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PruneConfig {
    /// Tokens of tool output, newest first, that are kept; the output that goes over is cleared itself.
    pub protect_tokens: u64,
    /// Nothing is cleared unless more than this many tokens would go.
    pub minimum_tokens: u64,
    /// User messages, newest first, before which output may be cleared; markers and continue messages count.
    pub protect_turns: u64,
    /// Tools whose output is neither counted nor cleared.
    pub protected_tools: Vec<String>,
    /// What a cleared output shows.
    pub placeholder: String,
}

impl StageConfig<dyn Pruner> for PruneConfig {
    fn build(self) -> Result<Arc<dyn Pruner>, Invalid> {
        Ok(Arc::new(Prune { placeholder: self.placeholder.as_str().into(), config: self }))
    }
}

/// What a walk found.
#[derive(Default)]
struct Walk {
    /// Parts beyond the protected amount, newest first.
    candidates: Vec<PartPos>,
    /// Their tokens.
    pruned: u64,
    /// Tokens of all output that was counted.
    total: u64,
}

/// The pruner.
#[derive(Clone, Debug)]
pub struct Prune {
    config: PruneConfig,
    placeholder: Arc<str>,
}

impl Pruner for Prune {
    fn moment(&self) -> Moment {
        Moment::TurnEnd
    }

    fn prune(&self, context: &StageContext<'_>) -> Pruning {
        let found = self.walk(context);
        let PruneConfig { protect_tokens, minimum_tokens, .. } = self.config;
        let arithmetic = format!(
            "{} of {} tokens of old tool output lie beyond {protect_tokens}",
            found.pruned, found.total
        );
        if found.pruned <= minimum_tokens {
            return Pruning::Nothing(Why::new(
                "below-minimum",
                format!("{arithmetic}, not more than {minimum_tokens}"),
            ));
        }
        let reason = "old tool output beyond the protected amount";
        let edits = context.clear(found.candidates, &self.placeholder, reason);
        Pruning::Edits {
            edits,
            prunable: found.pruned,
            reason: format!("{arithmetic}, more than {minimum_tokens}"),
        }
    }
}

impl Prune {
    /// Walks the history as OpenCode stores it, newest first: a result stands with the call that it
    /// answers. Ends at a summary and at a part that is cleared already.
    fn walk(&self, context: &StageContext<'_>) -> Walk {
        let StageContext { history, meter, .. } = *context;
        let tools = meter.tools().iter();
        let protected: Vec<bool> =
            tools.map(|tool| self.config.protected_tools.contains(tool)).collect();
        // The original has stored the marker of the compaction under way, a user message, by the time
        // it prunes before a summary; here it is written together with the summary.
        let mut turns = u64::from(context.moment == Moment::BeforeSummary);
        let mut walk = Walk::default();
        let mut results = Vec::new();
        for pos in (0..history.len()).rev().filter(|pos| !history.is_withdrawn(*pos)) {
            let Kind { role, origin, .. } = history.kind(pos);
            turns += u64::from(role == Role::User);
            if turns < self.config.protect_turns {
                continue;
            }
            if origin == Origin::Entry(EntryKind::Summary) {
                return walk;
            }
            results.clear();
            match role {
                Role::User | Role::System => continue,
                Role::Assistant => results_of(context, pos, &mut results),
                // It is met with its call, where that is in the history.
                Role::Tool if history.splits_group(pos) => continue,
                Role::Tool => results.extend(meter.results_in(pos)),
            }
            for result in results.iter().rev() {
                if result.status != ResultStatus::Completed || protected[result.tool as usize] {
                    continue;
                }
                if result.is_cleared() {
                    return walk;
                }
                walk.total += result.tokens;
                if walk.total > self.config.protect_tokens {
                    walk.pruned += result.tokens;
                    walk.candidates.push(result.at);
                }
            }
        }
        walk
    }
}

/// The results of an assistant message in the order of its calls, whatever order they arrived in.
fn results_of<'a>(context: &StageContext<'a>, pos: Pos, results: &mut Vec<&'a MeteredResult>) {
    let StageContext { history, meter, .. } = *context;
    for item in &history.group(history.group_of(pos)).items {
        results.extend(meter.results_in(*item));
    }
    if results.len() > 1 {
        let calls: Vec<&str> = history.message(pos).call_ids().collect();
        results.sort_by_key(|MeteredResult { at, .. }| {
            let part = &history.message(at.item).parts[at.part];
            part.as_result().and_then(|result| calls.iter().position(|id| *id == result.call_id))
        });
    }
}
