//! What a stage may read.

use super::{
    AnsweredViews, CachePrices, Decision, Estimator, Pressure, SummaryRequest, UsageReading,
};
use crate::delta::{Cursor, ViewDelta};
use crate::fold_stats::FoldStats;
use crate::frame::Frame;
use crate::history::History;
use crate::limits::Limits;
use crate::log::{Message, Origin, Role};
use crate::meter::{LastText, Meter};
use crate::moment::{Moment, Trigger};
use crate::outcome::Why;
use crate::plan::Edit;
use crate::services::Services;
use crate::view::{EditKind, PartPos, Place, Pos, ShownMessage, View};
use std::borrow::Cow;
use std::sync::Arc;

/// A conversation at one moment, as a stage sees it: everything up to now and nothing after.
#[derive(Clone, Copy, Debug)]
pub struct StageContext<'a> {
    /// When.
    pub moment: Moment,
    /// Who asked.
    pub trigger: Trigger,
    /// Log and entries in stored order.
    pub history: &'a History,
    /// What the model would be sent now.
    pub view: &'a View,
    /// Token counts under the stage's estimator (its own, where the configuration gives it one).
    pub meter: &'a Meter,
    /// What is sent around the history.
    pub frame: &'a Frame,
    /// Limits of the model.
    pub limits: Limits,
    /// Id of the model, where known.
    pub model: Option<&'a str>,
    /// Usage of the last answer, where known.
    pub usage: Option<UsageReading>,
    /// What the folds so far brought and cost, oldest first.
    pub fold_stats: &'a [FoldStats],
    /// Tokens of the view at each answer since the last fold, by the strategy's estimator.
    pub answered_views: &'a AnsweredViews,
    /// Prices of the model's prompt cache, where known.
    pub prices: Option<CachePrices>,
    /// What the policy decided, for stages that run because of it.
    pub decision: Option<&'a Decision>,
    /// Tokens that the prunings which prepare this fold have taken off the view since, by the strategy's estimator.
    pub cleared: u64,
    /// Whether the summaries that a filter requests are written.
    pub summarised: bool,
    /// Why the newest automatic fold with a summary was not committed, if none with one was since: for filters that
    /// then do with less.
    pub refused: Option<&'a Why>,
    /// Instructions for the summary, from a person or a hook.
    pub instructions: &'a [String],
    /// Clock, ids and readers.
    pub services: &'a Services,
}

impl<'a> StageContext<'a> {
    /// Now, by the injected clock, in milliseconds since the Unix epoch.
    pub fn now(&self) -> i64 {
        self.services.clock.now()
    }

