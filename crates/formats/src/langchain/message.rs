//! One message, out of its envelope.

use crate::prelude::*;

/// The fields of a message, and the pointer to them inside the record.
pub(super) struct Fields<'a> {
    pub(super) kind: &'a str,
    pub(super) fields: &'a Value,
    pub(super) at: &'static str,
}

/// Takes a message out of its envelope; `None` if the envelope is not known.
pub(super) fn unpack(raw: &Value) -> Option<Fields<'_>> {
    let (fields, at) = if raw.get("lc").is_some() {
        (raw.get("kwargs")?, "/kwargs")
    } else if let Some(data) = raw.get("data").filter(|data| data.is_object()) {
        (data, "/data")
    } else {
        (raw, "")
    };
    let class = || raw.get("id")?.as_array()?.last()?.as_str();
    let kind = match at {
        "/kwargs" => value::text(fields, "type").or_else(class),
        _ => value::text(raw, "type").or_else(|| value::text(raw, "role")),
    };
    Some(Fields { kind: kind?, fields, at })
}

/// The parts of a content: a text, or blocks in the shapes of several providers. Blocks of calls repeat
/// `tool_calls` and are left out; `note` is called with the kind of what is not known.
pub(super) fn content(content: &Value, at: &str, mut note: impl FnMut(&str)) -> Vec<Part> {
    let blocks = match content {
        Value::Null => return Vec::new(),
        Value::Array(blocks) => blocks,
        Value::String(text) if text.is_empty() => return Vec::new(),
        other => return vec![Part::text(value::shown(other)).at(at)],
    };
    let mut parts = Vec::new();
    for (index, block) in blocks.iter().enumerate() {
        let pointer = format!("{at}/{index}");
        let kind = value::text(block, "type").unwrap_or_default();
        let part = match kind {
            "" if block.is_string() => Part::text(value::shown(block)).at(pointer),
            "text" | "output_text" => text_member(block, "text", &pointer),
            "thinking" => thought(block, "thinking", &pointer),
            "redacted_thinking" => redacted(value::string(block, "data")).at(pointer),
            "reasoning" | "reasoning_content" => thought(block, "reasoning", &pointer),
            "tool_use" | "tool_call" | "function_call" | "input_json_delta" => continue,
            _ => match media(block) {
                Some(media) => file(media).at(pointer),
                None => {
                    note(kind);
                    unknown(kind, block).at(pointer)
                }
            },
        };
        parts.push(part);
    }
    parts
}

fn thought(block: &Value, key: &str, pointer: &str) -> Part {
    let opaque = value::first_string(block, &["signature", "data", "encrypted_content"]);
    signed_member(block, key, opaque, pointer)
}

/// A file, in the shape of OpenAI, of Anthropic, or of LangChain's own standard blocks.
fn media(block: &Value) -> Option<Media> {
    let kind = value::text(block, "type")?;
    let source = block.get("source").unwrap_or(block);
    let url = value::text_at(block, "/image_url/url")
        .or_else(|| value::text(block, "image_url"))
        .or_else(|| value::first(source, &["data", "base64", "url"]))?;
    let mime = value::first(source, &["media_type", "mime_type"]);
    let mime = mime.map_or_else(
        || match kind {
            "image" | "image_url" => "image/*".to_owned(),
            "audio" | "video" => format!("{kind}/*"),
            _ => "application/octet-stream".to_owned(),
        },
        str::to_owned,
    );
    Some(Media { mime, name: value::string(block, "filename"), url: url.to_owned() })
}

/// The calls of an answer. Calls whose arguments did not parse were made anyway.
pub(super) fn calls(out: &mut SessionBuilder, fields: &Value, at: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    for key in ["tool_calls", "invalid_tool_calls"] {
        let place = format!("{at}/{key}");
        parts.extend(out.called(value::list(fields, key), ["id", "name", "args"], &place));
    }
    if !parts.is_empty() {
        return parts;
    }
    let list = "/additional_kwargs/tool_calls";
    for (index, call) in value::list_at(fields, list).iter().enumerate() {
        let function = &call["function"];
        let name = value::text(function, "name").unwrap_or_default();
        let id = value::text(call, "id").unwrap_or(name);
        let part = out.call(id, name, value::shown_of(function, "arguments"));
        parts.push(part.at(format!("{at}{list}/{index}/function/arguments")));
    }
    parts
}

/// What the provider said about the call.
pub(super) fn answer(fields: &Value) -> Answer {
    let meta = fields.get("response_metadata").unwrap_or(&Value::Null);
    let first = |keys: &[&str]| keys.iter().find_map(|key| value::text(meta, key));
    Answer {
        usage: COUNTS.of_request(&fields["usage_metadata"]),
        finish: first(&["finish_reason", "stop_reason"]).map(finish),
        model: first(&["model_name", "model"]).map(str::to_owned),
        provider: first(&["model_provider"]).map(str::to_owned),
        ..Answer::default()
    }
}

/// `input_tokens` holds all of the input, `output_tokens` the reasoning.
const COUNTS: Counts = Counts {
    input: &["/input_tokens"],
    cache_read: &["/input_token_details/cache_read"],
    cache_write: &["/input_token_details/cache_creation"],
    output: &["/output_tokens"],
    reasoning: &["/output_token_details/reasoning"],
    total: "/total_tokens",
    ..Counts::NONE
};
