//! How each protocol spells an answer.

mod anthropic;
mod gemini;
mod ollama;
mod openai;
mod responses;

use crate::reply::{Answer, Finish, Told, Usage};
use serde_json::Value;

/// A protocol, told by the path of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// OpenAI chat completions, and whoever is compatible.
    OpenAi,
    /// Anthropic messages.
    Anthropic,
    /// Gemini `generateContent`.
    Gemini,
    /// Ollama's own.
    Ollama,
    /// OpenAI Responses.
    Responses,
    /// None: another path of a server that answers everywhere.
    Unknown,
}

/// An answer that is to be spelled.
pub(crate) struct Spelling<'a> {
    /// The model that was asked for.
    pub(crate) model: &'a str,
    pub(crate) answer: &'a Answer,
    /// `None` where the answer does not say what it cost.
    pub(crate) usage: Option<Usage>,
    pub(crate) told: Told,
    /// Number of the request, for ids.
    pub(crate) number: usize,
    /// Whether a stream is asked to say what it cost; OpenAI's option, others always do.
    pub(crate) stream_usage: bool,
}

/// The counts of a request in the protocols' words, and sums and objects that hold them.
const OF_REQUEST: [&str; 10] = [
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
    "cachedContentTokenCount",
    "input_tokens",
    "input_tokens_details",
    "promptTokenCount",
    "prompt_tokens",
    "prompt_tokens_details",
    "totalTokenCount",
    "total_tokens",
];

impl Spelling<'_> {
    /// A usage with as much of it as is told at the end of an answer.
    fn told(&self, mut usage: Value) -> Value {
        let Some(members) = usage.as_object_mut() else { return usage };
        match self.told {
            Told::All => {}
            Told::Output => members.retain(|name, _| !OF_REQUEST.contains(&name.as_str())),
            Told::Nulls | Told::Zeros => {
                let of_request =
                    members.iter_mut().filter(|(name, _)| OF_REQUEST.contains(&name.as_str()));
                of_request.for_each(|(_, count)| {
                    *count = match self.told {
                        Told::Zeros if count.is_number() => 0.into(),
                        _ => Value::Null,
                    };
                });
            }
        }
        usage
    }

    /// The protocol's word for why the model stopped.
    fn finish(
        &self,
        stop: &'static str,
        tools: &'static str,
        length: &'static str,
    ) -> &'static str {
        match self.answer.finish {
            Finish::Length => length,
            _ if !self.answer.calls.is_empty() => tools,
            _ => stop,
        }
    }
}

impl Protocol {
    /// The protocol that is spoken at a path (without query).
    pub(crate) fn of(path: &str) -> Option<Self> {
        if path.ends_with("/chat/completions") {
            Some(Self::OpenAi)
        } else if path.ends_with("/messages") {
            Some(Self::Anthropic)
        } else if path.ends_with(":generateContent") || path.ends_with(":streamGenerateContent") {
            Some(Self::Gemini)
        } else if path.ends_with("/api/chat") {
            Some(Self::Ollama)
        } else if path.ends_with("/responses") {
            Some(Self::Responses)
        } else {
            None
        }
    }

    /// Whether a request asks for a stream.
    pub(crate) fn streams(self, path: &str, body: &Value) -> bool {
        let stream = body.get("stream").and_then(Value::as_bool);
        match self {
            Self::OpenAi | Self::Anthropic | Self::Responses => stream == Some(true),
            Self::Unknown => false,
            Self::Ollama => stream != Some(false),
            Self::Gemini => path.ends_with(":streamGenerateContent"),
        }
    }

    /// The model that a request asks for.
    pub(crate) fn model(self, path: &str, body: &Value) -> String {
        let named = match self {
            Self::Gemini => path.rsplit('/').next().and_then(|end| end.split(':').next()),
            _ => body.get("model").and_then(Value::as_str),
        };
        named.unwrap_or_default().to_owned()
    }

