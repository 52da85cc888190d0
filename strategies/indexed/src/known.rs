//! What a history says so far about words, lines and files. It grows with the history: a fold reads only what came since the
//! last one.

use crate::message::{Call, Kind, Said, said};
use crate::text::{Lines, Look, Word, offset};
use foldback_core::history::History;
use foldback_core::log::{Message, Role, Weighed};
use rustc_hash::FxHashMap;
use std::sync::{Mutex, PoisonError};

/// What is known about a word.
#[derive(Clone, Copy, Debug, Default)]
pub struct WordSeen {
    /// The form of the word.
    pub look: Look,
    /// Results that have it.
    pub results: u32,
    /// The call of the last one, by number.
    pub last_result: u32,
    /// The call of the first one.
    pub first_result: u32,
    /// The turn of the last one.
    pub last_turn: u32,
    /// What brought the last one.
    pub kind: Kind,
    /// Calls that name it.
    pub called: u32,
    /// The last of them.
    pub last_called: u32,
    /// The user or the model wrote it.
    pub written: bool,
    /// The answers before they did so last.
    pub last_written: u32,
    /// A line with it defines something.
    pub definition: bool,
    /// A line with it tells of a failure.
    pub failure: bool,
    /// Words of the results with it: the larger, the more it is one of many.
    pub crowd: u32,
}

impl WordSeen {
    /// Whether it was read. A piece of a long line that a call writes may end within a word, which only has a number.
    pub fn is_known(&self) -> bool {
        self.look.bytes > 0
    }
}

/// What is known about a line.
#[derive(Clone, Copy, Debug, Default)]
pub struct LineSeen {
    /// Results that have it.
    pub results: u32,
    /// Calls that name it.
    pub called: u32,
    /// The last of them.
    pub last_called: u32,
    /// The last call that took it out of a file, from 1.
    pub removed: u32,
}

/// What is known about a file.
#[derive(Clone, Copy, Debug, Default)]
pub struct FileSeen {
    /// Calls that showed it.
    pub read: u32,
    /// Calls that changed it.
    pub edited: u32,
    /// The last of those.
    pub last_edited: u32,
    /// The last call about it.
    pub last: u32,
}

/// Things by a hash, numbered as they come, so that each is looked up once and a fold goes by the numbers.
#[derive(Debug, Default)]
pub struct Numbered<T> {
    numbers: FxHashMap<u64, u32>,
    seen: Vec<T>,
}

/// Everything that is known, with the history.
#[derive(Default)]
struct Kept(Mutex<Known>);

impl Weighed for Kept {
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
            + known.files.capacity() * (size_of::<(Word, FileSeen)>() + 1)
            + 4 * (known.at.capacity() + known.turn_at.capacity())
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
    pub fn number(&self, hash: u64) -> Option<u32> {
        self.numbers.get(&hash).copied()
    }

    /// What is known under a number.
    pub fn at(&self, number: u32) -> &T {
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

    fn of(&mut self, hash: u64) -> &mut T {
        let number = self.enter(hash);
        &mut self.seen[number as usize]
    }
}

/// The numbers of a text.
#[derive(Debug, Default)]
pub struct Numbers {
    /// Numbers of the text's lines.
    pub lines: Vec<u32>,
    /// Numbers of the telling words of the lines, in the order of [`Lines::terms`].
    pub terms: Vec<u32>,
}

/// All that is known.
#[derive(Debug, Default)]
pub struct Known {
    upto: usize,
    /// Answers of the model so far.
    pub calls: u32,
    /// By position, the number of answers before the message.
    pub at: Vec<u32>,
    /// Messages of the user so far.
    pub turns: u32,
    /// By position, the number of messages of the user up to the message.
    pub turn_at: Vec<u32>,
    /// By word.
    pub words: Numbered<WordSeen>,
    /// By line.
    pub lines: Numbered<LineSeen>,
    /// By position and part, the text that lines may be taken from.
    texts: Vec<Vec<Numbers>>,
    /// By word of a path.
    pub files: FxHashMap<Word, FileSeen>,
}

impl Known {
    /// Calls `look` with what is known about a history. Undoing a fold withdraws only entries, about which nothing is known.
    pub fn of<T>(history: &History, look: impl FnOnce(&Self) -> T) -> T {
        let Kept(known): &Kept = history.derived().get_or_weighed(Kept::default);
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        for pos in known.upto..history.len() {
            let message = history.get(pos);
            let texts = message.map(|message| known.read(said(message)));
            known.texts.push(texts.unwrap_or_default());
            match message.filter(|message| !message.is_entry()) {
                Some(message) => known.add(history, pos, message),
                None => {
                    let calls = known.calls;
                    known.at.push(calls);
                    let turns = known.turns;
                    known.turn_at.push(turns);
                }
            }
        }
        known.upto = history.len();
        look(&known)
    }

