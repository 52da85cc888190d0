//! Summaries by a model of the client's own provider, requested in the background.
//!
//! No request waits for one. A fold that needs a summary is made by [a copy](foldback_live::follow::Ahead) of the
//! conversation, after the provider took the request at which it was needed: with the key and the address of that
//! request, and by its protocol. The fold goes out with the first request that comes after it. The key is kept in the
//! memory of that one task.

use crate::fold::conversations::state::Wish;
use crate::http::forward::Ask;
use crate::http::provider::origin;
use crate::http::upstream::{Answer, Upstream};
use crate::numbers::Numbers;
use crate::settings::Say;
use crate::trial::log::TrialPlace;
use async_trait::async_trait;
use axum::body::{Body, Bytes, to_bytes};
use axum::http::header::{CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use foldback_core::log::{Finish, Message, Role};
use foldback_core::provider::{Completion, CompletionRequest, ErrorKind, Model, ProviderError};
use foldback_llm::{Bill, Budget, Purse};
use foldback_providers::errors::Classifier;
use foldback_providers::wire::{Dialect, Stream, answer, openai};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// Summaries that are asked for at a time. Others are needed again at the next request of their conversation.
const AT_ONCE: usize = 16;

/// Longest answer that is read, in bytes.
const MOST: usize = 16 << 20;

/// The summaries that are being written.
#[derive(Debug)]
pub(crate) struct Summaries {
    purse: Purse,
    upstream: Arc<Upstream>,
    numbers: Arc<Numbers>,
    places: Arc<Semaphore>,
    tasks: Mutex<JoinSet<()>>,
}

impl Summaries {
    pub(crate) fn new(purse: Purse, upstream: Arc<Upstream>, numbers: Arc<Numbers>) -> Self {
        let places = Arc::new(Semaphore::new(AT_ONCE));
        Self { purse, upstream, numbers, places, tasks: Mutex::default() }
    }

    /// The cost of all summaries so far.
    pub(crate) fn bill(&self) -> Bill {
        self.purse.bill()
    }

    /// Number of summaries that are being written.
    pub(crate) fn under_way(&self) -> u64 {
        (AT_ONCE - self.places.available_permits()) as u64
    }

    /// Starts a fold, its summary requested as the client sends its own requests: by their protocol, streamed or not. In a trial, the
    /// conversation at `trial` is charged.
    pub(crate) fn begin(
        &self,
        wish: Wish,
        ask: &Ask,
        (dialect, streams): (Dialect, bool),
        trial: Option<TrialPlace>,
        say: &Say,
    ) {
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            return self.numbers.summary("busy");
        };
        let own = ClientModel {
            ask: ask.clone().for_summary(),
            dialect,
            streams,
            upstream: Arc::clone(&self.upstream),
        };
        let failed = Failed::default();
        let model = FailureRecorder {
            model: self.purse.budget(Arc::new(own)),
            failed: Arc::clone(&failed),
            purse: self.purse.clone(),
            trial,
        };
        let (numbers, say) = (Arc::clone(&self.numbers), Arc::clone(say));
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(async move {
            let _place = place;
            let Wish { id, mut ahead, mut done } = wish;
            let folded = tokio::select! {
                folded = ahead.fold(Arc::new(model)) => folded,
                // The conversation had to go.
                () = done.closed() => return numbers.summary("forgotten"),
            };
            let failed =
                failed.lock().unwrap_or_else(PoisonError::into_inner).unwrap_or("unusable");
            if !folded {
                say(&format!("conversation {id}: no summary ({failed}), so it is not folded now"));
            }
            let invented = ahead.invented().len();
            if folded && invented > 0 {
                say(&format!(
                    "conversation {id}: in its summary, {invented} of the sentences forbid what no user named"
                ));
            }
            // Nobody waits any more where the conversation is gone.
            let _ = done.send(ahead);
            // Whoever sees it counted finds it.
            numbers.summary(if folded { "written" } else { failed });
        });
    }

    /// Aborts all that are being written.
    pub(crate) fn end(&self) {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).abort_all();
    }
}

/// The kind of the latest failure, unless an answer came after it.
type Failed = Arc<Mutex<Option<&'static str>>>;

/// Records how the latest request ended, and charges its conversation.
#[derive(Debug)]
struct FailureRecorder {
    model: Budget,
    failed: Failed,
    purse: Purse,
    /// Whose conversation is charged, in a trial.
    trial: Option<TrialPlace>,
}

#[async_trait]
impl Model for FailureRecorder {
    async fn complete(&self, request: &CompletionRequest) -> Result<Completion, ProviderError> {
        let note = |failed| *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = failed;
        // A caller that gives up drops this future.
        note(Some(ErrorKind::Timeout.as_str()));
        let answer = self.model.complete(request).await;
        note(answer.as_ref().err().map(|error| error.kind.as_str()));
        let usage = answer.as_ref().ok().and_then(|answer| answer.usage);
        if let Some((place, usage)) = self.trial.as_ref().zip(usage) {
            place.paid(self.purse.usd(&request.endpoint, &usage));
        }
        answer
    }
}

