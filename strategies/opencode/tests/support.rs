//! Presets, messages and what is cleared, for the rows.

use foldback_core::conversation::Conversation;
use foldback_core::log::{Answer, Finish, Message, Part, Usage};
use foldback_core::registry::Registry;
use foldback_core::strategy::Strategy;
use foldback_core::{Limits, PartKind};
use foldback_testkit::talk;

pub(crate) use foldback_testkit::stand_in::Scripted;
pub(crate) use foldback_testkit::talk::{
    append, at_usage as at, conversation, sent_ids, sent_texts,
};

pub(crate) fn registry() -> Registry {
    talk::registry([&foldback_stages::REGISTRATION, &foldback_opencode::REGISTRATION])
}

/// A preset with changes, without a summarizer, as a file.
pub(crate) fn file(preset: &str, changes: &str) -> String {
    format!("name = \"test\"\nextends = \"{preset}\"\n{changes}\n[summarizer]\nuse = \"none\"\n")
}

/// The same, compiled.
pub(crate) fn strategy(preset: &str, changes: &str) -> Strategy {
    talk::compiled(&registry(), &file(preset, changes))
}

/// Limits as rows have them: window, output, and a limit of the input where there is one.
pub(crate) fn limits(row: &[u64]) -> Limits {
    match *row {
        [context, output] => Limits::new(context, output),
        [context, output, input] => Limits::new(context, output).with_input(input),
        _ => panic!("no limits: {row:?}"),
    }
}

pub(crate) fn usage(input: u64, output: u64, cache_read: u64) -> Usage {
    Usage { uncached: input, output, cache_read, ..Usage::default() }
}

/// An answer of one text that ended its turn.
pub(crate) fn answer(id: &str, text: &str) -> Message {
    assistant(id, vec![Part::text(text)], Finish::Stop)
}

pub(crate) fn assistant(id: &str, parts: Vec<Part>, finish: Finish) -> Message {
    let answer = Answer {
        finish: Some(finish),
        model: Some("big".to_owned()),
        provider: Some("maker".to_owned()),
        ..Answer::default()
    };
    Message::assistant(id, parts).with_answer(answer)
}

/// An answer that calls tools, and their results: (tool, output).
pub(crate) fn tools(id: &str, calls: &[(&str, &str)]) -> Vec<Message> {
    let call_id = |index| format!("{id}-call-{index}");
    let numbered = || calls.iter().enumerate();
    let parts = numbered().map(|(index, (tool, _))| Part::call(call_id(index), *tool, "{}"));
    let results = numbered().map(|(index, (tool, output))| {
        Message::tool(format!("{id}-result-{index}"), call_id(index), *tool, *output)
    });
    std::iter::once(assistant(id, parts.collect(), Finish::ToolCalls)).chain(results).collect()
}

/// Call ids of the results that are cleared.
pub(crate) fn cleared(conversation: &Conversation) -> Vec<String> {
    let stored = conversation.stored();
    stored
        .iter()
        .flat_map(|stored| {
            let message = stored.shown.message;
            let parts = message.parts.iter().enumerate();
            parts.filter_map(|(index, part)| match &part.kind {
                PartKind::Result(result) if stored.shown.edit(index).is_some() => {
                    Some(result.call_id.clone())
                }
                _ => None,
            })
        })
        .collect()
}
