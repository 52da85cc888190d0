//! The messages of the crate `genai`, version 0.7 (feature `genai`).
//!
//! ```
//! use foldback_core::view::Shown;
//! use foldback_wire::genai as adapter;
//! use genai::chat::{ChatMessage, ChatRequest};
//!
//! let request = ChatRequest::from_system("Be brief.")
//!     .append_message(ChatMessage::user("Why?"))
//!     .append_message(ChatMessage::assistant("So."))
//!     .append_message(ChatMessage::user("And?"));
//! let history = adapter::history(&request)?;
//! // In an agent this is `conversation.sent()`.
//! let sent: Vec<_> = history.messages()[2..].iter().map(Shown::plain).collect();
//! let (messages, losses) = adapter::shown(&history, &sent)?;
//! assert_eq!(messages.len(), 1);
//! assert!(losses.is_empty());
//! let folded = ChatRequest { messages, ..request };
//! # Ok::<(), foldback_wire::WireError>(())
//! ```
//!
//! | here | in `genai` |
//! |---|---|
//! | a tool message for every result | `ContentPart::ToolResponse`, those that follow each other in one message |
//! | reasoning | `ReasoningContent`; what only the model can read is `ThoughtSignature`, a part of its own in front |
//! | files | `Binary`, by data or by URL |
//! | files with a result | no place: among the losses |
//! | `thought_signatures` of a call, cache marks, custom parts | kept in messages that a view does not hide, edited ones too |
//! | that a result is an error | its text alone |

use crate::WireError;
use crate::listed::History;
use crate::shared::made::{bare_data, results, runs};
use crate::shared::messages::{Messages, ProblemKind};
use crate::shared::parts::{file, reasoning, unknown};
use crate::shared::raw::json_string;
use crate::shared::rewrite::Dialect;
use crate::shared::value;
use foldback_core::SegmentKind;
use foldback_core::log::{Answer, Media, Message, Part, PartKind, Role, ToolResult};
use foldback_core::view::{PartEdit, PartPos, Shown};
use genai::chat::{ChatMessage, ChatRequest};
use serde_json::{Value, json};

/// Reads the messages of a request; system prompt and tools are the frame.
///
/// # Errors
///
/// [`WireError::Elsewhere`] where the request builds on what the provider keeps.
pub fn history(request: &ChatRequest) -> Result<History<ChatMessage>, WireError> {
    if request.previous_response_id.is_some() {
        return Err(WireError::Elsewhere { pointer: "/previous_response_id".to_owned() });
    }
    let mut history = History::read(&request.messages, read)?;
    if let Some(system) = request.system.as_ref().filter(|system| !system.is_empty()) {
        history.frame.push_text(SegmentKind::System, system.as_str());
    }
    if let Some(tools) = request.tools.as_ref().filter(|tools| !tools.is_empty()) {
        history.frame.push_text(SegmentKind::Tools, serde_json::to_string(tools)?);
    }
    Ok(history)
}

