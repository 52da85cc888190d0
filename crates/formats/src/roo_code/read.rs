//! From the stored messages to the canonical form.

use super::tags;
use crate::prelude::*;
use foldback_providers::wire::anthropic;

/// How texts begin that the harness writes in the user's name.
const HARNESS: &[&str] = &["<environment_details>", "[ERROR]", "[TASK RESUMPTION]", "[NOTE]"];

/// How the result of a tool that failed begins.
const FAILURES: &[&str] = &["The tool execution failed", "The user denied this operation"];

/// Reads a history. It holds one session.
pub(super) fn read(text: &str) -> Result<Vec<Session>, ReadError> {
    let root = value::document(text)?;
    let stored = value::records(&root, "", "a list of messages is needed here")?;
    let parents = |key: &str| -> HashSet<String> {
        stored.iter().filter_map(|m| value::string(m, key)).collect()
    };
    let mut reader = Reader {
        out: SessionBuilder::document(text, "", None, super::FORMAT.id)?,
        condensed: parents("condenseParent"),
        ..Reader::default()
    };
    for (record, message) in (0u32..).zip(stored) {
        reader.message(record, message);
    }
    let said = reader.out.messages.iter().find_map(|message| folder(&message.said()));
    reader.out.session.worked_in(None, said);
    only(reader.out.finish_counted(stored.len()))
}

/// The result that a text block announced.
struct Announced {
    call: String,
    tool: String,
    pointer: String,
    text: Option<String>,
    media: Vec<Media>,
}

#[derive(Default)]
struct Reader {
    out: SessionBuilder,
    /// Calls of the last answer that have no result yet: tool, id, and the recorded id if there is one.
    open: VecDeque<(String, String, Option<String>)>,
    /// Ids of the summaries whose originals are still in the file.
    condensed: HashSet<String>,
    /// Reasoning that was stored as a message of its own, for the answer after it.
    thought: Vec<Part>,
}

impl Reader {
    fn message(&mut self, record: u32, raw: &Value) {
        if value::flag(raw, "isSummary") {
            return self.summary(record, raw);
        }
        if value::flag(raw, "isTruncationMarker") {
            return self.truncation(record, raw);
        }
        if value::text(raw, "type") == Some("reasoning") {
            let text = value::text(raw, "text").unwrap_or_default();
            let part = reasoning(text, value::string(raw, "encrypted_content")).at("");
            self.thought.push(Part { source_record: Some(record), ..part });
            return;
        }
        match value::text(raw, "role") {
            Some("assistant") => self.answer(record, raw),
            Some("user") => self.user(record, raw),
            role => self.out.unknown_role(format!("/{record}/role"), role),
        }
    }

    fn push(&mut self, record: u32, raw: &Value, role: Role, parts: Vec<Part>) -> &mut Message {
        let message = self.out.push_unnamed(record, role, parts);
        message.at = value::millis(raw, "/ts");
        message
    }

    fn answer(&mut self, record: u32, raw: &Value) {
        self.open.clear();
        let mut parts = std::mem::take(&mut self.thought);
        for (pointer, block) in blocks(&raw["content"]) {
            match value::text(&block, "type").unwrap_or_default() {
                "text" => {
                    let text = value::text(&block, "text").unwrap_or_default();
                    let pointer = place(&pointer, &raw["content"]);
                    self.written(record, text, &pointer, &mut parts);
                }
                "tool_use" => {
                    let tool = value::text(&block, "name").unwrap_or_default();
                    let recorded = value::string(&block, "id");
                    let id = self.call(record, tool, recorded);
                    let input = block.get("input").map_or("{}".to_owned(), Value::to_string);
                    parts.push(Part::call(id, tool, input).at(format!("{pointer}/input")));
                }
                _ => parts.push(other(&block, &pointer)),
            }
        }
        if let Some(part) = reasoning_member(raw, "reasoning_content", "") {
            parts.insert(0, part);
        }
        let message = self.push(record, raw, Role::Assistant, parts);
        message.answer = Some(Answer { ended: message.at, ..Answer::default() });
    }

