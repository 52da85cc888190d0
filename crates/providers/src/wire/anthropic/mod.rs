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
use crate::wire::shared::usage::{self, Counts};
use crate::wire::shared::value;
use crate::wire::{Request, Stream, Text, WireError};
use foldback_core::log::{Message, Round, Service, Usage};
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

/// What a message says that it used, each request that the provider made for it by itself.
#[doc(hidden)]
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// Of the last request of the answer's model, with the output of all of them.
    pub usage: Option<Usage>,
    /// Of the provider's own compactions.
    pub compaction: Option<Usage>,
    /// Of the requests before the last, and to other models.
    pub rounds: Vec<Round>,
    /// The counts around the iterations are neither their sum nor those of one of them.
    pub contradicts: bool,
}

/// What a message used. The counts around the iterations leave compactions and other models out, and are the sum of the rest or,
/// of the input, one of them: the size of the request is in the last.
#[doc(hidden)]
pub fn used(message: &Value) -> Used {
    let raw = &message["usage"];
    let around = COUNTS.any(raw);
    let mut out = Used { usage: around, ..Used::default() };
    let mut own = Vec::new();
    for one in value::list(raw, "iterations") {
        let Some(usage) = COUNTS.any(one) else { continue };
        match value::text(one, "type") {
            Some(COMPACTION) => {
                out.compaction = Some(out.compaction.map_or(usage, |sum| sum.plus(&usage)));
            }
            Some("message") | None => own.push(usage),
            Some(_) => {
                let model = value::string(one, "model");
                out.rounds.push(Round { model, usage });
            }
        }
    }
    let sum = own.iter().fold(Usage::default(), |sum, usage| sum.plus(usage));
    // One that was not counted says nothing of the size.
    own.retain(Usage::has_input);
    let mut last = match own.pop() {
        // What stands around one request is that request.
        Some(last) if !own.is_empty() || !around.is_some_and(|around| around.has_input()) => last,
        _ => return out,
    };
    let around = around.unwrap_or(sum);
    let input = around.input_total();
    let is_one = || own.iter().chain([&last]).any(|usage| usage.input_total() == input);
    out.contradicts = input > 0 && input != sum.input_total() && !is_one();
    // Iterations without a breakdown by lifetime share that of the whole.
    let share = |usage: &mut Usage| {
        if usage.cache_write_1h == 0 && sum.cache_write_1h == 0 && around.cache_write > 0 {
            let hour = u128::from(usage.cache_write) * u128::from(around.cache_write_1h);
            let hour = (hour / u128::from(around.cache_write)).min(u128::from(usage.cache_write));
            usage.cache_write_1h = u64::try_from(hour).unwrap_or(usage.cache_write);
        }
    };
    share(&mut last);
    last.output = around.output.max(sum.output);
    last.reasoning = around.reasoning.max(sum.reasoning);
    let before = own.into_iter().map(|mut usage| {
        share(&mut usage);
        Round { model: None, usage: Usage { output: 0, reasoning: 0, ..usage } }
    });
    out.rounds.splice(0..0, before);
    out.usage = Some(last);
    out
}

/// How a message says that it was served.
#[doc(hidden)]
pub fn service(message: &Value) -> Service {
    match usage::service(value::text_at(message, "/usage/speed")) {
        Service::Standard => usage::service(value::text_at(message, "/usage/service_tier")),
        fast => fast,
    }
}

/// The three classes of input tokens are disjoint.
#[doc(hidden)]
pub const COUNTS: Counts = Counts {
    input: &["/input_tokens"],
    cache_read: &["/cache_read_input_tokens"],
    cache_write: &["/cache_creation_input_tokens"],
    cache_write_5m: &["/cache_creation/ephemeral_5m_input_tokens"],
    cache_write_1h: &["/cache_creation/ephemeral_1h_input_tokens"],
    output: &["/output_tokens"],
    reasoning: &["/output_tokens_details/thinking_tokens"],
    cache_in_input: false,
    ..Counts::NONE
};
