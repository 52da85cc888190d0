//! The second judge of retention: *verbatim reuse*. It knows no identifiers, and shares no code with them.
//! If both judges agree that a preset keeps more, that does not depend on what either considers
//! important. A preset that is good by one only was tuned to that one.
//!
//! - A *word* is the longest possible run of letters, digits and underscores. A text *holds* another
//!   if it is found there from the start of a word to the end of one.
//! - A *piece* of a text runs from the start of a word to the end of a word and has at least 16 characters
//!   (code points), regardless of separators: spaces and line feeds are characters like any others.
//! - The strings and numbers in the arguments of a call, decoded from JSON and each for itself, are compared
//!   with what each part of tool messages of the log before the answer says. Names of members, `true`,
//!   `false` and `null` are left out; arguments that are no JSON are one string.
//! - A piece of such a string is *maximal* if one tool part holds it, and no longer piece of the string
//!   around it stands in one. Maximal pieces may overlap. Of equal pieces of a call one counts.
//! - It counts if it is *telling*: it has a figure, an underscore, a small letter `a`–`z` before a capital
//!   `A`–`Z`, or between two characters of words one of `/`, `\`, `.`, `@`, `#`, `-`, `:` or `::`; and if no
//!   part of a user or assistant message before the answer holds it. The call itself says it, so a piece
//!   counts at most once in a session.
//! - It is *kept* if the view shows, as recorded, a tool part that holds it, or if one text that a
//!   compaction wrote (a summary, a placeholder, what is left of a part that was cut) does.
//! - Its *distance* is that of the last tool part before the answer that holds it, and far above
//!   `FAR` calls, as with references.
//!
//! All pieces of a session are found once, in time that is in proportion to its texts: an `Automaton`
//! over what calls name is shown the results in their order. [`Tracker`](crate::read::index::Tracker) follows
//! them through a replay.

mod automaton;
mod finder;
#[cfg(test)]
mod tests;
mod words;

use crate::number;
use automaton::{Automaton, Match, Symbol};
use finder::Finder;
pub(crate) use finder::PieceId;
use foldback_core::log::{Message, Part, Role};
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;
use words::{LEAST, Seeds, is_word, seed, starts, stretches, words};

/// A piece that a call reuses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PieceNeed {
    pub(crate) piece: PieceId,
    /// Calls since a tool result last held it; 1 for what the call before brought.
    pub(crate) distance: usize,
    /// The latest part of a tool result that holds it, by its number among all parts of the log.
    pub(crate) source: usize,
}

/// The pieces that the calls of a session reuse.
#[derive(Clone, Debug, Default)]
pub(crate) struct Verbatim {
    finder: Finder,
    needs: Vec<Box<[PieceNeed]>>,
    /// By part of the log, those that a tool result holds.
    parts: Vec<Box<[PieceId]>>,
}

impl Verbatim {
    /// Reads a log.
    pub(crate) fn read(log: &[Arc<Message>]) -> Self {
        let heard = Heard::new(log);
        let candidates = heard.candidates();
        let mut distinct: Vec<Box<str>> = candidates.concat();
        distinct.sort_unstable();
        distinct.dedup();
        let finder = Finder::new(distinct);
        heard.needed(&finder, &candidates)
    }

    /// The pieces that a call reuses.
    pub(crate) fn needs(&self, call: usize) -> &[PieceNeed] {
        self.needs.get(call).map_or(&[], |needs| needs)
    }

    /// The pieces that a part of the log holds, by its number among all; nothing but tool results does.
    pub(crate) fn part(&self, number: usize) -> &[PieceId] {
        self.parts.get(number).map_or(&[], |pieces| pieces)
    }

    /// The pieces that a text holds.
    pub(crate) fn find(&self, text: &str) -> Box<[PieceId]> {
        self.finder.find(text)
    }

    /// Number of pieces.
    pub(crate) fn len(&self) -> usize {
        self.finder.len()
    }

    /// A piece.
    pub(crate) fn text(&self, piece: PieceId) -> &str {
        self.finder.text(piece)
    }
}

/// A part of the log.
struct Place<'m> {
    role: Role,
    /// Calls that were answered up to it, its own included.
    answers: usize,
    /// What it says.
    text: Cow<'m, str>,
    /// Of a tool part, the starts of the words at which a piece may begin.
    starts: Vec<usize>,
}

/// A session as it was heard: what calls name, and what was said.
struct Heard<'m> {
    /// By call, the distinct strings of its arguments, and the number of parts before its answer.
    calls: Vec<(Vec<String>, usize)>,
    places: Vec<Place<'m>>,
}

