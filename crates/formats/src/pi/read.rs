//! The entries of a conversation as messages.

use super::line::{self, Entry};
use crate::prelude::*;

/// Entries that the model never sees.
const SILENT: &[&str] = &[
    "context_edit",
    "credential_pin",
    "custom",
    "label",
    "mode_change",
    "model_change",
    "service_tier_change",
    "session",
    "session_info",
    "thinking_level_change",
    "title",
    "title_change",
    "ttsr_injection",
];

/// Reads a file. It holds one session: the path to its newest leaf.
pub(super) fn read(text: &str) -> Result<Vec<Session>, ReadError> {
    let line::Entries { source, entries, warnings, .. } = line::parse(text);
    let header = entries.iter().find(|entry| entry.is_header());
    let id = header.and_then(Entry::id).unwrap_or(super::FORMAT.id).to_owned();
    let mut session = Session::new(id, super::FORMAT.id, source);
    let folder = header.and_then(|header| cluster::folder(value::text(&header.value, "cwd")?));
    session.worked_in(None, folder);
    session.warnings = warnings;
    let mut reader = Reader { out: session.into(), ..Reader::default() };
    let path = line::path(&entries);
    for edit in path.on.iter().map(|index| &entries[*index]) {
        if edit.kind() == "context_edit"
            && let Some(target) = value::string(&edit.value, "targetId")
        {
            reader.edits.insert(target, (edit.record, edit.value["replacement"].clone()));
        }
    }
    for record in path.dangling {
        let detail = "its parent is not in the file; taken to follow the entry before it";
        reader.out.warn_at("dangling-parent", record, detail);
    }
    if let Some(first) = path.abandoned.first() {
        let count = path.abandoned.len();
        let detail = format!("{count} message(s) of branches that the user left, skipped");
        reader.out.warn_at("abandoned-branch", entries[*first].record, detail);
    }
    let left = path.abandoned.iter().filter_map(|index| answer(&entries[*index]));
    reader.out.session.unlogged.extend(left);
    for index in path.on {
        reader.entry(&entries[index]);
    }
    reader.begin();
    reader.out.session.recorded =
        Some(Recorded { messages: count(&entries), tool_calls: calls(&entries) });
    reader.warn();
    only(reader.out.finish_run())
}

/// Entries that hold a message, on all branches.
fn count(entries: &[Entry]) -> usize {
    entries.iter().filter(|e| e.kind() == "message").count()
}

fn calls(entries: &[Entry]) -> usize {
    entries
        .iter()
        .filter_map(|entry| entry.value.pointer("/message/content")?.as_array())
        .flatten()
        .filter(|block| value::text(block, "type") == Some("toolCall"))
        .count()
}

/// What an entry says of the call that it answers.
fn answer(entry: &Entry) -> Option<Answer> {
    let message = &entry.value["message"];
    let stop = value::text(message, "stopReason");
    let failed = matches!(stop, Some("aborted" | "error"));
    let error = value::string(message, "errorMessage");
    (value::text(message, "role") == Some("assistant")).then(|| Answer {
        usage: COUNTS.any(&message["usage"]),
        finish: stop.map(finish),
        model: value::string(message, "model"),
        provider: value::string(message, "provider"),
        started: value::millis(message, "/timestamp"),
        ended: value::time(&entry.value, "timestamp"),
        error: error.or_else(|| stop.filter(|_| failed).map(str::to_owned)),
        ..Answer::default()
    })
}

#[derive(Default)]
struct Reader {
    out: SessionBuilder,
    /// Index of the first message of each entry, by its id and by its number.
    by_entry: HashMap<String, usize>,
    by_index: HashMap<u64, usize>,
    /// The loop was asked and has not ended.
    running: bool,
    /// The last edit of each entry on the path, by the entry's id: its record, and what stands in place of the content.
    edits: HashMap<String, (u32, Value)>,
    /// The first edit that was made, and how many were.
    edited: Option<(u32, usize)>,
    /// Requests that are not of the conversation, and their tokens.
    apart: (usize, u64),
    /// The system prompt of a conversation that has not begun.
    prompt: Prompt,
    /// The first record that changed the tools of a conversation under way, and how many did.
    retooled: Option<(u32, usize)>,
}

