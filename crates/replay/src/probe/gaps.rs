//! Gaps: lines of the log with one piece left out.

use super::candidate::{Candidate, GAP, Pool};
use super::{Holder, Kind};
use crate::read::identifiers::evidence::telling;
use crate::read::identifiers::{Class, identifiers};
use crate::read::index::text::text_of;
use crate::read::index::{Index, LogPart};
use foldback_core::log::{Message, PartKind, Role};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Characters of a line.
const LINE: std::ops::RangeInclusive<usize> = 20..=200;

/// Letters around the gap at least: without them nobody could tell which line is meant.
const LETTERS: usize = 10;

/// Words at the end of a sentence that are left out where it names nothing.
const TAIL: usize = 3;

/// Words of such a sentence at least.
const WORDS: usize = 7;

/// Words that forbid.
const FORBIDS: [&str; 8] =
    ["don't", "don’t", "do not", "must not", "never", "avoid", "should not", "shouldn't"];

/// Names of the arguments that are commands.
const COMMANDS: [&str; 4] = ["command", "cmd", "script", "commands"];

/// All of them.
pub(super) fn gaps(index: &Index, log: &[Arc<Message>]) -> Vec<Candidate> {
    let known = Identified::new(log);
    let mut found = users(index, log, &known);
    for (at, message) in log.iter().enumerate() {
        for (number, part) in message.parts.iter().enumerate() {
            let place = (at, number);
            match &part.kind {
                PartKind::Result(result) => {
                    found.extend(result.text.lines().filter_map(|line| {
                        known.once(line, (Kind::Result, Holder::Result, place))
                    }));
                }
                PartKind::Call(call) => {
                    let arguments = call.arguments_value();
                    let lines = command(&arguments).into_iter().flat_map(str::lines);
                    found.extend(
                        lines.filter_map(|line| {
                            known.once(line, (Kind::Tried, Holder::Call, place))
                        }),
                    );
                }
                _ => {}
            }
        }
    }
    found
}

/// The command of a call.
fn command(arguments: &Value) -> Option<&str> {
    match COMMANDS.iter().find_map(|name| arguments.get(name))? {
        Value::String(command) => Some(command),
        // `["bash", "-lc", "…"]`
        Value::Array(words) => words.last()?.as_str(),
        _ => None,
    }
}

/// The telling identifiers of a log: how many messages have each, and all of a class.
struct Identified {
    messages: HashMap<String, usize>,
    pools: BTreeMap<Class, Pool>,
}

impl Identified {
    fn new(log: &[Arc<Message>]) -> Self {
        let mut last: HashMap<String, (usize, usize)> = HashMap::new();
        let mut pools: BTreeMap<Class, Vec<String>> = BTreeMap::new();
        for (at, message) in log.iter().enumerate() {
            for part in &message.parts {
                let text = text_of(part, &mut |_| ());
                for found in identifiers(&text).filter(|one| telling(one.class, one.text)) {
                    match last.get_mut(found.text) {
                        Some((count, before)) => {
                            *count += usize::from(*before != at);
                            *before = at;
                        }
                        None => {
                            last.insert(found.text.to_owned(), (1, at));
                            pools.entry(found.class).or_default().push(found.text.to_owned());
                        }
                    }
                }
            }
        }
        Self {
            messages: last.into_iter().map(|(text, (count, _))| (text, count)).collect(),
            pools: pools.into_iter().map(|(class, pool)| (class, pool.into())).collect(),
        }
    }

    /// A gap for an identifier that no other message has.
    fn once(&self, line: &str, at: (Kind, Holder, LogPart)) -> Option<Candidate> {
        let (line, class, found) = self.gap(line)?;
        let rare = self.messages.get(found) == Some(&1);
        rare.then(|| self.candidate(line, class, found, at))
    }

