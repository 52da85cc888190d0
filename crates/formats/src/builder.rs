//! What every importer does alike: messages in order with unique ids, calls joined with their results,
//! the frame, boundaries, and the warnings that come of it.

use crate::ids::{Calls, Ids};
use crate::pairing::pair;
use crate::prelude::*;
use std::sync::Arc;

/// A session in the making.
pub(crate) struct SessionBuilder {
    /// The session without its messages.
    pub(crate) session: Session,
    pub(crate) messages: Vec<Message>,
    /// Joins calls with results whose recorded ids may repeat.
    pub(crate) calls: Calls,
    ids: Ids,
    /// Types that are not known, each with the first record of it and how many there are.
    unknown: BTreeMap<String, (u32, u32)>,
}

impl SessionBuilder {
    pub(crate) fn new(id: impl Into<String>, format: FormatId, source: Source) -> Self {
        Self::from(Session::new(id, format, source))
    }

    /// Adds a message under the id `wanted`, or one made of it where that is taken.
    pub(crate) fn push(
        &mut self,
        record: u32,
        wanted: &str,
        role: Role,
        parts: Vec<Part>,
    ) -> &mut Message {
        let id = self.ids.unique(wanted);
        let message = Message { record: Some(record), ..Message::new(id, role, parts) };
        self.push_message(message)
    }

    /// Adds a message that the recorder gave no id.
    pub(crate) fn push_unnamed(
        &mut self,
        record: u32,
        role: Role,
        parts: Vec<Part>,
    ) -> &mut Message {
        self.push(record, &format!("m{record}"), role, parts)
    }

    /// Adds a message as it is.
    pub(crate) fn push_message(&mut self, message: Message) -> &mut Message {
        let index = self.messages.len();
        self.messages.push(message);
        &mut self.messages[index]
    }

    /// Adds parts of a record to a message, with the record where that is not the message's own.
    pub(crate) fn extend(&mut self, index: usize, record: u32, parts: Vec<Part>) {
        let message = &mut self.messages[index];
        let source_record = (message.record != Some(record)).then_some(record);
        message.parts.extend(parts.into_iter().map(|part| Part { source_record, ..part }));
    }

    /// An id that no message has yet, `wanted` if possible.
    pub(crate) fn unique(&mut self, wanted: &str) -> String {
        self.ids.unique(wanted)
    }

    /// A call, under a unique id.
    pub(crate) fn call(&mut self, id: &str, tool: &str, arguments: impl Into<String>) -> Part {
        Part::call(self.calls.call(id), tool, arguments)
    }

    /// A result, with the id of the call that it answers.
    pub(crate) fn result(
        &mut self,
        id: &str,
        tool: &str,
        failed: bool,
        text: impl Into<String>,
        media: Vec<Media>,
    ) -> Part {
        result(self.calls.result(id), tool, failed, text, media)
    }

    /// Gives the calls and results among `parts` their ids.
    pub(crate) fn join(&mut self, parts: &mut [Part]) {
        for part in parts {
            match &mut part.kind {
                PartKind::Call(call) => call.call_id = self.calls.call(&call.call_id),
                PartKind::Result(result) => result.call_id = self.calls.result(&result.call_id),
                _ => {}
            }
        }
    }

    pub(crate) fn warn(&mut self, code: &str, place: impl Into<String>, detail: impl Into<String>) {
        self.session.warn(code, place, detail);
    }

    /// The same about a line.
    pub(crate) fn warn_at(&mut self, code: &str, record: u32, detail: impl Into<String>) {
        let place = self.session.source.place(record);
        self.session.warn(code, place, detail);
    }

    /// Notes that there is no such role.
    pub(crate) fn unknown_role(&mut self, place: impl Into<String>, role: Option<&str>) {
        let role = role.unwrap_or("");
        let detail = format!("there is no role `{role}` in this format; left out");
        self.warn("unknown-role", place, detail);
    }

    /// A part of a type that is not known.
    pub(crate) fn unknown_part(
        &mut self,
        place: impl Into<String>,
        what: &str,
        name: &str,
        raw: &Value,
    ) -> Part {
        self.warn("unknown-type", place, format!("{what} `{name}`; kept as it is"));
        unknown(name, raw)
    }

    /// Counts a record of a type that is not known.
    pub(crate) fn note_unknown(&mut self, kind: &str, record: u32) {
        self.unknown.entry(kind.to_owned()).or_insert((record, 0)).1 += 1;
    }

    /// Warns about the types that were counted.
    pub(crate) fn warn_unknown(&mut self, what: &str, place: impl Fn(&Source, u32) -> String) {
        for warning in unknown_types(std::mem::take(&mut self.unknown), what) {
            let place = place(&self.session.source, warning.0);
            self.warn("unknown-type", place, warning.1);
        }
    }

    /// Adds a system prompt to the frame.
    pub(crate) fn system(&mut self, text: impl Into<String>) {
        self.session.frame.push_text(SegmentKind::System, text);
    }

    /// Adds what the system says before anything else to the frame, a segment for each part. Gives the
    /// parts back where messages stand before them.
    pub(crate) fn opening_system(&mut self, parts: Vec<Part>) -> Option<Vec<Part>> {
        if !self.messages.is_empty() {
            return Some(parts);
        }
        for part in parts {
            self.system(part.shown());
        }
        None
    }

