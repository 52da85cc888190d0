//! A conversation from request to request.

use super::identity::{self, Key};
use super::received::{Received, Sizes, frame_of};
use super::size;
use crate::journal::{Journal, JournalError, Point};
use foldback_core::conversation::{Conversation, FoldId, Report, Signals};
use foldback_core::log::{Answer, Message, PartKind, Role, Usage};
use foldback_core::meter::MeterId;
use foldback_core::moment::Moment;
use foldback_core::stage::{UsageReading, UsageSource};
use foldback_core::step::{Mark, Step, steps_behind};
use foldback_core::validity::{caused_by_strategy, validate};
use foldback_core::view::{Pos, ShownMessage};
use foldback_providers::prices::cache_prices;
use foldback_providers::wire::Dialect;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use thiserror::Error;

/// A conversation that is followed from request to request.
#[derive(Debug)]
pub struct Followed {
    pub(super) conversation: Conversation,
    /// Leading messages that are not the engine's.
    base: usize,
    /// The messages after them.
    log: Vec<Arc<Message>>,
    /// Where each is in the history.
    places: Vec<Pos>,
    /// The key after the last.
    key: Key,
    /// Steps that were taken.
    done: usize,
    /// The last message is an answer that no request has repeated yet, and the agent waits for its user.
    pub(super) waits: bool,
    /// The moment before the call that the last message waits for has been.
    called: bool,
    /// A place before which all steps were taken.
    mark: Mark,
    /// Tokens of the messages as they came.
    received: u64,
    /// Bytes that the first messages of the history take in memory, and how many of them.
    bytes: usize,
    weighed: usize,
    /// Bytes of folds, by how many there were and which one was the last.
    folds: ((usize, Option<FoldId>), usize),
    /// Tokens of the latest request: the recorded frame and the view.
    requested: u64,
    model: Option<String>,
    /// Where it is to be written, until it is.
    path: Option<PathBuf>,
    pub(super) journal: Option<Journal>,
    /// The fork, if summaries are asked for by one.
    pub(super) fork: Option<ForkState>,
}

/// The fork that asks for a summary.
#[derive(Debug)]
pub(super) enum ForkState {
    /// No summary is needed.
    Nothing,
    /// A fork was made.
    Made(Box<Fork>),
    /// The fork was taken to fold.
    Taken,
}

/// A fork of a conversation, just before a fold for which a model is to be asked.
#[derive(Debug)]
pub(super) struct Fork {
    pub(super) followed: Followed,
    /// A request was refused for its size.
    pub(super) refused: bool,
    /// What its journal held.
    pub(super) point: Option<Point>,
    /// It has folded: no model is to be asked.
    pub(super) folded: bool,
}

/// Why a request can't be sent as its view shows it.
#[derive(Debug, Error)]
pub enum Unsendable {
    /// The provider would refuse it, and would have taken it as it came.
    #[error("{0}")]
    Rule(&'static str),
}

fn changed(reports: &[Report]) -> bool {
    reports.iter().any(|report| report.outcome.changed())
}

/// Whether results of the newest answer are still to come.
fn awaits_results(log: &[Arc<Message>]) -> bool {
    let Some(newest) = log.iter().rposition(|message| message.is_answer()) else { return false };
    let behind = &log[newest + 1..];
    let parts = behind.iter().flat_map(|message| &message.parts);
    let given: HashSet<&str> = parts.filter_map(|part| Some(&*part.as_result()?.call_id)).collect();
    behind.iter().all(|message| message.role == Role::Tool)
        && log[newest].call_ids().any(|id| !given.contains(id))
}

/// The steps behind a mark in a log that goes on: no turn is at its end, even where the last words are the model's
/// own, and the step of an answer is open while its results come. Whether they are to come is the last that is given.
fn taken(mark: Mark, log: &[Arc<Message>]) -> (Vec<Step<'_>>, Mark, bool) {
    let (mut steps, mark) = steps_behind(mark, log);
    steps.pop_if(|step| matches!(step, Step::At(Moment::TurnEnd)));
    let awaits = awaits_results(log);
    if awaits {
        steps.pop_if(|step| matches!(step, Step::StepEnd { .. }));
        steps.pop_if(|step| matches!(step, Step::At(Moment::LengthStop)));
    }
    (steps, mark, awaits)
}

impl Followed {
    /// A conversation of which nothing was seen. A stage that panics is a compaction that failed.
    pub fn new(mut conversation: Conversation, base: usize, key: Key) -> Self {
        conversation.contain_panics();
        Self {
            conversation,
            base,
            log: Vec::new(),
            places: Vec::new(),
            key,
            done: 0,
            waits: false,
            called: false,
            mark: Mark::default(),
            received: 0,
            bytes: 0,
            weighed: 0,
            folds: ((0, None), 0),
            requested: 0,
            model: None,
            path: None,
            journal: None,
            fork: None,
        }
    }

