//! The one driver: holds a history, the folds over it and a strategy, and is called at the moments.
//!
//! An agent loop and the replay laboratory drive this same type, so what a researcher measures is
//! what an agent runs.
//!
//! ```text
//! append(message)            the log grows
//! at(moment, signals)        the strategy may fold; every stage that ran gives a report
//! sent()                     the messages to send
//! undo()                     undoes the last fold
//! ```

mod breaker;
mod commit;
mod contain;
mod late;
mod pipeline;
mod replay;
mod report;

pub use crate::plan::FoldId;
pub use breaker::Breaker;
pub use commit::{CommitError, Fold};
pub use contain::panic_text;
pub use replay::ReplayError;
pub use report::{Report, Signals, StageRole};

use crate::carry::{Pins, invented};
use crate::counters::Counters;
use crate::event::Event;
use crate::fold_stats::{FoldStats, RepeatedCalls};
use crate::frame::Frame;
use crate::history::History;
use crate::limits::Limits;
use crate::log::{EntryKind, Message, Role, ToolCall};
use crate::meter::{LastText, Meter, MeterId};
use crate::outcome::Why;
use crate::plan::Revision;
use crate::provider::Model;
use crate::services::Services;
use crate::stage::{AnsweredViews, CachePrices, Estimator, UsageReading};
use crate::strategy::Strategy;
use crate::view::{EditKind, PartEdit, PartPos, Pos, ShownMessage, Stored, View};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A conversation and the strategy that keeps it small.
#[derive(Clone, Debug)]
pub struct Conversation {
    strategy: Arc<Strategy>,
    services: Services,
    limits: Limits,
    model: Option<String>,
    frame: Frame,
    history: History,
    view: View,
    meters: Vec<Meter>,
    /// Which of them counts in the policy's own unit.
    units: Option<MeterId>,
    folds: Vec<Fold>,
    next_fold: FoldId,
    revision: Revision,
    counters: Counters,
    /// Answers of the model so far.
    answers: u64,
    /// Length of the log, and answers in it, when the last automatic fold was committed.
    folded_at: Option<(usize, u64)>,
    breaker: Breaker,
    /// Why the newest automatic fold with a summary was not committed, if none with one was since.
    refused: Option<Why>,
    automatic: bool,
    /// Whether a panic of a stage is a failure of it.
    contained: bool,
    /// Usage of the last answer, until the next one or a fold that changes what is sent as a whole.
    usage: Option<UsageReading>,
    /// Messages that are pinned as a whole.
    pinned: BTreeSet<Pos>,
    pins: Pins,
    fold_stats: Vec<FoldStats>,
    /// Tokens of the view at each answer since the last fold, by the strategy's estimator.
    answered_views: AnsweredViews,
    prices: Option<CachePrices>,
    /// Which of the fold_stats are of folds in force, oldest first.
    stats_in_force: Vec<usize>,
    repeated_calls: RepeatedCalls,
}

impl Conversation {
    /// An empty conversation.
    pub fn new(strategy: Arc<Strategy>, limits: Limits, frame: Frame, services: Services) -> Self {
        let unit = strategy.overflow.as_ref().and_then(|policy| policy.stage.unit());
        let units = unit.as_ref().map(|_| MeterId(strategy.estimators.len()));
        let estimators = strategy.estimators.iter().cloned().chain(unit);
        let mut meters: Vec<Meter> = estimators.map(Meter::new).collect();
        for meter in &mut meters {
            meter.set_frame(&frame);
        }
        Self {
            strategy,
            services,
            limits,
            model: None,
            frame,
            history: History::default(),
            view: View::default(),
            meters,
            units,
            folds: Vec::new(),
            next_fold: 1,
            revision: 0,
            counters: Counters::default(),
            answers: 0,
            folded_at: None,
            breaker: Breaker::default(),
            refused: None,
            automatic: true,
            contained: false,
            usage: None,
            pinned: BTreeSet::new(),
            pins: Pins::default(),
            fold_stats: Vec::new(),
            answered_views: AnsweredViews::default(),
            prices: None,
            stats_in_force: Vec::new(),
            repeated_calls: RepeatedCalls::default(),
        }
    }

    /// Names the model, for policies that depend on it.
    #[must_use]
    pub fn with_model(mut self, model: Option<String>) -> Self {
        self.model = model;
        self
    }

    /// Adds a meter that counts along without taking part in any decision, and returns its id.
    /// Must be called before the first message.
    #[doc(hidden)]
    pub fn add_meter(&mut self, estimator: Arc<dyn Estimator>) -> MeterId {
        let mut meter = Meter::new(estimator);
        meter.set_frame(&self.frame);
        for (_, message) in self.history.iter() {
            meter.append(message);
        }
        self.meters.push(meter);
        MeterId(self.meters.len() - 1)
    }

