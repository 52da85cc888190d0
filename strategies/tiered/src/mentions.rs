//! Who refers to whom?
//!
//! The document counts references and does not say what one is. Here a later message refers to an
//! earlier one if it names it as its parent, holds the result of one of its calls, or has its id (or
//! the id of one of its calls) in its text. A message counts once, however often it refers.
//!
//! Ids are found in one pass over the texts: only words of ASCII letters, digits, `_` and `-` are
//! looked up, with at least six characters of which one is a digit. Ids of another shape are known by
//! parent and result alone.

use foldback_core::log::{Message, Part, PartKind};
use std::collections::HashMap;
use std::ops::Range;

const SHORTEST_ID: usize = 6;

/// How many later messages refer to each message, in the order given (oldest first).
pub fn count<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Vec<u32> {
    let mut index = Index::default();
    let mut counts: Vec<u32> = Vec::new();
    let mut found: Vec<usize> = Vec::new();
    for message in messages {
        found.clear();
        found.extend(message.parent.as_deref().and_then(|id| index.get(id)));
        found.extend(words(message).filter_map(|word| index.get(word)));
        for result in message.parts.iter().filter_map(|part| part.as_result()) {
            found.extend(index.get(&result.call_id));
        }
        found.sort_unstable();
        found.dedup();
        for target in &found {
            counts[*target] += 1;
        }
        let place = counts.len();
        counts.push(0);
        index.add(&message.id, place);
        for call_id in message.call_ids() {
            index.add(call_id, place);
        }
    }
    counts
}

/// Where an id stands; the latest message where ids repeat.
#[derive(Default)]
struct Index<'a> {
    places: HashMap<&'a str, usize>,
    /// Which lengths ids have, as a bit set, so that most words need no lookup.
    lengths: u128,
}

impl<'a> Index<'a> {
    fn add(&mut self, id: &'a str, place: usize) {
        self.places.insert(id, place);
        self.lengths |= 1 << id.len().min(127);
    }

    fn get(&self, id: &str) -> Option<usize> {
        let known = self.lengths >> id.len().min(127) & 1 == 1;
        known.then(|| self.places.get(id).copied()).flatten()
    }
}

/// Where the words of a message are that may be ids: part and bytes.
struct Words(Box<[(u32, Range<u32>)]>);

/// The words of a message that may be ids, found once for all folds.
fn words(message: &Message) -> impl Iterator<Item = &str> {
    let Words(words) = message.derived.get_or(|| {
        let mut words = Vec::new();
        for (part, content) in message.parts.iter().enumerate() {
            let ranges = text_of(content).into_iter().flat_map(words_in);
            words.extend(ranges.map(|range| (part as u32, range)));
        }
        Words(words.into())
    });
    words.iter().filter_map(|(part, range)| {
        text_of(message.parts.get(*part as usize)?)?.get(range.start as usize..range.end as usize)
    })
}

/// The text in which ids are looked for.
fn text_of(part: &Part) -> Option<&str> {
    match &part.kind {
        PartKind::Text { text, .. } => Some(text),
        PartKind::Call(call) => Some(&call.arguments),
        PartKind::Result(result) => Some(&result.text),
        _ => None,
    }
}

fn words_in(text: &str) -> impl Iterator<Item = Range<u32>> {
    let bytes = text.as_bytes();
    let mut at = 0;
    let every = std::iter::from_fn(move || {
        let start = at + bytes[at..].iter().position(|byte| is_word(*byte))?;
        let rest = &bytes[start..];
        at = start + rest.iter().position(|byte| !is_word(*byte)).unwrap_or(rest.len());
        Some(start..at)
    });
    let may_be_one = move |word: &Range<usize>| {
        word.len() >= SHORTEST_ID && bytes[word.clone()].iter().any(u8::is_ascii_digit)
    };
    every.filter(may_be_one).map(|word| word.start as u32..word.end as u32)
}

/// Whether a byte may be part of an id that is looked for. A table: every byte of a history passes here.
fn is_word(byte: u8) -> bool {
    const TABLE: [bool; 256] = {
        let mut table = [false; 256];
        let mut byte: u8 = 0;
        while byte < 128 {
            table[byte as usize] = byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
            byte += 1;
        }
        table
    };
    TABLE[byte as usize]
}

#[cfg(test)]
mod tests {
    use super::*;
    use foldback_core::{Part, Role};

    #[test]
    fn references_as_a_table() {
        let asked = || Message::user("msg-123", "look");
        let replying = |id: &str, parent: &str| Message {
            parent: Some(parent.to_owned()),
            ..Message::user(id, "yes")
        };
        let calling = || {
            Message::new(
                "msg-200",
                Role::Assistant,
                vec![Part::call("call_1a", "read", "{}"), Part::call("call_1b", "read", "{}")],
            )
        };
        let cases: [(&str, Vec<Message>, Vec<u32>); 9] = [
            ("nobody", vec![asked(), Message::user("b", "no")], vec![0, 0]),
            ("by parent", vec![asked(), replying("b", "msg-123")], vec![1, 0]),
            (
                "by id, twice in one message",
                vec![asked(), Message::user("b", "see msg-123, I say msg-123.")],
                vec![1, 0],
            ),
            (
                "an id inside a longer word",
                vec![asked(), Message::user("b", "see msg-1234")],
                vec![0, 0],
            ),
            (
                "an id too plain to be looked for",
                vec![Message::user("7", "a"), Message::user("b", "7 apples")],
                vec![0, 0],
            ),
            (
                "an id that is a plain word",
                vec![Message::user("release", "a"), Message::user("b", "a release")],
                vec![0, 0],
            ),
            (
                "earlier messages do not refer",
                vec![Message::user("b", "see msg-123"), asked()],
                vec![0, 0],
            ),
            (
                "by results",
                vec![
                    calling(),
                    Message::tool("r1", "call_1a", "read", "x"),
                    Message::tool("r2", "call_1b", "read", "y"),
                ],
                vec![2, 0, 0],
            ),
            (
                "parent and result are one message",
                vec![
                    calling(),
                    Message {
                        parent: Some("msg-200".to_owned()),
                        ..Message::tool("r1", "call_1a", "read", "x")
                    },
                ],
                vec![1, 0],
            ),
        ];
        for (name, messages, expect) in cases {
            assert_eq!(count(&messages), expect, "{name}");
        }
    }
}
