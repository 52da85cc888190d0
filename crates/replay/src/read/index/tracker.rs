//! Which identifiers and which texts are in the view of a replay now. Follows the conversation by
//! what changed since the request before, so its cost does not grow with the history.

use super::{EditNeed, Id, Index, LogPart, NeedleId, RepeatedRead};
use crate::read::identifiers::{Class, Identifier, identifiers};
use crate::read::verbatim::PieceId;
use foldback_core::conversation::Conversation;
use foldback_core::delta::ViewDelta;
use foldback_core::view::{EditKind, PartPos, Place, Pos};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// The texts that compactions wrote, each read once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Texts {
    written: Vec<WrittenText>,
    known: FxHashMap<Arc<str>, WrittenId>,
}

/// How a part is in the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The view does not show the message.
    Hidden,
    /// As it was recorded, or as a compaction appended it.
    Original,
    /// With another text in its place.
    Edited(EditKind, WrittenId),
}

/// Number of a text that a compaction wrote.
type WrittenId = usize;

/// What a text that a compaction wrote holds. Placeholders repeat, so each text is read once.
#[derive(Clone, Debug)]
struct WrittenText {
    ids: Arc<[Id]>,
    needles: Box<[NeedleId]>,
    pieces: Box<[PieceId]>,
}

/// What a part says as it was appended.
#[derive(Clone, Copy, Debug)]
enum Content {
    Log(LogPart),
    Entry(WrittenId),
    /// A read repeats this part of the log.
    Copy(LogPart),
    /// A read asks for it.
    Asking,
}

#[derive(Clone, Debug)]
struct Part {
    state: State,
    content: Content,
    /// Number of the first call whose view did not show it as it was.
    left_at: Option<usize>,
}

/// How a reference is in the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Presence {
    /// It is there.
    pub kept: bool,
    /// It is only in what a compaction wrote (summary, placeholder), in no original any more.
    pub rescued: bool,
    /// Number of the first call since which no view has had it; `None` where it is kept.
    pub left_view_at: Option<usize>,
}

/// A set that is emptied in the time that it took to fill.
#[derive(Clone, Debug)]
struct Marks {
    marked: Vec<bool>,
    list: Vec<Id>,
}

impl Marks {
    fn new(length: usize) -> Self {
        Self { marked: vec![false; length], list: Vec::new() }
    }

    fn insert(&mut self, id: Id) {
        if !std::mem::replace(&mut self.marked[id as usize], true) {
            self.list.push(id);
        }
    }

    fn take(&mut self) -> Vec<Id> {
        for id in &self.list {
            self.marked[*id as usize] = false;
        }
        let room = Vec::with_capacity(self.list.len());
        std::mem::replace(&mut self.list, room)
    }
}

/// Follows one conversation.
#[derive(Clone, Debug)]
pub struct Tracker {
    index: Arc<Index>,
    /// By position, where its parts begin; one more at the end.
    first: Vec<usize>,
    parts: Vec<Part>,
    /// Position in the history of each message of the log.
    positions: Vec<Pos>,
    /// The inserts that are shown, and what they say.
    inserts: BTreeMap<usize, WrittenId>,
    texts: Texts,
    /// Identifiers of the texts that were first read since the request before, by where they stand: summaries are read
    /// once more.
    said: BTreeMap<WrittenId, Vec<(Class, Range<usize>)>>,
    /// Per identifier, the number of parts that show it as it was recorded.
    original: Vec<u32>,
    /// Per identifier, the number of shown texts of compactions that have it.
    rewritten: Vec<u32>,
    /// Per identifier, the number of parts of the log that have it and are not shown as recorded.
    gone: Vec<u32>,
    /// By index in [`Index::asked`], the first call whose view did not have it.
    left: Vec<Option<usize>>,
    /// Reads that stand in the conversation and are not appended yet, by position.
    reads: FxHashMap<Pos, Content>,
    /// Per part of the log, the number of reads that show it whole and as it was recorded.
    copies: FxHashMap<LogPart, u32>,
    /// Whether identifiers are followed too.
    names: bool,
    /// Per needle, the number of shown texts of compactions that hold it.
    held: Vec<u32>,
    /// Per reused piece, the number of tool results that are shown as recorded and of shown texts of
    /// compactions that hold it.
    pieces: Vec<u32>,
    touched: Marks,
    /// Parts that were looked at so far.
    looked_at: u64,
}

