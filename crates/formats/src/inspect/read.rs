//! From samples to the canonical form.

use super::FORMAT;
use super::events::{self, Events};
use crate::ids::{Calls, Ids};
use crate::session::{Boundary, Recorded, Shape, Source};
use crate::{ReadError, Session, answers, cluster, pairing, raw, value};
use foldback_core::SegmentKind;
use foldback_core::log::{
    Answer, EntryKind, Media, Message, Origin, Part, PartKind, ResultStatus, Role, ToolResult,
};
use serde_json::Value;
use std::sync::Arc;

/// How a text begins that stands in the sample's attachments.
const ATTACHMENT: &str = "attachment://";

/// Reads a log: its samples, or the one sample that it is.
pub(super) fn read(text: &str) -> Result<Vec<Session>, ReadError> {
    let root = value::document(text)?;
    if root.get("messages").is_some_and(Value::is_array) {
        return Ok(vec![sample(text, &root, &Log::default())?]);
    }
    let Some(samples) = root.get("samples").and_then(Value::as_array) else {
        return Err(value::malformed(
            "/samples",
            "a log has its samples here; those of a failed or running evaluation may have none",
        ));
    };
    let log = Log::new(&root);
    let ranges = raw::elements(text, "/samples")
        .map_err(|error| value::malformed("/samples", error.to_string()))?;
    let mut sessions = Vec::with_capacity(samples.len());
    let mut damaged = Vec::new();
    for (index, (range, found)) in ranges.into_iter().zip(samples).enumerate() {
        match sample(&text[range], found, &log) {
            Ok(session) => sessions.push(session),
            Err(error) => damaged.push((format!("/samples/{index}"), error.to_string())),
        }
    }
    let Some(first) = sessions.first_mut() else {
        return Err(ReadError::NoMessages);
    };
    for (place, error) in damaged {
        first.warn("damaged-line", place, format!("{error}; left out"));
    }
    name_apart(&mut sessions);
    Ok(sessions)
}

/// Numbers sessions of one id.
pub(super) fn name_apart(sessions: &mut [Session]) {
    let mut ids = Ids::default();
    for session in sessions {
        session.id = ids.unique(&session.id);
    }
}

/// What a log says about all of its samples.
#[derive(Default)]
pub(super) struct Log {
    model: Option<String>,
    task: Option<String>,
}

impl Log {
    /// From the object that holds `eval`: the log itself, or the header of an archive.
    pub(super) fn new(root: &Value) -> Self {
        let text = |pointer: &str| Some(root.pointer(pointer)?.as_str()?.to_owned());
        Self { model: text("/eval/model"), task: text("/eval/task") }
    }
}

/// Reads a sample.
pub(super) fn sample(text: &str, root: &Value, log: &Log) -> Result<Session, ReadError> {
    let Some(stored) = root.get("messages").and_then(Value::as_array) else {
        return Err(value::malformed("/messages", "not a list of messages"));
    };
    let source = Source {
        text: text.into(),
        shape: Shape::Document,
        records: raw::elements(text, "/messages")
            .map_err(|error| value::malformed("/messages", error.to_string()))?,
    };
    let part = |key: &str| root.get(key).map(value::shown).unwrap_or_default();
    let id = value::string(root, "uuid")
        .unwrap_or_else(|| format!("{}-epoch-{}", part("id"), part("epoch")));
    let mut reader = Reader {
        session: Session::new(id, FORMAT.id, source),
        messages: Vec::new(),
        ids: Ids::default(),
        calls: Calls::default(),
        events: events::events(root),
        attachments: root.get("attachments").unwrap_or(&Value::Null),
    };
    reader.session.cluster = cluster::task(log.task.as_deref(), &part("id"));
    if let Some(tools) = tools(root) {
        let frame = &mut reader.session.frame;
        frame.push_text(SegmentKind::Tools, tools.to_string());
    }
    for (record, raw) in (0u32..).zip(stored) {
        reader.message(record, raw);
    }
    reader.last_answer(root);
    let mut session = reader.finish(log.model.as_deref());
    session.recorded = Some(Recorded { messages: stored.len(), tool_calls: session.tool_calls() });
    Ok(session)
}

/// The tools of the latest call.
fn tools(sample: &Value) -> Option<&Value> {
    let events = sample.get("events")?.as_array()?;
    events
        .iter()
        .rev()
        .filter(|event| value::text(event, "event") == Some("model"))
        .filter_map(|event| event.get("tools"))
        .find(|tools| tools.as_array().is_some_and(|tools| !tools.is_empty()))
}