    /// A text of the model with the calls in it.
    fn written(&mut self, record: u32, text: &str, pointer: &str, parts: &mut Vec<Part>) {
        let tags = tags::tags(text);
        let around = if tags.is_empty() { text.to_owned() } else { tags::around(text, &tags) };
        if !around.is_empty() {
            parts.push(Part::text(around).at(pointer));
        }
        for tag in tags {
            let id = self.call(record, tag.tool, None);
            parts.push(Part::call(id, tag.tool, tag.arguments).at(pointer));
        }
    }

    fn call(&mut self, record: u32, tool: &str, recorded: Option<String>) -> String {
        let id = match &recorded {
            Some(id) => self.out.unique(id),
            None => self.out.unique(&format!("call-{record}")),
        };
        self.open.push_back((tool.to_owned(), id.clone(), recorded));
        id
    }

    /// The call that a result belongs to: by its id, else the first of its tool, else the first: some
    /// tools are announced under another name than they are called.
    fn answered(&mut self, tool: &str, recorded: Option<&str>) -> Option<(String, String)> {
        let by_id = recorded.and_then(|id| {
            let mut open = self.open.iter();
            open.position(|(_, _, known)| known.as_deref() == Some(id))
        });
        let by_tool = || self.open.iter().position(|(known, _, _)| known == tool);
        let index = match recorded {
            Some(_) => by_id,
            None => by_tool().or((!self.open.is_empty()).then_some(0)),
        };
        let (tool, id, _) = self.open.remove(index?)?;
        Some((tool, id))
    }

    /// A user message: results that were announced or are blocks of their own, and what was said
    /// beside them.
    fn user(&mut self, record: u32, raw: &Value) {
        let mut said = Vec::new();
        let mut current: Option<Announced> = None;
        let mut results = false;
        for (pointer, block) in blocks(&raw["content"]) {
            let kind = value::text(&block, "type").unwrap_or_default();
            let text = value::text(&block, "text").filter(|_| kind == "text");
            if let Some((tool, rest)) = text.and_then(tags::header) {
                self.announced(record, raw, current.take());
                results = true;
                let (tool, call) = self
                    .answered(tool, None)
                    .unwrap_or_else(|| (tool.to_owned(), format!("result-{record}")));
                current = Some(Announced {
                    call,
                    tool,
                    pointer,
                    text: (!rest.is_empty()).then(|| rest.to_owned()),
                    media: Vec::new(),
                });
                continue;
            }
            match (kind, &mut current) {
                ("text", Some(open))
                    if open.text.is_none() && !is_harness(text.unwrap_or_default()) =>
                {
                    open.text = text.map(str::to_owned);
                    open.pointer = format!("{pointer}/text");
                }
                ("image", Some(open)) => open.media.push(anthropic::media(&block)),
                ("tool_result", _) => {
                    results = true;
                    self.result(record, raw, &block, &pointer);
                }
                ("text", _) => {
                    let text = text.unwrap_or_default();
                    let part = match is_harness(text) {
                        true => Part::synthetic(text),
                        false => Part::text(text),
                    };
                    said.push(part.at(place(&pointer, &raw["content"])));
                }
                _ => said.push(other(&block, &pointer)),
            }
        }
        self.announced(record, raw, current);
        if said.is_empty() {
            return;
        }
        let by_person =
            said.iter().any(|part| !matches!(&part.kind, PartKind::Text { synthetic: true, .. }));
        self.push(record, raw, Role::User, said).mid_turn = results || !by_person;
    }

    fn announced(&mut self, record: u32, raw: &Value, found: Option<Announced>) {
        let Some(found) = found else { return };
        let text = found.text.unwrap_or_default();
        let failed = FAILURES.iter().any(|opening| text.starts_with(opening));
        let part = result(found.call, &found.tool, failed, text, found.media).at(found.pointer);
        self.push(record, raw, Role::Tool, vec![part]);
    }

