//! The common work of all importers: messages in order with unique ids, calls joined with their results,
//! the frame, boundaries, and the resulting warnings.

use crate::pairing::pair;
use crate::prelude::*;
use foldback_providers::wire::shared::messages::{self, Messages, ProblemKind};
use std::collections::HashSet;
use std::ops::{Deref, DerefMut, Range};

/// A session in the making.
#[derive(Default)]
pub(crate) struct SessionBuilder {
    /// The session without its messages and its frame.
    pub(crate) session: Session,
    log: Messages,
    unknown: UnknownTypes,
    /// The number of messages at the beginning that are known to be entries.
    entries: usize,
    answered: Answered,
    /// Of each id of a response, the latest answer that was read under it.
    responses: HashMap<String, usize>,
    reused: Option<Reused>,
    /// The number of messages that were searched for beginnings of turns and summaries, and the ones found.
    looked: usize,
    ends: Vec<usize>,
    /// Whether the turn has begun and the model has not ended it.
    pub(crate) running: bool,
    /// The model of answers that name none.
    pub(crate) model: Option<String>,
}

/// What a message has from the record that it is read from.
pub(crate) struct Record {
    pub(crate) number: u32,
    pub(crate) id: Option<String>,
    pub(crate) at: Option<i64>,
}

/// The answers so far.
#[derive(Default)]
struct Answered {
    /// The number of messages that were searched.
    messages: usize,
    /// The answers among them, each with the size of the context after the answers before it, in tokens.
    answers: Vec<(usize, Option<u64>)>,
}

/// Answers under an id that an earlier one has.
struct Reused {
    id: String,
    /// Record of the first answer that reuses the id.
    record: u32,
    answers: usize,
}

impl SessionBuilder {
    pub(crate) fn new(id: impl Into<String>, format: FormatId, source: Source) -> Self {
        Self::from(Session::new(id, format, source))
    }

    /// A session of a document whose records are in the list at the JSON pointer `list`, under the recorder's id or one made
    /// of the content.
    pub(crate) fn document(
        text: &str,
        list: &str,
        id: Option<String>,
        format: FormatId,
    ) -> Result<Self, ReadError> {
        let source = value::source(text, list)?;
        Ok(Self::new(id.unwrap_or_else(|| value::content_id(text)), format, source))
    }

    /// A session with messages that were read by the reader of a protocol.
    pub(crate) fn read(session: Session, log: Messages) -> Self {
        let mut out = Self::from(session);
        out.log = log;
        for problem in std::mem::take(&mut out.log.problems) {
            let code = match problem.kind {
                ProblemKind::Damaged => "damaged-line",
                ProblemKind::UnknownRole => "unknown-role",
                ProblemKind::WrongType => "wrong-type",
                _ => "unknown-type",
            };
            out.warn(code, problem.pointer, problem.detail);
        }
        out
    }

    pub(crate) fn warn(&mut self, code: &str, place: impl Into<String>, detail: impl Into<String>) {
        self.session.warn(code, place, detail);
    }

    /// Adds a warning about a record.
    pub(crate) fn warn_at(&mut self, code: &str, record: u32, detail: impl Into<String>) {
        let place = self.session.source.place(record);
        self.session.warn(code, place, detail);
    }

    /// Notes that there is no such role.
    pub(crate) fn unknown_role(&mut self, place: impl Into<String>, role: Option<&str>) {
        let role = role.unwrap_or("");
        self.warn("unknown-role", place, messages::unknown_role(role));
    }

    /// Notes that a record has no role of this format.
    pub(crate) fn unknown_role_of(&mut self, record: u32, role: Option<&str>) {
        self.unknown_role(self.session.source.place(record), role);
    }

    /// A part of a type that is not known, at the pointer `at` in a record.
    pub(crate) fn unknown_at(
        &mut self,
        record: u32,
        at: &str,
        what: &str,
        name: &str,
        raw: &Value,
    ) -> Part {
        let place = format!("{}{at}", self.session.source.place(record));
        self.unknown_part(place, what, name, raw).at(at)
    }

