//! How the vocabularies cut a text into pieces, and how many tokens a piece has.
//!
//! `bpe-openai` counts with automata that take 47 MB in a program and half a minute to build. The tokens alone take 1.4 MB
//! (`data`). They are unpacked when something is first counted; the tests compare tokens and counts with that crate.

use super::ascii::{count_bytes, first_piece};
use super::vocabulary::Vocabulary;
use flate2::read::ZlibDecoder;
use regex_automata::meta::Regex;
use regex_automata::{Anchored, Input, PatternID};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::Read;
use std::sync::LazyLock;

static O200K: LazyLock<Tokenizer> = LazyLock::new(|| {
    let pieces = concat!(
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|",
        r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+$"
    );
    Tokenizer::new(Vocabulary::O200k, include_bytes!("../../data/o200k.tokens"), pieces)
});

static CL100K: LazyLock<Tokenizer> = LazyLock::new(|| {
    let pieces = concat!(
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|",
        r"\s*[\r\n]+|\s+$"
    );
    Tokenizer::new(Vocabulary::Cl100k, include_bytes!("../../data/cl100k.tokens"), pieces)
});

pub(super) struct Tokenizer {
    vocabulary: Vocabulary,
    /// The number of every token. A lower one is merged first.
    tokens: FxHashMap<&'static [u8], u32>,
    pieces: Regex,
}

/// The pattern of white space before other text, of which the last character belongs to that text. The vocabularies say
/// it as `\s+(?!\S)`, which a regular expression in linear time has not.
const SPACE_BEFORE_TEXT: PatternID = PatternID::new_unchecked(1);

impl Tokenizer {
    /// The tokenizer of a vocabulary; unpacked once, when something is first counted.
    pub(super) fn get(vocabulary: Vocabulary) -> &'static Self {
        match vocabulary {
            Vocabulary::O200k => &O200K,
            Vocabulary::Cl100k => &CL100K,
        }
    }

    fn new(vocabulary: Vocabulary, packed: &[u8], pieces: &str) -> Self {
        let pieces = Regex::new_many(&[pieces, r"\s+\s", r"\s+"]);
        let pieces = pieces.expect("the patterns are valid");
        Self { vocabulary, tokens: unpacked(packed), pieces }
    }

    /// The pieces of a text, each of which is encoded on its own.
    pub(super) fn split<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        let mut rest = text;
        std::iter::from_fn(move || {
            let end = first_piece(self.vocabulary, rest.as_bytes());
            let (piece, after) = rest.split_at(end.or_else(|| self.first_piece(rest))?);
            rest = after;
            Some(piece)
        })
    }

    /// The length of the first piece, in any script.
    fn first_piece(&self, text: &str) -> Option<usize> {
        let found = self.pieces.find(Input::new(text).anchored(Anchored::Yes))?;
        count_bytes(found.end());
        let piece = &text[..found.end()];
        match found.pattern() {
            SPACE_BEFORE_TEXT => Some(piece.char_indices().next_back()?.0),
            _ => Some(piece.len()),
        }
    }

    /// How many tokens a piece has.
    pub(super) fn count(&self, piece: &[u8]) -> usize {
        if self.tokens.contains_key(piece) {
            return 1;
        }
        let (mut rest, mut count, mut window) = (piece, 0, WINDOW);
        let mut ends = self.encode(&rest[..window.min(rest.len())]);
        while window < rest.len() {
            let sure = ends.len() * 3 / 4;
            let start = ends[sure - 1];
            let next = self.encode(&rest[start..rest.len().min(start + WINDOW)]);
            if start + next[0] == ends[sure] {
                count += sure;
                (rest, ends, window) = (&rest[start..], next, WINDOW);
            } else {
                window *= 2;
                ends = self.encode(&rest[..window.min(rest.len())]);
            }
        }
        count + ends.len()
    }

    /// Where the tokens of some bytes end: neighbours are merged, the lowest token first and of equal ones the leftmost,
    /// until none can be.
    fn encode(&self, bytes: &[u8]) -> Vec<usize> {
        count_bytes(bytes.len());
        let mut parts = Parts::new(bytes.len());
        let merged = |start: usize, end: usize| {
            let token = self.tokens.get(&bytes[start..end])?;
            Some(Reverse((*token, start as u32, end as u32)))
        };
        let pairs = (0..bytes.len().saturating_sub(1)).filter_map(|at| merged(at, at + 2));
        let mut next: BinaryHeap<_> = pairs.collect();
        while let Some(Reverse((_, start, end))) = next.pop() {
            let (start, end) = (start as usize, end as usize);
            if !parts.merge(start, end) {
                continue;
            }
            let before = parts.before(start).and_then(|before| merged(before, end));
            let after = parts.after(end).and_then(|after| merged(start, after));
            next.extend(before.into_iter().chain(after));
        }
        let mut end = 0;
        let ends = std::iter::from_fn(|| {
            end = parts.after(end)?;
            Some(end)
        });
        ends.collect()
    }
}

