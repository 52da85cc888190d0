//! `clear-tool-uses`: above a trigger, clears the oldest tool results, all but the newest few at once.
//!
//! This is the form of Anthropic's context editing (`clear_tool_uses_20250919`) and of the middleware that mirrors it. The two differ
//! in what they count and in what a least amount means, so both are fields.

use super::results::{DEFAULT_PLACEHOLDER, check_placeholder, gain, standing};
use foldback_core::log::Role;
use foldback_core::meter::{LastText, MeteredResult};
use foldback_core::moment::Moment;
use foldback_core::outcome::Why;
use foldback_core::plan::Edit;
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::{Pruner, Pruning, StageContext};
use foldback_core::view::PartPos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What stands for the arguments of a call whose inputs are cleared.
const NO_INPUT: &str = "{}";

/// What the trigger is compared with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Counted {
    /// Tokens of the request: frame and view.
    #[default]
    Request,
    /// Tokens of all messages as they came, whatever was cleared since, without the frame.
    Log,
    /// Tool results that were not cleared.
    ToolUses,
}

/// What the least amount means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AtLeast {
    /// Nothing is cleared unless it comes to that much.
    #[default]
    OrNothing,
    /// Clearing stops once it has come to that much.
    ThenStop,
}

/// Which inputs are cleared with the results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Inputs {
    /// All, or none.
    All(bool),
    /// Those of these tools.
    Of(Vec<String>),
}

impl Inputs {
    fn include(&self, tool: &str) -> bool {
        match self {
            Self::All(all) => *all,
            Self::Of(tools) => tools.iter().any(|one| one == tool),
        }
    }
}

/// Configuration of [`ClearToolUses`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ClearToolUsesConfig {
    /// Clears where more than this is counted.
    pub trigger: u64,
    /// What is counted: `request`, `log` (both in tokens) or `tool-uses`.
    pub counted: Counted,
    /// Tool results that stay, counted from the newest.
    pub keep: usize,
    /// Tokens that clearing must come to; 0 for any.
    pub clear_at_least: u64,
    /// What that means: `or-nothing` or `then-stop`.
    pub at_least: AtLeast,
    /// Tools whose results stay. They count among the newest.
    pub exclude_tools: Vec<String>,
    /// Whether the arguments of the calls go, too, or the tools whose arguments do.
    pub clear_tool_inputs: Inputs,
    /// Leaves a result alone whose call is not in the nearest answer before it.
    pub of_nearest_answer: bool,
    /// What replaces a cleared result.
    pub placeholder: String,
}

impl Default for ClearToolUsesConfig {
    fn default() -> Self {
        Self {
            trigger: 100_000,
            counted: Counted::Request,
            keep: 3,
            clear_at_least: 0,
            at_least: AtLeast::OrNothing,
            exclude_tools: Vec::new(),
            clear_tool_inputs: Inputs::All(false),
            of_nearest_answer: false,
            placeholder: DEFAULT_PLACEHOLDER.to_owned(),
        }
    }
}

impl StageConfig<dyn Pruner> for ClearToolUsesConfig {
    fn build(self) -> Result<Arc<dyn Pruner>, Invalid> {
        check_placeholder(&self.placeholder)?;
        Ok(Arc::new(ClearToolUses {
            placeholder: self.placeholder.as_str().into(),
            no_input: NO_INPUT.into(),
            config: self,
        }))
    }
}

/// Clears old tool results above a trigger. A result that would not get smaller stays, and counts.
#[derive(Clone, Debug)]
pub struct ClearToolUses {
    config: ClearToolUsesConfig,
    placeholder: Arc<str>,
    no_input: Arc<str>,
}

impl ClearToolUses {
    fn count(&self, context: &StageContext<'_>) -> u64 {
        let meter = context.meter;
        match self.config.counted {
            Counted::Request => meter.view_tokens() + meter.frame_tokens(),
            Counted::Log => meter.view_tokens() + meter.saved_tokens(),
            Counted::ToolUses => standing(context).count() as u64,
        }
    }

    /// The call of a result, in the nearest answer before it.
    fn call(&self, context: &StageContext<'_>, result: PartPos) -> Option<PartPos> {
        let message = context.history.message(result.item);
        let id = &message.parts.get(result.part)?.as_result()?.call_id;
        let before = (0..result.item).rev();
        let mut answers =
            before.filter(|pos| context.history.message(*pos).role == Role::Assistant);
        let found = |pos: usize| {
            let mut parts = context.history.message(pos).parts.iter();
            let part =
                parts.position(|part| part.as_call().is_some_and(|call| call.call_id == *id));
            part.map(|part| PartPos { item: pos, part })
        };
        found(answers.next()?)
    }

    fn edits(&self, context: &StageContext<'_>, result: &MeteredResult, edits: &mut Vec<Edit>) {
        let Some(tool) = context.meter.tools().get(result.tool as usize) else { return };
        if self.config.exclude_tools.contains(tool) {
            return;
        }
        let inputs = self.config.clear_tool_inputs.include(tool);
        let wanted = inputs || self.config.of_nearest_answer;
        let call = wanted.then(|| self.call(context, result.at)).flatten();
        if self.config.of_nearest_answer && call.is_none() {
            return;
        }
        let reason = "older than the tool uses that stay";
        edits.extend(context.clear([result.at], &self.placeholder, reason));
        if let Some(call) = call.filter(|_| inputs) {
            let input = context.clear([call], &self.no_input, "the input of a cleared tool use");
            edits.extend(input.into_iter().filter(|edit| edit.after < edit.before));
        }
    }
}

impl Pruner for ClearToolUses {
    fn moment(&self) -> Moment {
        Moment::CallStart
    }

    fn prune(&self, context: &StageContext<'_>) -> Pruning {
        let ClearToolUsesConfig { trigger, keep, clear_at_least, at_least, .. } = self.config;
        let count = self.count(context);
        if count <= trigger {
            let why = format!("{count} <= {trigger}");
            return Pruning::Nothing(Why::new("below-trigger", why));
        }
        let results = context.meter.results();
        let first_kept = results.len().saturating_sub(keep);
        let first_kept = results.get(first_kept).map(|result| result.at);
        // What was cleared before counts only where clearing goes on from there.
        let mut cleared = match (self.config.counted, at_least) {
            (Counted::Log, AtLeast::ThenStop) => context.meter.saved_tokens(),
            _ => 0,
        };
        let enough = |cleared: u64| {
            at_least == AtLeast::ThenStop && clear_at_least > 0 && cleared >= clear_at_least
        };
        let mut last = LastText::default();
        let mut edits = Vec::new();
        for result in
            standing(context).take_while(|result| first_kept.is_none_or(|first| result.at < first))
        {
            if enough(cleared) {
                break;
            }
            if gain(context, result, &self.placeholder, &mut last) == 0 {
                continue;
            }
            let before = edits.len();
            self.edits(context, result, &mut edits);
            let new = edits[before..].iter();
            cleared += new.map(|edit| edit.before.saturating_sub(edit.after)).sum::<u64>();
        }
        if edits.is_empty() {
            let why = format!("{count} > {trigger}, and nothing but the newest {keep} is left");
            return Pruning::Nothing(Why::new("nothing-to-clear", why));
        }
        if at_least == AtLeast::OrNothing && cleared < clear_at_least {
            let why = format!("{cleared} tokens could be cleared, {clear_at_least} needed");
            return Pruning::Nothing(Why::new("below-minimum", why));
        }
        Pruning::from_edits(
            edits,
            format!("{count} > {trigger}: {cleared} tokens of old tool uses"),
        )
    }
}
