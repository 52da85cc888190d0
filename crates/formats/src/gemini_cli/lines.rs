//! A recording as a list of messages, from either form.

use crate::prelude::*;
use foldback_providers::wire::gemini;

/// One message in its last state.
pub(super) struct Stored {
    pub record: u32,
    /// JSON pointer from the record to the message.
    pub prefix: String,
    pub value: Value,
    /// It came with a history that replaced an earlier one: the client wrote it, or restored it.
    pub rewritten: bool,
    /// A later history replaced it.
    replaced: bool,
}

/// The text that the client records for a missing answer.
const INTERRUPTED: &str = "[The previous response was interrupted before it completed.]";

/// Beginnings of texts that the client put in front of a prompt.
const CONTEXT: &[&str] = &["<session_context>", "<hook_context>"];

/// Types of messages that are for the screen only.
const SILENT: &[&str] = &["info", "warning", "error"];

impl Stored {
    pub(super) fn id(&self) -> Option<&str> {
        value::text(&self.value, "id")
    }

    /// Whether the client wrote it in front of a prompt.
    pub(super) fn is_context(&self) -> bool {
        is_context(&self.value)
    }

    fn is_placeholder(&self) -> bool {
        text(&self.value) == Some(INTERRUPTED)
    }

    pub(super) fn kind(&self) -> &str {
        value::text(&self.value, "type").unwrap_or_default()
    }

    /// Whether the model said it in this session. Restored messages of other sessions name no model and have no usage.
    pub(super) fn is_answer(&self) -> bool {
        let recorded =
            value::text(&self.value, "model").is_some() || self.value["tokens"].is_object();
        self.kind() == "gemini" && recorded
    }

