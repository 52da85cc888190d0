//! A log as the moments at which an agent would have called a conversation.
//!
//! The order is the one of a real loop: the stored messages are there when a turn starts, the new
//! user message comes after that, a call starts, its answer and the results of its tools arrive, and
//! only then does the step end. A driver that follows these steps never sees the future.
//!
//! [`Order`] is that order, event by event. An agent's loop asks it as things happen, and [`steps`] asks it
//! about a log.

use crate::log::{Finish, Message, Role};
use crate::moment::Moment;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Which moments come with an event of an agent's loop. Those returned come before the event itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// Whether a turn is going on.
    in_turn: bool,
    /// Whether the model has answered since the turn began.
    answered: bool,
    /// An answer whose step has not ended.
    open: Option<Open>,
}

/// An answer whose step has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Open {
    /// It was cut off.
    cut: bool,
}

impl Order {
    /// The order as a loop leaves it that has this log. While results are still to come, the step of the last answer is
    /// open.
    pub fn after<'a>(
        log: impl IntoIterator<Item = &'a Arc<Message>>,
        results_to_come: bool,
    ) -> Self {
        let log: Vec<&Arc<Message>> = log.into_iter().collect();
        let finished = log.last().is_some_and(|last| last.is_final_answer());
        let last_results = last_results(&log);
        let mut builder = StepBuilder { last_results, ..StepBuilder::default() };
        for (ordinal, message) in log.into_iter().enumerate() {
            builder.message(ordinal, message);
        }
        let mut order = builder.order;
        if !results_to_come {
            order.open = None;
        }
        if finished {
            order.in_turn = false;
        }
        order
    }

    /// A message that is no answer and no result is about to be appended. Where the user begins a turn, the one before
    /// ends; several messages of the user in a row begin one turn.
    pub fn message(&mut self, message: &Message) -> impl Iterator<Item = Moment> + use<> {
        let step = self.end_step();
        let begins = message.begins_turn() && (!self.in_turn || self.answered);
        let turn = begins.then(|| {
            let end = self.end_turn();
            (self.in_turn, self.answered) = (true, false);
            end.chain([Moment::TurnStart])
        });
        step.chain(turn.into_iter().flatten())
    }

    /// A request is about to be sent.
    pub fn call(&mut self) -> impl Iterator<Item = Moment> + use<> {
        self.end_step().chain([Moment::CallStart])
    }

    /// An answer was appended. Its step is open until [`end_step`](Self::end_step), or until something comes that is no
    /// result.
    pub fn answer(&mut self, answer: &Message) {
        let finish = answer.answer.as_ref().and_then(|answer| answer.finish);
        (self.in_turn, self.answered) = (true, true);
        self.open = Some(Open { cut: finish == Some(Finish::Length) });
    }

    /// The answer and the results of its tools are in the history.
    pub fn end_step(&mut self) -> impl Iterator<Item = Moment> + use<> {
        let moments = self.open.take().map(|open| {
            let cut = open.cut.then_some(Moment::LengthStop);
            cut.into_iter().chain([Moment::StepEnd])
        });
        moments.into_iter().flatten()
    }

    /// The model has finished.
    pub fn end_turn(&mut self) -> impl Iterator<Item = Moment> + use<> {
        let ends = self.in_turn && self.answered;
        self.in_turn = false;
        ends.then_some(Moment::TurnEnd).into_iter()
    }
}

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

/// The steps of a log: what happened, without the messages that a compaction wrote.
pub fn steps<'a>(log: impl IntoIterator<Item = &'a Arc<Message>>) -> Vec<Step<'a>> {
    steps_behind(Mark::default(), log).0
}

/// A place in a log that grows: an answer, before which no step will be another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// Messages before it.
    pub messages: usize,
    /// Steps before it.
    pub steps: usize,
    calls: usize,
    order: Order,
}

/// The steps behind a mark, of the messages behind it, and the last mark among them.
pub fn steps_behind<'a>(
    mark: Mark,
    log: impl IntoIterator<Item = &'a Arc<Message>>,
) -> (Vec<Step<'a>>, Mark) {
    let log: Vec<&Arc<Message>> = log.into_iter().collect();
    let last_results = last_results(&log);
    let Mark { calls, order, .. } = mark;
    let state = StepBuilder { calls, order, ..StepBuilder::default() };
    let mut builder = StepBuilder { last_results, begin: mark, mark, ..state };
    for (ordinal, message) in log.into_iter().enumerate() {
        crate::work::count(1);
        builder.message(ordinal, message);
    }
    builder.finish();
    (builder.steps, builder.mark)
}

/// The last result that came for a call of each answer before the next answer, both by their ordinals in
/// the log. The user may speak between the results of one answer, when a tool run is interrupted or waits
/// for an approval; that ends neither the step nor the turn.
fn last_results(log: &[&Arc<Message>]) -> HashMap<usize, usize> {
    let mut last = HashMap::new();
    let mut open: Option<(usize, HashSet<&str>)> = None;
    for (ordinal, message) in log.iter().enumerate() {
        if message.is_answer() {
            open = Some((ordinal, message.call_ids().collect()));
        }
        let Some((answered, calls)) = &open else { continue };
        let mut results = message.parts.iter().filter_map(|part| part.as_result());
        if results.any(|result| calls.contains(&*result.call_id)) {
            last.insert(*answered, ordinal);
        }
    }
    last
}

