//! The messages of the crate `rig-core`, version 0.42 (feature `rig`).
//!
//! ```
//! use foldback_core::view::Shown;
//! use foldback_wire::rig;
//! use rig_core::completion::Message;
//!
//! let list = [Message::user("Why?"), Message::assistant("So."), Message::user("And?")];
//! let history = rig::history(&list)?;
//! // In an agent this is `conversation.sent()`.
//! let sent: Vec<_> = history.messages()[2..].iter().map(Shown::plain).collect();
//! let (shown, losses) = rig::shown(&history, &sent)?;
//! assert_eq!(shown, list[2..]);
//! assert!(losses.is_empty());
//! # Ok::<(), foldback_wire::WireError>(())
//! ```
//!
//! | here | in `rig` |
//! |---|---|
//! | a tool message for every result | `UserContent::ToolResult`, those that follow each other in one message |
//! | reasoning with its signature | `ReasoningContent::Text`, `Summary`, `Encrypted`, `Redacted`; anew as `Text` with its signature, or `Redacted` |
//! | the signature of a call, `additional_params`, ids of the provider | kept in messages that a view does not hide, edited ones too |
//! | images, with a message and with a result | `Image`, by data or by URL |
//! | audio, video, documents | kept as they are; made anew they are among the losses |
//! | arguments that are no JSON | a JSON string |
//! | that a result is an error | its text alone |
//!
//! `rig` asks its `ConversationMemory` for the history before a prompt: `load` is the place to read what was stored,
//! to fold it, and to give back what is [shown].

use crate::WireError;
use crate::listed::History;
use crate::shared::made::{bare_data, results, runs};
use crate::shared::messages::Messages;
use crate::shared::parts::{file, reasoning, redacted, unknown};
use crate::shared::raw::json_string;
use crate::shared::rewrite::Dialect;
use crate::shared::value;
use foldback_core::log::{Answer, Media, Message, Part, PartKind, Role, ToolResult};
use foldback_core::view::{PartEdit, PartPos, Shown};
use rig_core::completion::Message as Rig;
use serde_json::{Value, json};

/// Reads a list of messages.
///
/// # Errors
///
/// A message has a role that is not known.
pub fn history(list: &[Rig]) -> Result<History<Rig>, WireError> {
    History::read(list, read)
}

/// The list with the messages that a view shows, and what has no place in it, one line each. Messages of the list that
/// are shown without edits are equal to what they were.
///
/// # Errors
///
/// [`WireError::Stale`] where a message says that it is of this list and is not.
pub fn shown(
    history: &History<Rig>,
    sent: &[Shown<'_>],
) -> Result<(Vec<Rig>, Vec<String>), WireError> {
    let mut losses = Vec::new();
    let list = history.shown(sent, &mut Writer { losses: &mut losses })?;
    Ok((list, losses))
}

fn read(list: &Value) -> Messages {
    let mut out = Messages::default();
    for (record, message) in (0u32..).zip(value::items(list)) {
        let Some(role) = out.role("", record, message) else { continue };
        let content = value::list(message, "content").iter().enumerate();
        match role {
            "system" => {
                let text = value::text(message, "content").unwrap_or_default();
                if let Some(parts) = out.opening_system(vec![Part::text(text).at("/content")]) {
                    out.push_unnamed(record, Role::System, parts);
                }
            }
            "user" => {
                let part = |(index, item)| match value::text(item, "type") {
                    Some("toolresult") => result(&mut out, index, item),
                    _ => said(&mut out, index, item),
                };
                let parts = content.map(part).collect();
                out.push_user(record, parts);
            }
            "assistant" => {
                let parts = content.map(|(index, item)| said(&mut out, index, item)).collect();
                out.push_unnamed(record, Role::Assistant, parts).answer = Some(Answer::default());
            }
            other => out.unknown_role(format!("/{record}/role"), other),
        }
    }
    out
}

fn result(out: &mut Messages, index: usize, item: &Value) -> Part {
    let (mut texts, mut media) = (Vec::new(), Vec::new());
    for content in value::list(item, "content") {
        match value::text(content, "type") {
            Some("image") => media.extend(image(content)),
            Some("json") => texts.push(value::shown_of(content, "value")),
            _ => texts.push(value::string(content, "text").unwrap_or_default()),
        }
    }
    let call = value::text(item, "call").unwrap_or_default();
    let tool = value::text(item, "name").unwrap_or_default();
    out.result(call, tool, false, texts.join("\n"), media).at(format!("/content/{index}/content"))
}

fn said(out: &mut Messages, index: usize, item: &Value) -> Part {
    let at = format!("/content/{index}");
    let kind = value::text(item, "type").unwrap_or_default();
    match kind {
        "text" => {
            let text = value::string(item, "text").unwrap_or_default();
            Part::text(text).at(format!("{at}/text"))
        }
        "toolcall" => {
            let function = &item["function"];
            let id = value::text(item, "id").unwrap_or_default();
            let name = value::text(function, "name").unwrap_or_default();
            let arguments = value::shown_of(function, "arguments");
            out.call(id, name, arguments).at(format!("{at}/function/arguments"))
        }
        "reasoning" => thought(item).at(format!("{at}/content")),
        "image" => match image(item) {
            Some(media) => file(media).at(at),
            None => unknown(kind, item).at(at),
        },
        // Kept and counted as it is.
        _ => unknown(kind, item).at(at),
    }
}

fn thought(item: &Value) -> Part {
    let (mut texts, mut opaque, mut hidden) = (Vec::new(), None, None);
    for part in value::list(item, "content") {
        let content = &part["content"];
        match value::text(part, "type").unwrap_or_default() {
            "text" => {
                texts.extend(value::string(content, "text"));
                opaque = opaque.or(value::string(content, "signature"));
            }
            "summary" => texts.extend(content.as_str().map(str::to_owned)),
            "redacted" => hidden = hidden.or(value::string(content, "data")),
            _ => hidden = hidden.or(content.as_str().map(str::to_owned)),
        }
    }
    match hidden {
        Some(_) if texts.is_empty() => redacted(hidden),
        _ => reasoning(texts.join("\n"), opaque.or(hidden)),
    }
}

/// An image by data or by URL.
fn image(item: &Value) -> Option<Media> {
    let subtype = match value::text(item, "media_type") {
        Some("svg") => "svg+xml",
        Some(known) => known,
        None => "*",
    };
    let url = value::text_at(item, "/data/value")?;
    Some(Media { mime: format!("image/{subtype}"), url: url.to_owned(), name: None })
}

struct Writer<'a> {
    losses: &'a mut Vec<String>,
}

