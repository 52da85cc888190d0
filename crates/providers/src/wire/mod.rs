//! Requests and answers of model providers, to and from the messages of foldback.
//!
//! A request is read into messages, a conversation folds them, and the request goes out with the messages of the view.
//! Every message knows the bytes that it was read from. Untouched messages go out byte for byte, so the provider's prompt
//! cache sees no difference.
//!
//! ```
//! use foldback_core::view::ShownMessage;
//! use foldback_providers::wire::anthropic;
//!
//! let body = r#"{"model": "claude-sonnet-5", "max_tokens": 500, "messages": [
//!     {"role": "user",  "content": "One."},
//!     {"role": "assistant", "content": "Two."},
//!     {"role": "user",  "content": "Three."} ], "metadata": {"user_id": "7"}}"#;
//! let request = anthropic::request(body)?;
//!
//! // In an agent this is `conversation.sent()`.
//! let all: Vec<_> = request.messages().iter().map(ShownMessage::plain).collect();
//! assert_eq!(request.folded(&all)?.body, body);
//! let last = request.folded(&all[2..])?.body;
//! assert!(last.ends_with(r#"[
//!     {"role": "user",  "content": "Three."} ], "metadata": {"user_id": "7"}}"#));
//! # Ok::<(), foldback_providers::wire::WireError>(())
//! ```
//!
//! | module | protocol | a message of the canonical form is |
//! |---|---|---|
//! | [`openai`] | Chat Completions | a message |
//! | [`anthropic`] | Messages | a message; results that follow an answer are blocks of one |
//! | [`gemini`] | `generateContent` | a content; results that follow an answer are parts of one |
//! | [`responses`] | Responses | an item; an answer is all items of its response |
//!
//! Each has `request`, `answer` and `stream`; [`Request`], [`answer`] and [`Stream`] take the protocol as a value.

pub mod anthropic;
mod error;
pub mod gemini;
pub mod openai;
mod outline;
mod request;
pub mod responses;
#[doc(hidden)]
pub mod shared;
mod stream;

pub use error::WireError;
pub use foldback_core::validity::Dialect;
pub use outline::Outline;
pub use request::{FoldedList, FoldedRequest, Reading, Request};
pub use shared::messages::{Problem, ProblemKind};
pub use shared::raw::Item;
pub use shared::rewrite::Stale;
pub use shared::source::Text;
pub use stream::Stream;

use foldback_core::log::{Finish, Message, PartKind};
use serde_json::Value;
use shared::raw;

/// Reads the body of an answer that did not stream into a message of the log, with usage and why the model stopped.
/// `id` is the message's; no other of the conversation may have it.
///
/// # Errors
///
/// The provider answered with an error ([`WireError::Refused`]) or blocked the request ([`WireError::Blocked`]); or it
/// is no answer of this protocol.
pub fn answer(dialect: Dialect, id: &str, body: &str) -> Result<Message, WireError> {
    answer_of(dialect, id, &raw::parse(body)?)
}

/// [`answer`], of a body that is parsed.
///
/// # Errors
///
/// As with [`answer`].
pub fn answer_of(dialect: Dialect, id: &str, body: &Value) -> Result<Message, WireError> {
    if body.get("error").is_some_and(|error| !error.is_null()) {
        return Err(WireError::Refused { body: body.clone() });
    }
    let mut message = match dialect {
        Dialect::OpenAiChat => openai::answer_in(body),
        Dialect::Anthropic => anthropic::answer_in(body),
        Dialect::Gemini => gemini::answer_in(body, id),
        Dialect::OpenAiResponses => responses::answer_in(body),
    }?;
    message.id = id.to_owned();
    message.record = None;
    for part in &mut message.parts {
        // The record that it was read from is not kept.
        part.pointer = None;
        part.source_record = None;
    }
    let called = message.parts.iter().any(|part| matches!(part.kind, PartKind::Call(_)));
    if let Some(answer) = &mut message.answer {
        answer.finish = match answer.finish {
            // Gemini says `STOP` where it called a function, and some servers say nothing at all.
            None | Some(Finish::Stop) if called => Some(Finish::ToolCalls),
            None => Some(Finish::Stop),
            told => told,
        };
    }
    Ok(message)
}

/// Messages as a protocol has them, for a request of one's own. What has no place goes to `losses`, one line each.
pub fn messages(dialect: Dialect, messages: &[Message], losses: &mut Vec<String>) -> Vec<Value> {
    match dialect {
        Dialect::OpenAiChat => openai::records(messages, losses),
        Dialect::Anthropic => anthropic::records(messages, losses),
        Dialect::Gemini => gemini::records(messages),
        Dialect::OpenAiResponses => {
            messages.iter().flat_map(|message| responses::records(message, losses)).collect()
        }
    }
}
