//! The client: sends one request to a provider and reads its answer.
//!
//! Protocols are spoken by the crate `genai`; here endpoints are looked up, answers and errors
//! brought into the terms of the core, and keys kept out of everything that leaves.

mod answer;
mod failure;
mod provider;

use crate::keys::Keys;
use answer::completion;
use async_trait::async_trait;
use failure::Failures;
use foldback_core::log::Role;
use foldback_core::provider::{
    Completion, CompletionRequest, Endpoint, ErrorKind, Model, ProviderError,
};
use foldback_provider_errors::Classifier;
use genai::adapter::AdapterKind;
use genai::chat::{ChatMessage, ChatOptions, ChatRequest, ReasoningEffort};
use genai::resolver::AuthData;
use genai::{Headers, ModelIden, ServiceTarget};
use provider::Target;
use reqwest::redirect::Policy;
use std::time::Duration;
use tracing::instrument::WithSubscriber as _;
use tracing::subscriber::NoSubscriber;

/// How long an endpoint may take to say that it is there.
const REACH: Duration = Duration::from_secs(10);

/// Asks models over HTTP: `anthropic`, `openai`, `gemini`, `ollama`, and `openai-compatible` for every
/// server that speaks OpenAI's chat completions (vLLM, llama.cpp, LM Studio, …).
///
/// A client may be used from any number of runtimes at the same time and one after the other. The
/// runtime needs its I/O and time drivers (`enable_all`).
#[derive(Debug)]
pub struct Client {
    models: genai::Client,
    http: reqwest::Client,
    keys: Keys,
    classifier: Classifier,
}

impl Client {
    /// A client that looks keys up in `keys`. Fails where the system's certificates can't be read.
    pub fn new(keys: Keys) -> Result<Self, ProviderError> {
        let http = reqwest::Client::builder()
            // A pooled connection belongs to the runtime that opened it, and hangs or breaks once that
            // is gone. Next to what a summary takes, a connection costs nothing.
            .pool_max_idle_per_host(0)
            // A redirect would take the key along to wherever it points.
            .redirect(Policy::none())
            .build()
            .map_err(|error| {
                ProviderError::new(
                    ErrorKind::Transport,
                    format!("the HTTP client can't be made: {error}"),
                )
            })?;
        let models = genai::Client::builder()
            .with_reqwest(http.clone())
            .build()
            .map_err(|error| ProviderError::new(ErrorKind::Transport, error.to_string()))?;
        Ok(Self { models, http, keys, classifier: Classifier::builtin().clone() })
    }

    /// A client that takes its keys from the environment.
    pub fn from_env() -> Result<Self, ProviderError> {
        Self::new(Keys::from_env())
    }

    /// The client with rules of one's own for what errors of providers mean.
    #[must_use]
    pub fn with_classifier(mut self, classifier: Classifier) -> Self {
        self.classifier = classifier;
        self
    }

    /// Whether an endpoint names everything that a request needs: a known provider, a model, an
    /// address, a key. Sends nothing.
    pub fn check(&self, endpoint: &Endpoint) -> Result<(), ProviderError> {
        Target::of(endpoint, &self.keys).map(drop)
    }

    /// Whether somebody answers at the endpoint's address. Whatever the answer is, it will do: neither
    /// key nor model are sent.
    pub async fn reach(&self, endpoint: &Endpoint) -> Result<(), ProviderError> {
        let target = Target::of(endpoint, &self.keys)?;
        let request = self.http.get(target.base.clone()).timeout(REACH);
        request
            .send()
            .await
            .map(drop)
            .map_err(|error| self.failures(&target, endpoint).transport(error))
    }

