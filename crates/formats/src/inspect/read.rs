//! From samples to the canonical form.

use super::FORMAT;
use super::events::{self, Events};
use crate::prelude::*;

/// How a text begins that stands in the sample's attachments.
const ATTACHMENT: &str = "attachment://";

/// Reads a log: its samples, or the one sample that it is.
pub(super) fn read(text: &str) -> Result<Vec<Session>, ReadError> {
    let root = value::document(text)?;
    if root.get("messages").is_some_and(Value::is_array) {
        return Ok(vec![sample(text, &root, &Log::default())?]);
    }
    let wanted =
        "a log has its samples here; those of a failed or running evaluation may have none";
    let samples = value::records(&root, "/samples", wanted)?;
    let log = Log::new(&root);
    let ranges = value::elements(text, "/samples")?;
    let mut sessions = Vec::with_capacity(samples.len());
    let mut damaged = Vec::new();
    for (index, (range, found)) in ranges.into_iter().zip(samples).enumerate() {
        match sample(&text[range], found, &log) {
            Ok(session) => sessions.push(session),
            Err(error) => damaged.push((format!("/samples/{index}"), error.to_string())),
        }
    }
    let mut sessions = with_damage(sessions, damaged)?;
    name_apart(&mut sessions);
    Ok(sessions)
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
    let stored = value::records(root, "/messages", "not a list of messages")?;
    let source = value::source(text, "/messages")?;
    let part = |key: &str| root.get(key).map(value::shown).unwrap_or_default();
    let id = value::string(root, "uuid")
        .unwrap_or_else(|| format!("{}-epoch-{}", part("id"), part("epoch")));
    let mut reader = Reader {
        out: SessionBuilder::new(id, FORMAT.id, source),
        events: events::events(root),
        attachments: root.get("attachments").unwrap_or(&Value::Null),
    };
    reader.out.session.cluster = cluster::task(log.task.as_deref(), &part("id"));
    reader.out.tools(tools(root));
    for (record, raw) in (0u32..).zip(stored) {
        reader.message(record, raw);
    }
    reader.last_answer(root);
    Ok(reader.finish(log.model.as_deref(), stored.len()))
}

/// The tools of the latest call.
fn tools(sample: &Value) -> Option<&Value> {
    let events = value::list(sample, "events").iter().rev();
    events
        .filter(|event| value::text(event, "event") == Some("model"))
        .filter_map(|event| event.get("tools"))
        .find(|tools| tools.as_array().is_some_and(|tools| !tools.is_empty()))
}

struct Reader<'a> {
    out: SessionBuilder,
    events: Events,
    attachments: &'a Value,
}

