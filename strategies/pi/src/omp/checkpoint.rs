//! `oh-my-pi.checkpoint`: a summary of everything before the newest messages, unless shaking was enough.

use super::paths::Touched;
use crate::checkpoint::{NO_HISTORY, SPLIT_TURN, clipped, without_reasoning};
use crate::cut::{Cut, Unit, last_that_fit};
use foldback_core::Role;
use foldback_core::config::Share;
use foldback_core::log::EntryKind;
use foldback_core::outcome::Why;
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::{Filter, Proposal, StageContext, Summary, SummaryRequest};
use foldback_core::view::Pos;
use foldback_stages::filter::{Spoken, entry, shown, summary_of};
use foldback_stages::policy::TokenClass;
use schemars::JsonSchema;
use serde::Deserialize;
use std::num::NonZeroU64;
use std::sync::Arc;

/// What stands around a summary in the view.
const BEFORE: &str = "You have worked on this before; a summary of that work follows. Build on it and repeat none of it.\n\n<summary>\n";
const AFTER: &str = "\n</summary>";

/// Configuration of [`OmpCheckpoint`].
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OmpCheckpointConfig {
    /// Tokens of the newest messages that are kept at most, divided by how far the provider's count of the request is above the estimate.
    pub keep_recent_tokens: u64,
    /// Largest acceptable summary of the older turns, in tokens.
    pub summary_tokens: NonZeroU64,
    /// Largest acceptable summary of the beginning of a turn that is split, in tokens.
    pub turn_summary_tokens: NonZeroU64,
    /// UTF-16 units to which each tool result is cut for the summarizer.
    pub result_units: usize,
    /// Share of the limit down to which the prunings before the summary must have come, so that there is none.
    pub enough_share: Share,
}

impl StageConfig<dyn Filter> for OmpCheckpointConfig {
    fn build(self) -> Result<Arc<dyn Filter>, Invalid> {
        Ok(Arc::new(OmpCheckpoint(self)))
    }
}

/// A summary of everything before the newest messages.
#[derive(Clone, Debug)]
pub struct OmpCheckpoint(OmpCheckpointConfig);

impl OmpCheckpoint {
    /// Why nothing is summarized, where shaking has brought what the policy counted far enough down.
    fn relieved(&self, context: &StageContext<'_>) -> Option<Why> {
        let decision = context.decision.filter(|_| !context.moment.is_reactive())?;
        let left = decision.count.saturating_sub(context.cleared);
        let enough = self.0.enough_share.floor_of(decision.trigger);
        (left <= enough).then(|| {
            let why = format!("{} - {} shaken <= {enough}", decision.count, context.cleared);
            Why::new("shaken-enough", why)
        })
    }

    /// Tokens of the newest messages that are kept: fewer where the provider counts more than the estimator.
    fn keep(&self, context: &StageContext<'_>, units: &[Unit]) -> u64 {
        let keep = self.0.keep_recent_tokens;
        let Some(usage) = context.usage.map(|reading| reading.usage) else { return keep };
        let prompt = usage.uncached + usage.cache_read + usage.cache_write;
        let prompt = match prompt {
            0 => TokenClass::sum(&TokenClass::ALL, &usage, true),
            prompt => prompt,
        };
        let estimate: u64 = units.iter().map(|unit| unit.tokens).sum();
        if estimate == 0 || prompt <= estimate {
            return keep;
        }
        // Doubles divided and rounded down, as the original does.
        ((keep as f64 / (prompt as f64 / estimate as f64)).floor() as u64).max(1)
    }
}

impl Filter for OmpCheckpoint {
    fn propose<'a>(&'a self, context: &'a StageContext<'_>) -> Result<Proposal<'a>, Why> {
        if let Some(why) = self.relieved(context) {
            return Err(why);
        }
        let mut spoken = Spoken::in_view(context);
        let last = context.history.iter().next_back();
        if last.is_some_and(|(_, message)| message.is_entry_of(EntryKind::Summary)) {
            return Err(Why::new("already-compacted", "nothing was said since the last summary"));
        }
        let first = spoken.messages.first().map(|pos| &**context.history.message(*pos));
        let previous =
            first.and_then(|message| Some((message, summary_of(message, BEFORE, AFTER)?)));
        if previous.is_some() {
            spoken.messages.remove(0);
        }
        let units = Unit::from_messages(context, &spoken.messages);
        let keep = self.keep(context, &units);
        let kept = last_that_fit(&units, keep).unwrap_or(0);
        let cut = Cut::before(&units, spoken.whole(context, kept));
        if cut.kept == 0 {
            let detail = "all messages are within the tokens that are kept";
            return Err(Why::new("all-fits", detail));
        }
        let clip = |messages: &[Pos]| {
            let shown = shown(context, messages).into_iter().filter_map(without_reasoning);
            shown.map(|message| clipped(message, self.0.result_units)).collect()
        };
        let mut requests = Vec::new();
        // The older turns have a summary: a new one, or the last brought up to date.
        let has_history = cut.older() > 0 || previous.is_some();
        if has_history {
            let messages = || clip(&spoken.messages[..cut.older()]);
            let most = self.0.summary_tokens.get();
            requests.push(SummaryRequest {
                previous: previous.as_ref().map(|(_, text)| text.clone()),
                ..context.summary("history", "oh-my-pi.history", messages, most)
            });
        }
        if let Some(turn) = cut.turn {
            let messages = || clip(&spoken.messages[turn..cut.kept]);
            let most = self.0.turn_summary_tokens.get();
            requests.push(SummaryRequest {
                instructions: Vec::new(),
                ..context.summary("turn", "oh-my-pi.turn", messages, most)
            });
        }
        let (kept, all) = (spoken.messages.len() - cut.kept, spoken.messages.len());
        let split = if cut.turn.is_some() { ", in the middle of a turn" } else { "" };
        let reason = format!("keeps the last {kept} of {all} messages, up to {keep} tokens{split}");
        let then = move |summaries: &[Option<Summary>]| {
            let mut texts = summaries.iter().map(|text| text.as_ref().map(|one| &*one.text));
            let mut next = || texts.next().flatten().unwrap_or(NO_HISTORY);
            let mut text = if has_history { next() } else { NO_HISTORY }.to_owned();
            if cut.turn.is_some() {
                text += SPLIT_TURN;
                text += next();
            }
            let mut touched = Touched::default();
            if let Some((summary, _)) = previous {
                touched.noted_on(summary);
            }
            for pos in &spoken.messages[..cut.kept] {
                touched.called_in(context.history.message(*pos));
            }
            let text = format!("{BEFORE}{}{AFTER}", touched.below(&text));
            let mut summary = entry(context, Role::User, EntryKind::Summary, text);
            touched.note_on(&mut summary);
            Ok(spoken.behind(context, summary, cut.kept))
        };
        Ok(Proposal::Then { requests, reasons: vec![reason], then: Box::new(then) })
    }
}