    /// A part of a type that is not known.
    pub(crate) fn unknown_part(
        &mut self,
        place: impl Into<String>,
        what: &str,
        name: &str,
        raw: &Value,
    ) -> Part {
        self.warn("unknown-type", place, messages::unknown_part(what, name));
        unknown(name, raw)
    }

    /// Counts a record of a type that is not known.
    pub(crate) fn note_unknown(&mut self, kind: &str, record: u32) {
        self.unknown.note(kind, record);
    }

    /// Warns about the types that were counted.
    pub(crate) fn warn_unknown(&mut self, what: &str, place: impl Fn(&Source, u32) -> String) {
        let unknown = std::mem::take(&mut self.unknown);
        let source = &self.session.source;
        let warnings = unknown.warnings(source, what, |first| place(source, first));
        self.session.warnings.extend(warnings);
    }

    /// The answer of which a record is another piece, by the id that the provider gave its response; `None` where the record
    /// begins one. Gateways give every response the same id: behind a result an answer goes on only where `same` finds that
    /// the record says so, behind a prompt it never does.
    pub(crate) fn piece_of(
        &mut self,
        response: &str,
        record: u32,
        same: impl FnOnce(&Message) -> bool,
    ) -> Option<usize> {
        let known = *self.responses.get(response)?;
        let messages = &self.log.messages;
        let is_end = |at: &usize| messages[*at].begins_turn() || messages[*at].is_entry();
        self.ends.extend((self.looked..messages.len()).filter(is_end));
        self.looked = messages.len();
        let ended = self.ends.last().is_some_and(|end| *end > known);
        let answer = messages.get(known)?;
        if known + 1 == messages.len() || !ended && same(answer) {
            return Some(known);
        }
        let first = || Reused { id: response.to_owned(), record, answers: 0 };
        self.reused.get_or_insert_with(first).answers += 1;
        None
    }

    /// Notes that the message which was added last begins the answer of a response.
    pub(crate) fn begins_response(&mut self, response: &str) {
        let answer = self.log.messages.len().saturating_sub(1);
        self.responses.insert(response.to_owned(), answer);
    }

    /// Whether anything but what a compaction wrote was read so far.
    pub(crate) fn holds_log(&mut self) -> bool {
        let is_entry = |at: usize| self.log.messages.get(at).is_some_and(Message::is_entry);
        self.entries = (self.entries..).find(|at| !is_entry(*at)).unwrap_or_default();
        self.entries < self.log.messages.len()
    }

    /// Size of the context after the latest answer whose usage is known, in tokens. Only the last answer may get its usage
    /// later.
    pub(crate) fn latest_tokens(&mut self) -> Option<u64> {
        let messages = &self.log.messages;
        let tokens = |(at, before): &(usize, Option<u64>)| {
            let usage = messages.get(*at).and_then(|message| message.answer.as_ref()?.usage);
            match usage {
                Some(usage) => Some(usage.total_tokens()).filter(|_| usage.has_input()),
                None => *before,
            }
        };
        let Answered { messages: seen, answers } = &mut self.answered;
        for at in (*seen..messages.len()).filter(|at| messages[*at].answer.is_some()) {
            let before = answers.last().and_then(tokens);
            answers.push((at, before));
        }
        *seen = messages.len();
        answers.last().and_then(tokens)
    }

    /// Takes out the messages from this one on, which the user took back, and the compactions behind it. Their answers were
    /// paid for. Gives how many messages those were.
    pub(crate) fn take_back(&mut self, from: usize) -> usize {
        let gone = self.log.messages.split_off(from);
        let count = gone.len();
        self.session.unlogged.extend(gone.into_iter().filter_map(|message| message.answer));
        while self.session.boundaries.pop_if(|boundary| boundary.before > from).is_some() {}
        self.entries = self.entries.min(from);
        self.answered.messages = self.answered.messages.min(from);
        while self.answered.answers.pop_if(|(at, _)| *at >= from).is_some() {}
        self.looked = self.looked.min(from);
        while self.ends.pop_if(|at| *at >= from).is_some() {}
        count
    }