    /// Appends a message to the log (or an entry that was loaded with a stored history).
    pub fn append(&mut self, message: impl Into<Arc<Message>>) -> Pos {
        let message = message.into();
        if message.is_answer() {
            self.answered_views.push(self.meters[0].view_tokens());
        }
        for meter in &mut self.meters {
            meter.append(&message);
        }
        let pos = self.history.append(Arc::clone(&message));
        if message.is_answer() {
            self.usage = None;
            self.answers += 1;
            self.record_answer(pos, &message);
        }
        if message.is_entry() {
            self.services.ids.taken(&message.id);
        } else if message.role == Role::User {
            self.close_breaker();
        }
        self.pins.read(pos, &message, &self.strategy.carry.pins);
        self.view.append(pos);
        self.reunite(pos);
        self.revision += 1;
        pos
    }

    /// Records an answer, and which of its calls ask again for what the view no longer shows.
    fn record_answer(&mut self, pos: Pos, answer: &Message) {
        let mut missed = 0;
        for call in answer.parts.iter().filter_map(|part| part.as_call()) {
            let before = self.repeated_calls.again(call, pos);
            missed += u64::from(before.is_some_and(|before| self.is_reduced(before, call)));
        }
        if let Some(fold) = self.newest_stats() {
            fold.answers += 1;
            fold.missed += missed;
        }
    }

    /// Whether the view shows less of the result of a call like this one, made at `pos`, than came.
    fn is_reduced(&self, pos: Pos, call: &ToolCall) -> bool {
        let made = self.history.message(pos).parts.iter();
        let mut same = made
            .filter_map(|part| part.as_call())
            .filter(|made| made.tool == call.tool && made.arguments == call.arguments);
        let Some(made) = same.next_back() else {
            return false;
        };
        let mut results = self.history.results_of(pos, &made.call_id);
        let reduced = |item: Pos| !self.view.is_visible(item) || self.view.has_edit(item);
        results.any(reduced)
    }

    /// What the newest fold in force brings: what happens now happens after it.
    fn newest_stats(&mut self) -> Option<&mut FoldStats> {
        let index = *self.stats_in_force.last()?;
        self.fold_stats.get_mut(index)
    }

    /// Records that the model had something given back that a fold had taken: what it missed.
    pub fn note_recall(&mut self) {
        if let Some(fold) = self.newest_stats() {
            fold.missed += 1;
        }
    }

    /// What the folds brought and cost so far, oldest first; folds that were taken back included, with
    /// what they had come to until then.
    pub fn fold_stats(&self) -> &[FoldStats] {
        &self.fold_stats
    }

    /// Keeps a message in the view, word for word, whatever is folded: its content is not edited, and
    /// where a fold would hide it, it is [carried over](crate::carry). One that is hidden or edited
    /// already is carried over by the next fold. `false` where there is no such message, or it is pinned
    /// already.
    pub fn pin(&mut self, pos: Pos) -> bool {
        let pinned = self.history.get(pos).is_some() && self.pinned.insert(pos);
        // A plan that was made before may edit or hide it.
        self.revision += u64::from(pinned);
        pinned
    }

    /// Lets folds have a message again.
    pub fn unpin(&mut self, pos: Pos) -> bool {
        let unpinned = self.pinned.remove(&pos);
        self.revision += u64::from(unpinned);
        unpinned
    }

    /// Keeps a text in the view, word for word, that a message says: the newest that does. It is carried over where a fold would
    /// hide the message. `false` where none says it. Users [pin by marks](crate::carry::Pins) in their messages.
    pub fn pin_text(&mut self, text: &str) -> bool {
        let text = text.trim();
        let mut messages = self.history.iter().rev();
        let says = |message: &Message| message.parts.iter().any(|part| part.shown().contains(text));
        let Some((pos, _)) = messages.find(|(_, message)| !message.is_entry() && says(message))
        else {
            return false;
        };
        let pinned = self.pins.add(pos, text);
        self.revision += u64::from(pinned);
        pinned
    }

    /// Lets folds have a text again, whoever pinned it, or all texts that begin so.
    pub fn unpin_text(&mut self, text: &str) -> bool {
        let unpinned = self.pins.remove(text);
        self.revision += u64::from(unpinned);
        unpinned
    }

    /// The texts that are pinned.
    pub fn pins(&self) -> &Pins {
        &self.pins
    }

    /// The messages that are pinned as a whole.
    pub fn pinned(&self) -> &BTreeSet<Pos> {
        &self.pinned
    }

    /// Switches everything automatic off or on again; a person can still compact. For agents whose
    /// context is managed elsewhere.
    pub fn set_automatic(&mut self, on: bool) {
        self.automatic = on;
    }

