//! Texts that are searched all at once: what users wrote, word for word, and the old texts of edits, line by
//! line.

use super::edits::OldText;
use super::lines::{base_name, plain, readings};
use crate::number;
use aho_corasick::AhoCorasick;
use indexmap::IndexSet;
use std::sync::Arc;

/// Number of a needle.
pub(crate) type NeedleId = u32;

/// Number of a file name.
type NameId = u32;

/// Bytes of a needle that the automaton knows; the rest is compared where these are found. So its
/// size does not grow with that of the texts.
const ANCHOR: usize = 48;

/// Bytes of an old text that tell which file it is of by themselves.
const TELLING: usize = 16;

/// An automaton that finds texts.
#[derive(Clone, Debug, Default)]
struct Finder {
    texts: Vec<Arc<str>>,
    /// By text, where in it the piece begins that the automaton knows: its longest line.
    anchors: Vec<usize>,
    automaton: Option<AhoCorasick>,
}

impl Finder {
    /// Texts must not be empty.
    fn new(texts: Vec<Arc<str>>) -> Self {
        let anchors: Vec<(usize, usize)> = texts.iter().map(|text| longest_line(text)).collect();
        let pieces = texts.iter().zip(&anchors);
        let pieces = pieces.map(|(text, (at, end))| &text.as_bytes()[*at..(*end).min(at + ANCHOR)]);
        // It fails only beyond some gigabytes of patterns; then they are looked for one by one.
        let automaton = match texts.is_empty() {
            true => None,
            false => AhoCorasick::new(pieces).ok(),
        };
        Self { anchors: anchors.into_iter().map(|(at, _)| at).collect(), texts, automaton }
    }

    /// Tells the texts that `text` holds, each at least once, with where they begin.
    fn find(&self, text: &str, mut found: impl FnMut(u32, usize)) {
        let Some(automaton) = &self.automaton else {
            for (needle, id) in self.texts.iter().zip(0..) {
                text.match_indices(&**needle).for_each(|(at, _)| found(id, at));
            }
            return;
        };
        for hit in automaton.find_overlapping_iter(text) {
            let id = hit.pattern().as_u32();
            let start = hit.start().checked_sub(self.anchors[id as usize]);
            let needle = self.texts[id as usize].as_bytes();
            if let Some(start) = start.filter(|start| text.as_bytes()[*start..].starts_with(needle))
            {
                found(id, start);
            }
        }
    }
}

/// Where the longest line of a text begins and ends.
fn longest_line(text: &str) -> (usize, usize) {
    let mut at = 0;
    let mut longest = (0, 0);
    for line in text.split('\n') {
        if line.len() > longest.1 - longest.0 {
            longest = (at, at + line.len());
        }
        at += line.len() + 1;
    }
    if longest.1 == 0 { (0, text.len()) } else { longest }
}

/// An old text as it is looked for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Old {
    lines: Arc<str>,
    /// The file that the edit names.
    path: Option<Arc<str>>,
}

/// A set of texts, and the automata that find them. Old texts come first, then what users wrote.
#[derive(Clone, Debug, Default)]
pub(super) struct Needles {
    old: IndexSet<Old>,
    /// By old text, the edit's words, for reports.
    words: Vec<Arc<str>>,
    /// Last components of the files that edits name.
    names: IndexSet<Arc<str>>,
    /// By old text, the name of its file.
    named: Vec<Option<NameId>>,
    said: IndexSet<Arc<str>>,
    find_old: Finder,
    find_name: Finder,
    find_said: Finder,
}

/// What a part of the log may be of: the files whose names it says.
pub(super) type Names = Vec<NameId>;

impl Needles {
    /// The number of an old text, which must not be blank.
    pub(super) fn add_old(&mut self, old: &OldText) -> NeedleId {
        let path = old.file.as_deref().map(Arc::from);
        let (id, is_new) = self.old.insert_full(Old { lines: plain(&old.text).into(), path });
        if is_new {
            self.words.push(Arc::from(&*old.text));
            let name = old.file.as_deref().map(base_name).filter(|name| !name.is_empty());
            let named = name.map(|name| number::next(self.names.insert_full(Arc::from(name)).0));
            self.named.push(named);
        }
        number::next(id)
    }

