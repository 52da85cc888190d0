//! Every identifier of a session and where it stands: what no strategy can change. Made once per
//! session and shared by all replays of it.
//!
//! [`Index`](crate::availability::Index) knows the identifiers that the agent's calls use; how long
//! facts live and what a summary makes of its source are questions about all of them.

use crate::availability::text_of;
use crate::identifiers::{Class, Identifier, components, identifiers, suffixes};
use foldback_core::log::Role;
use foldback_formats::Session;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Number of an identifier in a [`Vocabulary`].
pub(super) type Id = u32;

/// Who said something first.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// The result of a tool.
    Tool,
    /// The user, or the harness in the user's name.
    User,
    /// The model, in text or in the arguments of a call.
    Assistant,
}

impl Source {
    /// All sources, in the order of reports.
    pub const ALL: [Self; 3] = [Self::Tool, Self::User, Self::Assistant];

    fn of(role: Role) -> Self {
        match role {
            Role::Tool => Self::Tool,
            Role::Assistant => Self::Assistant,
            _ => Self::User,
        }
    }
}

/// What is known of an identifier.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) class: Class,
    /// Who said it first.
    pub(super) source: Source,
    /// The frame has it: it stands in every request.
    pub(super) in_frame: bool,
    /// Number of the last call whose arguments have it.
    pub(super) last_asked: Option<usize>,
}

/// An identifier that a call uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Need {
    pub(super) id: Id,
    /// Calls since it last stood in the log: 1 for what the call before brought.
    pub(super) distance: usize,
}

/// The identifiers of a session and the parts of its log that have them.
#[derive(Clone, Debug, Default)]
pub struct Vocabulary {
    pub(super) entries: Vec<Entry>,
    /// Identifiers from here on stand only in the names of tools and in the JSON syntax of arguments.
    /// A summary may take them from there, but no view is asked for them.
    syntax_from: usize,
    /// By log message and part, the identifiers of a call's name and raw arguments.
    syntax: HashMap<(usize, usize), Arc<[Id]>>,
    exact: HashMap<Arc<str>, Id>,
    /// By proper suffix, the paths that end with it.
    longer: HashMap<Arc<str>, Vec<Id>>,
    /// By log message and part, the identifiers that it makes present, ascending.
    parts: Vec<Vec<Arc<[Id]>>>,
    /// By call, the identifiers in its arguments that had stood in the log before; without those of
    /// the head (frame and first user message), which say nothing about a strategy.
    pub(super) needs: Vec<Vec<Need>>,
    /// Identifiers that some call uses, ascending.
    pub(super) asked: Vec<Id>,
    /// By identifier that some call uses, the parts of the log that have it: (ordinal, part),
    /// ascending. Empty for all others.
    pub(super) occurrences: Vec<Vec<(usize, usize)>>,
}

impl Vocabulary {
    /// Reads a session.
    pub fn of(session: &Session) -> Self {
        let mut vocabulary = Self::default();
        let log: Vec<_> = session.log().collect();
        let mut asked: Vec<BTreeSet<Id>> = Vec::new();
        for message in &log {
            let answers = message.is_answer();
            if answers {
                asked.push(BTreeSet::new());
            }
            for part in &message.parts {
                for id in identifiers(&text_of(part)) {
                    let id = vocabulary.intern(id, Source::of(message.role));
                    if answers
                        && part.as_call().is_some()
                        && let Some(asked) = asked.last_mut()
                    {
                        asked.insert(id);
                    }
                }
            }
        }
        vocabulary.syntax_from = vocabulary.entries.len();
        vocabulary.parts = log
            .iter()
            .map(|message| {
                let parts = message.parts.iter();
                parts.map(|part| vocabulary.find(&text_of(part))).collect()
            })
            .collect();
        for (ordinal, message) in log.iter().enumerate() {
            for (index, part) in message.parts.iter().enumerate() {
                let Some(call) = part.as_call() else {
                    continue;
                };
                let raw = identifiers(&call.tool).chain(identifiers(&call.arguments));
                let ids: BTreeSet<Id> =
                    raw.map(|id| vocabulary.intern(id, Source::Assistant)).collect();
                let ids = ids.into_iter().collect();
                vocabulary.syntax.insert((ordinal, index), ids);
            }
        }
        let mut head = BTreeSet::new();
        for segment in &session.frame.segments {
            head.extend(vocabulary.find(&segment.text).iter().copied());
        }
        for id in &head {
            vocabulary.entries[*id as usize].in_frame = true;
        }
        if let Some(first) = log.iter().position(|message| message.role == Role::User) {
            head.extend(vocabulary.parts[first].iter().flat_map(|ids| ids.iter()));
        }
        let answers: Vec<bool> = log.iter().map(|message| message.is_answer()).collect();
        vocabulary.place(&answers, &asked, &head);
        vocabulary
    }