impl<'m> Heard<'m> {
    fn new(log: &'m [Arc<Message>]) -> Self {
        let mut out = Self { calls: Vec::new(), places: Vec::new() };
        for message in log {
            let before = out.places.len();
            let mut named = Vec::new();
            let answers = out.calls.len() + usize::from(message.is_answer());
            for part in &message.parts {
                let text = match arguments(part) {
                    Some(strings) => {
                        let text = strings.iter().flat_map(|text| [text.as_str(), "\n"]).collect();
                        named.extend(strings);
                        text
                    }
                    None => part.shown(),
                };
                out.places.push(Place { role: message.role, answers, text, starts: Vec::new() });
            }
            if message.is_answer() {
                let mut known = FxHashSet::default();
                named.retain(|text| text.len() >= LEAST && known.insert(text.clone()));
                out.calls.push((named, before));
            }
        }
        // What is no longer referred to is dropped.
        out.places.truncate(out.calls.last().map_or(0, |(_, before)| *before));
        let mut named = Seeds::for_about(
            out.calls.iter().flat_map(|(texts, _)| texts).map(|text| text.len() / 4).sum(),
        );
        for text in out.calls.iter().flat_map(|(texts, _)| texts) {
            words(text, 0)
                .filter_map(|word| seed(text, word.start))
                .for_each(|seed| named.insert(seed));
        }
        for place in out.places.iter_mut().filter(|place| place.role == Role::Tool) {
            place.starts = starts(&place.text, &named);
        }
        out
    }

    /// By call, the distinct maximal pieces that tell something.
    fn candidates(&self) -> Vec<Vec<Box<str>>> {
        let results = || self.places.iter().filter(|place| place.role == Role::Tool);
        let mut heard = Seeds::for_about(results().map(|place| place.starts.len()).sum());
        for place in results() {
            let seeds = place.starts.iter().filter_map(|at| seed(&place.text, *at));
            seeds.for_each(|seed| heard.insert(seed));
        }
        let named: Vec<Vec<&str>> = self
            .calls
            .iter()
            .map(|(texts, _)| {
                let mut out = Vec::new();
                for text in texts {
                    let found = stretches(text, &starts(text, &heard));
                    out.extend(found.into_iter().map(|range| &text[range]));
                }
                out
            })
            .collect();
        let mut symbols: FxHashMap<&str, Symbol> = FxHashMap::default();
        let mut automaton = Automaton::default();
        let mut known = FxHashSet::default();
        for text in named.iter().flatten().filter(|text| known.insert(**text)) {
            let numbers: Vec<Symbol> = tokens(text)
                .map(|token| {
                    let new: Symbol = number::next(symbols.len());
                    *symbols.entry(&text[token]).or_insert(new)
                })
                .collect();
            automaton.add(&numbers);
        }
        let mut at = 0;
        let mut out = Vec::with_capacity(self.calls.len());
        for ((_, before), named) in self.calls.iter().zip(&named) {
            for place in self.places[at..*before].iter().filter(|place| place.role == Role::Tool) {
                for range in stretches(&place.text, &place.starts) {
                    let text = &place.text[range];
                    tokens(text).fold(Match::default(), |heard, token| {
                        let symbol = symbols.get(&text[token]);
                        symbol.map_or(Match::default(), |symbol| automaton.hear(heard, *symbol))
                    });
                }
            }
            at = *before;
            let mut pieces: Vec<Box<str>> = Vec::new();
            for text in named {
                let maximal = maximal(text, &automaton, &symbols).into_iter();
                pieces.extend(
                    maximal.map(|range| &text[range]).filter(|piece| counts(piece)).map(Box::from),
                );
            }
            pieces.sort_unstable();
            pieces.dedup();
            out.push(pieces);
        }
        out
    }

    /// Which of the candidates only tools had said.
    fn needed(&self, finder: &Finder, candidates: &[Vec<Box<str>>]) -> Verbatim {
        /// What is known of a candidate.
        #[derive(Clone, Copy, Default)]
        struct Sighting {
            said: bool,
            /// Calls that were answered up to the last tool part with it, and the number of that part.
            heard: Option<(usize, usize)>,
        }
        let mut seen = vec![Sighting::default(); finder.len()];
        let mut holding: Vec<Box<[PieceId]>> = Vec::with_capacity(self.places.len());
        let mut needed: Vec<Vec<PieceNeed>> = Vec::with_capacity(self.calls.len());
        for (call, ((_, before), candidates)) in self.calls.iter().zip(candidates).enumerate() {
            for place in &self.places[holding.len()..*before] {
                let mut held = Box::default();
                match place.role {
                    Role::Tool => {
                        held = finder.find_at(&place.text, &place.starts);
                        for piece in &held {
                            seen[*piece as usize].heard = Some((place.answers, holding.len()));
                        }
                    }
                    Role::User | Role::Assistant => {
                        for piece in finder.find(&place.text) {
                            seen[piece as usize].said = true;
                        }
                    }
                    _ => {}
                }
                holding.push(held);
            }
            let candidates = candidates.iter().filter_map(|text| finder.number(text));
            let reused = candidates.filter_map(|piece| match seen[piece as usize] {
                // Call t comes after t answers; what call t - 1 brought is at 1.
                Sighting { said: false, heard: Some((answers, source)) } => {
                    Some(PieceNeed { piece, distance: call + 1 - answers, source })
                }
                _ => None,
            });
            needed.push(reused.collect());
        }
        numbered(finder, &needed, &holding)
    }
}

