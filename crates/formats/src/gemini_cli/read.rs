//! The messages of a recording in the canonical form.

use super::lines::{self, Recording, Stored};
use crate::prelude::*;
use foldback_providers::wire::gemini;

/// Reads a recording. It holds one session.
pub(super) fn read(text: &str) -> Result<Vec<Session>, ReadError> {
    let Recording { source, id, project, messages, replaced, unlogged, warnings } =
        lines::recording(text)?;
    let id = id.unwrap_or_else(|| value::content_id(text));
    let mut reader =
        Reader { out: SessionBuilder::new(id, super::FORMAT.id, source), ..Reader::default() };
    (reader.out.session.warnings, reader.out.session.unlogged) = (warnings, unlogged);
    reader.out.session.cluster = project.filter(|hash| !hash.is_empty());
    reader.recorded = messages
        .iter()
        .flat_map(|stored| value::list(&stored.value, "toolCalls"))
        .filter_map(|call| value::string(call, "id"))
        .collect();
    for (index, stored) in messages.iter().enumerate() {
        if let Some(kind) = replaced.get(&index) {
            reader.replaced(kind);
        }
        reader.message(stored);
    }
    let recorded = Recorded {
        messages: messages.iter().filter(|stored| !stored.rewritten).count(),
        tool_calls: reader.calls,
    };
    reader.out.session.recorded = Some(recorded);
    only(reader.out.finish_run())
}

#[derive(Default)]
struct Reader {
    out: SessionBuilder,
    /// The last answer, until another speaker follows.
    last: Option<usize>,
    /// Ids of calls that the recorder has in lists of their own, with their results.
    recorded: HashSet<String>,
    /// Open calls that stand in the content alone, by their recorded ids.
    said: HashMap<String, String>,
    /// Calls of the log.
    calls: usize,
}

impl Reader {
    fn message(&mut self, stored: &Stored) {
        match stored.kind() {
            _ if stored.is_silent() => {}
            "user" | "info" => self.user(stored),
            "gemini" => self.model(stored),
            kind => self.out.warn(
                "unknown-type",
                format!("record {}", stored.record),
                format!("a message of the unknown type `{kind}`, skipped"),
            ),
        }
    }

    fn push(&mut self, stored: &Stored, suffix: &str, role: Role, parts: Vec<Part>) -> usize {
        let number = format!("message-{}", stored.record);
        let wanted = format!("{}{suffix}", stored.id().unwrap_or(&number));
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
        let responses = self.responses(stored);
        let has_responses = value::list(&stored.value, "content").iter().any(is_response);
        let read = !responses.is_empty();
        for (number, part) in responses.into_iter().enumerate() {
            self.push(stored, &format!("#{number}"), Role::Tool, vec![part]);
        }
        let mut parts = content(stored);
        if has_responses && !read {
            // The files of a result are with the call.
            parts.retain(|part| !matches!(part.kind, PartKind::File(_)));
        }
        if parts.is_empty() {
            return;
        }
        let by_client = stored.rewritten || stored.is_context() || stored.kind() != "user";
        if by_client {
            mark_synthetic(&mut parts);
        }
        self.last = None;
        let mid_turn = by_client || has_responses || std::mem::replace(&mut self.out.running, true);
        let index = self.push(stored, if read { "#said" } else { "" }, Role::User, parts);
        self.out.messages[index].mid_turn = mid_turn;
    }

    /// Results of calls that are recorded in the content only.
    fn responses(&mut self, stored: &Stored) -> Vec<Part> {
        let contents = value::list(&stored.value, "content").iter().enumerate();
        let mut parts = Vec::new();
        for (index, raw) in contents {
            let Some(response) = raw.get("functionResponse") else { continue };
            let name = value::text(response, "name").unwrap_or_default();
            let Some(id) = self.said.remove(value::text(response, "id").unwrap_or(name)) else {
                continue;
            };
            let (text, at, failed) = shown(&response["response"]);
            let at = format!("{}/content/{index}/functionResponse/response{at}", stored.prefix);
            let files = value::list(response, "parts").iter().filter_map(gemini::media).collect();
            parts.push(result(id, name, failed, text, files).at(at));
        }
        parts
    }

    /// The calls in a content that are in no list of calls.
    fn said_calls(&mut self, stored: &Stored) -> Vec<Part> {
        let own: HashSet<&str> = value::list(&stored.value, "toolCalls")
            .iter()
            .filter_map(|call| value::text(call, "id"))
            .collect();
        let mut parts = Vec::new();
        for (index, raw) in value::list(&stored.value, "content").iter().enumerate() {
            let Some(call) = raw.get("functionCall") else { continue };
            let name = value::text(call, "name").unwrap_or_default();
            let recorded = value::text(call, "id").unwrap_or(name);
            // What was put back may be of this session, with calls that are listed where they were made.
            let listed = stored.is_answer() && self.recorded.contains(recorded);
            if own.contains(recorded) || listed {
                continue;
            }
            let arguments = call.get("args").map_or("{}".to_owned(), Value::to_string);
            let id = self.out.calls.call(recorded);
            self.said.insert(recorded.to_owned(), id.clone());
            let at = format!("{}/content/{index}/functionCall/args", stored.prefix);
            parts.push(Part::call(id, name, arguments).at(at));
        }
        parts
    }