    /// The stage's estimator.
    pub fn estimator(&self) -> &'a Arc<dyn Estimator> {
        self.meter.estimator()
    }

    /// What changed since a stage last looked, for stages that follow one conversation; without folds.
    pub fn delta(&self, since: &mut Cursor) -> ViewDelta {
        ViewDelta::since(self.history, self.view, since)
    }

    /// The messages of the view, in order, with their edits.
    pub fn shown(&self) -> impl DoubleEndedIterator<Item = ShownMessage<'a>> + use<'a> {
        let (history, view) = (self.history, self.view);
        view.places().iter().map(move |place| view.show(history, *place))
    }

    /// The places of the view, in order.
    pub fn places(&self) -> &'a [Place] {
        self.view.places()
    }

    /// The messages of the history that the view shows, in its order; what folds inserted is not among them.
    pub fn items(&self) -> impl DoubleEndedIterator<Item = Pos> + use<'a> {
        self.places().iter().filter_map(|place| match place {
            Place::Item(pos) => Some(*pos),
            Place::Insert(_) => None,
        })
    }

    /// The message at a place.
    pub fn message(&self, place: Place) -> &'a Arc<Message> {
        self.view.message(self.history, place)
    }

    /// Tokens of the message at a place as it is shown now.
    pub fn tokens(&self, place: Place) -> u64 {
        self.meter.shown(place)
    }

    /// Tokens of the view.
    pub fn view_tokens(&self) -> u64 {
        self.meter.view_tokens()
    }

    /// Tokens of the frame.
    pub fn frame_tokens(&self) -> u64 {
        self.meter.frame_tokens()
    }

    /// What a policy without a unit of its own decides on.
    pub fn pressure(&self) -> Pressure<'a> {
        Pressure {
            view_tokens: self.meter.view_tokens(),
            frame_tokens: self.meter.frame_tokens(),
            usage: self.usage,
            since_answer: self.since_answer(),
            view_at_step: self.meter.view_at_step(),
            model: self.model,
            idle_ms: self.idle_ms(),
            cached_for: self.cached_for(),
            fold_stats: self.fold_stats,
            answered_views: self.answered_views,
            prices: self.prices,
            ..Pressure::at(self.moment, self.limits)
        }
    }

    /// Tokens of what the view shows after the last answer.
    fn since_answer(&self) -> u64 {
        let is_answer = |place: &Place| match place {
            Place::Item(pos) => {
                let kind = self.history.kind(*pos);
                kind.role == Role::Assistant && kind.origin == Origin::Log
            }
            Place::Insert(_) => false,
        };
        let newest = self.places().iter().rev().take_while(|place| !is_answer(place));
        newest.map(|place| self.tokens(*place)).sum()
    }

    fn last_answer(&self) -> Option<(Pos, &'a Arc<Message>)> {
        self.history.iter().rev().find(|(_, message)| message.is_answer())
    }

    /// Milliseconds since the last answer.
    fn idle_ms(&self) -> Option<u64> {
        let (last, _) = self.last_answer()?;
        let answered = self.history.time(last)?;
        u64::try_from(self.now().saturating_sub(answered)).ok()
    }

    /// Seconds that most of what was written to the cache at the last answer is kept.
    fn cached_for(&self) -> Option<u64> {
        let told = self.usage.map(|reading| reading.usage);
        // What a replay estimates after a fold tells nothing of the cache.
        let recorded = || self.last_answer()?.1.answer.as_ref()?.usage?.cached_for();
        told.and_then(|usage| usage.cached_for()).or_else(recorded)
    }

    /// A request for a summary: without an earlier one, with the instructions that were given, in tokens of the stage's estimator.
    /// Its messages are gathered only where somebody writes the summary.
    pub fn summary(
        &self,
        name: &str,
        style: &str,
        messages: impl FnOnce() -> Vec<Arc<Message>>,
        budget: u64,
    ) -> SummaryRequest {
        SummaryRequest {
            name: name.to_owned(),
            style: style.to_owned(),
            messages: if self.summarised { messages() } else { Vec::new() },
            previous: None,
            instructions: self.instructions.to_vec(),
            budget,
            estimator: Arc::clone(self.estimator()),
            ready: None,
        }
    }

    /// An edit of one part, with tokens before and after under the stage's estimator.
    pub fn edit(
        &self,
        item: Pos,
        part: usize,
        kind: EditKind,
        text: Arc<str>,
        reason: impl Into<Cow<'static, str>>,
    ) -> Edit {
        let at = PartPos { item, part };
        let before = self.meter.part_shown(at);
        let after = self.meter.part_with(self.history, at, &text, &mut LastText::default());
        Edit { at, kind, text, reason: reason.into(), before, after }
    }

    /// Clears parts: the same placeholder in the place of each.
    pub fn clear(
        &self,
        parts: impl IntoIterator<Item = PartPos>,
        placeholder: &Arc<str>,
        reason: &'static str,
    ) -> Vec<Edit> {
        let mut last = LastText::default();
        let edit = |at| Edit {
            at,
            kind: EditKind::Clear,
            text: Arc::clone(placeholder),
            reason: Cow::Borrowed(reason),
            before: self.meter.part_shown(at),
            after: self.meter.part_with(self.history, at, placeholder, &mut last),
        };
        parts.into_iter().map(edit).collect()
    }
}