impl Dialect for Writer<'_> {
    fn edited(&self, _: PartPos, part: &Part, _: &str, edit: &PartEdit) -> Option<String> {
        match &part.kind {
            PartKind::Result(_) => Some(json!([text(&edit.text)]).to_string()),
            PartKind::Call(_) => {
                Some(serde_json::from_str(&edit.text).unwrap_or(json!(&*edit.text)).to_string())
            }
            // What is signed is not worded otherwise.
            PartKind::Reasoning { .. } => None,
            _ => Some(json_string(&edit.text)),
        }
    }

    fn generate(&mut self, messages: &[Message], _: Option<u32>) -> Vec<Value> {
        let mut out = Vec::new();
        for (message, run) in runs(messages) {
            out.push(match message.role {
                Role::System => json!({"role": "system", "content": message.shown_text()}),
                Role::Tool => {
                    let content: Vec<Value> = results(run).map(|one| self.result(one)).collect();
                    json!({"role": "user", "content": content})
                }
                role => {
                    let parts = message.parts.iter();
                    let content: Vec<Value> = parts.filter_map(|part| self.part(part)).collect();
                    match role {
                        Role::Assistant => {
                            json!({"role": "assistant", "id": null, "content": content})
                        }
                        _ => json!({"role": "user", "content": content}),
                    }
                }
            });
        }
        out
    }
}

impl Writer<'_> {
    fn result(&mut self, result: &ToolResult) -> Value {
        let images: Vec<Value> =
            result.media.iter().filter_map(|media| self.image(media)).collect();
        let content: Vec<Value> = [text(&result.text)].into_iter().chain(images).collect();
        json!({"type": "toolresult", "call": result.call_id, "name": result.tool, "content": content})
    }

    fn part(&mut self, part: &Part) -> Option<Value> {
        Some(match &part.kind {
            PartKind::Reasoning { opaque: Some(data), .. } if part.redacted => {
                let content = [json!({"type": "redacted", "content": {"data": data}})];
                json!({"type": "reasoning", "id": null, "content": content})
            }
            PartKind::Reasoning { text, opaque } => {
                let content = json!({"text": text, "signature": opaque});
                let content = [json!({"type": "text", "content": content})];
                json!({"type": "reasoning", "id": null, "content": content})
            }
            PartKind::Call(call) => json!({
                "type": "toolcall",
                "id": call.call_id,
                "function": {"name": call.tool, "arguments": call.arguments_value()},
            }),
            PartKind::Result(found) => self.result(found),
            PartKind::File(media) => return self.image(media),
            PartKind::Unknown { name, .. } => {
                self.losses.push(format!("content of the kind `{name}`"));
                return None;
            }
            _ => match part.shown() {
                shown if shown.is_empty() => return None,
                shown => text(&shown),
            },
        })
    }

    fn image(&mut self, media: &Media) -> Option<Value> {
        const KNOWN: [&str; 7] = ["jpeg", "png", "gif", "webp", "heic", "heif", "svg"];
        let subtype = media.mime.strip_prefix("image/").map(|subtype| match subtype {
            "svg+xml" => "svg",
            other => other,
        });
        let Some(subtype) = subtype.filter(|it| *it == "*" || KNOWN.contains(it)) else {
            self.losses.push(format!("a file of type {}", media.mime));
            return None;
        };
        let data = match media.url.contains("://") {
            true => json!({"type": "url", "value": media.url}),
            false => json!({"type": "base64", "value": bare_data(media)}),
        };
        let mut image = json!({"type": "image", "data": data});
        if subtype != "*" {
            image["media_type"] = subtype.into();
        }
        Some(image)
    }
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}
