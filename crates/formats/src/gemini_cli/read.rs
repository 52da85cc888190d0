//! The messages of a recording in the canonical form.

use super::lines::{self, Recording, Stored};
use crate::prelude::*;
use foldback_wire::gemini;

/// Types of messages that are for the screen only.
const SILENT: &[&str] = &["info", "warning", "error"];

/// Reads a recording. It holds one session.
pub(super) fn read(text: &str) -> Result<Vec<Session>, ReadError> {
    let Recording { source, id, project, messages, replaced, warnings } = lines::recording(text)?;
    let id = id.unwrap_or_else(|| value::content_id(text));
    let mut reader = Reader {
        out: SessionBuilder::new(id, super::FORMAT.id, source),
        last: None,
        running: false,
    };
    reader.out.session.warnings = warnings;
    reader.out.session.cluster = project.filter(|hash| !hash.is_empty());
    let mut calls = 0;
    for (index, stored) in messages.iter().enumerate() {
        if replaced.contains(&index) {
            reader.compressed();
        }
        calls += value::list(&stored.value, "toolCalls").len();
        reader.message(stored);
    }
    let recorded = Recorded {
        messages: messages.iter().filter(|stored| !stored.rewritten).count(),
        tool_calls: calls,
    };
    reader.out.session.recorded = Some(recorded);
    only(reader.out.finish_run())
}

struct Reader {
    out: SessionBuilder,
    /// The last answer, until another speaker follows.
    last: Option<usize>,
    running: bool,
}

impl Reader {
    fn message(&mut self, stored: &Stored) {
        match value::text(&stored.value, "type").unwrap_or_default() {
            "user" => self.user(stored),
            "gemini" => self.model(stored),
            kind if SILENT.contains(&kind) => {}
            kind => self.out.warn(
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
        let message = self.out.push(stored.record, &wanted, role, parts);
        message.at = value::time(&stored.value, "timestamp");
        message.origin = origin;
        self.out.messages.len() - 1
    }

    fn user(&mut self, stored: &Stored) {
        let mut parts = content(stored);
        if parts.is_empty() {
            return;
        }
        if stored.rewritten {
            mark_synthetic(&mut parts);
        }
        self.last = None;
        let mid_turn = stored.rewritten || std::mem::replace(&mut self.running, true);
        let index = self.push(stored, "", Role::User, parts);
        self.out.messages[index].mid_turn = mid_turn;
    }

    /// A message of the model, with its calls and their results. Calls that were recorded after a
    /// notice to the user stand in a message of their own, without text and tokens: they belong to
    /// the answer before it.
    fn model(&mut self, stored: &Stored) {
        let raw = &stored.value;
        let mut parts: Vec<Part> = thoughts(stored);
        parts.extend(content(stored));
        let calls = value::list(raw, "toolCalls");
        let only_calls = raw["tokens"].is_null()
            && !calls.is_empty()
            && !parts.iter().any(|part| matches!(part.kind, PartKind::Text { .. }));
        let before = self
            .last
            .filter(|&index| only_calls && self.out.messages[index].call_ids().next().is_none());
        let mut results = Vec::new();
        for (index, call) in calls.iter().enumerate() {
            let pointer = format!("{}/toolCalls/{index}", stored.prefix);
            let name = value::text(call, "name").unwrap_or_default();
            let arguments = call.get("args").map_or("{}".to_owned(), Value::to_string);
            let id = self.out.calls.call(value::text(call, "id").unwrap_or(name));
            results.extend(answered(call, &id, &pointer));
            parts.push(Part::call(id, name, arguments).at(format!("{pointer}/args")));
        }
        let index = match before {
            Some(index) => {
                for part in &mut parts {
                    part.source_record = Some(stored.record);
                }
                self.out.messages[index].parts.append(&mut parts);
                index
            }
            None => {
                let index = self.push(stored, "", Role::Assistant, parts);
                if !stored.rewritten {
                    self.out.messages[index].answer = Some(Answer {
                        usage: COUNTS.any(&raw["tokens"]),
                        model: value::string(raw, "model"),
                        ended: self.out.messages[index].at,
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
        self.out.boundary("summary", "unknown");
    }
}

/// Summaries of the reasoning, in the form in which the model gave them.
fn thoughts(stored: &Stored) -> Vec<Part> {
    let thoughts = value::list(&stored.value, "thoughts").iter().enumerate();
    thoughts
        .map(|(index, thought)| {
            let subject = value::text(thought, "subject").unwrap_or_default();
            let text = value::text(thought, "description").unwrap_or_default();
            let text = match subject {
                "" => text.to_owned(),
                subject => format!("**{subject}**\n{text}"),
            };
            reasoning(text, None).at(format!("{}/thoughts/{index}", stored.prefix))
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
    gemini::media(raw).map(|media| file(media).at(at))
}

/// What a call brought back; nothing where it never ran to an end.
fn answered(call: &Value, id: &str, at: &str) -> Option<Part> {
    let raw = call.get("result").filter(|result| !result.is_null())?;
    let response = value::items(raw).iter().enumerate().find_map(|(index, part)| {
        let response = part.get("functionResponse")?.get("response")?;
        let at = format!("/{index}/functionResponse/response");
        let found = ["output", "error"]
            .iter()
            .find_map(|key| Some((value::string(response, key)?, format!("{at}/{key}"))));
        Some(found.unwrap_or_else(|| (response.to_string(), at)))
    });
    let (text, place) = response.unwrap_or_else(|| (value::shown(raw), String::new()));
    let failed = matches!(value::text(call, "status"), Some("error" | "cancelled"));
    let tool = value::text(call, "name").unwrap_or_default();
    let files = value::items(raw).iter().filter_map(gemini::media).collect();
    Some(result(id, tool, failed, text, files).at(format!("{at}/result{place}")))
}

/// `input` holds the cached tokens; what tools put into the prompt is counted apart.
const COUNTS: Counts = Counts {
    input: &["/input"],
    cache_read: &["/cached"],
    output: &["/output"],
    reasoning: &["/thoughts"],
    total: "/total",
    apart: "/tool",
    reasoning_in_output: false,
    ..Counts::NONE
};
