//! A conversation in an agent's loop: triggers the moments and says what comes next.
//!
//! The [`Conversation`] knows strategies and moments; an agent knows requests, answers and errors. This module
//! connects them:
//!
//! | the agent … | moments | then |
//! |---|---|---|
//! | has a user's message: [`user`](AgentLoop::user) | turn-start, and turn-end before it where the last turn was left in its middle | |
//! | is about to send a request: [`before_call`](AgentLoop::before_call) | call-start | send [`Conversation::sent`] |
//! | has an answer: [`answered`](AgentLoop::answered) | if no tool was called, length-stop where it was cut, and step-end; turn-end if the model has finished | [`Next`] |
//! | has the tools' results: [`results`](AgentLoop::results) | tool-result for each; length-stop where the answer was cut, and step-end | [`Next`] |
//! | was refused: [`refused`](AgentLoop::refused) | provider-overflow, if it was too large | [`Next`] |
//! | was stopped by its user: [`interrupted`](AgentLoop::interrupted) | those of results that say that there are none | |
//! | receives the command: [`compact`](AgentLoop::compact) | manual | |
//! | waits for its user until [`idle_at`](AgentLoop::idle_at): [`idle`](AgentLoop::idle) | idle | |
//!
//! Which moments come, and in which order, is said by [`Order`] alone; a replay of the log asks it, too.
//!
//! Nothing here loops. A refusal, or a stop for length, is answered by one fold and one more request at
//! most: if that ends the same way, or there was nothing to fold, the agent is told to stop, with the
//! reason. What the model did decides whether to go on after a fold, not the fold itself: a model that
//! had finished is never prompted to continue.
//!
//! Nothing is sent that a provider would not accept. A user's message that comes while a request or a tool is
//! running waits until its answer and its results are there, and the model then goes on with it. A call
//! whose result never comes gets one that says so before anything else is appended. A result that
//! answers no open call (given twice, given late) is not appended.
//!
//! Any of the futures may be dropped: messages that were passed are still appended, a stage that was running leaves
//! nothing behind, and the moments that had not come yet do not come.

use foldback_core::conversation::{Conversation, Report, Signals, StageRole};
use foldback_core::log::{Finish, Message, ToolCall, Usage};
use foldback_core::moment::Moment;
use foldback_core::outcome::{Outcome, Why};
use foldback_core::provider::{ErrorKind, ProviderError};
use foldback_core::stage::{UsageReading, UsageSource};
use foldback_core::step::Order;

/// What an agent does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Sends the next request, [`AgentLoop::before_call`] first.
    Call,
    /// Runs the tools that the answer called, then hands over the [results](AgentLoop::results).
    Tools,
    /// Waits for the user: the model has finished.
    Finished,
    /// Stops: sending again would fail again.
    Stopped(Stopped),
}

/// Why an agent can't go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stopped {
    /// The request is too large, and folding did not help or was not possible.
    #[error("the request is too large ({error}), and it was not made smaller: {why}")]
    Overflow {
        /// What the provider said.
        error: ProviderError,
        /// Why there was no fold.
        why: Why,
    },
    /// The model stopped for length, and there was nothing to fold.
    #[error("the model stopped because the output limit or the window was reached: {why}")]
    Length {
        /// Why there was no fold.
        why: Why,
    },
    /// The request failed for another reason, which is the agent's business: waiting, a key, …
    #[error("{0}")]
    Provider(ProviderError),
}

/// The answer of a tool that was abandoned.
pub const NO_RESULT: &str = "[no result: the tool was interrupted]";

/// Drives a [`Conversation`] through an agent's loop.
#[derive(Debug)]
pub struct AgentLoop {
    conversation: Conversation,
    order: Order,
    /// What the last answer cost, for the end of its step.
    usage: Option<Usage>,
    /// A request was sent and has no answer yet.
    sent: bool,
    /// What the user said meanwhile.
    waiting: Vec<Message>,
    /// The request was sent again because of this moment, and how that ended is not known yet.
    again: Option<Moment>,
    /// The idle moment has come since the model finished.
    idled: bool,
    reports: Vec<Report>,
}

/// Messages that are appended one by one, at the latest when this is dropped: no canceled future
/// takes a message with it.
struct Handed<'a> {
    agent: &'a mut AgentLoop,
    messages: std::vec::IntoIter<Message>,
}

impl Drop for Handed<'_> {
    fn drop(&mut self) {
        for message in self.messages.by_ref() {
            self.agent.conversation.append(message);
        }
    }
}

impl AgentLoop {
    /// A loop around a conversation, new or loaded. A stage that panics is a compaction that failed.
    pub fn new(mut conversation: Conversation) -> Self {
        conversation.contain_panics();
        let history = conversation.history();
        let log = history.iter().map(|(_, message)| message).filter(|message| !message.is_entry());
        let order = Order::after(log, !history.open_calls().is_empty());
        Self {
            conversation,
            order,
            usage: None,
            sent: false,
            waiting: Vec::new(),
            again: None,
            idled: false,
            reports: Vec::new(),
        }
    }