    /// Adds a message.
    pub(crate) fn add(&mut self, record: &Record, role: Role, parts: Vec<Part>) -> &mut Message {
        let message = self.log.push_named(record.number, record.id.as_deref(), role, parts);
        message.at = record.at;
        message
    }

    /// Adds what a person said, which begins a turn unless one runs. Results in it come first, each as a message.
    pub(crate) fn prompt(&mut self, record: &Record, parts: Vec<Part>) {
        let is_result = |part: &Part| part.as_result().is_some();
        let (results, said): (Vec<Part>, Vec<Part>) = parts.into_iter().partition(is_result);
        let answers = !results.is_empty();
        for result in results {
            self.add(record, Role::Tool, vec![result]);
        }
        if !answers || !said.is_empty() {
            let mid_turn = std::mem::replace(&mut self.running, true) || answers;
            self.add(record, Role::User, said).mid_turn = mid_turn;
        }
    }

    /// Adds what the harness said in the user's name while the model was at work.
    pub(crate) fn aside(&mut self, record: &Record, parts: Vec<Part>) {
        self.add(record, Role::User, synthetic(parts)).mid_turn = true;
    }

    /// Adds an answer. Without a call it ends the turn.
    pub(crate) fn answer(&mut self, record: &Record, parts: Vec<Part>, mut answer: Answer) {
        self.running = parts.iter().any(|part| part.as_call().is_some());
        answer.model = answer.model.or_else(|| self.model.clone());
        self.add(record, Role::Assistant, parts).answer = Some(answer);
    }

    /// Adds what a compaction wrote.
    pub(crate) fn summary(&mut self, record: &Record, parts: Vec<Part>) {
        let message = self.add(record, Role::User, parts);
        message.mid_turn = true;
        message.origin = Origin::Entry(EntryKind::Summary);
    }

    /// Adds a compaction that comes before the next message and left the original in place.
    pub(crate) fn boundary(&mut self, kind: &str, trigger: &str) -> &mut Boundary {
        let index = self.session.boundaries.len();
        self.session.boundaries.push(Boundary::new(self.log.messages.len(), kind, trigger));
        &mut self.session.boundaries[index]
    }

    /// Compactions that the provider made itself. Each stands for everything before it: beside the earlier answers where the
    /// recording still has them, else in their place.
    pub(crate) fn compactions(&mut self, kind: &str, trigger: &str) {
        let (mut before, mut answered, mut index) = (None, false, 0);
        while index < self.messages.len() {
            let blocks = self.messages[index].parts.iter().filter(|part| part.is_compaction());
            let blocks = blocks.count();
            if blocks > 0 && answered {
                index += self.as_entry(index);
            }
            let message = &self.messages[index];
            let whole = message.parts.iter().all(Part::is_compaction);
            let usage = message.answer.as_ref().and_then(|answer| answer.usage);
            let usage = usage.filter(Usage::has_input);
            let after = usage.filter(|_| !whole).map(|usage| usage.input_total());
            for _ in 0..blocks {
                let boundary = self.boundary(kind, trigger);
                boundary.before = index + usize::from(whole);
                (boundary.tokens_before, boundary.tokens_after) = (before, after);
                boundary.original_kept = answered;
            }
            if self.messages[index].is_answer() {
                answered = true;
                before = usage.map(|usage| usage.total_tokens()).or(before);
            }
            index += 1;
        }
    }

    /// Takes what the provider compacted out of a message, as the entry in front of it, with what that used. How many messages
    /// were added: none if there was nothing else in it.
    fn as_entry(&mut self, index: usize) -> usize {
        let message = &mut self.messages[index];
        let used = message.answer.as_mut().and_then(|answer| answer.compaction.take());
        let used = used.map(|usage| Answer {
            usage: Some(usage),
            model: message.answer.as_ref().and_then(|answer| answer.model.clone()),
            ..Answer::default()
        });
        if message.parts.iter().all(Part::is_compaction) {
            (message.origin, message.answer) = (Origin::Entry(EntryKind::Summary), used);
            return 0;
        }
        let blocks = message.parts.extract_if(.., |part| part.is_compaction()).collect();
        let mut entry = message.with_parts(blocks);
        (entry.origin, entry.answer) = (Origin::Entry(EntryKind::Summary), used);
        entry.id = self.unique(&entry.id);
        self.messages.insert(index, entry);
        1
    }

