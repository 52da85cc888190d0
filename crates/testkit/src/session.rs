//! Sessions made in code: what a user, a model and its tools said, and what the agent's loop asked for besides.

use foldback_core::Limits;
use foldback_core::log::{Answer, Finish, Message, Part, PartKind, ResultStatus, Role, Usage};
use foldback_core::moment::Moment;
use std::fmt;
use std::sync::Arc;

/// Milliseconds from one message to the next.
const PACE: i64 = 20_000;

/// When the first message comes, in milliseconds since the Unix epoch.
const START: i64 = 1_760_000_000_000;

/// Characters that a request has besides what was said, for the usage that answers report.
const FRAME: u64 = 4_000;

/// A session: messages with stable ids and times, and moments at which the agent's loop asks the strategy besides
/// those that follow from the messages.
#[derive(Clone, Debug)]
pub struct Session {
    title: String,
    limits: Limits,
    messages: Vec<Arc<Message>>,
    /// What does not follow from the messages: how many were appended before, and what happens.
    besides: Vec<(usize, Besides)>,
    calls: usize,
    /// Characters that a request would have.
    size: u64,
}

/// What happens in an agent's loop besides what is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Besides {
    /// The strategy is asked, with what the provider said was used, where it said something.
    Ask(Moment, Option<Usage>),
    /// The last fold is taken back.
    Undo,
}

impl fmt::Display for Besides {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ask(moment, None) => write!(f, "the loop asks: {moment}"),
            Self::Ask(moment, Some(usage)) => {
                write!(f, "the loop asks: {moment}, {} tokens used", usage.total_tokens())
            }
            Self::Undo => f.write_str("the last fold is taken back"),
        }
    }
}

impl Default for Session {
    fn default() -> Self {
        Self::new("session")
    }
}

impl Session {
    /// A session in which nothing happened yet.
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            limits: Limits::default(),
            messages: Vec::new(),
            besides: Vec::new(),
            calls: 0,
            size: FRAME,
        }
    }

    /// A session of messages that were made otherwise. Ids, times and usage stay as they are.
    pub fn from_messages(
        title: impl Into<String>,
        messages: impl IntoIterator<Item = Arc<Message>>,
    ) -> Self {
        Self { messages: messages.into_iter().collect(), ..Self::new(title) }
    }

    /// The window of the model and its longest answer, in tokens. Without it the strategy's own limits count.
    #[must_use]
    pub fn window(mut self, context: u64, output: u64) -> Self {
        self.limits = Limits::new(context, output);
        self
    }

    /// The user says something.
    #[must_use]
    pub fn user(mut self, text: impl Into<String>) -> Self {
        let id = self.id("u");
        self.push(Message::user(id, text.into()));
        self
    }

    /// The model says something and ends its turn.
    #[must_use]
    pub fn answer(self, text: impl Into<String>) -> Self {
        self.calls(text, &[])
    }

    /// The model calls a tool with JSON arguments, and the result comes.
    #[must_use]
    pub fn call(self, tool: &str, arguments: &str, result: impl AsRef<str>) -> Self {
        self.calls("", &[(tool, arguments, result.as_ref())])
    }

    /// The model says something, or nothing, and calls tools: name, arguments, result.
    #[must_use]
    pub fn calls(mut self, text: impl Into<String>, tools: &[(&str, &str, &str)]) -> Self {
        let text = text.into();
        let first = self.calls;
        let call = |offset: usize| format!("call-{}", first + offset);
        let mut parts = Vec::new();
        if !text.is_empty() {
            parts.push(Part::text(text));
        }
        let numbered = || tools.iter().enumerate();
        parts.extend(numbered().map(|(at, (tool, given, _))| Part::call(call(at), *tool, *given)));
        let finish = if tools.is_empty() { Finish::Stop } else { Finish::ToolCalls };
        let answer = self.answer_that(finish);
        let id = self.id("a");
        self.push(Message::assistant(id, parts).with_answer(answer));
        for (at, (tool, _, result)) in numbered() {
            let id = self.id("t");
            self.push(Message::tool(id, call(at), *tool, *result));
        }
        self.calls += tools.len();
        self
    }

    /// Any other message; its time and its record are set.
    #[must_use]
    pub fn message(mut self, message: Message) -> Self {
        self.push(message);
        self
    }

    /// The agent's loop asks the strategy at a moment that does not follow from the messages: a person compacts, or the
    /// provider refuses the request.
    #[must_use]
    pub fn at(self, moment: Moment) -> Self {
        self.besides(Besides::Ask(moment, None))
    }

    /// As [`at`](Self::at), with the usage that the provider reported.
    #[must_use]
    pub fn at_usage(self, moment: Moment, usage: Usage) -> Self {
        self.besides(Besides::Ask(moment, Some(usage)))
    }

    /// A person takes the last fold back.
    #[must_use]
    pub fn undo(self) -> Self {
        self.besides(Besides::Undo)
    }

    fn besides(mut self, besides: Besides) -> Self {
        self.besides.push((self.messages.len(), besides));
        self
    }

    /// What it is called.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The messages, in order.
    pub fn messages(&self) -> &[Arc<Message>] {
        &self.messages
    }

    /// This session with other messages after the first `keep`. Whatever else happened after those is dropped.
    #[must_use]
    pub fn with_future(&self, keep: usize, future: impl IntoIterator<Item = Arc<Message>>) -> Self {
        let past = self.messages.iter().take(keep).cloned();
        let besides = self.besides.iter().copied().filter(|(behind, _)| *behind < keep).collect();
        Self { messages: past.chain(future).collect(), besides, ..self.clone() }
    }

    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }

    pub(crate) fn with_limits(&self, limits: Limits) -> Self {
        Self { limits, ..self.clone() }
    }

    /// What happens besides behind so many messages.
    pub(crate) fn behind(&self, messages: usize) -> impl Iterator<Item = Besides> + '_ {
        self.besides.iter().filter(move |(behind, _)| *behind == messages).map(|(_, what)| *what)
    }

    /// What a provider would say of an answer that comes now.
    pub(crate) fn answer_that(&self, finish: Finish) -> Answer {
        let usage = Usage { uncached: self.size / 4, output: 50, ..Usage::default() };
        Answer { usage: Some(usage), finish: Some(finish), ..Answer::default() }
    }

    /// The id of the next message.
    pub(crate) fn id(&self, letter: &str) -> String {
        format!("{letter}{}", self.messages.len())
    }

    fn push(&mut self, mut message: Message) {
        let number = self.messages.len();
        message.at = Some(START + PACE * number as i64);
        message.record = u32::try_from(number).ok();
        self.size += message.shown_text().chars().count() as u64;
        self.messages.push(Arc::new(message));
    }
}

