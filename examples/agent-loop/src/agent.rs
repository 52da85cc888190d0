//! The loop. Everything that foldback adds to it is marked with a number; the README goes through them.

use crate::client::Client;
use crate::event::{Event, Sink};
use crate::retry::Retry;
use crate::tools::{Ran, Tools};
use foldback::core::log::ToolCall;
use foldback::core::provider::ProviderError;
use foldback::live::{AgentLoop, Next, Recall, Stopped, tools};
use foldback::{Conversation, Message};

/// How a user turn ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The model has finished.
    Finished,
    /// The agent's own limit of model calls was reached.
    OutOfCalls,
    /// Sending again would fail again.
    Stopped(Stopped),
}

/// An agent: a model, tools, and the conversation between them.
pub struct Agent {
    client: Client,
    retry: Retry,
    tools: Tools,
    context: AgentLoop,
    recall: Recall,
    sink: Sink,
    /// Answers so far, and how many there may be.
    calls: u64,
    max_calls: u64,
    messages: u64,
}

impl Agent {
    /// An agent that may ask its model `max_calls` times and tells `sink` what it does.
    pub fn new(
        client: Client,
        tools: Tools,
        context: AgentLoop,
        max_calls: u64,
        sink: Sink,
    ) -> Self {
        Self {
            client,
            retry: Retry::default(),
            tools,
            context,               // 1
            recall: Recall::new(), // 2
            sink,
            calls: 0,
            max_calls,
            messages: 0,
        }
    }

    /// The agent with other patience than by default.
    #[must_use]
    pub fn with_retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    /// The conversation so far.
    pub fn conversation(&self) -> &Conversation {
        self.context.conversation()
    }

    /// Answers so far.
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// Works on a task until the model has finished or can't go on.
    pub async fn turn(&mut self, task: &str) -> End {
        (self.sink)(Event::Task(task));
        let message = Message::user(self.next_id(), task);
        self.context.user(message).await; // 3
        self.told();
        loop {
            if self.calls >= self.max_calls {
                return End::OutOfCalls;
            }
            self.context.before_call().await; // 4
            self.told();
            let answer = self.ask().await;
            let mut next = match answer {
                Ok(answer) => {
                    let calls = calls_of(&answer);
                    let next = self.context.answered(answer).await; // 5
                    match next {
                        Next::Tools => {
                            self.told();
                            let results = self.run(&calls).await;
                            self.context.results(results).await // 6
                        }
                        other => other,
                    }
                }
                Err(error) => self.context.refused(&error).await, // 7
            };
            self.told();
            if next == Next::Tools {
                // All calls have their results.
                next = Next::Call;
            }
            match next {
                Next::Call | Next::Tools => {}
                Next::Finished => return End::Finished,
                Next::Stopped(why) => return End::Stopped(why),
            }
        }
    }

    /// One request, sent again where waiting helps. A request that is too large is not: that is
    /// foldback's business.
    async fn ask(&mut self) -> Result<Message, ProviderError> {
        let id = self.next_id();
        for attempt in 1.. {
            let sent = self.context.conversation().sent(); // 8
            (self.sink)(Event::Asking { call: self.calls + 1, messages: sent.len() });
            match self.client.ask(&id, &sent).await {
                Ok(answer) => {
                    self.calls += 1;
                    (self.sink)(Event::Answered(&answer));
                    return Ok(answer);
                }
                Err(error) => {
                    let wait = self.retry.wait(attempt, &error);
                    (self.sink)(Event::Failed { error: &error, wait });
                    let Some(wait) = wait else {
                        return Err(error);
                    };
                    self.retry.pause(wait).await;
                }
            }
        }
        unreachable!("the attempts are bounded by `Retry::wait`")
    }

    /// Runs tools, one after the other: an edit may follow a read of the same file.
    async fn run(&mut self, calls: &[ToolCall]) -> Vec<Message> {
        let mut results = Vec::new();
        for call in calls {
            let result = if call.tool == tools::NAME {
                let cleared = self.context.conversation();
                Ran::of(tools::handle(&mut self.recall, cleared, &call.arguments)) // 10
            } else {
                self.tools.run(call).await
            };
            (self.sink)(Event::Ran { call, result: &result });
            results.push(result.into_message(self.next_id(), call));
        }
        results
    }

    /// Passes on what foldback did at the last moment.
    fn told(&mut self) {
        for report in self.context.reports() {
            (self.sink)(Event::Compaction(report)); // 9
        }
    }

    fn next_id(&mut self) -> String {
        self.messages += 1;
        format!("message-{}", self.messages)
    }
}

fn calls_of(answer: &Message) -> Vec<ToolCall> {
    let calls = answer.parts.iter().filter_map(|part| part.as_call());
    calls.cloned().collect()
}
