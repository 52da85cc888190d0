//! `mxf.recover`: what follows a refusal that stripping did not help against.
//!
//! A request that was refused is sent again with all tool results stripped ([`Microcompact`]). If that one is refused, a structured
//! summary of the stripped history takes the place of all but the newest messages; if the history does not get at least a tenth
//! smaller, or that request is refused as well, MXF gives up. It summarizes the log, not what an earlier summary left of it.

use crate::microcompact::{
    Microcompact, MicrocompactConfig, enough, is_success, log, placeholder, stripped, too_little,
};
use foldback_core::log::{EntryKind, Message, Origin, PartKind, Role};
use foldback_core::outcome::Why;
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::{Filter, Proposal, StageContext};
use foldback_core::view::Pos;
use foldback_stages::filter::{Spoken, arranged, entry};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

/// Configuration of [`Recover`].
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecoverConfig {
    /// Newest messages that stay.
    pub keep: usize,
    /// The microcompaction that the refused request had.
    pub microcompaction: MicrocompactConfig,
}

impl StageConfig<dyn Filter> for RecoverConfig {
    fn build(self) -> Result<Arc<dyn Filter>, Invalid> {
        let before = Microcompact(self.microcompaction);
        Ok(Arc::new(Recover { keep: self.keep, before }))
    }
}

/// A summary of everything before the newest messages.
#[derive(Clone, Debug)]
pub struct Recover {
    keep: usize,
    before: Microcompact,
}

impl Recover {
    /// What stays: the messages of the harness, and the newest ones.
    fn kept(&self, context: &StageContext<'_>) -> Result<Spoken, Why> {
        let mut spoken = Spoken::in_view(context);
        spoken.messages.retain(|pos| context.history.kind(*pos).origin == Origin::Log);
        let cut = spoken.whole(context, spoken.messages.len().saturating_sub(self.keep));
        if cut == 0 {
            return Err(Why::new("all-fits", "nothing stands before the messages that stay"));
        }
        spoken.messages.drain(..cut);
        Ok(spoken)
    }
}

/// A message for the summarizer: stripped, or as the view has it where a person asks.
fn shown(context: &StageContext<'_>, pos: Pos) -> Arc<Message> {
    let message = context.view.show_item(context.history, pos).to_shared();
    if !context.moment.is_reactive() || message.role != Role::Tool {
        return message;
    }
    let mut message = Message::clone(&message);
    for part in &mut message.parts {
        if let PartKind::Result(result) = &mut part.kind
            && let Some(line) = placeholder(&result.tool, &result.text)
        {
            result.text = line;
        }
    }
    Arc::new(message)
}

impl Filter for Recover {
    fn propose<'a>(&'a self, context: &'a StageContext<'_>) -> Result<Proposal<'a>, Why> {
        let Spoken { system, messages: kept } = self.kept(context)?;
        let (refused, before) = self.before.recovery(context);
        if context.moment.is_reactive() && !is_success(refused, before) {
            return Err(too_little(refused, before));
        }
        let stays = kept.iter().map(|pos| stripped(context, *pos)).sum();
        let Some(budget) = enough(before).checked_sub(stays).filter(|budget| *budget > 0) else {
            return Err(too_little(before, stays));
        };
        let messages = || {
            let older = log(context).take_while(|pos| kept.first().is_none_or(|first| pos < first));
            older.map(|pos| shown(context, pos)).collect()
        };
        let reason = format!("keeps the newest {} messages", kept.len());
        let request = context.summary("history", "mxf.history", messages, budget);
        Ok(Proposal::summary(request, reason, move |summary| {
            let text = summary.map(|summary| summary.text.clone());
            let entries = text.map(|text| entry(context, Role::User, EntryKind::Summary, text));
            let entries = Vec::from_iter(entries);
            let end = context.history.len();
            let order = system.into_iter().chain(end..end + entries.len()).chain(kept);
            Ok(arranged(context, entries, order))
        }))
    }
}