/// Text of so many characters that reads like lines of a file.
pub fn lines(name: &str, characters: usize) -> String {
    let line =
        |line: usize| format!("{line:>5} {name}: value_{} = {}\n", line % 97, line * 31 % 1009);
    let mut text = String::new();
    let mut missing = characters;
    for number in 1.. {
        let line = line(number);
        let length = line.chars().count();
        if length >= missing {
            text.extend(line.chars().take(missing));
            break;
        }
        text.push_str(&line);
        missing -= length;
    }
    text
}

/// One line a message: for the person who reads why a test failed.
impl fmt::Display for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for besides in self.behind(0) {
            writeln!(f, "    {besides}")?;
        }
        for (number, message) in self.messages.iter().enumerate() {
            writeln!(f, "{:>3} {}", number + 1, in_words(message))?;
            for besides in self.behind(number + 1) {
                writeln!(f, "    {besides}")?;
            }
        }
        Ok(())
    }
}

fn in_words(message: &Message) -> String {
    let part = |part: &Part| {
        let size = part.shown().chars().count();
        match &part.kind {
            PartKind::Call(call) => format!("calls {} ({})", call.tool, call.call_id),
            PartKind::Result(result) => {
                let failed = if result.status == ResultStatus::Completed { "" } else { " failed" };
                format!("{} ({}){failed}, {size} characters", result.tool, result.call_id)
            }
            _ => format!("{}, {size} characters", part.kind_name()),
        }
    };
    let parts: Vec<String> = message.parts.iter().map(part).collect();
    let cut = message.answer.as_ref().is_some_and(|answer| answer.finish == Some(Finish::Length));
    let cut = if cut && message.role == Role::Assistant { ", cut off" } else { "" };
    format!("{} {}: {}{cut}", message.id, message.role.as_str(), parts.join(", "))
}