    /// The line without blanks at its ends, and the identifier of it that fewest messages have and that stands in it once.
    fn gap<'l>(&self, line: &'l str) -> Option<(&'l str, Class, &'l str)> {
        let line = line.trim();
        if !LINE.contains(&line.chars().count()) || line.contains(GAP) {
            return None;
        }
        let found = identifiers(line)
            .filter(|one| telling(one.class, one.text) && one.class != Class::Url)
            .filter(|one| stands_alone(line, one.text))
            .filter(|one| {
                let letters = line.chars().filter(|c| c.is_alphabetic()).count();
                letters - one.text.chars().filter(|c| c.is_alphabetic()).count() >= LETTERS
            })
            .min_by_key(|one| self.messages.get(one.text).copied().unwrap_or(usize::MAX))?;
        Some((line, found.class, found.text))
    }

    fn candidate(
        &self,
        line: &str,
        class: Class,
        found: &str,
        at: (Kind, Holder, LogPart),
    ) -> Candidate {
        let pool = self.pools.get(&class).cloned().unwrap_or_default();
        Candidate::gap(at, line, found, pool).path(class == Class::Path)
    }
}

/// Whether a piece stands in a line once, and not within a longer name.
fn stands_alone(line: &str, piece: &str) -> bool {
    let mut places = line.match_indices(piece);
    let (Some((at, _)), None) = (places.next(), places.next()) else { return false };
    let joins = |c: char| c.is_alphanumeric() || matches!(c, '_' | '/' | '\\' | '-' | '.');
    let (before, after) = (&line[..at], &line[at + piece.len()..]);
    let mut next = after.chars();
    let joined = match next.next() {
        Some('.') => next.next().is_some_and(char::is_alphanumeric),
        Some(c) => joins(c),
        None => false,
    };
    !before.ends_with(joins) && !joined
}

/// What the user said: a gap for what a sentence names, else for its last words.
fn users(index: &Index, log: &[Arc<Message>], known: &Identified) -> Vec<Candidate> {
    let mut said: Vec<(LogPart, &str)> = Vec::new();
    for at in index.instructions.iter().filter(|at| at.0 < log.len()) {
        let message = &log[at.0];
        if let (Role::User, PartKind::Text { text, .. }) = (message.role, &message.parts[at.1].kind)
        {
            said.extend(sentences(text).into_iter().map(|sentence| (*at, sentence)));
        }
    }
    let tails: Pool = said.iter().filter_map(|(_, text)| tail(text)).map(str::to_owned).collect();
    let candidate = |(at, sentence): &(LogPart, &str)| {
        let lower = sentence.to_lowercase();
        let kind = match FORBIDS.iter().any(|word| lower.contains(word)) {
            true => Kind::Forbade,
            false => Kind::Asked,
        };
        let place = (kind, Holder::User, *at);
        if let Some((line, class, found)) = known.gap(sentence) {
            return Some(known.candidate(line, class, found, place));
        }
        let found = tail(sentence)?;
        Some(Candidate::gap(place, sentence, found, Arc::clone(&tails)))
    };
    said.iter().filter_map(candidate).collect()
}

/// The sentences of a text that may be asked for. What begins with a tag or a quotation is none, and a point within a name
/// ends none.
fn sentences(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    for line in text.lines().map(str::trim) {
        if line.starts_with(['<', '>', '|', '`']) {
            continue;
        }
        let mut start = 0;
        for (at, mark) in line.match_indices(['.', '!', '?', ';']) {
            let end = at + mark.len();
            if line[end..].starts_with(' ') {
                out.push(line[start..end].trim());
                start = end;
            }
        }
        out.push(line[start..].trim());
    }
    out.retain(|sentence| LINE.contains(&sentence.chars().count()));
    out
}

/// The last words of a sentence.
fn tail(sentence: &str) -> Option<&str> {
    let bare = sentence.trim_end_matches(|c: char| !c.is_alphanumeric());
    let starts: Vec<usize> = bare
        .match_indices(char::is_whitespace)
        .map(|(at, blank)| at + blank.len())
        .filter(|at| !bare[*at..].starts_with(char::is_whitespace))
        .collect();
    let at = (starts.len() + 1 >= WORDS).then(|| starts[starts.len() - TAIL])?;
    let tail = &bare[at..];
    (sentence.matches(tail).count() == 1 && !sentence.contains(GAP)).then_some(tail)
}