impl Tracker {
    /// A tracker at the beginning of a replay.
    pub(crate) fn new(index: Arc<Index>) -> Self {
        let ids = index.entries.len();
        Self {
            first: vec![0],
            parts: Vec::new(),
            positions: Vec::new(),
            inserts: BTreeMap::new(),
            texts: Texts::default(),
            said: BTreeMap::new(),
            original: vec![0; ids],
            rewritten: vec![0; ids],
            gone: vec![0; ids],
            left: vec![None; index.asked.len()],
            reads: FxHashMap::default(),
            copies: FxHashMap::default(),
            names: true,
            held: vec![0; index.needles.len()],
            pieces: vec![0; index.verbatim.len()],
            touched: Marks::new(ids),
            looked_at: 0,
            index,
        }
    }

    /// The same that follows old texts and pieces alone, and no identifiers. It is to have the texts that this one has read at the end.
    pub(crate) fn without_names(&mut self) -> Self {
        let texts = std::mem::take(&mut self.texts);
        let copy = self.clone();
        self.texts = texts;
        Self { names: false, ..copy }
    }

    /// What it reads, for another replay of the session.
    pub(crate) fn texts(&mut self) -> &mut Texts {
        &mut self.texts
    }

    /// Two messages of the conversation are no part of the log: an answer that has something read again, and its result.
    /// To be called before they are taken over.
    pub(crate) fn place_read(&mut self, read: &RepeatedRead, answer: Pos, result: Pos) {
        self.reads.insert(answer, Content::Asking);
        let content = match &read.excerpt {
            None => Content::Copy(read.source),
            Some(held) => {
                let (needles, pieces) = (held.needles.clone(), held.pieces.clone());
                self.texts.written.push(WrittenText { ids: Arc::default(), needles, pieces });
                Content::Entry(self.texts.written.len() - 1)
            }
        };
        self.reads.insert(result, content);
    }

    /// Takes over what changed before the request of `call`.
    pub(crate) fn update(&mut self, conversation: &Conversation, delta: &ViewDelta, call: usize) {
        self.said.clear();
        for pos in delta.appended.clone() {
            self.append(conversation, pos);
        }
        for pos in delta.positions() {
            self.show(conversation, pos, call);
        }
        for place in &delta.shown {
            if let Place::Insert(insert) = place {
                let message = conversation.view().message(conversation.history(), *place);
                let text = self.write(&message.shown_text());
                self.inserts.insert(*insert, text);
                self.count(&Content::Entry(text), State::Original, true);
            }
        }
        for place in &delta.hidden {
            if let Place::Insert(insert) = place
                && let Some(text) = self.inserts.remove(insert)
            {
                self.count(&Content::Entry(text), State::Original, false);
            }
        }
        for id in self.touched.take() {
            if let Some(reference) = self.index.reference(id) {
                let left = &mut self.left[reference as usize];
                match self.original[id as usize] + self.rewritten[id as usize] {
                    0 => {
                        left.get_or_insert(call);
                    }
                    _ => *left = None,
                }
            }
        }
    }

    /// Number of messages of the log so far.
    pub(crate) fn log_len(&self) -> usize {
        self.positions.len()
    }

    /// Parts that were looked at so far.
    pub fn looked_at(&self) -> u64 {
        self.looked_at
    }

