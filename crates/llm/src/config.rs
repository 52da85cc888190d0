//! The section `[summarizer] use = "llm"`: which model, what it may cost, how large its requests may be.

use foldback_core::provider::Endpoint;
use foldback_core::registry::Invalid;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Configuration of [`LlmSummarizer`](crate::LlmSummarizer).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LlmConfig {
    /// Protocol, e.g. `anthropic`, `openai`, `gemini`; by default derived from the model's name, or `openai-compatible` if a base_url is given.
    pub provider: Option<String>,
    /// Model id as the provider spells it.
    pub model: String,
    /// Address that speaks the protocol, e.g. `http://localhost:11434/v1/`; the provider's own without it.
    pub base_url: Option<String>,
    /// Name of the environment variable that holds the key, never the key; the provider's usual one without it, and no key for openai-compatible and ollama.
    pub key_variable: Option<String>,
    /// Sampling temperature, 0 to 2; the provider's default without it (some models take no other).
    pub temperature: Option<f64>,
    /// Most tokens that an answer may have, reasoning included; a summary's own budget may be smaller.
    pub max_output_tokens: u64,
    /// Window of the summarizing model; its requests may take this less max_output_tokens.
    pub context_tokens: u64,
    /// Most bytes of a request's texts, whatever the window.
    pub max_request_bytes: usize,
    /// Seconds until a request that was not answered is given up.
    pub timeout_seconds: u64,
    /// Most times a request is sent while it fails for passing reasons; all requests of a summary share attempts - 1 retries, one of which at most follows a timeout.
    pub attempts: u32,
    /// Characters that a tool output or the arguments of a call keep in the smaller requests; 0 clears them.
    pub tool_output_max: usize,
    /// Most requests for the chunks of a conversation that does not fit into one; with more than that it fits into none.
    pub max_chunks: u32,
    /// Whether a conversation that fits into no request gets the extractive summary; else there is none, and on_failure decides.
    pub extractive: bool,
    /// Number of the sample, for recordings that hold several answers to one request.
    pub replicate: u32,
    /// Summaries that are kept so that the same text is not summarized twice; 0 for none.
    pub memo: usize,
    /// Whether secrets in known forms (keys, tokens, passwords) are left out of what is sent, and counted.
    pub scrub: bool,
    /// Limit for the cost of a run's requests in US dollars; no limit without it. Enforced by the provider of the model.
    pub budget_usd: Option<f64>,
}

impl Default for LlmConfig {
    fn default() -> Self {
        Self {
            provider: None,
            model: "claude-haiku-4-5".to_owned(),
            base_url: None,
            key_variable: None,
            temperature: None,
            max_output_tokens: 4_096,
            context_tokens: 200_000,
            max_request_bytes: 8 * 1024 * 1024,
            timeout_seconds: 120,
            attempts: 4,
            tool_output_max: 2_000,
            max_chunks: 8,
            extractive: true,
            replicate: 0,
            memo: 64,
            scrub: false,
            budget_usd: None,
        }
    }
}

/// Model names that tell their provider, by how they begin.
const PROVIDERS: &[(&str, &str)] = &[
    ("claude", "anthropic"),
    ("gemini", "gemini"),
    ("gpt-", "openai"),
    ("chatgpt-", "openai"),
    ("o1", "openai"),
    ("o3", "openai"),
    ("o4", "openai"),
];

impl LlmConfig {
    /// Most requests that one summary can send: one for the whole record, one with cut tool outputs, one for each
    /// chunk, one reminder, and the retries, which they share.
    pub fn max_requests(&self) -> u32 {
        self.max_chunks.saturating_add(3).saturating_add(self.attempts.saturating_sub(1))
    }

    /// Tokens that a request may have: the window less the answer.
    pub fn room(&self) -> u64 {
        self.context_tokens.saturating_sub(self.max_output_tokens)
    }

    /// What the requests of a run may cost in US dollars, for the provider of the model.
    pub fn budget_usd(&self) -> Option<f64> {
        self.budget_usd
    }

