//! The messages of a recording in the canonical form.

use super::lines::{self, Recording, Stored};
use crate::ids::{Calls, Ids};
use crate::session::{Boundary, Recorded};
use crate::{ReadError, Session, answers, pairing, time, value};
use foldback_core::log::{
    Answer, EntryKind, Media, Message, Origin, Part, PartKind, ResultStatus, Role, ToolResult,
    Usage,
};
use serde_json::Value;
use std::sync::Arc;

/// Types of messages that are for the screen only.
const SILENT: &[&str] = &["info", "warning", "error"];

/// Reads a recording. It holds one session.
pub(super) fn read(text: &str) -> Result<Vec<Session>, ReadError> {
    let Recording { source, id, project, messages, replaced, warnings } = lines::recording(text)?;
    let id = id.unwrap_or_else(|| value::content_id(text));
    let mut import = Import {
        session: Session::new(id, super::ID, source),
        messages: Vec::new(),
        ids: Ids::default(),
        calls: Calls::default(),
        last: None,
        running: false,
    };
    import.session.warnings = warnings;
    import.session.cluster = project.filter(|hash| !hash.is_empty());
    let mut calls = 0;
    for (index, stored) in messages.iter().enumerate() {
        if replaced.contains(&index) {
            import.compressed();
        }
        calls += stored.value["toolCalls"].as_array().map_or(0, Vec::len);
        import.message(stored);
    }
    let recorded = Recorded {
        messages: messages.iter().filter(|stored| !stored.rewritten).count(),
        tool_calls: calls,
    };
    let session = import.finish(recorded);
    match session.messages.is_empty() {
        true => Err(ReadError::NoMessages),
        false => Ok(vec![session]),
    }
}

struct Import {
    session: Session,
    messages: Vec<Message>,
    ids: Ids,
    calls: Calls,
    /// The last answer, until somebody else speaks.
    last: Option<usize>,
    running: bool,
}

impl Import {
    fn message(&mut self, stored: &Stored) {
        match value::text(&stored.value, "type").unwrap_or_default() {
            "user" => self.user(stored),
            "gemini" => self.model(stored),
            kind if SILENT.contains(&kind) => {}
            kind => self.session.warn(
                "unknown-type",
                format!("record {}", stored.record),
                format!("a message of the unknown type `{kind}`, skipped"),
            ),
        }
    }

    fn push(&mut self, stored: &Stored, suffix: &str, role: Role, parts: Vec<Part>) -> usize {
        let wanted = match stored.id() {
            Some(id) => format!("{id}{suffix}"),
            None => format!("message-{}{suffix}", stored.record),
        };
        let origin = match (stored.rewritten, role) {
            (false, _) => Origin::Log,
            (true, Role::User) => Origin::Entry(EntryKind::Summary),
            (true, _) => Origin::Entry(EntryKind::Continue),
        };
        self.messages.push(Message {
            at: value::text(&stored.value, "timestamp").and_then(time::parse_rfc3339),
            record: Some(stored.record),
            origin,
            ..Message::new(self.ids.unique(&wanted), role, parts)
        });
        self.messages.len() - 1
    }

    fn user(&mut self, stored: &Stored) {
        let mut parts = content(stored);
        if parts.is_empty() {
            return;
        }
        if stored.rewritten {
            for part in &mut parts {
                if let PartKind::Text { synthetic, .. } = &mut part.kind {
                    *synthetic = true;
                }
            }
        }
        self.last = None;
        let mid_turn = stored.rewritten || std::mem::replace(&mut self.running, true);
        let index = self.push(stored, "", Role::User, parts);
        self.messages[index].mid_turn = mid_turn;
    }

    /// A message of the model, with its calls and their results. Calls that were recorded after a
    /// notice to the user stand in a message of their own, without text and tokens: they belong to
    /// the answer before it.
    fn model(&mut self, stored: &Stored) {
        let raw = &stored.value;
        let mut parts: Vec<Part> = thoughts(stored);
        parts.extend(content(stored));
        let calls = raw["toolCalls"].as_array().map_or(&[][..], Vec::as_slice);
        let only_calls = raw["tokens"].is_null()
            && !calls.is_empty()
            && !parts.iter().any(|part| matches!(part.kind, PartKind::Text { .. }));
        let before = self
            .last
            .filter(|&index| only_calls && self.messages[index].call_ids().next().is_none());
        let mut results = Vec::new();
        for (index, call) in calls.iter().enumerate() {
            let pointer = format!("{}/toolCalls/{index}", stored.prefix);
            let name = value::text(call, "name").unwrap_or_default();
            let id = self.calls.call(value::text(call, "id").unwrap_or(name));
            let arguments = call.get("args").map_or("{}".to_owned(), Value::to_string);
            parts.push(Part::call(id.clone(), name, arguments).at(format!("{pointer}/args")));
            results.extend(result(call, &id, &pointer));
        }
        let index = match before {
            Some(index) => {
                for part in &mut parts {
                    part.source_record = Some(stored.record);
                }
                self.messages[index].parts.append(&mut parts);
                index
            }
            None => {
                let index = self.push(stored, "", Role::Assistant, parts);
                if !stored.rewritten {
                    self.messages[index].answer = Some(Answer {
                        usage: usage(&raw["tokens"]),
                        model: value::string(raw, "model"),
                        ended: self.messages[index].at,
                        ..Answer::default()
                    });
                }
                index
            }
        };
        self.last = Some(index);
        let cancelled = |call: &Value| value::text(call, "status") == Some("cancelled");
        self.running = !calls.is_empty() && !calls.iter().any(cancelled);
        for (number, part) in results.into_iter().enumerate() {
            self.push(stored, &format!("#{number}"), Role::Tool, vec![part]);
        }
    }

