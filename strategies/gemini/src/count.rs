//! How Gemini CLI counts: an estimate of tokens, and the length of a message as JSON, by which it cuts.
//!
//! The estimate goes by quarters of a token: a unit of UTF-16 is one, outside of ASCII six; texts above 100,000 units, calls and
//! results count one for each unit. Reasoning is not in the history of Gemini CLI and counts nothing.

use foldback_core::log::{Counts, Media, Message, Part, PartKind, ResultStatus, ToolResult};
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::Estimator;
use foldback_stages::estimator::{Unit, json_string};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::sync::Arc;

/// Quarters of a token.
const QUARTERS: u64 = 4;

/// Quarters of a unit outside of ASCII.
const NON_ASCII: u64 = 6;

/// Units above which a text counts one quarter for each.
const LONG_TEXT: usize = 100_000;

/// Tokens of an image, and of a PDF.
const IMAGE: u64 = 3_000;
const PDF: u64 = 25_800;

/// What is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CountUnit {
    /// Tokens, as estimated.
    #[default]
    Tokens,
    /// Units of UTF-16 of the message as JSON.
    Json,
    /// Tokens of the text of tool results alone.
    Results,
    /// Quarters of a token, which are rounded once they are added up.
    Quarters,
}

/// Configuration of [`Count`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CountConfig {
    /// What is counted.
    pub what: CountUnit,
}

impl StageConfig<dyn Estimator> for CountConfig {
    fn build(self) -> Result<Arc<dyn Estimator>, Invalid> {
        Ok(Arc::new(Count::new(self.what)))
    }
}

/// Counts as Gemini CLI does.
#[derive(Clone, Debug)]
pub struct Count {
    what: CountUnit,
    id: Arc<str>,
}

impl Count {
    /// The estimator that counts this.
    pub fn new(what: CountUnit) -> Self {
        let id = match what {
            CountUnit::Tokens => "gemini tokens",
            CountUnit::Json => "gemini json",
            CountUnit::Results => "gemini results",
            CountUnit::Quarters => "gemini quarters",
        };
        Self { what, id: id.into() }
    }

    /// Tokens of a number of quarters.
    pub fn tokens(quarters: u64) -> u64 {
        quarters / QUARTERS
    }
}

impl Estimator for Count {
    fn id(&self) -> &Arc<str> {
        &self.id
    }

    fn text(&self, text: &str) -> u64 {
        match self.what {
            CountUnit::Tokens | CountUnit::Results => Self::tokens(quarters(text)),
            CountUnit::Quarters => quarters(text),
            CountUnit::Json => r#"{"text":},"#.len() as u64 + json_string(text),
        }
    }

    fn part(&self, part: &Part, shown: &str) -> u64 {
        match (self.what, &part.kind) {
            (CountUnit::Json, _) => match part_json(part, shown) {
                // A comma stands between two parts.
                0 => 0,
                units => units + 1,
            },
            (CountUnit::Results, PartKind::Result(result)) => {
                Self::tokens(quarters(&content(result, shown)))
            }
            (CountUnit::Results, _) => 0,
            (CountUnit::Quarters, _) => part_quarters(part, shown),
            (CountUnit::Tokens, _) => Self::tokens(part_quarters(part, shown)),
        }
    }

    fn count(&self, message: &Message) -> Counts {
        let parts = message.parts.iter();
        let parts = match self.what {
            // The parts of a message share what rounding drops.
            CountUnit::Tokens => {
                let mut sum = 0;
                let share = |part: &Part| {
                    let before = Self::tokens(sum);
                    sum += part_quarters(part, &part.shown());
                    Self::tokens(sum) - before
                };
                parts.map(share).collect()
            }
            _ => parts.map(|part| self.part(part, &part.shown())).collect(),
        };
        Counts { parts, overhead: 0 }
    }
}

/// What of a result is counted and cut: its text; for one that failed, the object that says so.
pub fn content<'t>(result: &ToolResult, shown: &'t str) -> Cow<'t, str> {
    match key(result, shown) {
        "error" => pretty(result, shown).into(),
        _ => shown.into(),
    }
}

