//! What a provider answered, in the terms of the core.

use super::provider::Protocol;
use super::speech::Speech;
use foldback_core::log::{Finish, Usage};
use foldback_core::provider::{Completion, ErrorKind, ProviderError};
use foldback_providers::wire::shared::usage::{Counts, finish as finish_of};
use serde_json::Value;

/// Reads an answer.
pub(crate) fn completion(speech: Speech, body: &Value) -> Completion {
    let said = |pointer: &str| body.pointer(pointer)?.as_str();
    let (text, called) = text(speech, body.pointer(speech.place()).unwrap_or(&Value::Null));
    Completion {
        finish: finish(said(speech.reason()), called, text.is_empty()),
        text,
        usage: body.pointer(speech.usage()).and_then(|told| usage(speech.counts(), told)),
        model: said(speech.model()).filter(|model| !model.is_empty()).map(str::to_owned),
    }
}

/// What an answer says, and whether it calls a tool. Parts of one answer belong together without a gap: providers
/// split a text where they please.
fn text(speech: Speech, place: &Value) -> (String, bool) {
    let items = |value: &'_ Value| value.as_array().cloned().unwrap_or_default();
    let texts = |parts: &[Value], is_text: fn(&Value) -> bool| {
        let parts = parts.iter().filter(|part| is_text(part));
        parts.filter_map(|part| part["text"].as_str()).collect::<String>()
    };
    match speech {
        Speech::Anthropic => {
            let blocks = items(place);
            let called = blocks.iter().any(|block| block["type"] == "tool_use");
            (texts(&blocks, |block| block["type"] == "text"), called)
        }
        Speech::Gemini => {
            let parts = items(&place["content"]["parts"]);
            let called = parts.iter().any(|part| part.get("functionCall").is_some());
            (texts(&parts, |part| part["thought"] != true), called)
        }
        // What is generated says nothing; the figures are read apart.
        Speech::Likelihood => (String::new(), false),
        Speech::OpenAi | Speech::Ollama => {
            let called = !items(&place["tool_calls"]).is_empty();
            let text = match &place["content"] {
                // Mistral's reasoning models answer with typed pieces.
                Value::Array(pieces) => texts(pieces, |piece| piece["type"] == "text"),
                content => content.as_str().unwrap_or_default().to_owned(),
            };
            (without_thoughts(text.trim()), called)
        }
    }
}

/// Models of one's own write their reasoning into the text, between `<think>` and `</think>`.
fn without_thoughts(text: &str) -> String {
    let parts = text.split_once("<think>");
    let parts = parts.and_then(|(before, rest)| Some((before, rest.split_once("</think>")?.1)));
    match parts {
        Some((before, after)) => format!("{before}{}", after.trim_start()),
        None => text.to_owned(),
    }
}

/// Gemini says `STOP` where it called a function, and some servers say nothing at all.
fn finish(reason: Option<&str>, called: bool, empty: bool) -> Finish {
    match reason.map(finish_of) {
        Some(Finish::Stop) | None if called && empty => Finish::ToolCalls,
        told => told.unwrap_or(Finish::Other),
    }
}

/// The usage that a provider reports, if any.
fn usage(counts: &Counts, told: &Value) -> Option<Usage> {
    let usage = counts.any(told)?;
    let total = usage.total_tokens();
    // What no model can take is a mistake of the provider.
    (total < 1 << 40).then_some(Usage { total: Some(total), ..usage })
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
    let place = protocol.speech.place();
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
    use serde_json::json;

    #[test]
    fn finishes_of_all_providers() {
        let table = [
            (Some("stop"), false, false, Finish::Stop),
            (Some("end_turn"), false, false, Finish::Stop),
            (Some("STOP"), false, true, Finish::Stop),
            (Some("STOP"), true, true, Finish::ToolCalls),
            (Some("STOP"), true, false, Finish::Stop),
            (Some("stop_sequence"), false, false, Finish::Stop),
            (Some("tool_use"), true, false, Finish::ToolCalls),
            (Some("length"), false, false, Finish::Length),
            (Some("MAX_TOKENS"), false, true, Finish::Length),
            (Some("max_tokens"), true, true, Finish::Length),
            (Some("content_filter"), false, true, Finish::ContentFilter),
            (Some("refusal"), false, false, Finish::ContentFilter),
            (Some("load"), false, true, Finish::Other),
            (None, true, true, Finish::ToolCalls),
            (None, false, false, Finish::Other),
        ];
        for (reason, called, empty, expected) in table {
            let case = format!("{reason:?}, called {called}, empty {empty}");
            assert_eq!(finish(reason, called, empty), expected, "{case}");
        }
    }

    #[test]
    fn classes_of_usage_are_disjoint() {
        let openai = json!({
            "prompt_tokens": 1_000,
            "prompt_tokens_details": {"cached_tokens": 600},
            "completion_tokens": 80,
            "completion_tokens_details": {"reasoning_tokens": 30},
        });
        let anthropic = json!({
            "input_tokens": 300,
            "cache_read_input_tokens": 600,
            "cache_creation_input_tokens": 100,
            "output_tokens": 80,
            "output_tokens_details": {"thinking_tokens": 30},
        });
        let gemini = json!({
            "promptTokenCount": 900,
            "toolUsePromptTokenCount": 100,
            "cachedContentTokenCount": 600,
            "candidatesTokenCount": 50,
            "thoughtsTokenCount": 30,
        });
        let ollama = json!({"prompt_eval_count": 1_000, "eval_count": 80});
        let table = [
            (Speech::OpenAi, openai, Some([400, 600, 0, 50, 30])),
            (Speech::Anthropic, anthropic, Some([300, 600, 100, 50, 30])),
            (Speech::Gemini, gemini, Some([400, 600, 0, 50, 30])),
            (Speech::Ollama, ollama, Some([1_000, 0, 0, 80, 0])),
            (Speech::OpenAi, json!(null), None),
            (Speech::OpenAi, json!({}), None),
            // More is cached than there is, so the cache is not part of it; and more than there can be.
            (
                Speech::OpenAi,
                json!({"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 9}}),
                Some([5, 9, 0, 0, 0]),
            ),
            (Speech::OpenAi, json!({"prompt_tokens": u64::MAX}), None),
        ];
        for (speech, told, expected) in table {
            let usage = usage(speech.counts(), &told);
            let classes = usage.map(|usage| {
                assert_eq!(usage.total, Some(usage.input_total() + usage.output + usage.reasoning));
                [usage.uncached, usage.cache_read, usage.cache_write, usage.output, usage.reasoning]
            });
            assert_eq!(classes, expected, "{speech:?} {told}");
        }
    }

    #[test]
    fn thoughts_in_the_text_are_left_out() {
        let table = [
            ("<think>Hm.</think>\n\nSo.", "So."),
            ("First. <think>Hm.</think> So.", "First. So."),
            ("<think>never ends", "<think>never ends"),
            ("</think> ends only <think>", "</think> ends only <think>"),
            ("Plain.", "Plain."),
        ];
        for (text, expected) in table {
            assert_eq!(without_thoughts(text), expected);
        }
    }
}
