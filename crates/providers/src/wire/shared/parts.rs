//! Parts that several readers make.

use super::value;
use foldback_core::log::{Media, Part, PartKind, ResultStatus, ToolResult};
use serde_json::Value;

/// Reasoning, with what only its model can read.
pub fn reasoning(text: impl Into<String>, opaque: Option<String>) -> Part {
    Part::new(PartKind::Reasoning { text: text.into(), opaque })
}

/// Reasoning that the provider hid.
pub fn redacted(data: Option<String>) -> Part {
    Part { redacted: true, ..reasoning("", data) }
}

/// Reasoning in the member `key` of `raw`, which is at the pointer `at`; `None` if it is empty.
pub fn reasoning_member(raw: &Value, key: &str, at: &str) -> Option<Part> {
    let text = value::filled(raw, key)?;
    Some(reasoning(text, None).at(format!("{at}/{key}")))
}

/// Reasoning in the member `key` of `raw`, which is at the pointer `at`, with what only its model can read.
pub fn signed_member(raw: &Value, key: &str, opaque: Option<String>, at: &str) -> Part {
    reasoning(value::text(raw, key).unwrap_or_default(), opaque).at(format!("{at}/{key}"))
}

/// The text in the member `key` of `raw`, which is at the pointer `at`.
pub fn text_member(raw: &Value, key: &str, at: &str) -> Part {
    Part::text(value::text(raw, key).unwrap_or_default()).at(format!("{at}/{key}"))
}

/// The file that `raw` describes in its members `mime`, `name` and `url`; `usual` is its type where it states none.
pub fn media(raw: &Value, [mime, name, url]: [&str; 3], usual: &str) -> Media {
    Media {
        mime: value::text(raw, mime).unwrap_or(usual).to_owned(),
        name: value::string(raw, name),
        url: value::string(raw, url).unwrap_or_default(),
    }
}

/// A file.
pub fn file(media: Media) -> Part {
    Part::new(PartKind::File(media))
}

/// A part as it was recorded.
pub fn unknown(name: &str, raw: &Value) -> Part {
    Part::new(PartKind::Unknown { name: name.to_owned(), raw: raw.clone() })
}

/// How a tool's run ended.
pub fn status(failed: bool) -> ResultStatus {
    if failed { ResultStatus::Error } else { ResultStatus::Completed }
}

/// A result.
pub fn result(
    call_id: impl Into<String>,
    tool: &str,
    failed: bool,
    text: impl Into<String>,
    media: Vec<Media>,
) -> Part {
    Part::new(PartKind::Result(ToolResult {
        call_id: call_id.into(),
        tool: tool.to_owned(),
        status: status(failed),
        text: text.into(),
        media,
        ..ToolResult::default()
    }))
}

/// The joined texts and the files of a result's content, with the place of the text: its own if it is the only part,
/// else `whole`.
pub fn flattened(parts: Vec<Part>, whole: String) -> (String, Vec<Media>, String) {
    let place = match parts.as_slice() {
        [only] => only.pointer.clone().unwrap_or(whole),
        _ => whole,
    };
    let (mut texts, mut media) = (Vec::new(), Vec::new());
    for part in parts {
        match part.kind {
            PartKind::File(file) => media.push(file),
            _ => texts.push(part.shown().into_owned()),
        }
    }
    (texts.join("\n"), media, place)
}

/// The parts with their texts marked as written by the harness.
#[must_use]
pub fn synthetic(mut parts: Vec<Part>) -> Vec<Part> {
    mark_synthetic(&mut parts);
    parts
}

/// Marks the texts as written by the harness.
pub fn mark_synthetic(parts: &mut [Part]) {
    for part in parts {
        if let PartKind::Text { synthetic, .. } = &mut part.kind {
            *synthetic = true;
        }
    }
}

/// Whether a part has a text that an edit can replace. Files and unknown parts have none.
pub fn has_text(part: &Part) -> bool {
    !matches!(part.kind, PartKind::File(_) | PartKind::Marker(_) | PartKind::Unknown { .. })
}