/// The messages that a view shows, and what has no place in them, one line each. Messages of the request that are shown
/// without edits are what they were.
///
/// # Errors
///
/// [`WireError::Stale`] where a message says that it is of this request and is not.
pub fn shown(
    history: &History<ChatMessage>,
    sent: &[Shown<'_>],
) -> Result<(Vec<ChatMessage>, Vec<String>), WireError> {
    let mut losses = Vec::new();
    let list = history.shown(sent, &mut Writer { losses: &mut losses })?;
    Ok((list, losses))
}

fn read(list: &Value) -> Messages {
    let mut out = Messages::default();
    for (record, message) in (0u32..).zip(value::items(list)) {
        let content = value::list(message, "content").iter().enumerate();
        match value::text(message, "role") {
            Some("System") => {
                let parts = content.map(|(index, item)| part(&mut out, index, item)).collect();
                if let Some(parts) = out.opening_system(parts) {
                    out.push_unnamed(record, Role::System, parts);
                }
            }
            Some("Assistant") => {
                let parts = content.map(|(index, item)| part(&mut out, index, item)).collect();
                out.push_unnamed(record, Role::Assistant, parts).answer = Some(Answer::default());
            }
            Some("User" | "Tool") => {
                let parts = content.map(|(index, item)| part(&mut out, index, item)).collect();
                out.push_user(record, parts);
            }
            other => out.unknown_role(format!("/{record}/role"), other.unwrap_or_default()),
        }
    }
    out
}

fn part(out: &mut Messages, index: usize, item: &Value) -> Part {
    let named = item.as_object().and_then(|item| item.iter().next());
    let Some((kind, inner)) = named else {
        let place = format!("/content/{index}");
        out.problem(ProblemKind::UnknownType, place.as_str(), "a part without a kind");
        return unknown("", item).at(place);
    };
    let at = format!("/content/{index}/{kind}");
    let said = || inner.as_str().unwrap_or_default();
    match kind.as_str() {
        "Text" => Part::text(said()).at(at),
        "ReasoningContent" => reasoning(said(), None).at(at),
        "ThoughtSignature" => reasoning("", Some(said().to_owned())).at(at),
        "ToolCall" => {
            let id = value::text(inner, "call_id").unwrap_or_default();
            let name = value::text(inner, "fn_name").unwrap_or_default();
            let arguments = value::shown_of(inner, "fn_arguments");
            out.call(id, name, arguments).at(format!("{at}/fn_arguments"))
        }
        "ToolResponse" => {
            let id = value::text(inner, "call_id").unwrap_or_default();
            let name = value::text(inner, "fn_name").unwrap_or_default();
            let text = value::string(inner, "content").unwrap_or_default();
            out.result(id, name, false, text, Vec::new()).at(format!("{at}/content"))
        }
        "Binary" => {
            let source = &inner["source"];
            file(Media {
                mime: value::string(inner, "content_type").unwrap_or_default(),
                name: value::string(inner, "name"),
                url: value::first_string(source, &["Url", "Base64"]).unwrap_or_default(),
            })
            .at(format!("/content/{index}"))
        }
        // Kept and counted as it is.
        _ => unknown(kind, item).at(format!("/content/{index}")),
    }
}

struct Writer<'a> {
    losses: &'a mut Vec<String>,
}

impl Dialect for Writer<'_> {
    fn edited(&self, _: PartPos, part: &Part, _: &str, edit: &PartEdit) -> Option<String> {
        match &part.kind {
            PartKind::Call(_) => {
                Some(serde_json::from_str(&edit.text).unwrap_or(json!(&*edit.text)).to_string())
            }
            // What only the model can read is not worded otherwise.
            PartKind::Reasoning { opaque: Some(_), .. } => None,
            _ => Some(json_string(&edit.text)),
        }
    }

    fn generate(&mut self, messages: &[Message], _: Option<u32>) -> Vec<Value> {
        let mut out = Vec::new();
        for (message, run) in runs(messages) {
            let (role, content): (_, Vec<Value>) = match message.role {
                Role::System => ("System", vec![json!({"Text": message.shown_text()})]),
                Role::Tool => ("Tool", results(run).map(|one| self.result(one)).collect()),
                Role::User => ("User", self.parts(message)),
                Role::Assistant => ("Assistant", self.parts(message)),
            };
            out.push(json!({"role": role, "content": content}));
        }
        out
    }
}

impl Writer<'_> {
    fn result(&mut self, result: &ToolResult) -> Value {
        if !result.media.is_empty() {
            let (files, call) = (result.media.len(), &result.call_id);
            self.losses.push(format!("{files} files that came with the result of {call}"));
        }
        json!({"ToolResponse": {"call_id": result.call_id, "fn_name": result.tool, "content": result.text}})
    }

    fn parts(&mut self, message: &Message) -> Vec<Value> {
        let mut out = Vec::new();
        for part in &message.parts {
            match &part.kind {
                PartKind::Reasoning { text, opaque } => {
                    out.extend(opaque.as_ref().map(|opaque| json!({"ThoughtSignature": opaque})));
                    if !text.is_empty() {
                        out.push(json!({"ReasoningContent": text}));
                    }
                }
                PartKind::Call(call) => out.push(json!({"ToolCall": {
                    "call_id": call.call_id,
                    "fn_name": call.tool,
                    "fn_arguments": call.arguments_value(),
                }})),
                PartKind::Result(found) => out.push(self.result(found)),
                PartKind::File(media) => {
                    let source = match media.url.contains("://") {
                        true => json!({"Url": media.url}),
                        false => json!({"Base64": bare_data(media)}),
                    };
                    out.push(json!({"Binary": {
                        "content_type": media.mime, "source": source, "name": media.name,
                    }}));
                }
                PartKind::Unknown { name, .. } => {
                    self.losses.push(format!("content of the kind `{name}`"));
                }
                _ => match part.shown() {
                    shown if shown.is_empty() => {}
                    shown => out.push(json!({"Text": shown})),
                },
            }
        }
        out
    }
}
