//! `cline.json`: the size of a message as the JSON that Cline keeps of it, and of a request as the JSON of all.
//!
//! Three UTF-16 units are a token. What a note of a compaction adds is a block of the message before it.

use foldback_core::log::{Counts, EntryKind, Message, Part, PartKind, ResultStatus, ToolResult};
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::Estimator;
use foldback_stages::estimator::{Unit, json_string};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;

/// UTF-16 units of a token.
const UNITS: u64 = 3;

/// Tokens of so many units.
pub(crate) fn tokens(units: u64) -> u64 {
    units.div_ceil(UNITS).max(1)
}

/// Configuration of [`Json`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct JsonConfig {}

impl StageConfig<dyn Estimator> for JsonConfig {
    fn build(self) -> Result<Arc<dyn Estimator>, Invalid> {
        Ok(Arc::new(Json { units: false, id: "cline.json".into() }))
    }
}

/// Counts a message as JSON.
#[derive(Clone, Debug)]
pub struct Json {
    /// Whether units are counted, and the comma between two messages with them.
    units: bool,
    id: Arc<str>,
}

impl Json {
    /// Counts units of a request, which are divided once they are added up.
    pub(crate) fn units() -> Self {
        Self { units: true, id: "cline.json units".into() }
    }
}

impl Estimator for Json {
    fn id(&self) -> &Arc<str> {
        &self.id
    }

    fn text(&self, text: &str) -> u64 {
        let units = Unit::Utf16.len(text);
        if self.units || text.is_empty() { units } else { tokens(units) }
    }

    fn part(&self, part: &Part, shown: &str) -> u64 {
        let units = with_comma(block(part, shown));
        if self.units { units } else { units.div_ceil(UNITS) }
    }

    fn count(&self, message: &Message) -> Counts {
        let blocks = || message.parts.iter().map(|part| with_comma(block(part, &part.shown())));
        // A comma less than blocks, and one between two messages. A note is a block of the message before it.
        let note = message.is_entry_of(EntryKind::Boundary);
        let outside = match note {
            true => 0,
            false => envelope(message) - u64::from(blocks().any(|units| units > 0)),
        };
        if self.units {
            let overhead = outside + u64::from(!note);
            return Counts { parts: blocks().collect(), overhead };
        }
        let overhead = outside.div_ceil(UNITS);
        let (mut units, mut counted) = (outside, overhead);
        let share = |block: u64| {
            units += block;
            let before = std::mem::replace(&mut counted, units.div_ceil(UNITS));
            counted - before
        };
        Counts { parts: blocks().map(share).collect(), overhead }
    }

    fn per_request(&self) -> u64 {
        if self.units { AROUND_MESSAGES - 1 } else { 0 }
    }
}

/// Units of a request besides its messages and their commas.
pub(crate) const AROUND_MESSAGES: u64 =
    r#"{"systemPrompt":"","messages":[],"tools":[]}"#.len() as u64;

fn with_comma(block: u64) -> u64 {
    if block == 0 { 0 } else { block + 1 }
}

/// Units of a message besides its blocks.
pub(crate) fn envelope(message: &Message) -> u64 {
    let role = if message.role == foldback_core::Role::Assistant { "assistant" } else { "user" };
    let time = message.at.map_or(0, |at| r#","ts":"#.len() + at.to_string().len());
    let around = r#"{"id":,"role":"","content":[]}"#.len();
    (around + role.len() + time) as u64 + json_string(&message.id)
}

/// Units of a block; 0 for one that is never sent.
pub(crate) fn block(part: &Part, shown: &str) -> u64 {
    let around = |around: &str| around.len() as u64;
    match &part.kind {
        PartKind::Text { ignored: true, .. } => 0,
        PartKind::Text { .. } | PartKind::Marker(_) => {
            around(r#"{"type":"text","text":}"#) + json_string(shown)
        }
        PartKind::Reasoning { opaque, .. } if part.redacted => {
            let data = opaque.as_deref().unwrap_or_default();
            around(r#"{"type":"redacted_thinking","data":}"#) + json_string(data)
        }
        PartKind::Reasoning { opaque, .. } => {
            let signature = opaque.as_deref();
            let signature =
                signature.map_or(0, |text| around(r#","signature":"#) + json_string(text));
            around(r#"{"type":"thinking","thinking":}"#) + json_string(shown) + signature
        }
        PartKind::Call(call) => {
            let names = json_string(&call.call_id) + json_string(&call.tool);
            around(r#"{"type":"tool_use","id":,"name":,"input":}"#) + names + input(shown)
        }
        PartKind::Result(result) => {
            let names = json_string(&result.call_id) + json_string(&result.tool);
            let failed = matches!(result.status, ResultStatus::Error | ResultStatus::Retry);
            let error = if failed { around(r#","is_error":true"#) } else { 0 };
            around(r#"{"type":"tool_result","tool_use_id":,"name":,"content":}"#)
                + names
                + content(result, shown)
                + error
        }
        PartKind::File(media) => image(&media.url, &media.mime),
        PartKind::Unknown { raw, .. } => Unit::Utf16.len(&raw.to_string()),
    }
}

/// Units of the content of a result.
fn content(result: &ToolResult, shown: &str) -> u64 {
    if let Some(value) = structured(result, shown) {
        return Unit::Utf16.len(&value.to_string());
    }
    if result.media.is_empty() {
        return json_string(shown);
    }
    let images = result.media.iter().map(|media| 1 + image(&media.url, &media.mime));
    r#"[{"type":"text","text":}]"#.len() as u64 + json_string(shown) + images.sum::<u64>()
}

/// The content of a result that is no string.
pub(crate) fn structured<'r>(result: &'r ToolResult, shown: &str) -> Option<&'r Value> {
    result.structured.as_ref().filter(|_| shown == result.text)
}

/// Images are kept with their bytes.
fn image(url: &str, mime: &str) -> u64 {
    r#"{"type":"image","data":,"mediaType":}"#.len() as u64 + json_string(url) + json_string(mime)
}

/// Units of the arguments of a call without blanks.
fn input(arguments: &str) -> u64 {
    match serde_json::from_str::<Value>(arguments) {
        Ok(value) => Unit::Utf16.len(&value.to_string()),
        Err(_) if arguments.trim().is_empty() => 2,
        Err(_) => json_string(arguments),
    }
}
