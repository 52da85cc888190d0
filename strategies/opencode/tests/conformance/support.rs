//! Presets, conversations and summarizers for the rows.

use async_trait::async_trait;
use foldback_core::config::{Document, Options, compile};
use foldback_core::conversation::{Conversation, Report, Signals};
use foldback_core::log::{Answer, Finish, Message, Part, Usage};
use foldback_core::moment::Moment;
use foldback_core::registry::Registry;
use foldback_core::services::Services;
use foldback_core::stage::{Summarizer, Summary, SummaryError, SummaryRequest};
use foldback_core::stage::{UsageReading, UsageSource};
use foldback_core::strategy::Strategy;
use foldback_core::{Frame, Limits, PartKind};
use std::sync::{Arc, Mutex};

pub(crate) fn registry() -> Registry {
    Registry::of([&foldback_stages::REGISTRATION, &foldback_opencode::REGISTRATION]).unwrap()
}

/// A preset with changes, without a summarizer.
pub(crate) fn strategy(preset: &str, changes: &str) -> Strategy {
    let toml = format!(
        "name = \"test\"\nextends = \"{preset}\"\n{changes}\n[summarizer]\nuse = \"none\"\n"
    );
    let document = Document::parse("test", &toml).unwrap();
    compile(&registry(), document, Options::default())
        .unwrap_or_else(|errors| panic!("{errors}"))
        .strategy
}

/// Answers every request with the next text of a list, and keeps the requests.
#[derive(Debug)]
pub(crate) struct Scripted {
    texts: Mutex<Vec<Result<String, SummaryError>>>,
    pub(crate) requests: Mutex<Vec<SummaryRequest>>,
}

impl Scripted {
    pub(crate) fn new<const N: usize>(texts: [Result<&str, SummaryError>; N]) -> Arc<Self> {
        let texts = texts.into_iter().map(|text| text.map(str::to_owned));
        Arc::new(Self { texts: Mutex::new(texts.rev().collect()), requests: Mutex::default() })
    }

    pub(crate) fn request(&self, index: usize) -> SummaryRequest {
        self.requests.lock().unwrap()[index].clone()
    }

    /// The texts that a request shows, in order.
    pub(crate) fn shown(&self, index: usize) -> Vec<String> {
        let request = self.request(index);
        request.messages.iter().map(|m| m.shown_text()).collect()
    }
}

#[async_trait]
impl Summarizer for Scripted {
    fn id(&self) -> &str {
        "scripted"
    }

    async fn summarize(
        &self,
        request: &SummaryRequest,
        _services: &Services,
    ) -> Result<Summary, SummaryError> {
        self.requests.lock().unwrap().push(request.clone());
        let text = self.texts.lock().unwrap().pop();
        let text = text.unwrap_or_else(|| Err(SummaryError::Failed("no text left".into())))?;
        Ok(Summary {
            tokens: request.estimator.text(&text),
            text,
            by: "scripted".to_owned(),
            usage: None,
        })
    }
}

pub(crate) fn conversation(strategy: Strategy, limits: Limits) -> Conversation {
    Conversation::new(Arc::new(strategy), limits, Frame::default(), Services::default())
}

pub(crate) fn at(
    conversation: &mut Conversation,
    moment: Moment,
    usage: Option<Usage>,
) -> Vec<Report> {
    let usage = usage.map(|usage| UsageReading { usage, source: UsageSource::Provider });
    let signals = Signals { usage, instructions: None };
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(conversation.at(moment, signals))
}

pub(crate) fn usage(input: u64, output: u64, cache_read: u64) -> Usage {
    Usage { uncached: input, output, cache_read, ..Usage::default() }
}

/// An answer of one text that ended its turn.
pub(crate) fn answer(id: &str, text: &str) -> Message {
    assistant(id, vec![Part::text(text)], Finish::Stop)
}

pub(crate) fn assistant(id: &str, parts: Vec<Part>, finish: Finish) -> Message {
    Message {
        answer: Some(Answer {
            finish: Some(finish),
            model: Some("big".to_owned()),
            provider: Some("maker".to_owned()),
            ..Answer::default()
        }),
        ..Message::assistant(id, parts)
    }
}

/// An answer that calls tools, and their results: (tool, output).
pub(crate) fn tools(id: &str, calls: &[(&str, &str)]) -> Vec<Message> {
    let call_id = |index| format!("{id}-call-{index}");
    let parts = calls
        .iter()
        .enumerate()
        .map(|(index, (tool, _))| Part::call(call_id(index), *tool, "{}"))
        .collect();
    let mut messages = vec![assistant(id, parts, Finish::ToolCalls)];
    for (index, (tool, output)) in calls.iter().enumerate() {
        let result = format!("{id}-result-{index}");
        messages.push(Message::tool(result, call_id(index), *tool, *output));
    }
    messages
}

/// Ids of what the model would be sent, in order.
pub(crate) fn sent_ids(conversation: &Conversation) -> Vec<String> {
    let sent = conversation.sent();
    sent.iter().map(|shown| shown.message.id.clone()).collect()
}

/// What the model would be sent, one text per message.
pub(crate) fn sent_texts(conversation: &Conversation) -> Vec<String> {
    let sent = conversation.sent();
    sent.iter().map(|shown| shown.to_message().shown_text()).collect()
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
