//! What a history says so far about words and lines. It grows with the history: a fold reads only what came since the
//! last one.

use crate::message::{Call, NoteSource, said};
use crate::text::{Lines, offset};
use foldback_core::history::History;
use foldback_core::log::{Message, Weighed};
use rustc_hash::FxHashMap;
use std::sync::{Mutex, PoisonError};

/// What is known about a word.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WordSeen {
    /// Number of lines of results in which the word stands.
    pub(crate) results: u32,
    /// The answers up to the last of them.
    pub(crate) last_result: u32,
}

/// Things by a hash, numbered as they come, so that each is looked up once and a fold goes by the numbers.
#[derive(Debug, Default)]
pub(crate) struct Numbered<T> {
    numbers: FxHashMap<u64, u32>,
    seen: Vec<T>,
}

/// Everything that is known, with the history.
#[derive(Default)]
struct SharedKnowledge(Mutex<Knowledge>);

impl Weighed for SharedKnowledge {
    fn bytes(&self) -> usize {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let numbers = |numbers: &Numbers| 4 * (numbers.lines.capacity() + numbers.terms.capacity());
        let texts = known.texts.iter().map(|texts| {
            texts.capacity() * size_of::<Numbers>() + texts.iter().map(numbers).sum::<usize>()
        });
        known.words.bytes()
            + known.lines.bytes()
            + known.texts.capacity() * size_of::<Vec<Numbers>>()
            + texts.sum::<usize>()
            + 4 * known.at.capacity()
    }
}

impl<T> Numbered<T> {
    /// Bytes that it takes in memory beside itself.
    fn bytes(&self) -> usize {
        // A table has room for a seventh more, and a byte beside each place.
        self.numbers.capacity() * (size_of::<(u64, u32)>() + 1) * 8 / 7
            + self.seen.capacity() * size_of::<T>()
    }
}

impl<T: Default> Numbered<T> {
    /// The number of a hash.
    pub(crate) fn number(&self, hash: u64) -> Option<u32> {
        self.numbers.get(&hash).copied()
    }

    /// What is known under a number.
    pub(crate) fn at(&self, number: u32) -> &T {
        &self.seen[number as usize]
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.seen.len()
    }

    fn enter(&mut self, hash: u64) -> u32 {
        *self.numbers.entry(hash).or_insert_with(|| {
            self.seen.push(T::default());
            offset(self.seen.len() - 1)
        })
    }
}

/// The numbers of a text.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    /// Numbers of the text's lines.
    pub(crate) lines: Vec<u32>,
    /// Numbers of the telling words of the lines, in the order of [`Lines::terms`].
    pub(crate) terms: Vec<u32>,
}

/// All that is known.
#[derive(Debug, Default)]
pub(crate) struct Knowledge {
    upto: usize,
    /// Answers of the model so far.
    pub(crate) calls: u32,
    /// By position, the number of answers before the message.
    pub(crate) at: Vec<u32>,
    /// By word.
    pub(crate) words: Numbered<WordSeen>,
    /// By line, of which nothing but its number is known.
    pub(crate) lines: Numbered<()>,
    /// By position and part, the text that lines may be taken from.
    texts: Vec<Vec<Numbers>>,
}

impl Knowledge {
    /// Calls `look` with what is known about a history. Undoing a fold withdraws only entries, about which nothing is known.
    pub(crate) fn read_with<T>(history: &History, look: impl FnOnce(&Self) -> T) -> T {
        let SharedKnowledge(known): &SharedKnowledge =
            history.derived().get_or_weighed(SharedKnowledge::default);
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        for pos in known.upto..history.len() {
            let message = history.get(pos);
            let texts = message.map(|message| known.read(said(message)));
            known.texts.push(texts.unwrap_or_default());
            let calls = known.calls;
            known.at.push(calls);
            if let Some(message) = message.filter(|message| !message.is_entry()) {
                known.add(pos, message);
            }
        }
        known.upto = history.len();
        look(&known)
    }

    /// The numbers of a text that lines are taken from.
    pub(crate) fn numbers(&self, pos: usize, part: usize) -> Option<&Numbers> {
        self.texts.get(pos)?.get(part)
    }

    /// Numbers the texts of a message.
    fn read(&mut self, said: &NoteSource) -> Vec<Numbers> {
        let texts = said.results.iter().zip(&said.calls);
        let texts = texts.map(|(result, call)| call.as_ref().map_or(result, |call| &call.lines));
        let mut numbers = |lines: &Lines| Numbers {
            lines: lines.lines.iter().map(|line| self.lines.enter(line.key)).collect(),
            terms: lines.terms.iter().map(|word| self.words.enter(*word)).collect(),
        };
        texts.map(&mut numbers).collect()
    }

    fn add(&mut self, pos: usize, message: &Message) {
        self.calls += u32::from(said(message).answer);
        for (part, numbers) in message.parts.iter().zip(&self.texts[pos]) {
            if part.as_result().is_none() {
                continue;
            }
            for number in &numbers.terms {
                let word = &mut self.words.seen[*number as usize];
                word.results += 1;
                word.last_result = self.calls;
            }
        }
    }
}

/// The call that a result at a position answers.
pub(crate) fn call_of<'h>(history: &'h History, result: usize, id: &str) -> Option<&'h Call> {
    let first = *history.group(history.group_of(result)).items.first()?;
    let calls = said(history.message(first)).calls.iter().flatten();
    calls.map(|call| &**call).find(|call| call.id == id)
}