    fn compressed(&mut self) {
        self.running = false;
        self.last = None;
        self.session.boundaries.push(Boundary {
            before: self.messages.len(),
            trigger: "unknown".to_owned(),
            kind: "summary".to_owned(),
            tokens_before: None,
            tokens_after: None,
            original_kept: true,
        });
    }

    fn finish(mut self, recorded: Recorded) -> Session {
        answers::infer_finish(&mut self.messages);
        let mut session = self.session;
        session.recorded = Some(recorded);
        session.model = answers::main_model(&self.messages);
        session.messages = self.messages.into_iter().map(Arc::new).collect();
        pairing::join(&mut session);
        session
    }
}

/// Summaries of the reasoning, in the form in which the model gave them.
fn thoughts(stored: &Stored) -> Vec<Part> {
    let thoughts = stored.value["thoughts"].as_array().into_iter().flatten();
    thoughts
        .enumerate()
        .map(|(index, thought)| {
            let subject = value::text(thought, "subject").unwrap_or_default();
            let text = value::text(thought, "description").unwrap_or_default();
            let text = match subject {
                "" => text.to_owned(),
                subject => format!("**{subject}**\n{text}"),
            };
            Part::new(PartKind::Reasoning { text, opaque: None })
                .at(format!("{}/thoughts/{index}", stored.prefix))
        })
        .collect()
}

/// The content: a text, a part, or a list of parts.
fn content(stored: &Stored) -> Vec<Part> {
    let at = format!("{}/content", stored.prefix);
    let raw = &stored.value["content"];
    match raw {
        Value::Array(parts) => parts
            .iter()
            .enumerate()
            .filter_map(|(index, raw)| part(raw, &format!("{at}/{index}")))
            .collect(),
        raw => part(raw, &at).into_iter().collect(),
    }
}

fn part(raw: &Value, at: &str) -> Option<Part> {
    if let Some(text) = raw.as_str() {
        return (!text.is_empty()).then(|| Part::text(text).at(at));
    }
    if let Some(text) = value::text(raw, "text") {
        return (!text.is_empty()).then(|| Part::text(text).at(format!("{at}/text")));
    }
    media(raw).map(|media| Part::new(PartKind::File(media)).at(at))
}

fn media(part: &Value) -> Option<Media> {
    let data = part.get("inlineData").or_else(|| part.get("fileData"))?;
    Some(Media {
        mime: value::string(data, "mimeType")
            .unwrap_or_else(|| "application/octet-stream".to_owned()),
        name: value::string(data, "displayName"),
        url: value::string(data, "data")
            .or_else(|| value::string(data, "fileUri"))
            .unwrap_or_default(),
    })
}

/// What a call brought back; nothing where it never ran to an end.
fn result(call: &Value, id: &str, at: &str) -> Option<Part> {
    let raw = call.get("result").filter(|result| !result.is_null())?;
    let (text, place) = match raw {
        Value::Array(parts) => {
            let found = parts.iter().enumerate().find_map(|(index, part)| {
                let response = part.get("functionResponse")?.get("response")?;
                let at = format!("/{index}/functionResponse/response");
                Some(match value::text(response, "output") {
                    Some(output) => (output.to_owned(), format!("{at}/output")),
                    None => match value::text(response, "error") {
                        Some(error) => (error.to_owned(), format!("{at}/error")),
                        None => (response.to_string(), at),
                    },
                })
            });
            found.unwrap_or_else(|| (raw.to_string(), String::new()))
        }
        raw => (value::shown(raw), String::new()),
    };
    let failed = matches!(value::text(call, "status"), Some("error" | "cancelled"));
    let files = raw.as_array().into_iter().flatten().filter_map(media);
    let kind = PartKind::Result(ToolResult {
        call_id: id.to_owned(),
        tool: value::string(call, "name").unwrap_or_default(),
        status: match failed {
            true => ResultStatus::Error,
            false => ResultStatus::Completed,
        },
        text,
        media: files.collect(),
        ..ToolResult::default()
    });
    Some(Part::new(kind).at(format!("{at}/result{place}")))
}

/// `input` holds the cached tokens; what tools put into the prompt is counted apart.
fn usage(raw: &Value) -> Option<Usage> {
    let cache_read = value::count(raw, "/cached");
    let usage = Usage {
        uncached: value::count(raw, "/input").saturating_sub(cache_read)
            + value::count(raw, "/tool"),
        cache_read,
        cache_write: 0,
        output: value::count(raw, "/output"),
        reasoning: value::count(raw, "/thoughts"),
        total: raw["total"].as_u64(),
    };
    (!usage.is_zero()).then_some(usage)
}
