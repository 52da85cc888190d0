//! Gemini `generateContent`.
//!
//! ```
//! use foldback_providers::wire::gemini;
//!
//! let request = gemini::request(r#"{"contents": [{"role": "user", "parts": [{"text": "Why?"}]}]}"#)?;
//! assert_eq!(request.messages()[0].said(), "Why?");
//! # Ok::<(), foldback_providers::wire::WireError>(())
//! ```

pub(crate) mod read;
pub(crate) mod stream;
mod write;

#[doc(hidden)]
pub use read::media;
#[doc(hidden)]
pub use write::{Writer, records};

use crate::wire::shared::messages::Messages;
use crate::wire::shared::pieces::Pieces as _;
use crate::wire::shared::usage;
use crate::wire::shared::usage::Counts;
use crate::wire::shared::value;
use crate::wire::{Request, Stream, Text, WireError};
use foldback_core::log::{Answer, Message, PartKind};
use foldback_core::validity::Dialect;
use serde_json::Value;

/// Reads the body of a request; [`Request::parse`].
///
/// # Errors
///
/// As with [`Request::parse`].
pub fn request(body: impl Into<Text>) -> Result<Request, WireError> {
    Request::parse(Dialect::Gemini, body)
}

/// Reads an answer that did not stream; [`answer`](crate::wire::answer).
///
/// # Errors
///
/// As with [`answer`](crate::wire::answer).
pub fn answer(id: &str, body: &str) -> Result<Message, WireError> {
    crate::wire::answer(Dialect::Gemini, id, body)
}

/// Assembles an answer that streams.
pub fn stream() -> Stream {
    Stream::new(Dialect::Gemini)
}

/// Reads the list of contents at a JSON pointer, and system prompt and tools beside it.
#[doc(hidden)]
pub fn read(root: &Value, list: &str) -> Messages {
    Messages::read(root, list, read::frame, read::records)
}

pub(crate) fn answer_in(body: &Value, id: &str) -> Result<Message, WireError> {
    if let Value::Array(pieces) = body {
        // A stream that was not asked for as events is a list of its pieces.
        return answer_in(&assembled(pieces)?, id);
    }
    if let Some(reason) = value::text_at(body, "/promptFeedback/blockReason") {
        return Err(WireError::Blocked { reason: reason.to_owned() });
    }
    let candidate = body.pointer("/candidates/0");
    let candidate = candidate.ok_or_else(|| WireError::no_answer("/candidates/0"))?;
    // Content is left out where there is none, and the reason says why.
    let content = &candidate["content"];
    let mut message =
        read::answer(content).ok_or_else(|| WireError::no_answer("/candidates/0/content"))?;
    name_calls(&mut message, content, id);
    message.answer = Some(Answer {
        usage: COUNTS.any(&body["usageMetadata"]),
        finish: value::text(candidate, "finishReason").map(usage::finish),
        model: value::string(body, "modelVersion"),
        ..Answer::default()
    });
    Ok(message)
}

fn assembled(pieces: &[Value]) -> Result<Value, WireError> {
    let mut chunks = Box::<stream::Chunks>::default();
    pieces.iter().try_for_each(|piece| chunks.push(piece.clone()))?;
    chunks.body().ok_or(WireError::Unfinished)
}

/// Most calls have no id. The ids made for them must differ between answers.
fn name_calls(message: &mut Message, content: &Value, id: &str) {
    let called = value::list(content, "parts").iter().filter_map(|part| part.get("functionCall"));
    let calls = message.parts.iter_mut().filter_map(|part| match &mut part.kind {
        PartKind::Call(call) => Some(call),
        _ => None,
    });
    for (number, (call, raw)) in calls.zip(called).enumerate() {
        if raw.get("id").is_none() {
            call.call_id = format!("{id}-call-{number}");
        }
    }
}

/// The member with the mark that the model put on a part and wants back unaltered.
#[doc(hidden)]
pub const SIGNATURE: &str = "thoughtSignature";

/// `promptTokenCount` includes the cached tokens; tokens that tools put into the prompt are counted apart.
#[doc(hidden)]
pub const COUNTS: Counts = Counts {
    input: &["/promptTokenCount"],
    cache_read: &["/cachedContentTokenCount"],
    output: &["/candidatesTokenCount"],
    reasoning: &["/thoughtsTokenCount"],
    total: "/totalTokenCount",
    apart: "/toolUsePromptTokenCount",
    reasoning_in_output: false,
    ..Counts::NONE
};
