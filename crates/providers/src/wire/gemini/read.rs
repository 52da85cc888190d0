//! Reads contents into messages.

use super::{COUNTS, SIGNATURE};
use crate::wire::shared::messages::{Messages, ProblemKind};
use crate::wire::shared::parts::{self, file, reasoning, result, unknown};
use crate::wire::shared::value;
use foldback_core::log::{Answer, Media, Message, Part, Role};
use serde_json::Value;
use std::collections::{HashMap, VecDeque};

/// Reads the system prompt and the tools beside a list of contents.
pub(crate) fn frame(out: &mut Messages, root: &Value) {
    let system = ["systemInstruction", "system_instruction"].iter().find_map(|key| root.get(key));
    if let Some(system) = system {
        let parts = value::list(system, "parts").iter();
        let texts = parts.filter_map(|part| value::text(part, "text"));
        for text in texts.chain(system.as_str()) {
            out.system(text);
        }
    }
    out.tools(root.get("tools"));
}

/// Reads contents of the list at a JSON pointer.
pub(crate) fn records(out: Messages, list: &str, records: &[(u32, &Value)]) -> Messages {
    let mut reader = Reader { out, list, ..Reader::default() };
    for (record, content) in records {
        reader.content(*record, content);
    }
    reader.out
}

/// Reads the content of an answer.
pub(super) fn answer(content: &Value) -> Option<Message> {
    let mut reader = Reader::default();
    reader.model(0, content, value::list(content, "parts"));
    reader.out.messages.pop()
}

#[derive(Default)]
struct Reader<'a> {
    out: Messages,
    /// Open calls by the name of the tool, each with its id if it has one.
    open: HashMap<String, VecDeque<Option<String>>>,
    list: &'a str,
}

impl Reader<'_> {
    fn content(&mut self, record: u32, content: &Value) {
        let Some(parts) = content["parts"].as_array() else {
            let place = format!("{}/{record}", self.list);
            let detail = "a content needs a list of parts; left out";
            return self.out.problem(ProblemKind::Damaged, place, detail);
        };
        match value::text(content, "role") {
            Some("model") => self.model(record, content, parts),
            Some("user" | "function") | None => self.user(record, parts),
            Some(other) => {
                self.out.unknown_role(format!("{}/{record}/role", self.list), other);
            }
        }
    }

    fn user(&mut self, record: u32, parts: &[Value]) {
        let mut said: Vec<Part> = Vec::new();
        for (index, raw) in parts.iter().enumerate() {
            match object(raw, "functionResponse") {
                Some(response) => {
                    said.push(self.answered(response, &format!("/parts/{index}/functionResponse")));
                }
                None => said.extend(self.part(record, index, raw)),
            }
        }
        // A content without parts says nothing.
        if !said.is_empty() {
            self.out.push_user(record, said);
        }
    }

    fn model(&mut self, record: u32, content: &Value, parts: &[Value]) {
        let parts = parts.iter().enumerate();
        let parts = parts.flat_map(|(index, raw)| self.part(record, index, raw)).collect();
        let answer = Answer {
            usage: COUNTS.any(&content["usageMetadata"]),
            model: value::string(content, "modelVersion"),
            ..Answer::default()
        };
        self.out.push_unnamed(record, Role::Assistant, parts).answer = Some(answer);
    }

    /// A part, after a part of its own for its signature if it has one: reasoning that only the model can read.
    fn part(&mut self, record: u32, index: usize, raw: &Value) -> Vec<Part> {
        let at = format!("/parts/{index}");
        let signature = value::string(raw, SIGNATURE);
        let text = value::string(raw, "text");
        if value::flag(raw, "thought") {
            return vec![reasoning(text.unwrap_or_default(), signature).at(format!("{at}/text"))];
        }
        let mut parts = Vec::new();
        if signature.is_some() {
            parts.push(reasoning(String::new(), signature).at(format!("{at}/{SIGNATURE}")));
        }
        parts.push(if let Some(text) = text {
            Part::text(text).at(format!("{at}/text"))
        } else if let Some(call) = object(raw, "functionCall") {
            self.call(call).at(format!("{at}/functionCall/args"))
        } else if let Some(media) = media(raw) {
            file(media).at(at)
        } else {
            let name = raw.as_object().and_then(|object| object.keys().next());
            let name = name.map_or("", String::as_str);
            let known = ["executableCode", "codeExecutionResult"];
            if known.contains(&name) {
                unknown(name, raw).at(at)
            } else {
                let place = format!("{}/{record}{at}", self.list);
                self.out.unknown_part(place, "a part of type", name, raw).at(at)
            }
        });
        parts
    }

    fn call(&mut self, call: &Value) -> Part {
        let name = value::text(call, "name").unwrap_or_default();
        let given = value::text(call, "id");
        let id = self.out.calls.call(given.unwrap_or(name));
        self.open.entry(name.to_owned()).or_default().push_back(given.map(str::to_owned));
        let arguments = call.get("args").map_or("{}".to_owned(), Value::to_string);
        Part::call(id, name, arguments)
    }

    /// A result with an id belongs to the call with that id, else to the oldest open call of its tool without an id. A
    /// result without an id belongs to the oldest open call of its tool without an id, else to the oldest open one.
    fn answered(&mut self, response: &Value, at: &str) -> Part {
        let name = value::text(response, "name").unwrap_or_default();
        let id = value::text(response, "id");
        let call = self.open.get_mut(name).and_then(|open| {
            let of = |wanted: Option<&str>| open.iter().position(|id| id.as_deref() == wanted);
            let place = match id {
                Some(_) => of(id).or_else(|| of(None)),
                None => of(None).or(Some(0)),
            };
            open.remove(place?)
        });
        let recorded = match &call {
            Some(call) => call.as_deref().unwrap_or(name),
            None => id.unwrap_or(name),
        };
        let call_id = self.out.calls.result(recorded);
        let given = &response["response"];
        let (text, place, failed) = match (value::text(given, "output"), given.get("error")) {
            (Some(output), _) => (output.to_owned(), "/response/output", false),
            (None, Some(error)) => (value::shown(error), "/response/error", true),
            (None, None) => (given.to_string(), "/response", false),
        };
        let files = value::list(response, "parts").iter().filter_map(media).collect();
        result(call_id, name, failed, text, files).at(format!("{at}{place}"))
    }
}

/// A member of a part that is an object. No edit could be written into anything else.
fn object<'a>(part: &'a Value, name: &str) -> Option<&'a Value> {
    part.get(name).filter(|member| member.is_object())
}

/// A file of a part.
pub fn media(part: &Value) -> Option<Media> {
    let data = part.get("inlineData").or_else(|| part.get("fileData"))?;
    let url = if data["data"].is_string() { "data" } else { "fileUri" };
    Some(parts::media(data, ["mimeType", "displayName", url], "application/octet-stream"))
}
