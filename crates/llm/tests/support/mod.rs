//! What tests of models share.

use async_trait::async_trait;
use foldback_core::log::{Finish, Role, Usage};
use foldback_core::provider::{
    Completion, CompletionRequest, Endpoint, Model, ProviderError, Turn,
};
use foldback_fake_provider::FakeProvider;
use foldback_llm::{Client, Keys};
use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;

/// A key that can be looked for.
pub(crate) const KEY: &str = "sk-planted-0123456789abcdef";

/// All protocols.
pub(crate) const PROVIDERS: [&str; 5] =
    ["openai", "openai-compatible", "anthropic", "gemini", "ollama"];

/// A client whose every variable holds the planted key.
pub(crate) fn client() -> Client {
    Client::new(Keys::new(|_| Some(KEY.to_owned()))).expect("a test")
}

/// Where a server speaks a protocol.
pub(crate) fn endpoint(provider: &str, server: &FakeProvider) -> Endpoint {
    let base = match provider {
        "gemini" => server.gemini_url(),
        "ollama" => server.url(),
        _ => server.openai_url(),
    };
    Endpoint {
        provider: provider.to_owned(),
        model: "a-model".to_owned(),
        base_url: Some(base),
        key_variable: None,
    }
}

/// A small request.
pub(crate) fn request(endpoint: Endpoint) -> CompletionRequest {
    CompletionRequest {
        endpoint,
        system: "Instructions.".to_owned(),
        turns: vec![Turn { role: Role::User, text: "Summarise.".to_owned() }],
        temperature: None,
        max_output: 256,
        timeout: Duration::from_secs(30),
        replicate: 0,
    }
}

/// A request without an address.
pub(crate) fn plain(text: &str) -> CompletionRequest {
    let mut request = request(Endpoint {
        provider: "openai".to_owned(),
        model: "a-model".to_owned(),
        ..Endpoint::default()
    });
    request.turns[0].text = text.to_owned();
    request
}

/// An answer with usage.
pub(crate) fn answer(text: &str) -> Completion {
    Completion {
        text: text.to_owned(),
        finish: Finish::Stop,
        usage: Some(Usage { uncached: 1_000, output: 100, ..Usage::default() }),
        model: Some("a-model-2026".to_owned()),
    }
}

/// A model that answers from a list, and panics where it is asked more.
#[derive(Debug)]
pub(crate) struct Scripted {
    answers: Mutex<VecDeque<Result<Completion, ProviderError>>>,
    pub(crate) asked: Mutex<Vec<CompletionRequest>>,
}

impl Scripted {
    pub(crate) fn new(
        answers: impl IntoIterator<Item = Result<Completion, ProviderError>>,
    ) -> Self {
        Self { answers: Mutex::new(answers.into_iter().collect()), asked: Mutex::default() }
    }

    pub(crate) fn times_asked(&self) -> usize {
        self.asked.lock().expect("a test").len()
    }
}

#[async_trait]
impl Model for Scripted {
    async fn complete(&self, request: &CompletionRequest) -> Result<Completion, ProviderError> {
        self.asked.lock().expect("a test").push(request.clone());
        // So that two requests at the same time are under way at the same time.
        tokio::task::yield_now().await;
        let next = self.answers.lock().expect("a test").pop_front();
        next.expect("asked once more than was scripted")
    }
}
