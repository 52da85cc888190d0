//! `claude-code.summary`: one summary in the place of everything, or of all before the newest answer.

use foldback_core::Role;
use foldback_core::config::NonBlank;
use foldback_core::log::EntryKind;
use foldback_core::outcome::Why;
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::{Filter, Proposal, StageContext, SummaryRequest};
use foldback_stages::filter::{Spoken, check_open_calls, entry, shown};
use schemars::JsonSchema;
use serde::Deserialize;
use std::num::NonZeroU64;
use std::sync::Arc;

/// Configuration of [`Everything`].
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EverythingConfig {
    /// First lines of the message that holds the summary.
    pub prefix: NonBlank,
    /// Largest acceptable summary in tokens.
    pub summary_tokens: NonZeroU64,
    /// Whether the newest answer and what is behind it stay, where an older answer can go.
    #[serde(default)]
    pub keep_last_answer: bool,
}

impl StageConfig<dyn Filter> for EverythingConfig {
    fn build(self) -> Result<Arc<dyn Filter>, Invalid> {
        Ok(Arc::new(Everything(self)))
    }
}

/// Puts one summary in the place of everything, or of all before the newest answer.
#[derive(Clone, Debug)]
pub struct Everything(EverythingConfig);

impl Everything {
    /// How many messages of the view go.
    fn cut(&self, context: &StageContext<'_>, spoken: &Spoken) -> usize {
        let all = spoken.messages.len();
        let is_answer =
            |at: &usize| context.history.kind(spoken.messages[*at]).role == Role::Assistant;
        let mut answers = (0..all).rev().filter(is_answer);
        match (self.0.keep_last_answer, answers.next(), answers.next()) {
            (true, Some(last), Some(_)) => spoken.whole(context, last),
            _ => all,
        }
    }
}

impl Filter for Everything {
    fn propose<'a>(&'a self, context: &'a StageContext<'_>) -> Result<Proposal<'a>, Why> {
        check_open_calls(context)?;
        let spoken = Spoken::in_view(context);
        let previous = spoken.last_summary(context, &self.0.prefix);
        let cut = self.cut(context, &spoken);
        let mut goes = spoken.messages[..cut].to_vec();
        goes.retain(|pos| previous.as_ref().is_none_or(|(summary, _)| summary != pos));
        let count = goes.len();
        if count == 0 {
            return Err(Why::new("nothing-to-fold", "the view holds the last summary alone"));
        }
        let request = SummaryRequest {
            previous: previous.map(|(_, text)| text),
            ..context.summary(
                "summary",
                "claude-code.summary",
                || shown(context, &goes),
                self.0.summary_tokens.get(),
            )
        };
        let reason = if self.0.keep_last_answer {
            format!("{count} messages before the newest answer")
        } else {
            format!("all {count} messages")
        };
        Ok(Proposal::summary(request, reason, move |summary| {
            let text = summary.map_or("(no summary available)", |summary| &summary.text);
            let text = format!("{}\n\n{text}", self.0.prefix);
            let summary = entry(context, Role::User, EntryKind::Summary, text);
            Ok(spoken.behind(context, summary, cut))
        }))
    }
}