    /// How a reference, by its index in [`Index::asked`], is in the view.
    pub(crate) fn presence(&self, reference: u32) -> Presence {
        let id = self.index.asked[reference as usize].id as usize;
        let (original, written) = (self.original[id] > 0, self.rewritten[id] > 0);
        Presence {
            kept: original || written,
            rescued: written && !original,
            left_view_at: self.left[reference as usize],
        }
    }

    /// Whether a visible part has an identifier.
    pub(crate) fn has(&self, id: Id) -> bool {
        self.original[id as usize] + self.rewritten[id as usize] > 0
    }

    /// Whether a part of the log that has an identifier is not shown as it was recorded.
    pub(crate) fn is_gone(&self, id: Id) -> bool {
        self.gone[id as usize] > 0
    }

    /// Whether the view shows a part of the log as it was recorded.
    pub(crate) fn is_original(&self, at: LogPart) -> bool {
        self.part(at).is_some_and(|part| part.state == State::Original)
    }

    /// Whether the view shows a part of the log as it was recorded, where it stood or where it was read again.
    fn is_shown(&self, at: LogPart) -> bool {
        self.is_original(at) || self.copies.get(&at).is_some_and(|copies| *copies > 0)
    }

    /// Whether the view shows the old text of an edit.
    pub(crate) fn shows_old_text(&self, edit: &EditNeed) -> bool {
        self.is_written(edit.needle) || self.index.places(edit).iter().any(|at| self.is_shown(*at))
    }

    /// The first call whose view did not show a part as it was recorded; `None` while it does.
    pub(crate) fn left_at(&self, at: LogPart) -> Option<usize> {
        self.part(at).and_then(|part| part.left_at)
    }

    /// Whether a text stands in what compactions wrote or cut, as far as the view shows it.
    pub(crate) fn is_written(&self, needle: NeedleId) -> bool {
        self.held[needle as usize] > 0
    }

    /// Whether a tool result that is shown as recorded, or what compactions wrote or cut, holds a reused piece.
    pub(crate) fn stands(&self, piece: PieceId) -> bool {
        self.pieces[piece as usize] > 0
    }

    fn parts_of(&self, pos: Pos) -> &[Part] {
        &self.parts[self.first[pos]..self.first[pos + 1]]
    }

    fn part(&self, (ordinal, part): LogPart) -> Option<&Part> {
        self.parts_of(*self.positions.get(ordinal)?).get(part)
    }