    /// The conversation. What to send is [`Conversation::sent`].
    pub fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    /// The conversation, to undo a fold, to pin a message, to switch compaction off.
    pub fn conversation_mut(&mut self) -> &mut Conversation {
        &mut self.conversation
    }

    /// Keeps a text word for word in every request, whatever is folded: one that some message says. Whether one does. The user
    /// [pins by marks](foldback_core::carry::Pins).
    pub fn pin(&mut self, text: &str) -> bool {
        self.conversation.pin_text(text)
    }

    /// Lets folds have a text again, or all that begin so. Whether one was pinned.
    pub fn unpin(&mut self, text: &str) -> bool {
        self.conversation.unpin_text(text)
    }

    /// What every stage did that ran since the agent's last call.
    pub fn reports(&self) -> &[Report] {
        &self.reports
    }

    /// The calls that have no result yet, in order, with their tools and arguments: what an agent runs when it is told
    /// [`Next::Tools`].
    pub fn open_calls(&self) -> Vec<&ToolCall> {
        self.conversation.history().open_calls().into_iter().map(|(_, call)| call).collect()
    }

    /// The user says something: a turn begins. While a request or a tool is running, the message waits,
    /// and begins none.
    pub async fn user(&mut self, message: Message) {
        self.reports.clear();
        if self.sent || !self.open_calls().is_empty() {
            self.waiting.push(message.within_turn());
            return;
        }
        self.again = None;
        let moments = self.order.message(&message);
        let handed = Handed { messages: vec![message].into_iter(), agent: self };
        for moment in moments {
            handed.agent.at(moment).await;
        }
    }

    /// The user stopped the request or the tools that are running; nothing more comes of them. Then it is
    /// the user's turn.
    pub async fn interrupted(&mut self) {
        self.reports.clear();
        self.sent = false;
        self.give_up().await;
        self.append_waiting();
        self.again = None;
    }

    /// A request is about to be sent. Where a compaction fails, [`reports`](Self::reports) say so and the
    /// request is sent anyway: it may fit.
    pub async fn before_call(&mut self) {
        self.reports.clear();
        self.give_up().await;
        self.append_waiting();
        for moment in self.order.call() {
            self.at(moment).await;
        }
        self.sent = true;
    }

    /// The model answered; `message.answer` says why it stopped and what it cost.
    pub async fn answered(&mut self, mut message: Message) -> Next {
        self.reports.clear();
        (self.sent, self.idled) = (false, false);
        self.give_up().await;
        let answer = message.answer.get_or_insert_default().clone();
        self.usage = answer.usage.filter(Usage::has_input);
        if answer.finish != Some(Finish::Length) || self.again != Some(Moment::LengthStop) {
            self.again = None;
        }
        self.order.answer(&message);
        self.conversation.append(message);
        if !self.open_calls().is_empty() {
            // A call that was cut is a call anyway: nothing can be sent before it has a result.
            return Next::Tools;
        }
        if answer.finish == Some(Finish::Error) {
            let why = answer.error.as_deref().unwrap_or("the answer ended with an error");
            let error = ProviderError::new(ErrorKind::Unknown, why);
            return Next::Stopped(Stopped::Provider(error));
        }
        let spoken = !self.waiting.is_empty();
        if let Some(next) = self.step_ended().await {
            return next;
        }
        if spoken {
            return Next::Call;
        }
        for moment in self.order.end_turn() {
            self.at(moment).await;
        }
        Next::Finished
    }

    /// Results of the calls of the last answer, in order, all at once or as they come.
    pub async fn results(&mut self, messages: Vec<Message>) -> Next {
        self.reports.clear();
        let messages = self.expected(messages);
        if self.open_calls().is_empty() {
            // Nothing was waited for.
            return match self.conversation.has_finished() {
                true => Next::Finished,
                false => Next::Call,
            };
        }
        self.append_results(messages).await;
        if !self.open_calls().is_empty() {
            return Next::Tools;
        }
        self.step_ended().await.unwrap_or(Next::Call)
    }

    /// The request failed. Where it was too large, the strategy may fold, and the request may be sent
    /// again; what the model had said before is untouched.
    pub async fn refused(&mut self, error: &ProviderError) -> Next {
        self.reports.clear();
        self.sent = false;
        if !error.kind.is_overflow() {
            return Next::Stopped(Stopped::Provider(error.clone()));
        }
        let again = self.again.take() == Some(Moment::ProviderOverflow);
        // Of a request that was refused twice the conversation's own guard says more.
        let why = if again && !self.conversation.strategy().guards.repeat {
            again_why()
        } else if self.at(Moment::ProviderOverflow).await {
            self.again = Some(Moment::ProviderOverflow);
            self.append_waiting();
            return Next::Call;
        } else {
            self.why_not("no stage of the strategy reacts to a refusal")
        };
        Next::Stopped(Stopped::Overflow { error: error.clone(), why })
    }