    /// The number of what a user wrote, which must not be empty. To be called when all old texts are there.
    pub(super) fn add_said(&mut self, text: &str) -> NeedleId {
        self.first_said() + number::next(self.said.insert_full(Arc::from(text)).0)
    }

    /// What a user wrote.
    pub(super) fn said(&self, id: NeedleId) -> &Arc<str> {
        &self.said[(id - self.first_said()) as usize]
    }

    /// To be called when all texts are there.
    pub(super) fn build(&mut self) {
        self.find_old = Finder::new(self.old.iter().map(|old| Arc::clone(&old.lines)).collect());
        self.find_name = Finder::new(self.names.iter().cloned().collect());
        self.find_said = Finder::new(self.said.iter().cloned().collect());
    }

    pub(super) fn len(&self) -> usize {
        self.old.len() + self.said.len()
    }

    /// Number of old texts.
    pub(super) fn old(&self) -> usize {
        self.old.len()
    }

    /// The words of an old text.
    pub(super) fn words(&self, id: NeedleId) -> &str {
        self.words.get(id as usize).map_or("", |text| text)
    }

    /// An old text as it is looked for.
    pub(super) fn lines(&self, id: NeedleId) -> &str {
        self.old.get_index(id as usize).map_or("", |old| &old.lines)
    }

    /// The file that the edit of an old text names.
    pub(super) fn path(&self, id: NeedleId) -> Option<&str> {
        self.old.get_index(id as usize)?.path.as_deref()
    }

    /// The files whose names a text says; ascending.
    pub(super) fn names_in(&self, text: &str) -> Names {
        let mut found = Names::new();
        self.find_name.find(text, |id, at| {
            let end = at + self.find_name.texts[id as usize].len();
            if stands_alone(text, at, end) && found.last() != Some(&id) {
                found.push(id);
            }
        });
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The old texts that a part of the log holds which says these names; ascending.
    pub(super) fn old_in(&self, text: &str, names: &[NameId]) -> Vec<NeedleId> {
        self.search(text, |id| {
            self.named[id as usize].is_none_or(|name| names.binary_search(&name).is_ok())
        })
    }

    /// The old texts that a text holds, whatever file it is of; ascending.
    pub(super) fn any_old_in(&self, text: &str) -> Vec<NeedleId> {
        self.search(text, |_| true)
    }

    /// The needles in a text that a compaction wrote; ascending. It seldom says which file something is of, so
    /// only old texts that would stand in many files need its name.
    pub(super) fn in_written(&self, text: &str) -> Box<[NeedleId]> {
        let names = self.names_in(text);
        let mut found = self.search(text, |id| {
            self.old[id as usize].lines.len() >= TELLING
                || self.named[id as usize].is_none_or(|name| names.binary_search(&name).is_ok())
        });
        let old = found.len();
        self.find_said.find(text, |id, _| found.push(self.first_said() + id));
        found[old..].sort_unstable();
        found.dedup();
        found.into()
    }

    fn search(&self, text: &str, counts: impl Fn(NeedleId) -> bool) -> Vec<NeedleId> {
        let mut found = Vec::new();
        if self.old.is_empty() {
            return found;
        }
        for reading in readings(text) {
            self.find_old.find(&reading, |id, _| {
                if found.last() != Some(&id) && counts(id) {
                    found.push(id);
                }
            });
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    fn first_said(&self) -> NeedleId {
        number::next(self.old.len())
    }
}

/// Whether a name in a text is one, and not a piece of a longer one.
fn stands_alone(text: &str, start: usize, end: usize) -> bool {
    let in_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let bytes = text.as_bytes();
    let before = bytes[..start].last();
    let (next, then) = (bytes.get(end), bytes.get(end + 1));
    !before.is_some_and(|byte| in_name(byte) || *byte == b'.')
        && match next {
            // A grep beside a match: `a.rs-12-`.
            Some(b'-') => then.is_some_and(u8::is_ascii_digit),
            Some(b'.') => !then.is_some_and(u8::is_ascii_alphanumeric),
            Some(next) => !in_name(next),
            None => true,
        }
}
