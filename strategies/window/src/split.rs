//! `window.split`: a summary replaces everything before the last two fifths of the window.
//!
//! The units are the messages of the view, so the summary of an earlier fold is the first message and
//! goes into the next summary.

use crate::boundary::{move_as_documented, move_off_groups, split_point};
use crate::budget::context_limit;
use crate::request;
use foldback_core::config::Share;
use foldback_core::log::{EntryKind, Message, PartKind, Role};
use foldback_core::outcome::Why;
use foldback_core::plan::{Insert, Layout, Slot};
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::{Arrangement, Filter, Proposal, StageContext, Summary, SummaryRequest};
use foldback_stages::split::{kept, units};
use schemars::JsonSchema;
use serde::Deserialize;
use std::num::{NonZeroU64, NonZeroUsize};
use std::sync::Arc;

/// Reads the notes that an agent keeps on its own session, which may stand in for a summary. An agent
/// that has any puts an `Arc<dyn SessionMemory>` among the extensions of its services.
pub trait SessionMemory: Send + Sync {
    /// The text and when it was last written, in milliseconds since the Unix epoch.
    fn read(&self) -> Option<(String, i64)>;
}

/// What [`Summary::by`] says where they do.
pub const SESSION_MEMORY: &str = "session-memory";

/// How a split moves off a tool call and its results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Groups {
    /// Back until no group has messages on both sides.
    Whole,
    /// As the original: one message too far where it lands on a call, which orphans results in chains.
    Documented,
}

/// First line of the message that holds the summary; an empty line follows.
const PREFIX: &str = "[Previous conversation summary]";

/// Configuration of [`Split`].
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SplitConfig {
    /// Share of the whole window that the kept messages may take; what stands around them is not counted.
    pub preserve: Share,
    /// Whether less is kept, and a shorter summary asked for, where the next call would be over the threshold again at once.
    pub below_trigger: bool,
    /// How a split moves off a tool call and its results.
    pub groups: Groups,
    /// Whether the summarizer gets an earlier summary as such and whole, instead of as one more message.
    pub previous_apart: bool,
    /// Size in bytes to which each message is cut for the summarizer.
    pub message_bytes: NonZeroUsize,
    /// Whether the summarizer gets the tool calls, their long arguments cut like messages.
    pub show_calls: bool,
    /// Largest acceptable summary in tokens.
    pub summary_tokens: NonZeroU64,
    /// Age in seconds below which the agent's notes on its session are used in place of a summary; 0: never.
    pub memory_seconds: u32,
    /// Text at the start of the view if there is no summary and the kept part does not start with a user message; empty: none.
    pub hidden_note: String,
    /// Beta headers of the requests, as in `window.utilisation`.
    #[serde(default)]
    pub betas: Vec<String>,
}

impl StageConfig<dyn Filter> for SplitConfig {
    fn build(self) -> Result<Arc<dyn Filter>, Invalid> {
        Ok(Arc::new(Split(self)))
    }
}

/// A summary replaces everything before the last messages.
#[derive(Clone, Debug)]
pub struct Split(SplitConfig);

/// A split, with the numbers behind it.
struct Cut {
    at: usize,
    reason: String,
}

/// What a fold may leave, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Room {
    window: u64,
    kept: u64,
    summary: u64,
}

impl Room {
    /// This room with no more than `target` in all. The summary gives way first, down to a quarter of
    /// the target.
    fn within(self, target: u64) -> Self {
        let left = target.saturating_sub(self.kept);
        let summary = self.summary.min(left.max(target / 4)).max(1);
        Self { kept: self.kept.min(target.saturating_sub(summary)), summary, ..self }
    }
}

impl Split {
    /// Tokens that the kept messages and the summary may take.
    fn room(&self, context: &StageContext<'_>) -> Room {
        let set = (context.limits.context > 0).then_some(context.limits.context);
        let window = context_limit(context.model, &self.0.betas, set);
        let room = Room {
            window,
            kept: self.0.preserve.floor_of(window),
            summary: self.0.summary_tokens.get(),
        };
        match context.decision.and_then(|decision| decision.target) {
            Some(target) if self.0.below_trigger => room.within(target),
            _ => room,
        }
    }