    /// What a text holds that a compaction wrote.
    fn write(&mut self, text: &str) -> WrittenId {
        if let Some(known) = self.texts.known.get(text) {
            return *known;
        }
        let id = self.texts.written.len();
        let said: Vec<Identifier<'_>> =
            if self.names { identifiers(text).collect() } else { Vec::new() };
        let ids = self.index.made_present(said.iter().copied());
        let needles = self.index.needles.in_written(text);
        let pieces = self.index.verbatim.find(text);
        let place = |said: &Identifier<'_>| {
            let start = said.text.as_ptr() as usize - text.as_ptr() as usize;
            (said.class, start..start + said.text.len())
        };
        self.said.insert(id, said.iter().map(place).collect());
        self.texts.written.push(WrittenText { ids, needles, pieces });
        self.texts.known.insert(Arc::from(text), id);
        id
    }

    /// The identifiers of a text that a compaction wrote, in order of appearance.
    pub(crate) fn read<'t>(&self, text: &'t str) -> Vec<Identifier<'t>> {
        match self.texts.known.get(text).and_then(|id| self.said.get(id)) {
            Some(said) => said
                .iter()
                .map(|(class, at)| Identifier { class: *class, text: &text[at.clone()] })
                .collect(),
            None => identifiers(text).collect(),
        }
    }

    fn append(&mut self, conversation: &Conversation, pos: Pos) {
        let message = conversation.history().message(pos);
        let ordinal = self.positions.len();
        let read = self.reads.remove(&pos);
        if !message.is_entry() && read.is_none() {
            self.positions.push(pos);
        }
        for (index, part) in message.parts.iter().enumerate() {
            let content = match read {
                Some(read) => read,
                None if message.is_entry() => Content::Entry(self.write(&part.shown())),
                None => Content::Log((ordinal, index)),
            };
            // ShownMessage at first, so that what is folded before any request has it counts as gone.
            self.count(&content, State::Original, true);
            self.parts.push(Part { state: State::Original, content, left_at: None });
        }
        self.first.push(self.parts.len());
    }

    /// Brings the parts of a message up to date.
    fn show(&mut self, conversation: &Conversation, pos: Pos, call: usize) {
        let view = conversation.view();
        let visible = view.is_visible(pos);
        for (part, at) in (self.first[pos]..self.first[pos + 1]).enumerate() {
            self.looked_at += 1;
            let now = match view.edit(PartPos { item: pos, part }) {
                _ if !visible => State::Hidden,
                None => State::Original,
                Some(edit) => State::Edited(edit.kind, self.write(&edit.text)),
            };
            let Part { state: before, content, .. } = self.parts[at].clone();
            if before == now {
                continue;
            }
            self.count(&content, before, false);
            self.count(&content, now, true);
            let part = &mut self.parts[at];
            part.state = now;
            if now == State::Original {
                part.left_at = None;
            } else {
                part.left_at.get_or_insert(call);
            }
            let back = now == State::Original;
            if self.names
                && let Content::Log(log) = content
                && back != (before == State::Original)
            {
                let Self { index, gone, .. } = self;
                for id in index.part(log).iter().chain(index.syntax(log).iter()) {
                    let count = &mut gone[*id as usize];
                    *count = if back { *count - 1 } else { *count + 1 };
                }
            }
        }
    }

    /// Adds or takes away what a part contributes in a state. What is left of a part that was cut is
    /// original, what replaces a cleared one is not.
    fn count(&mut self, content: &Content, state: State, add: bool) {
        let text = match (state, content) {
            (State::Hidden, _) | (State::Original, Content::Asking) => return,
            (State::Edited(_, text), _) => Some(text),
            (State::Original, Content::Entry(text)) => Some(*text),
            (State::Original, Content::Log(_) | Content::Copy(_)) => None,
        };
        if self.names {
            self.count_names(content, state, text, add);
        }
        if let (None, Content::Copy(at)) = (text, content) {
            let count = self.copies.entry(*at).or_default();
            *count = if add { *count + 1 } else { *count - 1 };
        }
        let pieces = match (text, content) {
            (Some(text), _) => &self.texts.written[text].pieces,
            (None, Content::Log(at) | Content::Copy(at)) => self.index.pieces(*at),
            (None, Content::Entry(_) | Content::Asking) => &[],
        };
        for piece in pieces {
            let count = &mut self.pieces[*piece as usize];
            *count = if add { *count + 1 } else { *count - 1 };
        }
        for needle in text.map_or(&[][..], |text| &self.texts.written[text].needles) {
            let count = &mut self.held[*needle as usize];
            *count = if add { *count + 1 } else { *count - 1 };
        }
    }

    /// The same for the identifiers of a part, and of what stands in its place.
    fn count_names(&mut self, content: &Content, state: State, text: Option<WrittenId>, add: bool) {
        let as_recorded = match (state, content) {
            (_, Content::Entry(_)) => false,
            (State::Edited(kind, _), _) => kind == EditKind::Truncate,
            _ => true,
        };
        let ids = match (text, content) {
            (Some(text), _) => Arc::clone(&self.texts.written[text].ids),
            (None, Content::Log(at) | Content::Copy(at)) => Arc::clone(self.index.part(*at)),
            (None, Content::Entry(_) | Content::Asking) => return,
        };
        let counts = if as_recorded { &mut self.original } else { &mut self.rewritten };
        for id in ids.iter() {
            let count = &mut counts[*id as usize];
            *count = if add { *count + 1 } else { *count - 1 };
            self.touched.insert(*id);
        }
    }
}
