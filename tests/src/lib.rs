//! What the tests of the workspace share: sessions made in code, every preset compiled, and the
//! laboratory in one call.

/// The examples of the documents compile and run.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../../docs/agents.md")]
    struct Agents;
    #[doc = include_str!("../../docs/stages.md")]
    struct Stages;
    #[doc = include_str!("../../crates/wire/README.md")]
    struct Wire;
}

use foldback_core::log::{Answer, Finish, Message, Part, Usage};
use foldback_core::strategy::Strategy;
use foldback_core::{Limits, Part as MessagePart};
use foldback_formats::Session;
use foldback_formats::session::{Shape, Source};
use foldback_replay::ReplayOptions;
use std::sync::Arc;

pub mod lab;
pub mod planted;

/// All presets, by name.
pub fn presets() -> Vec<Arc<Strategy>> {
    let registry = foldback::registry().expect("a registry");
    registry.presets().map(|preset| strategy(preset.item.name)).collect()
}

/// One preset.
pub fn strategy(name: &str) -> Arc<Strategy> {
    Arc::new(owned(name))
}

/// One preset, to be changed by a test.
pub fn owned(name: &str) -> Strategy {
    let registry = foldback::registry().expect("a registry");
    foldback::preset(&registry, name).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Whether a preset keeps all guards on.
pub fn guarded(strategy: &Strategy) -> bool {
    strategy.guards.off().is_empty()
}

/// A session with a window of `context` tokens, told in user turns and model calls.
#[derive(Debug)]
pub struct Script {
    messages: Vec<Message>,
    calls: usize,
    /// Characters that a request would have.
    size: u64,
}

/// Milliseconds from one message to the next.
const PACE: i64 = 20_000;

impl Default for Script {
    fn default() -> Self {
        Self { messages: Vec::new(), calls: 0, size: 4_000 }
    }
}

impl Script {
    fn push(&mut self, mut message: Message) {
        let number = self.messages.len();
        message.at = Some(1_760_000_000_000 + PACE * number as i64);
        message.record = Some(number as u32);
        self.size += message.shown_text().chars().count() as u64;
        self.messages.push(message);
    }

    /// The user says something.
    pub fn user(&mut self, text: &str) -> &mut Self {
        let id = format!("u{}", self.messages.len());
        self.push(Message::user(id, text));
        self
    }

    /// The model says something and runs tools: name, arguments, result.
    pub fn call(&mut self, text: &str, tools: &[(&str, &str, &str)]) -> &mut Self {
        let usage = Usage { uncached: self.size / 4, output: 50, ..Usage::default() };
        let mut parts = Vec::new();
        if !text.is_empty() {
            parts.push(MessagePart::text(text));
        }
        let first = self.calls;
        for (offset, (tool, arguments, _)) in tools.iter().enumerate() {
            parts.push(Part::call(format!("call-{}", first + offset), *tool, *arguments));
        }
        let id = format!("a{}", self.messages.len());
        let finish = if tools.is_empty() { Finish::Stop } else { Finish::ToolCalls };
        let answer = Answer { usage: Some(usage), finish: Some(finish), ..Answer::default() };
        self.push(Message::assistant(id, parts).with_answer(answer));
        for (offset, (tool, _, result)) in tools.iter().enumerate() {
            let id = format!("t{}", self.messages.len());
            self.push(Message::tool(id, format!("call-{}", first + offset), *tool, *result));
        }
        self.calls += tools.len();
        self
    }

    /// The session.
    pub fn session(&self) -> Session {
        let source = Source { text: "".into(), shape: Shape::Lines, records: Default::default() };
        let mut session = Session::new("script", "foldback", source);
        session.messages = self.messages.iter().cloned().map(Arc::new).collect();
        session
    }
}

/// Text of so many characters that still reads as lines of a file.
pub fn file(name: &str, characters: usize) -> String {
    let mut text = String::new();
    let mut line = 1;
    while text.len() < characters {
        text.push_str(&format!("{line:>5} {name}: value_{} = {}\n", line % 97, line * 31 % 1009));
        line += 1;
    }
    text.truncate(characters);
    text
}

/// Replay options with a window, measured by characters.
pub fn options(context: u64, output: u64) -> ReplayOptions {
    use foldback_stages::estimator::{Rounding, Unit, chars};
    ReplayOptions {
        limits: Limits::new(context, output),
        model: None,
        measure: Arc::new(chars(Unit::Utf16, Rounding::Ceil)),
        validate: true,
        completions: None,
        ceiling: None,
    }
}
