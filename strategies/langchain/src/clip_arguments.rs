//! `langchain.clip-arguments`: cuts long arguments of calls in old messages, as deepagents does before it summarizes.

use foldback_core::config::Share;
use foldback_core::fraction::Fraction;
use foldback_core::log::{Role, ToolCall};
use foldback_core::moment::Moment;
use foldback_core::outcome::Why;
use foldback_core::plan::Edit;
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::{Pruner, Pruning, StageContext};
use foldback_core::view::{EditKind, PartPos, Place};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::sync::Arc;

/// Percent of the largest request that the model takes from which arguments are cut.
const TRIGGER: u32 = 85;

/// Tools whose arguments are cut.
const TOOLS: [&str; 2] = ["write_file", "edit_file"];

/// What ends an argument that was cut.
const ENDING: &str = "...(argument truncated)";

/// Configuration of [`Clip`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClipConfig {
    /// Share of the largest request that the model takes in which the newest messages keep their arguments.
    pub keep_fraction: Share,
    /// Messages from which arguments are cut where it is not known what the model takes, and of which the newest keep theirs;
    /// 0: nothing is cut then.
    pub unknown_messages: usize,
    /// Characters above which an argument is cut.
    pub max_chars: usize,
    /// Characters of it that stay.
    pub keep_chars: usize,
}

impl StageConfig<dyn Pruner> for ClipConfig {
    fn build(self) -> Result<Arc<dyn Pruner>, Invalid> {
        if self.keep_chars > self.max_chars {
            return Err(Invalid::new("keep_chars", "must not be above `max_chars`"));
        }
        Ok(Arc::new(Clip(self)))
    }
}

/// Cuts long arguments of old calls from a size of the request on.
#[derive(Clone, Debug)]
pub struct Clip(ClipConfig);

impl Clip {
    /// The arguments with those that are too long cut, if there are any.
    fn clipped(&self, call: &ToolCall) -> Option<String> {
        let ClipConfig { max_chars, keep_chars, .. } = &self.0;
        // Bytes are no fewer than characters.
        if !TOOLS.contains(&&*call.tool) || call.arguments.len() <= *max_chars {
            return None;
        }
        let mut arguments: Map<String, Value> = serde_json::from_str(&call.arguments).ok()?;
        let mut cut = false;
        for (_, value) in &mut arguments {
            if let Value::String(text) = value
                && text.chars().count() > *max_chars
            {
                let kept: String = text.chars().take(*keep_chars).collect();
                *text = kept + ENDING;
                cut = true;
            }
        }
        cut.then(|| Value::Object(arguments).to_string())
    }

    fn edits(&self, context: &StageContext<'_>, place: Place) -> Vec<Edit> {
        let Place::Item(item) = place else { return Vec::new() };
        let message = context.message(place);
        if message.role != Role::Assistant {
            return Vec::new();
        }
        let edit = |(part, content): (usize, &foldback_core::Part)| {
            let at = PartPos { item, part };
            let call = content.as_call().filter(|_| context.view.edit(at).is_none())?;
            let text = self.clipped(call)?;
            Some(Edit {
                at,
                kind: EditKind::Truncate,
                before: context.meter.part_shown(at),
                after: context.estimator().part(content, &text),
                text: text.into(),
                reason: Cow::Borrowed("a long argument of an old call"),
            })
        };
        message.parts.iter().enumerate().filter_map(edit).collect()
    }
}

impl Clip {
    /// How many messages are old where it is known what the model takes, and what was reached.
    fn old_by_share(
        &self,
        context: &StageContext<'_>,
        ceiling: u64,
    ) -> Result<(usize, String), Why> {
        let trigger = Fraction::percent(TRIGGER).floor_of(ceiling).max(1);
        let meter = context.meter;
        // What was cut before counts whole, as it does where the cut is made anew before every call.
        let saved = |at: &PartPos| match context.view.is_visible(at.item) {
            true => meter.part(*at).saturating_sub(meter.part_shown(*at)),
            false => 0,
        };
        let saved: u64 = context.view.edits().keys().map(saved).sum();
        let count = meter.view_tokens() + meter.frame_tokens() + saved;
        if count < trigger {
            return Err(Why::new("below-trigger", format!("{count} < {trigger}")));
        }
        let budget = self.0.keep_fraction.floor_of(ceiling).max(1);
        let mut kept = 0;
        let newest = context.places().iter().rev().take_while(|place| {
            kept += context.tokens(**place);
            kept <= budget
        });
        // The original cuts nothing where the last message alone is over the budget.
        let newest = match newest.count() {
            0 => context.places().len(),
            count => count,
        };
        Ok((context.places().len() - newest, format!("{count} >= {trigger}")))
    }
}

impl Pruner for Clip {
    fn moment(&self) -> Moment {
        Moment::CallStart
    }

    fn prune(&self, context: &StageContext<'_>) -> Pruning {
        let (messages, unknown) = (context.places().len(), self.0.unknown_messages);
        let old = match context.limits.request_ceiling() {
            Some(ceiling) => self.old_by_share(context, ceiling),
            None if unknown == 0 => Err(Why::new("window-unknown", "no share of it can be taken")),
            None if messages < unknown => {
                Err(Why::new("below-trigger", format!("{messages} < {unknown} messages")))
            }
            None => Ok((messages - unknown, format!("{messages} >= {unknown} messages"))),
        };
        let (old, reached) = match old {
            Ok(old) => old,
            Err(why) => return Pruning::Nothing(why),
        };
        let old = context.places()[..old].iter();
        let edits: Vec<Edit> = old.flat_map(|place| self.edits(context, *place)).collect();
        if edits.is_empty() {
            let why = format!("{reached}, and no old argument is too long");
            return Pruning::Nothing(Why::new("nothing-to-cut", why));
        }
        let reason = format!("{reached}: {} calls with long arguments", edits.len());
        Pruning::from_edits(edits, reason)
    }
}
