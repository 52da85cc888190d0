//! One request to an OpenAI-compatible endpoint, streamed, and what its failures mean.
//!
//! The protocol is spoken by the crate `genai`. Here messages are brought into its terms and answers
//! out of them, and every failure into the one vocabulary in which foldback asks whether a request was
//! too large.

use foldback::core::log::{Answer, Finish, Usage};
use foldback::core::provider::{ErrorKind, ProviderError};
use foldback::core::view::Shown;
use foldback::provider_errors::Classifier;
use foldback::{Message, Part, PartKind, Role};
use futures_util::StreamExt;
use genai::adapter::AdapterKind;
use genai::chat::{
    ChatMessage, ChatOptions, ChatRequest, ChatStreamEvent, ContentPart, MessageContent,
    ReasoningEffort, StopReason, StreamEnd, Tool, ToolCall, ToolResponse,
};
use genai::resolver::{AuthData, Endpoint};
use genai::{ModelIden, ServiceTarget};
use std::fmt;
use std::time::Duration;

/// A model behind an OpenAI-compatible endpoint, with what is sent along with every request.
pub struct Client {
    client: genai::Client,
    base_url: String,
    model: String,
    key: String,
    system: String,
    tools: Vec<Tool>,
    options: ChatOptions,
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
    pub fn new(
        client: genai::Client,
        target: Target,
        key: String,
        system: String,
        tools: Vec<Tool>,
    ) -> Self {
        let mut base_url = target.base_url;
        if !base_url.ends_with('/') {
            base_url.push('/');
        }
        let options = ChatOptions::default()
            .with_max_tokens(target.max_output)
            .with_capture_content(true)
            .with_capture_tool_calls(true)
            .with_capture_usage(true)
            // Else a model named `some-max` would be taken for `some` with an effort.
            .with_reasoning_effort(ReasoningEffort::Budget(0));
        Self { client, base_url, model: target.model, key, system, tools, options }
    }

