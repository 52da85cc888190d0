//! `opencode.prune`: clears old tool outputs.
//!
//! The walk goes over everything that is stored, newest first, whether the view still shows it or not.
//! It leaves the newest user turns alone, protects an amount of output behind them, and marks whatever
//! is older; unless that is too little to be worth it, and then it does nothing at all. A summary or a
//! part that is cleared already ends the walk, so what a walk once passed over is never looked at again.
//!
//! OpenCode runs it when the loop has ended, the BRUTUS design right before a summary.

use foldback_core::Role;
use foldback_core::history::History;
use foldback_core::log::{EntryKind, ResultStatus};
use foldback_core::moment::Moment;
use foldback_core::outcome::Why;
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::{Pruner, Pruning, StageContext};
use foldback_core::view::{EditKind, PartPos, Pos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What a cleared output shows.
pub const PLACEHOLDER: &str = "[Old tool result content cleared]";

/// Configuration of [`Prune`]. The default is OpenCode's, which never changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
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

impl Default for PruneConfig {
    fn default() -> Self {
        Self {
            protect_tokens: 40_000,
            minimum_tokens: 20_000,
            protect_turns: 2,
            protected_tools: vec!["skill".to_owned()],
            placeholder: PLACEHOLDER.to_owned(),
        }
    }
}

impl StageConfig<dyn Pruner> for PruneConfig {
    fn build(self) -> Result<Arc<dyn Pruner>, Invalid> {
        Ok(Arc::new(Prune { placeholder: self.placeholder.as_str().into(), config: self }))
    }
}

/// A stored message as the walk sees it.
#[derive(Clone, Debug)]
pub struct Visited<K> {
    /// Whether it is a user message, whoever wrote it.
    pub user: bool,
    /// Whether it is the summary of a compaction, finished or not.
    pub summary: bool,
    /// Its tool parts, newest first.
    pub tools: Vec<ToolPart<K>>,
}

/// A tool part as the walk sees it.
#[derive(Clone, Debug)]
pub struct ToolPart<K> {
    /// Which one.
    pub key: K,
    /// Whether the tool ran to an end that was no error.
    pub completed: bool,
    /// Whether its tool is protected.
    pub protected: bool,
    /// Whether its output is cleared already.
    pub cleared: bool,
    /// Tokens of its output alone.
    pub tokens: u64,
}

/// What ended a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// There was nothing older.
    Start,
    /// A summary.
    Summary,
    /// A part that is cleared already.
    Cleared,
}

/// What a walk found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walk<K> {
    /// Parts beyond the protected amount, newest first.
    pub candidates: Vec<K>,
    /// Their tokens.
    pub pruned: u64,
    /// Tokens of all output that was counted.
    pub total: u64,
    /// What ended it.
    pub end: End,
}

/// Walks stored messages newest first and finds what lies beyond the protected turns and tokens.
/// `turns` is the number of user messages that count as met before the first one.
pub fn walk<K>(
    newest_first: impl IntoIterator<Item = Visited<K>>,
    turns: u64,
    config: &PruneConfig,
) -> Walk<K> {
    let mut turns = turns;
    let mut walk = Walk { candidates: Vec::new(), pruned: 0, total: 0, end: End::Start };
    for message in newest_first {
        if message.user {
            turns += 1;
        }
        if turns < config.protect_turns {
            continue;
        }
        if message.summary {
            walk.end = End::Summary;
            return walk;
        }
        for part in message.tools {
            if !part.completed || part.protected {
                continue;
            }
            if part.cleared {
                walk.end = End::Cleared;
                return walk;
            }
            walk.total += part.tokens;
            if walk.total > config.protect_tokens {
                walk.pruned += part.tokens;
                walk.candidates.push(part.key);
            }
        }
    }
    walk
}

