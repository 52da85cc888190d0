//! A request as it was received.

use crate::protocol::Protocol;
use serde_json::Value;

/// A request as it was received.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// Which request it is, from 1.
    pub number: usize,
    /// The protocol it speaks.
    pub protocol: Protocol,
    /// Path and query.
    pub path: String,
    /// Names, in lower case, and values, in the order they came in.
    pub headers: Vec<(String, String)>,
    /// The body; [`Value::Null`] where it is not JSON.
    pub body: Value,
    /// The body as it was sent.
    pub text: String,
    /// Bytes of the body as sent.
    pub bytes: usize,
    /// Tokens of the request by the provider's counter.
    pub tokens: u64,
    /// Whether the client asked for a stream.
    pub stream: bool,
}

impl Recorded {
    /// The first header of that name, in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers.find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The conversation as the protocol spells it: `messages`, Gemini's `contents`, or the `input` of Responses.
    pub fn messages(&self) -> &[Value] {
        let mut names = ["messages", "contents", "input"].iter();
        let messages = names.find_map(|name| self.body.get(name));
        messages.and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// Most tokens that the model may generate, where the request says so.
    pub fn max_output(&self) -> Option<u64> {
        const PLACES: [&str; 5] = [
            "/max_completion_tokens",
            "/max_tokens",
            "/max_output_tokens",
            "/generationConfig/maxOutputTokens",
            "/options/num_predict",
        ];
        let mut places = PLACES.iter();
        places.find_map(|place| self.body.pointer(place)?.as_u64())
    }
}
