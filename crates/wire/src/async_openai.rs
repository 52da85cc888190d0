//! The types of the crate `async-openai`, version 0.43 (feature `async-openai`).
//!
//! Its types are the protocol as Rust types, so they go through [`openai`](crate::openai): messages that a fold did not
//! touch come back equal, all other fields of the request, too.
//!
//! ```
//! use async_openai::types::chat::CreateChatCompletionRequest;
//! use foldback_core::view::Shown;
//! use foldback_wire::async_openai as adapter;
//!
//! let mut request: CreateChatCompletionRequest = serde_json::from_str(
//!     r#"{"model": "gpt-5", "messages": [{"role": "user", "content": "Why?"}, {"role": "user", "content": "And?"}]}"#,
//! )?;
//! let read = adapter::request(&request)?;
//! // In an agent this is `conversation.sent()`.
//! let sent: Vec<_> = read.messages()[1..].iter().map(Shown::plain).collect();
//! let (folded, losses) = adapter::folded(&read, &sent)?;
//! assert_eq!(folded.messages, request.messages.split_off(1));
//! assert!(losses.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | what a message of the canonical form holds | in `async-openai` |
//! |---|---|
//! | text, calls, results, images, audio, files | as in Chat Completions |
//! | reasoning (`reasoning_content`, as compatible servers have it) | no place: among the losses |
//! | files with a result | no place: among the losses |

use crate::{Request, WireError};
use async_openai::types::chat::{
    ChatCompletionRequestMessage, CreateChatCompletionRequest, CreateChatCompletionResponse,
};
use foldback_core::log::Message;
use foldback_core::validity::Dialect;
use foldback_core::view::Shown;
use serde_json::{Value, json};

/// Reads a request.
///
/// # Errors
///
/// As with [`Request::parse`].
pub fn request(request: &CreateChatCompletionRequest) -> Result<Request, WireError> {
    Request::parse(Dialect::OpenAiChat, serde_json::to_string(request)?)
}

/// Reads a list of messages.
///
/// # Errors
///
/// As with [`Request::parse`].
pub fn messages(list: &[ChatCompletionRequestMessage]) -> Result<Request, WireError> {
    Request::parse(Dialect::OpenAiChat, json!({ "model": "", "messages": list }).to_string())
}

/// The request with the messages that a view shows ([`Request::folded`]), and what has no place in the crate's types.
///
/// # Errors
///
/// As with [`Request::folded`]; something is in the messages that the crate's types refuse.
pub fn folded(
    request: &Request,
    sent: &[Shown<'_>],
) -> Result<(CreateChatCompletionRequest, Vec<String>), WireError> {
    let folded = request.folded(sent)?;
    let body: Value = serde_json::from_str(&folded.body)?;
    let typed: CreateChatCompletionRequest = serde_json::from_value(body.clone())?;
    let mut losses = folded.losses;
    lost(&body, &serde_json::to_value(&typed)?, "", &mut losses);
    Ok((typed, losses))
}

/// Reads an answer that did not stream.
///
/// # Errors
///
/// As with [`answer`](crate::answer).
pub fn answer(id: &str, answer: &CreateChatCompletionResponse) -> Result<Message, WireError> {
    crate::answer_of(Dialect::OpenAiChat, id, &serde_json::to_value(answer)?)
}

/// What of `body` the types did not keep.
fn lost(body: &Value, kept: &Value, at: &str, losses: &mut Vec<String>) {
    match (body, kept) {
        (Value::Object(body), Value::Object(kept)) => {
            for (key, value) in body.iter().filter(|(_, value)| !value.is_null()) {
                let at = format!("{at}/{key}");
                match kept.get(key) {
                    Some(kept) => lost(value, kept, &at, losses),
                    None => {
                        losses.push(format!("{at}: no type of async-openai has a place for it"))
                    }
                }
            }
        }
        (Value::Array(body), Value::Array(kept)) => {
            for (index, (value, kept)) in body.iter().zip(kept).enumerate() {
                lost(value, kept, &format!("{at}/{index}"), losses);
            }
        }
        _ => {}
    }
}