/// A system prompt, put together from its records: what they say, and the last state of each section and each tool, by name.
#[derive(Default)]
struct Prompt {
    said: Vec<String>,
    sections: LastStates<String>,
    tools: LastStates<Value>,
}

/// The last state of what has a name, in the order in which the names came up.
struct LastStates<T> {
    states: Vec<Option<T>>,
    places: HashMap<String, usize>,
}

impl<T> Default for LastStates<T> {
    fn default() -> Self {
        Self { states: Vec::new(), places: HashMap::new() }
    }
}

impl<T> LastStates<T> {
    /// Sets a state in its place, or takes it out.
    fn set(&mut self, name: &str, to: Option<T>) {
        match (self.places.get(name), to) {
            (Some(at), Some(to)) => self.states[*at] = Some(to),
            (Some(at), None) => {
                self.states[*at] = None;
                self.places.remove(name);
            }
            (None, Some(to)) => {
                self.places.insert(name.to_owned(), self.states.len());
                self.states.push(Some(to));
            }
            (None, None) => {}
        }
    }

    fn into_states(self) -> impl Iterator<Item = T> {
        self.states.into_iter().flatten()
    }
}

impl Prompt {
    fn add(&mut self, message: &Value, parts: &[Part]) {
        self.said.extend(parts.iter().map(|part| part.shown().into_owned()));
        for (name, section) in message["sections"].as_object().into_iter().flatten() {
            self.sections.set(name, section.as_str().map(str::to_owned));
        }
        for (list, is_there) in [("toolsRemoved", false), ("toolsAdded", true)] {
            for tool in value::list(message, list) {
                let name = value::text(tool, "name").unwrap_or_default();
                self.tools.set(name, is_there.then(|| tool.clone()));
            }
        }
    }
}

/// A section that was changed, in pi's words for the model.
fn section((name, section): (&String, &Value)) -> String {
    match section.as_str() {
        Some(text) => format!("Updated system prompt section \"{name}\":\n\n{text}"),
        None => format!("Removed system prompt section \"{name}\"."),
    }
}

impl Reader {
    fn entry(&mut self, entry: &Entry) {
        let next = self.out.messages.len();
        if let Some(id) = entry.id() {
            self.by_entry.insert(id.to_owned(), next);
        }
        if let Some(index) = entry.index {
            self.by_index.insert(index as u64, next);
        }
        let edit = entry.id().and_then(|id| self.edits.remove(id));
        if let Some((record, replacement)) = &edit {
            self.edited.get_or_insert((*record, 0)).1 += 1;
            if replacement.is_null() {
                // Removed answers were paid for.
                self.spent(&entry.value["message"]);
                return;
            }
        }
        match entry.kind() {
            "message" => self.message(entry, edit.as_ref()),
            "compaction" => {
                self.spent(&entry.value);
                self.compaction(entry);
            }
            "branch_summary" => {
                self.spent(&entry.value);
                if let Some(text) = value::filled(&entry.value, "summary") {
                    let parts = vec![Part::synthetic(text).at("/summary")];
                    self.push(entry, Role::User, parts).mid_turn = true;
                }
            }
            "custom_message" => {
                let of = Content::new(&entry.value["content"], "/content", edit.as_ref());
                self.push(entry, Role::User, synthetic(of.parts())).mid_turn = true;
            }
            "usage" | "model_usage" => self.spent(&entry.value),
            // Of oh-my-pi: what it asks a subagent with, and the user's `/clear`.
            "session_init" => {
                self.prompt.said.extend(value::string(&entry.value, "systemPrompt"));
            }
            "reset_boundary" => {
                self.running = false;
                self.out.boundary("drop", "manual");
            }
            kind if SILENT.contains(&kind) => {}
            kind => self.out.note_unknown(kind, entry.record),
        }
    }