struct Reader<'a> {
    session: Session,
    messages: Vec<Message>,
    ids: Ids,
    calls: Calls,
    events: Events,
    attachments: &'a Value,
}

impl Reader<'_> {
    fn message(&mut self, record: u32, raw: &Value) {
        match value::text(raw, "role") {
            Some("system") => {
                let parts = self.content(record, raw);
                if self.messages.is_empty() {
                    for part in parts {
                        let text = part.shown();
                        self.session.frame.push_text(SegmentKind::System, text);
                    }
                } else {
                    self.push(record, raw, Role::System, parts);
                }
            }
            Some("user") => self.user(record, raw),
            Some("assistant") => self.assistant(record, raw),
            Some("tool") => self.result(record, raw),
            role => self.session.warn(
                "unknown-role",
                format!("/messages/{record}"),
                format!("there is no role `{}` in this format; left out", role.unwrap_or("")),
            ),
        }
    }

    fn push(&mut self, record: u32, raw: &Value, role: Role, parts: Vec<Part>) -> usize {
        let wanted = value::string(raw, "id").unwrap_or_else(|| format!("m{record}"));
        let mut message = Message::new(self.ids.unique(&wanted), role, parts);
        message.record = Some(record);
        self.messages.push(message);
        self.messages.len() - 1
    }

    /// A message of the user's. In an agent's loop the solver speaks in the user's name; a summary is
    /// what a compaction left.
    fn user(&mut self, record: u32, raw: &Value) {
        let mut parts = self.content(record, raw);
        let is_input = value::text(raw, "source") == Some("input");
        let answered = self.messages.iter().any(Message::is_answer);
        let summary = raw.pointer("/metadata/summary").and_then(Value::as_bool) == Some(true);
        if summary || (answered && !is_input) {
            for part in &mut parts {
                if let PartKind::Text { synthetic, .. } = &mut part.kind {
                    *synthetic = true;
                }
            }
        }
        let index = self.push(record, raw, Role::User, parts);
        let message = &mut self.messages[index];
        message.mid_turn = answered && !is_input && !summary;
        if summary {
            message.origin = Origin::Entry(EntryKind::Summary);
        }
    }

    fn assistant(&mut self, record: u32, raw: &Value) {
        let mut parts = self.content(record, raw);
        let calls = raw.get("tool_calls").and_then(Value::as_array);
        for (index, call) in calls.into_iter().flatten().enumerate() {
            let name = value::text(call, "function").unwrap_or_default();
            let id = self.calls.call(value::text(call, "id").unwrap_or(name));
            let arguments = call.get("arguments").map(value::shown).unwrap_or_default();
            let pointer = format!("/tool_calls/{index}/arguments");
            parts.push(Part::call(id, name, arguments).at(pointer));
        }
        let recorded = value::text(raw, "id").and_then(|id| self.events.answers.remove(id));
        // An example of a few-shot prompt is no call.
        let answer = match (recorded, value::text(raw, "source")) {
            (Some(answer), _) => Some(answer),
            (None, Some("input")) => None,
            (None, _) => Some(Answer { model: value::string(raw, "model"), ..Answer::default() }),
        };
        let index = self.push(record, raw, Role::Assistant, parts);
        let message = &mut self.messages[index];
        message.at = answer.as_ref().and_then(|answer| answer.ended);
        message.answer = answer;
        self.compactions(value::text(raw, "id"));
    }

    /// The compactions that came after the answer with this id.
    fn compactions(&mut self, after: Option<&str>) {
        let Some(after) = after else {
            return;
        };
        let (now, later) = std::mem::take(&mut self.events.compactions)
            .into_iter()
            .partition(|found| found.after.as_deref() == Some(after));
        self.events.compactions = later;
        for found in now {
            self.session.boundaries.push(Boundary {
                before: self.messages.len(),
                trigger: "auto".to_owned(),
                kind: found.kind,
                tokens_before: found.tokens_before,
                tokens_after: found.tokens_after,
                original_kept: true,
            });
        }
    }

    fn result(&mut self, record: u32, raw: &Value) {
        let parts = self.content(record, raw);
        let (mut media, mut texts) = (Vec::new(), Vec::new());
        for part in &parts {
            match &part.kind {
                PartKind::File(file) => media.push(file.clone()),
                _ => texts.push(part.shown().into_owned()),
            }
        }
        let failed = raw.get("error").filter(|error| error.is_object());
        let mut pointer = match parts.as_slice() {
            [only] => only.pointer.clone(),
            _ => None,
        };
        if texts.iter().all(String::is_empty)
            && let Some(message) = failed.and_then(|error| value::text(error, "message"))
        {
            texts = vec![message.to_owned()];
            pointer = Some("/error/message".to_owned());
        }
        let name = value::string(raw, "function").unwrap_or_default();
        let id = value::text(raw, "tool_call_id").unwrap_or(&name);
        let result = ToolResult {
            call_id: self.calls.result(id),
            tool: name.clone(),
            status: match failed {
                Some(_) => ResultStatus::Error,
                None => ResultStatus::Completed,
            },
            text: texts.join("\n"),
            media,
            ..ToolResult::default()
        };
        let pointer = pointer.unwrap_or_else(|| "/content".to_owned());
        let part = Part::new(PartKind::Result(result)).at(pointer);
        self.push(record, raw, Role::Tool, vec![part]);
    }

    /// A content: a text, or texts, reasoning and files.
    fn content(&mut self, record: u32, raw: &Value) -> Vec<Part> {
        let items = match raw.get("content") {
            None | Some(Value::Null) => return Vec::new(),
            Some(Value::Array(items)) => items,
            Some(Value::String(text)) if text.is_empty() => return Vec::new(),
            Some(Value::String(text)) => {
                return vec![Part::text(self.resolved(text)).at("/content")];
            }
            Some(other) => return vec![Part::text(value::shown(other)).at("/content")],
        };
        let mut parts = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let pointer = format!("/content/{index}");
            let text = |key: &str| self.resolved(value::text(item, key).unwrap_or_default());
            let kind = value::text(item, "type").unwrap_or_default();
            parts.push(match kind {
                "text" => Part::text(text("text")).at(format!("{pointer}/text")),
                "reasoning" => Part::new(PartKind::Reasoning {
                    text: match value::flag(item, "redacted") {
                        true => value::string(item, "summary").unwrap_or_default(),
                        false => text("reasoning"),
                    },
                    opaque: value::string(item, "signature"),
                })
                .at(pointer),
                "image" | "audio" | "video" | "document" => {
                    let mime = value::string(item, "mime_type");
                    Part::new(PartKind::File(Media {
                        mime: mime.unwrap_or_else(|| format!("{kind}/*")),
                        name: value::string(item, "filename"),
                        url: text(kind),
                    }))
                    .at(pointer)
                }
                _ => {
                    self.session.warn(
                        "unknown-type",
                        format!("/messages/{record}{pointer}"),
                        format!("content of type `{kind}`; kept as it is"),
                    );
                    Part::new(PartKind::Unknown { name: kind.to_owned(), raw: item.clone() })
                        .at(pointer)
                }
            });
        }
        parts
    }

    /// A text, or the attachment that it stands for.
    fn resolved(&self, text: &str) -> String {
        text.strip_prefix(ATTACHMENT)
            .and_then(|key| value::text(self.attachments, key))
            .unwrap_or(text)
            .to_owned()
    }

    /// Logs without events have the usage of the last call alone.
    fn last_answer(&mut self, sample: &Value) {
        let Some(output) = sample.get("output") else {
            return;
        };
        let last = self.messages.iter_mut().rev().find(|m| m.is_answer());
        if let Some(answer) = last.and_then(|message| message.answer.as_mut())
            && answer.usage.is_none()
        {
            answer.usage = output.get("usage").and_then(events::usage);
            answer.finish = output
                .pointer("/choices/0/stop_reason")
                .and_then(Value::as_str)
                .map(events::finish);
        }
    }

    fn finish(mut self, model: Option<&str>) -> Session {
        answers::infer_finish(&mut self.messages);
        self.session.model =
            answers::main_model(&self.messages).or_else(|| model.map(str::to_owned));
        let stray = self.events.compactions.len();
        if stray > 0 {
            self.session.warn(
                "stray-compaction",
                "/events",
                format!("{stray} compaction(s) follow no message of this sample; left out"),
            );
        }
        self.session.messages = self.messages.into_iter().map(Arc::new).collect();
        pairing::join(&mut self.session);
        self.session
    }
}