    /// Writes the conversation to a journal from its first message on.
    pub fn written_to(mut self, path: Option<PathBuf>) -> Self {
        self.path = path;
        self
    }

    /// Restores a conversation from its journal. The moment before the call that its last message waits for is past.
    ///
    /// # Errors
    ///
    /// The journal is damaged, in use, or can't be read.
    pub fn restored(
        mut conversation: Conversation,
        base: usize,
        key: Key,
        path: &Path,
    ) -> Result<Self, JournalError> {
        let journal = Journal::open(path, &mut conversation)?;
        let mut restored = Self::new(conversation, base, key);
        let conversation = &restored.conversation;
        for (pos, message) in conversation.history().iter() {
            if message.is_entry() {
                continue;
            }
            restored.received += conversation.meter(MeterId::OWN).appended(pos);
            restored.key = identity::next(&restored.key, message);
            restored.places.push(pos);
            restored.log.push(Arc::clone(message));
        }
        let (steps, mark, awaits) = taken(Mark::default(), &restored.log);
        (restored.done, restored.mark, restored.called) = (steps.len(), mark, !awaits);
        restored.note_request();
        restored.journal = Some(journal);
        Ok(restored)
    }

    /// Writes what happened since the last time.
    ///
    /// # Errors
    ///
    /// The file can't be written. The next call tries again.
    pub fn record(&mut self) -> Result<(), JournalError> {
        match &mut self.journal {
            Some(journal) => journal.record(&self.conversation),
            None => Ok(()),
        }
    }

    /// Begins the journal of a conversation of which nothing was seen.
    fn begin_journal(&mut self) -> Result<(), JournalError> {
        if let Some(path) = self.path.take() {
            self.journal = Some(Journal::open(path, &mut self.conversation)?);
        }
        Ok(())
    }

    /// The engine.
    pub fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    /// The engine, to pin, to undo, to note that something was recalled. Messages come with [`take`](Self::take) alone.
    pub fn conversation_mut(&mut self) -> &mut Conversation {
        &mut self.conversation
    }

    /// Number of messages that were seen.
    fn seen(&self) -> usize {
        self.base + self.log.len()
    }

    /// Bytes that it takes in memory, by estimate: messages and what folds wrote, keys and rows, the frame and the
    /// model's name.
    pub fn bytes(&mut self) -> usize {
        let history = self.conversation.history();
        let new = history.range(self.weighed..history.len());
        self.bytes += new.map(|(_, message)| size::of_message(message)).sum::<usize>();
        self.weighed = history.len();
        let folds = self.conversation.folds();
        let now = (folds.len(), folds.last().map(|fold| fold.id));
        if self.folds.0 != now {
            self.folds = (now, size::of_folds(folds));
        }
        // The engine knows the model, too.
        let model = 2 * self.model.as_ref().map_or(0, String::len);
        let frame = size::of_frame(self.conversation.frame());
        // It grows with every look of a stage at an old message, too.
        let history = self.conversation.history();
        let derived = history.iter().map(|(_, message)| message.derived.bytes()).sum::<usize>();
        let derived = derived + history.derived().bytes();
        // A fork shares the messages.
        let fork = self.has_fork().then(|| size::CONVERSATION + self.log.len() * size::COPIED);
        size::CONVERSATION + self.bytes + self.folds.1 + frame + model + derived + fork.unwrap_or(0)
    }

    /// The key after the last message that was seen.
    pub fn key(&self) -> Key {
        self.key
    }

    /// Whether a request with these keys repeats all that was seen.
    pub fn is_repeated(&self, keys: &[Key]) -> bool {
        keys.get(self.seen()) == Some(&self.key)
    }

    /// Whether a request with these keys is the latest one.
    pub fn is_at(&self, keys: &[Key]) -> bool {
        keys.len() == self.seen() + 1 && self.is_repeated(keys)
    }

