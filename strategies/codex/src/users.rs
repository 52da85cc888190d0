//! `codex.users`: what the person said, newest first up to a budget, and behind it a summary of everything.

use crate::middle::{Unit, cut, tokens};
use foldback_core::Role;
use foldback_core::config::NonBlank;
use foldback_core::log::{EntryKind, Message, PartKind};
use foldback_core::outcome::Why;
use foldback_core::plan::Edit;
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::{Arrangement, Filter, Proposal, StageContext, SummaryRequest};
use foldback_core::view::{EditKind, Pos};
use foldback_stages::filter::{Spoken, arranged, check_open_calls, entry, shown};
use schemars::JsonSchema;
use serde::Deserialize;
use std::num::NonZeroU64;
use std::sync::Arc;

/// Configuration of [`Users`].
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UsersConfig {
    /// Tokens of the person's messages that are kept; the message that exceeds them loses its middle.
    pub keep_tokens: usize,
    /// Tokens that a message without text counts for.
    #[serde(default)]
    pub least_tokens: usize,
    /// Line above the summary.
    pub prefix: NonBlank,
    /// Largest acceptable summary in tokens.
    pub summary_tokens: NonZeroU64,
}

impl StageConfig<dyn Filter> for UsersConfig {
    fn build(self) -> Result<Arc<dyn Filter>, Invalid> {
        Ok(Arc::new(Users(self)))
    }
}

/// Keeps what the person said, and puts a summary behind it.
#[derive(Clone, Debug)]
pub struct Users(UsersConfig);

/// What a fold keeps.
#[derive(Default)]
struct KeptMessages {
    /// Messages of the person, oldest first.
    messages: Vec<Pos>,
    /// The cut of the message that exceeds the budget.
    edits: Vec<Edit>,
}

/// Whether a person wrote the message. Messages that the harness wrote in the person's name are not kept.
pub(crate) fn said_by_person(message: &Message) -> bool {
    let own = |kind: &PartKind| match kind {
        PartKind::Text { synthetic, ignored, .. } => !synthetic && !ignored,
        PartKind::File(_) => true,
        _ => false,
    };
    message.role == Role::User
        && !message.is_entry()
        && message.parts.iter().any(|part| own(&part.kind))
}

impl Users {
    fn kept(&self, context: &StageContext<'_>, spoken: &Spoken) -> KeptMessages {
        let mut kept = KeptMessages::default();
        let mut remaining = self.0.keep_tokens;
        let of_person = |pos: &&Pos| said_by_person(context.history.message(**pos));
        for pos in spoken.messages.iter().rev().filter(of_person) {
            if remaining == 0 {
                break;
            }
            let shown = context.view.show_item(context.history, *pos).to_shared();
            let texts =
                || shown.parts.iter().filter(|part| matches!(part.kind, PartKind::Text { .. }));
            let size: usize = texts().map(|part| tokens(&part.shown())).sum();
            let size = size.max(self.0.least_tokens);
            if size > remaining {
                kept.edits = cut_parts(context, *pos, &shown, remaining);
                remaining = 0;
            }
            remaining = remaining.saturating_sub(size);
            kept.messages.push(*pos);
        }
        kept.messages.reverse();
        kept
    }
}

/// The cuts that bring a message to a budget: its texts in order, the one that exceeds it in the middle, those behind it whole.
fn cut_parts(context: &StageContext<'_>, pos: Pos, shown: &Message, budget: usize) -> Vec<Edit> {
    let mut remaining = budget;
    let mut edits = Vec::new();
    for (index, part) in shown.parts.iter().enumerate() {
        let PartKind::Text { text, .. } = &part.kind else { continue };
        let size = tokens(text);
        let shorter =
            if remaining == 0 { Some(String::new()) } else { cut(text, remaining, Unit::Tokens) };
        remaining = remaining.saturating_sub(size);
        if let Some(shorter) = shorter.filter(|_| !text.is_empty()) {
            let reason = "over what is kept of the person's messages";
            edits.push(context.edit(pos, index, EditKind::Truncate, shorter.into(), reason));
        }
    }
    edits
}

impl Filter for Users {
    fn propose<'a>(&'a self, context: &'a StageContext<'_>) -> Result<Proposal<'a>, Why> {
        check_open_calls(context)?;
        let spoken = Spoken::in_view(context);
        let kept = self.kept(context, &spoken);
        let previous = spoken.last_summary(context, &self.0.prefix);
        let said = |pos: &Pos| !context.history.message(*pos).is_entry();
        if !spoken.messages.iter().any(|pos| said(pos) && !kept.messages.contains(pos)) {
            return Err(Why::new(
                "nothing-to-fold",
                "the view holds what the person said and the last summary alone",
            ));
        }
        let reason = format!(
            "keeps {} of {} messages, what the person said up to {} tokens",
            kept.messages.len(),
            spoken.messages.len(),
            self.0.keep_tokens
        );
        // What stays is said already; the message that is cut goes along whole.
        let cut: Vec<Pos> = kept.edits.iter().map(|edit| edit.at.item).collect();
        let stays = |pos: &Pos| kept.messages.contains(pos) && !cut.contains(pos);
        let Spoken { system, messages: mut goes } = spoken;
        goes.retain(|pos| {
            previous.as_ref().is_none_or(|(summary, _)| summary != pos) && !stays(pos)
        });
        let messages = || shown(context, &goes);
        let request = SummaryRequest {
            previous: previous.map(|(_, text)| text),
            ..context.summary("summary", "codex.handoff", messages, self.0.summary_tokens.get())
        };
        Ok(Proposal::summary(request, reason, move |summary| {
            let text = summary.map_or("(no summary available)", |summary| &summary.text);
            let text = format!("{}\n{text}", self.0.prefix);
            let summary = entry(context, Role::User, EntryKind::Summary, text);
            let order = system.into_iter().chain(kept.messages).chain([context.history.len()]);
            Ok(Arrangement { edits: kept.edits, ..arranged(context, vec![summary], order) })
        }))
    }
}