/// The needed pieces under numbers of their own.
fn numbered(all: &Finder, needed: &[Vec<PieceNeed>], holding: &[Box<[PieceId]>]) -> Verbatim {
    let pieces = needed.iter().flatten();
    let finder = Finder::new(pieces.map(|need| all.text(need.piece).into()).collect());
    let mut number: Vec<Option<PieceId>> = vec![None; all.len()];
    for PieceNeed { piece, .. } in needed.iter().flatten() {
        number[*piece as usize] = finder.number(all.text(*piece));
    }
    let mine =
        |pieces: &[PieceId]| pieces.iter().filter_map(|piece| number[*piece as usize]).collect();
    let renumbered = |needs: &Vec<PieceNeed>| {
        let own =
            |need: &PieceNeed| Some(PieceNeed { piece: number[need.piece as usize]?, ..*need });
        needs.iter().filter_map(own).collect()
    };
    Verbatim {
        parts: holding.iter().map(|pieces| mine(pieces)).collect(),
        needs: needed.iter().map(renumbered).collect(),
        finder,
    }
}

/// The words of a text that begins with one, and what stands between them.
fn tokens(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut end = 0;
    words(text, 0).flat_map(move |word| {
        let between = std::mem::replace(&mut end, word.end)..word.start;
        [between, word].into_iter().filter(|token| !token.is_empty())
    })
}

/// The maximal stretches of a text, from the start of a word to the end of one, that results held.
fn maximal(text: &str, heard: &Automaton, symbols: &FxHashMap<&str, Symbol>) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut begins: Vec<usize> = Vec::new();
    let mut now = Match::default();
    for (number, token) in tokens(text).enumerate() {
        begins.push(token.start);
        let symbol = symbols.get(&text[token.clone()]);
        now = symbol.map_or(Match::default(), |symbol| heard.recall(now, *symbol));
        // Every other token is a word, the first one too.
        let from = (number + 1).saturating_sub(now.length as usize).next_multiple_of(2);
        if number % 2 == 1 || from > number {
            continue;
        }
        let start = begins[from];
        match found.last_mut().filter(|last| last.start == start) {
            Some(last) => last.end = token.end,
            None => found.push(start..token.end),
        }
    }
    found
}

/// Whether a stretch from the start of a word to the end of one is a piece that tells something.
fn counts(piece: &str) -> bool {
    piece.chars().count() >= LEAST && tells(piece)
}

/// Whether a text has something like a name, a number or a path.
fn tells(text: &str) -> bool {
    let mut last = [' '; 3];
    text.chars().any(|c| {
        let [third, second, first] = last;
        last = [second, first, c];
        c == '_'
            || c.is_numeric()
            || (first.is_ascii_lowercase() && c.is_ascii_uppercase())
            || (is_word(c) && is_word(second) && r"/\.@#-:".contains(first))
            || (is_word(c) && is_word(third) && (second, first) == (':', ':'))
    })
}

/// The strings and numbers in the arguments of a call, in order; `None` for other parts.
fn arguments(part: &Part) -> Option<Vec<String>> {
    let call = part.as_call()?;
    let mut out = Vec::new();
    match serde_json::from_str(&call.arguments) {
        Ok(value) => leaves(value, &mut out),
        Err(_) => out.push(call.arguments.clone()),
    }
    Some(out)
}

fn leaves(value: Value, out: &mut Vec<String>) {
    match value {
        Value::String(text) => out.push(text),
        Value::Number(number) => out.push(number.to_string()),
        Value::Array(values) => values.into_iter().for_each(|value| leaves(value, out)),
        Value::Object(fields) => fields.into_iter().for_each(|(_, value)| leaves(value, out)),
        Value::Null | Value::Bool(_) => {}
    }
}
