//! What a note may take: lines of the messages that go, and of the messages that the note before took lines from.

use crate::features::{self, Around, BLOCK, Block as Facts, LINE, WORD, Words};
use crate::known::{FileSeen, Known, LineSeen, WordSeen, call_of};
use crate::message::{Call, Kind, said};
use crate::model::Model;
use crate::shown::Shown;
use crate::text::{Line, LineKey, Lines, Word, offset, telling};
use foldback_core::history::History;
use foldback_core::log::Message;
use foldback_core::view::Pos;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::ops::Range;

/// A text that lines are taken from.
#[derive(Clone, Copy, Debug)]
pub struct Source<'t> {
    /// Its message.
    pub pos: Pos,
    /// Its part.
    pub part: usize,
    /// A description in a few words.
    pub label: &'t str,
    /// The text.
    pub text: &'t str,
    /// Its lines.
    pub lines: &'t Lines,
    call: Option<&'t Call>,
    written: bool,
}

/// A line that may stay.
#[derive(Clone, Debug)]
pub struct Candidate<'t> {
    /// Index of its source.
    pub source: usize,
    /// The line.
    pub line: &'t Line,
    /// Its approximate size in a note.
    pub tokens: f32,
    /// What is known about it.
    pub seen: LineSeen,
    /// The view shows such a line.
    shown: bool,
    /// Its telling words: a range of [`Candidates::words_of`].
    terms: (u32, u32),
    /// It has something to say that neither the view nor a later equal line says.
    pub open: bool,
    /// The chance that a call takes all of it.
    pub whole: f32,
}

/// Lines of a file that stand together.
#[derive(Clone, Debug)]
pub struct Block {
    /// Indices of its lines.
    pub lines: Range<usize>,
    /// The chance that a call edits it.
    pub edited: f32,
}

/// The features that the model is shown, for fitting. A fold does not keep them, since they are most of a line's memory.
#[derive(Clone, Debug, Default)]
pub struct Examples {
    /// Features of the open lines, in order.
    pub lines: Vec<[f32; LINE.len()]>,
    /// Features of the blocks, in order.
    pub blocks: Vec<[f32; BLOCK.len()]>,
}

/// A word of the candidates.
#[derive(Clone, Copy, Debug)]
pub struct Chance {
    /// The word.
    pub word: Word,
    /// The chance that a call names it again; nothing where no open line has it.
    pub chance: f32,
    /// Calls that named it.
    pub called: u32,
    /// How recently the user or the model wrote it.
    pub written: f32,
    /// The view still shows it.
    pub shown: bool,
    /// An open line has it.
    pub open: bool,
}

/// Everything that a note may take.
#[derive(Debug, Default)]
pub struct Candidates<'t> {
    /// In order of the history.
    pub sources: Vec<Source<'t>>,
    /// Their lines, in order.
    pub lines: Vec<Candidate<'t>>,
    /// Blocks of those, in order.
    pub blocks: Vec<Block>,
    /// Their telling words, in order of their first line.
    pub words: Vec<Chance>,
    /// Indices of the words of each line, one line after the other.
    terms: Vec<u32>,
    /// Words in the labels of the sources.
    labels: FxHashMap<Word, u32>,
    /// What the model was shown, if that is asked for.
    pub examples: Option<Examples>,
}

/// Lines of a block at most.
const BLOCK_LINES: usize = 12;
/// Bytes from which a line says by itself where it is from.
const TELLING: u32 = 12;

impl<'t> Candidates<'t> {
    /// Reads what goes (`gone`), the parts that the note before took lines from (`old`), and what stays.
    pub fn of(
        history: &'t History,
        gone: &[Pos],
        old: &[(Pos, usize)],
        kept: &[Pos],
        model: &Model,
        examples: Option<Examples>,
    ) -> Self {
        let mut wanted: BTreeSet<(Pos, usize)> = old.iter().copied().collect();
        for pos in gone {
            let parts = history.message(*pos).parts.len();
            wanted.extend((0..parts).map(|part| (*pos, part)));
        }
        let sources: Vec<Source<'_>> = wanted
            .into_iter()
            .filter_map(|(pos, part)| source(history, pos, part))
            .filter(|source| !source.lines.lines.is_empty())
            .collect();
        let count = sources.iter().map(|source| source.lines.lines.len()).sum();
        let mut lines = Vec::with_capacity(count);
        for (number, source) in sources.iter().enumerate() {
            lines.extend(source.lines.lines.iter().map(|line| Candidate {
                source: number,
                line,
                tokens: (line.end - line.start) as f32 / 3.2 + 1.5,
                seen: LineSeen::default(),
                shown: false,
                terms: (0, 0),
                open: false,
                whole: 0.0,
            }));
        }
        let mut out = Self { sources, lines, examples, ..Self::default() };
        Known::of(history, |known| out.rate(known, &Shown::of(history, kept, known), model));
        out
    }

