//! From message lists to the canonical form.

use super::FORMAT;
use crate::bodies::{Body, read_all};
use crate::ids::{Calls, Ids};
use crate::{ReadError, Session, pairing, value};
use foldback_core::SegmentKind;
use foldback_core::log::{Answer, Finish, Media, Message, Part, PartKind, Role, ToolResult, Usage};
use serde_json::Value;
use std::sync::Arc;

pub(super) fn read(text: &str) -> Result<Vec<Session>, ReadError> {
    read_all(text, conversation)
}

fn conversation(body: &Body<'_>) -> Result<Session, ReadError> {
    let mut reader =
        Reader { session: body.session(FORMAT.id)?, ids: Ids::default(), calls: Calls::default() };
    for (record, message) in body.messages().iter().enumerate() {
        let record = record as u32;
        match value::text(message, "role") {
            Some(role) => reader.message(record, role, message),
            None => reader.session.warn(
                "damaged-line",
                format!("{}/{record}", body.list),
                "a message needs an object with a `role`; left out",
            ),
        }
    }
    let mut session = reader.session;
    if session.model.is_none() {
        session.model = value::most_common(
            session.messages.iter().filter_map(|message| message.answer.as_ref()?.model.as_deref()),
        );
    }
    pairing::join(&mut session);
    Ok(session)
}

struct Reader {
    session: Session,
    ids: Ids,
    calls: Calls,
}

impl Reader {
    fn message(&mut self, record: u32, role: &str, message: &Value) {
        match role {
            "system" | "developer" if self.session.messages.is_empty() => {
                let (text, _) = flat(message.get("content"));
                self.session.frame.push_text(SegmentKind::System, text);
            }
            "system" | "developer" => {
                let parts = self.content(record, message);
                self.push(record, Role::System, parts, None);
            }
            "user" => {
                let parts = self.content(record, message);
                self.push(record, Role::User, parts, None);
            }
            "assistant" => self.assistant(record, message),
            "tool" | "function" => {
                let name = value::string(message, "name").unwrap_or_default();
                // The older `function` role has no ids: calls and results go by name.
                let id = value::text(message, "tool_call_id").unwrap_or(&name);
                let (text, media) = flat(message.get("content"));
                let result = ToolResult {
                    call_id: self.calls.result(id),
                    tool: name.clone(),
                    text,
                    media,
                    ..ToolResult::default()
                };
                let part = Part::new(PartKind::Result(result)).at("/content");
                self.push(record, Role::Tool, vec![part], None);
            }
            other => self.session.warn(
                "unknown-role",
                format!("message {record}"),
                format!("there is no role `{other}` in this format; left out"),
            ),
        }
    }

    fn assistant(&mut self, record: u32, message: &Value) {
        let mut parts = Vec::new();
        for key in ["reasoning_content", "reasoning"] {
            if let Some(text) = value::string(message, key).filter(|text| !text.is_empty()) {
                let kind = PartKind::Reasoning { text, opaque: None };
                parts.push(Part::new(kind).at(format!("/{key}")));
                break;
            }
        }
        parts.extend(self.content(record, message));
        if let Some(refusal) = value::text(message, "refusal") {
            parts.push(Part::text(refusal).at("/refusal"));
        }
        if let Some(call) = message.get("function_call").filter(|call| call.is_object()) {
            let name = value::text(call, "name").unwrap_or_default();
            let arguments = call.get("arguments").map(value::shown).unwrap_or_default();
            parts.push(
                Part::call(self.calls.call(name), name, arguments).at("/function_call/arguments"),
            );
        }
        let calls = message.get("tool_calls").and_then(Value::as_array);
        for (index, call) in calls.into_iter().flatten().enumerate() {
            let (kind, arguments) = match value::text(call, "type") {
                Some("custom") => ("custom", "input"),
                _ => ("function", "arguments"),
            };
            let called = call.get(kind).unwrap_or(&Value::Null);
            let name = value::text(called, "name").unwrap_or_default();
            let id = value::text(call, "id").unwrap_or(name);
            let text = called.get(arguments).map(value::shown).unwrap_or_default();
            parts.push(
                Part::call(self.calls.call(id), name, text)
                    .at(format!("/tool_calls/{index}/{kind}/{arguments}")),
            );
        }
        let answer = Answer {
            usage: message.get("usage").and_then(usage),
            finish: value::text(message, "finish_reason").map(finish),
            model: value::string(message, "model"),
            ..Answer::default()
        };
        self.push(record, Role::Assistant, parts, Some(answer));
    }

