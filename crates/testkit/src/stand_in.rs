//! Stand-ins for what a conversation is given: a summarizer that does as it is told, and an observer.
//!
//! ```
//! use foldback_stages::REGISTRATION;
//! use foldback_testkit::{Subject, stand_in::Scripted, talk};
//! use std::sync::Arc;
//!
//! // A strategy whose summaries are always the same; `asked` says afterwards what they were to be of.
//! let scripted = Scripted::always(Some("What was done so far."));
//! let mut strategy = talk::compiled(&talk::registry([&REGISTRATION]), "name = \"mine\"\nextends = \"drop-oldest\"");
//! strategy.summarizer = Some(scripted.clone());
//! let subject = Subject::from(strategy);
//! assert!(scripted.asked().is_empty());
//! # let _ = subject;
//! ```

use async_trait::async_trait;
use foldback_core::event::Event;
use foldback_core::log::{Message, Part, Usage};
use foldback_core::provider::{Asks, Endpoint};
use foldback_core::services::{Observer, Services};
use foldback_core::stage::{Estimator, Summarizer, Summary, SummaryError, SummaryRequest};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

type Answers = dyn FnMut(&SummaryRequest) -> Result<String, SummaryError> + Send;

/// A summarizer that gives prepared answers and records its requests.
pub struct Scripted {
    answers: Mutex<Box<Answers>>,
    asked: Mutex<Vec<SummaryRequest>>,
    usage: Option<Usage>,
}

impl fmt::Debug for Scripted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scripted")
    }
}

impl Scripted {
    /// Answers each request by a function.
    pub fn by(
        answers: impl FnMut(&SummaryRequest) -> Result<String, SummaryError> + Send + 'static,
    ) -> Arc<Self> {
        Self::with(answers, None)
    }

    /// Always says the same, at the same cost.
    pub fn costing(text: &str, usage: Usage) -> Arc<Self> {
        let text = text.to_owned();
        Self::with(move |_| Ok(text.clone()), Some(usage))
    }

    fn with(
        answers: impl FnMut(&SummaryRequest) -> Result<String, SummaryError> + Send + 'static,
        usage: Option<Usage>,
    ) -> Arc<Self> {
        let (answers, asked) = (Mutex::new(Box::new(answers) as _), Mutex::default());
        Arc::new(Self { answers, asked, usage })
    }

    /// Always says the same; fails where that is nothing.
    pub fn always(text: Option<&str>) -> Arc<Self> {
        let answer =
            text.map(str::to_owned).ok_or_else(|| SummaryError::Failed("no model".to_owned()));
        Self::by(move |_| answer.clone())
    }

    /// Gives the answers of a list, then fails.
    pub fn in_turn<const N: usize>(answers: [Result<&str, SummaryError>; N]) -> Arc<Self> {
        let mut answers = answers.map(|text| text.map(str::to_owned)).into_iter();
        let over = || Err(SummaryError::Failed("no text left".to_owned()));
        Self::by(move |_| answers.next().unwrap_or_else(over))
    }

    /// The request with this number, from 0 on.
    pub fn request(&self, index: usize) -> SummaryRequest {
        self.asked().swap_remove(index)
    }

    /// The texts that a request shows, in order.
    pub fn shown(&self, index: usize) -> Vec<String> {
        self.request(index).messages.iter().map(|message| message.shown_text()).collect()
    }

    /// What it was asked, in order.
    pub fn asked(&self) -> Vec<SummaryRequest> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
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
        _: &Services,
    ) -> Result<Summary, SummaryError> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(request.clone());
        let text = self.answers.lock().unwrap_or_else(PoisonError::into_inner)(request)?;
        let tokens = request.estimator.text(&text);
        Ok(Summary { text, tokens, by: "scripted".to_owned(), usage: self.usage, lacks: None })
    }
}

/// A scripted summarizer that asks a model.
#[derive(Debug)]
pub struct Asking(pub Arc<Scripted>);

#[async_trait]
impl Summarizer for Asking {
    fn id(&self) -> &str {
        self.0.id()
    }

    fn asks(&self) -> Vec<Asks> {
        vec![Asks::new(Endpoint::default())]
    }

    async fn summarize(
        &self,
        request: &SummaryRequest,
        services: &Services,
    ) -> Result<Summary, SummaryError> {
        self.0.summarize(request, services).await
    }
}

/// Counts twice what another estimator counts.
#[derive(Debug)]
pub struct Doubled {
    id: Arc<str>,
    of: Arc<dyn Estimator>,
}

impl Doubled {
    /// Twice this.
    pub fn estimator(of: &Arc<dyn Estimator>) -> Arc<dyn Estimator> {
        let (id, of) = (format!("2 x {}", of.id()).into(), Arc::clone(of));
        Arc::new(Self { id, of })
    }
}

impl Estimator for Doubled {
    fn id(&self) -> &Arc<str> {
        &self.id
    }

    fn text(&self, text: &str) -> u64 {
        2 * self.of.text(text)
    }

    fn part(&self, part: &Part, shown: &str) -> u64 {
        2 * self.of.part(part, shown)
    }

    fn overhead(&self, message: &Message) -> u64 {
        2 * self.of.overhead(message)
    }

    fn per_request(&self) -> u64 {
        2 * self.of.per_request()
    }
}

/// An observer that keeps every event.
#[derive(Debug, Default)]
pub struct Events(Mutex<Vec<Event>>);

impl Events {
    /// What happened, in order.
    pub fn all(&self) -> Vec<Event> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Observer for Events {
    fn observe(&self, event: &Event) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(event.clone());
    }
}
