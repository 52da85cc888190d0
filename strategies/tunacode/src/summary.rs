//! `tunacode.summary`: a summary of everything before a safe boundary, which stands in front of what stays.

use crate::boundary::{Unit, latest, retaining};
use foldback_core::Role;
use foldback_core::log::{EntryKind, Message, PartKind};
use foldback_core::moment::Trigger;
use foldback_core::outcome::Why;
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::{Filter, Proposal, StageContext, SummaryRequest};
use foldback_core::view::{Place, Pos};
use foldback_stages::filter::{Spoken, cut_results, entry, first_chars, shown, summary_of};
use schemars::JsonSchema;
use serde::Deserialize;
use std::num::NonZeroU64;
use std::sync::Arc;

/// What stands above a summary in the view.
const BEFORE: &str = "[Compaction summary]\n\n";

/// What ends a result that was cut for the summarizer.
const RESULT_ENDING: &str = "...[truncated]";

/// Configuration of [`Safe`].
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SafeConfig {
    /// Tokens of the newest messages that stay; the message that reaches them stays whole. A fold that a person or a refusal
    /// forces goes by safety alone.
    pub keep_recent_tokens: u64,
    /// Characters to which each tool result is cut for the summarizer.
    pub result_chars: usize,
    /// Largest acceptable summary in tokens.
    pub summary_tokens: NonZeroU64,
}

impl StageConfig<dyn Filter> for SafeConfig {
    fn build(self) -> Result<Arc<dyn Filter>, Invalid> {
        Ok(Arc::new(Safe(self)))
    }
}

/// A summary of everything before a safe boundary.
#[derive(Clone, Debug)]
pub struct Safe(SafeConfig);

/// Whether a fold goes by safety alone.
fn is_forced(context: &StageContext<'_>) -> bool {
    context.moment.is_reactive() || context.trigger == Trigger::Manual
}

/// How many messages were there before the request of the user that the newest turn is about.
fn before_request(context: &StageContext<'_>, messages: &[Pos]) -> usize {
    let message = |pos: &Pos| context.history.message(*pos);
    let begins = |pos: &Pos| message(pos).begins_turn();
    let Some(last) = messages.iter().rposition(begins) else { return messages.len() };
    // Several messages of the user without an answer between them are one request.
    let answered = messages[..last].iter().rposition(|pos| message(pos).is_answer());
    let after = answered.map_or(0, |answer| answer + 1);
    messages[after..].iter().position(begins).map_or(last, |first| after + first)
}

/// Whether a boundary may be behind a message: the user's, or an answer that ended. Of an answer of which it is not known how it
/// ended, one that says something and calls nothing.
fn closes(message: &Message) -> bool {
    let ended = || message.answer.as_ref().is_some_and(|answer| answer.finish.is_some());
    let says = || message.call_ids().next().is_none() && !message.said().trim().is_empty();
    match message.role {
        Role::User => true,
        Role::Assistant => ended() || says(),
        _ => false,
    }
}

fn says_nothing(message: &Message) -> bool {
    message.parts.iter().all(|part| match &part.kind {
        PartKind::Call(_) | PartKind::File(_) => false,
        _ => part.shown().trim().is_empty(),
    })
}

impl Filter for Safe {
    fn propose<'a>(&'a self, context: &'a StageContext<'_>) -> Result<Proposal<'a>, Why> {
        let mut spoken = Spoken::in_view(context);
        let message = |pos: &Pos| context.history.message(*pos);
        let first = spoken.messages.first().map(message);
        let previous = first.and_then(|first| summary_of(first, BEFORE, ""));
        if previous.is_some() {
            spoken.messages.remove(0);
        }
        let stored = match context.moment.is_reactive() {
            true => before_request(context, &spoken.messages),
            false => spoken.messages.len(),
        };
        let unit = |pos: &Pos| Unit {
            tokens: context.tokens(Place::Item(*pos)),
            closes: closes(message(pos)),
            is_result: message(pos).role == Role::Tool,
        };
        let units: Vec<Unit> = spoken.messages[..stored].iter().map(unit).collect();
        let boundary = match is_forced(context) {
            true => latest(&units),
            false => retaining(&units, self.0.keep_recent_tokens),
        };
        let boundary = spoken.whole(context, boundary);
        if boundary == 0 {
            let detail = "a summary may end nowhere before the messages that stay";
            return Err(Why::new("no-valid-boundary", detail));
        }
        if spoken.messages[..boundary].iter().map(message).all(|message| says_nothing(message)) {
            return Err(Why::new("nothing-to-summarize", "the messages before it are empty"));
        }
        let SafeConfig { keep_recent_tokens, result_chars, summary_tokens } = &self.0;
        let clip = |text: &str| {
            first_chars(text.trim(), *result_chars).map(|kept| format!("{kept}{RESULT_ENDING}"))
        };
        let messages = || {
            let shown = shown(context, &spoken.messages[..boundary]).into_iter();
            shown.map(|message| cut_results(message, clip)).collect()
        };
        let summary =
            context.summary("summary", "tunacode.summary", messages, summary_tokens.get());
        let (all, kept) = (spoken.messages.len(), spoken.messages.len() - boundary);
        let by = match is_forced(context) {
            true => "the latest safe boundary".to_owned(),
            false => format!("at least {keep_recent_tokens} tokens behind a safe boundary"),
        };
        let request = SummaryRequest { previous, ..summary };
        let reason = format!("keeps the last {kept} of {all} messages: {by}");
        Ok(Proposal::summary(request, reason, move |summary| {
            let text = summary.map_or("", |summary| summary.text.trim());
            let text = format!("{BEFORE}{text}");
            let summary = entry(context, Role::User, EntryKind::Summary, text);
            Ok(spoken.behind(context, summary, boundary))
        }))
    }
}
