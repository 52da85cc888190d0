//! Strategies, messages and views of the tests here.

use super::faults::Faulty;
use foldback_core::conversation::{Conversation, Report, StageRole};
use foldback_core::log::{Answer, Finish, Message, Part, Usage};
use foldback_core::moment::Moment;
use foldback_core::outcome::Outcome;
use foldback_core::services::Services;
use foldback_core::strategy::Strategy;
use foldback_core::{Frame, Limits};
use foldback_live::AgentLoop;
use foldback_testkit::talk;
use std::sync::Arc;

/// A preset whose summaries are written by a model, with changes.
pub(crate) fn with_model(preset: &str, changes: &str) -> Arc<Strategy> {
    // The window compactor keeps a fixed number of tokens free; here it fits the window.
    let small = "[overflow]\nmax_output = 600\n";
    let changes = match (preset, changes.contains("[overflow]\n")) {
        ("window", true) => changes.replace("[overflow]\n", small),
        ("window", false) => format!("{changes}{small}"),
        _ => changes.to_owned(),
    };
    let text = format!(
        "name = \"mine\"\nextends = \"{preset}\"\n{changes}\n[summarizer]\nuse = \"llm\"\nmodel = \"claude-haiku-4-5\"\nmax_output_tokens = 1_000\ncontext_tokens = 6_000\nmemo = 0\n"
    );
    Arc::new(talk::compiled(&foldback::registry().unwrap(), &text))
}

/// An agent with a window.
pub(crate) fn agent(
    strategy: &Arc<Strategy>,
    model: Option<&Arc<Faulty>>,
    limits: Limits,
) -> AgentLoop {
    let mut services = Services::fixed();
    services.model = model.map(|model| Arc::clone(model) as _);
    AgentLoop::new(Conversation::new(Arc::clone(strategy), limits, Frame::default(), services))
}

/// An answer that calls tools (id, arguments), or ends the turn.
pub(crate) fn answer(
    id: &str,
    text: &str,
    calls: &[(String, String)],
    finish: Finish,
    input: u64,
) -> Message {
    let texts = (!text.is_empty()).then(|| Part::text(text));
    let calls =
        calls.iter().map(|(id, arguments)| Part::call(id.clone(), "read", arguments.clone()));
    Message::assistant(id, texts.into_iter().chain(calls).collect()).with_answer(Answer {
        usage: Some(Usage { uncached: input, output: 40, ..Usage::default() }),
        finish: Some(finish),
        ..Answer::default()
    })
}

/// An answer of a few tokens that reads a file; the call is `id`.
pub(crate) fn reads(message: &str, id: &str, path: &str) -> Message {
    let call = (id.to_owned(), format!("{{\"path\":\"{path}\"}}"));
    answer(message, "", &[call], Finish::ToolCalls, 9)
}

/// What the model would be sent, as one text.
pub(crate) fn view(conversation: &Conversation) -> String {
    let sent = conversation.sent();
    let text = |message: Message| format!("{}\n{}\n", message.role.as_str(), message.shown_text());
    sent.iter().map(|shown| text(shown.to_message())).collect()
}

/// Size of the request for a provider: bytes by four.
pub(crate) fn size(conversation: &Conversation) -> u64 {
    view(conversation).len() as u64 / 4
}

/// Whether a report is about a fold that a model may have been asked for.
pub(crate) fn is_try(report: &Report) -> bool {
    report.role == StageRole::Fold
        && matches!(report.outcome, Outcome::Changed | Outcome::Degraded(_) | Outcome::Failed(_))
}

/// Whether a report is about an automatic fold that was committed.
pub(crate) fn is_automatic_fold(report: &Report) -> bool {
    report.role == StageRole::Fold && report.outcome.changed() && report.moment != Moment::Manual
}
