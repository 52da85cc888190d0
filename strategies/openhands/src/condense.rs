//! `openhands.condense`: which events the condenser of the OpenHands SDK forgets, and where their summary stands.
//!
//! The first events stay, and at the end about half of the limit that was passed; with several reasons the least that any of them
//! leaves. Both ends of what goes move forward to the next place where the view may be cut. Where that leaves nothing worth a summary,
//! a limit of events is let go until the next call. A limit of tokens, a refusal and a person's request are not: everything after the
//! system prompt goes then.

use crate::events::Events;
use crate::pressure::Caps;
use crate::preview::preview;
use foldback_core::config::Share;
use foldback_core::log::{EntryKind, Role};
use foldback_core::moment::{Moment, Trigger};
use foldback_core::outcome::Why;
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::{Filter, Proposal, StageContext};
use foldback_stages::filter::{Spoken, arranged, entry};
use schemars::JsonSchema;
use serde::Deserialize;
use std::num::NonZeroU64;
use std::ops::Range;
use std::sync::Arc;

/// Configuration of [`Condense`]. The limits are those of the policy.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CondenseConfig {
    /// Events above which half of so many are left, the summary among them.
    pub max_size: u64,
    /// Tokens above which half of so many are left; 0: none.
    #[serde(default)]
    pub max_tokens: u64,
    /// Whether the largest request that the model takes is such a limit, too.
    pub window: bool,
    /// Events at the beginning that stay, the system prompt among them.
    pub keep_first: u64,
    /// Share of the events that has to go for a summary to be worth it.
    pub minimum_progress: Share,
    /// Whether all results of a call stay with it and calls that never got one are not waited for; the original looks for the first result.
    pub whole_groups: bool,
    /// Characters of each event that the summarizer sees; 0 shows whole events.
    pub preview: usize,
    /// Largest acceptable summary in tokens.
    pub summary_tokens: NonZeroU64,
}

impl StageConfig<dyn Filter> for CondenseConfig {
    fn build(self) -> Result<Arc<dyn Filter>, Invalid> {
        if self.keep_first.saturating_add(1) >= self.max_size / 2 {
            let rule = "must be less than half of `max_size` by 2: nothing could go otherwise";
            return Err(Invalid::new("keep_first", rule));
        }
        if self.minimum_progress == Share::WHOLE {
            return Err(Invalid::new("minimum_progress", "must be below 1: the first event stays"));
        }
        Ok(Arc::new(Condense(self)))
    }
}

/// A summary stands for the events between the first ones and the end.
#[derive(Clone, Debug)]
pub struct Condense(CondenseConfig);

/// What goes.
struct Forgotten {
    events: Range<usize>,
    reason: String,
}

impl Condense {
    /// How many events stay at the end, and whether that can't wait.
    fn kept_at_end(&self, context: &StageContext<'_>, events: &Events) -> (i64, bool) {
        let CondenseConfig { max_size, max_tokens, window, keep_first, .. } = self.0;
        let size = events.len() as u64;
        let tokens = context.frame_tokens() + context.view_tokens();
        let cap = Caps { max_size, max_tokens, window }.tokens(context.limits);
        let cap = cap.filter(|cap| tokens > *cap);
        let asked =
            context.trigger == Trigger::Manual || context.moment == Moment::ProviderOverflow;
        // A policy of another kind asks as a person does.
        let asked = asked || (cap.is_none() && size <= max_size);
        let of_size = |target: u64| (target / 2) as i64 - keep_first as i64 - 1;
        let by_tokens = |cap: u64| {
            let rest = events.tokens().skip(keep_first as usize);
            let (mut gone, mut sum) = (0, 0);
            for one in rest {
                gone += 1;
                sum += one;
                if sum > tokens - cap / 2 {
                    break;
                }
            }
            (size as i64 - keep_first as i64).max(0) - gone
        };
        let reasons = [
            asked.then(|| of_size(size)),
            (size > max_size).then(|| of_size(max_size)),
            cap.map(by_tokens),
        ];
        (reasons.into_iter().flatten().min().unwrap_or(0), asked || cap.is_some())
    }

    fn forgotten(&self, context: &StageContext<'_>, events: &Events) -> Result<Forgotten, Why> {
        let size = events.len();
        let (kept, pressing) = self.kept_at_end(context, events);
        let cuts = events.cuts(context, self.0.whole_groups);
        let next = |from: i64| {
            let from = usize::try_from(from).unwrap_or(0);
            (from..cuts.len()).find(|at| cuts[*at])
        };
        let first = next((self.0.keep_first as i64).max(1));
        let range = first.zip(next(size as i64 - kept)).map(|(first, end)| first..end);
        let worth = |range: &Range<usize>| {
            !range.is_empty()
                && range.len() as f64 >= size as f64 * self.0.minimum_progress.number()
        };
        if let Some(events) = range.filter(worth) {
            let reason = format!("forgets events {} to {} of {size}", events.start, events.end);
            return Ok(Forgotten { events, reason });
        }
        let open = events.waits_at(context).filter(|_| self.0.whole_groups);
        let all = 1..open.unwrap_or(size);
        if pressing && !all.is_empty() {
            let reason = format!("forgets all events but the first of {size}: no part could go");
            return Ok(Forgotten { events: all, reason });
        }
        let least = self.0.minimum_progress.number();
        let why = format!("no part of {size} events may go that makes up {least} of them");
        Err(Why::new("nothing-to-forget", why))
    }
}

impl Filter for Condense {
    fn propose<'a>(&'a self, context: &'a StageContext<'_>) -> Result<Proposal<'a>, Why> {
        let events = Events::from_context(context);
        let gone = self.forgotten(context, &events)?;
        let messages = || {
            let shown = events.shown(context, &gone.events).into_iter();
            shown.map(|message| preview(message, self.0.preview)).collect()
        };
        let request = context.summary(
            "summary",
            "openhands.condensation",
            messages,
            self.0.summary_tokens.get(),
        );
        let Range { start, end } = gone.events;
        Ok(Proposal::summary(request, gone.reason, move |summary| {
            let (start, end) = (events.message(start), events.message(end));
            let text = summary.map(|summary| summary.text.clone());
            let entries = text.map(|text| entry(context, Role::User, EntryKind::Summary, text));
            let entries = Vec::from_iter(entries);
            let written = context.history.len()..context.history.len() + entries.len();
            let Spoken { system, mut messages } = events.spoken;
            messages.splice(start..end, written);
            Ok(arranged(context, entries, system.into_iter().chain(messages)))
        }))
    }
}
