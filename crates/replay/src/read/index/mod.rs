//! The content of a session, read once: its identifiers, what each call refers to, and where that
//! was before. No strategy can change any of it, so all replays of a session share it.
//!
//! [`Tracker`] follows one replay over it: which of these things a view holds.

mod edits;
mod lines;
mod needles;
mod repeated;
pub(crate) mod text;
mod tracker;

pub use tracker::Presence;
pub(crate) use tracker::Texts;
pub use tracker::Tracker;

pub(crate) use foldback_core::log::acts::{Action, failure_line};
pub(crate) use lines::{is_beside_match, lines_of, plain_line};
pub(crate) use needles::NeedleId;
pub(crate) use repeated::{LineContents, RepeatedRead};

use crate::number;
use crate::read::identifiers::evidence::{Numbers, figures, telling};
use crate::read::identifiers::{Class, Identifier, components, ends_with, identifiers, suffixes};
use crate::read::verbatim::{PieceId, Verbatim};
use edits::{OldText, old_texts, preconditions};
use foldback_core::carry::PinPattern;
use foldback_core::log::acts::{actions, is_failure};
use foldback_core::log::{Message, Part, PartKind, Role};
use foldback_formats::Session;
use needles::{Names, Needles};
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::collections::{BTreeSet, HashMap};
use std::hash::BuildHasher as _;
use std::panic::resume_unwind;
use std::sync::Arc;
use text::text_of;

/// A part of the log: ordinal of the message in the log, index of the part in it.
pub(crate) type LogPart = (usize, usize);

/// Number of an identifier of a session.
pub(crate) type Id = u32;

/// What is known of an identifier.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) text: Arc<str>,
    pub(crate) class: Class,
    /// The model said it first, in text or in the arguments of a call.
    by_model: bool,
}

/// An identifier that some call uses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AskedIdentifier {
    pub(crate) id: Id,
    /// Its class in the arguments of the first call that uses it.
    pub(crate) class: Class,
}

/// One reference that a call makes.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReferenceNeed {
    /// Index into [`Index::asked`].
    pub(crate) reference: u32,
    pub(crate) id: Id,
    /// Calls since it was last seen: 1 where a result of the call before has it.
    pub(crate) distance: usize,
    /// It stood in no text and no arguments of the model before.
    pub(crate) obs: bool,
    /// Ordinal of the log message that has it last.
    pub(crate) last_seen: usize,
    /// The latest tool result that has it.
    pub(crate) source: Option<LogPart>,
}

/// The old text of one edit that had been in the log before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EditNeed {
    pub(crate) needle: NeedleId,
    /// Number of parts of the log that hold it before the call.
    places: usize,
    /// The latest tool result that has it.
    pub(crate) source: Option<LogPart>,
}

/// What one call needs.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallNeeds {
    pub(crate) references: Vec<ReferenceNeed>,
    pub(crate) edits: Vec<EditNeed>,
}

/// A sentence of the user's that forbids or demands something for the time to come.
#[derive(Clone, Debug)]
pub(crate) struct UserRule {
    /// The parts that say it; never empty.
    pub(crate) at: Vec<LogPart>,
    pub(crate) needle: NeedleId,
    /// The identifiers in it.
    pub(crate) names: Vec<Id>,
}

/// The identifiers of a session, the parts of its log that have them, and the calls that need them.
#[derive(Clone, Debug, Default)]
pub struct Index {
    pub(crate) log: Vec<Arc<Message>>,
    pub(crate) entries: Vec<Entry>,
    /// Identifiers from here on occur only in names of tools and in keys of arguments. They count for the faithfulness of
    /// summaries and not for retention.
    syntax_from: usize,
    exact: FxHashMap<Arc<str>, Id>,
    /// By the hash of a proper suffix, the paths that may end with it: the text of a suffix is in that of the path.
    longer: FxHashMap<u64, SmallVec<[Id; 2]>>,
    /// By message of the log, where its parts begin in [`Index::parts`]; one more at the end.
    first: Vec<usize>,
    /// By part of the log, the identifiers that it makes present, ascending.
    parts: Vec<Arc<[Id]>>,
    /// By part of the log, the identifiers of a call's name and raw arguments.
    syntax: Vec<Arc<[Id]>>,
    /// The identifiers that calls use, in the order of their first use.
    pub(crate) asked: Vec<AskedIdentifier>,
    /// By identifier, its index in `asked`; `u32::MAX` for all that no call uses.
    reference: Vec<u32>,
    pub(crate) calls: Vec<CallNeeds>,
    /// Old texts of edits, and rules of users.
    needles: Needles,
    /// By needle, the parts of the log that hold it, as far as a later edit names it; ascending.
    held: Vec<Vec<LogPart>>,
    /// The parts that the user wrote.
    pub(crate) instructions: Vec<LogPart>,
    /// The user's rules, in the order in which they were given.
    pub(crate) rules: Vec<UserRule>,
    /// What calls reuse word for word.
    pub(crate) verbatim: Verbatim,
    /// Names of tools and of their arguments.
    schema: FxHashSet<Arc<str>>,
    /// By message of the log, whether it reports a failure.
    pub(crate) failed: Vec<bool>,
    /// What calls did with files, in order.
    pub(crate) acts: Vec<(LogPart, Action, String)>,
}