    /// Counts the usage of a request outside the conversation, if it was recorded with `of`.
    fn spent(&mut self, of: &Value) {
        if let Some(usage) = COUNTS.any(&of["usage"]) {
            self.apart = (self.apart.0 + 1, self.apart.1 + usage.total_tokens());
            // The usage of a subagent is in its own session.
            if value::text(of, "role") != Some("toolResult") {
                let model = value::string(of, "model");
                let answer = Answer { usage: Some(usage), model, ..Answer::default() };
                self.out.session.unlogged.push(answer);
            }
        }
    }

    fn push(&mut self, entry: &Entry, role: Role, parts: Vec<Part>) -> &mut Message {
        let id = value::string(&entry.value, "id");
        let wanted = id.unwrap_or_else(|| format!("entry-{}", entry.record));
        self.begin();
        let message = self.out.push(entry.record, &wanted, role, parts);
        message.parent = value::string(&entry.value, "parentId");
        message.at = value::time(&entry.value, "timestamp");
        message
    }

    fn warn(&mut self) {
        if let Some((first, count)) = self.edited {
            let detail = format!(
                "{count} entries were edited after they had been sent; read as they were left, without what was taken out"
            );
            self.out.warn_at("context-edit", first, detail);
        }
        if let (count @ 1.., tokens) = self.apart {
            let detail = format!(
                "{count} request(s) with {tokens} tokens beside the conversation; in no usage of an answer"
            );
            self.out.warn("stray-usage", "usage", detail);
        }
        if let Some((first, count)) = self.retooled {
            let detail = format!(
                "{count} time(s) the tools changed on the way; the definitions are those of the beginning"
            );
            self.out.warn_at("tools-changed", first, detail);
        }
        self.out.warn_unknown("", Source::place);
    }

    fn message(&mut self, entry: &Entry, edit: Option<&(u32, Value)>) {
        let message = &entry.value["message"];
        let of = Content::new(&message["content"], "/message/content", edit);
        let role = value::text(message, "role").unwrap_or_default();
        match role {
            "user" => {
                let parts = of.parts();
                let mid_turn = std::mem::replace(&mut self.running, true);
                self.push(entry, Role::User, parts).mid_turn = mid_turn;
            }
            "assistant" => self.answer(entry, message, &of),
            "toolResult" => self.result(entry, message, &of),
            "system" => self.system(entry, message),
            "bashExecution" => {
                let part = Part::new(PartKind::Text {
                    text: executed(message),
                    synthetic: true,
                    ignored: value::flag(message, "excludeFromContext"),
                });
                let parts = vec![part.at("/message")];
                self.push(entry, Role::User, parts).mid_turn = true;
            }
            // The second is the older name.
            "custom" | "hookMessage" => {
                self.push(entry, Role::User, synthetic(of.parts())).mid_turn = true;
            }
            role => self.out.note_unknown(&format!("message/{role}"), entry.record),
        }
    }

    /// The system prompt with the tools, recorded when they change. What comes before the conversation is sent around it; what comes later
    /// says what is new.
    fn system(&mut self, entry: &Entry, message: &Value) {
        let mut parts = content(&message["content"], "/message/content");
        parts.retain(|part| !part.shown().is_empty());
        if self.out.messages.is_empty() {
            self.prompt.add(message, &parts);
            return;
        }
        if !message["toolsAdded"].is_null() || !message["toolsRemoved"].is_null() {
            self.retooled.get_or_insert((entry.record, 0)).1 += 1;
        }
        let sections = message["sections"].as_object().into_iter().flatten();
        let sections: Vec<String> = sections.map(section).collect();
        if !sections.is_empty() {
            let said = parts.iter().map(|part| part.shown().into_owned());
            let text: Vec<String> = said.chain(sections).collect();
            // The joined text is in the file at no single path, so the part names the whole message.
            parts = vec![Part::text(text.join("\n\n")).at("/message")];
        }
        if !parts.is_empty() {
            self.push(entry, Role::System, parts);
        }
    }