    /// Adds what is known about words and lines. Everything after it uses the indices of the words.
    fn look_up(&mut self, known: &Known, shown: &Shown, model: &Model) {
        // By number in the history, the index here.
        let mut indices = vec![u32::MAX; known.words.len()];
        let mut numbered = Vec::new();
        let mut later = vec![false; known.lines.len()];
        let mut end = self.lines.len();
        for source in self.sources.iter().rev() {
            let lines = &source.lines.lines;
            let candidates = &mut self.lines[end - lines.len()..end];
            end -= lines.len();
            let Some(numbers) = known.numbers(source.pos, source.part) else { continue };
            for (candidate, number) in candidates.iter_mut().zip(&numbers.lines).rev() {
                let at = *number as usize;
                candidate.seen = *known.lines.at(*number);
                candidate.shown = shown.lines[at];
                // Of equal lines the last one stays.
                let last = !std::mem::replace(&mut later[at], true);
                candidate.open = last && !candidate.line.bare && !candidate.shown;
            }
        }
        for candidate in &mut self.lines {
            let source = &self.sources[candidate.source];
            let Some(numbers) = known.numbers(source.pos, source.part) else { continue };
            let begin = self.terms.len();
            let range = candidate.line.terms.0 as usize..candidate.line.terms.1 as usize;
            for (term, number) in
                source.lines.terms[range.clone()].iter().zip(&numbers.terms[range])
            {
                let index = &mut indices[*number as usize];
                if *index == u32::MAX {
                    *index = offset(self.words.len());
                    numbered.push(*number);
                    self.words.push(Chance {
                        word: term.word,
                        chance: 0.0,
                        called: 0,
                        written: 0.0,
                        shown: shown.words[*number as usize],
                        open: false,
                    });
                }
                self.words[*index as usize].open |= candidate.open;
                self.terms.push(*index);
            }
            candidate.terms = (offset(begin), offset(self.terms.len()));
        }
        for (word, number) in self.words.iter_mut().zip(numbered) {
            let seen = known.words.at(number);
            if !seen.is_known() {
                continue;
            }
            word.called = seen.called;
            word.written = features::written_recency(seen, known.calls);
            if word.open {
                let file = known.files.get(&word.word);
                word.chance = model.word(&features::word(seen, file, known.calls, known.turns));
            }
        }
        for source in &self.sources {
            telling(source.label, |term| {
                let number = known.words.number(term.word);
                let index = number.map(|number| indices[number as usize]);
                if let Some(index) = index.filter(|index| *index != u32::MAX) {
                    self.labels.insert(term.word, index);
                }
            });
        }
    }

    /// The indices of the words of a line.
    pub fn words_of(&self, candidate: &Candidate<'_>) -> &[u32] {
        &self.terms[candidate.terms.0 as usize..candidate.terms.1 as usize]
    }

    /// The index of a word of a label.
    pub fn number(&self, word: Word) -> Option<usize> {
        self.labels.get(&word).map(|number| *number as usize)
    }

    /// What the words of open lines say.
    fn words_in(&self, lines: Range<usize>) -> Words {
        let mut words = Words::default();
        let open = self.lines[lines].iter().filter(|line| line.open);
        for word in open.flat_map(|line| self.words_of(line)) {
            let word = self.words[*word as usize];
            words.count += 1;
            words.novel += u32::from(!word.shown);
            words.called = words.called.max(word.called);
            words.best = words.best.max(word.chance);
            words.sum += word.chance;
            words.written = words.written.max(word.written);
        }
        words
    }

    fn rate(&mut self, known: &Known, shown: &Shown, model: &Model) {
        let now = known.calls;
        self.look_up(known, shown, model);
        let mut begin = 0;
        for number in 0..self.sources.len() {
            let count = self.lines[begin..].iter().take_while(|line| line.source == number).count();
            let range = begin..begin + count;
            begin = range.end;
            let around = self.around(number, range.clone(), known, shown);
            let named: Vec<bool> =
                self.lines[range.clone()].iter().map(|line| line.seen.called > 0).collect();
            for at in range.clone() {
                let candidate = &self.lines[at];
                if !candidate.open {
                    continue;
                }
                let words = self.words_in(at..at + 1);
                let own = at - range.start;
                let neighbours = share_around(&named, own..own + 1);
                let features = features::line(
                    candidate.line,
                    &around,
                    &candidate.seen,
                    words,
                    neighbours,
                    now,
                );
                self.lines[at].whole = model.line(&features);
                if let Some(examples) = &mut self.examples {
                    examples.lines.push(features);
                }
            }
            if self.sources[number].is_file() {
                self.cut(range, &around, &named, now, model);
            }
        }
    }

