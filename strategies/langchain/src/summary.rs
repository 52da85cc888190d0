//! `langchain.summary`: what LangChain's `SummarizationMiddleware` keeps, and what it has summarized.
//!
//! The units are the messages of the view, so the summary of an earlier fold is the first of them and goes into the next one. Of
//! the messages that go only the last few thousand tokens are summarized, from a message of the user on.

use foldback_core::config::Share;
use foldback_core::log::{EntryKind, Message, Part, PartKind, Role};
use foldback_core::outcome::Why;
use foldback_core::plan::{Insert, Layout, Slot};
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::{Arrangement, Filter, Proposal, StageContext, Summary, SummaryRequest};
use foldback_stages::split::{kept, move_off_groups, units};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::num::NonZeroU64;
use std::sync::Arc;

/// First line of the message that holds the summary; an empty line follows.
const PREFIX: &str = "[Summary of the conversation so far]";

/// What stands for a summary where the end of what goes has no message of the user.
const NOTHING_LEFT: &str = "The earlier messages were too long to be summarized.";

/// Configuration of [`Recent`].
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecentConfig {
    /// Messages that stay, counted from the newest, unless tokens or a share are given.
    pub keep_messages: usize,
    /// Tokens of the newest messages that stay; 0: not by tokens.
    #[serde(default)]
    pub keep_tokens: u64,
    /// Share of the largest request that the model takes, for the newest messages; unset: not by a share.
    pub keep_fraction: Option<Share>,
    /// Whether the cut moves back until no call is parted from a result; the original looks at the first kept message alone.
    pub whole_groups: bool,
    /// Whether nothing is folded that would not get smaller.
    pub only_smaller: bool,
    /// The summarizer sees only the last this many tokens of the messages that go; 0 shows all of them.
    pub trim_tokens: u64,
    /// Largest acceptable summary in tokens.
    pub summary_tokens: NonZeroU64,
}

impl StageConfig<dyn Filter> for RecentConfig {
    fn build(self) -> Result<Arc<dyn Filter>, Invalid> {
        Ok(Arc::new(Recent(self)))
    }
}

/// A summary replaces all but the newest messages.
#[derive(Clone, Debug)]
pub struct Recent(RecentConfig);

impl Recent {
    /// Tokens that the kept messages may take, where they are counted by tokens.
    fn budget(&self, context: &StageContext<'_>) -> Option<u64> {
        let ceiling = context.limits.request_ceiling();
        let share = self.0.keep_fraction.zip(ceiling);
        let share = share.map(|(share, ceiling)| share.floor_of(ceiling).max(1));
        share.or(Some(self.0.keep_tokens).filter(|tokens| *tokens > 0))
    }

    /// Index of the first message that stays.
    fn cut(&self, context: &StageContext<'_>) -> Result<usize, Why> {
        let places = context.places();
        let wanted = match self.budget(context) {
            None => places.len().saturating_sub(self.0.keep_messages),
            Some(budget) => by_tokens(context, budget),
        };
        let safe = off_results(context, wanted);
        let at = match self.0.whole_groups {
            true => move_off_groups(&units(context), safe),
            false => safe,
        };
        let why = || Why::new("all-fits", format!("{} messages, all of which stay", places.len()));
        if at == 0 { Err(why()) } else { Ok(at) }
    }

    /// The end of what goes, from a message of the user on.
    fn trimmed(&self, context: &StageContext<'_>, at: usize) -> Vec<Arc<Message>> {
        let shown: Vec<_> = context.shown().take(at).collect();
        let size = |index: usize| context.tokens(context.places()[index]);
        if self.0.trim_tokens == 0 {
            return shown.iter().map(|shown| shown.to_shared()).collect();
        }
        // A system message at the very front is kept apart.
        let front = shown.first().filter(|first| first.message.role == Role::System);
        let first = usize::from(front.is_some());
        let apart = front.map_or(0, |_| size(0));
        let mut left = self.0.trim_tokens.saturating_sub(apart);
        let mut from = at;
        while from > first && size(from - 1) <= left {
            from -= 1;
            left -= size(from);
        }
        let mut end: Vec<Arc<Message>> =
            shown[from..].iter().map(|shown| shown.to_shared()).collect();
        if from > first
            && let Some(part) = last_lines(context, &shown[from - 1].to_shared(), left)
        {
            end.insert(0, Arc::new(part));
        }
        let skipped = end.iter().take_while(|message| message.role != Role::User).count();
        end.drain(..skipped);
        front.map(|front| front.to_shared()).into_iter().chain(end).collect()
    }
}

