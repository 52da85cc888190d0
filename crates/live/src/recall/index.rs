//! A small full-text index: postings in memory, ranked by Okapi BM25 (Robertson and Zaragoza, *The
//! Probabilistic Relevance Framework*, 2009), with k1 = 1.2 and b = 0.75, and the inverse document
//! frequency that is never negative (as Lucene has it).
//!
//! Why not the crate `bm25` (2.3.2): it bakes the mean length of all documents into each document when
//! that is added, so after folds and undos the ranking would depend on the way to a state instead of on
//! the state; it keeps one entry for every occurrence of a word and looks a query's words up in them
//! from the start; and its tokenizer for prose does not suit code.

use super::tokens::words;
use std::collections::{BTreeMap, BTreeSet};

const K1: f64 = 1.2;
const B: f64 = 0.75;

/// Documents by a key of the caller's.
#[derive(Clone, Debug)]
pub(super) struct Index<K> {
    /// By word, how often each document has it.
    postings: BTreeMap<String, BTreeMap<K, u32>>,
    /// Number of words and the words themselves, by document.
    documents: BTreeMap<K, (u32, Vec<String>)>,
    /// Words of all documents.
    total: u64,
}

impl<K> Default for Index<K> {
    fn default() -> Self {
        Self { postings: BTreeMap::new(), documents: BTreeMap::new(), total: 0 }
    }
}

impl<K: Copy + Ord> Index<K> {
    /// The documents, ascending.
    pub(super) fn keys(&self) -> impl ExactSizeIterator<Item = K> {
        self.documents.keys().copied()
    }

    pub(super) fn contains(&self, document: K) -> bool {
        self.documents.contains_key(&document)
    }

    pub(super) fn insert(&mut self, document: K, text: &str) {
        self.remove(document);
        let all = words(text);
        let length = u32::try_from(all.len()).unwrap_or(u32::MAX);
        for word in &all {
            let documents = self.postings.entry(word.clone()).or_default();
            *documents.entry(document).or_default() += 1;
        }
        let distinct: BTreeSet<String> = all.into_iter().collect();
        self.total += u64::from(length);
        self.documents.insert(document, (length, distinct.into_iter().collect()));
    }

    pub(super) fn remove(&mut self, document: K) {
        let Some((length, distinct)) = self.documents.remove(&document) else {
            return;
        };
        self.total -= u64::from(length);
        for word in distinct {
            if let Some(documents) = self.postings.get_mut(&word) {
                documents.remove(&document);
                if documents.is_empty() {
                    self.postings.remove(&word);
                }
            }
        }
    }

    /// Documents that have any of the words, best first; of equals the latest first.
    pub(super) fn search(&self, query: &str) -> Vec<(K, f64)> {
        let mean = self.total as f64 / self.documents.len().max(1) as f64;
        let asked: BTreeSet<String> = words(query).into_iter().collect();
        let mut scores: BTreeMap<K, f64> = BTreeMap::new();
        for documents in asked.iter().filter_map(|word| self.postings.get(word)) {
            let (all, having) = (self.documents.len() as f64, documents.len() as f64);
            let rarity = (1.0 + (all - having + 0.5) / (having + 0.5)).ln();
            for (document, times) in documents {
                let length = self.documents.get(document).map_or(0, |(length, _)| *length);
                let times = f64::from(*times);
                let norm = K1 * (1.0 - B + B * f64::from(length) / mean);
                *scores.entry(*document).or_default() +=
                    rarity * times * (K1 + 1.0) / (times + norm);
            }
        }
        let mut ranked: Vec<(K, f64)> = scores.into_iter().collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
        ranked
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rare_words_and_short_texts_first() {
        let mut index = Index::default();
        let texts = [
            "the build fails in parse_config with E0308",
            "the build is fine",
            "the the the long text about the build of the house and of the garden and more",
            "ParseConfig is a struct",
        ];
        for (document, text) in (1..).zip(texts) {
            index.insert(document, text);
        }
        let cases = [
            ("parse_config", vec![1, 4]),
            ("E0308 build", vec![1, 2, 3]),
            ("build", vec![2, 1, 3]),
            ("config parse", vec![4, 1]),
            ("nothing of this", vec![3]),
            ("", vec![]),
        ];
        for (query, expect) in cases {
            let found: Vec<u64> =
                index.search(query).into_iter().map(|(document, _)| document).collect();
            assert_eq!(found, expect, "{query}");
        }
    }

    proptest! {
        /// What was added and taken out again leaves no trace: the ranking is one of the state.
        #[test]
        fn the_way_does_not_matter(
            texts in proptest::collection::vec("[a-c]{1,2}( [a-c]{1,2}){0,5}", 1..8),
            gone in proptest::collection::vec("[a-c]{1,2}( [a-c]{1,2}){0,5}", 0..8),
        ) {
            let mut straight = Index::default();
            let mut winding = Index::default();
            for (document, text) in (100..).zip(&gone) {
                winding.insert(document, text);
            }
            for (document, text) in (0..).zip(&texts) {
                straight.insert(document, text);
                winding.insert(document, "z z z");
                winding.insert(document, text);
            }
            for (document, _) in (100..).zip(&gone) {
                winding.remove(document);
            }
            prop_assert_eq!(straight.search("a b ca"), winding.search("a b ca"));
            prop_assert_eq!(straight.postings, winding.postings);
        }
    }
}
