//! Texts that must stand word for word, looked for all at once.

use aho_corasick::AhoCorasick;
use std::collections::HashMap;
use std::sync::Arc;

/// Number of a needle.
pub(crate) type NeedleId = u32;

/// Bytes of a needle that the automaton knows; the rest is compared where these are found. So its
/// size does not grow with that of the texts.
const PREFIX: usize = 48;

/// A set of texts, and the automaton that finds them.
#[derive(Clone, Debug, Default)]
pub(super) struct Needles {
    texts: Vec<Arc<str>>,
    known: HashMap<Arc<str>, NeedleId>,
    automaton: Option<AhoCorasick>,
}

impl Needles {
    /// The number of a text, which must not be empty.
    pub(super) fn add(&mut self, text: &str) -> NeedleId {
        if let Some(known) = self.known.get(text) {
            return *known;
        }
        let id = NeedleId::try_from(self.texts.len()).unwrap_or(NeedleId::MAX);
        let text: Arc<str> = Arc::from(text);
        self.texts.push(Arc::clone(&text));
        self.known.insert(text, id);
        id
    }

    /// To be called when all texts are there.
    pub(super) fn build(&mut self) {
        let prefixes = self.texts.iter().map(|text| &text.as_bytes()[..text.len().min(PREFIX)]);
        // It fails only beyond some gigabytes of patterns; then they are looked for one by one.
        self.automaton = match self.texts.is_empty() {
            true => None,
            false => AhoCorasick::new(prefixes).ok(),
        };
    }

    pub(super) fn len(&self) -> usize {
        self.texts.len()
    }

    pub(super) fn text(&self, id: NeedleId) -> &str {
        &self.texts[id as usize]
    }

    /// The needles that a text holds, ascending.
    pub(super) fn find(&self, text: &str) -> Box<[NeedleId]> {
        let Some(automaton) = &self.automaton else {
            let texts = self.texts.iter().zip(0..);
            return texts
                .filter(|(needle, _)| text.contains(&***needle))
                .map(|(_, id)| id)
                .collect();
        };
        let mut found = Vec::new();
        for hit in automaton.find_overlapping_iter(text) {
            let id = hit.pattern().as_u32();
            let rest = &text.as_bytes()[hit.start()..];
            if rest.starts_with(self.texts[id as usize].as_bytes()) && found.last() != Some(&id) {
                found.push(id);
            }
        }
        found.sort_unstable();
        found.dedup();
        found.into()
    }
}
