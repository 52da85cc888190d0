//! What the tests of this crate share: a summarizer that does as it is told, and histories.

use foldback_core::config::{Compiled, ConfigErrors, Document, Options, compile};
use foldback_core::conversation::Conversation;
use foldback_core::limits::Limits;
use foldback_core::registry::Registry;
use foldback_core::services::{FixedClock, Services};
use foldback_core::stage::SummaryError;
use foldback_core::strategy::Strategy;
use foldback_core::{Frame, Message, Part, Role};
use foldback_testkit::stand_in::Scripted;
use foldback_testkit::talk;
use std::ops::Range;
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Answer {
    Fails,
    TooLong,
    Empty,
}

/// A summarizer that names how many messages it was given.
pub(crate) fn names() -> Arc<Scripted> {
    Scripted::by(|request| Ok(format!("sum of {}", request.messages.len())))
}

/// One that fails, or says too much or nothing.
pub(crate) fn that(answer: Answer) -> Arc<Scripted> {
    Scripted::by(move |request| match answer {
        Answer::Fails => Err(SummaryError::Failed("out of order".to_owned())),
        Answer::TooLong => Ok("It goes on and on. ".repeat(request.budget as usize)),
        Answer::Empty => Ok(" ".to_owned()),
    })
}

/// Name, first and last message of every request so far.
pub(crate) fn asked(fake: &Scripted) -> Vec<(String, String, String)> {
    let id = |message: Option<&Arc<Message>>| message.map_or(String::new(), |m| m.id.clone());
    let asked = fake.asked().into_iter();
    asked.map(|r| (r.name, id(r.messages.first()), id(r.messages.last()))).collect()
}

pub(crate) fn registry() -> Registry {
    talk::registry([&foldback_tiered::REGISTRATION, &foldback_stages::REGISTRATION])
}

/// A preset with changes to its filter, without a summarizer.
pub(crate) fn compiled(
    preset: &str,
    filter: &str,
    options: Options<'_>,
) -> Result<Compiled, ConfigErrors> {
    let text = format!(
        "name = \"mine\"\nextends = \"{preset}\"\n[summarizer]\nuse = \"none\"\n\
         on_failure = \"hide\"\n[filter]\n{filter}\n"
    );
    compile(&registry(), Document::parse("mine.toml", &text).unwrap(), options)
}

pub(crate) fn strategy(preset: &str, filter: &str, fake: &Arc<Scripted>) -> Arc<Strategy> {
    let mut strategy = compiled(preset, filter, Options::default())
        .unwrap_or_else(|errors| panic!("{errors}"))
        .strategy;
    strategy.summarizer = Some(Arc::clone(fake) as _);
    Arc::new(strategy)
}

pub(crate) fn conversation(strategy: &Arc<Strategy>, context: u64) -> Conversation {
    with_frame(strategy, context, Frame::default())
}

pub(crate) fn with_frame(strategy: &Arc<Strategy>, context: u64, frame: Frame) -> Conversation {
    let services = Services::with_clock(Arc::new(FixedClock::at(1_000_000)));
    Conversation::new(Arc::clone(strategy), Limits::new(context, 0), frame, services)
}

/// A user message of about `tokens` tokens by any of the estimators, without a score.
pub(crate) fn filler(id: &str, tokens: usize) -> Message {
    Message::user(id, "y".repeat(tokens * 4))
}

/// Messages of about 100 tokens, the prefix and a number their ids.
pub(crate) fn fillers(prefix: &str, numbers: Range<usize>) -> impl Iterator<Item = Message> {
    numbers.map(move |n| filler(&format!("{prefix}{n}"), 100))
}

/// An assistant message with a call, and its result of about `tokens` tokens.
pub(crate) fn step(id: &str, tokens: usize) -> [Message; 2] {
    let call = format!("call-{id}");
    [
        Message::assistant(format!("{id}-call"), vec![Part::call(&call, "read", "{}")]),
        Message::tool(format!("{id}-result"), &call, "read", "y".repeat(tokens * 4)),
    ]
}

/// Ids of what the model would be sent; summaries by their role.
pub(crate) fn sent(conversation: &Conversation) -> Vec<String> {
    conversation
        .sent()
        .iter()
        .map(|shown| {
            if shown.message.is_entry() {
                format!("<{} summary>", shown.message.role.as_str())
            } else {
                shown.message.id.clone()
            }
        })
        .collect()
}

/// Calls without a result and results without a call, in what the model would be sent.
pub(crate) fn torn(conversation: &Conversation) -> Vec<String> {
    torn_of(conversation.sent().iter().map(|shown| shown.message))
}

/// The same in any messages.
pub(crate) fn torn_of<'a>(messages: impl IntoIterator<Item = &'a Arc<Message>>) -> Vec<String> {
    let mut open: Vec<String> = Vec::new();
    let mut torn = Vec::new();
    for message in messages {
        if message.role == Role::Tool {
            for result in message.parts.iter().filter_map(Part::as_result) {
                match open.iter().position(|call| *call == result.call_id) {
                    Some(index) => drop(open.remove(index)),
                    None => torn.push(result.call_id.clone()),
                }
            }
        }
        open.extend(message.call_ids().map(str::to_owned));
    }
    torn.extend(open);
    torn
}
