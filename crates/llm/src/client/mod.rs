//! The client: sends one request to a provider and reads its answer.
//!
//! What a protocol looks like on the wire is in `speech`. Endpoints are looked up, answers and errors brought into
//! the terms of the core, and keys kept out of everything that leaves. What a server sends is not trusted: no more
//! than a limit is read of it, and nothing is unpacked.

pub(crate) mod answer;
mod failure;
pub(crate) mod provider;
pub(crate) mod speech;
mod tls;

use crate::keys::Keys;
use answer::completion;
use async_trait::async_trait;
use failure::{Failures, JSON, VARIABLE};
use foldback_core::provider::{
    Completion, CompletionRequest, Endpoint, ErrorKind, Model, ProviderError,
};
use provider::Target;
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Request, Response};
use speech::Speech;
use std::time::Duration;

/// How long an endpoint may take to say that it is there.
const REACH: Duration = Duration::from_secs(10);

/// How long it may take to connect to one. Shorter, so that no connection and no answer can be told apart.
const CONNECT: Duration = Duration::from_secs(8);

/// The limit where nobody says anything: 30 times the longest output that any model gives.
const LARGEST: u64 = 16 << 20;

/// Asks models over HTTP: `anthropic`, `openai`, `gemini`, `ollama`, and `openai-compatible` for every
/// server that speaks OpenAI's chat completions (vLLM, llama.cpp, LM Studio, …).
///
/// A client may be used from any number of runtimes at the same time and one after the other. The
/// runtime needs its I/O and time drivers (`enable_all`).
#[derive(Debug)]
pub struct Client {
    http: reqwest::Client,
    keys: Keys,
    largest: u64,
}

impl Client {
    /// A client that looks keys up in `keys`.
    ///
    /// # Errors
    ///
    /// The system's certificates can't be read.
    pub fn new(keys: Keys) -> Result<Self, ProviderError> {
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(tls::config().map_err(unusable)?)
            // A pooled connection belongs to the runtime that opened it, and hangs or breaks once that
            // is gone. Next to what a summary takes, a connection costs nothing.
            .pool_max_idle_per_host(0)
            .connect_timeout(CONNECT)
            // A redirect would take the key along to wherever it points.
            .redirect(Policy::none())
            // A small body may unpack to more than any memory holds. Said for each, since another crate may have
            // turned one on.
            .no_gzip()
            .no_brotli()
            .no_zstd()
            .no_deflate()
            .build()
            .map_err(unusable)?;
        Ok(Self { http, keys, largest: LARGEST })
    }

    /// A client that takes its keys from the environment, and the limit of an answer from `FOLDBACK_MAX_ANSWER_BYTES`.
    ///
    /// # Errors
    ///
    /// The system's certificates can't be read, or the limit is no number.
    pub fn from_env() -> Result<Self, ProviderError> {
        let client = Self::new(Keys::from_env())?;
        let Some(value) = std::env::var_os(VARIABLE) else { return Ok(client) };
        let number = value.to_str().and_then(|value| value.trim().parse().ok());
        number.map(|largest| client.with_largest_answer(largest)).ok_or_else(|| {
            let problem = format!("{VARIABLE} is {value:?}; it must be a number of bytes");
            ProviderError::new(ErrorKind::InvalidRequest, problem)
        })
    }

    /// The client with another limit of an answer, in bytes.
    #[must_use]
    pub fn with_largest_answer(mut self, bytes: u64) -> Self {
        self.largest = bytes;
        self
    }

    /// Checks that an endpoint names everything that a request needs: a known provider, a model, an address, a key.
    /// Gives the address without its secrets. Sends nothing.
    ///
    /// # Errors
    ///
    /// Something is missing or invalid.
    pub fn check(&self, endpoint: &Endpoint) -> Result<String, ProviderError> {
        Target::new(endpoint, &self.keys).map(|target| target.shown())
    }

    /// Checks that a server listens at the endpoint's address. Any answer will do, and so does a connection without
    /// one: a local server may be busy. Neither key nor model is sent.
    ///
    /// # Errors
    ///
    /// The endpoint is incomplete, or its address can't be reached.
    pub async fn reach(&self, endpoint: &Endpoint) -> Result<(), ProviderError> {
        self.reach_within(endpoint, REACH).await
    }

    async fn reach_within(
        &self,
        endpoint: &Endpoint,
        limit: Duration,
    ) -> Result<(), ProviderError> {
        let target = Target::new(endpoint, &self.keys)?;
        let request = self.http.get(target.base.clone()).timeout(limit);
        match request.send().await {
            Err(error) if error.is_connect() || !error.is_timeout() => {
                Err(Failures { target: &target, endpoint }.transport(error))
            }
            _ => Ok(()),
        }
    }

