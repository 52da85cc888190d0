//! A recording as a list of messages, from either form.

use crate::prelude::*;
use foldback_providers::wire::gemini;

/// One message in its last state.
pub(super) struct Stored {
    pub record: u32,
    /// JSON pointer from the record to the message.
    pub prefix: String,
    pub value: Value,
    /// It came with a history that replaced the one before: the client wrote it, or put it back.
    pub rewritten: bool,
    /// A later history replaced it.
    replaced: bool,
}

/// What the client says for an answer that did not come.
const INTERRUPTED: &str = "[The previous response was interrupted before it completed.]";

/// How texts begin that the client put in front of what the user said.
const CONTEXT: &[&str] = &["<session_context>", "<hook_context>"];

/// Types of messages that are for the screen only.
const SILENT: &[&str] = &["info", "warning", "error"];

impl Stored {
    pub(super) fn id(&self) -> Option<&str> {
        value::text(&self.value, "id")
    }

    /// Whether the client wrote it in front of what the user said.
    pub(super) fn is_context(&self) -> bool {
        is_context(&self.value)
    }

    fn is_placeholder(&self) -> bool {
        text(&self.value) == Some(INTERRUPTED)
    }

    pub(super) fn kind(&self) -> &str {
        value::text(&self.value, "type").unwrap_or_default()
    }

    /// Whether the model said it in this session. What was put back from elsewhere names no model and has no usage.
    pub(super) fn is_answer(&self) -> bool {
        let recorded =
            value::text(&self.value, "model").is_some() || self.value["tokens"].is_object();
        self.kind() == "gemini" && recorded
    }

    /// What it says of the call that it answers.
    pub(super) fn answer(&self) -> Option<Answer> {
        self.is_answer().then(|| Answer {
            usage: super::read::COUNTS.any(&self.value["tokens"]),
            model: value::string(&self.value, "model"),
            ended: value::time(&self.value, "timestamp"),
            ..Answer::default()
        })
    }

    /// Whether the model never sees it. Files that a tool returned are kept as information.
    pub(super) fn is_silent(&self) -> bool {
        let file = |part: &Value| gemini::media(part).is_some();
        SILENT.contains(&self.kind()) && !value::list(&self.value, "content").iter().any(file)
    }

    /// Calls that were recorded after a notice to the user: they belong to the answer before them.
    fn is_calls_alone(&self) -> bool {
        self.value["tokens"].is_null()
            && !value::list(&self.value, "toolCalls").is_empty()
            && matches!(&self.value["content"], Value::String(text) if text.is_empty())
    }
}

/// Everything that a recording holds.
#[derive(Default)]
pub(super) struct Recording {
    pub source: Source,
    pub id: Option<String>,
    /// Hash of the folder that the client was started in.
    pub project: Option<String>,
    /// In order of first appearance.
    pub messages: Vec<Stored>,
    /// Numbers of messages in front of which the history was replaced, and by what.
    pub replaced: Vec<(usize, &'static str)>,
    /// Answers that the user took back.
    pub unlogged: Vec<Answer>,
    pub warnings: Vec<Warning>,
}

/// Reads a document, or lines.
///
/// # Errors
///
/// [`ReadError::Malformed`] if the text is neither, [`ReadError::NoMessages`] if no message is left.
pub(super) fn recording(text: &str) -> Result<Recording, ReadError> {
    match value::document(text) {
        Ok(root) if root["messages"].is_array() => {
            let source = value::source(text, "/messages")?;
            let mut recording = Recording { source, ..Recording::default() };
            recording.name(&root);
            for (record, value) in (0u32..).zip(value::list(&root, "messages")) {
                recording.message(record, String::new(), value.clone());
            }
            Ok(recording)
        }
        whole => {
            let recording = lines(text);
            match (recording.messages.is_empty(), whole) {
                // Lines from which the user took everything back.
                (true, Err(_)) if recording.id.is_some() => Err(ReadError::NoMessages),
                (true, Err(error)) => Err(error),
                (true, Ok(_)) => Err(value::malformed("/messages", "no messages here")),
                (false, _) => Ok(recording),
            }
        }
    }
}

fn lines(text: &str) -> Recording {
    let source = Source::lines(text);
    let mut recording = Recording { source: source.clone(), ..Recording::default() };
    for (record, line) in jsonl::values(&source) {
        match line {
            Ok(line) => recording.line(record, line),
            Err(warning) => recording.warnings.push(warning),
        }
    }
    recording
}

impl Recording {
    fn line(&mut self, record: u32, line: Value) {
        if let Some(to) = value::text(&line, "$rewindTo") {
            let at = self.messages.iter().position(|message| message.id() == Some(to));
            let gone = self.messages.split_off(at.unwrap_or(0));
            self.unlogged.extend(gone.iter().filter_map(Stored::answer));
            self.went_back(record, gone.len());
        } else if line.get("id").is_some_and(Value::is_string) {
            self.message(record, String::new(), line);
        } else if let Some(set) = line.get("$set") {
            if let Some(history) = set["messages"].as_array() {
                self.history(record, "/$set/messages", history);
            }
            self.name(set);
        } else {
            // An old document that later versions went on with line by line.
            if let Some(history) = line["messages"].as_array() {
                self.history(record, "/messages", history);
            }
            self.name(&line);
        }
    }

