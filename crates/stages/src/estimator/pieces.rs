//! Counting by pieces, each distinct one encoded once.
//!
//! The vocabularies cut a text into words, numbers and runs of marks, and each of these pieces is encoded
//! on its own. Nearly all pieces of a session are short and were met before; a lookup costs a tenth of
//! encoding one. Summaries and cut results come again as a whole, most of all in the next request for a summary: their counts
//! are found by a hash, which saves a comparison a tenth of its instructions.

use super::tokenizer::Tokenizer;
use super::vocabulary::Vocabulary;
use std::cell::RefCell;

thread_local! {
    /// Token counts of pieces, by vocabulary. One table per thread, so that threads never wait.
    static KNOWN: [RefCell<PieceTable>; 2] = const { [const { RefCell::new(PieceTable(Vec::new())) }; 2] };
    /// Token counts of texts, likewise.
    static TEXTS: [RefCell<Texts>; 2] = const { [const { RefCell::new(Texts(Vec::new())) }; 2] };
}

/// Tokens of a text.
pub(super) fn count(vocabulary: Vocabulary, text: &str) -> u64 {
    if text.len() < Texts::SHORTEST {
        return count_pieces(vocabulary, text);
    }
    TEXTS.with(|texts| {
        let mut texts = texts[vocabulary as usize].borrow_mut();
        texts.count(text, || count_pieces(vocabulary, text))
    })
}

fn count_pieces(vocabulary: Vocabulary, text: &str) -> u64 {
    let tokenizer = Tokenizer::get(vocabulary);
    KNOWN.with(|known| {
        let mut known = known[vocabulary as usize].borrow_mut();
        let mut rest = text.as_bytes();
        let pieces = tokenizer.split(text).map(|piece| {
            let count = known.count(rest, piece.len(), || tokenizer.count(piece.as_bytes()));
            rest = &rest[piece.len()..];
            count
        });
        pieces.sum()
    })
}

/// The counts of short pieces: a table of fixed size in which a new piece takes the place of another.
struct PieceTable(Vec<u128>);

const BITS: u32 = 14;
/// Bytes of the longest piece that is remembered; they fit into an entry with length and count.
const LONGEST: usize = 15;

impl PieceTable {
    /// The count of the piece of this length with which a text begins.
    fn count(&mut self, text: &[u8], length: usize, encode: impl FnOnce() -> usize) -> u64 {
        if length > LONGEST {
            return encode() as u64;
        }
        if self.0.is_empty() {
            self.0.resize(1 << BITS, 0);
        }
        // A copy of as many bytes as the piece has would be a call.
        let bytes = text.first_chunk().copied().unwrap_or_else(|| {
            let mut bytes = [0; 16];
            bytes[..length].copy_from_slice(&text[..length]);
            bytes
        });
        let bits = 8 * length as u32;
        let piece = u128::from_le_bytes(bytes) & !u128::MAX.unbounded_shl(bits);
        let key = piece | (length as u128) << (8 * LONGEST);
        let mixed = (key as u64 ^ (key >> 64) as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let entry = &mut self.0[(mixed >> (u64::BITS - BITS)) as usize];
        // The count is above the length, four bits each.
        if *entry & (u128::MAX >> 4) != key {
            *entry = key | (encode() as u128) << 124;
        }
        (*entry >> 124) as u64
    }
}

/// The counts of long texts by their hashes: a table of fixed size in which a new text takes the place of another.
struct Texts(Vec<([u8; 24], u64)>);

impl Texts {
    /// Bytes of the shortest text that is remembered.
    const SHORTEST: usize = 256;
    /// A power of two. The table of a thread takes 16 KB: threads of the proxy have one each.
    const LENGTH: usize = 1 << 9;

