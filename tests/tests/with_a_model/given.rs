//! What a row gives: a preset with the `llm` summarizer, a model's replies, and what happens.

use super::model::Reply;
use async_trait::async_trait;
use foldback::window::split::SessionMemory;
use foldback_core::Limits;
use foldback_core::config::{Document, Options, compile};
use foldback_core::log::Message;
use foldback_core::registry::Registry;
use foldback_core::services::{BeforeCompaction, Extensions, Hook, Services, Verdict};
use foldback_core::stage::{Summarizer, Summary, SummaryError, SummaryRequest};
use foldback_core::strategy::Strategy;
use std::sync::Arc;

/// When every row takes place, in milliseconds since the Unix epoch.
pub(crate) const NOW: i64 = 1_770_000_000_000;

/// What a row gives.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    /// Preset that is extended.
    pub(crate) preset: String,
    /// TOML that is added to it.
    pub(crate) changes: String,
    /// Keys of the summarizer's section besides `use = "llm"`.
    pub(crate) summarizer: String,
    /// Window and output limit.
    pub(crate) limits: Limits,
    /// What the model does, request by request.
    pub(crate) model: Vec<Reply>,
    /// What happens, in order.
    pub(crate) acts: Vec<Act>,
    /// A hook.
    pub(crate) hook: Option<Before>,
    /// The agent's notes on its session, and their age in milliseconds.
    pub(crate) notes: Option<(String, i64)>,
    /// In place of the `llm` summarizer, one that fails with this: rows that are beneath its ladder.
    pub(crate) beneath: Option<SummaryError>,
}

impl Given {
    /// What the services hold besides.
    pub(crate) fn extensions(&self) -> Extensions {
        let mut extensions = Extensions::default();
        if let Some((text, age)) = &self.notes {
            let notes = Notes(text.to_owned(), NOW - age);
            extensions.insert(Arc::new(notes) as Arc<dyn SessionMemory>);
        }
        extensions
    }
}

/// Something that happens.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// A message that was stored before.
    Stored(Message),
    /// A user turn, until the model has finished or the agent can't go on.
    Turn(Message),
    /// A person compacts.
    Compact,
    /// The act, given up after so many milliseconds.
    Interrupted(Box<Act>, u64),
}

/// What a hook does before a compaction.
#[derive(Clone, Debug)]
pub(crate) enum Before {
    /// Adds instructions.
    Instructs(String),
    /// Never ends.
    Hangs,
}

#[async_trait]
impl Hook for Before {
    async fn before(&self, _: &BeforeCompaction) -> Result<Verdict, String> {
        match self {
            Self::Instructs(text) => Ok(Verdict::Instruct(text.clone())),
            Self::Hangs => std::future::pending().await,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Notes(pub(crate) String, pub(crate) i64);

impl SessionMemory for Notes {
    fn read(&self) -> Option<(String, i64)> {
        Some((self.0.clone(), self.1))
    }
}

#[derive(Debug)]
struct Failing(SummaryError);

#[async_trait]
impl Summarizer for Failing {
    fn id(&self) -> &str {
        "failing"
    }

    async fn summarize(&self, _: &SummaryRequest, _: &Services) -> Result<Summary, SummaryError> {
        Err(self.0.clone())
    }
}

/// The preset with its changes and the `llm` summarizer, compiled from TOML.
pub(crate) fn strategy(given: &Given) -> Strategy {
    let linked = [&foldback_llm::REGISTRATION];
    let registry =
        Registry::from_registrations(foldback::registrations().into_iter().chain(linked)).unwrap();
    let toml = format!(
        "name = \"row\"\nextends = \"{}\"\n{}\n[summarizer]\nuse = \"llm\"\n{}\n",
        given.preset, given.changes, given.summarizer
    );
    let document = Document::parse("row", &toml).unwrap();
    let compiled = compile(&registry, document, Options::default());
    let mut strategy = compiled.unwrap_or_else(|errors| panic!("{errors}\n{toml}")).strategy;
    if let Some(error) = &given.beneath {
        strategy.summarizer = Some(Arc::new(Failing(error.clone())));
    }
    strategy
}
