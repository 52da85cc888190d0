//! `dsh.checkpoint`: a summary of everything before the newest messages, unless the clearing before it was enough.

use foldback_core::Role;
use foldback_core::config::Share;
use foldback_core::log::EntryKind;
use foldback_core::outcome::Why;
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::{Filter, Proposal, StageContext, SummaryRequest};
use foldback_core::view::Place;
use foldback_stages::filter::{Spoken, entry, shown, summary_of};
use schemars::JsonSchema;
use serde::Deserialize;
use std::num::NonZeroU64;
use std::sync::Arc;

/// What stands around a summary in the view.
const BEFORE: &str = "This checkpoint was written automatically in place of the earlier conversation. Take what it says as \
                      known, and go on with the task from the messages below.\n\n<compacted-summary>\n";
const AFTER: &str = "\n</compacted-summary>";

/// Configuration of [`Checkpoint`].
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckpointConfig {
    /// Share of the window that the newest messages have, which are kept; the message that reaches it is kept whole.
    pub retain_share: Share,
    /// Largest acceptable summary in tokens.
    pub summary_tokens: NonZeroU64,
}

impl StageConfig<dyn Filter> for CheckpointConfig {
    fn build(self) -> Result<Arc<dyn Filter>, Invalid> {
        Ok(Arc::new(Checkpoint(self)))
    }
}

/// A summary of everything before the newest messages.
#[derive(Clone, Debug)]
pub struct Checkpoint(CheckpointConfig);

/// Why nothing is summarized, where clearing has brought what the policy counted below its limit.
fn relieved(context: &StageContext<'_>) -> Option<Why> {
    let decision = context.decision.filter(|_| !context.moment.is_reactive())?;
    let left = decision.count.saturating_sub(context.cleared);
    (left < decision.trigger).then(|| {
        let why =
            format!("{} - {} cleared < {}", decision.count, context.cleared, decision.trigger);
        Why::new("cleared-enough", why)
    })
}

impl Checkpoint {
    /// Tokens of the newest messages that are kept. After a refusal nothing but the newest is.
    fn retained(&self, context: &StageContext<'_>) -> u64 {
        match context.moment.is_reactive() {
            true => 0,
            false => self.0.retain_share.floor_of(context.limits.context),
        }
    }
}

impl Filter for Checkpoint {
    fn propose<'a>(&'a self, context: &'a StageContext<'_>) -> Result<Proposal<'a>, Why> {
        if let Some(why) = relieved(context) {
            return Err(why);
        }
        let spoken = Spoken::in_view(context);
        let retain = self.retained(context);
        let mut sum = 0;
        let reached = spoken.messages.iter().rposition(|pos| {
            sum += context.tokens(Place::Item(*pos));
            sum >= retain
        });
        let cut = spoken.whole(context, reached.unwrap_or(0));
        if cut == 0 {
            let why = format!("everything is among the newest {retain} tokens");
            return Err(Why::new("all-fits", why));
        }
        let first = spoken.messages.first().map(|pos| context.history.message(*pos));
        let previous = first.and_then(|message| summary_of(message, BEFORE, AFTER));
        let from = usize::from(previous.is_some());
        let messages = || shown(context, &spoken.messages[from..cut]);
        let request = SummaryRequest {
            previous,
            ..context.summary("checkpoint", "dsh.checkpoint", messages, self.0.summary_tokens.get())
        };
        let (kept, all) = (spoken.messages.len() - cut, spoken.messages.len());
        let reason = format!("keeps the last {kept} of {all} messages, {retain} tokens");
        Ok(Proposal::summary(request, reason, move |summary| {
            let text = summary.map_or("", |summary| &summary.text);
            let text = format!("{BEFORE}{text}{AFTER}");
            let summary = entry(context, Role::User, EntryKind::Summary, text);
            Ok(spoken.behind(context, summary, cut))
        }))
    }
}
