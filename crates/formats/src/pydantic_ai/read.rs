//! From the list of requests and responses to the canonical form.

use super::FORMAT;
use crate::ids::{Calls, Ids};
use crate::session::{Boundary, Shape, Source};
use crate::time::parse_rfc3339;
use crate::{ReadError, Session, pairing, raw, value};
use foldback_core::SegmentKind;
use foldback_core::log::{
    Answer, Finish, Media, Message, Part, PartKind, ResultStatus, Role, ToolResult, Usage,
};
use serde_json::Value;
use std::sync::Arc;

pub(super) fn read(text: &str) -> Result<Vec<Session>, ReadError> {
    let root = value::document(text)?;
    let list = if root.is_array() { "" } else { "/messages" };
    let messages = root.pointer(list).and_then(Value::as_array).ok_or_else(|| {
        value::malformed(
            list,
            "a pydantic-ai history is a list of messages, or has one under `messages`",
        )
    })?;
    let source = Source {
        text: text.into(),
        shape: Shape::Document,
        records: raw::elements(text, list)
            .map_err(|error| value::malformed(list, error.to_string()))?,
    };
    let id = value::string(&root, "session_id").unwrap_or_else(|| value::content_id(text));
    let mut reader = Reader {
        session: Session::new(id, FORMAT.id, source),
        ids: Ids::default(),
        calls: Calls::default(),
        instructions: None,
        list,
    };
    // tunacode: the project is a hash of the folder.
    reader.session.cluster = value::string(&root, "project_id").filter(|id| !id.is_empty());
    for (record, message) in messages.iter().enumerate() {
        reader.record(record as u32, message);
    }
    let mut session = reader.finish();
    if session.model.is_none() {
        session.model = value::string(&root, "current_model");
    }
    Ok(vec![session])
}

