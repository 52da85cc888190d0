//! The stage `tunacode.placeholder`.

use crate::walk::{Thresholds, Walk, walk};
use foldback_core::log::{Message, Part, ResultStatus, ToolResult};
use foldback_core::meter::{LastText, MeteredResult};
use foldback_core::moment::Moment;
use foldback_core::outcome::Why;
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::{Pruner, Pruning, StageContext};
use foldback_core::view::PartPos;
use foldback_core::{PartKind, Role};
use foldback_stages::python::repr;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What replaces a cleared tool return, unless configured otherwise.
pub const DEFAULT_PLACEHOLDER: &str = "[Old tool result content cleared]";

/// Configuration of [`Placeholder`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlaceholderConfig {
    /// Tokens of tool returns, counted from the newest, that stay; the return that exceeds them goes.
    pub protect_tokens: u64,
    /// Tokens that the older returns must come to for anything to be cleared.
    pub minimum_tokens: u64,
    /// User turns that the whole history must have. It protects no turn.
    pub min_user_turns: u64,
    /// What replaces a cleared return.
    pub placeholder: String,
}

impl StageConfig<dyn Pruner> for PlaceholderConfig {
    fn build(self) -> Result<Arc<dyn Pruner>, Invalid> {
        Ok(Arc::new(Placeholder::new(self)))
    }
}

/// Replaces tool returns older than a protected amount by a placeholder.
///
/// No tool and no turn is protected: a single newest return above `protect_tokens` goes. A return that
/// already shows the placeholder counts with the placeholder's size and is left as it is, so a second
/// run changes nothing.
#[derive(Clone, Debug)]
pub struct Placeholder {
    thresholds: Thresholds,
    min_user_turns: u64,
    placeholder: Arc<str>,
}

/// A tool return on the walk.
struct Return {
    at: PartPos,
    tokens: u64,
    cleared: bool,
}

impl Placeholder {
    /// The stage with these settings.
    pub fn new(config: PlaceholderConfig) -> Self {
        Self {
            thresholds: Thresholds {
                protect: config.protect_tokens,
                minimum: config.minimum_tokens,
            },
            min_user_turns: config.min_user_turns,
            placeholder: config.placeholder.into(),
        }
    }

    /// Tool returns of the history, newest first, with the size that the original sees: of what stands
    /// in the store now, and of the `repr` of content that is not a string.
    fn returns<'a>(
        &'a self,
        context: &'a StageContext<'_>,
    ) -> impl Iterator<Item = (Return, u64)> + 'a {
        let meter = context.meter;
        let mut edits = context.view.edits().iter().rev().peekable();
        let mut last = LastText::default();
        let results = meter.results().iter().rev().filter(|result| is_return(result.status));
        results.map(move |result| {
            let MeteredResult { at, mut tokens, structured, .. } = *result;
            let cleared = if result.edit.is_some() {
                while edits.next_if(|(edited, _)| **edited > at).is_some() {}
                edits.peek().is_some_and(|(_, edit)| edit.text == self.placeholder)
            } else if structured {
                tokens = content(context, at)
                    .and_then(|result| result.structured.as_ref())
                    .map_or(tokens, |value| context.estimator().text(&repr(value)));
                false
            } else {
                // Only what counts alike can be alike.
                meter.result_with(context.history, result, &self.placeholder, &mut last) == tokens
                    && content(context, at).is_some_and(|result| *result.text == *self.placeholder)
            };
            (Return { at, tokens, cleared }, tokens)
        })
    }

    fn clear(&self, context: &StageContext<'_>, returns: &[Return], prunable: u64) -> Pruning {
        let standing = context.estimator().text(&self.placeholder);
        let going = || returns.iter().filter(|found| !found.cleared);
        let reason = "older than the protected tool returns";
        let edits = context.clear(going().map(|found| found.at), &self.placeholder, reason);
        let Thresholds { protect, minimum } = self.thresholds;
        if edits.is_empty() {
            return Pruning::Nothing(Why::new(
                "already-cleared",
                format!("all tool returns beyond the newest {protect} tokens were cleared before"),
            ));
        }
        let reclaimed: u64 = going().map(|found| found.tokens.saturating_sub(standing)).sum();
        Pruning::Edits {
            edits,
            prunable: going().map(|found| found.tokens).sum(),
            reason: format!(
                "History pruned (reclaimed_tokens={reclaimed}): beyond the newest {protect} tokens of \
                 tool returns, {prunable} >= {minimum}"
            ),
        }
    }
}

impl Pruner for Placeholder {
    fn moment(&self) -> Moment {
        Moment::TurnStart
    }

    fn prune(&self, context: &StageContext<'_>) -> Pruning {
        let needed = self.min_user_turns;
        let messages = context.history.iter().map(|(_, message)| &**message);
        let turns = count_user_turns(messages, needed);
        if turns < needed {
            return Pruning::Nothing(Why::new(
                "too-few-turns",
                format!("{turns} user turns in the history, {needed} needed"),
            ));
        }
        let Thresholds { protect, minimum } = self.thresholds;
        match walk(self.returns(context), self.thresholds) {
            Walk::NoReturns => {
                Pruning::Nothing(Why::new("no-tool-returns", "the history has no tool returns"))
            }
            Walk::Protected { sum } => Pruning::Nothing(Why::new(
                "below-threshold",
                format!("{sum} tokens of tool returns, {protect} are protected"),
            )),
            Walk::BelowMinimum { prunable } => Pruning::Nothing(Why::new(
                "below-minimum",
                format!("{prunable} tokens could be cleared, {minimum} needed"),
            )),
            Walk::Prune { returns, prunable } => self.clear(context, &returns, prunable),
        }
    }
}

/// The tool return in a part: a result that a tool gave. A refusal that asks the model to try again is
/// a part of another kind in pydantic-ai, and a tool that has not finished has given nothing.
pub fn return_of(part: &Part) -> Option<&ToolResult> {
    part.as_result().filter(|result| is_return(result.status))
}

fn is_return(status: ResultStatus) -> bool {
    matches!(status, ResultStatus::Completed | ResultStatus::Error)
}

fn content<'a>(context: &StageContext<'a>, at: PartPos) -> Option<&'a ToolResult> {
    context.history.message(at.item).parts.get(at.part)?.as_result()
}

/// User turns of a history, counted up to `enough`: messages of the store that hold a user's prompt,
/// wherever in the loop it came. Messages that were one in the recorder's store count once.
pub fn count_user_turns<'a>(messages: impl IntoIterator<Item = &'a Message>, enough: u64) -> u64 {
    let mut turns = 0;
    let mut counted = None;
    for message in messages {
        if turns >= enough {
            break;
        }
        let same = message.record.is_some() && message.record == counted;
        if is_prompt(message) && !same {
            turns += 1;
            counted = message.record;
        }
    }
    turns
}

/// Whether a user prompts here. What a harness wrote in the user's name while the loop was running
/// (pydantic-ai's retry prompts without a tool) is a part of another kind.
fn is_prompt(message: &Message) -> bool {
    let by_hand = |part: &Part| {
        matches!(part.kind, PartKind::File(_) | PartKind::Text { synthetic: false, .. })
    };
    message.role == Role::User
        && !message.is_entry()
        && (!message.mid_turn || message.parts.iter().any(by_hand))
}