    /// Takes a request that repeats all that was seen: appends the rest, and lets the strategy act up to the moment
    /// before the call. `answer` knows what the provider said of an answer, by the key of the request that it answers.
    ///
    /// # Errors
    ///
    /// The journal can't be written. All else was done.
    pub async fn take(
        &mut self,
        received: Received<'_>,
        answer: impl Fn(&Key, &Message) -> Option<Answer>,
    ) -> Result<(), JournalError> {
        let Received { messages, keys, frame, model, limits } = received;
        let begun = self.begin_journal();
        if self.model.as_deref() != model {
            self.model = model.map(str::to_owned);
            self.conversation.set_model(self.model.clone());
            let prices = cache_prices(self.conversation.strategy(), self.model.as_deref());
            self.conversation.set_prices(prices);
        }
        if self.conversation.limits() != limits {
            self.conversation.set_limits(limits);
        }
        let frame = frame_of(frame, messages, self.base);
        if *self.conversation.frame() != frame {
            self.conversation.set_frame(frame);
        }
        self.waits = false;
        let now = self.conversation.services().clock.now();
        for (index, message) in messages.iter().enumerate().skip(self.seen()) {
            let mut message = Arc::clone(message);
            if message.at.is_none() {
                Arc::make_mut(&mut message).at = Some(now);
            }
            if message.role == Role::Assistant
                && let Some(known) = answer(&keys[index], &message)
            {
                Arc::make_mut(&mut message).answer = Some(known);
            }
            self.log.push(message);
            self.key = keys[index + 1];
        }
        self.drive().await;
        begun.and_then(|()| self.record())
    }

    /// Takes the steps that were not taken, and the moment before the call that is about to be made. None is while
    /// results are to come: whoever has the messages folded then calls later.
    pub(super) async fn drive(&mut self) {
        let log = self.log[self.mark.messages..].to_vec();
        let (steps, mark, awaits) = taken(self.mark, &log);
        self.take_steps(&steps).await;
        if !self.called && !awaits {
            self.at(Moment::CallStart, Signals::default()).await;
            self.called = true;
        }
        self.mark = mark;
    }

    /// Appends an answer that no request has repeated yet: the agent waits for its user.
    pub(super) fn await_user(&mut self, answer: Message) {
        self.key = identity::next(&self.key, &answer);
        self.log.push(Arc::new(answer));
        self.waits = true;
    }

    /// Takes the steps that were not taken up to the end of the turn, and the idle moment.
    pub(super) async fn wait(&mut self) {
        let log = self.log[self.mark.messages..].to_vec();
        let (steps, mark) = steps_behind(self.mark, &log);
        self.take_steps(&steps).await;
        self.at(Moment::Idle, Signals::default()).await;
        self.mark = mark;
    }

