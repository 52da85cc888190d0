//! From the list of requests and responses to the canonical form.

use super::FORMAT;
use crate::prelude::*;

pub(super) fn read(text: &str) -> Result<Vec<Session>, ReadError> {
    let root = value::document(text)?;
    let list = if root.is_array() { "" } else { "/messages" };
    let wanted = "a pydantic-ai history is a list of messages, or has one under `messages`";
    let messages = value::records(&root, list, wanted)?;
    let id = value::string(&root, "session_id");
    let out = SessionBuilder::document(text, list, id, FORMAT.id)?;
    let mut reader = Reader { out, instructions: None, list };
    // tunacode: the project is a hash of the folder.
    reader.out.session.cluster = value::string(&root, "project_id").filter(|id| !id.is_empty());
    for (record, message) in (0u32..).zip(messages) {
        reader.record(record, message);
    }
    // Of the last request that had any: pydantic-ai sends no others.
    if let Some(instructions) = reader.instructions.filter(|text| !text.is_empty()) {
        reader.out.system(instructions);
    }
    let model = reader.out.main_model().or(value::string(&root, "current_model"));
    reader.out.session.model = model;
    Ok(vec![reader.out.finish()])
}

/// When the first prompt of a request was said, and the parts of all of them.
type Prompt = (Option<i64>, Vec<Part>);

struct Reader {
    out: SessionBuilder,
    instructions: Option<String>,
    list: &'static str,
}

impl Reader {
    fn record(&mut self, record: u32, message: &Value) {
        let parts = message.get("parts").and_then(Value::as_array);
        match (value::text(message, "kind"), parts) {
            (Some("request"), Some(parts)) => self.request(record, message, parts),
            (Some("response"), Some(parts)) => self.response(record, message, parts),
            _ if message.is_object()
                && (message.get("role").is_some() || message.get("thought").is_some()) =>
            {
                self.dictionary(record, message);
            }
            _ => {
                let place = format!("{}/{record}", self.list);
                self.out.warn(
                    "damaged-line",
                    place,
                    "neither a request nor a response with parts; left out",
                );
            }
        }
    }

    fn request(&mut self, record: u32, message: &Value, parts: &[Value]) {
        self.instructions = value::string(message, "instructions").or(self.instructions.take());
        let mut prompt: Option<Prompt> = None;
        for (index, part) in parts.iter().enumerate() {
            let pointer = format!("/parts/{index}");
            let kind = value::text(part, "part_kind").unwrap_or("");
            if kind == "user-prompt" {
                let (at, parts) = prompt.get_or_insert_default();
                *at = at.or_else(|| value::time(part, "timestamp"));
                parts.extend(user_content(part, &pointer));
                continue;
            }
            self.prompt(record, prompt.take());
            match kind {
                "system-prompt" => {
                    let parts = vec![text_member(part, "content", &pointer)];
                    if let Some(parts) = self.out.opening_system(parts) {
                        self.push(record, part, Role::System, parts);
                    }
                }
                "tool-return" => {
                    let result = self.tool_return(part);
                    self.tool(record, part, result, &pointer);
                }
                "retry-prompt" if part.get("tool_name").is_some_and(Value::is_string) => {
                    let mut result = self.tool_return(part);
                    result.status = ResultStatus::Retry;
                    self.tool(record, part, result, &pointer);
                }
                // What follows was written by the agent loop while it was running.
                "retry-prompt" => {
                    let text = value::shown_of(part, "content");
                    let text = Part::synthetic(text).at(format!("{pointer}/content"));
                    self.push(record, part, Role::User, vec![text]).mid_turn = true;
                }
                _ => {
                    let part = self.unknown(record, part, pointer);
                    self.push(record, &Value::Null, Role::User, vec![part]).mid_turn = true;
                }
            }
        }
        self.prompt(record, prompt);
    }

    fn prompt(&mut self, record: u32, prompt: Option<Prompt>) {
        if let Some((at, parts)) = prompt {
            self.push(record, &Value::Null, Role::User, parts).at = at;
        }
    }

    fn tool_return(&mut self, part: &Value) -> ToolResult {
        let tool = value::string(part, "tool_name").unwrap_or_default();
        // Histories of the first versions have no ids; names and order have to do.
        let id = value::text(part, "tool_call_id").unwrap_or(&tool);
        let content = part.get("content").unwrap_or(&Value::Null);
        ToolResult {
            call_id: self.out.calls.result(id),
            status: status(matches!(value::text(part, "outcome"), Some("failed" | "denied"))),
            text: value::shown(content),
            structured: (!content.is_string() && !content.is_null()).then(|| content.clone()),
            media: media_in(content),
            tool,
        }
    }

    fn tool(&mut self, record: u32, part: &Value, result: ToolResult, pointer: &str) {
        let result = Part::new(PartKind::Result(result)).at(format!("{pointer}/content"));
        self.push(record, part, Role::Tool, vec![result]);
    }

