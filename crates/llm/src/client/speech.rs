//! How each protocol spells a request, and where it has its place for what an answer says.

use foldback_core::log::Role;
use foldback_core::provider::{CompletionRequest, ErrorKind, ProviderError};
use foldback_providers::wire::shared::usage::Counts;
use foldback_providers::wire::{anthropic, gemini, openai};
use reqwest::Url;
use serde_json::{Value, json};

/// A protocol on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speech {
    /// <https://platform.openai.com/docs/api-reference/chat>, and whoever is compatible.
    OpenAi,
    /// <https://docs.anthropic.com/en/api/messages>.
    Anthropic,
    /// <https://ai.google.dev/api/generate-content>.
    Gemini,
    /// <https://github.com/ollama/ollama/blob/main/docs/api.md>.
    Ollama,
    /// <https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html>, the log-probabilities of a prompt.
    Likelihood,
}

impl Speech {
    /// Where a request to `model` goes. The query of the base stays: gateways tell versions by it.
    pub(crate) fn url(self, base: &Url, model: &str) -> Result<Url, ProviderError> {
        let refused = || {
            let problem = format!("`base_url`: nothing can be asked below {}", base.path());
            ProviderError::new(ErrorKind::InvalidRequest, problem)
        };
        let mut url = base.clone();
        let mut path = url.path_segments_mut().map_err(|()| refused())?;
        path.pop_if_empty();
        match self {
            Self::OpenAi => path.extend(["chat", "completions"]),
            Self::Likelihood => path.push("completions"),
            Self::Anthropic => path.push("messages"),
            Self::Gemini => path.extend(["models", &format!("{model}:generateContent")]),
            Self::Ollama => path.extend(["api", "chat"]),
        };
        drop(path);
        Ok(url)
    }

    /// The header with the key. Ollama takes none itself, but may stand behind a proxy that does.
    pub(crate) fn key(self, key: &str) -> (&'static str, String) {
        match self {
            Self::OpenAi | Self::Ollama | Self::Likelihood => {
                ("authorization", format!("Bearer {key}"))
            }
            Self::Anthropic => ("x-api-key", key.to_owned()),
            Self::Gemini => ("x-goog-api-key", key.to_owned()),
        }
    }

    /// Headers that every request has.
    pub(crate) fn headers(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Anthropic => &[("anthropic-version", "2023-06-01")],
            Self::OpenAi | Self::Gemini | Self::Ollama | Self::Likelihood => &[],
        }
    }

    /// The body of a request.
    pub(crate) fn body(self, request: &CompletionRequest) -> Value {
        let model = &request.endpoint.model;
        let output = request.max_output;
        let mut body = match self {
            Self::OpenAi => {
                let limit = openai::output_limit(model);
                json!({"model": model, "messages": with_system(request), limit: output})
            }
            Self::Anthropic => {
                json!({"model": model, "messages": turns(request), "max_tokens": output})
            }
            Self::Gemini => {
                let contents = request.turns.iter().map(|turn| {
                    let role = if turn.role == Role::Assistant { "model" } else { "user" };
                    json!({"role": role, "parts": [{"text": turn.text}]})
                });
                let contents: Value = contents.collect();
                json!({"contents": contents, "generationConfig": {"maxOutputTokens": output}})
            }
            Self::Ollama => json!({
                "model": model,
                "messages": with_system(request),
                "stream": false,
                "options": {"num_predict": output},
            }),
            Self::Likelihood => {
                let prompt: String = request.turns.iter().map(|turn| turn.text.as_str()).collect();
                // A server has to generate something.
                json!({"model": model, "prompt": prompt, "max_tokens": output, "temperature": 0, "prompt_logprobs": 0})
            }
        };
        match self {
            Self::Anthropic if !request.system.is_empty() => body["system"] = json!(request.system),
            Self::Gemini if !request.system.is_empty() => {
                body["systemInstruction"] = json!({"parts": [{"text": request.system}]});
            }
            _ => {}
        }
        if let Some(temperature) = request.temperature {
            let place = match self {
                Self::OpenAi | Self::Anthropic | Self::Likelihood => &mut body,
                Self::Gemini => &mut body["generationConfig"],
                Self::Ollama => &mut body["options"],
            };
            place["temperature"] = json!(temperature);
        }
        body
    }

    /// What every answer holds.
    pub(crate) fn place(self) -> &'static str {
        match self {
            Self::OpenAi => "/choices/0/message",
            Self::Likelihood => "/choices/0",
            Self::Anthropic => "/content",
            Self::Gemini => "/candidates/0",
            Self::Ollama => "/message",
        }
    }

    /// Why the model stopped.
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Self::OpenAi | Self::Likelihood => "/choices/0/finish_reason",
            Self::Anthropic => "/stop_reason",
            Self::Gemini => "/candidates/0/finishReason",
            Self::Ollama => "/done_reason",
        }
    }

    /// The model that answered.
    pub(crate) fn model(self) -> &'static str {
        match self {
            Self::Gemini => "/modelVersion",
            Self::OpenAi | Self::Anthropic | Self::Ollama | Self::Likelihood => "/model",
        }
    }

    /// The object that says what the request cost.
    pub(crate) fn usage(self) -> &'static str {
        match self {
            Self::OpenAi | Self::Anthropic | Self::Likelihood => "/usage",
            Self::Gemini => "/usageMetadata",
            Self::Ollama => "",
        }
    }

    /// Where the figures stand in it.
    pub(crate) fn counts(self) -> &'static Counts {
        match self {
            Self::OpenAi | Self::Likelihood => &openai::COUNTS,
            Self::Anthropic => &anthropic::COUNTS,
            Self::Gemini => &gemini::COUNTS,
            Self::Ollama => &OLLAMA,
        }
    }
}

const OLLAMA: Counts = Counts {
    input: &["/prompt_eval_count"],
    cache_read: &["/prompt_eval_cached_count"],
    output: &["/eval_count"],
    ..Counts::NONE
};

fn turns(request: &CompletionRequest) -> Vec<Value> {
    let turns = request.turns.iter().map(|turn| {
        let role = if turn.role == Role::Assistant { "assistant" } else { "user" };
        json!({"role": role, "content": turn.text})
    });
    turns.collect()
}

/// The turns behind the instructions, where those are a turn of their own.
fn with_system(request: &CompletionRequest) -> Vec<Value> {
    let system =
        (!request.system.is_empty()).then(|| json!({"role": "system", "content": request.system}));
    system.into_iter().chain(turns(request)).collect()
}