    async fn take_steps(&mut self, steps: &[Step<'_>]) {
        let before = self.mark.steps;
        // New messages may show that a step ends later than it seemed. No message is skipped even so.
        let there = self.places.len() - self.mark.messages;
        let is_append = |step: &Step<'_>| matches!(step, Step::Append(_));
        let mut appends = (0..steps.len()).filter(|index| is_append(&steps[*index]));
        let next = appends.nth(there).unwrap_or(steps.len());
        let done = self.done.saturating_sub(before).min(next);
        for (index, step) in steps.iter().enumerate().skip(done) {
            self.done = before + index;
            match step {
                // It was fired with the messages before it.
                Step::At(Moment::CallStart) if self.called => {}
                Step::Append(message) => {
                    self.called = false;
                    let pos = self.conversation.append(Arc::clone(message));
                    self.places.push(pos);
                    self.received += self.conversation.meter(MeterId::OWN).appended(pos);
                }
                Step::At(moment) => {
                    self.at(*moment, Signals::default()).await;
                }
                Step::Call { .. } => self.note_request(),
                Step::StepEnd { answer } => {
                    let usage = Some(self.usage(answer));
                    let signals = Signals { usage, instructions: None };
                    self.at(Moment::StepEnd, signals).await;
                }
            }
        }
        self.done = before + steps.len();
    }

    fn note_request(&mut self) {
        let meter = self.conversation.meter(MeterId::OWN);
        let frame = self.conversation.frame().tokens(&**meter.estimator());
        self.requested = frame + meter.view_tokens();
    }

    /// What the provider reported, else an estimate of it. Many gateways report the output alone.
    fn usage(&self, answer: &Message) -> UsageReading {
        let reported = answer.answer.as_ref().and_then(|answer| answer.usage);
        if let Some(usage) = reported.filter(Usage::has_input) {
            return UsageReading { usage, source: UsageSource::Provider };
        }
        let told = reported.map_or(0, |usage| usage.output_total());
        let output = match told {
            0 => self.conversation.meter(MeterId::OWN).measure(answer),
            told => told,
        };
        let usage = Usage { uncached: self.requested, output, ..Usage::default() };
        UsageReading { usage, source: UsageSource::Synthesised }
    }

    /// Whether there is a fork.
    pub(super) fn has_fork(&self) -> bool {
        matches!(self.fork, Some(ForkState::Made(_) | ForkState::Taken))
    }

    /// What happens at a moment. If a model is to be asked and nobody waits for it, nothing is folded, and a fork is
    /// made.
    async fn at(&mut self, moment: Moment, signals: Signals) -> Vec<Report> {
        if self.fork.is_none() {
            return self.conversation.at(moment, signals).await;
        }
        {
            // `at` is pending only while it waits for a model.
            let at = pin!(self.conversation.at(moment, signals));
            if let Poll::Ready(reports) = at.poll(&mut Context::from_waker(Waker::noop())) {
                return reports;
            }
        }
        if matches!(self.fork, Some(ForkState::Nothing)) {
            let refused = matches!(moment, Moment::ProviderOverflow | Moment::Manual);
            self.fork = Some(ForkState::Made(Box::new(self.forked(refused))));
        }
        Vec::new()
    }

    pub(super) fn forked(&self, refused: bool) -> Fork {
        let followed = Self {
            conversation: self.conversation.clone(),
            base: self.base,
            log: self.log.clone(),
            places: self.places.clone(),
            key: self.key,
            done: self.done,
            waits: self.waits,
            called: self.called,
            mark: self.mark,
            received: self.received,
            bytes: self.bytes,
            weighed: self.weighed,
            folds: self.folds,
            requested: self.requested,
            model: self.model.clone(),
            path: None,
            journal: None,
            fork: None,
        };
        let point = self.journal.as_ref().map(|journal| journal.point());
        Fork { followed, refused, point, folded: false }
    }

    /// The provider refused the latest request for its size: lets the strategy fold once more. Whether it did.
    ///
    /// Few strategies react to a refusal by themselves. The others fold as they do when a person asks, which is what a
    /// person would have to do now; but not so that the model would have to go on from its own words.
    pub async fn overflow(&mut self) -> bool {
        let refused = self.at(Moment::ProviderOverflow, Signals::default()).await;
        if changed(&refused) {
            return true;
        }
        self.compact(None).await
    }

    /// A person asks for a fold; thresholds do not count. Whether there was one. None leaves the model to go on from its
    /// own words.
    pub async fn compact(&mut self, instructions: Option<String>) -> bool {
        let folds = self.conversation.folds().len();
        let signals = Signals { instructions, ..Signals::default() };
        let asked = self.at(Moment::Manual, signals).await;
        let last = self.conversation.sent().last().map(|shown| shown.message.role);
        if last.is_none_or(|role| role == Role::Assistant) {
            while self.conversation.folds().len() > folds && self.conversation.undo().is_some() {}
        }
        changed(&asked) && self.conversation.folds().len() > folds
    }

    /// The sizes of the latest request.
    pub fn sizes(&self) -> Sizes {
        let sent = self.conversation.tokens();
        let meter = self.conversation.meter(MeterId::OWN);
        Sizes {
            received: meter.frame_tokens() + self.received,
            sent,
            folds: self.conversation.folds().len() as u64,
        }
    }

    /// What the view shows of messages that were taken, in the bytes of this request. `None` if nothing is folded.
    ///
    /// # Errors
    ///
    /// The view breaks a rule of the provider's that the messages as they came do not break.
    pub fn shown<'a>(
        &'a self,
        own: &'a [Arc<Message>],
        dialect: Dialect,
    ) -> Result<Option<Vec<ShownMessage<'a>>>, Unsendable> {
        if !self.conversation.view().is_folded() {
            return Ok(None);
        }
        let mut shown: Vec<ShownMessage<'_>> =
            own[..self.base].iter().map(ShownMessage::plain).collect();
        for mut message in self.conversation.sent() {
            let at = message.pos.and_then(|pos| self.places.binary_search(&pos).ok());
            if let Some(own) = at.and_then(|index| own.get(self.base + index)) {
                // The same message in the client's own bytes of this request.
                message.message = own;
                let opaque = |part: usize| {
                    let part = own.parts.get(part).map(|part| &part.kind);
                    matches!(part, Some(PartKind::Reasoning { opaque: Some(_), .. }))
                };
                message.edits.retain(|(part, _)| !opaque(*part));
            }
            shown.push(message);
        }
        let broken = validate(shown.iter().cloned(), dialect);
        if !broken.is_empty() {
            let had = validate(own.iter().map(ShownMessage::plain), dialect);
            if let Some(caused) = caused_by_strategy(&broken, &had).first() {
                return Err(Unsendable::Rule(caused.rule));
            }
        }
        Ok(Some(shown))
    }
}
