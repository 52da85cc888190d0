//! From contents to the canonical form.

use super::{FORMAT, LISTS, SIGNATURE};
use crate::prelude::*;

/// How Gemini CLI begins the summary that it puts in place of a history.
const CLI_SUMMARY: &str = "<state_snapshot>";
/// How Gemini CLI begins the context that it puts in front, and what it answers in the model's name.
const CLI_CONTEXT: &[&str] = &["<session_context>", "This is the Gemini CLI."];
const CLI_ANSWER: &str = "Got it. Thanks for the additional context!";

/// Reads a file: one conversation, or one a line.
pub(super) fn read(text: &str) -> Result<Vec<Session>, ReadError> {
    document_or_lines(text, conversation, ReadError::to_string)
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
    let source = Source::document(text, list)?;
    let mut reader = Reader {
        out: SessionBuilder::new(value::content_id(text), FORMAT.id, source),
        unnamed: HashMap::new(),
        list,
        greeted: false,
    };
    reader.frame(root);
    for (record, content) in (0u32..).zip(value::list_at(root, list)) {
        reader.content(record, content);
    }
    Ok(reader.out.finish())
}

struct Reader {
    out: SessionBuilder,
    /// Open calls that came without an id, by the name of the tool.
    unnamed: HashMap<String, VecDeque<String>>,
    list: &'static str,
    /// The client's own context came, and its answer did not yet.
    greeted: bool,
}

impl Reader {
    fn frame(&mut self, root: &Value) {
        self.out.session.model = value::string(root, "model");
        let system =
            ["systemInstruction", "system_instruction"].iter().find_map(|key| root.get(key));
        if let Some(system) = system {
            let parts = value::list(system, "parts").iter();
            let texts = parts.filter_map(|part| value::text(part, "text"));
            for text in texts.chain(system.as_str()) {
                self.out.system(text);
            }
        }
        self.out.tools(root.get("tools"));
    }

    fn content(&mut self, record: u32, content: &Value) {
        let Some(parts) = content["parts"].as_array() else {
            self.out.warn(
                "damaged-line",
                format!("{}/{record}", self.list),
                "a content needs a list of parts; left out",
            );
            return;
        };
        match value::text(content, "role") {
            Some("model") => self.model(record, content, parts),
            Some("user" | "function") | None => self.user(record, parts),
            Some(other) => {
                self.out.unknown_role(format!("{}/{record}/role", self.list), Some(other));
            }
        }
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
            let part = self.answered(response, &format!("/parts/{index}/functionResponse"));
            self.out.push_unnamed(record, Role::Tool, vec![part]);
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
        let context = self.out.messages.is_empty() && CLI_CONTEXT.iter().any(|own| begins(own));
        let by_client = summary || context;
        if by_client {
            mark_synthetic(&mut parts);
            self.greeted = true;
        }
        if summary {
            // What it stands for is not in the list any more, so it is part of the log.
            self.out.boundary("summary", "unknown").original_kept = false;
        }
        self.out.push_unnamed(record, Role::User, parts).mid_turn = mid_turn || by_client;
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
            usage: COUNTS.any(&content["usageMetadata"]),
            model: value::string(content, "modelVersion"),
            ..Answer::default()
        });
        self.out.push_unnamed(record, Role::Assistant, parts).answer = answer;
    }

    /// A part; two where it carries a signature, which is reasoning that only the model can read.
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
        } else if let Some(call) = raw.get("functionCall") {
            self.call(call).at(format!("{at}/functionCall/args"))
        } else if let Some(media) = media(raw) {
            file(media).at(at)
        } else {
            let name = raw.as_object().and_then(|object| object.keys().next());
            let name = name.map_or("", String::as_str);
            let known = ["executableCode", "codeExecutionResult"];
            if !known.contains(&name) {
                self.out.warn(
                    "unknown-type",
                    format!("{}/{record}{at}", self.list),
                    format!("a part of type `{name}`; kept as it is"),
                );
            }
            unknown(name, raw).at(at)
        });
        parts
    }

    fn call(&mut self, call: &Value) -> Part {
        let name = value::text(call, "name").unwrap_or_default();
        let id = match value::text(call, "id") {
            Some(id) => self.out.calls.call(id),
            None => {
                let id = self.out.calls.call(name);
                let open = self.unnamed.entry(name.to_owned()).or_default();
                open.push_back(id.clone());
                id
            }
        };
        let arguments = call.get("args").map_or("{}".to_owned(), Value::to_string);
        Part::call(id, name, arguments)
    }

    /// A result goes with the call of its id, else with the oldest open call of its tool.
    fn answered(&mut self, response: &Value, at: &str) -> Part {
        let name = value::text(response, "name").unwrap_or_default();
        let unnamed = self.unnamed.get_mut(name).and_then(VecDeque::pop_front);
        let call_id = match (value::text(response, "id"), unnamed) {
            (Some(id), None) => self.out.calls.result(id),
            (_, Some(id)) => id,
            (None, None) => name.to_owned(),
        };
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

/// A file of a part.
pub(crate) fn media(part: &Value) -> Option<Media> {
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

/// What a recorder noted beside a content: `promptTokenCount` holds the cached tokens, and what tools put into
/// the prompt is counted apart.
const COUNTS: Counts = Counts {
    input: &["/promptTokenCount"],
    cache_read: &["/cachedContentTokenCount"],
    output: &["/candidatesTokenCount"],
    reasoning: &["/thoughtsTokenCount"],
    total: "/totalTokenCount",
    apart: "/toolUsePromptTokenCount",
    reasoning_in_output: false,
    ..Counts::NONE
};