/// Index of the longest end within a budget; the last message stays whatever its size.
fn by_tokens(context: &StageContext<'_>, budget: u64) -> usize {
    let places = context.places();
    let mut sum = 0;
    let within = places.iter().rev().take_while(|place| {
        sum += context.tokens(**place);
        sum <= budget
    });
    (places.len() - within.count()).min(places.len().saturating_sub(1))
}

/// Moves a cut that is at a tool result back to the answer that called for it, else behind all results there.
fn off_results(context: &StageContext<'_>, cut: usize) -> usize {
    let places = context.places();
    let message = |at: usize| context.message(places[at]);
    let results = (cut..places.len()).take_while(|at| message(*at).role == Role::Tool).count();
    if results == 0 {
        return cut;
    }
    let of_results = |at: usize| message(at).parts.iter().filter_map(Part::as_result);
    let ids: BTreeSet<&str> =
        (cut..cut + results).flat_map(of_results).map(|result| &*result.call_id).collect();
    let calls = |at: &usize| message(*at).call_ids().any(|id| !id.is_empty() && ids.contains(id));
    (0..cut).rev().find(calls).unwrap_or(cut + results)
}

/// The last lines of a message of the user that fit.
fn last_lines(context: &StageContext<'_>, message: &Message, left: u64) -> Option<Message> {
    if message.role != Role::User {
        // It would be left out: what is summarized begins with the user.
        return None;
    }
    let texts = message.parts.iter().filter_map(|part| match &part.kind {
        PartKind::Text { text, ignored: false, .. } => Some(text.as_str()),
        _ => None,
    });
    let text: String = texts.collect();
    let lines = text.match_indices('\n').map(|(at, end)| at + end.len());
    let with = |from: usize| message.with_parts(vec![Part::text(&text[from..])]);
    let mut starts = std::iter::once(0).chain(lines).filter(|_| !text.is_empty());
    let from = starts.find(|from| context.estimator().count(&with(*from)).total() <= left)?;
    Some(with(from))
}

impl Filter for Recent {
    fn propose<'a>(&'a self, context: &'a StageContext<'_>) -> Result<Proposal<'a>, Why> {
        let at = self.cut(context)?;
        let budget = self.0.summary_tokens.get();
        let request =
            context.summary("summary", "langchain.summary", || self.trimmed(context, at), budget);
        let nothing = context.summarised && request.messages.is_empty();
        let ready = nothing.then(|| Summary {
            text: NOTHING_LEFT.to_owned(),
            tokens: context.estimator().text(NOTHING_LEFT),
            by: "none".to_owned(),
            usage: None,
            lacks: None,
        });
        let request = SummaryRequest { ready, ..request };
        let count = context.places().len();
        let reason = format!("keeps the last {} of {count} messages", count - at);
        Ok(Proposal::summary(request, reason, move |summary| {
            let summary = summary.map(|summary| {
                let text = format!("{PREFIX}\n\n{}", summary.text);
                let id = context.services.ids.next("summary");
                Insert::new(id, Role::User, text, EntryKind::Summary)
            });
            let gone: u64 = context.places()[..at].iter().map(|place| context.tokens(*place)).sum();
            let new = summary.as_ref().map_or(0, |one| context.meter.measure(one.message()));
            if self.0.only_smaller && new >= gone {
                let why = format!("{gone} tokens would go, and a summary of {new} would come");
                return Err(Why::new("no-gain", why));
            }
            let mut slots: Vec<Slot> = summary.into_iter().map(Slot::Insert).collect();
            slots.extend(kept(context, at));
            Ok(Arrangement {
                layout: Layout { slots, tail_from: context.history.len() },
                ..Arrangement::default()
            })
        }))
    }
}
