//! OpenAI Responses.
//!
//! The items of one response are one assistant message. A request that builds on what the provider keeps
//! (`previous_response_id`, `conversation`, references to items) holds only part of its conversation and is refused
//! with [`WireError::Elsewhere`]. Who has seen the items puts them in the places of the references before: [`resolved`].
//!
//! ```
//! use foldback_providers::wire::{WireError, responses};
//!
//! let request = responses::request(r#"{"model": "gpt-5", "input": "Why?"}"#)?;
//! assert_eq!(request.messages()[0].said(), "Why?");
//!
//! let rest = responses::request(r#"{"input": "And?", "previous_response_id": "resp_1"}"#);
//! assert!(matches!(rest, Err(WireError::Elsewhere { .. })));
//! # Ok::<(), WireError>(())
//! ```

#[doc(hidden)]
pub mod item;
pub(crate) mod read;
mod reference;
pub(crate) mod stream;
mod write;

#[doc(hidden)]
pub use read::{Placed, read};
pub use reference::{Resolved, referable, resolved};
pub(crate) use write::items_of;
#[doc(hidden)]
pub use write::{edited, items, message, records, rewrite};

use crate::wire::shared::messages::Messages;
use crate::wire::shared::usage::Counts;
use crate::wire::shared::value;
use crate::wire::{Request, Stream, Text, WireError};
use foldback_core::log::{Answer, Message, Role};
use foldback_core::validity::Dialect;
use serde_json::Value;

/// Reads the body of a request; [`Request::parse`].
///
/// # Errors
///
/// As with [`Request::parse`].
pub fn request(body: impl Into<Text>) -> Result<Request, WireError> {
    Request::parse(Dialect::OpenAiResponses, body)
}

/// Reads an answer that did not stream; [`answer`](crate::wire::answer).
///
/// # Errors
///
/// As with [`answer`](crate::wire::answer).
pub fn answer(id: &str, body: &str) -> Result<Message, WireError> {
    crate::wire::answer(Dialect::OpenAiResponses, id, body)
}

/// Assembles an answer that streams.
pub fn stream() -> Stream {
    Stream::new(Dialect::OpenAiResponses)
}

/// Members that refer to what was said before and the provider keeps.
#[doc(hidden)]
pub const KEPT_HISTORY: [&str; 2] = ["previous_response_id", "conversation"];

/// Members of a request that refer to what the provider keeps.
const KEPT: [&str; 3] = [KEPT_HISTORY[0], KEPT_HISTORY[1], "prompt"];

/// Checks that the provider keeps no part of a request's conversation.
pub(crate) fn check(root: &Value) -> Result<(), WireError> {
    match KEPT.iter().find(|key| root.get(**key).is_some_and(|kept| !kept.is_null())) {
        Some(key) => Err(WireError::Elsewhere { pointer: format!("/{key}") }),
        None => Ok(()),
    }
}

/// Whether an item stands for one that the provider keeps. The type may be left out.
fn is_reference(item: &Value) -> bool {
    match item.get("type").filter(|kind| !kind.is_null()) {
        Some(kind) => kind == "item_reference",
        None => item.get("role").is_none() && value::text(item, "id").is_some(),
    }
}

/// Reads the items of a request, or the text in their place.
///
/// # Errors
///
/// An element is not an item, or refers to one that the provider keeps.
pub(crate) fn read_items<'a>(
    out: Messages,
    items: &[(u32, &'a Value)],
    listed: bool,
) -> Result<Messages, WireError> {
    for (index, item) in items {
        let pointer = format!("/input/{index}");
        if is_reference(item) {
            return Err(WireError::Elsewhere { pointer });
        }
        let is_item = item.get("type").or(item.get("role")).is_some_and(Value::is_string);
        let stands_alone = item.is_string() && !listed;
        if !is_item && !stands_alone {
            let detail = "an item needs an object with a `type` or a `role`";
            return Err(WireError::shape(pointer, detail));
        }
    }
    let placed = |(record, item): &(u32, &'a Value)| (*record, format!("/input/{record}"), *item);
    Ok(read::records(out, items.iter().map(placed)))
}

pub(crate) fn answer_in(body: &Value) -> Result<Message, WireError> {
    if !body["output"].is_array() {
        return Err(WireError::no_answer("/output"));
    }
    let empty = || Message::new("", Role::Assistant, Vec::new());
    let mut message = read::answer(body).unwrap_or_else(empty);
    message.role = Role::Assistant;
    let mut answer = Answer::default();
    read::complete(&mut answer, body);
    message.answer = Some(answer);
    Ok(message)
}

/// `input_tokens` includes the cached tokens, `output_tokens` the reasoning.
#[doc(hidden)]
pub const COUNTS: Counts = Counts {
    input: &["/input_tokens"],
    cache_read: &["/input_tokens_details/cached_tokens"],
    output: &["/output_tokens"],
    reasoning: &["/output_tokens_details/reasoning_tokens"],
    total: "/total_tokens",
    ..Counts::NONE
};
