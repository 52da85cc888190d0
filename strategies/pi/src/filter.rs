//! `pi.checkpoint`: a summary of everything before the newest messages, which stand behind it.

use crate::cut::{Cut, Unit, first_kept};
use crate::files::Files;
use foldback_core::Role;
use foldback_core::log::{EntryKind, Message, Part, PartKind};
use foldback_core::outcome::Why;
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::{Arrangement, Filter, Proposal, StageContext, Summary, SummaryRequest};
use foldback_stages::filter::{Spoken, check_room, cut_results, entry, first_units, summary_of};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What stands around a summary in the view.
const BEFORE: &str = "The conversation history before this point was compacted into the following summary:\n\n<summary>\n";
const AFTER: &str = "\n</summary>";

/// Stands in place of a summary of older turns if there are none.
pub(crate) const NO_HISTORY: &str = "No prior history.";

/// Stands between the summary of the older turns and that of the split one.
pub(crate) const SPLIT_TURN: &str = "\n\n---\n\n**Turn Context (split turn):**\n\n";

/// Configuration of [`Checkpoint`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CheckpointConfig {
    /// Tokens of the newest messages that are kept; the message that reaches them is kept whole.
    pub keep_recent_tokens: u64,
    /// Largest acceptable summary of the older turns, in tokens; without it, the model's output limit.
    pub summary_tokens: Option<u64>,
    /// Largest acceptable summary of the beginning of a turn that is split, in tokens; without it, the model's output limit.
    pub turn_summary_tokens: Option<u64>,
    /// UTF-16 units to which each tool result is cut for the summarizer.
    pub result_units: usize,
    /// Whether the summarizer sees what the model thought.
    pub reasoning: bool,
    /// Whether instructions are for the summary of a turn's beginning as well, and not for that of the older turns alone.
    pub turn_instructions: bool,
}

impl Default for CheckpointConfig {
    fn default() -> Self {
        Self {
            keep_recent_tokens: 20_000,
            summary_tokens: None,
            turn_summary_tokens: None,
            result_units: 2_000,
            reasoning: false,
            turn_instructions: true,
        }
    }
}

impl StageConfig<dyn Filter> for CheckpointConfig {
    fn build(self) -> Result<Arc<dyn Filter>, Invalid> {
        check_room("summary_tokens", self.summary_tokens.unwrap_or(1))?;
        check_room("turn_summary_tokens", self.turn_summary_tokens.unwrap_or(1))?;
        Ok(Arc::new(Checkpoint(self)))
    }
}

/// A summary of everything before the newest messages.
#[derive(Clone, Debug)]
pub struct Checkpoint(CheckpointConfig);

/// What a fold does.
struct Selection {
    /// The messages of the view; the earlier summary is not among them.
    spoken: Spoken,
    cut: Cut,
    /// The earlier summary.
    previous: Option<String>,
}

impl Selection {
    /// What is summarized and how: name, style, messages. The older turns first, where there are any.
    fn parts(&self) -> Vec<(&'static str, &'static str, std::ops::Range<usize>)> {
        let older = (self.cut.older() > 0).then(|| ("history", "pi.history", 0..self.cut.older()));
        let turn = self.cut.turn.map(|turn| ("turn", "pi.turn", turn..self.cut.kept));
        older.into_iter().chain(turn).collect()
    }
}

impl Checkpoint {
    fn select(&self, context: &StageContext<'_>) -> Result<Selection, Why> {
        let mut spoken = Spoken::of(context);
        let last = context.history.iter().next_back();
        if last.is_some_and(|(_, message)| message.is_entry_of(EntryKind::Summary)) {
            return Err(Why::new("already-compacted", "nothing was said since the last summary"));
        }
        let first = spoken.messages.first().map(|pos| context.history.message(*pos));
        let previous = first.and_then(|message| summary_of(message, BEFORE, AFTER));
        if previous.is_some() {
            spoken.messages.remove(0);
        }
        let units = Unit::of(context, &spoken.messages);
        let kept = first_kept(&units, self.0.keep_recent_tokens).unwrap_or(0);
        let cut = Cut::before(&units, spoken.whole(context, kept));
        if cut.kept == 0 {
            let detail = "all messages are within the tokens that are kept";
            return Err(Why::new("all-fits", detail));
        }
        Ok(Selection { spoken, cut, previous })
    }

    /// The text of the new summary.
    fn text(
        &self,
        context: &StageContext<'_>,
        selection: &Selection,
        texts: Vec<Option<&str>>,
    ) -> String {
        let mut texts = texts.into_iter();
        let mut next = || texts.next().flatten().unwrap_or(NO_HISTORY);
        let Selection { spoken, cut, previous } = selection;
        let mut text = match cut.older() {
            0 => previous.as_deref().unwrap_or(NO_HISTORY),
            _ => next(),
        }
        .to_owned();
        if cut.turn.is_some() {
            text += SPLIT_TURN;
            text += next();
        }
        let mut files = Files::default();
        files.listed_in(previous.as_deref().unwrap_or_default());
        for pos in &spoken.messages[..cut.kept] {
            files.called_in(context.history.message(*pos));
        }
        text + &files.below()
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
        let selection = self.select(context)?;
        let Selection { spoken, cut, previous } = &selection;
        let request = |(name, style, range): (&str, &str, std::ops::Range<usize>)| {
            let is_turn = name == "turn";
            let messages = || {
                let shown = spoken.shown(context, range.start, range.end).into_iter();
                let said = shown.filter_map(|message| match self.0.reasoning {
                    true => Some(message),
                    false => without_reasoning(message),
                });
                said.map(|message| clipped(message, self.0.result_units)).collect()
            };
            let most = if is_turn { self.0.turn_summary_tokens } else { self.0.summary_tokens };
            let most = most.or(Some(context.limits.output).filter(|output| *output > 0));
            let mut whole = context.summary(name, style, messages, most.unwrap_or(u64::MAX));
            if is_turn && !self.0.turn_instructions {
                whole.instructions.clear();
            }
            let previous = previous.clone().filter(|_| !is_turn);
            SummaryRequest { previous, ..whole }
        };
        let kept = spoken.messages.len() - cut.kept;
        let split = if cut.turn.is_some() { ", in the middle of a turn" } else { "" };
        let reason = format!(
            "keeps the last {kept} of {} messages, about {} tokens{split}",
            spoken.messages.len(),
            self.0.keep_recent_tokens
        );
        let requests = selection.parts().into_iter().map(request).collect();
        Ok(Proposal::Summaries { requests, reasons: vec![reason] })
    }

    fn arrange(
        &self,
        context: &StageContext<'_>,
        summaries: &[Option<Summary>],
    ) -> Result<Arrangement, Why> {
        let selection = self.select(context)?;
        let texts = summaries.iter().map(|summary| Some(summary.as_ref()?.text.as_str())).collect();
        let text = format!("{BEFORE}{}{AFTER}", self.text(context, &selection, texts));
        let summary = entry(context, Role::User, EntryKind::Summary, text);
        let Selection { spoken, cut, .. } = selection;
        Ok(spoken.behind(context, summary, cut.kept))
    }
}