    fn cut(&self, context: &StageContext<'_>) -> Result<Cut, Why> {
        let places = context.places();
        if places.len() <= 1 {
            return Err(Why::new(
                "too-short",
                format!("{} messages: nothing to fold", places.len()),
            ));
        }
        let Room { window, kept: budget, summary: most } = self.room(context);
        let tokens: Vec<u64> = places.iter().map(|place| context.tokens(*place)).collect();
        let natural = split_point(&tokens, budget);
        if natural == 0 {
            return Err(Why::new(
                "all-fits",
                format!(
                    "all {} messages ({} tokens) are within the {budget} that are kept",
                    places.len(),
                    tokens.iter().sum::<u64>()
                ),
            ));
        }
        let units = units(context);
        let at = match self.0.groups {
            Groups::Whole => move_off_groups(&units, natural),
            Groups::Documented => move_as_documented(&units, natural),
        };
        if at == 0 || at >= places.len() {
            return Err(Why::new(
                "no-split",
                "one tool call with its results reaches over the whole view",
            ));
        }
        let summarised = at == 1 && self.earlier(context.message(places[0])).is_some();
        if summarised && tokens[0] <= most {
            return Err(Why::new(
                "nothing-new",
                format!(
                    "only the earlier summary would go, and its {} tokens are within {most}",
                    tokens[0]
                ),
            ));
        }
        let kept: u64 = tokens[at..].iter().sum();
        Ok(Cut {
            at,
            reason: format!(
                "keeps the last {} of {} messages: {kept} tokens for a budget of {budget} (at most {} of {window})",
                places.len() - at,
                places.len(),
                self.0.preserve.number()
            ),
        })
    }

    /// The agent's notes on its session, while they are fresh.
    fn notes(&self, context: &StageContext<'_>) -> Option<Summary> {
        let memory = context.services.extensions.get::<Arc<dyn SessionMemory>>()?;
        let (text, written) = memory.read()?;
        let age = context.now().saturating_sub(written);
        let fresh = age < i64::from(self.0.memory_seconds) * 1_000;
        let tokens = context.estimator().text(&text);
        (fresh && !text.trim().is_empty()).then(|| Summary {
            text,
            tokens,
            by: SESSION_MEMORY.to_owned(),
            usage: None,
            lacks: None,
        })
    }

    /// The text of an earlier summary, without its prefix.
    fn earlier<'m>(&self, message: &'m Message) -> Option<&'m str> {
        let text = match &message.parts.first()?.kind {
            PartKind::Text { text, .. } => text,
            _ => return None,
        };
        // Most formats give a summary back as a message of the user: the prefix tells it.
        let told = text.strip_prefix(PREFIX).filter(|_| message.role == Role::User);
        let entry = message.is_entry_of(EntryKind::Summary).then_some(text.as_str());
        told.or(entry).map(str::trim_start)
    }

    /// What is to be summarized: the messages up to the cut, and the earlier summary if it goes apart.
    fn folded(
        &self,
        context: &StageContext<'_>,
        at: usize,
        previous: &mut Option<String>,
    ) -> Vec<Arc<Message>> {
        let mut messages = Vec::with_capacity(at);
        for shown in context.shown().take(at) {
            let earlier = self.earlier(shown.message);
            if self.0.previous_apart && messages.is_empty() && earlier.is_some() {
                *previous = earlier.map(str::to_owned);
                continue;
            }
            let (limit, calls) = (self.0.message_bytes.get(), self.0.show_calls);
            let message = shown.to_shared();
            messages.push(if request::fits(&message, limit, calls) {
                message
            } else {
                Arc::new(request::cut(Message::clone(&message), limit, calls))
            });
        }
        messages
    }

    /// What leads the view: the summary, or a note that there is none.
    fn lead(
        &self,
        context: &StageContext<'_>,
        summary: Option<&Summary>,
        first: Role,
    ) -> Option<Insert> {
        let hidden_note = &self.0.hidden_note;
        let (kind, origin, text) = match summary {
            Some(summary) => {
                ("summary", EntryKind::Summary, format!("{PREFIX}\n\n{}", summary.text))
            }
            None if first != Role::User && !hidden_note.is_empty() => {
                ("boundary", EntryKind::Boundary, hidden_note.clone())
            }
            None => return None,
        };
        Some(Insert::new(context.services.ids.next(kind), Role::User, text, origin))
    }
}

impl Filter for Split {
    fn propose<'a>(&'a self, context: &'a StageContext<'_>) -> Result<Proposal<'a>, Why> {
        let Cut { at, reason } = self.cut(context)?;
        let mut previous = None;
        let messages = || self.folded(context, at, &mut previous);
        let budget = self.room(context).summary;
        let request = context.summary("summary", "window.compact", messages, budget);
        let request = SummaryRequest { previous, ready: self.notes(context), ..request };
        Ok(Proposal::summary(request, reason, move |summary| {
            let first =
                context.places().get(at).map_or(Role::User, |place| context.message(*place).role);
            let lead = self.lead(context, summary, first);
            let size = lead.as_ref().filter(|_| summary.is_some()).map_or(0, |lead| {
                context.estimator().count(&Message::user("", lead.text())).total()
            });
            let folded = context.places().iter().take(at).map(|place| context.tokens(*place)).sum();
            if size >= folded && summary.is_some() {
                let why = format!("the summary takes {size} tokens and would replace {folded}");
                return Err(Why::new("no-gain", why));
            }
            let mut slots: Vec<Slot> = lead.map(Slot::Insert).into_iter().collect();
            slots.extend(kept(context, at));
            Ok(Arrangement {
                layout: Layout { slots, tail_from: context.history.len() },
                ..Arrangement::default()
            })
        }))
    }
}
