//! Finds pieces in texts.

use super::words::{Seed, Seeds, ends_word, seed, starts};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Number of a piece of a session.
pub(crate) type PieceId = u32;

/// A set of pieces.
#[derive(Clone, Debug, Default)]
pub(super) struct Finder {
    /// Ascending, each with the longest other that it begins with.
    pieces: Vec<(Box<str>, Option<PieceId>)>,
    seeds: Seeds,
    by_seed: FxHashMap<Seed, Range<usize>>,
}

impl Finder {
    /// Of distinct pieces. Their numbers are those of their places in ascending order.
    pub(super) fn new(mut texts: Vec<Box<str>>) -> Self {
        texts.sort_unstable();
        let mut out = Self { seeds: Seeds::for_about(texts.len()), ..Self::default() };
        // The pieces that the last one begins with.
        let mut open: Vec<PieceId> = Vec::new();
        for (at, text) in texts.into_iter().enumerate() {
            if let Some(seed) = seed(&text, 0) {
                out.seeds.insert(seed);
                out.by_seed.entry(seed).or_insert(at..at).end = at + 1;
            }
            while open.last().is_some_and(|last| !text.starts_with(out.text(*last))) {
                open.pop();
            }
            out.pieces.push((text, open.last().copied()));
            open.extend(PieceId::try_from(at));
        }
        out
    }

    pub(super) fn len(&self) -> usize {
        self.pieces.len()
    }

    pub(super) fn text(&self, piece: PieceId) -> &str {
        &self.pieces[piece as usize].0
    }

    /// The number of a piece.
    pub(super) fn number(&self, text: &str) -> Option<PieceId> {
        let found = self.pieces.binary_search_by(|(piece, _)| (**piece).cmp(text)).ok()?;
        PieceId::try_from(found).ok()
    }

    /// The pieces that a text holds, ascending.
    pub(super) fn find(&self, text: &str) -> Box<[PieceId]> {
        self.find_at(text, &starts(text, &self.seeds))
    }

    /// The same where the starts of the words are known at which one may begin.
    pub(super) fn find_at(&self, text: &str, starts: &[usize]) -> Box<[PieceId]> {
        let mut found = Vec::new();
        for at in starts {
            let Some(near) = seed(text, *at).and_then(|seed| self.by_seed.get(&seed)) else {
                continue;
            };
            let rest = &text[*at..];
            // What a text begins with, the last piece that is not after the text begins with too.
            let behind = self.pieces[near.clone()].partition_point(|(piece, _)| **piece <= *rest);
            let last = (near.start + behind).checked_sub(1).filter(|last| *last >= near.start);
            let mut piece = last.and_then(|last| PieceId::try_from(last).ok());
            while let Some(id) = piece {
                let (text, shorter) = &self.pieces[id as usize];
                if rest.starts_with(&**text) && ends_word(rest, text.len()) {
                    found.push(id);
                }
                piece = *shorter;
            }
        }
        found.sort_unstable();
        found.dedup();
        found.into()
    }
}