    /// The numbers of a text that lines are taken from.
    pub fn numbers(&self, pos: usize, part: usize) -> Option<&Numbers> {
        self.texts.get(pos)?.get(part)
    }

    /// Numbers the texts of a message.
    fn read(&mut self, said: &Said) -> Vec<Numbers> {
        let texts = said.results.iter().zip(&said.calls);
        let texts = texts.map(|(result, call)| call.as_ref().map_or(result, |call| &call.lines));
        let mut numbers = |lines: &Lines| Numbers {
            lines: lines.lines.iter().map(|line| self.lines.enter(line.key)).collect(),
            terms: lines.terms.iter().map(|term| self.words.enter(term.word)).collect(),
        };
        texts.map(&mut numbers).collect()
    }

    fn add(&mut self, history: &History, pos: usize, message: &Message) {
        let said = said(message);
        self.at.push(self.calls);
        self.turns += u32::from(message.role == Role::User);
        self.turn_at.push(self.turns);
        self.calls += u32::from(said.answer);
        let now = self.calls;
        for term in &said.prose {
            let word = self.words.of(term.word);
            word.look = term.look;
            word.written = true;
            word.last_written = now;
        }
        for call in said.calls.iter().flatten() {
            for term in &call.terms {
                let word = self.words.of(term.word);
                word.look = term.look;
                word.called += u32::from(word.last_called != now);
                word.last_called = now;
            }
            for key in &call.keys {
                let line = self.lines.of(*key);
                line.called += 1;
                line.last_called = now;
            }
            for key in &call.removed {
                self.lines.of(*key).removed = now;
            }
            for word in &call.subject {
                let file = self.files.entry(*word).or_default();
                file.last = now;
                file.read += u32::from(call.kind == Kind::Read);
                if call.kind == Kind::Edit {
                    file.edited += 1;
                    file.last_edited = now;
                }
            }
        }
        let parts = message.parts.iter().zip(&said.results).zip(&self.texts[pos]);
        for ((part, lines), numbers) in parts {
            let Some(result) = part.as_result() else { continue };
            let kind = call_of(history, pos, &result.call_id).map_or(Kind::Other, |call| call.kind);
            for (line, number) in lines.lines.iter().zip(&numbers.lines) {
                self.lines.seen[*number as usize].results += 1;
                let terms = line.terms.0 as usize..line.terms.1 as usize;
                for (term, number) in lines.terms(line).iter().zip(&numbers.terms[terms]) {
                    let word = &mut self.words.seen[*number as usize];
                    word.look = term.look;
                    if word.results == 0 {
                        word.first_result = now;
                    }
                    word.results += 1;
                    word.last_result = now;
                    word.last_turn = self.turns;
                    word.kind = kind;
                    word.crowd = u32::try_from(lines.terms.len()).unwrap_or(u32::MAX);
                    word.definition |= line.definition;
                    word.failure |= line.failure;
                }
            }
        }
    }
}

/// The call that a result at a position answers.
pub fn call_of<'h>(history: &'h History, result: usize, id: &str) -> Option<&'h Call> {
    let first = *history.group(history.group_of(result)).items.first()?;
    let calls = said(history.message(first)).calls.iter().flatten();
    calls.map(|call| &**call).find(|call| call.id == id)
}
