//! A recorded session as the moments at which an agent would have called a conversation.
//!
//! The order is the one of a real loop: the stored messages are there when a turn starts, the new
//! user message comes after that, a call starts, its answer and the results of its tools arrive, and
//! only then is the step at its end. Whoever drives by these steps never sees what is to come.

use foldback_core::Message;
use foldback_core::log::{Finish, Role};
use foldback_core::moment::Moment;
use foldback_formats::Session;
use std::sync::Arc;

/// One step of a replay.
#[derive(Clone, Copy, Debug)]
pub enum Step<'a> {
    /// A message is appended.
    Append(&'a Arc<Message>),
    /// A moment at which the strategy may act.
    At(Moment),
    /// The request of a recorded call goes out; `call` counts from 0. What the strategy does before
    /// it was [`Moment::CallStart`].
    Call {
        /// Number of the call.
        call: usize,
        /// The recorded answer, which is appended next.
        answer: &'a Arc<Message>,
    },
    /// The answer of the latest call and the results of its tools are in the history.
    StepEnd {
        /// The answer.
        answer: &'a Arc<Message>,
    },
}

/// The steps of a session's log, the recorder's own compactions undone.
pub fn steps(session: &Session) -> Vec<Step<'_>> {
    let mut builder = StepBuilder::default();
    for message in session.log() {
        builder.message(message);
    }
    builder.finish();
    builder.steps
}

#[derive(Default)]
struct StepBuilder<'a> {
    steps: Vec<Step<'a>>,
    calls: usize,
    /// The answer whose step is not at its end yet.
    open: Option<&'a Arc<Message>>,
    /// Whether a turn is going on, and whether the latest answer ended it.
    in_turn: bool,
    answered: bool,
}

impl<'a> StepBuilder<'a> {
    fn message(&mut self, message: &'a Arc<Message>) {
        match message.role {
            Role::Tool => {
                self.steps.push(Step::Append(message));
                self.steps.push(Step::At(Moment::ToolResult));
            }
            Role::Assistant if message.is_answer() => {
                self.end_step();
                self.steps.push(Step::At(Moment::CallStart));
                self.steps.push(Step::Call { call: self.calls, answer: message });
                self.calls += 1;
                self.steps.push(Step::Append(message));
                let finish = message.answer.as_ref().and_then(|answer| answer.finish);
                if finish == Some(Finish::Length) {
                    self.steps.push(Step::At(Moment::LengthStop));
                }
                self.open = Some(message);
                self.in_turn = true;
                self.answered = true;
            }
            Role::User if message.begins_turn() => {
                self.end_step();
                // Several user messages in a row begin one turn.
                if !self.in_turn || self.answered {
                    self.end_turn();
                    self.steps.push(Step::At(Moment::TurnStart));
                    self.in_turn = true;
                    self.answered = false;
                }
                self.steps.push(Step::Append(message));
            }
            Role::User | Role::System | Role::Assistant => {
                self.end_step();
                self.steps.push(Step::Append(message));
            }
        }
    }

    fn end_step(&mut self) {
        if let Some(answer) = self.open.take() {
            self.steps.push(Step::StepEnd { answer });
        }
    }

    fn end_turn(&mut self) {
        if self.in_turn && self.answered {
            self.steps.push(Step::At(Moment::TurnEnd));
        }
        self.in_turn = false;
    }

    /// A recording may stop in the middle of a turn; the loop has ended only if the last answer did
    /// not ask for tools.
    fn finish(&mut self) {
        let last = self.open.and_then(|answer| answer.answer.as_ref()?.finish);
        let calls = self.open.is_some_and(|answer| answer.call_ids().next().is_some());
        self.end_step();
        if last != Some(Finish::ToolCalls) && !calls {
            self.end_turn();
        }
    }
}
