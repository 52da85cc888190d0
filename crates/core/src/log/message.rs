//! A message: its speaker, its parts, and where it was recorded.

use super::{Answer, CountCache, Derived, Finish, Part, PartKind, ResultStatus, ToolResult};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use strum::IntoStaticStr;

/// Who speaks.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, IntoStaticStr,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Role {
    /// Instructions of the harness.
    System,
    /// The user, or the harness in the user's name.
    User,
    /// The model.
    Assistant,
    /// A tool: exactly one result.
    Tool,
}

impl Role {
    /// Lower-case name, as providers spell it.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// The kinds of message that compaction writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum EntryKind {
    /// Requests a compaction; positioned where it was requested.
    Marker,
    /// The summary of what went before.
    Summary,
    /// Tells the model to go on after a compaction.
    Continue,
    /// A note that a compaction took place here.
    Boundary,
    /// What is carried over word for word: pinned messages, the user's words, the open plan.
    Carried,
}

impl EntryKind {
    /// The name used in output.
    #[doc(hidden)]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// Whether a message happened or was written by a compaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// It happened: it belongs to the log.
    #[default]
    Log,
    /// A compaction wrote it: it belongs to one conversation.
    Entry(EntryKind),
}

/// One message of a history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Message {
    /// Unique within the session; the recorder's own id where it has one.
    pub id: String,
    /// Who speaks.
    pub role: Role,
    /// The parts.
    pub parts: Vec<Part>,
    /// Id of the answered message, where recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// When it was recorded, in milliseconds since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<i64>,
    /// The model call that this message answers; only on assistant messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
    /// Whether it happened or a compaction wrote it.
    #[serde(default, skip_serializing_if = "is_log")]
    pub origin: Origin,
    /// A user message that arrived while the recorder's loop was still running. It does not begin a
    /// user turn: nothing that waits for the end of a turn ran before it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mid_turn: bool,
    /// Name of the agent that the message belongs to, for recorders with several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// What recorders and agents note about the message in addition to its content, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// Index of the stored record (line, array element) that this message came from. Messages that
    /// share a record were one message in the recorder's own store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<u32>,
    /// Token counts, one set per estimator; see [`CountCache`].
    #[serde(skip)]
    pub counts: CountCache,
    /// What stages worked out about it; see [`Derived`].
    #[serde(skip)]
    pub derived: Derived,
}

fn is_log(origin: &Origin) -> bool {
    *origin == Origin::Log
}

impl Message {
    /// A message with an id, a role and parts; everything else absent.
    pub fn new(id: impl Into<String>, role: Role, parts: Vec<Part>) -> Self {
        Self {
            id: id.into(),
            role,
            parts,
            parent: None,
            at: None,
            answer: None,
            origin: Origin::Log,
            mid_turn: false,
            agent: None,
            annotations: BTreeMap::new(),
            record: None,
            counts: CountCache::default(),
            derived: Derived::default(),
        }
    }

    /// A user message of one text.
    pub fn user(id: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(id, Role::User, vec![Part::text(text)])
    }

    /// An assistant message; it answers a model call.
    pub fn assistant(id: impl Into<String>, parts: Vec<Part>) -> Self {
        Self { answer: Some(Answer::default()), ..Self::new(id, Role::Assistant, parts) }
    }

    /// A tool message of one completed result.
    pub fn tool(
        id: impl Into<String>,
        call_id: impl Into<String>,
        tool: impl Into<String>,
        text: impl Into<String>,
    ) -> Self {
        Self::new(id, Role::Tool, vec![Part::result(call_id, tool, text)])
    }

    /// A tool message of one result that says that the tool failed.
    pub fn tool_error(
        id: impl Into<String>,
        call_id: impl Into<String>,
        tool: impl Into<String>,
        text: impl Into<String>,
    ) -> Self {
        let (call_id, tool, text) = (call_id.into(), tool.into(), text.into());
        let status = ResultStatus::Error;
        let result = ToolResult { call_id, tool, status, text, ..ToolResult::default() };
        Self::new(id, Role::Tool, vec![Part::new(PartKind::Result(result))])
    }