struct Reader {
    session: Session,
    ids: Ids,
    calls: Calls,
    /// Those of the last request that had any: pydantic-ai sends no others.
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
                self.session.warn(
                    "damaged-line",
                    place,
                    "neither a request nor a response with parts; left out",
                );
            }
        }
    }

    fn request(&mut self, record: u32, message: &Value, parts: &[Value]) {
        if let Some(instructions) = value::text(message, "instructions") {
            self.instructions = Some(instructions.to_owned());
        }
        let mut prompt: Option<Message> = None;
        for (index, part) in parts.iter().enumerate() {
            let pointer = format!("/parts/{index}");
            let kind = value::text(part, "part_kind").unwrap_or("");
            if kind == "user-prompt" {
                let prompt =
                    prompt.get_or_insert_with(|| self.message(record, Role::User, Vec::new()));
                prompt.at = prompt.at.or_else(|| timestamp(part));
                prompt.parts.extend(user_content(part, &pointer));
                continue;
            }
            self.push(prompt.take());
            match kind {
                "system-prompt" => self.system(record, part, pointer),
                "tool-return" => {
                    let result = self.tool_return(part);
                    self.tool(record, part, result, &pointer);
                }
                "retry-prompt" if part.get("tool_name").is_some_and(Value::is_string) => {
                    let mut result = self.tool_return(part);
                    result.status = ResultStatus::Retry;
                    self.tool(record, part, result, &pointer);
                }
                "retry-prompt" => {
                    let text = part.get("content").map(value::shown).unwrap_or_default();
                    let text = Part::synthetic(text).at(format!("{pointer}/content"));
                    self.loop_message(record, part, text);
                }
                _ => {
                    let part = self.unknown(record, part, pointer, false);
                    self.loop_message(record, &Value::Null, part);
                }
            }
        }
        self.push(prompt);
    }

    fn system(&mut self, record: u32, part: &Value, pointer: String) {
        let text = value::string(part, "content").unwrap_or_default();
        if self.session.messages.is_empty() {
            self.session.frame.push_text(SegmentKind::System, text);
            return;
        }
        let part_out = Part::text(text).at(format!("{pointer}/content"));
        let mut message = self.message(record, Role::System, vec![part_out]);
        message.at = timestamp(part);
        self.push(Some(message));
    }

    /// A user message that the agent loop wrote while it was running.
    fn loop_message(&mut self, record: u32, part: &Value, content: Part) {
        let mut message = self.message(record, Role::User, vec![content]);
        message.at = timestamp(part);
        message.mid_turn = true;
        self.push(Some(message));
    }

    fn tool_return(&mut self, part: &Value) -> ToolResult {
        let tool = value::string(part, "tool_name").unwrap_or_default();
        // Histories of the first versions have no ids; names and order have to do.
        let id = value::text(part, "tool_call_id").unwrap_or(&tool);
        let content = part.get("content").unwrap_or(&Value::Null);
        ToolResult {
            call_id: self.calls.result(id),
            status: match value::text(part, "outcome") {
                Some("failed" | "denied") => ResultStatus::Error,
                _ => ResultStatus::Completed,
            },
            text: value::shown(content),
            structured: (!content.is_string() && !content.is_null()).then(|| content.clone()),
            media: media_in(content),
            tool,
        }
    }

    fn tool(&mut self, record: u32, part: &Value, result: ToolResult, pointer: &str) {
        let result = Part::new(PartKind::Result(result)).at(format!("{pointer}/content"));
        let mut message = self.message(record, Role::Tool, vec![result]);
        message.at = timestamp(part);
        self.push(Some(message));
    }

    fn response(&mut self, record: u32, message: &Value, parts: &[Value]) {
        let mut out = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            let pointer = format!("/parts/{index}");
            out.push(match value::text(part, "part_kind").unwrap_or("") {
                "text" => Part::text(value::string(part, "content").unwrap_or_default())
                    .at(format!("{pointer}/content")),
                "thinking" => Part::new(PartKind::Reasoning {
                    text: value::string(part, "content").unwrap_or_default(),
                    opaque: value::string(part, "signature"),
                })
                .at(format!("{pointer}/content")),
                "tool-call" => {
                    let tool = value::text(part, "tool_name").unwrap_or_default();
                    let id = value::text(part, "tool_call_id").unwrap_or(tool);
                    Part::call(self.calls.call(id), tool, arguments(part))
                        .at(format!("{pointer}/args"))
                }
                "file" => {
                    let content = part.get("content").unwrap_or(&Value::Null);
                    Part::new(PartKind::File(media(content))).at(pointer)
                }
                "builtin-tool-call" | "builtin-tool-return" => {
                    self.unknown(record, part, pointer, true)
                }
                "compaction" => {
                    self.session.boundaries.push(Boundary {
                        before: self.session.messages.len() + 1,
                        trigger: "provider".to_owned(),
                        kind: "summary".to_owned(),
                        tokens_before: None,
                        tokens_after: None,
                        original_kept: true,
                    });
                    self.unknown(record, part, pointer, true)
                }
                _ => self.unknown(record, part, pointer, false),
            });
        }
        let mut answer = self.message(record, Role::Assistant, out);
        answer.at = timestamp(message);
        answer.answer = Some(Answer {
            usage: usage(message.get("usage")),
            finish: value::text(message, "finish_reason").map(finish),
            model: value::string(message, "model_name"),
            provider: value::string(message, "provider_name"),
            started: None,
            ended: answer.at,
            error: None,
        });
        self.push(Some(answer));
    }

    /// A message that tunacode keeps as a plain dictionary. Its pruner counts those of the user as
    /// turns and leaves the content of all alone; only what is certain is therefore taken apart.
    fn dictionary(&mut self, record: u32, message: &Value) {
        let content = message.get("content").and_then(Value::as_str);
        let role = value::text(message, "role");
        let (role, part) = match (role, content) {
            (Some("user"), Some(text)) => (Role::User, Part::text(text).at("/content")),
            (Some("assistant"), Some(text)) => (Role::Assistant, Part::text(text).at("/content")),
            (role, _) => {
                let kind = PartKind::Unknown {
                    name: role.unwrap_or("thought").to_owned(),
                    raw: message.clone(),
                };
                let known = match role {
                    Some("user") => Role::User,
                    Some("assistant") => Role::Assistant,
                    _ => Role::System,
                };
                (known, Part::new(kind).at(""))
            }
        };
        let mut out = self.message(record, role, vec![part]);
        if role == Role::Assistant {
            out.answer = Some(Answer::default());
        }
        // tunacode takes a dictionary without content for nothing.
        out.mid_turn = role == Role::User && message.get("content").is_none();
        self.push(Some(out));
    }

    fn unknown(&mut self, record: u32, part: &Value, pointer: String, known: bool) -> Part {
        let name = value::text(part, "part_kind").unwrap_or("part");
        if !known {
            self.session.warn(
                "unknown-type",
                format!("{}/{record}{pointer}", self.list),
                format!("a part of kind `{name}`; kept as it is"),
            );
        }
        Part::new(PartKind::Unknown { name: name.to_owned(), raw: part.clone() }).at(pointer)
    }

    fn message(&mut self, record: u32, role: Role, parts: Vec<Part>) -> Message {
        let mut message = Message::new(self.ids.unique(&format!("m{record}")), role, parts);
        message.record = Some(record);
        message
    }

    fn push(&mut self, message: Option<Message>) {
        self.session.messages.extend(message.map(Arc::new));
    }

    fn finish(mut self) -> Session {
        let session = &mut self.session;
        if let Some(instructions) = self.instructions.filter(|text| !text.is_empty()) {
            session.frame.push_text(SegmentKind::System, instructions);
        }
        session.model = value::most_common(
            session.messages.iter().filter_map(|message| message.answer.as_ref()?.model.as_deref()),
        );
        pairing::join(session);
        self.session
    }
}

