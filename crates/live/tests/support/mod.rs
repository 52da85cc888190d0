//! Conversations for the tests: a preset, and a log that outgrows its window.

#![allow(dead_code, reason = "every test takes what it needs")]

use foldback::{Conversation, Frame, Limits, Message, Part, Services};
use foldback_core::services::FixedClock;
use std::ops::Range;
use std::sync::Arc;

pub(crate) use foldback_testkit::talk::{append, at};

/// A window that a few steps fill.
pub(crate) fn limits() -> Limits {
    Limits::new(12_000, 1_000)
}

/// An empty conversation under a preset, with a clock that the caller may set.
pub(crate) fn conversation(preset: &str, clock: &Arc<FixedClock>) -> Conversation {
    let registry = foldback::registry().expect("the registry");
    let strategy = foldback::preset(&registry, preset).expect("the preset");
    let services = Services::with_clock(Arc::clone(clock) as _);
    Conversation::new(Arc::new(strategy), limits(), Frame::default(), services)
}

/// One step of an agent: a call and its result, of so many words.
pub(crate) fn step(number: usize, words: usize) -> [Message; 2] {
    let call = format!("call-{number}");
    let arguments = format!("{{\"path\":\"src/file_{number}.rs\"}}");
    let text: String = (0..words).map(|word| format!("word{number}x{word} ")).collect();
    [
        Message::assistant(
            format!("a{number}"),
            vec![
                Part::text(format!("I look at file {number}.")),
                Part::call(&call, "read", arguments),
            ],
        ),
        Message::tool(format!("t{number}"), &call, "read", text),
    ]
}

/// A user's message that begins a turn.
pub(crate) fn asks(number: usize) -> Message {
    Message::user(format!("u{number}"), format!("Question {number}: why does it fail?"))
}

/// Turns with these numbers: a question, a call and its result of so many words.
pub(crate) fn turns(conversation: &mut Conversation, numbers: Range<usize>, words: usize) {
    for number in numbers {
        conversation.append(asks(number));
        append(conversation, step(number, words));
    }
}

/// What would be sent, as JSON.
pub(crate) fn sent(conversation: &Conversation) -> String {
    let sent: Vec<Message> = conversation.sent().iter().map(|shown| shown.to_message()).collect();
    serde_json::to_string(&sent).expect("messages are JSON")
}

/// The stored history with its edits, and what is visible of it, as JSON.
pub(crate) fn stored(conversation: &Conversation) -> String {
    let stored: Vec<_> =
        conversation.stored().iter().map(|item| (item.shown.to_message(), item.visible)).collect();
    let edits: Vec<_> = conversation.view().edits().iter().collect();
    serde_json::to_string(&(stored, edits)).expect("messages are JSON")
}
