//! Requests as lines for a provider's batch service, and its lines with the answers.
//!
//! | provider | a request | an answer |
//! |---|---|---|
//! | OpenAI and what speaks its protocol | `{"custom_id", "method", "url", "body"}` | `{"custom_id", "response": {"status_code", "body"}}` |
//! | Anthropic | `{"custom_id", "params"}` | `{"custom_id", "result": {"type": "succeeded", "message"}}` |
//! | Gemini | `{"key", "request"}` | `{"key", "response"}` |
//! | any | | `{"custom_id", "text"}` |
//!
//! The id is made from the request, as the name of a cassette's file is: equal requests are one line.

use crate::cassette::entry;
use crate::client::answer::completion;
use crate::client::provider::Protocol;
use crate::client::speech::Speech;
use async_trait::async_trait;
use foldback_core::log::Finish;
use foldback_core::provider::{Completion, CompletionRequest, ErrorKind, Model, ProviderError};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Digits of an id: services take 64 characters at most.
const ID: usize = 32;

fn id(request: &CompletionRequest) -> String {
    entry::name(request).chars().take(ID).collect()
}

/// Collects requests instead of sending them; each is answered by an error of kind [`ErrorKind::DryRun`].
#[derive(Debug, Default)]
pub struct Export {
    lines: Mutex<BTreeMap<String, String>>,
}

impl Export {
    /// The lines, by id.
    pub fn lines(&self) -> Vec<String> {
        self.held().values().cloned().collect()
    }