    /// Usage, model and time of the call that ended with this message.
    pub(super) fn answer(&self) -> Option<Answer> {
        self.is_answer().then(|| Answer {
            usage: COUNTS.any(&self.value["tokens"]),
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
    /// Answers that the user took back.
    pub unlogged: Vec<Answer>,
    /// By the number of a message, how the history in front of it was replaced.
    pub replaced: HashMap<usize, &'static str>,
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
            let mut states =
                States { out: Recording { source, ..Default::default() }, ..Default::default() };
            states.name(&root);
            for (record, value) in (0u32..).zip(value::list(&root, "messages")) {
                states.message(record, String::new(), value.clone());
            }
            Ok(states.finish())
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
    let mut states = States {
        out: Recording { source: source.clone(), ..Default::default() },
        ..Default::default()
    };
    for (record, line) in jsonl::values(&source) {
        match line {
            Ok(line) => states.line(record, line),
            Err(warning) => states.out.warnings.push(warning),
        }
    }
    states.finish()
}

/// The messages of a recording while it is read. What is asked of all of them is kept, so that a line costs what it holds.
#[derive(Default)]
struct States {
    out: Recording,
    /// By place, in order. Behind the last is room for the next.
    messages: BTreeMap<usize, Stored>,
    next: usize,
    /// Places by id, the first of each.
    places: HashMap<String, usize>,
    /// Places in front of which the history was replaced, and by what.
    replaced: BTreeMap<usize, &'static str>,
    /// Places of what a history that lacks it has lost.
    open: BTreeSet<usize>,
    /// Places of what the client wrote in front of what the user said.
    contexts: BTreeSet<usize>,
    /// How many messages the model sees, and how many of them it said.
    seen: usize,
    answers: usize,
}

impl States {
    fn line(&mut self, record: u32, line: Value) {
        if let Some(to) = value::text(&line, "$rewindTo") {
            let from = self.places.get(to).copied().unwrap_or(0);
            let answers = self.messages.range(from..).filter_map(|(_, gone)| gone.answer());
            self.out.unlogged.extend(answers);
            let gone = self.truncate(from);
            self.went_back(record, gone);
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
        let detail = format!("the user went back: {gone} message(s) skipped");
        let place = self.out.source.place(record);
        self.out.warnings.push(Warning::new("abandoned-branch", place, detail));
    }

    fn name(&mut self, meta: &Value) {
        if let Some(id) = value::string(meta, "sessionId") {
            self.out.id.get_or_insert(id);
        }
        if let Some(project) = value::string(meta, "projectHash") {
            self.out.project.get_or_insert(project);
        }
    }

    /// A message that is stored again replaces its earlier state, in its earlier place.
    fn message(&mut self, record: u32, prefix: String, value: Value) {
        let stored = Stored { record, prefix, value, rewritten: false, replaced: false };
        let known = stored.id().and_then(|id| self.places.get(id)).copied();
        match known.and_then(|place| Some((place, self.take(place)?))) {
            Some((place, Stored { rewritten, replaced, .. })) => {
                self.put(place, Stored { rewritten, replaced, ..stored });
            }
            None => self.push(stored),
        }
    }

    fn push(&mut self, stored: Stored) {
        self.put(self.next, stored);
        self.next += 1;
    }

    fn put(&mut self, place: usize, stored: Stored) {
        if let Some(id) = stored.id() {
            self.places.entry(id.to_owned()).or_insert(place);
        }
        if stored.is_context() {
            self.contexts.insert(place);
        }
        // Information is left out where a session goes on, whatever it holds.
        let matters =
            !SILENT.contains(&stored.kind()) && !stored.is_calls_alone() && !stored.is_context();
        if matters && !stored.replaced {
            self.open.insert(place);
        }
        self.seen += usize::from(!stored.is_silent());
        self.answers += usize::from(stored.is_answer());
        self.messages.insert(place, stored);
    }

    fn take(&mut self, place: usize) -> Option<Stored> {
        let stored = self.messages.remove(&place)?;
        if let Some(id) = stored.id().filter(|id| self.places.get(*id) == Some(&place)) {
            self.places.remove(id);
        }
        self.contexts.remove(&place);
        self.open.remove(&place);
        self.seen -= usize::from(!stored.is_silent());
        self.answers -= usize::from(stored.is_answer());
        Some(stored)
    }

    /// Takes out the messages from a place on; gives how many those were.
    fn truncate(&mut self, from: usize) -> usize {
        let gone: Vec<usize> = self.messages.range(from..).map(|(place, _)| *place).collect();
        for place in &gone {
            self.take(*place);
        }
        self.next = self.next.min(from);
        self.replaced.split_off(&(self.next + 1));
        gone.len()
    }

    fn mark_replaced(&mut self, places: &[usize]) {
        for place in places {
            self.open.remove(place);
            if let Some(message) = self.messages.get_mut(place) {
                message.replaced = true;
            }
        }
    }

    /// A whole history in place of the one so far. The client began with it, compressed what was there, masked outputs
    /// in it, went back, put another conversation in its place, or only gave it back. What was sent to the model stays
    /// the log; what is new beside it was written by the client.
    fn history(&mut self, record: u32, list: &str, history: &[Value]) {
        let ids: HashSet<&str> = history.iter().filter_map(|m| value::text(m, "id")).collect();
        let is_kept = |message: &Stored| message.id().is_some_and(|id| ids.contains(id));
        let is_kept_at = |place: &usize| self.messages.get(place).is_some_and(is_kept);
        let begins = self.seen == 0;
        let sent = self.answers > 0;
        let lost: Vec<usize> =
            self.open.iter().filter(|place| !is_kept_at(place)).copied().collect();
        let last_kept = ids.iter().filter_map(|id| self.places.get(*id)).max().copied();
        let rewritten = !begins && (sent || lost.is_empty());
        let mut new: Vec<Stored> = (0..)
            .zip(history)
            .filter(|(_, value)| {
                value::text(value, "id").is_none_or(|id| !self.places.contains_key(id))
            })
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
            // Messages that were never sent leave no trace.
            _ if !sent => {
                let contexts = self.contexts.iter().filter(|place| !is_kept_at(place));
                let gone: Vec<usize> = lost.iter().chain(contexts).copied().collect();
                for place in gone {
                    self.take(place);
                }
            }
            (Some(_), _) if is_new => {
                self.mark_replaced(&lost);
                self.replaced.entry(self.next).or_insert("summary");
            }
            (Some(first), last) if last.is_none_or(|last| *first > last) => {
                self.truncate(*first);
                self.went_back(record, lost.len());
            }
            // The replacement was recorded just before, message by message.
            (Some(_), _) => {
                let is_put = |message: &Stored| is_kept(message) && !message.is_answer();
                let old = self.messages.iter().rev().find(|(_, message)| !is_put(message));
                let from = old.map_or(0, |(place, _)| place + 1);
                self.mark_replaced(&lost);
                let put = self.messages.range_mut(from..);
                put.for_each(|(_, message)| message.rewritten = true);
                self.replaced.entry(from).or_insert("replace");
            }
            (None, _) => {}
        }
        new.into_iter().for_each(|stored| self.push(stored));
    }

    fn finish(self) -> Recording {
        let Self { mut out, messages, replaced, .. } = self;
        let mut replaced = replaced.into_iter().peekable();
        for (number, (place, message)) in messages.into_iter().enumerate() {
            while let Some((_, kind)) = replaced.next_if(|(before, _)| *before <= place) {
                out.replaced.entry(number).or_insert(kind);
            }
            out.messages.push(message);
        }
        out
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