    /// Other limits, for an agent that changes its model.
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
        self.close_breaker();
    }

    /// Another model, for an agent that changes it. Its limits are set [apart](Self::set_limits).
    pub fn set_model(&mut self, model: Option<String>) {
        self.model = model;
    }

    /// What the model's prompt cache costs, for policies that depend on it.
    pub fn set_prices(&mut self, prices: Option<CachePrices>) {
        self.prices = prices;
    }

    /// Another model that stages may ask for summaries, or none.
    pub fn set_asked(&mut self, model: Option<Arc<dyn Model>>) {
        self.services.model = model;
    }

    /// Another frame, for an agent whose system prompt or tools change.
    pub fn set_frame(&mut self, frame: Frame) {
        for meter in &mut self.meters {
            meter.set_frame(&frame);
        }
        self.frame = frame;
    }

    /// Whether and why automatic compaction is held back.
    pub fn breaker(&self) -> Breaker {
        self.breaker
    }

    /// Whether the model had ended its turn when the log was last appended to. It is not prompted to continue
    /// then.
    pub fn has_finished(&self) -> bool {
        self.last_logged().is_some_and(|message| message.is_final_answer())
    }

    /// When [`Moment::Idle`](crate::moment::Moment::Idle) comes if nothing is appended before, in milliseconds; `None` if no stage
    /// waits for it, or the model has not finished.
    pub fn idle_at(&self) -> Option<i64> {
        self.strategy.idle_at(self.last_logged()?)
    }

    fn last_logged(&self) -> Option<&Arc<Message>> {
        let mut log = self.history.iter().rev().map(|(_, message)| message);
        log.find(|message| !message.is_entry())
    }

    /// Takes over a mark that the recorder had made on a part, as if a fold before the first had made it.
    #[doc(hidden)]
    pub fn mark_cleared(&mut self, at: PartPos, placeholder: Arc<str>, time: i64) {
        let edit = PartEdit { kind: EditKind::Clear, text: placeholder, at: time };
        for meter in &mut self.meters {
            let shown = Some((edit.kind, &*edit.text));
            meter.edit(&self.history, &self.view, at, shown, &mut LastText::default());
        }
        self.view.set_edit(at, Some(edit));
        self.revision += 1;
    }

    /// Takes over that an automatic fold was made after what was appended up to now.
    #[doc(hidden)]
    pub fn mark_folded(&mut self) {
        self.folded_at = Some((self.history.log_len(), self.answers));
    }

    /// Puts in force what a stored history says about its own folds, once it was appended whole.
    #[doc(hidden)]
    pub fn restore(&mut self) {
        let Some(filter) = self.strategy.filter.clone() else {
            return;
        };
        let context = self.context(crate::moment::Moment::Manual, filter.meter);
        if let Some(layout) = filter.stage.restore(&context) {
            self.lay_out(Some(layout));
            self.reunite(0);
            self.revision += 1;
        }
    }

    /// The strategy.
    pub fn strategy(&self) -> &Arc<Strategy> {
        &self.strategy
    }

    /// The limits in force.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// What is sent around the history.
    pub fn frame(&self) -> &Frame {
        &self.frame
    }

    /// Log and entries in stored order.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// What the model would be sent, as an overlay.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// The counts of an estimator: the strategy's own, that of a single stage, or one that was added.
    #[doc(hidden)]
    pub fn meter(&self, id: MeterId) -> &Meter {
        &self.meters[id.0]
    }

    /// Tokens of frame and view by the strategy's own estimator.
    pub fn tokens(&self) -> u64 {
        let own = self.meter(MeterId::OWN);
        own.frame_tokens() + own.view_tokens()
    }

    /// Counts of folds and prunings so far.
    #[doc(hidden)]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The folds in force, oldest first.
    pub fn folds(&self) -> &[Fold] {
        &self.folds
    }

    /// Prohibitions in the summaries in view that have names of which neither the user nor the frame says any.
    pub fn invented(&self) -> Vec<String> {
        let shown = self.view.places().iter().map(|at| self.view.message(&self.history, *at));
        let summaries = shown.filter(|message| message.is_entry_of(EntryKind::Summary));
        let log = || self.history.iter().map(|(_, message)| &**message);
        let found = summaries.flat_map(|it| invented(&it.shown_text(), &self.frame, log()));
        found.collect()
    }

    /// The number that the next fold will have.
    pub(crate) fn next_fold(&self) -> FoldId {
        self.next_fold
    }

    /// The state: every append, commit, undo and pin moves it.
    #[doc(hidden)]
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Clock, ids, hooks.
    pub fn services(&self) -> &Services {
        &self.services
    }

    /// The same, to be exchanged: a copy that goes on by itself needs a clock and ids of its own.
    #[doc(hidden)]
    pub fn services_mut(&mut self) -> &mut Services {
        &mut self.services
    }

    /// What the model would be sent, message by message.
    pub fn sent(&self) -> Vec<ShownMessage<'_>> {
        self.view.places().iter().map(|place| self.view.show(&self.history, *place)).collect()
    }

    /// The whole history with its edits, hidden messages included.
    #[doc(hidden)]
    pub fn stored(&self) -> Vec<Stored<'_>> {
        self.history
            .iter()
            .map(|(pos, _)| Stored {
                shown: self.view.show_item(&self.history, pos),
                visible: self.view.is_visible(pos),
            })
            .collect()
    }

    fn emit_entry(&self, kind: EntryKind, id: &str) {
        self.services.emit(&Event::Entry { kind, id: id.to_owned() });
    }
}