    fn went_back(&mut self, record: u32, gone: usize) {
        self.replaced.retain(|(place, _)| *place <= self.messages.len());
        let detail = format!("the user went back: {gone} message(s) skipped");
        let place = self.source.place(record);
        self.warnings.push(Warning::new("abandoned-branch", place, detail));
    }

    fn name(&mut self, meta: &Value) {
        if let Some(id) = value::string(meta, "sessionId") {
            self.id.get_or_insert(id);
        }
        if let Some(project) = value::string(meta, "projectHash") {
            self.project.get_or_insert(project);
        }
    }

    /// A message that is stored again replaces its earlier state, in its earlier place.
    fn message(&mut self, record: u32, prefix: String, value: Value) {
        let stored = Stored { record, prefix, value, rewritten: false, replaced: false };
        let known = stored.id().and_then(|id| {
            let mut messages = self.messages.iter();
            messages.position(|message| message.id() == Some(id))
        });
        match known.and_then(|index| self.messages.get_mut(index)) {
            Some(known) => {
                let rewritten = known.rewritten;
                *known = Stored { rewritten, replaced: known.replaced, ..stored };
            }
            None => self.messages.push(stored),
        }
    }

    /// A whole history in place of the one so far. The client began with it, compressed what was there, masked outputs
    /// in it, went back, put another conversation in its place, or only gave it back. What was sent to the model stays
    /// the log; what is new beside it was written by the client.
    fn history(&mut self, record: u32, list: &str, history: &[Value]) {
        let ids: HashSet<&str> = history.iter().filter_map(|m| value::text(m, "id")).collect();
        let is_kept = |message: &Stored| message.id().is_some_and(|id| ids.contains(id));
        let known: HashSet<&str> = self.messages.iter().filter_map(Stored::id).collect();
        let begins = self.messages.iter().all(Stored::is_silent);
        let sent = self.messages.iter().any(Stored::is_answer);
        let is_lost = |message: &Stored| {
            // Information is left out where a session goes on, whatever it holds.
            let matters = !SILENT.contains(&message.kind())
                && !message.is_calls_alone()
                && !message.is_context();
            !is_kept(message) && !message.replaced && matters
        };
        let lost: Vec<usize> =
            (0..self.messages.len()).filter(|index| is_lost(&self.messages[*index])).collect();
        let last_kept = self.messages.iter().rposition(is_kept);
        let rewritten = !begins && (sent || lost.is_empty());
        let mut new: Vec<Stored> = (0..)
            .zip(history)
            .filter(|(_, value)| value::text(value, "id").is_none_or(|id| !known.contains(id)))
            .map(|(index, value): (usize, _)| {
                let prefix = format!("{list}/{index}");
                Stored { record, prefix, value: value.clone(), rewritten, replaced: false }
            })
            .collect();
        let is_new = new.iter().any(|stored| {
            !is_response(&stored.value) && !stored.is_context() && !stored.is_placeholder()
        });
        if !begins && !is_new {
            // The context that is put in front of every chat.
            new.retain(|stored| !stored.is_context());
        }
        match (lost.first(), last_kept) {
            // What was never sent is gone without a trace.
            _ if !sent => self
                .messages
                .retain(|message| !is_lost(message) && (is_kept(message) || !message.is_context())),
            (Some(_), _) if is_new => {
                lost.iter().for_each(|index| self.messages[*index].replaced = true);
                self.replaced.push((self.messages.len(), "summary"));
            }
            (Some(first), last) if last.is_none_or(|last| *first > last) => {
                self.messages.truncate(*first);
                self.went_back(record, lost.len());
            }
            // What is put in place of it was recorded just before, message by message.
            (Some(_), _) => {
                let is_put = |message: &Stored| is_kept(message) && !message.is_answer();
                let old = self.messages.iter().rposition(|message| !is_put(message));
                let from = old.map_or(0, |old| old + 1);
                lost.iter().for_each(|index| self.messages[*index].replaced = true);
                self.messages[from..].iter_mut().for_each(|message| message.rewritten = true);
                self.replaced.push((from, "replace"));
            }
            (None, _) => {}
        }
        self.messages.append(&mut new);
    }
}

/// The turn that gives results back, which the message of the calls holds as well.
fn is_response(message: &Value) -> bool {
    value::list(message, "content").iter().any(|part| part.get("functionResponse").is_some())
}

fn is_context(message: &Value) -> bool {
    let begins = |text: &str| CONTEXT.iter().any(|begins| text.trim_start().starts_with(begins));
    text(message).is_some_and(begins)
}

/// The first text of a message.
fn text(message: &Value) -> Option<&str> {
    let content = &message["content"];
    content.as_str().or_else(|| value::text(content.get(0)?, "text"))
}