impl Reader<'_> {
    fn message(&mut self, record: u32, raw: &Value) {
        match value::text(raw, "role") {
            Some("system") => {
                let parts = self.content(record, raw);
                if let Some(parts) = self.out.opening_system(parts) {
                    self.push(record, raw, Role::System, parts);
                }
            }
            Some("user") => self.user(record, raw),
            Some("assistant") => self.assistant(record, raw),
            Some("tool") => self.result(record, raw),
            role => self.out.unknown_role(format!("/messages/{record}"), role),
        }
    }

    fn push(&mut self, record: u32, raw: &Value, role: Role, parts: Vec<Part>) -> &mut Message {
        self.out.push_named(record, value::text(raw, "id"), role, parts)
    }

    /// A message of the user's. In an agent's loop the solver speaks in the user's name; a summary is
    /// what a compaction left.
    fn user(&mut self, record: u32, raw: &Value) {
        let mut parts = self.content(record, raw);
        let is_input = value::text(raw, "source") == Some("input");
        let answered = self.out.messages.iter().any(Message::is_answer);
        let summary = raw.pointer("/metadata/summary").and_then(Value::as_bool) == Some(true);
        if summary || (answered && !is_input) {
            mark_synthetic(&mut parts);
        }
        let message = self.push(record, raw, Role::User, parts);
        message.mid_turn = answered && !is_input && !summary;
        if summary {
            message.origin = Origin::Entry(EntryKind::Summary);
        }
    }

    fn assistant(&mut self, record: u32, raw: &Value) {
        let mut parts = self.content(record, raw);
        let calls = value::list(raw, "tool_calls");
        parts.extend(self.out.called(calls, ["id", "function", "arguments"], "/tool_calls"));
        let recorded =
            value::text(raw, "id").and_then(|id| self.events.answers.get_mut(id)?.pop_front());
        // An example of a few-shot prompt is no call.
        let answer = match (recorded, value::text(raw, "source")) {
            (Some(answer), _) => Some(answer),
            (None, Some("input")) => None,
            (None, _) => Some(Answer { model: value::string(raw, "model"), ..Answer::default() }),
        };
        let message = self.push(record, raw, Role::Assistant, parts);
        message.at = answer.as_ref().and_then(|answer| answer.ended);
        message.answer = answer;
        self.compactions(value::text(raw, "id"));
    }

    /// The compactions that came after the answer with this id.
    fn compactions(&mut self, after: Option<&str>) {
        let Some(after) = after else {
            return;
        };
        let before = self.out.messages.len();
        let is_here = |found: &mut (Option<String>, _)| found.0.as_deref() == Some(after);
        let here = self.events.compactions.extract_if(.., is_here);
        let boundaries = here.map(|(_, boundary)| Boundary { before, ..boundary });
        self.out.session.boundaries.extend(boundaries);
    }

    fn result(&mut self, record: u32, raw: &Value) {
        let content = self.content(record, raw);
        let empty = content.iter().all(|part| part.shown().is_empty());
        let (mut text, media, mut pointer) = flattened(content, "/content".to_owned());
        let failed = raw.get("error").filter(|error| error.is_object());
        if empty && let Some(message) = failed.and_then(|error| value::string(error, "message")) {
            (text, pointer) = (message, "/error/message".to_owned());
        }
        let name = value::text(raw, "function").unwrap_or_default();
        let id = value::text(raw, "tool_call_id").unwrap_or(name);
        let part = self.out.result(id, name, failed.is_some(), text, media).at(pointer);
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
                // OpenAI's has an id as its signature, and may have a summary.
                "reasoning" if value::flag(item, "redacted") => {
                    let (data, summary) = (text("reasoning"), value::string(item, "summary"));
                    match summary.is_none() && item["signature"].is_null() {
                        true => redacted(Some(data)),
                        false => reasoning(summary.unwrap_or_default(), Some(data)),
                    }
                    .at(pointer)
                }
                "reasoning" => {
                    reasoning(text("reasoning"), value::string(item, "signature")).at(pointer)
                }
                "image" | "audio" | "video" | "document" => {
                    let url = text(kind);
                    let found = media(item, ["mime_type", "filename", ""], &format!("{kind}/*"));
                    file(Media { url, ..found }).at(pointer)
                }
                _ => {
                    let place = format!("/messages/{record}{pointer}");
                    self.out.unknown_part(place, "content of type", kind, item).at(pointer)
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
        let last = self.out.messages.iter_mut().rev().find(|m| m.is_answer());
        if let Some(answer) = last.and_then(|message| message.answer.as_mut())
            && answer.usage.is_none()
        {
            answer.usage = output.get("usage").and_then(|usage| events::COUNTS.any(usage));
            answer.finish = value::text_at(output, "/choices/0/stop_reason").map(finish);
        }
    }

    fn finish(mut self, model: Option<&str>, stored: usize) -> Session {
        self.out.session.model = model.map(str::to_owned);
        let stray = self.events.compactions.len();
        if stray > 0 {
            let detail =
                format!("{stray} compaction(s) follow no message of this sample; left out");
            self.out.warn("stray-compaction", "/events", detail);
        }
        self.out.finish_counted(stored)
    }
}