#[derive(Default)]
struct StepBuilder<'a> {
    steps: Vec<Step<'a>>,
    /// Where the log begins.
    begin: Mark,
    /// The state before the latest answer.
    mark: Mark,
    calls: usize,
    last_results: HashMap<usize, usize>,
    order: Order,
    /// The latest answer.
    answer: Option<&'a Arc<Message>>,
    /// Ordinal of the last result that comes for it.
    results_until: usize,
}

impl<'a> StepBuilder<'a> {
    fn message(&mut self, ordinal: usize, message: &'a Arc<Message>) {
        match message.role {
            Role::Tool => {
                self.steps.push(Step::Append(message));
                self.steps.push(Step::At(Moment::ToolResult));
            }
            Role::Assistant if message.is_answer() => {
                let step = self.order.end_step();
                self.moments(step);
                self.mark = Mark {
                    messages: self.begin.messages + ordinal,
                    steps: self.begin.steps + self.steps.len(),
                    calls: self.calls,
                    order: self.order,
                };
                let call = self.order.call();
                self.moments(call);
                self.steps.push(Step::Call { call: self.calls, answer: message });
                self.calls += 1;
                self.steps.push(Step::Append(message));
                self.order.answer(message);
                self.answer = Some(message);
                self.results_until = self.last_results.get(&ordinal).copied().unwrap_or(0);
            }
            Role::User | Role::System | Role::Assistant => {
                if ordinal >= self.results_until {
                    let before = self.order.message(message);
                    self.moments(before);
                }
                self.steps.push(Step::Append(message));
            }
        }
    }

    fn moments(&mut self, moments: impl Iterator<Item = Moment>) {
        for moment in moments {
            self.steps.push(match (moment, self.answer) {
                (Moment::StepEnd, Some(answer)) => Step::StepEnd { answer },
                _ => Step::At(moment),
            });
        }
    }

    /// A recording may stop in the middle of a turn; the loop has ended only if the last answer did
    /// not ask for tools.
    fn finish(&mut self) {
        let open = self.answer.filter(|_| self.order.open.is_some());
        let asked = open.is_some_and(|answer| {
            let finish = answer.answer.as_ref().and_then(|answer| answer.finish);
            finish == Some(Finish::ToolCalls) || answer.call_ids().next().is_some()
        });
        let step = self.order.end_step();
        self.moments(step);
        if !asked {
            let turn = self.order.end_turn();
            self.moments(turn);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::{Answer, Part};

    fn in_words(messages: Vec<Message>) -> String {
        let log: Vec<Arc<Message>> = messages.into_iter().map(Arc::new).collect();
        let word = |step: &Step<'_>| match step {
            Step::Append(message) => message.id.clone(),
            Step::At(moment) => moment.to_string(),
            Step::Call { call, .. } => format!("call-{call}"),
            Step::StepEnd { .. } => "step-end".to_owned(),
        };
        steps(&log).iter().map(word).collect::<Vec<_>>().join(" ")
    }

    fn calls(id: &str, calls: &[&str]) -> Message {
        let parts = calls.iter().map(|call| Part::call(*call, "read", "{}")).collect();
        Message::assistant(id, parts).with_answer(Answer::default())
    }

    fn result(id: &str, call: &str) -> Message {
        Message::tool(id, call, "read", "text")
    }

    fn user(id: &str) -> Message {
        Message::user(id, "wait")
    }

    #[test]
    fn the_steps_behind_a_mark_are_those_of_the_whole_log() {
        let log = vec![
            user("u"),
            calls("a", &["1", "2"]),
            result("r", "1"),
            user("v"),
            result("s", "2"),
            calls("b", &[]),
            user("w"),
            calls("c", &["3"]),
            result("t", "3"),
            calls("d", &["4"]),
        ];
        let log: Vec<Arc<Message>> = log.into_iter().map(Arc::new).collect();
        let words = |steps: &[Step<'_>]| steps.iter().map(|step| format!("{step:?}")).collect();
        let mut mark = Mark::default();
        for length in 0..=log.len() {
            let all: Vec<String> = words(&steps(&log[..length]));
            let (behind, next) = steps_behind(mark, &log[mark.messages..length]);
            let behind: Vec<String> = words(&behind);
            assert_eq!(behind, all[mark.steps..], "{length} messages");
            mark = next;
        }
        assert_eq!(mark.messages, 9);
    }

    #[test]
    fn a_step_ends_behind_its_last_result_whoever_speaks_in_between() {
        let table = [
            (
                "between the results of one answer",
                vec![
                    user("u"),
                    calls("a", &["1", "2"]),
                    result("r", "1"),
                    user("v"),
                    result("s", "2"),
                ],
                "turn-start u call-start call-0 a r tool-result v s tool-result step-end",
            ),
            (
                "behind them",
                vec![user("u"), calls("a", &["1"]), result("r", "1"), user("v")],
                "turn-start u call-start call-0 a r tool-result step-end turn-end turn-start v",
            ),
            (
                "a result that comes behind the next answer holds nothing up",
                vec![user("u"), calls("a", &["1"]), user("v"), calls("b", &[]), result("r", "1")],
                "turn-start u call-start call-0 a step-end turn-end turn-start v call-start call-1 b \
                 r tool-result step-end turn-end",
            ),
        ];
        for (name, messages, expected) in table {
            assert_eq!(in_words(messages), expected, "{name}");
        }
    }
}
