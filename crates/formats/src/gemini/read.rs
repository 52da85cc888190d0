//! From contents to the canonical form.

use super::{FORMAT, LISTS, SIGNATURE};
use crate::ids::{Calls, Ids};
use crate::session::{Boundary, Shape, Source};
use crate::{ReadError, Session, pairing, raw, value};
use foldback_core::SegmentKind;
use foldback_core::log::{
    Answer, Media, Message, Part, PartKind, ResultStatus, Role, ToolResult, Usage,
};
use serde_json::Value;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// How Gemini CLI begins the summary that it puts in place of a history.
const CLI_SUMMARY: &str = "<state_snapshot>";
/// How Gemini CLI begins the context that it puts in front, and what it answers in the model's name.
const CLI_CONTEXT: &[&str] = &["<session_context>", "This is the Gemini CLI."];
const CLI_ANSWER: &str = "Got it. Thanks for the additional context!";

/// Reads a file: one conversation, or one a line.
pub(super) fn read(text: &str) -> Result<Vec<Session>, ReadError> {
    let whole = match value::document(text) {
        Ok(root) => return conversation(text, &root).map(|session| vec![session]),
        Err(error) => error,
    };
    let mut sessions: Vec<Session> = Vec::new();
    let mut damaged = Vec::new();
    for (line, range) in raw::numbered_lines(text) {
        let line_text = &text[range];
        match value::document(line_text).and_then(|root| conversation(line_text, &root)) {
            Ok(session) => sessions.push(session),
            Err(error) => damaged.push((line, error.to_string())),
        }
    }
    let Some(first) = sessions.first_mut() else {
        return Err(whole);
    };
    for (line, detail) in damaged {
        first.warn("damaged-line", format!("line {line}"), format!("{detail}; left out"));
    }
    Ok(sessions)
}

fn conversation(text: &str, root: &Value) -> Result<Session, ReadError> {
    let list = match root.is_array() {
        true => "",
        false => LISTS
            .iter()
            .copied()
            .find(|list| root.pointer(list).is_some_and(Value::is_array))
            .ok_or_else(|| {
                value::malformed("/contents", "a list of contents is needed here, or at the top")
            })?,
    };
    let records =
        raw::elements(text, list).map_err(|error| value::malformed(list, error.to_string()))?;
    let source = Source { text: text.into(), shape: Shape::Document, records };
    let mut reader = Reader {
        session: Session::new(value::content_id(text), FORMAT.id, source),
        ids: Ids::default(),
        calls: Calls::default(),
        unnamed: HashMap::new(),
        list,
        greeted: false,
    };
    reader.frame(root);
    let contents = root.pointer(list).and_then(Value::as_array);
    for (record, content) in (0u32..).zip(contents.into_iter().flatten()) {
        reader.content(record, content);
    }
    let mut session = reader.session;
    pairing::join(&mut session);
    Ok(session)
}

struct Reader {
    session: Session,
    ids: Ids,
    calls: Calls,
    /// Open calls that came without an id, by the name of the tool.
    unnamed: HashMap<String, VecDeque<String>>,
    list: &'static str,
    /// The client's own context came, and its answer did not yet.
    greeted: bool,
}

impl Reader {
    fn frame(&mut self, root: &Value) {
        self.session.model = value::string(root, "model");
        let system =
            ["systemInstruction", "system_instruction"].iter().find_map(|key| root.get(key));
        if let Some(system) = system {
            let texts = system["parts"].as_array().into_iter().flatten();
            let texts = texts.filter_map(|part| value::text(part, "text"));
            for text in texts.chain(system.as_str()) {
                self.session.frame.push_text(SegmentKind::System, text);
            }
        }
        let tools = root.get("tools").and_then(Value::as_array);
        if let Some(tools) = tools.filter(|tools| !tools.is_empty()) {
            let text = Value::from(tools.clone()).to_string();
            self.session.frame.push_text(SegmentKind::Tools, text);
        }
    }

    fn content(&mut self, record: u32, content: &Value) {
        let Some(parts) = content["parts"].as_array() else {
            self.session.warn(
                "damaged-line",
                format!("{}/{record}", self.list),
                "a content needs a list of parts; left out",
            );
            return;
        };
        match value::text(content, "role") {
            Some("model") => self.model(record, content, parts),
            Some("user" | "function") | None => self.user(record, parts),
            Some(other) => self.session.warn(
                "unknown-role",
                format!("{}/{record}/role", self.list),
                format!("there is no role `{other}` in this format; left out"),
            ),
        }
    }

    fn push(&mut self, record: u32, role: Role, parts: Vec<Part>) -> &mut Message {
        let id = self.ids.unique(&format!("m{record}"));
        let mut message = Message::new(id, role, parts);
        message.record = Some(record);
        let index = self.session.messages.len();
        self.session.messages.push(Arc::new(message));
        Arc::make_mut(&mut self.session.messages[index])
    }

    /// A user content: its results become messages, and so does what stands between them. What stands
    /// beside a result was sent while the loop was running.
    fn user(&mut self, record: u32, parts: &[Value]) {
        let has_results = parts.iter().any(|part| part.get("functionResponse").is_some());
        let mut said: Vec<Part> = Vec::new();
        for (index, raw) in parts.iter().enumerate() {
            let Some(response) = raw.get("functionResponse") else {
                said.extend(self.part(record, index, raw));
                continue;
            };
            self.said(record, &mut said, true);
            let part = self.result(response, &format!("/parts/{index}/functionResponse"));
            self.push(record, Role::Tool, vec![part]);
        }
        self.said(record, &mut said, has_results);
    }

