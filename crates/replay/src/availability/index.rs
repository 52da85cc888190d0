//! What a session refers to, and where: everything about it that no strategy can change. Made once
//! per session and shared by all replays of it.

use super::edits::{preconditions, without_gutter};
use crate::identifiers::{Class, Identifier, components, identifiers, suffixes};
use foldback_core::log::{Message, Part, PartKind, Role};
use foldback_formats::Session;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// A part of the log: ordinal of the message in the log, index of the part in it.
pub(crate) type LogPart = (usize, usize);

/// One reference that a call makes.
#[derive(Clone, Debug)]
pub(crate) struct Need {
    /// Index into [`Index::references`].
    pub(crate) reference: u32,
    /// Calls since it was last seen: 1 where a result of the call before has it.
    pub(crate) distance: usize,
    /// It stood in no text and no arguments of the model before.
    pub(crate) obs: bool,
    /// Ordinal of the log message that has it last.
    pub(crate) last_seen: usize,
    /// The latest tool result that has it.
    pub(crate) source: Option<LogPart>,
}

/// The old text of one edit.
#[derive(Clone, Debug)]
pub(crate) struct EditNeed {
    pub(crate) text: Arc<str>,
    /// Parts of the log before the call that hold it, oldest first; never empty.
    pub(crate) places: Vec<LogPart>,
    /// The latest tool result that has it.
    pub(crate) source: Option<LogPart>,
}

/// What one call needs.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallNeeds {
    pub(crate) references: Vec<Need>,
    pub(crate) edits: Vec<EditNeed>,
}

/// A distinct reference of a session.
#[derive(Clone, Debug)]
pub(crate) struct Reference {
    pub(crate) class: Class,
    pub(crate) text: Arc<str>,
}

/// The references of a session and the parts of its log that have them.
#[derive(Clone, Debug)]
pub struct Index {
    pub(crate) references: Vec<Reference>,
    /// References by their text; paths also by each suffix that may stand for them.
    exact: HashMap<Arc<str>, u32>,
    shorter: HashMap<Arc<str>, Vec<u32>>,
    /// By log message and part, the references in it, ascending.
    pub(crate) parts: Vec<Vec<Arc<[u32]>>>,
    pub(crate) calls: Vec<CallNeeds>,
    pub(crate) log: Vec<Arc<Message>>,
}

impl Index {
    /// Reads a session: what each of its calls refers to, and where that stood before.
    pub fn of(session: &Session) -> Self {
        let log: Vec<Arc<Message>> = session.log().cloned().collect();
        let mut index = Self {
            references: Vec::new(),
            exact: HashMap::new(),
            shorter: HashMap::new(),
            parts: Vec::new(),
            calls: Vec::new(),
            log,
        };
        let asked = index.collect();
        let head = index.head(session);
        index.parts = index
            .log
            .iter()
            .map(|message| {
                let parts = message.parts.iter();
                parts.map(|part| index.find(&text_of(part))).collect()
            })
            .collect();
        index.calls = index.needs(&asked, &head);
        index.place_edits();
        index
    }

    /// The references that a text holds, ascending.
    pub(crate) fn find(&self, text: &str) -> Arc<[u32]> {
        let mut found = BTreeSet::new();
        for id in identifiers(text) {
            match id.class {
                Class::Path => {
                    for suffix in suffixes(id.text) {
                        if let Some(reference) = self.exact.get(suffix) {
                            found.insert(*reference);
                        }
                    }
                    if let Some(longer) = self.shorter.get(id.text) {
                        found.extend(longer.iter().copied());
                    }
                }
                _ => {
                    if let Some(reference) = self.exact.get(id.text) {
                        found.insert(*reference);
                    }
                }
            }
        }
        found.into_iter().collect()
    }

    /// Names every reference of every call; by call, the references in its arguments.
    fn collect(&mut self) -> Vec<Vec<u32>> {
        let log = std::mem::take(&mut self.log);
        let asked = log
            .iter()
            .filter(|message| message.is_answer())
            .map(|answer| {
                let mut asked = BTreeSet::new();
                for part in answer.parts.iter().filter(|part| part.as_call().is_some()) {
                    for id in identifiers(&text_of(part)) {
                        asked.insert(self.intern(id));
                    }
                }
                asked.into_iter().collect()
            })
            .collect();
        self.log = log;
        asked
    }

    fn intern(&mut self, id: Identifier<'_>) -> u32 {
        if let Some(known) = self.exact.get(id.text) {
            return *known;
        }
        let text: Arc<str> = Arc::from(id.text);
        let number = u32::try_from(self.references.len()).unwrap_or(u32::MAX);
        self.references.push(Reference { class: id.class, text: Arc::clone(&text) });
        if id.class == Class::Path {
            for suffix in suffixes(id.text).skip(1) {
                if components(suffix) >= 2 {
                    self.shorter.entry(Arc::from(suffix)).or_default().push(number);
                }
            }
        }
        self.exact.insert(text, number);
        number
    }