    /// This message with an annotation.
    #[must_use]
    pub fn annotated(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.annotations.insert(name.into(), value.into());
        self
    }

    /// This message with the model call that it answers.
    #[must_use]
    pub fn with_answer(mut self, answer: Answer) -> Self {
        self.answer = Some(answer);
        self
    }

    /// This message, recorded at a time in milliseconds since the Unix epoch.
    #[must_use]
    pub fn with_time(mut self, millis: i64) -> Self {
        self.at = Some(millis);
        self
    }

    /// This message as one of an agent, by the agent's name.
    #[must_use]
    #[doc(hidden)]
    pub fn with_agent(mut self, agent: impl Into<String>) -> Self {
        self.agent = Some(agent.into());
        self
    }

    /// This message as read from a record of the recorder's store.
    #[must_use]
    #[doc(hidden)]
    pub fn with_record(mut self, record: u32) -> Self {
        self.record = Some(record);
        self
    }

    /// This message as a reply to another one, by its id.
    #[must_use]
    #[doc(hidden)]
    pub fn with_parent(mut self, parent: impl Into<String>) -> Self {
        self.parent = Some(parent.into());
        self
    }

    /// This message as an entry that a compaction wrote.
    #[must_use]
    #[doc(hidden)]
    pub fn as_entry(mut self, kind: EntryKind) -> Self {
        self.origin = Origin::Entry(kind);
        self
    }

    /// This message as one that arrived while the agent's loop was running.
    #[must_use]
    pub fn within_turn(mut self) -> Self {
        self.mid_turn = true;
        self
    }

    /// A copy of this message with other parts.
    #[must_use]
    #[doc(hidden)]
    pub fn with_parts(&self, parts: Vec<Part>) -> Self {
        Self {
            id: self.id.clone(),
            role: self.role,
            parts,
            parent: self.parent.clone(),
            at: self.at,
            answer: self.answer.clone(),
            origin: self.origin,
            mid_turn: self.mid_turn,
            agent: self.agent.clone(),
            annotations: self.annotations.clone(),
            record: self.record,
            counts: CountCache::default(),
            derived: Derived::default(),
        }
    }

    /// Whether compaction wrote it.
    pub fn is_entry(&self) -> bool {
        self.origin != Origin::Log
    }

    /// Whether the message is an entry of this kind.
    #[doc(hidden)]
    pub fn is_entry_of(&self, kind: EntryKind) -> bool {
        self.origin == Origin::Entry(kind)
    }

    /// Whether the model ended its turn here: it answered, called no tool, and was not cut short.
    pub fn is_final_answer(&self) -> bool {
        let finish = self.answer.as_ref().and_then(|answer| answer.finish);
        let cut = matches!(finish, Some(Finish::Length | Finish::Error | Finish::ToolCalls));
        self.is_answer() && !cut && self.call_ids().next().is_none()
    }

    /// Whether the model answered here: an assistant message of the log that a call produced.
    pub fn is_answer(&self) -> bool {
        self.role == Role::Assistant && self.answer.is_some() && !self.is_entry()
    }

    /// Whether a user turn begins here: a user message of the log that came while no loop was running.
    pub fn begins_turn(&self) -> bool {
        self.role == Role::User && !self.is_entry() && !self.mid_turn
    }

    /// Ids of the tool calls in this message, in order.
    pub fn call_ids(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| part.as_call().map(|call| call.call_id.as_str()))
    }

    /// All texts that the model is shown, joined by newlines; tool arguments included.
    pub fn shown_text(&self) -> String {
        let mut out = String::new();
        for part in &self.parts {
            let text = part.shown();
            if !text.is_empty() {
                if !out.is_empty() {
                    out.push('\n');
                }
                out.push_str(&text);
            }
        }
        out
    }

    /// The text parts alone, joined by newlines: what was said, without reasoning, calls and results.
    pub fn said(&self) -> String {
        let mut out = String::new();
        for part in &self.parts {
            if let PartKind::Text { text, ignored: false, .. } = &part.kind {
                if !out.is_empty() {
                    out.push('\n');
                }
                out.push_str(text);
            }
        }
        out
    }
}