    /// Adds tool definitions to the frame, where there are any.
    pub(crate) fn tools(&mut self, tools: Option<&Value>) {
        if let Some(tools) = tools.filter(|tools| tools.as_array().is_some_and(|t| !t.is_empty())) {
            self.session.frame.push_text(SegmentKind::Tools, tools.to_string());
        }
    }

    /// Whether anything but what a compaction wrote was read so far.
    pub(crate) fn holds_log(&self) -> bool {
        self.messages.iter().any(|message| !message.is_entry())
    }

    /// Size of the context after the latest answer, in tokens.
    pub(crate) fn latest_tokens(&self) -> Option<u64> {
        let usage =
            self.messages.iter().rev().find_map(|message| message.answer.as_ref()?.usage)?;
        Some(usage.total_tokens())
    }

    /// Adds a compaction that comes before the next message and left the original where it was.
    pub(crate) fn boundary(&mut self, kind: &str, trigger: &str) -> &mut Boundary {
        let index = self.session.boundaries.len();
        self.session.boundaries.push(Boundary {
            before: self.messages.len(),
            trigger: trigger.to_owned(),
            kind: kind.to_owned(),
            tokens_before: None,
            tokens_after: None,
            original_kept: true,
        });
        &mut self.session.boundaries[index]
    }

    /// Where the recorder wrote no reason, the content tells why the model stopped.
    pub(crate) fn infer_finish(&mut self) {
        for message in &mut self.messages {
            let has_calls = message.call_ids().next().is_some();
            if let Some(answer) = &mut message.answer
                && answer.finish.is_none()
            {
                answer.finish = Some(if has_calls { Finish::ToolCalls } else { Finish::Stop });
            }
        }
    }

    /// The model of most answers.
    pub(crate) fn main_model(&self) -> Option<String> {
        let named = self.messages.iter().filter_map(|m| m.answer.as_ref()?.model.as_deref());
        value::most_common(named)
    }

    /// The session, with reasons and the model told from its answers.
    pub(crate) fn finish_run(mut self) -> Session {
        self.infer_finish();
        self.session.model = self.main_model().or(self.session.model.take());
        self.finish()
    }

    /// The session.
    pub(crate) fn finish(self) -> Session {
        let mut session = self.session;
        session.messages = self.messages.into_iter().map(Arc::new).collect();
        pair(&mut session);
        session
    }

    /// [`Self::finish_run`], with the number of stored messages where the recorder has a count of its own.
    pub(crate) fn finish_counted(self, stored: usize) -> Session {
        let mut session = self.finish_run();
        session.recorded = Some(Recorded { messages: stored, tool_calls: session.tool_calls() });
        session
    }
}

impl From<Session> for SessionBuilder {
    fn from(session: Session) -> Self {
        Self {
            session,
            messages: Vec::new(),
            calls: Calls::default(),
            ids: Ids::default(),
            unknown: BTreeMap::new(),
        }
    }
}

/// The first record of each unknown type, and what to say about it.
pub(crate) fn unknown_types(
    found: BTreeMap<String, (u32, u32)>,
    what: &str,
) -> impl Iterator<Item = (u32, String)> {
    found.into_iter().map(move |(kind, (first, count))| {
        (first, format!("{count}{what} of the unknown type `{kind}`, skipped; first here"))
    })
}

/// The sessions of a file, if it holds a message at all.
pub(crate) fn only(session: Session) -> Result<Vec<Session>, ReadError> {
    if session.messages.is_empty() { Err(ReadError::NoMessages) } else { Ok(vec![session]) }
}

/// Where something stands that could not be read, and why not.
pub(crate) type Damage = (String, String);

/// The sessions of a file with what could not be read of it, which is noted with the first of them.
pub(crate) fn with_damage(
    mut sessions: Vec<Session>,
    damaged: Vec<Damage>,
) -> Result<Vec<Session>, ReadError> {
    let first = sessions.first_mut().ok_or(ReadError::NoMessages)?;
    for (place, detail) in damaged {
        first.warn("damaged-line", place, format!("{detail}; left out"));
    }
    Ok(sessions)
}

/// Reads a document into its session, or a file with a document a line. What is wrong with lines is noted
/// as `lost` words it.
pub(crate) fn document_or_lines(
    text: &str,
    read: impl Fn(&str, &Value) -> Result<Session, ReadError>,
    lost: impl Fn(&ReadError) -> String,
) -> Result<Vec<Session>, ReadError> {
    let whole = match value::document(text) {
        Ok(root) => return read(text, &root).map(|session| vec![session]),
        Err(error) => error,
    };
    let (mut sessions, mut damaged) = (Vec::new(), Vec::new());
    for (line, range) in raw::numbered_lines(text) {
        let text = &text[range];
        match value::document(text).and_then(|root| read(text, &root)) {
            Ok(session) => sessions.push(session),
            Err(error) => damaged.push((format!("line {line}"), lost(&error))),
        }
    }
    if sessions.is_empty() { Err(whole) } else { with_damage(sessions, damaged) }
}

/// The conversations of a file that hold a message, with what was noted before they were told apart in front
/// of what was noted of the first.
pub(crate) fn threads_of(
    mut sessions: Vec<Session>,
    mut warnings: Vec<Warning>,
) -> Result<Vec<Session>, ReadError> {
    sessions.retain(|session| !session.messages.is_empty());
    let first = sessions.first_mut().ok_or(ReadError::NoMessages)?;
    warnings.append(&mut first.warnings);
    first.warnings = warnings;
    Ok(sessions)
}
