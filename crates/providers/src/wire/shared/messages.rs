//! The state of all readers: messages in order with unique ids, calls joined with their results, the frame, and
//! deviations from the protocol.

use super::ids::{Calls, Ids};
use super::pairing::Tools;
use super::{parts, value};
use foldback_core::log::{Media, Message, Part, PartKind, Role};
use foldback_core::{Frame, SegmentKind};
use serde_json::Value;
use std::fmt;
use std::sync::Arc;

/// Messages that are being read, and what a reader must know of them to go on.
#[derive(Clone, Debug, Default)]
pub struct Messages {
    /// The messages that were read so far.
    pub messages: Vec<Message>,
    /// What is sent around the messages.
    pub frame: Frame,
    /// Joins calls with results whose ids may repeat.
    pub calls: Calls,
    /// The tools of calls, for results that don't name theirs.
    pub tools: Tools,
    /// Deviations from the protocol.
    pub problems: Vec<Problem>,
    ids: Ids,
    /// System prompts that stand as records before the first message: part of the frame.
    opening: Vec<String>,
    /// Whether [`take`](Self::take) returned a message.
    begun: bool,
}

/// A deviation from the protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// Its kind.
    pub kind: ProblemKind,
    /// Its place, as a JSON pointer.
    pub pointer: String,
    /// What is wrong, and what was done about it.
    pub detail: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.pointer, self.detail)
    }
}

/// Kinds of [`Problem`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProblemKind {
    /// An element does not have the shape of a message.
    Damaged,
    /// An unknown role.
    UnknownRole,
    /// A value has another type than in the protocol.
    WrongType,
    /// Content of an unknown type; it is kept as it came.
    UnknownType,
}

/// Reads records of the list at a JSON pointer, each with its number.
pub(crate) type Records = fn(Messages, &str, &[(u32, &Value)]) -> Messages;

impl Messages {
    /// Reads the list at a JSON pointer, and what is sent around it.
    pub(crate) fn read(
        root: &Value,
        list: &str,
        frame: fn(&mut Self, &Value),
        records: Records,
    ) -> Self {
        let mut out = Self::default();
        frame(&mut out, root);
        let numbered: Vec<_> = (0u32..).zip(value::list_at(root, list)).collect();
        records(out, list, &numbered)
    }

    /// The frame that is not in records was read: adds what records said for it that are not read again.
    pub fn frame_is_read(&mut self) {
        for text in &self.opening {
            self.frame.push_text(SegmentKind::System, text.as_str());
        }
    }

    /// Bytes of the texts of what is sent around the messages.
    pub(crate) fn around(&self) -> usize {
        let frame = self.frame.segments().iter().map(|segment| segment.text.len());
        frame.chain(self.opening.iter().map(String::len)).sum()
    }

    /// Whether a message was read.
    pub fn has_begun(&self) -> bool {
        self.begun || !self.messages.is_empty()
    }

    /// Takes the messages that were read, results with the names of their tools, and all with a time if one is given;
    /// what is read from here on is behind them.
    pub fn take(&mut self, at: Option<i64>) -> Vec<Arc<Message>> {
        self.begun = self.has_begun();
        let mut messages = Vec::with_capacity(self.messages.len());
        for mut message in self.messages.drain(..) {
            message.at = message.at.or(at);
            let mut message = Arc::new(message);
            self.tools.name(&mut message);
            messages.push(message);
        }
        messages
    }

    /// The state from which a reader can go on here, with the frame. The cost grows with the records since the last mark.
    #[must_use]
    pub fn mark(&mut self) -> Self {
        self.ids.settle();
        self.calls.settle();
        self.tools.settle();
        Self {
            calls: self.calls.clone(),
            tools: self.tools.clone(),
            ids: self.ids.clone(),
            opening: self.opening.clone(),
            begun: self.has_begun(),
            frame: self.frame.clone(),
            ..Self::default()
        }
    }

    /// Adds a message under the id `wanted`, or one made of it where that is taken.
    pub fn push(
        &mut self,
        record: u32,
        wanted: &str,
        role: Role,
        mut parts: Vec<Part>,
    ) -> &mut Message {
        // Most messages have one part or two, a list that grows has room for four, and histories live long.
        parts.shrink_to_fit();
        let id = self.ids.unique(wanted);
        self.push_message(Message::new(id, role, parts).with_record(record))
    }

    /// Adds a message without an id of its own.
    pub fn push_unnamed(&mut self, record: u32, role: Role, parts: Vec<Part>) -> &mut Message {
        self.push(record, &format!("m{record}"), role, parts)
    }

    /// Adds a message under the recorder's id, or without one of its own.
    pub fn push_named(
        &mut self,
        record: u32,
        id: Option<&str>,
        role: Role,
        parts: Vec<Part>,
    ) -> &mut Message {
        match id {
            Some(id) => self.push(record, id, role, parts),
            None => self.push_unnamed(record, role, parts),
        }
    }

    /// Adds what a user message of the protocol says. Its results become messages, and so does what is between them,
    /// which was said while the loop was running.
    pub fn push_user(&mut self, record: u32, parts: Vec<Part>) {
        if !parts.iter().any(|part| part.as_result().is_some()) {
            self.push_unnamed(record, Role::User, parts);
            return;
        }
        let mut said = Vec::new();
        for part in parts {
            if part.as_result().is_some() {
                self.push_beside_results(record, &mut said);
                self.push_unnamed(record, Role::Tool, vec![part]);
            } else {
                said.push(part);
            }
        }
        self.push_beside_results(record, &mut said);
    }