    async fn ask(
        &self,
        target: &Target,
        request: &CompletionRequest,
    ) -> Result<Completion, ProviderError> {
        let failures = Failures { target, endpoint: &request.endpoint };
        let answer = async {
            let sent = self.http.execute(self.request(target, request)?).await;
            let mut response = sent.map_err(|error| failures.transport(error))?;
            let bytes = self.bytes(&failures, &mut response).await?;
            Ok((response, bytes))
        };
        let (response, bytes) = tokio::time::timeout(request.timeout, answer)
            .await
            .map_err(|_| failures.late(request.timeout))??;
        let likelihood = target.protocol.speech == Speech::Likelihood;
        if let Some(error) =
            crate::likelihood::unknown(response.status().as_u16()).filter(|_| likelihood)
        {
            return Err(error);
        }
        if !response.status().is_success() {
            return Err(failures.refused(response.status().as_u16(), &bytes, response.headers()));
        }
        let headers = response.headers();
        let is_json =
            headers.get(CONTENT_TYPE).is_some_and(|it| it.as_bytes().starts_with(JSON.as_bytes()));
        let body = if is_json {
            serde_json::from_slice(&bytes).map_err(|it| it.to_string())
        } else {
            Err(String::new())
        };
        let body = body.map_err(|cause| failures.unreadable(headers, &bytes, &cause))?;
        if let Some(error) = failures.body(&body) {
            return Err(error);
        }
        let mut completion = completion(target.protocol.speech, &body);
        if likelihood {
            completion.text = crate::likelihood::text(request, &body)?;
        }
        completion.text = target.scrub(&completion.text);
        completion.model = completion.model.map(|model| target.scrub(&model));
        Ok(completion)
    }

    fn request(
        &self,
        target: &Target,
        request: &CompletionRequest,
    ) -> Result<Request, ProviderError> {
        let invalid =
            |problem: &str| ProviderError::new(ErrorKind::InvalidRequest, problem.to_owned());
        if u32::try_from(request.max_output).is_err() {
            let problem =
                format!("{} output tokens are more than can be asked for", request.max_output);
            return Err(ProviderError::new(ErrorKind::OutputLimit, problem));
        }
        let speech = target.protocol.speech;
        let url = speech.url(&target.base, &request.endpoint.model)?;
        let body = speech.body(request).to_string();
        let mut sent = self.http.post(url).header(CONTENT_TYPE, JSON).body(body);
        for (name, value) in speech.headers() {
            sent = sent.header(*name, *value);
        }
        if let Some(key) = &target.key {
            let (name, value) = speech.key(key.expose());
            let value = HeaderValue::try_from(value);
            let mut value = value.map_err(|_| invalid("the key holds what no header can"))?;
            // What logs headers leaves it out.
            value.set_sensitive(true);
            sent = sent.header(name, value);
        }
        let failures = Failures { target, endpoint: &request.endpoint };
        sent.build().map_err(|error| failures.transport(error))
    }

    /// The body, up to the limit.
    async fn bytes(
        &self,
        failures: &Failures<'_>,
        response: &mut Response,
    ) -> Result<Vec<u8>, ProviderError> {
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| failures.transport(error))? {
            if (bytes.len() + chunk.len()) as u64 > self.largest {
                return Err(failures.too_long(self.largest));
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
    }
}

#[async_trait]
impl Model for Client {
    async fn complete(&self, request: &CompletionRequest) -> Result<Completion, ProviderError> {
        let target = Target::new(&request.endpoint, &self.keys)?;
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

fn unusable(error: impl std::fmt::Display) -> ProviderError {
    ProviderError::new(ErrorKind::Transport, format!("the HTTP client can't be made: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that is at work on something else takes connections and says nothing.
    #[tokio::test]
    async fn a_silent_server_is_there() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = Endpoint {
            provider: "openai-compatible".to_owned(),
            model: "m".to_owned(),
            base_url: Some(format!("http://{}/v1/", listener.local_addr().unwrap())),
            key_variable: None,
        };
        let client = Client::new(Keys::new(|_| None)).unwrap();
        client.reach_within(&endpoint, Duration::from_millis(50)).await.unwrap();
        drop(listener);
        let gone = client.reach_within(&endpoint, Duration::from_secs(5)).await.unwrap_err();
        assert_eq!(gone.kind, ErrorKind::Transport, "{gone}");
    }
}
