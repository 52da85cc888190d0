//! `pi.checkpoint`: a summary of everything before the newest messages, which stand behind it.

use crate::cut::{Cut, Unit, first_kept};
use crate::files::Files;
use foldback_core::Role;
use foldback_core::log::{EntryKind, Message, Part, PartKind};
use foldback_core::outcome::Why;
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::{Filter, Proposal, StageContext, Summary, SummaryRequest};
use foldback_core::view::Pos;
use foldback_stages::filter::{Spoken, cut_results, entry, first_units, shown, summary_of};
use schemars::JsonSchema;
use serde::Deserialize;
use std::num::NonZeroU64;
use std::sync::Arc;

/// What stands around a summary in the view.
const BEFORE: &str = "The conversation history before this point was compacted into the following summary:\n\n<summary>\n";
const AFTER: &str = "\n</summary>";

/// Stands in place of a summary of older turns if there are none.
pub(crate) const NO_HISTORY: &str = "No prior history.";

/// Stands between the summary of the older turns and that of the split one.
pub(crate) const SPLIT_TURN: &str = "\n\n---\n\n**Turn Context (split turn):**\n\n";

/// Configuration of [`Checkpoint`].
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckpointConfig {
    /// Tokens of the newest messages that are kept; the message that reaches them is kept whole.
    pub keep_recent_tokens: u64,
    /// Largest acceptable summary of the older turns, in tokens; without it, the model's output limit.
    pub summary_tokens: Option<NonZeroU64>,
    /// Largest acceptable summary of the beginning of a turn that is split, in tokens; without it, the model's output limit.
    pub turn_summary_tokens: Option<NonZeroU64>,
    /// UTF-16 units to which each tool result is cut for the summarizer.
    pub result_units: usize,
    /// Whether the summarizer sees what the model thought.
    #[serde(default)]
    pub reasoning: bool,
    /// Whether instructions are for the summary of a turn's beginning as well, and not for that of the older turns alone.
    pub turn_instructions: bool,
}

impl StageConfig<dyn Filter> for CheckpointConfig {
    fn build(self) -> Result<Arc<dyn Filter>, Invalid> {
        Ok(Arc::new(Checkpoint(self)))
    }
}

/// A summary of everything before the newest messages.
#[derive(Clone, Debug)]
pub struct Checkpoint(CheckpointConfig);

impl Checkpoint {
    /// The text of the new summary.
    fn text(
        &self,
        context: &StageContext<'_>,
        gone: &[Pos],
        cut: &Cut,
        previous: Option<&str>,
        summaries: &[Option<Summary>],
    ) -> String {
        let mut texts = summaries.iter().map(|summary| summary.as_ref().map(|one| &*one.text));
        let mut next = || texts.next().flatten().unwrap_or(NO_HISTORY);
        let history = if cut.older() == 0 { previous.unwrap_or(NO_HISTORY) } else { next() };
        let mut text = history.to_owned();
        if cut.turn.is_some() {
            text += SPLIT_TURN;
            text += next();
        }
        let mut files = Files::default();
        files.listed_in(previous.unwrap_or_default());
        for pos in gone {
            files.called_in(context.history.message(*pos));
        }
        text + &files.below()
    }

    /// A request for a summary of these messages.
    fn request(
        &self,
        context: &StageContext<'_>,
        (name, style): (&str, &str),
        messages: &[Pos],
        most: Option<NonZeroU64>,
    ) -> SummaryRequest {
        let messages = || {
            let shown = shown(context, messages).into_iter();
            let said = shown.filter_map(|message| match self.0.reasoning {
                true => Some(message),
                false => without_reasoning(message),
            });
            said.map(|message| clipped(message, self.0.result_units)).collect()
        };
        let most = most.or(NonZeroU64::new(context.limits.output));
        context.summary(name, style, messages, most.map_or(u64::MAX, NonZeroU64::get))
    }
}

/// A message without what the model thought; `None` if that was all.
pub(crate) fn without_reasoning(message: Arc<Message>) -> Option<Arc<Message>> {
    let thought = |part: &Part| matches!(part.kind, PartKind::Reasoning { .. });
    if !message.parts.iter().any(thought) {
        return Some(message);
    }
    let mut left = Message::clone(&message);
    left.parts.retain(|part| !thought(part));
    (!left.parts.is_empty()).then(|| Arc::new(left))
}

/// A message whose tool results have at most so many UTF-16 units.
pub(crate) fn clipped(message: Arc<Message>, units: usize) -> Arc<Message> {
    cut_results(message, |text| {
        let (kept, omitted) = first_units(text, units)?;
        Some(format!("{kept}\n\n[... {omitted} more characters truncated]"))
    })
}

impl Filter for Checkpoint {
    fn propose<'a>(&'a self, context: &'a StageContext<'_>) -> Result<Proposal<'a>, Why> {
        let mut spoken = Spoken::in_view(context);
        let last = context.history.iter().next_back();
        if last.is_some_and(|(_, message)| message.is_entry_of(EntryKind::Summary)) {
            return Err(Why::new("already-compacted", "nothing was said since the last summary"));
        }
        let first = spoken.messages.first().map(|pos| context.history.message(*pos));
        let previous = first.and_then(|message| summary_of(message, BEFORE, AFTER));
        if previous.is_some() {
            spoken.messages.remove(0);
        }
        let units = Unit::from_messages(context, &spoken.messages);
        let kept = first_kept(&units, self.0.keep_recent_tokens).unwrap_or(0);
        let cut = Cut::before(&units, spoken.whole(context, kept));
        if cut.kept == 0 {
            let detail = "all messages are within the tokens that are kept";
            return Err(Why::new("all-fits", detail));
        }
        let mut requests = Vec::new();
        if cut.older() > 0 {
            let (name, messages) = (("history", "pi.history"), &spoken.messages[..cut.older()]);
            let request = self.request(context, name, messages, self.0.summary_tokens);
            requests.push(SummaryRequest { previous: previous.clone(), ..request });
        }
        if let Some(turn) = cut.turn {
            let (name, messages) = (("turn", "pi.turn"), &spoken.messages[turn..cut.kept]);
            let mut request = self.request(context, name, messages, self.0.turn_summary_tokens);
            if !self.0.turn_instructions {
                request.instructions.clear();
            }
            requests.push(request);
        }
        let kept = spoken.messages.len() - cut.kept;
        let split = if cut.turn.is_some() { ", in the middle of a turn" } else { "" };
        let reason = format!(
            "keeps the last {kept} of {} messages, about {} tokens{split}",
            spoken.messages.len(),
            self.0.keep_recent_tokens
        );
        let then = move |summaries: &[Option<Summary>]| {
            let gone = &spoken.messages[..cut.kept];
            let text = self.text(context, gone, &cut, previous.as_deref(), summaries);
            let text = format!("{BEFORE}{text}{AFTER}");
            let summary = entry(context, Role::User, EntryKind::Summary, text);
            Ok(spoken.behind(context, summary, cut.kept))
        };
        Ok(Proposal::Then { requests, reasons: vec![reason], then: Box::new(then) })
    }
}