/// The object that holds the text of a result, as JSON with blanks.
pub fn pretty(result: &ToolResult, shown: &str) -> String {
    format!("{{\n  \"{}\": {}\n}}", key(result, shown), json!(shown))
}

/// The name under which a result holds its text. A cut result is no longer an error.
fn key(result: &ToolResult, shown: &str) -> &'static str {
    match result.status {
        ResultStatus::Error | ResultStatus::Retry if shown == result.text => "error",
        _ => "output",
    }
}

/// Quarters of a bare text.
fn quarters(text: &str) -> u64 {
    let units = Unit::Utf16.len(text);
    if text.is_ascii() || units > LONG_TEXT as u64 {
        return units;
    }
    let ascii = text.bytes().filter(u8::is_ascii).count() as u64;
    ascii + NON_ASCII * (units - ascii)
}

fn part_quarters(part: &Part, shown: &str) -> u64 {
    match &part.kind {
        PartKind::Text { .. } | PartKind::Marker(_) => quarters(shown),
        PartKind::Result(result) => {
            // The original rounds what is nested by itself.
            let nested = Count::tokens(result.media.iter().map(media_quarters).sum()) * QUARTERS;
            Unit::Utf16.len(&result.tool) + response(result, shown) + nested
        }
        PartKind::File(media) => media_quarters(media),
        _ => part_json(part, shown),
    }
}

fn media_quarters(media: &Media) -> u64 {
    match media.mime.as_str() {
        mime if mime.starts_with("image/") => IMAGE * QUARTERS,
        mime if mime.starts_with("application/pdf") => PDF * QUARTERS,
        _ => Unit::Utf16.len(&media_json(media).to_string()),
    }
}

/// Units of the object that holds the text of a result.
fn response(result: &ToolResult, shown: &str) -> u64 {
    r#"{"":}"#.len() as u64 + key(result, shown).len() as u64 + json_string(shown)
}

/// Units of a part as JSON; 0 for one that is not in the history.
fn part_json(part: &Part, shown: &str) -> u64 {
    match &part.kind {
        PartKind::Reasoning { .. } => 0,
        PartKind::Text { .. } | PartKind::Marker(_) if shown.is_empty() => 0,
        PartKind::Text { .. } | PartKind::Marker(_) => {
            r#"{"text":}"#.len() as u64 + json_string(shown)
        }
        PartKind::Call(call) => {
            let around = r#"{"functionCall":{"id":,"name":,"args":}}"#.len() as u64;
            around + json_string(&call.call_id) + json_string(&call.tool) + arguments(shown)
        }
        PartKind::Result(result) => {
            let around = r#"{"functionResponse":{"id":,"name":,"response":}}"#.len() as u64;
            let media: Vec<Value> = result.media.iter().map(media_json).collect();
            let media = match media.is_empty() {
                true => 0,
                false => {
                    r#","parts":"#.len() as u64 + Unit::Utf16.len(&Value::from(media).to_string())
                }
            };
            let names = json_string(&result.call_id) + json_string(&result.tool);
            around + names + response(result, shown) + media
        }
        PartKind::File(media) => Unit::Utf16.len(&media_json(media).to_string()),
        PartKind::Unknown { raw, .. } => Unit::Utf16.len(&raw.to_string()),
    }
}

fn media_json(media: &Media) -> Value {
    let Media { mime, url, .. } = media;
    match url.contains("://") {
        true => json!({ "fileData": { "mimeType": mime, "fileUri": url } }),
        false => {
            let data = url.split_once("base64,").map_or(url.as_str(), |(_, data)| data);
            json!({ "inlineData": { "mimeType": mime, "data": data } })
        }
    }
}

/// Units of arguments as JSON without blanks. Other values are wrapped in an object.
fn arguments(text: &str) -> u64 {
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Unit::Utf16.len(&Value::Object(object).to_string()),
        _ if text.trim().is_empty() => 2,
        _ => r#"{"input":}"#.len() as u64 + json_string(text),
    }
}