    /// How long an answer may take.
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout_seconds)
    }

    /// The endpoint that is asked.
    ///
    /// # Errors
    ///
    /// If no provider is named and neither the model's name nor a base URL identifies it.
    pub fn endpoint(&self) -> Result<Endpoint, Invalid> {
        let by_name = || {
            PROVIDERS
                .iter()
                .find(|(start, _)| self.model.starts_with(start))
                .map(|(_, provider)| *provider)
        };
        let provider = match (&self.provider, &self.base_url) {
            (Some(provider), _) => provider.as_str(),
            // Whoever listens there, a key is sent only if one was named for it.
            (None, Some(_)) => "openai-compatible",
            (None, None) => by_name().ok_or_else(|| {
                Invalid::new(
                    "provider",
                    format!(
                        "the name of the model `{}` does not identify its provider; set the protocol \
                         to use, e.g. \"openai\", and, for a server of your own, its base_url",
                        self.model
                    ),
                )
            })?,
        };
        Ok(Endpoint {
            provider: provider.to_owned(),
            model: self.model.clone(),
            base_url: self.base_url.clone(),
            key_variable: self.key_variable.clone(),
        })
    }

    /// Names everything that a summary's text depends on: the model, the version of the prompts, and
    /// a short hash of all settings if another one is not the default, e.g.
    /// `llm(claude-haiku-4-5 v2)`, `llm(gpt-5-mini v2 3fa9c1d2)`. As in recordings, the model's address is not
    /// part of it.
    pub(crate) fn id(&self, endpoint: &Endpoint, prompts: u32) -> String {
        let settings = |config: &Self, endpoint: &Endpoint| {
            // What was recorded before there was a choice keeps its name.
            let scrub = if config.scrub { " scrub" } else { "" };
            format!(
                "{:?}{scrub}",
                (
                    &endpoint.provider,
                    config.temperature,
                    (config.max_output_tokens, config.context_tokens),
                    (config.max_request_bytes, config.max_chunks),
                    (config.tool_output_max, config.replicate),
                )
            )
        };
        let plain = Self { model: self.model.clone(), ..Self::default() };
        let own = settings(self, endpoint);
        let usual = plain.endpoint().is_ok_and(|at| settings(&plain, &at) == own);
        if usual {
            format!("llm({} v{prompts})", self.model)
        } else {
            let hash = blake3::hash(own.as_bytes()).to_hex();
            format!("llm({} v{prompts} {})", self.model, &hash[..8])
        }
    }

    pub(crate) fn check(&self) -> Result<(), Invalid> {
        let invalid = |path: &str, message: &str| Err(Invalid::new(path, message));
        if self.model.trim().is_empty() {
            return invalid("model", "name the model that writes the summaries");
        }
        if self.provider.as_ref().is_some_and(|p| p.trim().is_empty()) {
            return invalid(
                "provider",
                "must not be empty; leave it out to derive it from the model",
            );
        }
        if let Some(url) = &self.base_url {
            // A URL with a password in it is not repeated.
            let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
            match rest {
                None => return invalid("base_url", "must begin with http:// or https://"),
                Some(rest) if rest.split('/').next().is_some_and(|h| h.contains('@')) => {
                    return invalid(
                        "base_url",
                        "must not hold a user or a password; put the key into a variable and name it in key_variable",
                    );
                }
                Some(_) => {}
            }
        }
        if let Some(name) = &self.key_variable {
            let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let digit = |c: char| c.is_ascii_digit();
            if name.is_empty() || !name.chars().all(word) || name.starts_with(digit) {
                // What stands there may be the key itself, so it is not repeated.
                return invalid(
                    "key_variable",
                    "must be the name of an environment variable (letters, digits and _), not a key",
                );
            }
        }
        if self.temperature.is_some_and(|at| !(0.0..=2.0).contains(&at)) {
            return invalid("temperature", "must be from 0 to 2");
        }
        if self.max_output_tokens == 0 {
            return invalid("max_output_tokens", "must be 1 or more");
        }
        if self.context_tokens <= self.max_output_tokens {
            return invalid(
                "context_tokens",
                "must be more than max_output_tokens, or no request fits",
            );
        }
        if self.max_request_bytes == 0 {
            return invalid("max_request_bytes", "must be 1 or more");
        }
        if self.timeout_seconds == 0 {
            return invalid("timeout_seconds", "must be 1 or more");
        }
        if self.attempts == 0 {
            return invalid("attempts", "must be 1 or more");
        }
        if self.budget_usd.is_some_and(|usd| !usd.is_finite() || usd < 0.0) {
            return invalid("budget_usd", "must be 0 or more");
        }
        Ok(())
    }
}
