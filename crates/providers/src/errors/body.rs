//! The words of a provider, from the body of an answer or the text that a client made of it.
//!
//! Bodies differ in shape (`error.message`, `message`, `detail`, a list with one error in it, an error
//! quoted as a string inside another), so every known key is looked into, in order. Keys that echo the
//! request are not.

use crate::errors::pattern::{Sizes, duration};
use serde_json::Value;
use std::time::Duration;

/// Keys with words for people.
const WORDS: [&str; 10] = [
    "message",
    "Message",
    "errorMessage",
    "msg",
    "error",
    "detail",
    "title",
    "raw",
    "description",
    "param",
];
/// Keys with codes for programs.
const CODES: [&str; 9] =
    ["code", "type", "status", "__type", "errorType", "error_type", "reason", "name", "Code"];
/// Keys with more of the same below them.
const BELOW: [&str; 11] = [
    "error",
    "errors",
    "details",
    "detail",
    "metadata",
    "innererror",
    "response",
    "body",
    "data",
    "message",
    "raw",
];
/// The depth to which quoted errors are read.
const DEEPEST: usize = 8;
/// How much of an answer is looked at, in bytes.
const MOST: usize = 1 << 20;

/// The text of an error, with the codes in it.
#[derive(Debug, Default)]
pub(crate) struct ErrorText {
    /// HTTP status; of an answer that began well, the one that the error itself names.
    pub(crate) status: Option<u16>,
    /// The words, as they came.
    pub(crate) words: String,
    /// The words in lower case, as phrases are looked for.
    pub(crate) text: String,
    codes: Vec<String>,
    /// Words of the text that look like codes: `context_length_exceeded`, `ThrottlingException`.
    quoted_codes: Vec<String>,
    pub(crate) sizes: Sizes,
    pub(crate) retry_after: Option<Duration>,
    named_status: Option<u16>,
}

impl ErrorText {
    pub(crate) fn read(status: Option<u16>, body: &str) -> Self {
        let body = body[..body.floor_char_boundary(MOST)].trim();
        let mut said = Self::default();
        said.quoted(body, 0);
        said.text = said.words.to_lowercase();
        let answered = status.filter(|status| !(200..300).contains(status));
        said.status = answered.or(said.named_status).or(status);
        said
    }

    /// Whether a code was given, or is quoted in the words.
    pub(crate) fn has_code(&self, code: &str) -> bool {
        let mut all = self.codes.iter().chain(&self.quoted_codes);
        all.any(|mine| mine.eq_ignore_ascii_case(code))
    }

    /// The provider's code, outermost first.
    pub(crate) fn code(&self) -> Option<&str> {
        self.codes.first().map(String::as_str)
    }

    /// Reads a text that may be JSON, a stream of events, or hold JSON somewhere.
    fn quoted(&mut self, text: &str, depth: usize) {
        if depth > DEEPEST {
            return;
        }
        if let Ok(value) = serde_json::from_str::<Value>(text)
            && (value.is_object() || value.is_array())
        {
            return self.value(&value, depth);
        }
        let mut events = text
            .lines()
            .filter_map(|line| line.trim_start().strip_prefix("data:"))
            .filter(|data| data.contains("error"))
            .peekable();
        if events.peek().is_some() {
            for data in events {
                self.quoted(data.trim(), depth + 1);
            }
            return;
        }
        let (before, value) = embedded(text);
        self.plain(before);
        if let Some(value) = value {
            self.value(&value, depth);
        }
    }

    fn plain(&mut self, text: &str) {
        let text = text.trim();
        if text.is_empty() || self.words.contains(text) {
            return;
        }
        if !self.words.is_empty() {
            self.words.push('\n');
        }
        self.words.push_str(text);
        self.named_status = self.named_status.or_else(|| status_in(text));
        for word in text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_') {
            if word.contains('_') || word.ends_with("Exception") {
                self.quoted_codes.push(word.to_owned());
            }
        }
    }

    /// A value under a key for codes: a status where it is a number, else a code.
    fn code_value(&mut self, value: &Value) {
        let number = match value {
            Value::Number(number) => number.as_u64().and_then(|code| u16::try_from(code).ok()),
            Value::String(code) => code.parse().ok(),
            _ => return,
        };
        if let Some(status) = number {
            let status = Some(status).filter(|status| (400..600).contains(status));
            self.named_status = self.named_status.or(status);
        } else if let Value::String(code) = value {
            // Every Anthropic body is of the type `error`.
            let says_something = !code.is_empty() && code != "error" && !code.contains(' ');
            if says_something && !self.codes.contains(code) {
                self.codes.push(code.clone());
            }
        }
    }

    fn value(&mut self, value: &Value, depth: usize) {
        if depth > DEEPEST {
            return;
        }
        match value {
            Value::Array(items) => {
                for item in items {
                    self.value(item, depth + 1);
                }
            }
            Value::Object(map) => {
                for value in CODES.iter().filter_map(|key| map.get(*key)) {
                    self.code_value(value);
                }
                for key in WORDS {
                    // The name of a parameter is no text; some gateways put the text there.
                    if let Some(Value::String(words)) = map.get(key)
                        && (key != "param" || words.contains(' '))
                    {
                        self.quoted(words, depth + 1);
                    }
                }
                let number = |key: &str| map.get(key).and_then(Value::as_u64);
                self.sizes.requested = self.sizes.requested.or(number("n_prompt_tokens"));
                self.sizes.limit = self.sizes.limit.or(number("n_ctx"));
                if let Some(Value::String(delay)) = map.get("retryDelay") {
                    self.retry_after = self.retry_after.or(duration(delay));
                }
                for key in BELOW {
                    if let Some(below @ (Value::Object(_) | Value::Array(_))) = map.get(key) {
                        self.value(below, depth + 1);
                    }
                }
            }
            Value::String(words) => self.quoted(words, depth + 1),
            _ => {}
        }
    }
}

/// The first JSON object or list in a text, and what stands before it (all of it if there is none).
fn embedded(text: &str) -> (&str, Option<Value>) {
    for (at, _) in text.match_indices(['{', '[']).take(16) {
        let mut values = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>();
        if let Some(Ok(value @ (Value::Object(_) | Value::Array(_)))) = values.next()
            && value.as_array().is_none_or(|items| items.iter().any(Value::is_object))
        {
            return (&text[..at], Some(value));
        }
    }
    (text, None)
}

/// The HTTP status that a text names: at its start, or after the words that clients use.
fn status_in(text: &str) -> Option<u16> {
    let number = |text: &str| -> Option<u16> {
        let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
        let status: u16 = digits.parse().ok()?;
        (digits.len() == 3 && (400..600).contains(&status)).then_some(status)
    };
    let lower = text.to_lowercase();
    let after = |words: &str| number(lower.split_once(words)?.1.trim_start());
    number(text).or_else(|| {
        [
            "http ",
            "status code:",
            "status code ",
            "status ",
            "error code:",
            "error ",
            "error: ",
            "error (",
            "(http ",
        ]
        .iter()
        .find_map(|words| after(words))
    })
}