    /// References that the head of every request has: the frame and the first user message. No
    /// strategy can lose them, so they say nothing about one.
    fn head(&self, session: &Session) -> BTreeSet<u32> {
        let mut head = BTreeSet::new();
        for segment in &session.frame.segments {
            head.extend(self.find(&segment.text).iter().copied());
        }
        if let Some(first) = self.log.iter().find(|message| message.role == Role::User) {
            head.extend(self.find(&first.shown_text()).iter().copied());
        }
        head
    }

    fn needs(&self, asked: &[Vec<u32>], head: &BTreeSet<u32>) -> Vec<CallNeeds> {
        /// Where a reference stood so far.
        #[derive(Clone, Default)]
        struct Seen {
            /// Ordinal of the last message with it, and the number of answers up to there.
            last: Option<(usize, usize)>,
            source: Option<LogPart>,
            by_model: bool,
        }
        let mut seen = vec![Seen::default(); self.references.len()];
        let mut calls = Vec::with_capacity(asked.len());
        for (ordinal, message) in self.log.iter().enumerate() {
            if message.is_answer() {
                let call = calls.len();
                let needs = asked.get(call).into_iter().flatten();
                let references = needs
                    .filter(|reference| !head.contains(reference))
                    .filter_map(|reference| {
                        let seen = &seen[*reference as usize];
                        seen.last.map(|(last_seen, answers)| Need {
                            reference: *reference,
                            // Call t comes behind t answers; what call t - 1 brought is at 1.
                            distance: call + 1 - answers,
                            obs: !seen.by_model,
                            last_seen,
                            source: seen.source,
                        })
                    })
                    .collect();
                calls.push(CallNeeds { references, edits: Vec::new() });
            }
            for (part, found) in self.parts[ordinal].iter().enumerate() {
                for reference in found.iter() {
                    let seen = &mut seen[*reference as usize];
                    seen.last = Some((ordinal, calls.len()));
                    if message.role == Role::Tool {
                        seen.source = Some((ordinal, part));
                    }
                    seen.by_model |= message.role == Role::Assistant;
                }
            }
        }
        calls
    }

    /// Finds what the edits name in the log before them.
    fn place_edits(&mut self) {
        struct Open {
            call: usize,
            text: String,
            places: Vec<LogPart>,
        }
        let mut open: Vec<Open> = Vec::new();
        let answers = self.log.iter().filter(|message| message.is_answer());
        for (call, answer) in answers.enumerate() {
            open.extend(preconditions(answer).into_iter().map(|text| Open {
                call,
                text,
                places: Vec::new(),
            }));
        }
        let mut answered = 0;
        for (ordinal, message) in self.log.iter().enumerate() {
            answered += usize::from(message.is_answer());
            // An answer does not come before itself.
            let first = open.partition_point(|edit| edit.call < answered);
            if first == open.len() {
                break;
            }
            for (index, part) in message.parts.iter().enumerate() {
                let text = text_of(part);
                let text = without_gutter(&text);
                for edit in &mut open[first..] {
                    if text.contains(&edit.text) {
                        edit.places.push((ordinal, index));
                    }
                }
            }
        }
        for edit in open.into_iter().filter(|edit| !edit.places.is_empty()) {
            let is_result = |place: &&LogPart| self.log[place.0].role == Role::Tool;
            let source = edit.places.iter().rev().find(is_result).copied();
            self.calls[edit.call].edits.push(EditNeed {
                text: edit.text.into(),
                places: edit.places,
                source,
            });
        }
    }
}

/// The text of a part as references are looked for in it: JSON arguments without their syntax and
/// their field names, one value a line.
pub(crate) fn text_of(part: &Part) -> Cow<'_, str> {
    let PartKind::Call(call) = &part.kind else {
        return part.shown();
    };
    match serde_json::from_str::<Value>(&call.arguments) {
        Ok(value) => {
            let mut out = String::with_capacity(call.arguments.len());
            leaves(&value, &mut out);
            Cow::Owned(out)
        }
        Err(_) => Cow::Borrowed(&call.arguments),
    }
}

fn leaves(value: &Value, out: &mut String) {
    match value {
        Value::String(text) => {
            out.push_str(text);
            out.push('\n');
        }
        Value::Number(number) => {
            out.push_str(&number.to_string());
            out.push('\n');
        }
        Value::Array(values) => values.iter().for_each(|value| leaves(value, out)),
        Value::Object(fields) => fields.values().for_each(|value| leaves(value, out)),
        Value::Null | Value::Bool(_) => {}
    }
}
