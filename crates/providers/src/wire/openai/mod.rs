//! OpenAI Chat Completions, and everything compatible with it.
//!
//! ```
//! use foldback_core::log::Role;
//! use foldback_providers::wire::openai;
//!
//! let request = openai::request(r#"{"model": "gpt-5", "messages": [{"role": "user", "content": "Why?"}]}"#)?;
//! assert_eq!(request.messages()[0].role, Role::User);
//!
//! let answer = openai::answer("answer-1", r#"{
//!     "choices": [{"message": {"role": "assistant", "content": "So."}, "finish_reason": "stop"}],
//!     "usage": {"prompt_tokens": 10, "completion_tokens": 2}
//! }"#)?;
//! assert_eq!(answer.said(), "So.");
//! # Ok::<(), foldback_providers::wire::WireError>(())
//! ```

pub(crate) mod read;
pub(crate) mod stream;
mod write;

#[doc(hidden)]
pub use read::signature;

#[doc(hidden)]
pub use write::{Writer, records};

use crate::wire::shared::messages::Messages;
use crate::wire::shared::usage;
use crate::wire::shared::usage::Counts;
use crate::wire::shared::value;
use crate::wire::{Request, Stream, Text, WireError};
use foldback_core::log::{Answer, Message};
use foldback_core::validity::Dialect;
use serde_json::Value;

/// Reads the body of a request; [`Request::parse`].
///
/// # Errors
///
/// As with [`Request::parse`].
pub fn request(body: impl Into<Text>) -> Result<Request, WireError> {
    Request::parse(Dialect::OpenAiChat, body)
}

/// Reads an answer that did not stream; [`answer`](crate::wire::answer).
///
/// # Errors
///
/// As with [`answer`](crate::wire::answer).
pub fn answer(id: &str, body: &str) -> Result<Message, WireError> {
    crate::wire::answer(Dialect::OpenAiChat, id, body)
}

/// Assembles an answer that streams.
pub fn stream() -> Stream {
    Stream::new(Dialect::OpenAiChat)
}

/// Models of OpenAI that refuse `max_tokens`.
const COMPLETION_TOKENS: [&str; 5] = ["gpt-5", "gpt-6", "o1", "o3", "o4"];

/// The member of a request that limits the output: `max_completion_tokens` for OpenAI's newer models, and `max_tokens`
/// for all others, since compatible servers know that name.
pub fn output_limit(model: &str) -> &'static str {
    let newer = COMPLETION_TOKENS.iter().any(|name| model.starts_with(name));
    if newer { "max_completion_tokens" } else { "max_tokens" }
}

/// Reads the list of messages at a JSON pointer, and the tools beside it.
#[doc(hidden)]
pub fn read(root: &Value, list: &str) -> Messages {
    Messages::read(root, list, read::frame, read::records)
}

pub(crate) fn answer_in(body: &Value) -> Result<Message, WireError> {
    let said = body.pointer("/choices/0/message").and_then(read::answer);
    let mut message = said.ok_or_else(|| WireError::no_answer("/choices/0/message"))?;
    message.answer = Some(Answer {
        usage: body.get("usage").and_then(|usage| COUNTS.any(usage)),
        finish: value::text_at(body, "/choices/0/finish_reason").map(usage::finish),
        model: value::string(body, "model"),
        service: usage::service(value::text(body, "service_tier")),
        ..Answer::default()
    });
    Ok(message)
}

/// `prompt_tokens` includes the cached tokens, `completion_tokens` the reasoning.
#[doc(hidden)]
pub const COUNTS: Counts = Counts {
    input: &["/prompt_tokens"],
    cache_read: &["/prompt_tokens_details/cached_tokens"],
    output: &["/completion_tokens"],
    reasoning: &["/completion_tokens_details/reasoning_tokens"],
    total: "/total_tokens",
    ..Counts::NONE
};
