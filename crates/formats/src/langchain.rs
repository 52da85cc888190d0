//! `langchain`: lists of LangChain messages, as constructor objects (`dumps`, `{lc, type, id, kwargs}`), as
//! dicts (`messages_to_dict`, `{type, data}`), or plain (`model_dump`, `{type: "human", content}`).
//!
//! Every message is one record. `docs/langchain.md` has the mapping.

use crate::prelude::*;

pub(crate) const FORMAT: Format = Format::new(
    "langchain",
    "LangChain: serialised messages, also within a state or one list a line",
    SIGNS,
    |text| document_or_lines(text, conversation, |_| "no list of messages in it".to_owned()),
);

/// Where the list of messages stands: alone, in a graph's state, in a thread's, in a prompt.
const LISTS: [&str; 4] = ["", "/messages", "/values/messages", "/kwargs/messages"];

/// Types that no other format's messages have.
const OWN_TYPES: &[&str] = &["human", "ai", "HumanMessageChunk", "AIMessageChunk"];

const SIGNS: &[Sign] = &[
    Sign::new(95, &[Has("/*/lc"), Has("/*/kwargs/content")]).below(&LISTS),
    Sign::new(90, &[Is("/*/type", OWN_TYPES), Any(&[Has("/*/content"), Has("/*/data")])])
        .below(&LISTS),
];

fn conversation(text: &str, root: &Value) -> Result<Session, ReadError> {
    let found = LISTS.into_iter().find_map(|list| Some((list, root.pointer(list)?.as_array()?)));
    let (list, stored) = found.ok_or_else(|| {
        value::malformed("/messages", "a list of messages is needed here, or at the top")
    })?;
    let id = value::first_string(root, &["thread_id", "id"]);
    let mut reader = Reader { out: SessionBuilder::document(text, list, id, FORMAT.id)? };
    for (record, raw) in (0u32..).zip(stored) {
        match unpack(raw) {
            Some(fields) => reader.message(record, &fields),
            None => reader.out.warn(
                "damaged-line",
                format!("{list}/{record}"),
                "no message of LangChain; left out",
            ),
        }
    }
    Ok(reader.out.finish_counted(stored.len()))
}

struct Reader {
    out: SessionBuilder,
}

impl Reader {
    fn message(&mut self, record: u32, raw: &Fields<'_>) {
        match raw.kind {
            "human" | "user" | "HumanMessage" | "HumanMessageChunk" => self.human(record, raw),
            "ai" | "assistant" | "AIMessage" | "AIMessageChunk" => self.answer(record, raw),
            "tool" | "function" | "ToolMessage" | "FunctionMessage" => self.result(record, raw),
            "system" | "developer" | "SystemMessage" => {
                let parts = self.content(record, raw);
                if let Some(parts) = self.out.opening_system(parts) {
                    self.push(record, raw, Role::System, parts);
                }
            }
            kind => self.out.warn(
                "unknown-type",
                format!("message {record}"),
                format!("a message of type `{kind}`; left out"),
            ),
        }
    }

    /// The parts of a content: a text, or blocks in the shapes of several providers. Blocks of calls repeat `tool_calls` and
    /// are left out.
    fn content(&mut self, record: u32, raw: &Fields<'_>) -> Vec<Part> {
        let at = format!("{}/content", raw.at);
        match &raw.fields["content"] {
            Value::Null => Vec::new(),
            content @ (Value::Array(_) | Value::String(_)) => {
                BLOCKS.list(&mut self.out, record, content, &at)
            }
            other => vec![Part::text(value::shown(other)).at(at)],
        }
    }

    fn push(
        &mut self,
        record: u32,
        raw: &Fields<'_>,
        role: Role,
        parts: Vec<Part>,
    ) -> &mut Message {
        self.out.push_named(record, value::text(raw.fields, "id"), role, parts)
    }

    /// A user's message, or the summary that the summarization middleware put in place of what it
    /// removed.
    fn human(&mut self, record: u32, raw: &Fields<'_>) {
        let mut parts = self.content(record, raw);
        let from = raw.fields.pointer("/additional_kwargs/lc_source");
        let summary = from.and_then(Value::as_str) == Some("summarization");
        if summary {
            mark_synthetic(&mut parts);
        }
        self.push(record, raw, Role::User, parts);
        if summary {
            self.out.boundary("summary", "auto").original_kept = false;
        }
    }

