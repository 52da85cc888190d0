//! Reads the protocol's messages.

use super::COUNTS;
use crate::wire::shared::messages::Messages;
use crate::wire::shared::parts::{file, reasoning, reasoning_member, text_member};
use crate::wire::shared::usage::{finish, service};
use crate::wire::shared::value;
use foldback_core::log::{Answer, Media, Message, Part, Role};
use serde_json::Value;

/// Reads the tools beside a list of messages.
pub(crate) fn frame(out: &mut Messages, root: &Value) {
    out.tools(root.get("tools").or_else(|| root.get("functions")));
}

/// Reads records of the list at a JSON pointer.
pub(crate) fn records(out: Messages, list: &str, records: &[(u32, &Value)]) -> Messages {
    let mut reader = Reader { out, list };
    for (record, message) in records {
        if let Some(role) = reader.out.role(list, *record, message) {
            reader.message(*record, role, message);
        }
    }
    reader.out
}

/// Reads the one message of an answer.
pub(super) fn answer(message: &Value) -> Option<Message> {
    let mut reader = Reader { out: Messages::default(), list: "" };
    reader.assistant(0, message);
    reader.out.messages.pop()
}

struct Reader<'a> {
    out: Messages,
    list: &'a str,
}

impl Reader<'_> {
    fn message(&mut self, record: u32, role: &str, message: &Value) {
        match role {
            "system" | "developer" if !self.out.has_begun() => {
                let (text, _) = flat(message.get("content"));
                self.out.opening(text);
            }
            "system" | "developer" => {
                let parts = self.content(record, message);
                self.out.push_unnamed(record, Role::System, parts);
            }
            "user" => {
                let parts = self.content(record, message);
                self.out.push_unnamed(record, Role::User, parts);
            }
            "assistant" => self.assistant(record, message),
            "tool" | "function" => {
                let name = value::text(message, "name").unwrap_or_default();
                // The older `function` role has no ids: calls and results go by name.
                let id = value::text(message, "tool_call_id").unwrap_or(name);
                let (text, media) = flat(message.get("content"));
                let part = self.out.result(id, name, false, text, media).at("/content");
                self.out.push_unnamed(record, Role::Tool, vec![part]);
            }
            other => self.out.unknown_role(format!("{}/{record}/role", self.list), other),
        }
    }

    fn assistant(&mut self, record: u32, message: &Value) {
        let mut thoughts = ["reasoning_content", "reasoning"].iter();
        let thought = thoughts.find_map(|key| reasoning_member(message, key, ""));
        let mut parts = Vec::from_iter(thought);
        parts.extend(signature(message, ""));
        parts.extend(self.content(record, message));
        if let Some(refusal) = value::text(message, "refusal") {
            parts.push(Part::text(refusal).at("/refusal"));
        }
        if let Some(call) = message.get("function_call").filter(|call| call.is_object()) {
            let name = value::text(call, "name").unwrap_or_default();
            let call = self.out.call(name, name, value::shown_of(call, "arguments"));
            parts.push(call.at("/function_call/arguments"));
        }
        for (index, call) in value::list(message, "tool_calls").iter().enumerate() {
            parts.extend(signature(call, &format!("/tool_calls/{index}")));
            let (kind, arguments) = match value::text(call, "type") {
                Some("custom") => ("custom", "input"),
                _ => ("function", "arguments"),
            };
            let called = &call[kind];
            let name = value::text(called, "name").unwrap_or_default();
            let id = value::text(call, "id").unwrap_or(name);
            let mut part = self.out.call(id, name, value::shown_of(called, arguments));
            // Into anything else no edit could be written.
            if called.is_object() {
                part = part.at(format!("/tool_calls/{index}/{kind}/{arguments}"));
            }
            parts.push(part);
        }
        let answer = Answer {
            usage: message.get("usage").and_then(|usage| COUNTS.any(usage)),
            finish: value::text(message, "finish_reason").map(finish),
            model: value::string(message, "model"),
            service: service(value::text(message, "service_tier")),
            ..Answer::default()
        };
        self.out.push_unnamed(record, Role::Assistant, parts).answer = Some(answer);
    }

    /// The content: absent, one text, or a list of texts and files.
    fn content(&mut self, record: u32, message: &Value) -> Vec<Part> {
        let items = match message.get("content") {
            None | Some(Value::Null) => return Vec::new(),
            Some(Value::Array(items)) => items,
            Some(content) => {
                let place = format!("{}/{record}/content", self.list);
                return vec![self.out.whole_content(place, content).at("/content")];
            }
        };
        let mut parts = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let pointer = format!("/content/{index}");
            let kind = value::text(item, "type").unwrap_or("");
            let part = match kind {
                "text" | "input_text" | "output_text" => text_member(item, "text", &pointer),
                "refusal" => text_member(item, "refusal", &pointer),
                _ => match media(item) {
                    Some(media) => file(media).at(pointer),
                    None => {
                        let place = format!("{}/{record}{pointer}", self.list);
                        self.out.unknown_part(place, "content of type", kind, item).at(pointer)
                    }
                },
            };
            parts.push(part);
        }
        parts
    }
}

/// The end of the pointers to signatures.
pub(super) const SIGNATURE: &str = "/thought_signature";

/// Gemini's signature of a call or an answer, as proxies to its API pass it on. It becomes reasoning that only the model can
/// read, in front of that call or answer.
pub fn signature(raw: &Value, at: &str) -> Option<Part> {
    ["/extra_content/google", "/provider_specific_fields"].iter().find_map(|place| {
        let place = format!("{place}{SIGNATURE}");
        let signature = value::text_at(raw, &place).filter(|signature| !signature.is_empty())?;
        Some(reasoning("", Some(signature.to_owned())).at(format!("{at}{place}")))
    })
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
            Some(Media {
                mime: value::data_type(&url).unwrap_or("image/*").to_owned(),
                name: None,
                url,
            })
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
                mime: value::data_type(&url).unwrap_or("application/octet-stream").to_owned(),
                name: value::string(file, "filename"),
                url,
            })
        }
        _ => None,
    }
}
