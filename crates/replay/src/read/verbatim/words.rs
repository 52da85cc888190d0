//! Words of a text, and the first bytes of what begins at a word.

use std::ops::Range;

/// Least length of a piece in characters, and bytes of a seed: what a piece is first recognized by.
pub(super) const LEAST: usize = 16;

/// The first bytes of a text after the start of a word.
pub(super) type Seed = u128;

/// Whether a character belongs to words.
pub(super) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The words of a text that begin at `at` or after it. A word that `at` stands in is cut.
pub(super) fn words(text: &str, at: usize) -> Words<'_> {
    Words { text, at }
}

/// Iterator over the words of a text.
pub(super) struct Words<'t> {
    text: &'t str,
    at: usize,
}

/// Which ASCII characters belong to words.
const ASCII: [bool; 128] = {
    let mut table = [false; 128];
    let mut byte = 0;
    while byte < 128 {
        table[byte] = (byte as u8).is_ascii_alphanumeric() || byte as u8 == b'_';
        byte += 1;
    }
    table
};

impl Words<'_> {
    /// The end of the run of characters from `at` that belong to words, or that do not.
    fn run(&self, mut at: usize, of_words: bool) -> usize {
        let bytes = self.text.as_bytes();
        while let Some(byte) = bytes.get(at) {
            let (belongs, length) = match ASCII.get(usize::from(*byte)) {
                Some(belongs) => (*belongs, 1),
                None => {
                    let next = self.text[at..].chars().next();
                    next.map_or((false, 1), |c| (is_word(c), c.len_utf8()))
                }
            };
            if belongs != of_words {
                break;
            }
            at += length;
        }
        at
    }
}

impl Iterator for Words<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        let start = self.run(self.at, false);
        self.at = self.run(start, true);
        (start < self.at).then_some(start..self.at)
    }
}

/// Whether a word may end at a place of a text, with a character of a word before it.
pub(super) fn ends_word(text: &str, at: usize) -> bool {
    match text.as_bytes().get(at).map(|byte| ASCII.get(usize::from(*byte))) {
        None => true,
        Some(Some(belongs)) => !belongs,
        Some(None) => !text[at..].chars().next().is_some_and(is_word),
    }
}

/// The seed of what begins at a place of a text; `None` where there is not enough.
pub(super) fn seed(text: &str, at: usize) -> Option<Seed> {
    let bytes = text.as_bytes().get(at..at + LEAST)?;
    Some(Seed::from_le_bytes(bytes.try_into().ok()?))
}

/// A set of seeds that may hold some that were never put into it.
#[derive(Clone, Debug, Default)]
pub(super) struct Seeds {
    bits: Vec<u64>,
    shift: u32,
}

impl Seeds {
    /// Room for so many seeds.
    pub(super) fn for_about(seeds: usize) -> Self {
        let bits = (seeds * 16).next_power_of_two().max(1_024);
        Self { bits: vec![0; bits / 64], shift: 64 - bits.ilog2() }
    }

    pub(super) fn insert(&mut self, seed: Seed) {
        let bit = self.bit(seed);
        self.bits[bit / 64] |= 1 << (bit % 64);
    }

    pub(super) fn may_hold(&self, seed: Seed) -> bool {
        let bit = self.bit(seed);
        self.bits.get(bit / 64).is_some_and(|bits| bits >> (bit % 64) & 1 == 1)
    }

    fn bit(&self, seed: Seed) -> usize {
        let (low, high) = (seed as u64, (seed >> 64) as u64);
        let mixed = (low.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ high)
            .wrapping_mul(0xD6E8_FEB8_6659_FD93)
            .wrapping_add(high.wrapping_mul(0xA076_1D64_78BD_642F));
        (mixed >> self.shift) as usize
    }
}

/// The starts of the words of a text whose seeds may be among some.
pub(super) fn starts(text: &str, seeds: &Seeds) -> Vec<usize> {
    let found = words(text, 0).map(|word| word.start);
    found.filter(|at| seed(text, *at).is_some_and(|seed| seeds.may_hold(seed))).collect()
}

/// Stretches of a text, each from the start of a word to the end of one, that hold every piece all of
/// whose seeds are among the ascending `starts`.
///
/// The words of a piece that begin less than a seed before its end have no seed of their own. So a
/// stretch goes on after its last seed over all words that begin less than a seed after the next word.
pub(super) fn stretches(text: &str, starts: &[usize]) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    let mut left = starts.iter().copied().peekable();
    while let Some(start) = left.next() {
        let mut last = start;
        let until = loop {
            let behind = words(text, last).nth(1);
            let until = behind.map_or(text.len(), |next| next.start + LEAST);
            match left.next_if(|next| *next < until) {
                Some(next) => last = next,
                None => break until,
            }
        };
        let inside = words(text, last).take_while(|word| word.start < until);
        out.push(start..inside.last().map_or(last, |word| word.end));
    }
    out
}