    /// What the lines of a source are part of.
    fn around(&self, number: usize, range: Range<usize>, known: &Known, shown: &Shown) -> Around {
        let source = &self.sources[number];
        let mut file = FileSeen::default();
        let mut file_shown = false;
        for word in source.call.iter().flat_map(|call| &call.subject) {
            file_shown |= shown.has(*word, known);
            if let Some(seen) = known.files.get(word) {
                file.read = file.read.max(seen.read);
                file.edited = file.edited.max(seen.edited);
                file.last_edited = file.last_edited.max(seen.last_edited);
                file.last = file.last.max(seen.last);
            }
        }
        let terms = self.lines[range].iter().flat_map(|line| self.words_of(line));
        let (mut count, mut still, mut called) = (0u32, 0u32, 0u32);
        for word in terms.map(|word| self.words[*word as usize]) {
            count += 1;
            still += u32::from(word.shown);
            called += u32::from(word.called > 0);
        }
        let share = |part: u32| part as f32 / count.max(1) as f32;
        Around {
            kind: source.call.map_or(Kind::Other, |call| call.kind),
            written: source.written,
            call: known.at.get(source.pos).copied().unwrap_or_default() + u32::from(source.written),
            turns: known
                .turns
                .saturating_sub(known.turn_at.get(source.pos).copied().unwrap_or_default()),
            lines: source.lines.count,
            file,
            shown: share(still),
            called: share(called),
            file_shown,
        }
    }

    /// Cuts the lines of a file into blocks.
    fn cut(
        &mut self,
        range: Range<usize>,
        around: &Around,
        named: &[bool],
        now: u32,
        model: &Model,
    ) {
        let mut begin = range.start;
        while begin < range.end {
            let mut end = begin + 1;
            while end < range.end
                && end - begin < BLOCK_LINES
                && self.lines[end].line.number <= self.lines[end - 1].line.number + 1
            {
                end += 1;
            }
            let lines = &self.lines[begin..end];
            let hidden = lines.iter().any(|line| line.open);
            if hidden && lines.iter().any(|line| !line.shown) {
                let mut facts = Facts {
                    size: u32::try_from(lines.len()).unwrap_or(u32::MAX),
                    number: lines[0].line.number,
                    neighbours: share_around(named, begin - range.start..end - range.start),
                    words: self.words_in(begin..end),
                    ..Facts::default()
                };
                for line in lines {
                    let seen = line.seen;
                    let share = 1.0 / lines.len() as f32;
                    facts.definition |= line.line.definition;
                    facts.results =
                        facts.results.max(if line.line.bare { 0 } else { seen.results });
                    facts.best = facts.best.max(line.whole);
                    facts.sum += line.whole;
                    facts.open += if line.open { share } else { 0.0 };
                    if seen.called > 0 {
                        facts.called += share;
                        facts.last_called = facts.last_called.max(seen.last_called);
                    }
                    if seen.removed > around.call {
                        facts.removed += share;
                    }
                }
                let features = features::block(&facts, around, now);
                let edited = model.block(&features);
                self.blocks.push(Block { lines: begin..end, edited });
                if let Some(examples) = &mut self.examples {
                    examples.blocks.push(features);
                }
            }
            begin = end;
        }
    }

    /// The lines of a block that are hardly those of another.
    pub fn telling(&self, block: &Block) -> Vec<LineKey> {
        let lines = self.lines[block.lines.clone()].iter().filter(|line| {
            !line.line.bare
                && line.line.end - line.line.start >= TELLING + u32::from(line.line.indent)
        });
        lines.map(|line| line.line.key).collect()
    }

    /// What the model is shown of each word.
    pub fn word_features(&self, history: &History) -> Vec<(Word, [f32; WORD.len()])> {
        Known::of(history, |known| {
            let hidden = self.words.iter().filter(|word| word.open && !word.shown);
            let mut words: Vec<Word> = hidden.map(|word| word.word).collect();
            words.sort_unstable();
            let shown = |word: Word| {
                let number = known.words.number(word);
                let seen = number.map_or_else(WordSeen::default, |at| *known.words.at(at));
                (word, features::word(&seen, known.files.get(&word), known.calls, known.turns))
            };
            words.into_iter().map(shown).collect()
        })
    }
}

impl Source<'_> {
    /// Whether it is the text of a file.
    fn is_file(&self) -> bool {
        self.written || self.call.is_some_and(|call| matches!(call.kind, Kind::Read | Kind::Edit))
    }
}

/// The text of a part that lines are taken from.
pub fn source(history: &History, pos: Pos, part: usize) -> Option<Source<'_>> {
    let message: &Message = history.get(pos)?;
    let said = said(message);
    let found = message.parts.get(part)?;
    if let Some(result) = found.as_result() {
        let call = call_of(history, pos, &result.call_id);
        let label = call.map_or(result.tool.as_str(), |call| &call.label);
        let lines = said.results.get(part)?;
        return Some(Source { pos, part, label, text: &result.text, lines, call, written: false });
    }
    let call = said.calls.get(part)?.as_deref()?;
    let (text, lines) = (call.written.as_str(), &call.lines);
    Some(Source { pos, part, label: &call.label, text, lines, call: Some(call), written: true })
}

/// Of the five lines before a range and the five after it, the share that calls have named.
fn share_around(named: &[bool], range: Range<usize>) -> f32 {
    let before = range.start.saturating_sub(5)..range.start;
    let after = range.end..(range.end + 5).min(named.len());
    let count = before.len() + after.len();
    let called = before.chain(after).filter(|at| named[*at]).count();
    if count == 0 { 0.0 } else { called as f32 / count as f32 }
}