impl Index {
    /// Reads a session.
    pub fn new(session: &Session) -> Self {
        let mut index = Self { log: session.log().cloned().collect(), ..Self::default() };
        let log = std::mem::take(&mut index.log);
        // The two judges know nothing of each other.
        let (edits, asked, head) = std::thread::scope(|scope| {
            let verbatim = scope.spawn(|| Verbatim::read(&log));
            let edits = index.collect_needles(&log);
            let asked = index.read(&log, edits.last().map_or(0, |edit| edit.answer));
            index.read_syntax(&log);
            let head = index.head(session, &log);
            index.verbatim = verbatim.join().unwrap_or_else(|panic| resume_unwind(panic));
            (edits, asked, head)
        });
        index.log = log;
        index.place(&asked, &head);
        index.place_edits(&edits);
        index
    }

    /// The identifiers that a part of the log makes present, ascending.
    pub(crate) fn part(&self, at: LogPart) -> &Arc<[Id]> {
        &self.parts[self.flat(at)]
    }

    /// The identifiers of the name and the raw arguments of a call.
    pub(crate) fn syntax(&self, at: LogPart) -> &Arc<[Id]> {
        &self.syntax[self.flat(at)]
    }

    /// The index in [`Index::asked`] of an identifier that some call uses.
    pub(crate) fn reference(&self, id: Id) -> Option<u32> {
        self.reference.get(id as usize).copied().filter(|reference| *reference != u32::MAX)
    }

    /// The references, by their index in [`Index::asked`], among identifiers; ascending.
    pub(crate) fn references_among(&self, ids: &[Id]) -> Vec<u32> {
        let mut found: Vec<u32> = ids.iter().filter_map(|id| self.reference(*id)).collect();
        found.sort_unstable();
        found
    }

    /// The parts of the log before its call that hold the old text of an edit, ascending; never empty.
    pub(crate) fn places(&self, edit: &EditNeed) -> &[LogPart] {
        &self.held[edit.needle as usize][..edit.places]
    }

    /// Whether a part of the log is a call that edits by old text.
    pub(crate) fn is_edit(&self, (ordinal, part): LogPart) -> bool {
        self.log[ordinal].parts[part].as_call().is_some_and(|call| !old_texts(call).is_empty())
    }

    /// A rule in the user's words.
    pub(crate) fn rule_text(&self, rule: &UserRule) -> &str {
        self.needles.said(rule.needle)
    }

    /// The old text of an edit, in the words of the first edit that names it.
    pub(crate) fn old_text(&self, edit: &EditNeed) -> &str {
        self.needles.words(edit.needle)
    }

    /// The same as it is looked for, line by line.
    pub(crate) fn old_lines(&self, edit: &EditNeed) -> &str {
        self.needles.lines(edit.needle)
    }

    /// The file that an edit names.
    pub(crate) fn file_of(&self, edit: &EditNeed) -> Option<&str> {
        self.needles.path(edit.needle)
    }

    /// The old texts that some lines of a part of the log hold.
    pub(crate) fn needles_of(&self, at: LogPart, lines: &str) -> Box<[NeedleId]> {
        let mut found = self.needles.any_old_in(lines);
        found.retain(|needle| self.held[*needle as usize].binary_search(&at).is_ok());
        found.into()
    }

    /// The reused pieces that a part of the log holds, if it is a tool result.
    pub(crate) fn pieces(&self, at: LogPart) -> &[PieceId] {
        self.verbatim.part(self.flat(at))
    }

    /// The identifiers that a text makes present, ascending: those in it and, for paths, those that
    /// [can mean the same file](crate::read::identifiers::same_path).
    pub(crate) fn find(&self, text: &str) -> Arc<[Id]> {
        self.made_present(identifiers(text))
    }

