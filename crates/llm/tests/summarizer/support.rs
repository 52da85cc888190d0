//! A scripted model, an observer that takes notes, and small requests.

use async_trait::async_trait;
use foldback_core::event::{Event, ProgressStep};
use foldback_core::log::{Finish, Message, Part, Usage};
use foldback_core::provider::{Completion, CompletionRequest, ErrorKind, Model, ProviderError};
use foldback_core::registry::StageConfig;
use foldback_core::services::{Observer, Services};
use foldback_core::stage::{Estimator, Summarizer, Summary, SummaryError, SummaryRequest};
use foldback_llm::{LlmConfig, LlmSummarizer};
use foldback_stages::estimator::CharsConfig;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// What the model does with a request.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Answers.
    Says(Completion),
    /// Fails.
    Fails(ProviderError),
    /// Never answers.
    Hangs,
}

/// An answer of plain text.
pub(crate) fn says(text: &str) -> Step {
    ends(text, Finish::Stop)
}

/// An answer that ended for a reason.
pub(crate) fn ends(text: &str, finish: Finish) -> Step {
    Step::Says(Completion {
        text: text.to_owned(),
        finish,
        usage: Some(Usage { uncached: 100, output: 10, ..Usage::default() }),
        model: Some("test-model-2026".to_owned()),
    })
}

/// An error of a kind.
pub(crate) fn fails(kind: ErrorKind) -> Step {
    Step::Fails(ProviderError::new(kind, "as scripted"))
}

/// Does one step after the other, then fails.
#[derive(Debug, Default)]
pub(crate) struct Scripted {
    steps: Mutex<VecDeque<Step>>,
    /// Requests, in order.
    pub(crate) requests: Mutex<Vec<CompletionRequest>>,
    /// Requests that are under way.
    pub(crate) open: Arc<AtomicUsize>,
}

/// Counts a request as over, however it ends.
struct Open(Arc<AtomicUsize>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[async_trait]
impl Model for Scripted {
    async fn complete(&self, request: &CompletionRequest) -> Result<Completion, ProviderError> {
        self.requests.lock().unwrap().push(request.clone());
        self.open.fetch_add(1, Ordering::Relaxed);
        let _open = Open(Arc::clone(&self.open));
        let step = self.steps.lock().unwrap().pop_front();
        match step {
            Some(Step::Says(answer)) => Ok(answer),
            Some(Step::Fails(error)) => Err(error),
            Some(Step::Hangs) => std::future::pending().await,
            None => Err(ProviderError::new(ErrorKind::Unknown, "the script is over")),
        }
    }
}

/// Keeps events.
#[derive(Debug, Default)]
pub(crate) struct Notes(Mutex<Vec<Event>>);

impl Observer for Notes {
    fn observe(&self, event: &Event) {
        self.0.lock().unwrap().push(event.clone());
    }
}

/// A summarizer, its model and its observer.
pub(crate) struct Bench {
    pub(crate) summarizer: LlmSummarizer,
    pub(crate) model: Arc<Scripted>,
    pub(crate) notes: Arc<Notes>,
    pub(crate) services: Services,
}

impl Bench {
    pub(crate) fn new(config: LlmConfig, steps: impl IntoIterator<Item = Step>) -> Self {
        let model = Arc::new(Scripted {
            steps: Mutex::new(steps.into_iter().collect()),
            ..Scripted::default()
        });
        let notes = Arc::new(Notes::default());
        let services = Services::fixed()
            .with_model(Arc::clone(&model) as _)
            .with_observer(Arc::clone(&notes) as _);
        Self { summarizer: LlmSummarizer::new(config).unwrap(), model, notes, services }
    }

    pub(crate) fn then(&self, step: Step) {
        self.model.steps.lock().unwrap().push_back(step);
    }

    pub(crate) async fn ask(&self, request: &SummaryRequest) -> Result<Summary, SummaryError> {
        self.summarizer.summarize(request, &self.services).await
    }

    /// Number of requests that reached the model.
    pub(crate) fn sent(&self) -> usize {
        self.model.requests.lock().unwrap().len()
    }

    pub(crate) fn request(&self, index: usize) -> CompletionRequest {
        self.model.requests.lock().unwrap()[index].clone()
    }

    /// Progress, a word or two for each event: `ask whole`, `retry 2 in 1000`, `to cleared`.
    pub(crate) fn steps(&self) -> Vec<String> {
        let events = self.notes.0.lock().unwrap();
        events
            .iter()
            .map(|event| match event {
                Event::Progress { stage, name, step } => {
                    assert_eq!((stage.as_str(), name.as_str()), ("llm", "test"));
                    match step {
                        ProgressStep::Asking { what, bytes } => {
                            assert!(*bytes > 0);
                            format!("ask {what}")
                        }
                        ProgressStep::Retrying { attempt, wait, .. } => {
                            format!("retry {attempt} in {wait}")
                        }
                        ProgressStep::SteppingDown { to, why } => {
                            assert!(!why.is_empty());
                            format!("to {to}")
                        }
                        other => format!("{other:?}"),
                    }
                }
                other => panic!("{other:?}"),
            })
            .collect()
    }
}

/// Waits for a future on a runtime whose time is paused.
pub(crate) fn paused<T>(future: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_time().start_paused(true).build().unwrap().block_on(future)
}

/// One token per four characters.
pub(crate) fn estimator() -> Arc<dyn Estimator> {
    CharsConfig::default().build().unwrap()
}

pub(crate) fn request(style: &str, messages: Vec<Message>) -> SummaryRequest {
    SummaryRequest {
        name: "test".to_owned(),
        style: style.to_owned(),
        messages: messages.into_iter().map(Arc::new).collect(),
        previous: None,
        instructions: Vec::new(),
        budget: 300,
        estimator: estimator(),
        ready: None,
    }
}

/// A person's wish, a call, its result and an answer.
pub(crate) fn small() -> Vec<Message> {
    vec![
        Message::user("u1", "hello, fix the build"),
        Message::assistant("a1", vec![Part::call("c1", "bash", r#"{"command":"make"}"#)]),
        Message::tool("t1", "c1", "bash", "error: missing semicolon in a.c"),
        Message::assistant("a2", vec![Part::text("Decided to add the semicolon.")]),
    ]
}

/// A session whose outputs take `output` characters each, and whose texts `text`.
pub(crate) fn large(turns: usize, output: usize, text: usize) -> Vec<Message> {
    let fill = |n: usize| "lorem ipsum ".repeat(n / 12 + 1)[..n].to_owned();
    (0..turns)
        .flat_map(|turn| {
            let call = format!("c{turn}");
            [
                Message::user(format!("u{turn}"), format!("turn {turn}: {}", fill(text))),
                Message::assistant(
                    format!("a{turn}"),
                    vec![Part::call(&call, "read", format!(r#"{{"path":"{turn}.rs"}}"#))],
                ),
                Message::tool(format!("t{turn}"), &call, "read", fill(output)),
            ]
        })
        .collect()
}

/// A summarizing model with a window of so many tokens.
pub(crate) fn window(context_tokens: u64) -> LlmConfig {
    LlmConfig {
        context_tokens,
        max_output_tokens: 400,
        tool_output_max: 100,
        ..LlmConfig::default()
    }
}