    fn response(&mut self, record: u32, message: &Value, parts: &[Value]) {
        let mut out = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            let pointer = format!("/parts/{index}");
            out.push(match value::text(part, "part_kind").unwrap_or("") {
                "text" => text_member(part, "content", &pointer),
                "thinking" if value::text(part, "id") == Some(super::REDACTED) => {
                    redacted(value::string(part, "signature")).at(format!("{pointer}/content"))
                }
                "thinking" => {
                    let signature = value::string(part, "signature");
                    signed_member(part, "content", signature, &pointer)
                }
                "tool-call" => {
                    let tool = value::text(part, "tool_name").unwrap_or_default();
                    let id = value::text(part, "tool_call_id").unwrap_or(tool);
                    self.out.call(id, tool, arguments(part)).at(format!("{pointer}/args"))
                }
                "file" => {
                    let content = part.get("content").unwrap_or(&Value::Null);
                    file(media(content)).at(pointer)
                }
                kind @ ("builtin-tool-call" | "builtin-tool-return") => {
                    unknown(kind, part).at(pointer)
                }
                kind @ "compaction" => {
                    let before = self.out.messages.len() + 1;
                    self.out.boundary("summary", "provider").before = before;
                    unknown(kind, part).at(pointer)
                }
                _ => self.unknown(record, part, pointer),
            });
        }
        let answer = self.push(record, message, Role::Assistant, out);
        answer.answer = Some(Answer {
            usage: message.get("usage").and_then(usage),
            finish: value::text(message, "finish_reason").map(finish),
            model: value::string(message, "model_name"),
            provider: value::string(message, "provider_name"),
            ended: answer.at,
            ..Answer::default()
        });
    }

    /// A message that tunacode keeps as a plain dictionary. Its pruner counts those of the user as
    /// turns and leaves the content of all alone; only what is certain is therefore taken apart.
    fn dictionary(&mut self, record: u32, message: &Value) {
        let name = value::text(message, "role");
        let role = match name {
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            _ => Role::System,
        };
        let part = match value::text(message, "content").filter(|_| role != Role::System) {
            Some(text) => Part::text(text).at("/content"),
            None => unknown(name.unwrap_or("thought"), message).at(""),
        };
        let out = self.push(record, &Value::Null, role, vec![part]);
        if role == Role::Assistant {
            out.answer = Some(Answer::default());
        }
        // tunacode takes a dictionary without content for nothing.
        out.mid_turn = role == Role::User && message.get("content").is_none();
    }

    fn unknown(&mut self, record: u32, part: &Value, pointer: String) -> Part {
        let name = value::text(part, "part_kind").unwrap_or("part");
        let place = format!("{}/{record}{pointer}", self.list);
        self.out.unknown_part(place, "a part of kind", name, part).at(pointer)
    }

    /// Adds a message with the time of `of`.
    fn push(&mut self, record: u32, of: &Value, role: Role, parts: Vec<Part>) -> &mut Message {
        let message = self.out.push_unnamed(record, role, parts);
        message.at = value::time(of, "timestamp");
        message
    }
}

/// Arguments as JSON text: recorded as an object, as text, or not at all.
fn arguments(part: &Value) -> String {
    match part.get("args") {
        None | Some(Value::Null) => "{}".to_owned(),
        Some(args) => value::shown(args),
    }
}

/// A user prompt: one text, or a list of texts and files.
fn user_content(part: &Value, pointer: &str) -> Vec<Part> {
    match part.get("content") {
        Some(Value::Array(items)) => items
            .iter()
            .enumerate()
            .filter_map(|(index, item)| {
                let pointer = format!("{pointer}/content/{index}");
                match (item, value::text(item, "kind")) {
                    (Value::String(text), _) => Some(Part::text(text).at(pointer)),
                    (_, Some("text-content")) => Some(text_member(item, "content", &pointer)),
                    (_, Some("cache-point")) => None,
                    _ => Some(file(media(item)).at(pointer)),
                }
            })
            .collect(),
        Some(content) => vec![Part::text(value::shown(content)).at(format!("{pointer}/content"))],
        None => Vec::new(),
    }
}

/// Files among the content of a tool return.
fn media_in(content: &Value) -> Vec<Media> {
    let is_file = |item: &&Value| {
        item.is_object()
            && value::text(item, "kind").is_some_and(|kind| {
                kind == "binary" || kind.ends_with("-url") || kind == "uploaded-file"
            })
    };
    match content {
        Value::Array(items) => items.iter().filter(is_file).map(media).collect(),
        item => Some(item).filter(is_file).map(media).into_iter().collect(),
    }
}

fn media(item: &Value) -> Media {
    Media {
        mime: value::string(item, "media_type").unwrap_or_else(|| {
            value::text(item, "kind")
                .and_then(|kind| kind.strip_suffix("-url"))
                .map_or_else(String::new, |kind| format!("{kind}/*"))
        }),
        name: value::string(item, "identifier").or_else(|| value::string(item, "file_id")),
        url: value::string(item, "url").or_else(|| value::string(item, "data")).unwrap_or_default(),
    }
}

/// pydantic-ai's `input_tokens` holds everything, whatever the provider does; before 1.0 the fields were
/// `request_tokens` and `response_tokens`, and the cache was found among the provider's details.
const COUNTS: Counts = Counts {
    input: &["/input_tokens", "/request_tokens"],
    cache_read: &[
        "/cache_read_tokens",
        "/details/cache_read_input_tokens",
        "/details/cached_tokens",
        "/details/cached_content_tokens",
    ],
    cache_write: &["/cache_write_tokens", "/details/cache_creation_input_tokens"],
    output: &["/output_tokens", "/response_tokens"],
    reasoning: &["/details/reasoning_tokens", "/details/thoughts_tokens"],
    total: "/total_tokens",
    ..Counts::NONE
};

fn usage(recorded: &Value) -> Option<Usage> {
    let mut usage = COUNTS.usage(recorded);
    usage.reasoning = usage.reasoning.min(value::first_count(recorded, COUNTS.output));
    (!usage.is_zero()).then_some(usage)
}