    fn answer(&mut self, record: u32, raw: &Fields<'_>) {
        let kwargs = raw.fields.get("additional_kwargs").unwrap_or(&Value::Null);
        let at = format!("{}/additional_kwargs", raw.at);
        let mut parts = Vec::from_iter(reasoning_member(kwargs, "reasoning_content", &at));
        parts.extend(self.content(record, raw));
        parts.extend(calls(&mut self.out, raw.fields, raw.at));
        self.push(record, raw, Role::Assistant, parts).answer = Some(answer(raw.fields));
    }

    fn result(&mut self, record: u32, raw: &Fields<'_>) {
        let name = value::text(raw.fields, "name").unwrap_or_default();
        let content = self.content(record, raw);
        let (text, media, pointer) = flattened(content, format!("{}/content", raw.at));
        let id = value::text(raw.fields, "tool_call_id").unwrap_or(name);
        let failed = value::text(raw.fields, "status") == Some("error");
        let part = self.out.result(id, name, failed, text, media).at(pointer);
        self.push(record, raw, Role::Tool, vec![part]);
    }
}

/// The fields of a message, and the pointer to them inside the record.
struct Fields<'a> {
    kind: &'a str,
    fields: &'a Value,
    at: &'static str,
}

/// Takes a message out of its envelope; `None` if the envelope is not known.
fn unpack(raw: &Value) -> Option<Fields<'_>> {
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

const BLOCKS: Blocks = Blocks {
    types: &[
        ("text", Block::Text("/text")),
        ("output_text", Block::Text("/text")),
        ("thinking", Block::Thought("/thinking", OPAQUE)),
        ("redacted_thinking", Block::Redacted("/data")),
        ("reasoning", Block::Thought("/reasoning", OPAQUE)),
        ("reasoning_content", Block::Thought("/reasoning", OPAQUE)),
        ("tool_use", Block::Silent),
        ("tool_call", Block::Silent),
        ("function_call", Block::Silent),
        ("input_json_delta", Block::Silent),
    ],
    other: |out, record, block, at| {
        let kind = value::text(block, "type").unwrap_or_default();
        Some(match media(block) {
            _ if block.is_string() => Part::text(value::shown(block)).at(at),
            Some(media) => file(media).at(at),
            None => {
                let place = format!("message {record}");
                out.unknown_part(place, "content of type", kind, block).at(at)
            }
        })
    },
    ..Blocks::NONE
};

/// What only the model can read of its reasoning.
const OPAQUE: &[&str] = &["/signature", "/data", "/encrypted_content"];

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
fn calls(out: &mut SessionBuilder, fields: &Value, at: &str) -> Vec<Part> {
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

/// The answer by what the provider said about the call.
fn answer(fields: &Value) -> Answer {
    let meta = fields.get("response_metadata").unwrap_or(&Value::Null);
    let first = |keys: &[&str]| keys.iter().find_map(|key| value::text(meta, key));
    Answer {
        usage: COUNTS.any(&fields["usage_metadata"]),
        finish: first(&["finish_reason", "stop_reason"]).map(finish),
        model: first(&["model_name", "model"]).map(str::to_owned),
        provider: first(&["model_provider"]).map(str::to_owned),
        ..Answer::default()
    }
}

/// `input_tokens` holds all of the input, `output_tokens` the reasoning.
pub(crate) const COUNTS: Counts = Counts {
    input: &["/input_tokens"],
    cache_read: &["/input_token_details/cache_read"],
    // By lifetime, the count as a whole is 0.
    cache_write: &["/input_token_details/cache_creation"],
    cache_write_5m: &["/input_token_details/ephemeral_5m_input_tokens"],
    cache_write_1h: &["/input_token_details/ephemeral_1h_input_tokens"],
    output: &["/output_tokens"],
    reasoning: &["/output_token_details/reasoning"],
    total: "/total_tokens",
    ..Counts::NONE
};