    fn said(&mut self, record: u32, said: &mut Vec<Part>, mid_turn: bool) {
        if said.is_empty() {
            return;
        }
        let mut parts = std::mem::take(said);
        let opening = parts.first().map(|part| part.shown().into_owned());
        let begins = |own: &str| opening.as_ref().is_some_and(|text| text.starts_with(own));
        let summary = begins(CLI_SUMMARY);
        let context = self.session.messages.is_empty() && CLI_CONTEXT.iter().any(|own| begins(own));
        let by_client = summary || context;
        if by_client {
            for part in &mut parts {
                if let PartKind::Text { synthetic, .. } = &mut part.kind {
                    *synthetic = true;
                }
            }
            self.greeted = true;
        }
        if summary {
            // What it stands for is not in the list any more, so it is part of the log.
            self.session.boundaries.push(Boundary {
                before: self.session.messages.len(),
                trigger: "unknown".to_owned(),
                kind: "summary".to_owned(),
                tokens_before: None,
                tokens_after: None,
                original_kept: false,
            });
        }
        self.push(record, Role::User, parts).mid_turn = mid_turn || by_client;
    }

    fn model(&mut self, record: u32, content: &Value, parts: &[Value]) {
        let parts: Vec<Part> = parts
            .iter()
            .enumerate()
            .flat_map(|(index, raw)| self.part(record, index, raw))
            .collect();
        let by_client = std::mem::take(&mut self.greeted)
            && matches!(parts.as_slice(), [part] if part.shown() == CLI_ANSWER);
        let answer = (!by_client).then(|| Answer {
            usage: usage(&content["usageMetadata"]),
            model: value::string(content, "modelVersion"),
            ..Answer::default()
        });
        self.push(record, Role::Assistant, parts).answer = answer;
    }

    /// A part; two where it carries a signature, which is reasoning that only the model can read.
    fn part(&mut self, record: u32, index: usize, raw: &Value) -> Vec<Part> {
        let at = format!("/parts/{index}");
        let signature = value::string(raw, SIGNATURE);
        let text = value::string(raw, "text");
        if value::flag(raw, "thought") {
            let kind = PartKind::Reasoning { text: text.unwrap_or_default(), opaque: signature };
            return vec![Part::new(kind).at(format!("{at}/text"))];
        }
        let mut parts = Vec::new();
        if signature.is_some() {
            let kind = PartKind::Reasoning { text: String::new(), opaque: signature };
            parts.push(Part::new(kind).at(format!("{at}/{SIGNATURE}")));
        }
        parts.push(if let Some(text) = text {
            Part::text(text).at(format!("{at}/text"))
        } else if let Some(call) = raw.get("functionCall") {
            self.call(call).at(format!("{at}/functionCall/args"))
        } else if let Some(media) = media(raw) {
            Part::new(PartKind::File(media)).at(at)
        } else {
            let name = raw.as_object().and_then(|object| object.keys().next());
            let name = name.map_or("", String::as_str);
            let known = ["executableCode", "codeExecutionResult"];
            if !known.contains(&name) {
                self.session.warn(
                    "unknown-type",
                    format!("{}/{record}{at}", self.list),
                    format!("a part of type `{name}`; kept as it is"),
                );
            }
            Part::new(PartKind::Unknown { name: name.to_owned(), raw: raw.clone() }).at(at)
        });
        parts
    }

    fn call(&mut self, call: &Value) -> Part {
        let name = value::text(call, "name").unwrap_or_default();
        let id = match value::text(call, "id") {
            Some(id) => self.calls.call(id),
            None => {
                let id = self.calls.call(name);
                let open = self.unnamed.entry(name.to_owned()).or_default();
                open.push_back(id.clone());
                id
            }
        };
        let arguments = call.get("args").map_or("{}".to_owned(), Value::to_string);
        Part::call(id, name, arguments)
    }

    /// A result goes with the call of its id, else with the oldest open call of its tool.
    fn result(&mut self, response: &Value, at: &str) -> Part {
        let name = value::text(response, "name").unwrap_or_default();
        let unnamed = self.unnamed.get_mut(name).and_then(VecDeque::pop_front);
        let call_id = match (value::text(response, "id"), unnamed) {
            (Some(id), None) => self.calls.result(id),
            (_, Some(id)) => id,
            (None, None) => name.to_owned(),
        };
        let given = &response["response"];
        let (text, place, status) = match (value::text(given, "output"), given.get("error")) {
            (Some(output), _) => (output.to_owned(), "/response/output", ResultStatus::Completed),
            (None, Some(error)) => (value::shown(error), "/response/error", ResultStatus::Error),
            (None, None) => (given.to_string(), "/response", ResultStatus::Completed),
        };
        let files = response["parts"].as_array().into_iter().flatten();
        let result = ToolResult {
            call_id,
            tool: name.to_owned(),
            status,
            text,
            media: files.filter_map(media).collect(),
            ..ToolResult::default()
        };
        Part::new(PartKind::Result(result)).at(format!("{at}{place}"))
    }
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

/// What a recorder noted beside a content: `promptTokenCount` holds the cached tokens.
fn usage(raw: &Value) -> Option<Usage> {
    let cache_read = value::count(raw, "/cachedContentTokenCount");
    let usage = Usage {
        uncached: value::count(raw, "/promptTokenCount").saturating_sub(cache_read)
            + value::count(raw, "/toolUsePromptTokenCount"),
        cache_read,
        cache_write: 0,
        output: value::count(raw, "/candidatesTokenCount"),
        reasoning: value::count(raw, "/thoughtsTokenCount"),
        total: raw["totalTokenCount"].as_u64(),
    };
    (!usage.is_zero()).then_some(usage)
}