    /// If the recorder wrote no reason, the content shows why the model stopped.
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

    /// The session, with reasons and the model derived from its answers.
    pub(crate) fn finish_run(mut self) -> Session {
        self.infer_finish();
        self.session.model = self.main_model().or(self.session.model.take());
        self.finish()
    }

    /// The session.
    pub(crate) fn finish(self) -> Session {
        let mut session = self.session;
        if let Some(Reused { id, record, answers }) = self.reused {
            let place = session.source.place(record);
            let detail = format!(
                "{answers} answer(s) have the id of an earlier one (`{id}` first): told apart by the results and prompts between \
                 them"
            );
            session.warn("reused-id", place, detail);
        }
        session.messages = self.log.messages.into_iter().map(Arc::new).collect();
        session.frame = self.log.frame;
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
    fn from(mut session: Session) -> Self {
        let mut log = Messages::default();
        log.frame = std::mem::take(&mut session.frame);
        Self { session, log, ..Self::default() }
    }
}

impl Deref for SessionBuilder {
    type Target = Messages;

    fn deref(&self) -> &Messages {
        &self.log
    }
}

impl DerefMut for SessionBuilder {
    fn deref_mut(&mut self) -> &mut Messages {
        &mut self.log
    }
}

/// Records of types that are not known, by type, in their order.
#[derive(Default)]
pub(crate) struct UnknownTypes(BTreeMap<String, Vec<u32>>);

impl UnknownTypes {
    /// Notes a record.
    pub(crate) fn note(&mut self, kind: &str, record: u32) {
        self.0.entry(kind.to_owned()).or_default().push(record);
    }

    /// What to say about them; once more if they hold much of a file. `what` follows a number of records. Text that a
    /// file holds twice counts once.
    pub(crate) fn warnings(
        self,
        source: &Source,
        what: &str,
        place: impl Fn(u32) -> String,
    ) -> Vec<Warning> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let text = |range: &Range<usize>| source.text.get(range.clone());
        let bytes = |records: &[u32]| {
            let ranges = records.iter().filter_map(|record| source.records.get(*record as usize));
            size(ranges.filter_map(text))
        };
        let (mut warnings, mut unknown, mut largest) = (Vec::new(), 0, (0, 0));
        for (kind, records) in self.0 {
            let (number, bytes) = (records.len(), bytes(&records));
            let first = records.first().copied().unwrap_or_default();
            unknown += bytes;
            largest = largest.max((bytes, first));
            let detail = format!(
                "{number}{what} of the unknown type `{kind}`, {bytes} bytes, skipped; first here"
            );
            warnings.push(Warning::new("unknown-type", place(first), detail));
        }
        let whole = size(source.records.iter().filter_map(text));
        if unknown * MUCH > whole {
            let percent = unknown * 100 / whole;
            let detail = format!(
                "records of unknown types hold {percent} % of the file: a newer version may have written it, and what they \
                 say is missing"
            );
            warnings.push(Warning::new("much-unknown", place(largest.1), detail));
        }
        warnings
    }
}

/// Bytes of texts, equal ones counted once.
fn size<'a>(texts: impl Iterator<Item = &'a str>) -> usize {
    texts.collect::<HashSet<_>>().into_iter().map(str::len).sum()
}

/// Unknown records matter where they hold more than one byte in this many.
const MUCH: usize = 10;

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

/// Numbers sessions of one id.
pub(crate) fn name_apart(sessions: &mut [Session]) {
    let mut ids = Ids::default();
    for session in sessions {
        session.id = ids.unique(&session.id);
    }
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