    /// A message of the model, with its calls and their results. Calls that were recorded after a
    /// notice to the user stand in a message of their own, without text and tokens: they belong to
    /// the answer before it.
    fn model(&mut self, stored: &Stored) {
        let raw = &stored.value;
        let mut parts: Vec<Part> = thoughts(stored);
        parts.extend(content(stored));
        let said = self.said_calls(stored);
        let calls = value::list(raw, "toolCalls");
        let only_calls = raw["tokens"].is_null()
            && !calls.is_empty()
            && !parts.iter().any(|part| matches!(part.kind, PartKind::Text { .. }));
        let before = self
            .last
            .filter(|&index| only_calls && self.out.messages[index].call_ids().next().is_none());
        if !stored.rewritten {
            self.calls += calls.len() + said.len();
        }
        let any = !calls.is_empty() || !said.is_empty();
        parts.extend(said);
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
                    self.out.messages[index].answer = stored.answer();
                }
                index
            }
        };
        self.last = Some(index);
        let cancelled = |call: &Value| value::text(call, "status") == Some("cancelled");
        let here = stored.is_answer() && !stored.rewritten;
        self.out.running = here && any && !calls.iter().any(cancelled);
        for (number, part) in results.into_iter().enumerate() {
            self.push(stored, &format!("#{number}"), Role::Tool, vec![part]);
        }
    }

    fn replaced(&mut self, kind: &str) {
        self.out.running = false;
        self.last = None;
        self.out.boundary(kind, "unknown");
    }
}

fn is_response(part: &Value) -> bool {
    part.get("functionResponse").is_some()
}

/// Summaries of the reasoning, in the form in which the model gave them. A content may hold them, too.
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
            .filter(|(_, raw)| {
                value::list(&stored.value, "thoughts").is_empty() || !is_thought(raw)
            })
            .flat_map(|(index, raw)| part(raw, &format!("{at}/{index}")))
            .collect(),
        raw => part(raw, &at),
    }
}

/// A part that is no call and no result, behind its signature; of a call the signature alone.
pub(crate) fn part(raw: &Value, at: &str) -> Vec<Part> {
    if let Some(text) = raw.as_str() {
        return Vec::from_iter((!text.is_empty()).then(|| Part::text(text).at(at)));
    }
    let signature = value::filled(raw, gemini::SIGNATURE).map(str::to_owned);
    if is_thought(raw) {
        return vec![signed_member(raw, "text", signature, at)];
    }
    let mut parts = Vec::new();
    if signature.is_some() {
        parts.push(reasoning("", signature).at(format!("{at}/{}", gemini::SIGNATURE)));
    }
    if let Some(text) = value::text(raw, "text") {
        parts.extend((!text.is_empty()).then(|| Part::text(text).at(format!("{at}/text"))));
    } else {
        parts.extend(gemini::media(raw).map(|media| file(media).at(at)));
    }
    parts
}

/// Reasoning: parts that are marked as thought. The mark of a call belongs to the call.
fn is_thought(raw: &Value) -> bool {
    value::flag(raw, "thought") && raw.get("functionCall").is_none()
}

/// The response of a function as text, where that lies in it, and whether it is an error.
pub(crate) fn shown(response: &Value) -> (String, String, bool) {
    let found = ["output", "error"]
        .iter()
        .find_map(|key| Some((value::string(response, key)?, format!("/{key}"), *key == "error")));
    found.unwrap_or_else(|| (response.to_string(), String::new(), false))
}

/// The results of a call; empty if it never ended. A list of results may hold those of other calls, too.
fn answered(call: &Value, id: &str, at: &str) -> Option<Part> {
    let raw = call.get("result").filter(|result| !result.is_null())?;
    let of = |part: &Value| part.get("functionResponse").and_then(|said| value::string(said, "id"));
    let recorded = value::string(call, "id");
    let mine = value::items(raw).iter().any(|part| of(part).is_some() && of(part) == recorded);
    let is_mine = |part: &&Value| !mine || of(part).is_none() || of(part) == recorded;
    let items = || value::items(raw).iter().enumerate().filter(|(_, part)| is_mine(part));
    let response = items().find_map(|(index, part)| {
        let response = part.get("functionResponse")?.get("response")?;
        let (text, at, _) = shown(response);
        Some((text, format!("/{index}/functionResponse/response{at}")))
    });
    let (text, place) = response.unwrap_or_else(|| (value::shown(raw), String::new()));
    let failed = matches!(value::text(call, "status"), Some("error" | "cancelled"));
    let tool = value::text(call, "name").unwrap_or_default();
    let files = items().filter_map(|(_, part)| gemini::media(part)).collect();
    Some(result(id, tool, failed, text, files).at(format!("{at}/result{place}")))
}