/// Whether what a walk found is enough to be cleared.
pub fn is_enough<K>(walk: &Walk<K>, config: &PruneConfig) -> bool {
    walk.pruned > config.minimum_tokens
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
        // The original has stored the marker of the compaction under way, a user message, by the time
        // it prunes before a summary; here it is written together with the summary.
        let turns = u64::from(context.moment == Moment::BeforeSummary);
        let found = walk(newest_first(context, &self.config.protected_tools), turns, &self.config);
        let PruneConfig { protect_tokens, minimum_tokens, .. } = self.config;
        let arithmetic = format!(
            "{} of {} tokens of old tool output lie beyond {protect_tokens}",
            found.pruned, found.total
        );
        if !is_enough(&found, &self.config) {
            return Pruning::Nothing(Why::new(
                "below-minimum",
                format!("{arithmetic}, not more than {minimum_tokens}"),
            ));
        }
        let edits = found
            .candidates
            .iter()
            .map(|at| {
                context.edit(
                    at.item,
                    at.part,
                    EditKind::Clear,
                    Arc::clone(&self.placeholder),
                    "old tool output beyond the protected amount",
                )
            })
            .collect();
        Pruning::Edits {
            edits,
            prunable: found.pruned,
            reason: format!("{arithmetic}, more than {minimum_tokens}"),
        }
    }
}

/// The history as OpenCode stores it, newest first: a result stands with the call that it answers, so
/// results come in the order of their calls, whatever order they arrived in.
fn newest_first<'a>(
    context: &'a StageContext<'a>,
    protected_tools: &'a [String],
) -> impl Iterator<Item = Visited<PartPos>> + 'a {
    context.history.iter().rev().filter_map(move |(pos, message)| {
        let results = match message.role {
            Role::User | Role::System => Vec::new(),
            Role::Assistant => results_of(context.history, pos),
            Role::Tool if is_answer_to_a_call(context.history, pos) => return None,
            Role::Tool => parts_with_results(context.history, pos).collect(),
        };
        Some(Visited {
            user: message.role == Role::User,
            summary: message.is_entry_of(EntryKind::Summary),
            tools: results
                .into_iter()
                .rev()
                .filter_map(|at| tool_part(context, at, protected_tools))
                .collect(),
        })
    })
}

fn tool_part(
    context: &StageContext<'_>,
    at: PartPos,
    protected_tools: &[String],
) -> Option<ToolPart<PartPos>> {
    let result = context.history.message(at.item).parts.get(at.part)?.as_result()?;
    Some(ToolPart {
        key: at,
        completed: result.status == ResultStatus::Completed,
        protected: protected_tools.contains(&result.tool),
        cleared: context.view.edit(at).is_some_and(|edit| edit.kind == EditKind::Clear),
        tokens: context.meter.part_shown(context.view, at),
    })
}

/// Whether the call that a tool message answers is in the history, so that it is met with that.
fn is_answer_to_a_call(history: &History, pos: Pos) -> bool {
    history.splits_group(pos)
}

fn parts_with_results(history: &History, pos: Pos) -> impl Iterator<Item = PartPos> {
    let parts = history.message(pos).parts.iter().enumerate();
    parts
        .filter(|(_, part)| part.as_result().is_some())
        .map(move |(part, _)| PartPos { item: pos, part })
}

/// The results of an assistant message in the order of its calls.
fn results_of(history: &History, pos: Pos) -> Vec<PartPos> {
    let group = history.group(history.group_of(pos));
    let mut results: Vec<PartPos> = group
        .items
        .iter()
        .filter(|item| history.get(**item).is_some())
        .flat_map(|item| parts_with_results(history, *item))
        .collect();
    if results.len() < 2 {
        return results;
    }
    let calls: Vec<&str> = history.message(pos).call_ids().collect();
    results.sort_by_key(|at| {
        let part = &history.message(at.item).parts[at.part];
        part.as_result().and_then(|result| calls.iter().position(|id| *id == result.call_id))
    });
    results
}
