//! Compiles strategies, fills conversations, and drives them without a runtime.

use async_trait::async_trait;
use foldback_core::config::{Document, Options, compile};
use foldback_core::conversation::{Conversation, Report, Signals};
use foldback_core::log::Message;
use foldback_core::moment::Moment;
use foldback_core::services::Services;
use foldback_core::stage::{Summarizer, Summary, SummaryError, SummaryRequest};
use foldback_core::strategy::Strategy;
use foldback_core::{Frame, Limits};
use std::hint::black_box;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// The window that most benches run in.
pub const LIMITS: Limits = Limits { context: 200_000, input: 0, output: 32_000 };

/// A preset.
///
/// # Panics
///
/// If there is no such preset.
pub fn preset(name: &str) -> Strategy {
    match foldback::registry().map(|registry| foldback::preset(&registry, name)) {
        Ok(Ok(strategy)) => strategy,
        Ok(Err(errors)) => panic!("{name}: {errors}"),
        Err(error) => panic!("registry: {error}"),
    }
}

/// The strategy in a text.
///
/// # Panics
///
/// If it does not compile.
pub fn configured(source: &str, text: &str) -> Strategy {
    let document = match Document::parse(source, text) {
        Ok(document) => document,
        Err(errors) => panic!("{errors}"),
    };
    match foldback::registry().map(|registry| compile(&registry, document, Options::default())) {
        Ok(Ok(compiled)) => compiled.strategy,
        Ok(Err(errors)) => panic!("{errors}"),
        Err(error) => panic!("registry: {error}"),
    }
}

/// The strategy with summaries that cost nothing, so that what is measured is the fold around them.
pub fn with_fixed_summary(mut strategy: Strategy) -> Strategy {
    strategy.summarizer = Some(Arc::new(FixedSummary));
    strategy
}

/// A conversation that holds these messages, all of them counted.
pub fn counted(
    strategy: &Arc<Strategy>,
    limits: Limits,
    messages: &[Arc<Message>],
) -> Conversation {
    let mut conversation =
        Conversation::new(Arc::clone(strategy), limits, Frame::default(), Services::fixed());
    for message in messages {
        conversation.append(Arc::clone(message));
    }
    conversation
}

/// Calls a conversation at a moment. Nothing that the embedded stages wait for is ever pending.
///
/// # Panics
///
/// If something is.
pub fn at(conversation: &mut Conversation, moment: Moment) -> Vec<Report> {
    ready(conversation.at(moment, Signals::default()))
}

/// What a future gives at once.
///
/// # Panics
///
/// If it waits for something.
pub fn ready<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(ready) => ready,
        Poll::Pending => panic!("a stage waits for something"),
    }
}

/// Memory enough to push everything else out of the processor's caches.
#[derive(Debug)]
pub struct Caches(Vec<u64>);

impl Caches {
    /// 64 MiB.
    #[expect(clippy::new_without_default, reason = "a default should be cheap")]
    pub fn new() -> Self {
        Self(vec![0; 8 << 20])
    }

    /// Touches every line of it.
    pub fn fill_with_something_else(&mut self) {
        for word in self.0.iter_mut().step_by(8) {
            *word = word.wrapping_add(1);
        }
        black_box(&self.0);
    }
}

/// A summary that is always the same.
#[derive(Debug)]
struct FixedSummary;

const SUMMARY: &str =
    "The parser reads the new syntax; its tests pass, the benches are still to be run.";

#[async_trait]
impl Summarizer for FixedSummary {
    fn id(&self) -> &str {
        "fixed"
    }

    async fn summarize(
        &self,
        request: &SummaryRequest,
        _services: &Services,
    ) -> Result<Summary, SummaryError> {
        Ok(Summary {
            text: SUMMARY.to_owned(),
            tokens: request.estimator.text(SUMMARY),
            by: self.id().to_owned(),
            usage: None,
            lacks: None,
        })
    }
}