    /// Sends the conversation and reads the answer to its end.
    ///
    /// # Errors
    ///
    /// Everything that can go wrong, with its kind: [`ErrorKind::ContextOverflow`] where the request was
    /// too large, [`ErrorKind::Transport`] where the stream broke off.
    pub async fn ask(&self, id: &str, sent: &[Shown<'_>]) -> Result<Message, ProviderError> {
        let messages = sent.iter().map(|shown| message(&shown.to_message()));
        let request = ChatRequest::from_messages(messages.collect())
            .with_system(self.system.as_str())
            .with_tools(self.tools.clone());
        let target = ServiceTarget {
            endpoint: Endpoint::from_owned(self.base_url.as_str()),
            auth: AuthData::from_single(self.key.as_str()),
            model: ModelIden::new(AdapterKind::OpenAI, self.model.as_str()),
        };
        let response = self.client.exec_chat_stream(target, request, Some(&self.options)).await;
        let mut stream = response.map_err(|error| self.failure(&error))?.stream;
        while let Some(event) = stream.next().await {
            if let ChatStreamEvent::End(end) = event.map_err(|error| self.failure(&error))? {
                return Ok(answer(id, end));
            }
        }
        Err(ProviderError::new(ErrorKind::Transport, "the stream broke off before its end"))
    }

    /// What a failure means. Providers quote the key when they refuse it.
    fn failure(&self, error: &genai::Error) -> ProviderError {
        let mut failure = failure(error);
        if !self.key.is_empty() {
            failure.message = failure.message.replace(&self.key, "***");
        }
        failure
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("base_url", &self.base_url)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

/// A message in the protocol's terms. Reasoning is not sent back: these endpoints do not take it.
fn message(message: &Message) -> ChatMessage {
    match message.role {
        Role::System => ChatMessage::system(message.shown_text()),
        Role::User => ChatMessage::user(message.shown_text()),
        Role::Assistant => {
            let parts = message.parts.iter().filter_map(|part| match &part.kind {
                PartKind::Text { text, .. } => Some(ContentPart::from_text(text.as_str())),
                PartKind::Call(call) => Some(ContentPart::ToolCall(ToolCall {
                    call_id: call.call_id.clone(),
                    fn_name: call.tool.clone(),
                    fn_arguments: call.arguments_value(),
                    thought_signatures: None,
                })),
                _ => None,
            });
            ChatMessage::assistant(MessageContent::from_parts(parts.collect::<Vec<_>>()))
        }
        Role::Tool => {
            let results = message.parts.iter().filter_map(Part::as_result);
            let results = results
                .map(|result| ToolResponse::new(result.call_id.as_str(), result.text.as_str()));
            let results = results.map(ContentPart::ToolResponse);
            ChatMessage::tool(MessageContent::from_parts(results.collect::<Vec<_>>()))
        }
    }
}

/// The answer as a message of the log.
fn answer(id: &str, end: StreamEnd) -> Message {
    let usage = end.captured_usage.as_ref().map(usage);
    let finish = end.captured_stop_reason.as_ref().map(finish);
    let texts = end.captured_texts().unwrap_or_default().concat();
    let text = (!texts.is_empty()).then(|| Part::text(texts));
    let calls = end.captured_into_tool_calls().unwrap_or_default();
    let calls = calls.into_iter().map(|call| {
        let arguments = match call.fn_arguments {
            // Arguments that are no JSON come as they were sent.
            serde_json::Value::String(text) => text,
            value => value.to_string(),
        };
        Part::call(call.call_id, call.fn_name, arguments)
    });
    let mut message = Message::assistant(id, text.into_iter().chain(calls).collect());
    message.answer = Some(Answer { usage, finish, ..Answer::default() });
    message
}

/// The figures as classes that do not overlap; this protocol's input and output include their parts.
fn usage(usage: &genai::chat::Usage) -> Usage {
    let count = |tokens: Option<i32>| u64::try_from(tokens.unwrap_or(0)).unwrap_or(0);
    let input = usage.prompt_tokens_details.as_ref();
    let cache_read = count(input.and_then(|details| details.cached_tokens));
    let cache_write = count(input.and_then(|details| details.cache_creation_tokens));
    let output = usage.completion_tokens_details.as_ref();
    let reasoning = count(output.and_then(|details| details.reasoning_tokens));
    Usage {
        uncached: count(usage.prompt_tokens).saturating_sub(cache_read + cache_write),
        cache_read,
        cache_write,
        output: count(usage.completion_tokens).saturating_sub(reasoning),
        reasoning,
        total: None,
    }
}

fn finish(reason: &StopReason) -> Finish {
    match reason {
        StopReason::Completed(_) => Finish::Stop,
        StopReason::ToolCall(_) => Finish::ToolCalls,
        StopReason::MaxTokens(_) => Finish::Length,
        StopReason::ContentFilter(_) => Finish::ContentFilter,
        _ => Finish::Other,
    }
}

/// What a failure means, as far as the provider or the connection says.
fn failure(error: &genai::Error) -> ProviderError {
    use genai::Error;
    let classifier = Classifier::builtin();
    match error {
        Error::HttpError { status, body, headers, .. } => {
            let mut failure = classifier.classify(None, Some(status.as_u16()), body);
            let seconds = headers.get("retry-after").and_then(|wait| {
                let wait: u64 = wait.to_str().ok()?.trim().parse().ok()?;
                Some(Duration::from_secs(wait))
            });
            failure.retry_after = seconds.or(failure.retry_after);
            failure
        }
        Error::ChatResponse { body, .. } => classifier.classify(None, None, &body.to_string()),
        Error::WebStream { error, cause, .. } => match error.downcast_ref::<Error>() {
            // In a stream the HTTP error is inside another.
            Some(inner) => failure(inner),
            None => ProviderError::new(ErrorKind::Transport, cause.as_str()),
        },
        Error::StreamParse { .. } | Error::SerdeJson(_) | Error::JsonValueExt(_) => {
            ProviderError::new(ErrorKind::Decode, error.to_string())
        }
        _ => ProviderError::new(ErrorKind::InvalidRequest, error.to_string()),
    }
}