    fn push_beside_results(&mut self, record: u32, said: &mut Vec<Part>) {
        if !said.is_empty() {
            self.push_unnamed(record, Role::User, std::mem::take(said)).mid_turn = true;
        }
    }

    /// Adds a message as it is.
    pub fn push_message(&mut self, message: Message) -> &mut Message {
        let index = self.messages.len();
        self.messages.push(message);
        &mut self.messages[index]
    }

    /// Adds parts of a record to a message, with the record where that is not the message's own.
    pub fn extend(&mut self, index: usize, record: u32, parts: Vec<Part>) {
        let message = &mut self.messages[index];
        let source_record = (message.record != Some(record)).then_some(record);
        message.parts.extend(parts.into_iter().map(|part| Part { source_record, ..part }));
    }

    /// An id that no message has yet, `wanted` if possible.
    pub fn unique(&mut self, wanted: &str) -> String {
        self.ids.unique(wanted)
    }

    /// A call, under a unique id.
    pub fn call(&mut self, id: &str, tool: &str, arguments: impl Into<String>) -> Part {
        Part::call(self.calls.call(id), tool, arguments)
    }

    /// The calls of a list at the pointer `at`, with the names of the members for id, tool and arguments. Without an id a
    /// call goes by the name of its tool.
    pub fn called(
        &mut self,
        list: &[Value],
        [id, tool, arguments]: [&str; 3],
        at: &str,
    ) -> Vec<Part> {
        let call = |(index, call): (usize, &Value)| {
            let tool = value::text(call, tool).unwrap_or_default();
            let id = value::text(call, id).unwrap_or(tool);
            let part = self.call(id, tool, value::shown_of(call, arguments));
            part.at(format!("{at}/{index}/{arguments}"))
        };
        list.iter().enumerate().map(call).collect()
    }

    /// A result, with the id of the call that it answers.
    pub fn result(
        &mut self,
        id: &str,
        tool: &str,
        failed: bool,
        text: impl Into<String>,
        media: Vec<Media>,
    ) -> Part {
        parts::result(self.calls.result(id), tool, failed, text, media)
    }

    /// Gives the calls and results among `parts` their ids.
    pub fn join(&mut self, parts: &mut [Part]) {
        for part in parts {
            match &mut part.kind {
                PartKind::Call(call) => call.call_id = self.calls.call(&call.call_id),
                PartKind::Result(result) => result.call_id = self.calls.result(&result.call_id),
                _ => {}
            }
        }
    }

    /// Adds a system prompt to the frame.
    pub fn system(&mut self, text: impl Into<String>) {
        self.frame.push_text(SegmentKind::System, text);
    }

    /// Adds what a record of the system's says before the first message to the frame.
    pub fn opening(&mut self, text: impl Into<String>) {
        let text = text.into();
        self.opening.push(text.clone());
        self.system(text);
    }

    /// Adds what the system says before anything else to the frame, a segment for each part. Gives the
    /// parts back where messages stand before them.
    pub fn opening_system(&mut self, parts: Vec<Part>) -> Option<Vec<Part>> {
        if self.has_begun() {
            return Some(parts);
        }
        for part in parts {
            self.opening(part.shown());
        }
        None
    }

    /// Adds tool definitions to the frame, where there are any.
    pub fn tools(&mut self, tools: Option<&Value>) {
        if let Some(tools) = tools.filter(|tools| tools.as_array().is_some_and(|t| !t.is_empty())) {
            self.frame.push_text(SegmentKind::Tools, tools.to_string());
        }
    }

    /// Notes a deviation from the protocol.
    pub fn problem(
        &mut self,
        kind: ProblemKind,
        pointer: impl Into<String>,
        detail: impl Into<String>,
    ) {
        self.problems.push(Problem { kind, pointer: pointer.into(), detail: detail.into() });
    }

    /// The role of a record of the list at `list`; noted where it has none.
    pub fn role<'v>(&mut self, list: &str, record: u32, message: &'v Value) -> Option<&'v str> {
        let role = value::text(message, "role");
        if role.is_none() {
            self.problem(ProblemKind::Damaged, format!("{list}/{record}"), NO_ROLE);
        }
        role
    }

    /// Notes an unknown role.
    pub fn unknown_role(&mut self, pointer: impl Into<String>, role: &str) {
        let detail = unknown_role(role);
        self.problem(ProblemKind::UnknownRole, pointer, detail);
    }

    /// Content that is a text instead of a list of parts.
    pub fn whole_content(&mut self, pointer: impl Into<String>, content: &Value) -> Part {
        if !content.is_string() {
            let detail = "content is a text or a list; read as text";
            self.problem(ProblemKind::WrongType, pointer, detail);
        }
        Part::text(value::shown(content))
    }

    /// A part of an unknown type.
    pub fn unknown_part(
        &mut self,
        pointer: impl Into<String>,
        what: &str,
        name: &str,
        raw: &Value,
    ) -> Part {
        self.problem(ProblemKind::UnknownType, pointer, unknown_part(what, name));
        parts::unknown(name, raw)
    }
}

/// A detail without its end, which says how a reader went on: an error stops instead.
pub fn wrong(detail: &str) -> &str {
    let done = ["; left out", "; read as text", "; kept as it is"];
    done.iter().find_map(|done| detail.strip_suffix(done)).unwrap_or(detail)
}

/// The detail for an unknown role.
pub fn unknown_role(role: &str) -> String {
    format!("there is no role `{role}` in this format; left out")
}

/// The detail for a part of an unknown type.
pub fn unknown_part(what: &str, name: &str) -> String {
    format!("{what} `{name}`; kept as it is")
}

/// The detail for an element that is no message.
const NO_ROLE: &str = "a message needs an object with a `role`; left out";
