//! One request to an OpenAI-compatible endpoint, streamed, and what its failures mean.
//!
//! `foldback::wire` has the protocol: the request is a template that takes the messages of the view, and the stream is
//! assembled into a message of the log. What is left here is the connection.

use foldback::Message;
use foldback::core::provider::{ErrorKind, ProviderError};
use foldback::core::view::ShownMessage;
use foldback::provider_errors::Classifier;
use foldback::wire::{Request, WireError, openai};
use reqwest::Response;
use reqwest::header::CONTENT_TYPE;
use serde_json::{Value, json};
use std::error::Error as _;
use std::fmt;
use std::time::Duration;

/// An HTTP client. TLS is ring's, which a program chooses once for all of it.
///
/// # Errors
///
/// The certificates of the system can't be read.
pub fn http() -> Result<reqwest::Client, reqwest::Error> {
    // An error says that a choice was made before.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().build()
}

/// A model behind an OpenAI-compatible endpoint, with what is sent along with every request.
pub struct Client {
    http: reqwest::Client,
    url: String,
    key: String,
    template: Request,
}

/// What a client is made of.
#[derive(Clone, Debug)]
pub struct Target {
    /// Where the protocol's paths begin, e.g. `http://localhost:11434/v1/`.
    pub base_url: String,
    /// The model as the endpoint spells it.
    pub model: String,
    /// Most tokens of an answer.
    pub max_output: u32,
}

impl Client {
    /// A client that sends `system` and `tools` with every request. The key may be empty for servers
    /// that want none.
    ///
    /// # Errors
    ///
    /// None for texts and definitions as the protocol has them.
    pub fn new(
        http: reqwest::Client,
        target: Target,
        key: String,
        system: &str,
        tools: &[Value],
    ) -> Result<Self, WireError> {
        let url = format!("{}/chat/completions", target.base_url.trim_end_matches('/'));
        let template = json!({
            "model": target.model,
            openai::output_limit(&target.model): target.max_output,
            "stream": true,
            "stream_options": {"include_usage": true},
            "messages": [{"role": "system", "content": system}],
            "tools": tools,
        });
        Ok(Self { http, url, key, template: openai::request(template.to_string())? })
    }

    /// Sends the conversation and reads the answer to its end.
    ///
    /// # Errors
    ///
    /// Everything that can go wrong, with its kind: [`ErrorKind::ContextOverflow`] where the request was
    /// too large, [`ErrorKind::Transport`] where the stream broke off.
    pub async fn ask(&self, id: &str, sent: &[ShownMessage<'_>]) -> Result<Message, ProviderError> {
        let unreadable =
            |error: WireError| self.hidden(error.provider_error(Classifier::builtin(), None));
        // All that this agent's tools return is text, which has its place.
        let body = self.template.folded(sent).map_err(unreadable)?.body;
        let mut request = self.http.post(&self.url).header(CONTENT_TYPE, "application/json");
        if !self.key.is_empty() {
            request = request.bearer_auth(&self.key);
        }
        let mut response = request.body(body).send().await.map_err(|error| broken(&error))?;
        if !response.status().is_success() {
            return Err(self.hidden(refused(response).await));
        }
        let mut stream = openai::stream();
        while let Some(bytes) = response.chunk().await.map_err(|error| broken(&error))? {
            stream.push(&bytes).map_err(unreadable)?;
        }
        stream.finish(id).map_err(unreadable)
    }

    /// The failure without the key: providers quote it when they refuse it.
    fn hidden(&self, mut failure: ProviderError) -> ProviderError {
        if !self.key.is_empty() {
            failure.message = failure.message.replace(&self.key, "***");
        }
        failure
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("url", &self.url)
            .field("model", &self.template.model())
            .finish_non_exhaustive()
    }
}

/// A request that was answered with an error.
async fn refused(response: Response) -> ProviderError {
    let status = response.status().as_u16();
    let header = response.headers().get("retry-after").and_then(|wait| wait.to_str().ok());
    let wait = header.and_then(|wait| wait.trim().parse().ok()).map(Duration::from_secs);
    let body = response.text().await.unwrap_or_default();
    let mut failure = Classifier::builtin().classify(None, Some(status), &body);
    failure.retry_after = wait.or(failure.retry_after);
    failure
}

/// A connection that was not made, or was cut.
fn broken(error: &reqwest::Error) -> ProviderError {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        message = format!("{message}: {inner}");
        cause = inner.source();
    }
    ProviderError::new(ErrorKind::Transport, message)
}
