//! The `content` of a chat message and the `usage` of a response, as harnesses store them that speak to
//! every provider through one client library.

use crate::prelude::*;
use foldback_providers::wire::openai;

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
            let mime = value::data_type(url).unwrap_or("image/*").to_owned();
            files.push(Media { mime, url: url.to_owned(), ..Media::default() });
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

/// The calls in the `tool_calls` of a message, with their signatures in front of them.
pub(crate) fn calls(message: &Value) -> Vec<Part> {
    let call = |(index, raw): (usize, &Value)| {
        let function = &raw["function"];
        let at = format!("/tool_calls/{index}");
        let call = Part::call(
            value::text(raw, "id").unwrap_or_default(),
            value::text(function, "name").unwrap_or_default(),
            value::shown(&function["arguments"]),
        );
        let signature = openai::signature(raw, &at);
        signature.into_iter().chain([call.at(format!("{at}/function/arguments"))])
    };
    value::list(message, "tool_calls").iter().enumerate().flat_map(call).collect()
}

/// A message that is told: its role, its parts, and whether it came mid-turn.
pub(crate) type ChatMessage = (Role, Vec<Part>, bool);

/// A run that a harness drives. The model may write its calls as text; then the harness answers in the user's name.
pub(crate) struct Run {
    pub(crate) out: SessionBuilder,
    pub(crate) model: Option<String>,
    /// The call written as text that waits for its output.
    open: Option<String>,
    has_task: bool,
}

impl Run {
    pub(crate) fn new(out: SessionBuilder, model: Option<String>) -> Self {
        Self { out, model, open: None, has_task: false }
    }

    /// A message of the system's, the user's or a tool's, which answers `call`. `None` for the system prompt, which goes to
    /// the frame.
    pub(crate) fn told(
        &mut self,
        role: &str,
        raw: &Value,
        call: Option<&str>,
    ) -> Option<ChatMessage> {
        match role {
            "system" if self.out.messages.is_empty() => {
                self.out.system(content(raw).text);
                None
            }
            "system" => Some((Role::System, parts(raw), false)),
            "tool" => Some(Self::output(self.out.calls.result(call.unwrap_or_default()), raw)),
            _ => Some(match self.open.take() {
                Some(call) => Self::output(call, raw),
                // The task is the one turn; later the harness asks again for an answer that it could not use.
                None if std::mem::replace(&mut self.has_task, true) => {
                    (Role::User, synthetic(parts(raw)), true)
                }
                None => (Role::User, parts(raw), false),
            }),
        }
    }

    /// What a call brought back.
    pub(crate) fn output(call: String, raw: &Value) -> ChatMessage {
        let Content { text, pointer, files } = content(raw);
        (Role::Tool, vec![result(call, "", false, text, files).at(pointer)], false)
    }

    /// An answer of the model's.
    pub(crate) fn answered(&mut self, mut parts: Vec<Part>) -> ChatMessage {
        self.out.join(&mut parts);
        let in_text = |part: &&Part| {
            part.pointer.as_ref().is_some_and(|pointer| !pointer.starts_with("/tool_calls"))
        };
        let mut open = parts.iter().filter(in_text).filter_map(Part::as_call);
        self.open = open.next_back().map(|call| call.call_id.clone());
        (Role::Assistant, parts, false)
    }
}

/// Input includes what was read from and written to the cache; each provider that the recorder's
/// client library speaks to names those in its own way.
pub(crate) const COUNTS: Counts = Counts {
    cache_read: &[
        "/prompt_tokens_details/cached_tokens",
        "/cache_read_input_tokens",
        "/prompt_cache_hit_tokens",
    ],
    cache_write: &["/cache_creation_input_tokens", "/prompt_tokens_details/cache_creation_tokens"],
    ..openai::COUNTS
};