    /// Number of calls of the session.
    pub fn calls(&self) -> usize {
        self.needs.len()
    }

    /// Number of distinct identifiers.
    pub fn len(&self) -> usize {
        self.syntax_from
    }

    /// Whether the session has no identifier at all.
    pub fn is_empty(&self) -> bool {
        self.syntax_from == 0
    }

    /// The identifiers of the name and the raw arguments of a call.
    pub(super) fn syntax(&self, ordinal: usize, part: usize) -> Arc<[Id]> {
        self.syntax.get(&(ordinal, part)).cloned().unwrap_or_default()
    }

    /// The identifiers that a part of the log makes present.
    pub(super) fn part(&self, ordinal: usize, part: usize) -> Arc<[Id]> {
        let message = self.parts.get(ordinal);
        let ids = message.and_then(|parts| parts.get(part));
        ids.cloned().unwrap_or_default()
    }

    /// The known identifiers that a text makes present, ascending: those in it and, for paths, those
    /// that [can mean the same file](crate::identifiers::same_path).
    pub(super) fn find(&self, text: &str) -> Arc<[Id]> {
        let mut found = BTreeSet::new();
        for id in identifiers(text) {
            if id.class != Class::Path {
                found.extend(self.exact.get(id.text));
                continue;
            }
            found.extend(suffixes(id.text).filter_map(|suffix| self.exact.get(suffix)));
            if components(id.text) >= 2
                && let Some(longer) = self.longer.get(id.text)
            {
                found.extend(longer.iter().copied());
            }
        }
        let syntax_from = self.syntax_from;
        let known = found.into_iter();
        known.filter(|id| (*id as usize) < syntax_from).collect()
    }

    /// Whether one of the known identifiers that make `id` present is `there`.
    pub(super) fn supported(&self, id: Identifier<'_>, there: impl Fn(Id) -> bool) -> bool {
        if id.class != Class::Path {
            return self.exact.get(id.text).is_some_and(|known| there(*known));
        }
        let shorter = suffixes(id.text)
            .enumerate()
            .filter(|(cut, suffix)| *cut == 0 || components(suffix) >= 2)
            .filter_map(|(_, suffix)| self.exact.get(suffix));
        let longer = self.longer.get(id.text).into_iter().flatten();
        shorter.chain(longer).any(|known| there(*known))
    }

    /// Whether a text is the beginning of a longer known identifier that is `there`. Looks at all of
    /// them.
    pub(super) fn begins(&self, text: &str, there: impl Fn(Id) -> bool) -> bool {
        self.exact
            .iter()
            .any(|(known, id)| known.len() > text.len() && known.starts_with(text) && there(*id))
    }

    fn intern(&mut self, id: Identifier<'_>, source: Source) -> Id {
        if let Some(known) = self.exact.get(id.text) {
            return *known;
        }
        let number = Id::try_from(self.entries.len()).unwrap_or(Id::MAX);
        self.entries.push(Entry { class: id.class, source, in_frame: false, last_asked: None });
        if id.class == Class::Path {
            for suffix in suffixes(id.text).skip(1) {
                match self.longer.get_mut(suffix) {
                    Some(longer) => longer.push(number),
                    None => {
                        self.longer.insert(Arc::from(suffix), vec![number]);
                    }
                }
            }
        }
        self.exact.insert(Arc::from(id.text), number);
        number
    }

    /// Finds out which call uses what, how far it was away, and where it stands.
    fn place(&mut self, answers: &[bool], asked: &[BTreeSet<Id>], head: &BTreeSet<Id>) {
        for (call, ids) in asked.iter().enumerate() {
            for id in ids {
                self.entries[*id as usize].last_asked = Some(call);
            }
        }
        let all: BTreeSet<Id> = asked.iter().flatten().copied().collect();
        let mut occurrences = vec![Vec::new(); self.entries.len()];
        // Per identifier, the number of answers up to the last message that has it.
        let mut seen: Vec<Option<usize>> = vec![None; self.entries.len()];
        let mut needs: Vec<Vec<Need>> = Vec::with_capacity(asked.len());
        for (ordinal, parts) in self.parts.iter().enumerate() {
            if answers[ordinal] {
                let call = needs.len();
                let ids = asked[call].iter().filter(|id| !head.contains(id));
                let known = ids.filter_map(|id| {
                    seen[*id as usize].map(|answers| Need { id: *id, distance: call + 1 - answers })
                });
                needs.push(known.collect());
            }
            for (part, ids) in parts.iter().enumerate() {
                for id in ids.iter() {
                    seen[*id as usize] = Some(needs.len());
                    if all.contains(id) {
                        occurrences[*id as usize].push((ordinal, part));
                    }
                }
            }
        }
        self.needs = needs;
        self.asked = all.into_iter().collect();
        self.occurrences = occurrences;
    }
}
