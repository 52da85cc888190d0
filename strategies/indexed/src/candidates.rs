//! What a note may take: lines of the messages that go, and of the messages that the note before took lines from.

use crate::known::{Knowledge, call_of};
use crate::message::{Call, Kind, said};
use crate::shown::VisibleText;
use crate::text::{Line, Lines, Word, offset, telling};
use crate::worth::Worth;
use foldback_core::history::History;
use foldback_core::log::Message;
use foldback_core::view::Pos;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::ops::Range;

/// A text that lines are taken from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'t> {
    /// Its message.
    pub(crate) pos: Pos,
    /// Its part.
    pub(crate) part: usize,
    /// A description in a few words.
    pub(crate) label: &'t str,
    /// The text.
    pub(crate) text: &'t str,
    lines: &'t Lines,
    /// It is the text of a file.
    is_file: bool,
    /// A call wrote it, it is not a result.
    written: bool,
}

/// A line that may stay.
#[derive(Clone, Debug)]
pub(crate) struct Candidate<'t> {
    /// Index of its source.
    pub(crate) source: usize,
    /// The line.
    pub(crate) line: &'t Line,
    /// Its approximate size in a note.
    pub(crate) tokens: f32,
    /// The view shows such a line.
    shown: bool,
    /// Its telling words: a range of [`Candidates::words_of`].
    terms: (u32, u32),
    /// It has something to say that neither the view nor a later equal line says.
    pub(crate) open: bool,
}

/// Lines of a file that stand together.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// Indices of its lines.
    pub(crate) lines: Range<usize>,
    /// What it is worth beside its words.
    pub(crate) worth: f32,
}

/// Everything that a note may take.
#[derive(Debug, Default)]
pub(crate) struct Candidates<'t> {
    /// In order of the history.
    pub(crate) sources: Vec<Source<'t>>,
    /// Their lines, in order.
    pub(crate) lines: Vec<Candidate<'t>>,
    /// Blocks of those, in order.
    pub(crate) blocks: Vec<Block>,
    /// What their telling words are worth, in order of their first line; less where the view still shows them.
    pub(crate) words: Vec<f32>,
    /// Factor by which the worth of a word falls with each line in the note that has it.
    pub(crate) again: f32,
    /// Indices of the words of each line, one line after the other.
    terms: Vec<u32>,
    /// Words in the labels of the sources.
    labels: FxHashMap<Word, u32>,
}

/// Lines of a block at most.
const BLOCK_LINES: usize = 12;

impl<'t> Candidates<'t> {
    /// Reads what goes (`gone`), the parts that the note before took lines from (`old`), and what stays.
    pub(crate) fn new(
        history: &'t History,
        gone: &[Pos],
        old: &[(Pos, usize)],
        kept: &[Pos],
        worth: Worth,
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
                shown: false,
                terms: (0, 0),
                open: false,
            }));
        }
        let mut out = Self { sources, lines, again: worth.again, ..Self::default() };
        Knowledge::read_with(history, |known| {
            out.look_up(known, &VisibleText::new(history, kept, known), worth);
            out.cut(known, worth);
        });
        out
    }

    /// Adds what is known about words and lines. Everything after it uses the indices of the words.
    fn look_up(&mut self, known: &Knowledge, shown: &VisibleText, worth: Worth) {
        let mut later = vec![false; known.lines.len()];
        let mut end = self.lines.len();
        for source in self.sources.iter().rev() {
            let lines = &source.lines.lines;
            let candidates = &mut self.lines[end - lines.len()..end];
            end -= lines.len();
            let Some(numbers) = known.numbers(source.pos, source.part) else { continue };
            for (candidate, number) in candidates.iter_mut().zip(&numbers.lines).rev() {
                let at = *number as usize;
                candidate.shown = shown.lines[at];
                // Of equal lines the last one stays.
                let last = !std::mem::replace(&mut later[at], true);
                candidate.open = last && !candidate.line.bare && !candidate.shown;
            }
        }
        // By number in the history, the index here.
        let mut indices = vec![u32::MAX; known.words.len()];
        for candidate in &mut self.lines {
            let source = &self.sources[candidate.source];
            let Some(numbers) = known.numbers(source.pos, source.part) else { continue };
            let begin = self.terms.len();
            let range = candidate.line.terms.0 as usize..candidate.line.terms.1 as usize;
            for number in &numbers.terms[range] {
                let at = *number as usize;
                if indices[at] == u32::MAX {
                    indices[at] = offset(self.words.len());
                    let word = worth.word(known.words.at(*number), known.calls);
                    self.words.push(if shown.words[at] { worth.again * word } else { word });
                }
                self.terms.push(indices[at]);
            }
            candidate.terms = (offset(begin), offset(self.terms.len()));
        }
        for source in &self.sources {
            telling(source.label, |word| {
                let number = known.words.number(word);
                let index = number.map(|number| indices[number as usize]);
                if let Some(index) = index.filter(|index| *index != u32::MAX) {
                    self.labels.insert(word, index);
                }
            });
        }
    }

    /// The indices of the words of a line.
    pub(crate) fn words_of(&self, candidate: &Candidate<'_>) -> &[u32] {
        &self.terms[candidate.terms.0 as usize..candidate.terms.1 as usize]
    }

    /// The index of a word of a label.
    pub(crate) fn number(&self, word: Word) -> Option<usize> {
        self.labels.get(&word).map(|number| *number as usize)
    }

    /// Cuts the lines of files into blocks.
    fn cut(&mut self, known: &Knowledge, worth: Worth) {
        let mut begin = 0;
        while begin < self.lines.len() {
            let number = self.lines[begin].source;
            let source = &self.sources[number];
            let mut end = begin + 1;
            while end < self.lines.len()
                && end - begin < BLOCK_LINES
                && self.lines[end].source == number
                && self.lines[end].line.number <= self.lines[end - 1].line.number + 1
            {
                end += 1;
            }
            let lines = &self.lines[begin..end];
            if source.is_file && lines.iter().any(|line| line.open) {
                let before = known.at.get(source.pos).copied().unwrap_or_default();
                let worth = worth.block(before + u32::from(source.written), known.calls);
                self.blocks.push(Block { lines: begin..end, worth });
            }
            begin = end;
        }
    }
}

/// The text of a part that lines are taken from.
fn source(history: &History, pos: Pos, part: usize) -> Option<Source<'_>> {
    let message: &Message = history.get(pos)?;
    let said = said(message);
    let found = message.parts.get(part)?;
    if let Some(result) = found.as_result() {
        let call = call_of(history, pos, &result.call_id);
        let label = call.map_or(result.tool.as_str(), |call| &call.label);
        let lines = said.results.get(part)?;
        let is_file = call.is_some_and(|call| matches!(call.kind, Kind::Read | Kind::Edit));
        return Some(Source {
            pos,
            part,
            label,
            text: &result.text,
            lines,
            is_file,
            written: false,
        });
    }
    let call: &Call = said.calls.get(part)?.as_deref()?;
    let (label, text, lines) = (&call.label, call.written.as_str(), &call.lines);
    Some(Source { pos, part, label, text, lines, is_file: true, written: true })
}