    /// A person asks for a compaction, perhaps with instructions for the summary. While tools are running
    /// it is skipped: their results would come without their calls.
    pub async fn compact(&mut self, instructions: Option<String>) -> &[Report] {
        self.reports.clear();
        if self.open_calls().is_empty() {
            self.fire(Moment::Manual, None, instructions).await;
            return &self.reports;
        }
        let why =
            Why::new("tools-running", "tools are running; compact when their results are there");
        let name = &self.conversation.strategy().name;
        let skipped = Outcome::Skipped(why);
        let report = self.conversation.idle(Moment::Manual, name, StageRole::Fold, skipped);
        self.reports.push(report);
        &self.reports
    }

    /// When [`idle`](Self::idle) is to be called if the user says nothing before, in milliseconds; `None` if no stage waits for it.
    pub fn idle_at(&self) -> Option<i64> {
        self.conversation.idle_at().filter(|_| !self.sent && !self.idled)
    }

    /// The user has said nothing until [`idle_at`](Self::idle_at): the strategy may fold while the provider still has the conversation
    /// in its cache. Before that time it does nothing, so it may be called at any time.
    pub async fn idle(&mut self) -> &[Report] {
        self.reports.clear();
        let now = self.conversation.services().clock.now();
        if self.idle_at().is_some_and(|at| at <= now) {
            self.idled = true;
            self.at(Moment::Idle).await;
        }
        &self.reports
    }

    /// The step of the last answer ends. Whether that changed the view, if the answer was cut.
    async fn end_step(&mut self) -> Option<bool> {
        let (mut cut, mut changed) = (false, false);
        for moment in self.order.end_step() {
            cut |= moment == Moment::LengthStop;
            changed |= self.at(moment).await;
        }
        cut.then_some(changed)
    }

    /// The step of the last answer ends, and what the user said meanwhile comes after it in full. An answer that was cut
    /// says what comes next: with room in the window again the model can go on, once.
    async fn step_ended(&mut self) -> Option<Next> {
        let cut = self.end_step().await;
        self.append_waiting();
        let changed = cut?;
        let again = self.again.take() == Some(Moment::LengthStop);
        let why = match changed {
            _ if again => again_why(),
            true => {
                self.again = Some(Moment::LengthStop);
                return Some(Next::Call);
            }
            false => self.why_not("no stage of the strategy reacts to a length stop"),
        };
        Some(Next::Stopped(Stopped::Length { why }))
    }

    /// Appends what the user said meanwhile.
    fn append_waiting(&mut self) {
        if self.open_calls().is_empty() {
            for message in std::mem::take(&mut self.waiting) {
                self.conversation.append(message);
            }
        }
    }

    /// Answers the calls whose results do not come any more, which ends their step.
    async fn give_up(&mut self) {
        let no_result = |call: &ToolCall| {
            let id = self.conversation.services().ids.next("no-result");
            Message::tool_error(id, &call.call_id, &call.tool, NO_RESULT)
        };
        let results = self.open_calls().into_iter().map(no_result).collect();
        self.append_results(results).await;
        self.end_step().await;
    }

    /// Appends results, each with its moment.
    async fn append_results(&mut self, results: Vec<Message>) {
        let mut handed = Handed { messages: results.into_iter(), agent: self };
        for message in handed.messages.by_ref() {
            handed.agent.conversation.append(message);
            handed.agent.at(Moment::ToolResult).await;
        }
    }

    /// The messages without results that answer no open call.
    fn expected(&self, mut messages: Vec<Message>) -> Vec<Message> {
        let mut open: Vec<&str> =
            self.open_calls().into_iter().map(|call| &*call.call_id).collect();
        messages.retain(|message| {
            let results = message.parts.iter().filter_map(|part| part.as_result());
            let ids: Vec<&str> = results.map(|result| result.call_id.as_str()).collect();
            let fits = ids.iter().all(|id| open.contains(id));
            if fits {
                open.retain(|id| !ids.contains(id));
            } else {
                tracing::warn!(message = %message.id, "a result that answers no open call is left out");
            }
            fits
        });
        messages
    }

    /// Fires a moment with the signals that a replay has there, and says whether the view changed.
    async fn at(&mut self, moment: Moment) -> bool {
        let usage = self.usage.filter(|_| moment == Moment::StepEnd);
        self.fire(moment, usage, None).await
    }

    async fn fire(
        &mut self,
        moment: Moment,
        usage: Option<Usage>,
        instructions: Option<String>,
    ) -> bool {
        let usage = usage.map(|usage| UsageReading { usage, source: UsageSource::Provider });
        let signals = Signals { usage, instructions };
        let reports = self.conversation.at(moment, signals).await;
        let changed = reports.iter().any(|report| report.outcome.changed());
        self.reports.extend(reports);
        changed
    }

    /// Why the view is as it was: the reason of a fold that was tried, else of any stage.
    fn why_not(&self, nobody: &str) -> Why {
        let of = |role: StageRole| {
            let mut reports = self.reports.iter().filter(move |report| report.role == role);
            reports.find_map(|report| report.outcome.why().cloned())
        };
        of(StageRole::Fold)
            .or_else(|| of(StageRole::Overflow))
            .or_else(|| of(StageRole::Pruner))
            .unwrap_or_else(|| Why::new("not-asked", nobody))
    }
}

fn again_why() -> Why {
    Why::new("again", "the last fold was for the same reason, and did not help")
}