    /// The prompt is complete where the conversation begins.
    fn begin(&mut self) {
        let Prompt { said, sections, tools } = std::mem::take(&mut self.prompt);
        let texts = said.into_iter().chain(sections.into_states());
        for text in texts.filter(|text| !text.is_empty()) {
            self.out.opening(text);
        }
        self.out.tools(Some(&tools.into_states().collect()));
    }

    fn answer(&mut self, entry: &Entry, message: &Value, of: &Content<'_>) {
        let mut parts = of.parts();
        self.out.join(&mut parts);
        let stop = value::text(message, "stopReason");
        self.running = stop == Some("toolUse");
        self.push(entry, Role::Assistant, parts).answer = answer(entry);
    }

    fn result(&mut self, entry: &Entry, message: &Value, of: &Content<'_>) {
        self.spent(message);
        let (text, media, pointer) = flat(of.raw, of.pointer);
        let id = value::text(message, "toolCallId").unwrap_or_default();
        let name = value::text(message, "toolName").unwrap_or_default();
        let failed = value::flag(message, "isError");
        let mut part = self.out.result(id, name, failed, text, media).at(pointer);
        part.source_record = of.record;
        self.push(entry, Role::Tool, vec![part]);
    }

    /// A compaction. What it replaced stands before it in the file; where a file begins with one, the
    /// summary is the head of the log.
    fn compaction(&mut self, entry: &Entry) {
        let kept = self.out.holds_log();
        let boundary = self.out.boundary("summary", "unknown");
        boundary.tokens_before = entry.value["tokensBefore"].as_u64();
        boundary.original_kept = kept;
        // The loop does not go on by itself: what comes next is asked anew.
        self.running = false;
        let Some(text) = value::filled(&entry.value, "summary") else {
            return;
        };
        let mut parts = vec![Part::synthetic(text).at("/summary")];
        let tail = self.tail(entry);
        if let (true, Some((tail_start, pointer))) = (kept, tail) {
            let marker = Marker { tail_start: Some(tail_start), ..Marker::default() };
            parts.push(Part::new(PartKind::Marker(marker)).at(pointer));
        }
        let message = self.push(entry, Role::User, parts);
        message.mid_turn = kept;
        if kept {
            message.origin = Origin::Entry(EntryKind::Summary);
        }
    }

    /// Id of the first message that the compaction kept, and where the file says so.
    fn tail(&self, entry: &Entry) -> Option<(String, &'static str)> {
        let (index, pointer) = match value::text(&entry.value, "firstKeptEntryId") {
            Some(id) => (self.by_entry.get(id)?, "/firstKeptEntryId"),
            None => {
                let number = entry.value["firstKeptEntryIndex"].as_u64()?;
                (self.by_index.get(&number)?, "/firstKeptEntryIndex")
            }
        };
        Some((self.out.messages.get(*index)?.id.clone(), pointer))
    }
}

/// The content of an entry: its own, or what an edit put in its place.
struct Content<'a> {
    raw: &'a Value,
    pointer: &'a str,
    /// The record, if it differs from the entry's.
    record: Option<u32>,
}

impl<'a> Content<'a> {
    fn new(own: &'a Value, pointer: &'a str, edit: Option<&'a (u32, Value)>) -> Self {
        match edit {
            None => Self { raw: own, pointer, record: None },
            Some((record, replacement)) => Self {
                raw: &replacement["content"],
                pointer: "/replacement/content",
                record: Some(*record),
            },
        }
    }

    fn parts(&self) -> Vec<Part> {
        let mut parts = content(self.raw, self.pointer);
        parts.iter_mut().for_each(|part| part.source_record = self.record);
        parts
    }
}

