//! A conversation in an agent's loop: says which moment it is, and what comes next.
//!
//! The [`Conversation`] knows strategies and moments; an agent knows requests, answers and errors. This
//! is what stands between them:
//!
//! | the agent … | moments | then |
//! |---|---|---|
//! | has a user's message: [`user`](AgentLoop::user) | turn-start | |
//! | is about to send a request: [`before_call`](AgentLoop::before_call) | call-start | send [`Conversation::sent`] |
//! | has an answer: [`answered`](AgentLoop::answered) | length-stop; step-end where no tool was called; turn-end where the model has finished | [`Next`] |
//! | has the tools' results: [`results`](AgentLoop::results) | tool-result for each, step-end | [`Next`] |
//! | was refused: [`refused`](AgentLoop::refused) | provider-overflow, where it was for the size | [`Next`] |
//! | is told to: [`compact`](AgentLoop::compact) | manual | |
//!
//! Nothing here loops. A refusal is answered by one fold and one more request at most: if that is
//! refused too, or there was nothing to fold, the agent is told to stop, with the provider's error and
//! the reason. Whether to go on after a fold is decided by what the model did, not by the fold: a model
//! that had finished is never told to continue.

use foldback_core::conversation::{Conversation, Report, Signals, StageRole};
use foldback_core::log::{Finish, Message, Usage};
use foldback_core::moment::Moment;
use foldback_core::outcome::Why;
use foldback_core::provider::ProviderError;
use foldback_core::stage::{UsageReading, UsageSource};

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

/// Drives a [`Conversation`] through an agent's loop.
#[derive(Debug)]
pub struct AgentLoop {
    conversation: Conversation,
    /// What the last answer cost, for the end of its step.
    usage: Option<Usage>,
    /// Calls of the last answer that have no result yet.
    open: usize,
    /// The last answer was cut, and the moment for that waits for the results of its calls.
    cut: bool,
    reports: Vec<Report>,
}

impl AgentLoop {
    /// A loop around a conversation, new or loaded.
    pub fn new(conversation: Conversation) -> Self {
        Self {
            conversation,
            usage: None,
            open: 0,
            cut: false,
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

    /// What every stage did that ran since the agent last told or asked something.
    pub fn reports(&self) -> &[Report] {
        &self.reports
    }

    /// A user turn begins.
    pub async fn user(&mut self, message: Message) {
        self.reports.clear();
        self.at(Moment::TurnStart).await;
        self.conversation.append(message);
    }

    /// A request is about to be sent. Where a compaction fails, [`reports`](Self::reports) say so and the
    /// request goes ahead all the same: it may fit.
    pub async fn before_call(&mut self) {
        self.reports.clear();
        self.at(Moment::CallStart).await;
    }

    /// The model answered; `message.answer` says why it stopped and what it cost.
    pub async fn answered(&mut self, message: Message) -> Next {
        self.reports.clear();
        let answer = message.answer.clone().unwrap_or_default();
        self.usage = answer.usage.filter(|usage| !usage.is_zero());
        self.open = message.call_ids().count();
        self.cut = answer.finish == Some(Finish::Length);
        self.conversation.append(message);
        if self.open > 0 {
            // A call that was cut is a call all the same: nothing can be sent before it has a result.
            return Next::Tools;
        }
        if self.cut {
            return self.cut_short().await;
        }
        self.at(Moment::StepEnd).await;
        self.at(Moment::TurnEnd).await;
        Next::Finished
    }

    /// Results of the calls of the last answer, in order.
    pub async fn results(&mut self, messages: Vec<Message>) -> Next {
        self.reports.clear();
        for message in messages {
            self.open = self.open.saturating_sub(1);
            self.conversation.append(message);
            self.at(Moment::ToolResult).await;
        }
        if self.open > 0 {
            return Next::Tools;
        }
        if self.cut {
            return self.cut_short().await;
        }
        self.at(Moment::StepEnd).await;
        Next::Call
    }

    /// The request failed. Where it was too large, the strategy may fold, and the request may be sent
    /// again; what the model had said before is untouched.
    pub async fn refused(&mut self, error: &ProviderError) -> Next {
        self.reports.clear();
        if !error.kind.is_overflow() {
            return Next::Stopped(Stopped::Provider(error.clone()));
        }
        if self.at(Moment::ProviderOverflow).await {
            return Next::Call;
        }
        Next::Stopped(Stopped::Overflow {
            error: error.clone(),
            why: self.why_not("no stage of the strategy answers to a refusal"),
        })
    }

    /// A person asks for a compaction, perhaps with instructions for the summary.
    pub async fn compact(&mut self, instructions: Option<String>) -> &[Report] {
        self.reports.clear();
        self.fire(Moment::Manual, None, instructions).await;
        &self.reports
    }

    /// The model stopped for length: with room in the window again it can go on.
    async fn cut_short(&mut self) -> Next {
        self.cut = false;
        if self.at(Moment::LengthStop).await {
            return Next::Call;
        }
        Next::Stopped(Stopped::Length {
            why: self.why_not("no stage of the strategy answers to a length stop"),
        })
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
        let usage = usage.map(|usage| UsageReading {
            usage,
            source: UsageSource::Provider,
        });
        let signals = Signals {
            usage,
            instructions,
        };
        let reports = self.conversation.at(moment, signals).await;
        let changed = reports.iter().any(|report| report.outcome.changed());
        self.reports.extend(reports);
        changed
    }

    /// Why the view is as it was: the reason of a fold that was tried, else of any stage.
    fn why_not(&self, nobody: &str) -> Why {
        let of = |role: StageRole| {
            let mut reports = self
                .reports
                .iter()
                .filter(move |report| report.role == role);
            reports.find_map(|report| report.outcome.why().cloned())
        };
        of(StageRole::Fold)
            .or_else(|| of(StageRole::Overflow))
            .or_else(|| of(StageRole::Pruner))
            .unwrap_or_else(|| Why::new("not-asked", nobody))
    }
}