    fn count(&mut self, text: &str, count: impl FnOnce() -> u64) -> u64 {
        if self.0.is_empty() {
            self.0.resize(Self::LENGTH, ([0; 24], 0));
        }
        let hash = blake3::hash(text.as_bytes());
        let (key, place) = hash.as_bytes().split_at(24);
        let place = usize::from(place[0]) << 8 | usize::from(place[1]);
        let entry = &mut self.0[place % Self::LENGTH];
        if entry.0 != key {
            entry.0.copy_from_slice(key);
            entry.1 = count();
        }
        entry.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foldback_core::work;
    use foldback_test_support::runs::{ENDS, RUNS};
    use proptest::prelude::*;

    fn both() -> [(Vocabulary, &'static bpe_openai::Tokenizer); 2] {
        [
            (Vocabulary::O200k, bpe_openai::o200k_base()),
            (Vocabulary::Cl100k, bpe_openai::cl100k_base()),
        ]
    }

    proptest! {
        #[test]
        fn agrees_with_the_library(
            text in r"([a-zA-Z]{1,3}|[ \t\r\n'/]{1,4}|['sStrRevLmd]{1,4}|[ -~]{1,8}|[0-9]{1,4}|[ \n]{1,3}|[/(.=_]{1,20}|[éſ漢²]|\PC{0,8}|\x00){0,24}"
        ) {
            for (vocabulary, library) in both() {
                prop_assert!(Tokenizer::get(vocabulary).split(&text).eq(library.split(&text)));
                let tokens = library.count(&text) as u64;
                prop_assert_eq!(count(vocabulary, &text), tokens);
                // The second time from what is known.
                prop_assert_eq!(count(vocabulary, &text), tokens);
            }
        }

        /// Bytes that do not make characters, and tokens where others would be merged.
        #[test]
        fn agrees_on_every_piece(tokens in prop::collection::vec(0_u32..100_000, 1..40)) {
            for (vocabulary, library) in both() {
                let library = &library.bpe;
                let piece = library.decode_tokens(&tokens);
                prop_assert_eq!(Tokenizer::get(vocabulary).count(&piece), library.count(&piece));
            }
        }
    }

    /// A run that is four times as long takes four times the steps, whatever comes behind it. The counts are the library's.
    #[test]
    fn a_long_run_takes_the_steps_of_its_length() {
        let steps = |vocabulary, text: &str| {
            let before = work::counted();
            count(vocabulary, text);
            work::counted() - before
        };
        for (vocabulary, library) in both() {
            for (unit, end) in RUNS.iter().flat_map(|unit| ENDS.map(|end| (unit, end))) {
                let [short, long] = [1_000, 4_000].map(|times| unit.repeat(times) + end);
                let (once, four) = (steps(vocabulary, &short), steps(vocabulary, &long));
                assert!(once >= 1_000, "{unit:?}{end:?}: {once} steps, so nothing was counted");
                assert!(four <= 5 * once, "{unit:?}{end:?}: {once} steps became {four}");
                assert_eq!(
                    count(vocabulary, &short),
                    library.count(&*short) as u64,
                    "{unit:?}{end:?}"
                );
            }
        }
    }

    #[test]
    fn agrees_on_long_pieces_and_sessions() {
        let sessions = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/sessions");
        let files = std::fs::read_dir(sessions).unwrap().map(|entry| entry.unwrap().path());
        let mut texts: Vec<String> =
            files.map(|file| std::fs::read_to_string(file).unwrap()).collect();
        assert!(texts.len() > 12);
        texts.sort();
        // One piece of many windows: the words of the sessions with nothing between them.
        texts.push(
            texts.concat().chars().filter(|char| char.is_alphabetic()).take(300_000).collect(),
        );
        texts.extend(["a", "ab", "=", " ", "\n", "漢", "Ünï"].map(|unit| unit.repeat(5_000)));
        for (vocabulary, library) in both() {
            for text in &texts {
                let name = text.chars().take(40).collect::<String>();
                assert!(Tokenizer::get(vocabulary).split(text).eq(library.split(text)), "{name}");
                assert_eq!(count(vocabulary, text), library.count(text.as_str()) as u64, "{name}");
                // The second time from what is known.
                let before = work::counted();
                assert_eq!(count(vocabulary, text), library.count(text.as_str()) as u64, "{name}");
                assert_eq!(work::counted(), before, "{name}");
            }
        }
    }
}
