//! What the tests of this crate share: a summarizer that does as it is told, and histories.

use async_trait::async_trait;
use foldback_core::config::{Compiled, ConfigErrors, Document, Options, compile};
use foldback_core::conversation::Conversation;
use foldback_core::event::Event;
use foldback_core::limits::Limits;
use foldback_core::registry::{Invalid, Registration, Registry, StageConfig, StageDescriptor};
use foldback_core::services::{FixedClock, Observer, Services};
use foldback_core::stage::{Summarizer, Summary, SummaryError, SummaryRequest};
use foldback_core::strategy::Strategy;
use foldback_core::{Frame, Message, Part, Role};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::{Arc, Mutex};

/// A summarizer that names the messages it was given, fails, or says too much.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fake {
    pub(crate) answer: Answer,
    pub(crate) asked: Arc<Mutex<Vec<SummaryRequest>>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Answer {
    #[default]
    Names,
    Fails,
    TooLong,
    Empty,
}

impl Fake {
    pub(crate) fn that(answer: Answer) -> Self {
        Self { answer, ..Self::default() }
    }

    /// Names and first and last message of every request so far.
    pub(crate) fn asked(&self) -> Vec<(String, String, String)> {
        let asked = self.asked.lock().unwrap();
        let id = |message: Option<&Arc<Message>>| message.map_or(String::new(), |m| m.id.clone());
        asked
            .iter()
            .map(|r| (r.name.clone(), id(r.messages.first()), id(r.messages.last())))
            .collect()
    }
}

#[async_trait]
impl Summarizer for Fake {
    fn id(&self) -> &str {
        "fake"
    }

    async fn summarize(
        &self,
        request: &SummaryRequest,
        _services: &Services,
    ) -> Result<Summary, SummaryError> {
        self.asked.lock().unwrap().push(request.clone());
        let text = match self.answer {
            Answer::Fails => return Err(SummaryError::Failed("out of order".to_owned())),
            Answer::Names => format!("sum of {}", request.messages.len()),
            Answer::TooLong => "It goes on and on. ".repeat(request.budget as usize),
            Answer::Empty => " ".to_owned(),
        };
        Ok(Summary {
            tokens: request.estimator.text(&text),
            text,
            by: "fake".to_owned(),
            usage: None,
        })
    }
}

/// Lets a file name the fake.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct FakeConfig {}

impl StageConfig<dyn Summarizer> for FakeConfig {
    fn build(self) -> Result<Arc<dyn Summarizer>, Invalid> {
        Ok(Arc::new(Fake::default()))
    }
}

const FAKE: Registration = Registration {
    package: "test",
    version: "0",
    stages: &[StageDescriptor::summarizer::<FakeConfig>("test.fake", "does as it is told")],
    presets: &[],
};

pub(crate) fn registry() -> Registry {
    Registry::of([&foldback_tiered::REGISTRATION, &foldback_stages::REGISTRATION, &FAKE]).unwrap()
}

/// A preset with changes to its filter, summarised by the fake.
pub(crate) fn compiled(
    preset: &str,
    filter: &str,
    options: Options<'_>,
) -> Result<Compiled, ConfigErrors> {
    let text = format!(
        "name = \"mine\"\nextends = \"{preset}\"\n[summarizer]\nuse = \"test.fake\"\n\
         on_failure = \"hide\"\n[filter]\n{filter}\n"
    );
    compile(&registry(), Document::parse("mine.toml", &text).unwrap(), options)
}

pub(crate) fn strategy(preset: &str, filter: &str, fake: &Fake) -> Arc<Strategy> {
    let mut strategy = compiled(preset, filter, Options::default())
        .unwrap_or_else(|errors| panic!("{errors}"))
        .strategy;
    strategy.summarizer = Some(Arc::new(fake.clone()));
    Arc::new(strategy)
}

/// Keeps every event.
#[derive(Debug, Default)]
pub(crate) struct Diary(pub(crate) Mutex<Vec<Event>>);

impl Observer for Diary {
    fn observe(&self, event: &Event) {
        self.0.lock().unwrap().push(event.clone());
    }
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