    /// The same for the identifiers of a text.
    fn made_present<'t>(&self, said: impl Iterator<Item = Identifier<'t>>) -> Arc<[Id]> {
        let mut found = Vec::new();
        said.for_each(|id| self.present(id, &mut found));
        found.retain(|id| (*id as usize) < self.syntax_from);
        ascending(found)
    }

    /// Whether one of the known identifiers that make `id` present is `there`.
    pub(crate) fn supported(&self, id: Identifier<'_>, there: impl Fn(Id) -> bool) -> bool {
        if id.class != Class::Path {
            return self.exact.get(id.text).is_some_and(|known| there(*known));
        }
        let shorter = suffixes(id.text)
            .enumerate()
            .filter(|(cut, suffix)| *cut == 0 || components(suffix) >= 2)
            .filter_map(|(_, suffix)| self.exact.get(suffix));
        let longer = self.longer(id.text);
        shorter.chain(longer).any(|known| there(*known))
    }

    /// Whether a text is the beginning of a longer known identifier that is `there`. Looks at all of
    /// them.
    pub(crate) fn begins(&self, text: &str, there: impl Fn(Id) -> bool) -> bool {
        let mut known = self.entries.iter().zip(0..);
        known.any(|(entry, id)| {
            entry.text.len() > text.len() && entry.text.starts_with(text) && there(id)
        })
    }

    /// The known paths that have a path as their proper suffix.
    fn longer<'a>(&'a self, path: &'a str) -> impl Iterator<Item = &'a Id> {
        let found = self.longer.get(&FxBuildHasher.hash_one(path)).into_iter().flatten();
        found.filter(move |id| ends_with(&self.entries[**id as usize].text, path))
    }

    /// A part of the log by its number among all.
    pub(crate) fn part_at(&self, number: usize) -> LogPart {
        let ordinal = self.first.partition_point(|first| *first <= number).saturating_sub(1);
        (ordinal, number - self.first[ordinal])
    }

    fn flat(&self, (ordinal, part): LogPart) -> usize {
        self.first[ordinal] + part
    }

    /// The known identifiers that one of a text makes present.
    fn present(&self, id: Identifier<'_>, out: &mut Vec<Id>) {
        if id.class != Class::Path {
            out.extend(self.exact.get(id.text));
            return;
        }
        out.extend(suffixes(id.text).filter_map(|suffix| self.exact.get(suffix)));
        if components(id.text) >= 2 {
            out.extend(self.longer(id.text));
        }
    }

    fn intern(&mut self, id: Identifier<'_>, by_model: bool) -> Id {
        if let Some(known) = self.exact.get(id.text) {
            return *known;
        }
        let number: Id = number::next(self.entries.len());
        let text: Arc<str> = Arc::from(id.text);
        if id.class == Class::Path {
            for suffix in suffixes(id.text).skip(1) {
                let longer = self.longer.entry(FxBuildHasher.hash_one(suffix)).or_default();
                longer.push(number);
            }
        }
        self.exact.insert(Arc::clone(&text), number);
        let class = id.class;
        self.entries.push(Entry { text, class, by_model });
        number
    }

    /// Collects what must be kept: failures, the old texts of edits, and what users wrote.
    fn collect_needles(&mut self, log: &[Arc<Message>]) -> Vec<Edit> {
        let mut edits = Vec::new();
        let mut call = 0;
        for (ordinal, message) in log.iter().enumerate() {
            if message.is_answer() {
                let named = |old: OldText| Edit {
                    call,
                    answer: ordinal,
                    needle: self.needles.add_old(&old),
                };
                edits.extend(preconditions(message).into_iter().map(named));
                call += 1;
            }
            self.failed.push(is_failure(message));
            for (at, part) in message.parts.iter().enumerate() {
                let acts = actions(part).into_iter();
                self.acts.extend(acts.map(|(action, path)| ((ordinal, at), action, path)));
            }
        }
        let rules = PinPattern::try_from(PinPattern::RULES.to_owned()).ok();
        for (ordinal, message) in log.iter().enumerate() {
            for part in instructions(message) {
                let (text, at) = (message.parts[part].shown(), (ordinal, part));
                self.instructions.push(at);
                for rule in rules.iter().flat_map(|rules| rules.sentences(&text)) {
                    let needle = self.needles.add_said(rule);
                    match self.rules.iter_mut().find(|rule| rule.needle == needle) {
                        Some(rule) => rule.at.push(at),
                        None => {
                            self.rules.push(UserRule { at: vec![at], needle, names: Vec::new() });
                        }
                    }
                }
            }
        }
        self.needles.build();
        self.held = vec![Vec::new(); self.needles.old()];
        edits
    }

    /// Reads every part once: names its identifiers, and finds the old texts of edits in what stands
    /// before the message `edits_until`. By call, the references in its arguments.
    fn read(&mut self, log: &[Arc<Message>], edits_until: usize) -> Vec<BTreeSet<u32>> {
        let mut asked: Vec<BTreeSet<u32>> = Vec::new();
        let mut spoken: Vec<Vec<Id>> = Vec::new();
        // By call that is not answered yet, the files that it names: its result is of them too.
        let mut open: HashMap<&str, Names> = HashMap::new();
        for (ordinal, message) in log.iter().enumerate() {
            self.first.push(spoken.len());
            let mut refers = message.is_answer().then(BTreeSet::new);
            for (part_index, part) in message.parts.iter().enumerate() {
                let text = text_of(part, &mut |name| self.name_tool(name));
                if let Some(call) = part.as_call() {
                    self.name_tool(&call.tool);
                }
                let mut ids = Vec::new();
                for id in identifiers(&text) {
                    let class = id.class;
                    let id = self.intern(id, message.role == Role::Assistant);
                    ids.push(id);
                    if let (Some(refers), Some(_)) = (&mut refers, part.as_call()) {
                        refers.insert(self.ask(id, class));
                    }
                }
                ids.sort_unstable();
                ids.dedup();
                spoken.push(ids);
                if ordinal < edits_until {
                    let mut names = self.needles.names_in(&text);
                    if let Some(call) = part.as_call() {
                        open.insert(&call.call_id, names.clone());
                    } else if let Some(result) = part.as_result() {
                        names.extend(open.get(&*result.call_id).into_iter().flatten());
                        names.sort_unstable();
                    }
                    for needle in self.needles.old_in(&text, &names) {
                        self.held[needle as usize].push((ordinal, part_index));
                    }
                }
            }
            asked.extend(refers);
        }
        self.first.push(spoken.len());
        let mut rules = std::mem::take(&mut self.rules);
        for rule in &mut rules {
            let text = Arc::clone(self.needles.said(rule.needle));
            rule.names = identifiers(&text).map(|name| self.intern(name, false)).collect();
        }
        self.rules = rules;
        self.syntax_from = self.entries.len();
        self.reference.resize(self.entries.len(), u32::MAX);
        // What an identifier makes present is known once all are.
        let mut present: Vec<Option<Box<[Id]>>> = vec![None; self.entries.len()];
        let mut all = Vec::new();
        self.parts = spoken
            .into_iter()
            .map(|ids| {
                all.clear();
                for id in ids {
                    if self.entries[id as usize].class != Class::Path {
                        all.push(id);
                        continue;
                    }
                    let present = present[id as usize].get_or_insert_with(|| {
                        let Entry { text, class, .. } = &self.entries[id as usize];
                        let mut found = Vec::new();
                        self.present(Identifier { class: *class, text }, &mut found);
                        found.into()
                    });
                    all.extend_from_slice(present);
                }
                ascending(all.clone())
            })
            .collect();
        asked
    }

    /// Takes note of a name that the tools give, not the session.
    fn name_tool(&mut self, name: &str) {
        if !self.schema.contains(name) {
            self.schema.insert(Arc::from(name));
        }
    }

    /// The index in [`Index::asked`] of an identifier that a call uses.
    fn ask(&mut self, id: Id, class: Class) -> u32 {
        if self.reference.len() < self.entries.len() {
            self.reference.resize(self.entries.len(), u32::MAX);
        }
        let reference = &mut self.reference[id as usize];
        if *reference == u32::MAX {
            *reference = number::next(self.asked.len());
            self.asked.push(AskedIdentifier { id, class });
        }
        *reference
    }

    fn read_syntax(&mut self, log: &[Arc<Message>]) {
        let none: Arc<[Id]> = Arc::default();
        for part in log.iter().flat_map(|message| &message.parts) {
            let ids = part.as_call().map(|call| {
                let raw = identifiers(&call.tool).chain(identifiers(&call.arguments));
                ascending(raw.map(|id| self.intern(id, true)).collect())
            });
            self.syntax.push(ids.unwrap_or_else(|| Arc::clone(&none)));
        }
    }

    /// Identifiers that the head of every request has: the frame and the first user message. No
    /// strategy can lose them, so they say nothing about one.
    fn head(&mut self, session: &Session, log: &[Arc<Message>]) -> BTreeSet<Id> {
        let mut head = BTreeSet::new();
        for segment in session.frame.segments() {
            head.extend(self.find(&segment.text).iter().copied());
        }
        if let Some(first) = log.iter().position(|message| message.role == Role::User) {
            let parts = &self.parts[self.first[first]..self.first[first + 1]];
            head.extend(parts.iter().flat_map(|ids| ids.iter().copied()));
        }
        head
    }

    /// Finds out which call uses what, how far it was away, and where it stands.
    fn place(&mut self, asked: &[BTreeSet<u32>], head: &BTreeSet<Id>) {
        /// Where a reference stood so far.
        #[derive(Clone, Default)]
        struct Sighting {
            /// Ordinal of the last message with it, and the number of answers up to there.
            last: Option<(usize, usize)>,
            source: Option<LogPart>,
            by_model: bool,
        }
        let mut seen = vec![Sighting::default(); self.asked.len()];
        let mut numbers = Numbers::default();
        let figures = |entry: &Entry| figures(entry.class, &entry.text);
        // By identifier, the figures of a number that was not said yet.
        let mut new: Vec<Option<usize>> = self.entries.iter().map(figures).collect();
        for (ordinal, message) in self.log.iter().enumerate() {
            if message.is_answer() {
                let call = self.calls.len();
                let mut references = Vec::new();
                for reference in &asked[call] {
                    let id = self.asked[*reference as usize].id;
                    let seen = &seen[*reference as usize];
                    let class = self.asked[*reference as usize].class;
                    if let (Some((last_seen, answers)), false) = (seen.last, head.contains(&id))
                        && self.is_evidence(id, class, &numbers)
                    {
                        references.push(ReferenceNeed {
                            reference: *reference,
                            id,
                            // Call t comes after t answers; what call t - 1 brought is at 1.
                            distance: call + 1 - answers,
                            obs: !seen.by_model,
                            last_seen,
                            source: seen.source,
                        });
                    }
                }
                self.calls.push(CallNeeds { references, edits: Vec::new() });
            }
            for part in 0..message.parts.len() {
                for id in self.parts[self.first[ordinal] + part].iter() {
                    if let Some(figures) = new[*id as usize].take() {
                        numbers.add(figures);
                    }
                    let Some(reference) = self.reference(*id) else { continue };
                    let seen = &mut seen[reference as usize];
                    seen.last = Some((ordinal, self.calls.len()));
                    if message.role == Role::Tool {
                        seen.source = Some((ordinal, part));
                    }
                    seen.by_model |= message.role == Role::Assistant;
                }
            }
        }
    }

    /// Whether that something stood before is evidence that a call refers to it
    /// ([`crate::read::identifiers::evidence`]).
    fn is_evidence(&self, id: Id, class: Class, numbers: &Numbers) -> bool {
        let Entry { text, by_model, .. } = &self.entries[id as usize];
        telling(class, text)
            && !self.schema.contains(text)
            && !figures(class, text).is_some_and(|figures| numbers.common(figures))
            && (class != Class::Flag || !by_model)
    }

    /// Records where the old text of each edit was before the call.
    fn place_edits(&mut self, edits: &[Edit]) {
        for Edit { call, answer, needle } in edits {
            let held = &self.held[*needle as usize];
            let before = &held[..held.partition_point(|(ordinal, _)| ordinal < answer)];
            if before.is_empty() {
                continue;
            }
            let is_result = |place: &&LogPart| self.log[place.0].role == Role::Tool;
            let source = before.iter().rev().find(is_result).copied();
            let places = before.len();
            self.calls[*call].edits.push(EditNeed { needle: *needle, places, source });
        }
    }
}

/// An edit that an answer asks for.
#[derive(Clone, Copy, Debug)]
struct Edit {
    call: usize,
    /// Ordinal of the answer.
    answer: usize,
    needle: NeedleId,
}

fn ascending(mut ids: Vec<Id>) -> Arc<[Id]> {
    ids.sort_unstable();
    ids.dedup();
    ids.into()
}

/// The parts of a message that a user wrote; empty where the harness wrote it all.
fn instructions(message: &Message) -> Vec<usize> {
    if message.role != Role::User || message.is_entry() {
        return Vec::new();
    }
    let written = |part: &Part| match &part.kind {
        PartKind::Text { text, synthetic, ignored } => {
            !synthetic && !ignored && !text.trim().is_empty()
        }
        _ => false,
    };
    (0..message.parts.len()).filter(|index| written(&message.parts[*index])).collect()
}
