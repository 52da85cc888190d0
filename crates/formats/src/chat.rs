//! The `content` of a chat message and the `usage` of a response, as harnesses store them that speak to
//! every provider through one client library.

use crate::prelude::*;

/// A content, which is a text or a list of texts and images.
#[derive(Default)]
pub(crate) struct Content {
    /// All texts as one: their borders only carry cache marks.
    pub text: String,
    /// Pointer to the text, or to the whole content if there are several.
    pub pointer: String,
    /// Images.
    pub files: Vec<Media>,
}

/// Reads the `content` member of a message.
pub(crate) fn content(raw: &Value) -> Content {
    let Value::Array(blocks) = raw else {
        return Content {
            text: raw.as_str().unwrap_or_default().to_owned(),
            pointer: "/content".to_owned(),
            files: Vec::new(),
        };
    };
    let mut files = Vec::new();
    let mut texts: Vec<(&str, usize)> = Vec::new();
    for (index, block) in blocks.iter().enumerate() {
        if let Some(text) = value::text(block, "text") {
            texts.push((text, index));
        } else if let Some(url) = value::text_at(block, "/image_url/url") {
            let mime = url.strip_prefix("data:").and_then(|rest| rest.split(';').next());
            files.push(Media {
                mime: mime.unwrap_or("image/*").to_owned(),
                url: url.to_owned(),
                ..Media::default()
            });
        }
    }
    let pointer = match texts.as_slice() {
        [(_, index)] => format!("/content/{index}/text"),
        _ => "/content".to_owned(),
    };
    let joined: Vec<&str> = texts.iter().map(|(text, _)| *text).collect();
    Content { text: joined.join("\n"), pointer, files }
}

/// The parts of a content.
pub(crate) fn parts(raw: &Value) -> Vec<Part> {
    let content = content(raw);
    let mut parts = Vec::new();
    if !content.text.is_empty() {
        parts.push(Part::text(content.text).at(content.pointer));
    }
    let files = content.files.into_iter();
    parts.extend(files.map(|media| file(media).at("/content")));
    parts
}

/// An entry of `tool_calls`.
pub(crate) fn call(raw: &Value, index: usize) -> Part {
    let function = &raw["function"];
    Part::call(
        value::text(raw, "id").unwrap_or_default(),
        value::text(function, "name").unwrap_or_default(),
        value::shown(&function["arguments"]),
    )
    .at(format!("/tool_calls/{index}/function/arguments"))
}

/// What was said in the user's name in a run that a harness drives, and whether that came mid-turn: the task
/// is the one turn, later the harness asks again for an answer that it could not use.
pub(crate) fn prompt(raw: &Value, has_task: &mut bool) -> (Vec<Part>, bool) {
    let mut parts = parts(raw);
    let later = std::mem::replace(has_task, true);
    if later {
        mark_synthetic(&mut parts);
    }
    (parts, later)
}

/// Input includes what was read from and written to the cache; each provider that the recorder's
/// client library speaks to names those in its own way.
pub(crate) const COUNTS: Counts = Counts {
    input: &["/prompt_tokens"],
    cache_read: &[
        "/prompt_tokens_details/cached_tokens",
        "/cache_read_input_tokens",
        "/prompt_cache_hit_tokens",
    ],
    cache_write: &["/cache_creation_input_tokens", "/prompt_tokens_details/cache_creation_tokens"],
    output: &["/completion_tokens"],
    reasoning: &["/completion_tokens_details/reasoning_tokens"],
    total: "/total_tokens",
    ..Counts::NONE
};

/// The usage of a response.
pub(crate) fn usage(raw: &Value) -> Option<Usage> {
    COUNTS.of_object(raw)
}