fn timestamp(of: &Value) -> Option<i64> {
    parse_rfc3339(value::text(of, "timestamp")?)
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
                    (_, Some("text-content")) => Some(
                        Part::text(value::string(item, "content").unwrap_or_default())
                            .at(format!("{pointer}/content")),
                    ),
                    (_, Some("cache-point")) => None,
                    _ => Some(Part::new(PartKind::File(media(item))).at(pointer)),
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

/// Usage as three disjoint input classes. pydantic-ai's `input_tokens` holds everything, whatever the
/// provider does; before 1.0 the fields were `request_tokens` and `response_tokens`, and the cache
/// was found among the provider's details.
fn usage(recorded: Option<&Value>) -> Option<Usage> {
    let recorded = recorded?;
    let first = |pointers: &[&str]| {
        pointers
            .iter()
            .map(|pointer| value::count(recorded, pointer))
            .find(|count| *count > 0)
            .unwrap_or(0)
    };
    let input = first(&["/input_tokens", "/request_tokens"]);
    let cache_read = first(&[
        "/cache_read_tokens",
        "/details/cache_read_input_tokens",
        "/details/cached_tokens",
        "/details/cached_content_tokens",
    ]);
    let cache_write = first(&["/cache_write_tokens", "/details/cache_creation_input_tokens"]);
    let output = first(&["/output_tokens", "/response_tokens"]);
    let reasoning = first(&["/details/reasoning_tokens", "/details/thoughts_tokens"]).min(output);
    let usage = Usage {
        uncached: input.saturating_sub(cache_read + cache_write),
        cache_read,
        cache_write,
        output: output - reasoning,
        reasoning,
        total: recorded.get("total_tokens").and_then(Value::as_u64),
    };
    (!usage.is_zero()).then_some(usage)
}

fn finish(name: &str) -> Finish {
    match name {
        "stop" => Finish::Stop,
        "tool_call" => Finish::ToolCalls,
        "length" => Finish::Length,
        "content_filter" => Finish::ContentFilter,
        "error" => Finish::Error,
        _ => Finish::Other,
    }
}
