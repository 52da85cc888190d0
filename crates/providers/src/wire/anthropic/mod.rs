//! Anthropic Messages.
//!
//! ```
//! use foldback_core::log::Role;
//! use foldback_providers::wire::anthropic;
//!
//! let request = anthropic::request(r#"{"model": "claude-sonnet-5", "max_tokens": 500, "messages": [
//!     {"role": "user", "content": "Why?"},
//!     {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "bash", "input": {}}]},
//!     {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}]}
//! ]}"#)?;
//! // A result is a message of its own, whatever it is on the wire.
//! assert_eq!(request.messages()[2].role, Role::Tool);
//! # Ok::<(), foldback_providers::wire::WireError>(())
//! ```

pub(crate) mod read;
pub(crate) mod stream;
mod write;

#[doc(hidden)]
pub use read::{media, part};
#[doc(hidden)]
pub use write::{Writer, block, records};

use crate::wire::shared::messages::Messages;
use crate::wire::shared::usage::Counts;
use crate::wire::shared::value;
use crate::wire::{Request, Stream, Text, WireError};
use foldback_core::log::{Message, Usage};
use foldback_core::validity::Dialect;
use serde_json::Value;

/// Reads the body of a request; [`Request::parse`].
///
/// # Errors
///
/// As with [`Request::parse`].
pub fn request(body: impl Into<Text>) -> Result<Request, WireError> {
    Request::parse(Dialect::Anthropic, body)
}

/// Reads an answer that did not stream; [`answer`](crate::wire::answer).
///
/// # Errors
///
/// As with [`answer`](crate::wire::answer).
pub fn answer(id: &str, body: &str) -> Result<Message, WireError> {
    crate::wire::answer(Dialect::Anthropic, id, body)
}

/// Assembles an answer that streams.
pub fn stream() -> Stream {
    Stream::new(Dialect::Anthropic)
}

/// Reads the list of messages at a JSON pointer, and the system prompt and the tools beside it.
#[doc(hidden)]
pub fn read(root: &Value, list: &str) -> Messages {
    Messages::read(root, list, read::frame, read::records)
}

pub(crate) fn answer_in(body: &Value) -> Result<Message, WireError> {
    if !body["content"].is_array() {
        return Err(WireError::no_answer("/content"));
    }
    read::answer(body).ok_or_else(|| WireError::no_answer("/role"))
}

/// The type of the block that replaces what the provider itself compacted.
pub(crate) const COMPACTION: &str = "compaction";

/// The id of the call that a block with the result of a provider's own tool answers.
#[doc(hidden)]
pub fn server_call<'a>(name: &str, raw: &'a Value) -> Option<&'a str> {
    name.ends_with("_tool_result").then(|| value::text(raw, "tool_use_id")).flatten()
}

/// Whether a block belongs to a tool that runs at the provider: call and result stay in the answer.
#[doc(hidden)]
pub fn is_server_block(kind: &str) -> bool {
    kind == "server_tool_use" || kind.ends_with("_tool_result")
}

/// The number of web searches in a usage.
#[doc(hidden)]
pub fn web_searches(message: &Value) -> u64 {
    value::count(message, "/usage/server_tool_use/web_search_requests")
}

/// What compactions used during the call. Of the iterations of a usage, the counts around them leave these out.
pub(crate) fn compaction(message: &Value) -> Option<Usage> {
    let iterations = value::list_at(message, "/usage/iterations").iter();
    let compactions = iterations.filter(|one| value::text(one, "type") == Some(COMPACTION));
    compactions.map(|one| COUNTS.usage(one)).reduce(|sum, one| sum.plus(&one))
}

/// The three classes of input tokens are disjoint.
#[doc(hidden)]
pub const COUNTS: Counts = Counts {
    input: &["/input_tokens"],
    cache_read: &["/cache_read_input_tokens"],
    cache_write: &["/cache_creation_input_tokens"],
    cache_write_1h: &["/cache_creation/ephemeral_1h_input_tokens"],
    output: &["/output_tokens"],
    reasoning: &["/output_tokens_details/thinking_tokens"],
    cache_in_input: false,
    ..Counts::NONE
};