    fn result(&mut self, record: u32, raw: &Value, block: &Value, pointer: &str) {
        let recorded = value::text(block, "tool_use_id").unwrap_or_default();
        let (tool, call_id) = self
            .answered("", Some(recorded))
            .unwrap_or_else(|| (String::new(), recorded.to_owned()));
        let content = &block["content"];
        let texts = value::items(content).iter().filter_map(|block| value::text(block, "text"));
        let texts: Vec<&str> = texts.chain(content.as_str()).collect();
        let images = value::list(block, "content").iter();
        let images = images.filter(|block| value::text(block, "type") == Some("image"));
        let failed = value::flag(block, "is_error");
        let part = result(
            call_id,
            &tool,
            failed,
            texts.join("\n"),
            images.map(anthropic::media).collect(),
        );
        self.push(record, raw, Role::Tool, vec![part.at(format!("{pointer}/content"))]);
    }

    /// A summary. Newer versions mark what it stands for and keep it; older ones threw it away, and
    /// then the summary is all that the log has of it.
    fn summary(&mut self, record: u32, raw: &Value) {
        let kept = value::text(raw, "condenseId").is_some_and(|id| self.condensed.contains(id));
        self.boundary("summary", kept);
        let role = match value::text(raw, "role") {
            Some("user") => Role::User,
            _ => Role::Assistant,
        };
        let mut parts: Vec<Part> = Vec::new();
        for (pointer, block) in blocks(&raw["content"]) {
            parts.push(match value::text(&block, "type") {
                Some("text") => {
                    let text = value::text(&block, "text").unwrap_or_default();
                    Part::synthetic(text).at(place(&pointer, &raw["content"]))
                }
                _ => other(&block, &pointer),
            });
        }
        let message = self.push(record, raw, role, parts);
        message.mid_turn = role == Role::User;
        if kept {
            message.origin = Origin::Entry(EntryKind::Summary);
        }
    }

    /// The window slid: what was marked is hidden behind this note.
    fn truncation(&mut self, record: u32, raw: &Value) {
        self.boundary("drop", true);
        let parts = blocks(&raw["content"])
            .into_iter()
            .filter_map(|(pointer, block)| {
                let text = value::text(&block, "text")?;
                Some(Part::synthetic(text).at(place(&pointer, &raw["content"])))
            })
            .collect();
        let message = self.push(record, raw, Role::User, parts);
        message.mid_turn = true;
        message.origin = Origin::Entry(EntryKind::Boundary);
    }

    fn boundary(&mut self, kind: &str, original_kept: bool) {
        self.out.boundary(kind, "unknown").original_kept = original_kept;
    }
}

/// The folder that the environment details name; Cline and older versions call it the working directory.
fn folder(said: &str) -> Option<String> {
    ["# Current Workspace Directory (", "# Current Working Directory ("].iter().find_map(
        |heading| {
            let (_, rest) = said.split_once(heading)?;
            cluster::folder(rest.split_once(") Files")?.0)
        },
    )
}

/// The blocks of a content with their pointers; a plain text is one block.
fn blocks(content: &Value) -> Vec<(String, Value)> {
    match content {
        Value::Array(blocks) => blocks
            .iter()
            .enumerate()
            .map(|(index, block)| (format!("/content/{index}"), block.clone()))
            .collect(),
        Value::String(text) => {
            vec![("/content".to_owned(), serde_json::json!({ "type": "text", "text": text }))]
        }
        _ => Vec::new(),
    }
}

/// The pointer to the text of a text block.
fn place(pointer: &str, content: &Value) -> String {
    if content.is_string() { pointer.to_owned() } else { format!("{pointer}/text") }
}

fn is_harness(text: &str) -> bool {
    HARNESS.iter().any(|opening| text.starts_with(opening))
}

fn other(block: &Value, pointer: &str) -> Part {
    match value::text(block, "type").unwrap_or_default() {
        "reasoning" => signed_member(block, "text", None, pointer),
        kind => anthropic::part(block, pointer)
            .filter(|part| part.as_call().is_none())
            .unwrap_or_else(|| unknown(kind, block).at(pointer)),
    }
}
