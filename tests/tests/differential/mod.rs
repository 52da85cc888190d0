//! Presets beside the real packages of their systems: both are given the same sessions, message by message, and what
//! they would send is compared before calls.
//!
//! A package runs in a process of its own, made by `cargo xtask test-external NAME` under `target/external/NAME`. It
//! reads one session a line, as [`told`] tells it, and answers a line with what it would send.

#![allow(clippy::print_stdout, reason = "a test tells its counts")]

mod cline;
mod codex;
mod corpus;
mod dsh;
mod gemini_cli;
mod hermes;
mod kimi_code;
mod langchain_context_editing;
mod langchain_counts;
mod langchain_deepagents;
mod langchain_summarization;
mod mxf;
mod oh_my_pi;
mod opencode;
mod openhands;
mod package;
mod pi;
mod recorders;
mod stored;
mod swe_agent;
mod told;
mod tunacode;

pub(crate) use corpus::{Case, generated, recorded};
pub(crate) use package::Package;
pub(crate) use stored::{
    ask, ask_program, ask_script, beside, compared, compared_by, drawn_sessions, record,
    recorded_sessions, stored_as,
};
pub(crate) use told::told;

use foldback_core::config::{Document, Options, compile};
use foldback_core::conversation::Conversation;
use foldback_core::log::Role;
use foldback_core::moment::Moment;
use foldback_core::step::{Step, steps};
use foldback_core::strategy::Strategy;
use foldback_core::{Limits, Message};
use foldback_testkit::stand_in::Scripted;
use foldback_testkit::talk;
use std::sync::Arc;

/// A strategy file over the presets that ship.
///
/// # Panics
///
/// If it does not compile.
pub(crate) fn strategy(toml: &str) -> Arc<Strategy> {
    let registry = foldback::registry().unwrap_or_else(|error| panic!("{error}"));
    let document = Document::parse("test.toml", toml).unwrap_or_else(|error| panic!("{error}"));
    let compiled = compile(&registry, document, Options::default());
    Arc::new(compiled.unwrap_or_else(|error| panic!("{error}\n{toml}")).strategy)
}

/// Drives a strategy through each case and shows `compare` the conversation before the calls that the package answered,
/// with the number of messages up to there and the answer.
///
/// # Panics
///
/// If a call that was answered is not made.
pub(crate) fn before_answered<T>(
    strategy: &Arc<Strategy>,
    cases: &[Case],
    answers: Vec<Vec<T>>,
    compare: &mut dyn FnMut(&Case, usize, &Conversation, T),
) {
    for (case, answers) in cases.iter().zip(answers) {
        let mut theirs = case.at.iter().zip(answers).peekable();
        before_calls(strategy, Limits::default(), &case.log, &mut |messages, talk| {
            if let Some((_, answer)) = theirs.next_if(|(at, _)| **at == messages) {
                compare(case, messages, talk, answer);
            }
        });
        assert!(theirs.next().is_none(), "{}: not every call was made", case.name);
    }
}

/// Drives a strategy through a log and shows `look` the conversation before each call, with the number of
/// messages up to there.
pub(crate) fn before_calls(
    strategy: &Arc<Strategy>,
    limits: Limits,
    log: &[Arc<Message>],
    look: &mut dyn FnMut(usize, &Conversation),
) {
    let mut talk = talk::conversation(Arc::clone(strategy), limits);
    let mut appended = 0;
    for step in steps(log) {
        match step {
            Step::Append(message) => {
                talk.append(Arc::clone(message));
                appended += 1;
            }
            Step::At(moment) => drop(talk::at(&mut talk, moment)),
            Step::StepEnd { .. } => drop(talk::at(&mut talk, Moment::StepEnd)),
            Step::Call { .. } => look(appended, &talk),
        }
    }
}

/// Numbered summaries, of a length that follows from the number: the scripts write the same.
pub(crate) fn numbered() -> Arc<Scripted> {
    let mut written = 0_usize;
    Scripted::by(move |_| {
        written += 1;
        Ok(format!("summary {written} {}", "x".repeat(written * 37 % 900)))
    })
}

/// What happens in the loop of an agent.
pub(crate) enum Happens<'s> {
    Appended(&'s Arc<Message>),
    /// The loop asks its strategy.
    Asked,
}

/// What happens in an agent that asks when an answer is complete with the results of its calls: before the next answer,
/// and before the user speaks.
pub(crate) fn happens<'s>(log: impl IntoIterator<Item = &'s Arc<Message>>) -> Vec<Happens<'s>> {
    let mut all = Vec::new();
    let mut answered = false;
    for message in log {
        if answered && message.role != Role::Tool {
            all.push(Happens::Asked);
            answered = false;
        }
        answered |= message.is_answer();
        all.push(Happens::Appended(message));
    }
    if answered {
        all.push(Happens::Asked);
    }
    all
}