    /// The content: absent, one text, or a list of texts and files.
    fn content(&mut self, record: u32, message: &Value) -> Vec<Part> {
        let items = match message.get("content") {
            None | Some(Value::Null) => return Vec::new(),
            Some(Value::Array(items)) => items,
            Some(content) => return vec![Part::text(value::shown(content)).at("/content")],
        };
        let mut parts = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let pointer = format!("/content/{index}");
            let kind = value::text(item, "type").unwrap_or("");
            let part = match kind {
                "text" | "input_text" | "output_text" => {
                    let text = value::string(item, "text").unwrap_or_default();
                    Part::text(text).at(format!("{pointer}/text"))
                }
                "refusal" => {
                    let text = value::string(item, "refusal").unwrap_or_default();
                    Part::text(text).at(format!("{pointer}/refusal"))
                }
                _ => match media(item) {
                    Some(media) => Part::new(PartKind::File(media)).at(pointer),
                    None => {
                        self.session.warn(
                            "unknown-type",
                            format!("message {record}{pointer}"),
                            format!("content of type `{kind}`; kept as it is"),
                        );
                        Part::new(PartKind::Unknown { name: kind.to_owned(), raw: item.clone() })
                            .at(pointer)
                    }
                },
            };
            parts.push(part);
        }
        parts
    }

    fn push(&mut self, record: u32, role: Role, parts: Vec<Part>, answer: Option<Answer>) {
        let mut message = Message::new(self.ids.unique(&format!("m{record}")), role, parts);
        message.record = Some(record);
        message.answer = answer;
        self.session.messages.push(Arc::new(message));
    }
}

/// Content as one text, and the files in it.
fn flat(content: Option<&Value>) -> (String, Vec<Media>) {
    match content {
        None | Some(Value::Null) => (String::new(), Vec::new()),
        Some(Value::Array(items)) => {
            let texts: Vec<&str> = items
                .iter()
                .filter_map(|item| value::text(item, "text").or_else(|| item.as_str()))
                .collect();
            (texts.join("\n"), items.iter().filter_map(media).collect())
        }
        Some(content) => (value::shown(content), Vec::new()),
    }
}

fn media(item: &Value) -> Option<Media> {
    match value::text(item, "type")? {
        "image_url" => {
            let image = item.get("image_url")?;
            let url = value::string(image, "url").or_else(|| image.as_str().map(str::to_owned))?;
            Some(Media { mime: mime_of(&url).unwrap_or("image/*").to_owned(), name: None, url })
        }
        "input_audio" => {
            let audio = item.get("input_audio")?;
            Some(Media {
                mime: format!("audio/{}", value::text(audio, "format").unwrap_or("*")),
                name: None,
                url: value::string(audio, "data").unwrap_or_default(),
            })
        }
        "file" => {
            let file = item.get("file")?;
            let url =
                value::string(file, "file_data").or_else(|| value::string(file, "file_id"))?;
            Some(Media {
                mime: mime_of(&url).unwrap_or("application/octet-stream").to_owned(),
                name: value::string(file, "filename"),
                url,
            })
        }
        _ => None,
    }
}

/// The type in a `data:` URL.
fn mime_of(url: &str) -> Option<&str> {
    url.strip_prefix("data:")?.split([';', ',']).next()
}

/// `prompt_tokens` holds the cached tokens, `completion_tokens` the reasoning.
fn usage(recorded: &Value) -> Option<Usage> {
    let cache_read = value::count(recorded, "/prompt_tokens_details/cached_tokens");
    let reasoning = value::count(recorded, "/completion_tokens_details/reasoning_tokens");
    let usage = Usage {
        uncached: value::count(recorded, "/prompt_tokens").saturating_sub(cache_read),
        cache_read,
        cache_write: 0,
        output: value::count(recorded, "/completion_tokens").saturating_sub(reasoning),
        reasoning,
        total: recorded.get("total_tokens").and_then(Value::as_u64),
    };
    (!usage.is_zero()).then_some(usage)
}

fn finish(name: &str) -> Finish {
    match name {
        "stop" => Finish::Stop,
        "tool_calls" | "function_call" => Finish::ToolCalls,
        "length" => Finish::Length,
        "content_filter" => Finish::ContentFilter,
        "error" => Finish::Error,
        _ => Finish::Other,
    }
}