/// The parts of a content: one text, or blocks.
fn content(raw: &Value, pointer: &str) -> Vec<Part> {
    let blocks = match raw {
        Value::Array(blocks) => blocks,
        Value::String(text) => return vec![Part::text(text).at(pointer)],
        _ => return Vec::new(),
    };
    blocks
        .iter()
        .enumerate()
        .flat_map(|(index, raw)| {
            let at = format!("{pointer}/{index}");
            signature(raw, &at).into_iter().chain([block(raw, &at)])
        })
        .collect()
}

/// Gemini's signature of a call.
fn signature(raw: &Value, pointer: &str) -> Option<Part> {
    const NAME: &str = "thoughtSignature";
    let signature = value::filled(raw, NAME)?;
    Some(reasoning("", Some(signature.to_owned())).at(format!("{pointer}/{NAME}")))
}

fn block(raw: &Value, pointer: &str) -> Part {
    let kind = value::text(raw, "type").unwrap_or_default();
    match kind {
        "text" => text_member(raw, "text", pointer),
        "thinking" => {
            let signature = value::filled(raw, "thinkingSignature").map(str::to_owned);
            if value::flag(raw, "redacted") {
                // The text is for the screen.
                return redacted(signature).at(format!("{pointer}/thinkingSignature"));
            }
            signed_member(raw, "thinking", signature, pointer)
        }
        "toolCall" => Part::call(
            value::text(raw, "id").unwrap_or_default(),
            value::text(raw, "name").unwrap_or_default(),
            value::shown(&raw["arguments"]),
        )
        .at(format!("{pointer}/arguments")),
        "image" => file(image(raw)).at(pointer),
        kind => unknown(kind, raw).at(pointer),
    }
}

fn image(raw: &Value) -> Media {
    media(raw, ["mimeType", "", "data"], "image/*")
}

/// A content as one text with its images, and the place of the text: of the only one, or the whole.
fn flat(raw: &Value, pointer: &str) -> (String, Vec<Media>, String) {
    let Value::Array(blocks) = raw else {
        let text = raw.as_str().unwrap_or_default();
        return (text.to_owned(), Vec::new(), pointer.to_owned());
    };
    let texts: Vec<(usize, &str)> = blocks
        .iter()
        .enumerate()
        .filter_map(|(index, block)| Some((index, value::text(block, "text")?)))
        .collect();
    let images = blocks.iter().filter(|block| value::text(block, "type") == Some("image"));
    let place = match texts.as_slice() {
        [(index, _)] => format!("{pointer}/{index}/text"),
        _ => pointer.to_owned(),
    };
    let joined: Vec<&str> = texts.iter().map(|(_, text)| *text).collect();
    (joined.join("\n"), images.map(image).collect(), place)
}

/// A command that the user ran, as the model is told of it (pi 0.50, `bashExecutionToText`).
fn executed(message: &Value) -> String {
    let command = value::text(message, "command").unwrap_or_default();
    let mut text = match value::text(message, "output").unwrap_or_default() {
        "" => format!("Ran `{command}`\n(no output)"),
        output => format!("Ran `{command}`\n```\n{output}\n```"),
    };
    let code = message["exitCode"].as_i64().unwrap_or(0);
    if value::flag(message, "cancelled") {
        text.push_str("\n\n(command cancelled)");
    } else if code != 0 {
        text.push_str(&format!("\n\nCommand exited with code {code}"));
    }
    if let (true, Some(path)) =
        (value::flag(message, "truncated"), value::text(message, "fullOutputPath"))
    {
        text.push_str(&format!("\n\n[Output truncated. Full output: {path}]"));
    }
    text
}

/// The input classes are disjoint as they come, and the output holds the reasoning. Calls that were aborted before anything came back
/// have zeros.
const COUNTS: Counts = Counts {
    input: &["/input"],
    cache_read: &["/cacheRead"],
    cache_write: &["/cacheWrite"],
    cache_write_1h: &["/cacheWrite1h"],
    output: &["/output"],
    reasoning: &["/reasoning"],
    total: "/totalTokens",
    cache_in_input: false,
    ..Counts::NONE
};