    /// The type of a stream's body.
    pub(crate) fn stream_type(self) -> &'static str {
        match self {
            Self::Ollama => "application/x-ndjson",
            _ => "text/event-stream",
        }
    }

    /// An answer in one piece.
    pub(crate) fn whole(self, spelling: &Spelling<'_>) -> Value {
        match self {
            Self::OpenAi => openai::whole(spelling),
            Self::Anthropic => anthropic::whole(spelling),
            Self::Gemini => gemini::whole(spelling),
            Self::Ollama => ollama::whole(spelling),
            Self::Responses => responses::whole(spelling),
            Self::Unknown => Value::from(spelling.answer.text.as_str()),
        }
    }

    /// An answer as the pieces of a stream, ready to be sent; the last is its end.
    pub(crate) fn pieces(self, spelling: &Spelling<'_>) -> Vec<String> {
        match self {
            Self::OpenAi => openai::pieces(spelling),
            Self::Anthropic => anthropic::pieces(spelling),
            Self::Gemini => gemini::pieces(spelling),
            Self::Ollama => ollama::pieces(spelling),
            Self::Responses => responses::pieces(spelling),
            Self::Unknown => vec![spelling.answer.text.clone()],
        }
    }

    /// A piece of a stream that is an error.
    pub(crate) fn error_piece(self, body: &str) -> String {
        match self {
            Self::Anthropic | Self::Responses => format!("event: error\ndata: {body}\n\n"),
            Self::Ollama => format!("{body}\n"),
            Self::OpenAi | Self::Gemini | Self::Unknown => format!("data: {body}\n\n"),
        }
    }

    /// A piece of a stream that can't be read, and the end that a client waits for.
    pub(crate) fn garbage(self) -> Vec<String> {
        match self {
            Self::OpenAi => {
                vec!["data: {\"id\":\"chatcmpl-1\",\"choi\n\n".into(), "data: [DONE]\n\n".into()]
            }
            Self::Anthropic => vec![
                "event: content_block_start\ndata: {\"type\":\"content_bl\n\n".into(),
                "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n".into(),
            ],
            Self::Responses => vec!["data: {\"type\":\"respo\n\n".into()],
            Self::Unknown => vec!["{".into()],
            Self::Gemini => vec!["data: {\"candidates\":[{\"cont\n\n".into()],
            Self::Ollama => vec!["{\"model\":\"m\",\"mess\n".into(), "{\"done\":true}\n".into()],
        }
    }

    /// The refusal of messages in which calls and results do not belong together.
    pub(crate) fn unpaired(self, messages: &[Value]) -> Option<Value> {
        match self {
            Self::OpenAi => openai::unpaired(messages),
            Self::Anthropic | Self::Gemini | Self::Ollama | Self::Responses | Self::Unknown => None,
        }
    }

    /// The refusal of a request that is larger than the window. `output` is what it asks to generate,
    /// 0 where it doesn't say.
    pub(crate) fn overflow(self, window: u64, input: u64, output: u64) -> Value {
        match self {
            Self::OpenAi | Self::Responses | Self::Unknown => {
                openai::overflow(window, input, output)
            }
            Self::Anthropic => anthropic::overflow(window, input, output),
            Self::Gemini => gemini::overflow(window, input),
            Self::Ollama => ollama::overflow(),
        }
    }
}

/// Two halves of a text, the first not empty unless the text is: streams come in more than one piece.
fn halves(text: &str) -> Vec<&str> {
    let middle = text.len().div_ceil(2);
    let middle = (middle..=text.len()).find(|at| text.is_char_boundary(*at));
    let (first, second) = text.split_at(middle.unwrap_or(text.len()));
    [first, second].into_iter().filter(|half| !half.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::halves;

    #[test]
    fn halves_never_cut_a_character() {
        for (text, expect) in [
            ("", vec![]),
            ("a", vec!["a"]),
            ("ab", vec!["a", "b"]),
            ("né", vec!["né"]),
            ("éé", vec!["é", "é"]),
        ] {
            assert_eq!(halves(text), expect, "{text:?}");
        }
    }
}
