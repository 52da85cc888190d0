//! Strategies and conversations by hand, for tests that go moment by moment.
//!
//! ```
//! use foldback_core::{Limits, Message, moment::Moment};
//! use foldback_testkit::talk::{append, at, compiled, conversation, registry, sent_texts, step};
//!
//! let registry = registry([&foldback_stages::REGISTRATION]);
//! let strategy = compiled(&registry, r#"
//!     name = "mine"
//!     extends = "keep-last-1"
//! "#);
//! let mut talk = conversation(strategy, Limits::default());
//! talk.append(Message::user("u", "Read both."));
//! append(&mut talk, step(1, "read", "the first file ".repeat(20)));
//! append(&mut talk, step(2, "read", "the second file ".repeat(20)));
//! at(&mut talk, Moment::CallStart);
//! assert_eq!(sent_texts(&talk)[2], "[Tool result cleared]");
//! ```

use crate::stand_in::Scripted;
use foldback_core::config::{ConfigErrors, Document, Options, compile, compile_preset};
use foldback_core::conversation::{Conversation, Report, Signals};
use foldback_core::log::{Message, Part, Usage};
use foldback_core::moment::Moment;
use foldback_core::registry::{Registration, Registry};
use foldback_core::services::Services;
use foldback_core::stage::{UsageReading, UsageSource};
use foldback_core::strategy::Strategy;
use foldback_core::{Frame, Limits};
use serde::de::DeserializeOwned;
use std::sync::Arc;

/// The registry of these crates.
///
/// # Panics
///
/// If two of their stages have one name.
pub fn registry<'a>(registrations: impl IntoIterator<Item = &'a Registration>) -> Registry {
    Registry::from_registrations(registrations).unwrap_or_else(|error| panic!("{error}"))
}

/// A strategy file, compiled.
///
/// # Errors
///
/// What is wrong with the file.
pub fn try_compile(registry: &Registry, toml: &str) -> Result<Strategy, ConfigErrors> {
    let document = Document::parse("test.toml", toml).unwrap_or_else(|error| panic!("{error}"));
    compile(registry, document, Options::default()).map(|compiled| compiled.strategy)
}

/// A strategy file that must compile.
///
/// # Panics
///
/// If it does not.
pub fn compiled(registry: &Registry, toml: &str) -> Strategy {
    try_compile(registry, toml).unwrap_or_else(|errors| panic!("{errors}\n{toml}"))
}

/// The configuration that a preset states for a stage, e.g. at `overflow` or `pruner[0]`.
///
/// # Panics
///
/// If there is no such preset or section, or the section is of another stage.
pub fn config<C: DeserializeOwned>(registry: &Registry, preset: &str, section: &str) -> C {
    let compiled = compile_preset(registry, preset, Options::default());
    let root = compiled.unwrap_or_else(|errors| panic!("{errors}")).root;
    let node = root.at(section).unwrap_or_else(|| panic!("{preset} has no {section}"));
    let mut fields = node.to_value();
    if let Some(fields) = fields.as_object_mut() {
        fields.retain(|name, _| !["use", "when", "enabled", "estimator"].contains(&name.as_str()));
    }
    serde_json::from_value(fields).unwrap_or_else(|error| panic!("{preset} {section}: {error}"))
}

/// A strategy whose folds may be larger than what they replace, summarized by a script: rows are small.
pub fn unguarded(mut strategy: Strategy, summaries: &Arc<Scripted>) -> Strategy {
    strategy.guards.no_growth = false;
    strategy.summarizer = Some(Arc::clone(summaries) as _);
    strategy
}

/// A conversation with nothing around it.
pub fn conversation(strategy: impl Into<Arc<Strategy>>, limits: Limits) -> Conversation {
    Conversation::new(strategy.into(), limits, Frame::default(), Services::fixed())
}

/// Appends messages.
pub fn append(
    conversation: &mut Conversation,
    messages: impl IntoIterator<Item = impl Into<Arc<Message>>>,
) {
    for message in messages {
        conversation.append(message);
    }
}

/// Waits for what needs no timer and no network.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.unwrap_or_else(|error| panic!("{error}")).block_on(future)
}

/// Runs a moment.
pub fn at(conversation: &mut Conversation, moment: Moment) -> Vec<Report> {
    block_on(conversation.at(moment, Signals::default()))
}

/// Runs a moment with what the provider said was used, where it said something.
pub fn at_usage(
    conversation: &mut Conversation,
    moment: Moment,
    usage: Option<Usage>,
) -> Vec<Report> {
    let usage = usage.map(|usage| UsageReading { usage, source: UsageSource::Provider });
    block_on(conversation.at(moment, Signals { usage, instructions: None }))
}

/// Ids of what the model would be sent, in order.
pub fn sent_ids(conversation: &Conversation) -> Vec<String> {
    conversation.sent().iter().map(|shown| shown.message.id.clone()).collect()
}

/// What the model would be sent, one text per message.
pub fn sent_texts(conversation: &Conversation) -> Vec<String> {
    conversation.sent().iter().map(|shown| shown.to_message().shown_text()).collect()
}

/// What the model would be sent: `role: text`, one per message.
pub fn sent_lines(conversation: &Conversation) -> Vec<String> {
    let sent = conversation.sent();
    let line = |message: Message| format!("{}: {}", message.role.as_str(), message.shown_text());
    sent.iter().map(|shown| line(shown.to_message())).collect()
}

/// A call of a tool and its result, with ids that end in `id`.
pub fn step(id: impl std::fmt::Display, tool: &str, output: impl Into<String>) -> [Message; 2] {
    let call = format!("c{id}");
    [
        Message::assistant(format!("a{id}"), vec![Part::call(&call, tool, "{}")]),
        Message::tool(format!("t{id}"), call, tool, output),
    ]
}
