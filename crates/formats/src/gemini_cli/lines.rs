//! A recording as a list of messages, from either form.

use crate::prelude::*;

/// One message in its last state.
pub(super) struct Stored {
    pub record: u32,
    /// JSON pointer from the record to the message.
    pub prefix: String,
    pub value: Value,
    /// It came with a history that replaced the one before: the client's compaction wrote it.
    pub rewritten: bool,
}

impl Stored {
    pub(super) fn id(&self) -> Option<&str> {
        value::text(&self.value, "id")
    }
}

/// Everything that a recording holds.
pub(super) struct Recording {
    pub source: Source,
    pub id: Option<String>,
    /// Hash of the folder that the client was started in.
    pub project: Option<String>,
    /// In order of first appearance.
    pub messages: Vec<Stored>,
    /// Numbers of messages in front of which the history was replaced.
    pub replaced: Vec<usize>,
    pub warnings: Vec<Warning>,
}

/// Reads a document, or lines.
///
/// # Errors
///
/// [`ReadError::Malformed`] where it is neither.
pub(super) fn recording(text: &str) -> Result<Recording, ReadError> {
    match value::document(text) {
        Ok(root) if root["messages"].is_array() => {
            let source = value::source(text, "/messages")?;
            let mut recording = Recording::new(source);
            recording.name(&root);
            for (record, value) in (0u32..).zip(value::list(&root, "messages")) {
                recording.message(record, String::new(), value.clone());
            }
            Ok(recording)
        }
        whole => {
            let recording = lines(text);
            match (recording.messages.is_empty(), whole) {
                (true, Err(error)) => Err(error),
                (true, Ok(_)) => Err(value::malformed("/messages", "no messages here")),
                (false, _) => Ok(recording),
            }
        }
    }
}

fn lines(text: &str) -> Recording {
    let source = Source::lines(text);
    let mut recording = Recording::new(source.clone());
    for (record, line) in jsonl::values(&source) {
        match line {
            Ok(line) => recording.line(record, line),
            Err(warning) => recording.warnings.push(warning),
        }
    }
    recording
}

impl Recording {
    fn new(source: Source) -> Self {
        let (messages, replaced, warnings) = (Vec::new(), Vec::new(), Vec::new());
        Self { source, id: None, project: None, messages, replaced, warnings }
    }

    fn line(&mut self, record: u32, line: Value) {
        if let Some(to) = value::text(&line, "$rewindTo") {
            let at = self.messages.iter().position(|message| message.id() == Some(to));
            let gone = self.messages.split_off(at.unwrap_or(0));
            self.replaced.retain(|place| *place <= self.messages.len());
            let detail = format!("the user went back: {} message(s) skipped", gone.len());
            let place = self.source.place(record);
            self.warnings.push(Warning::new("abandoned-branch", place, detail));
        } else if line.get("id").is_some_and(Value::is_string) {
            self.message(record, String::new(), line);
        } else if let Some(set) = line.get("$set") {
            if let Some(history) = set["messages"].as_array() {
                self.history(record, history);
            }
            self.name(set);
        } else {
            self.name(&line);
        }
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
        let stored = Stored { record, prefix, value, rewritten: false };
        let known = stored.id().and_then(|id| {
            let mut messages = self.messages.iter();
            messages.position(|message| message.id() == Some(id))
        });
        match known.and_then(|index| self.messages.get_mut(index)) {
            Some(known) => {
                let rewritten = known.rewritten;
                *known = Stored { rewritten, ..stored };
            }
            None => self.messages.push(stored),
        }
    }

    /// A whole history in place of the one so far: the client compressed it, masked outputs in it, or
    /// only gave it back. What was there stays the log; what is new in it was written by the client.
    fn history(&mut self, record: u32, history: &[Value]) {
        let mut new = Vec::new();
        for (index, value) in history.iter().enumerate() {
            let stored = Stored {
                record,
                prefix: format!("/$set/messages/{index}"),
                value: value.clone(),
                rewritten: true,
            };
            let known = self.messages.iter().any(|m| m.id() == stored.id());
            if !known && !is_response(value) {
                new.push(stored);
            }
        }
        let lost = self.messages.iter().any(|message| {
            let mut ids = history.iter().map(|value| value::text(value, "id"));
            !ids.any(|id| id == message.id())
        });
        if lost && !new.is_empty() {
            self.replaced.push(self.messages.len());
        }
        self.messages.append(&mut new);
    }
}

/// The turn that gives results back, which the message of the calls holds as well.
fn is_response(message: &Value) -> bool {
    value::list(message, "content").iter().any(|part| part.get("functionResponse").is_some())
}