    fn failures<'c>(&'c self, target: &'c Target, endpoint: &'c Endpoint) -> Failures<'c> {
        Failures { target, endpoint, classifier: &self.classifier }
    }

    async fn ask(
        &self,
        target: &Target,
        request: &CompletionRequest,
    ) -> Result<Completion, ProviderError> {
        let options = options(target, request)?;
        let call = self
            .models
            .exec_chat(service(target, &request.endpoint.model)?, chat(request), Some(&options))
            // The library logs whole bodies, and providers quote keys in them. Not `Dispatch::none()`: asked
            // alone, it would silence what the application shares with us (hyper) for the whole process.
            .with_subscriber(NoSubscriber::default());
        let failures = self.failures(target, &request.endpoint);
        let response = tokio::time::timeout(request.timeout, call)
            .await
            .map_err(|_| failures.late(request.timeout))?
            .map_err(|error| failures.library(error))?;
        if let Some(error) =
            response.captured_raw_body.as_ref().and_then(|body| failures.body(body))
        {
            return Err(error);
        }
        let mut completion = completion(&response);
        completion.text = target.scrub(&completion.text);
        completion.model = completion.model.map(|model| target.scrub(&model));
        Ok(completion)
    }
}

#[async_trait]
impl Model for Client {
    async fn complete(&self, request: &CompletionRequest) -> Result<Completion, ProviderError> {
        let target = Target::of(&request.endpoint, &self.keys)?;
        let answer = self.ask(&target, request).await;
        match &answer {
            Ok(completion) => tracing::debug!(
                provider = target.protocol.name,
                model = request.endpoint.model,
                finish = ?completion.finish,
                usage = ?completion.usage,
                "answered"
            ),
            Err(error) => tracing::debug!(
                provider = target.protocol.name,
                model = request.endpoint.model,
                %error,
                "not answered"
            ),
        }
        answer
    }
}

/// Where a request goes, and with which key.
fn service(target: &Target, model: &str) -> Result<ServiceTarget, ProviderError> {
    let auth = match &target.key {
        Some(key) => AuthData::from_single(key.expose()),
        // Without a key no header is sent; the library would insist on one.
        None if target.protocol.adapter == AdapterKind::OpenAI => {
            let mut url = target.base.join("chat/completions").map_err(|error| {
                ProviderError::new(ErrorKind::InvalidRequest, format!("`base_url`: {error}"))
            })?;
            url.set_query(target.base.query());
            AuthData::RequestOverride { url: url.to_string(), headers: Headers::default() }
        }
        None => AuthData::None,
    };
    // Everything before `::` would be taken for a namespace.
    let name = if model.contains("::") {
        format!("{}::{model}", target.protocol.name)
    } else {
        model.to_owned()
    };
    Ok(ServiceTarget {
        endpoint: genai::resolver::Endpoint::from_owned(target.base.as_str()),
        auth,
        model: ModelIden::new(target.protocol.adapter, name),
    })
}

fn chat(request: &CompletionRequest) -> ChatRequest {
    let turns = request.turns.iter().map(|turn| match turn.role {
        Role::Assistant => ChatMessage::assistant(turn.text.as_str()),
        _ => ChatMessage::user(turn.text.as_str()),
    });
    let chat = ChatRequest::from_messages(turns.collect());
    if request.system.is_empty() { chat } else { chat.with_system(request.system.as_str()) }
}

fn options(target: &Target, request: &CompletionRequest) -> Result<ChatOptions, ProviderError> {
    let max_output = u32::try_from(request.max_output).map_err(|_| {
        ProviderError::new(
            ErrorKind::OutputLimit,
            format!("{} output tokens are more than can be asked for", request.max_output),
        )
    })?;
    let mut options = ChatOptions::default()
        .with_max_tokens(max_output)
        // Models of one's own write their reasoning into the text, between `<think>` and `</think>`.
        .with_normalize_reasoning_content(true)
        .with_capture_raw_body(true);
    if let Some(temperature) = request.temperature {
        options = options.with_temperature(temperature);
    }
    if target.protocol.adapter == AdapterKind::OpenAI {
        // The library reads `qwen-max` as `qwen` with the effort `max`, unless an effort is given. A
        // budget is one that this protocol has no field for, so that nothing is sent.
        options = options.with_reasoning_effort(ReasoningEffort::Budget(0));
    }
    if let (AdapterKind::Ollama, Some(key)) = (target.protocol.adapter, &target.key) {
        // The library sends none to Ollama, which may well stand behind a proxy that wants one.
        let bearer = format!("Bearer {}", key.expose());
        options = options.with_extra_headers(("Authorization", bearer));
    }
    Ok(options)
}