/// The provider of a client, asked as the client asks it.
#[derive(Debug)]
struct ClientModel {
    ask: Ask,
    dialect: Dialect,
    /// Whether the client has answers streamed: some gateways give no others.
    streams: bool,
    upstream: Arc<Upstream>,
}

#[async_trait]
impl Model for ClientModel {
    async fn complete(&self, request: &CompletionRequest) -> Result<Completion, ProviderError> {
        let body = body(self.dialect, self.streams, request).to_string();
        let ask = self.ask.clone();
        let ask = match self.dialect {
            Dialect::Gemini => ask.for_model(&request.endpoint.model).ok_or_else(|| {
                error(ErrorKind::InvalidRequest, "no path can have the name of the model")
            })?,
            _ => ask,
        };
        let sent = ask.whole(&self.upstream, Bytes::from(body)).await;
        // What the provider says may quote a conversation or a key, so none of it is kept.
        let answer =
            sent.map_err(|_| error(ErrorKind::Transport, "the provider can't be reached"))?;
        let status = answer.status().as_u16();
        let wait = retry_after(answer.headers());
        let read = read(self.dialect, answer).await?;
        match read {
            Ok(message) => completion(&message),
            Err(words) => {
                let provider = origin(self.dialect);
                let known = Classifier::builtin().classify(Some(provider), Some(status), &words);
                let kind = match known.kind {
                    // Neither an answer nor a known error.
                    ErrorKind::Unknown if (200..300).contains(&status) => ErrorKind::Decode,
                    kind => kind,
                };
                Err(ProviderError {
                    kind,
                    message: format!("the provider answered {status}"),
                    code: None,
                    retry_after: wait.or(known.retry_after),
                    ..known
                })
            }
        }
    }
}

fn error(kind: ErrorKind, message: &str) -> ProviderError {
    ProviderError::new(kind, message)
}

/// A request by the client's protocol.
fn body(dialect: Dialect, streams: bool, request: &CompletionRequest) -> Value {
    let CompletionRequest { endpoint, system, turns, temperature, max_output, .. } = request;
    if dialect == Dialect::Gemini {
        // The path says which model answers, and whether it streams.
        let contents = turns.iter().map(|turn| {
            let role = if turn.role == Role::Assistant { "model" } else { "user" };
            json!({"role": role, "parts": [{"text": turn.text}]})
        });
        let mut settings = json!({"maxOutputTokens": max_output});
        if let Some(temperature) = temperature {
            settings["temperature"] = json!(temperature);
        }
        return json!({
            "contents": contents.collect::<Value>(),
            "systemInstruction": {"parts": [{"text": system}]},
            "generationConfig": settings,
        });
    }
    let turns = turns.iter().map(|turn| {
        let role = if turn.role == Role::Assistant { "assistant" } else { "user" };
        json!({"role": role, "content": turn.text})
    });
    let mut body = match dialect {
        Dialect::Anthropic => {
            json!({"messages": turns.collect::<Value>(), "max_tokens": max_output, "system": system})
        }
        Dialect::OpenAiResponses => {
            json!({"input": turns.collect::<Value>(), "max_output_tokens": max_output, "instructions": system, "store": false})
        }
        _ => {
            let first = json!({"role": "system", "content": system});
            let messages: Value = std::iter::once(first).chain(turns).collect();
            json!({"messages": messages, openai::output_limit(&endpoint.model): max_output})
        }
    };
    body["model"] = json!(endpoint.model);
    if let Some(temperature) = temperature {
        body["temperature"] = json!(temperature);
    }
    if streams {
        body["stream"] = json!(true);
    }
    if streams && dialect == Dialect::OpenAiChat {
        body["stream_options"] = json!({"include_usage": true});
    }
    body
}

/// The answer, or the text of a refusal.
async fn read(
    dialect: Dialect,
    answered: Answer,
) -> Result<Result<Message, String>, ProviderError> {
    let (head, body) = answered.into_parts();
    let kind = head.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let is_stream = kind.is_some_and(|kind| kind.starts_with("text/event-stream"));
    let bytes = to_bytes(Body::new(body), MOST).await;
    let bytes = bytes.map_err(|_| error(ErrorKind::Transport, "the answer broke off"))?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    if !head.status.is_success() {
        return Ok(Err(text));
    }
    let message = match is_stream {
        true => {
            let mut stream = Stream::new(dialect);
            stream.push(&bytes).and_then(|()| stream.finish("summary"))
        }
        false => answer(dialect, "summary", &text),
    };
    Ok(message.map_err(|_| text))
}

fn completion(message: &Message) -> Result<Completion, ProviderError> {
    let answer = message.answer.as_ref();
    Ok(Completion {
        text: message.said(),
        finish: answer.and_then(|answer| answer.finish).unwrap_or(Finish::Other),
        usage: answer.and_then(|answer| answer.usage),
        model: None,
    })
}

/// How long the provider asks to wait, in seconds.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}
