//! What a provider answered, in the terms of the core.

use super::provider::Protocol;
use foldback_core::log::{Finish, Usage};
use foldback_core::provider::{Completion, ErrorKind, ProviderError};
use genai::adapter::AdapterKind;
use genai::chat::{ChatResponse, StopReason};
use serde_json::Value;

/// Reads an answer. `body` is the answer as it was received.
pub(crate) fn completion(response: &ChatResponse) -> Completion {
    // Parts of one answer belong together without a gap: providers split a text where they please.
    let text = response.content.texts().concat();
    let called = !response.content.tool_calls().is_empty();
    let model = response.provider_model_iden.model_name.to_string();
    Completion {
        finish: finish(response.stop_reason.as_ref(), called, text.is_empty()),
        text,
        usage: usage(&response.usage),
        model: (!model.is_empty()).then_some(model),
    }
}

/// Gemini says `STOP` where it called a function, and some servers say nothing at all.
fn finish(reason: Option<&StopReason>, called: bool, empty: bool) -> Finish {
    match reason {
        Some(StopReason::ToolCall(_)) => Finish::ToolCalls,
        Some(StopReason::MaxTokens(_)) => Finish::Length,
        Some(StopReason::ContentFilter(_)) => Finish::ContentFilter,
        Some(StopReason::Completed(_) | StopReason::StopSequence(_)) | None if called && empty => {
            Finish::ToolCalls
        }
        Some(StopReason::Completed(_) | StopReason::StopSequence(_)) => Finish::Stop,
        Some(StopReason::Other(_)) | None => Finish::Other,
    }
}

/// The library counts all input together and the reasoning as a part of the output, whatever the
/// provider; here the classes are disjoint.
fn usage(usage: &genai::chat::Usage) -> Option<Usage> {
    let count = |tokens: Option<i32>| tokens.and_then(|tokens| u64::try_from(tokens).ok());
    let input = count(usage.prompt_tokens);
    let output = count(usage.completion_tokens);
    if input.is_none() && output.is_none() {
        return None;
    }
    let prompt = usage.prompt_tokens_details.as_ref();
    let cache_read = count(prompt.and_then(|details| details.cached_tokens)).unwrap_or(0);
    let cache_write = count(prompt.and_then(|details| details.cache_creation_tokens)).unwrap_or(0);
    let reasoning = count(
        usage.completion_tokens_details.as_ref().and_then(|details| details.reasoning_tokens),
    )
    .unwrap_or(0);
    Some(Usage {
        uncached: input.unwrap_or(0).saturating_sub(cache_read).saturating_sub(cache_write),
        cache_read,
        cache_write,
        output: output.unwrap_or(0).saturating_sub(reasoning),
        reasoning,
        total: count(usage.total_tokens),
    })
}

/// What is wrong with an answer that came with status 200. Gateways send errors so, and a wrong
/// address often answers with some other JSON.
pub(crate) enum Wrong {
    /// The body is an error, to be classified.
    Error,
    /// It is not an answer at all.
    Refused(ProviderError),
}

/// Looks at a body that was received with status 200.
pub(crate) fn wrong(protocol: &Protocol, body: &Value) -> Option<Wrong> {
    if body.get("error").is_some_and(|error| !error.is_null()) {
        return Some(Wrong::Error);
    }
    let blocked = body.pointer("/promptFeedback/blockReason");
    if let Some(reason) = blocked.and_then(Value::as_str) {
        return Some(Wrong::Refused(ProviderError::new(
            ErrorKind::ContentRefused,
            format!("the request was blocked: {reason}"),
        )));
    }
    let place = match protocol.adapter {
        AdapterKind::Anthropic => "/content",
        AdapterKind::Gemini => "/candidates/0",
        AdapterKind::Ollama => "/message",
        _ => "/choices/0/message",
    };
    body.pointer(place).is_none().then(|| {
        Wrong::Refused(ProviderError::new(
            ErrorKind::Decode,
            format!(
                "the answer holds no {place}, as one of provider `{}` should: is `base_url` its address?",
                protocol.name
            ),
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use genai::chat::{CompletionTokensDetails, PromptTokensDetails};

    #[test]
    fn finishes_of_all_providers() {
        let said = |reason: &str| Some(StopReason::from(reason.to_owned()));
        let table = [
            (said("stop"), false, false, Finish::Stop),
            (said("end_turn"), false, false, Finish::Stop),
            (said("STOP"), false, true, Finish::Stop),
            (said("STOP"), true, true, Finish::ToolCalls),
            (said("STOP"), true, false, Finish::Stop),
            (said("stop_sequence"), false, false, Finish::Stop),
            (said("tool_use"), true, false, Finish::ToolCalls),
            (said("length"), false, false, Finish::Length),
            (said("MAX_TOKENS"), false, true, Finish::Length),
            (said("max_tokens"), true, true, Finish::Length),
            (said("content_filter"), false, true, Finish::ContentFilter),
            (said("refusal"), false, false, Finish::ContentFilter),
            (said("load"), false, true, Finish::Other),
            (None, true, true, Finish::ToolCalls),
            (None, false, false, Finish::Other),
        ];
        for (reason, called, empty, expected) in table {
            assert_eq!(
                finish(reason.as_ref(), called, empty),
                expected,
                "{reason:?}, called {called}, empty {empty}"
            );
        }
    }

    #[test]
    fn classes_of_usage_are_disjoint() {
        let given = genai::chat::Usage {
            prompt_tokens: Some(1_000),
            prompt_tokens_details: Some(PromptTokensDetails {
                cached_tokens: Some(600),
                cache_creation_tokens: Some(100),
                ..PromptTokensDetails::default()
            }),
            completion_tokens: Some(80),
            completion_tokens_details: Some(CompletionTokensDetails {
                reasoning_tokens: Some(30),
                ..CompletionTokensDetails::default()
            }),
            total_tokens: Some(1_080),
        };
        assert_eq!(
            usage(&given),
            Some(Usage {
                uncached: 300,
                cache_read: 600,
                cache_write: 100,
                output: 50,
                reasoning: 30,
                total: Some(1_080),
            })
        );
        assert_eq!(usage(&genai::chat::Usage::default()), None);
    }
}