    fn held(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Model for Export {
    async fn complete(&self, request: &CompletionRequest) -> Result<Completion, ProviderError> {
        let (id, speech) = (id(request), Protocol::named(&request.endpoint.provider)?.speech);
        let body = speech.body(request);
        let line = match speech {
            Speech::Anthropic => json!({ "custom_id": id, "params": body }),
            Speech::Gemini => json!({ "key": id, "request": body }),
            Speech::OpenAi | Speech::Ollama | Speech::Likelihood => json!({
                "custom_id": id, "method": "POST", "url": "/v1/chat/completions", "body": body,
            }),
        };
        self.held().insert(id, line.to_string());
        Err(ProviderError::new(ErrorKind::DryRun, "the request was written to a file".to_owned()))
    }
}

/// What came back for a request.
#[derive(Clone, Debug, PartialEq)]
enum Returned {
    /// In the provider's protocol.
    Body(Value),
    Text(String),
    /// No answer, and why.
    Failed(String),
}

/// Answers that came back.
#[derive(Clone, Debug, Default)]
pub struct Import {
    answers: BTreeMap<String, Returned>,
}

impl Import {
    /// Reads lines with answers, in any order.
    ///
    /// # Errors
    ///
    /// The line that can't be used, and why.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut answers = BTreeMap::new();
        for (number, line) in (1..).zip(text.lines()) {
            if line.trim().is_empty() {
                continue;
            }
            let value: Value =
                serde_json::from_str(line).map_err(|error| format!("{number}: {error}"))?;
            let id = ["custom_id", "key"].iter().find_map(|name| value.get(name)?.as_str());
            let Some(id) = id else {
                return Err(format!("{number}: no custom_id, so it answers no request"));
            };
            let Some(returned) = returned(&value) else {
                return Err(format!(
                    "{number}: no answer of a batch service; {{\"custom_id\": \"…\", \"text\": \"…\"}} is taken as well"
                ));
            };
            answers.insert(id.to_owned(), returned);
        }
        Ok(Self { answers })
    }
}

fn returned(line: &Value) -> Option<Returned> {
    let failed = |why: &Value| Returned::Failed(why.to_string());
    if let Some(text) = line.get("text").and_then(Value::as_str) {
        return Some(Returned::Text(text.to_owned()));
    }
    if let Some(result) = line.get("result") {
        return Some(match result.get("message") {
            Some(message) => Returned::Body(message.clone()),
            None => failed(result),
        });
    }
    if let Some(error) = line.get("error").filter(|error| !error.is_null()) {
        return Some(failed(error));
    }
    let response = line.get("response")?;
    let status = response.get("status_code").and_then(Value::as_u64);
    let body = response.get("body").unwrap_or(response);
    Some(match status {
        Some(status) if status >= 300 => failed(body),
        _ => Returned::Body(body.clone()),
    })
}

#[async_trait]
impl Model for Import {
    async fn complete(&self, request: &CompletionRequest) -> Result<Completion, ProviderError> {
        let id = id(request);
        match self.answers.get(&id) {
            Some(Returned::Body(body)) => {
                Ok(completion(Protocol::named(&request.endpoint.provider)?.speech, body))
            }
            Some(Returned::Text(text)) => Ok(Completion {
                text: text.clone(),
                finish: Finish::Stop,
                usage: None,
                model: None,
            }),
            Some(Returned::Failed(why)) => Err(ProviderError::new(
                ErrorKind::NotRecorded,
                format!("the request {id} failed: {why}; send it again and add its line"),
            )),
            None => Err(ProviderError::new(
                ErrorKind::NotRecorded,
                format!(
                    "the answers lack the request {id}: they are of other sessions, presets or options, or not complete"
                ),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foldback_core::log::Role;
    use foldback_core::provider::{Endpoint, Turn};
    use std::time::Duration;

    fn request(provider: &str) -> CompletionRequest {
        CompletionRequest {
            endpoint: Endpoint {
                provider: provider.into(),
                model: "m".into(),
                ..Endpoint::default()
            },
            system: "s".into(),
            turns: vec![Turn { role: Role::User, text: "which?".into() }],
            temperature: None,
            max_output: 9,
            timeout: Duration::from_secs(1),
            replicate: 0,
        }
    }

    #[tokio::test]
    async fn each_provider_has_its_lines() {
        let chat = json!({"choices": [{"message": {"content": "so"}, "finish_reason": "stop"}]});
        let message =
            json!({"content": [{"type": "text", "text": "so"}], "stop_reason": "end_turn"});
        let content = json!({"candidates": [{"content": {"parts": [{"text": "so"}]}, "finishReason": "STOP"}]});
        let table = [
            (
                "openai",
                "/body/model",
                json!({"response": {"status_code": 200, "body": chat}, "error": null}),
            ),
            ("openai-compatible", "/body/messages/0/role", json!({"text": "so"})),
            (
                "anthropic",
                "/params/max_tokens",
                json!({"result": {"type": "succeeded", "message": message}}),
            ),
            ("gemini", "/request/contents", json!({"response": content})),
        ];
        for (provider, place, mut answer) in table {
            let export = Export::default();
            let request = request(provider);
            for _ in 0..2 {
                assert_eq!(export.complete(&request).await.unwrap_err().kind, ErrorKind::DryRun);
            }
            let lines = export.lines();
            assert_eq!(lines.len(), 1, "{provider}");
            let line: Value = serde_json::from_str(&lines[0]).unwrap();
            assert!(line.pointer(place).is_some(), "{provider}: {line}");
            let name = if provider == "gemini" { "key" } else { "custom_id" };
            answer[name] = line[name].clone();
            let import = Import::read(&format!("\n{answer}\n")).unwrap();
            assert_eq!(import.complete(&request).await.unwrap().text, "so", "{provider}");
        }
    }

    #[tokio::test]
    async fn what_did_not_come_back_is_told() {
        let request = request("openai");
        let id = id(&request);
        let failed = [
            json!({"custom_id": id, "result": {"type": "expired"}}),
            json!({"custom_id": id, "response": {"status_code": 429, "body": {"error": "slow"}}}),
            json!({"custom_id": id, "response": null, "error": {"code": "expired"}}),
            json!({"custom_id": "another", "text": "so"}),
        ];
        for line in failed {
            let error =
                Import::read(&line.to_string()).unwrap().complete(&request).await.unwrap_err();
            assert_eq!(error.kind, ErrorKind::NotRecorded, "{line}");
            assert!(error.message.contains(&id), "{line}: {error}");
        }
        for (text, part) in [
            ("{\"text\": \"a\"}", "1: no custom_id"),
            ("\n{", "2: "),
            ("{\"custom_id\": \"a\"}", "1: no answer"),
        ] {
            assert!(Import::read(text).unwrap_err().contains(part), "{text}");
        }
    }
}