/// How many bytes are encoded at once. Time and room would otherwise grow faster than the piece.
///
/// Tokens of which every two neighbours would be encoded as these two are the encoding of all their bytes. So the tokens of a
/// window's beginning are right if one of them is also the first token of a window that starts with it.
const WINDOW: usize = 1024;

/// The parts of a piece while they are merged. A part is known by where it starts.
struct Parts {
    /// By position, the end of the part that starts there; 0 if no part starts there.
    ends: Vec<u32>,
    /// Where the part starts that ends here.
    starts: Vec<u32>,
}

impl Parts {
    /// A part for every byte.
    fn new(length: usize) -> Self {
        let all = 0..length as u32;
        Self { ends: all.clone().map(|at| at + 1).collect(), starts: all.collect() }
    }

    /// Makes one part of two, if these two are still the parts from here to there.
    fn merge(&mut self, start: usize, end: usize) -> bool {
        let middle = self.ends[start] as usize;
        if middle == 0 || middle >= end || self.ends[middle] as usize != end {
            return false;
        }
        self.ends[middle] = 0;
        self.ends[start] = end as u32;
        self.starts[end - 1] = start as u32;
        true
    }

    /// Where the part before starts.
    fn before(&self, start: usize) -> Option<usize> {
        Some(self.starts[start.checked_sub(1)?] as usize)
    }

    /// Where the part that starts here ends.
    fn after(&self, start: usize) -> Option<usize> {
        self.ends.get(start).map(|end| *end as usize)
    }
}

/// The tokens in a file of `data`: zlib over their count (32 bits, little-endian), their lengths, a byte each, and their
/// bytes, in the order of their numbers.
fn unpacked(packed: &[u8]) -> FxHashMap<&'static [u8], u32> {
    let mut bytes = Vec::new();
    ZlibDecoder::new(packed).read_to_end(&mut bytes).expect("what was packed can be unpacked");
    // It lives as long as the program, as what is embedded does.
    let (count, rest) = bytes.leak().split_first_chunk().expect("a number of tokens");
    let count = u32::from_le_bytes(*count);
    let (lengths, mut rest) = rest.split_at(count as usize);
    let tokens = (0..).zip(lengths).map(|(token, length)| {
        let (bytes, after) = rest.split_at(usize::from(*length));
        rest = after;
        (bytes, token)
    });
    tokens.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn has_the_tokens_of_the_library() {
        let libraries = [(&O200K, bpe_openai::o200k_base()), (&CL100K, bpe_openai::cl100k_base())];
        for (ours, library) in libraries {
            let library = &library.bpe;
            assert_eq!(ours.tokens.len(), library.num_tokens());
            for token in 0..library.num_tokens() as u32 {
                assert_eq!(ours.tokens.get(library.token_bytes(token)), Some(&token));
            }
        }
    }
}
