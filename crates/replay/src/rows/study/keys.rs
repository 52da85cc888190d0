//! Under which keys the store has the results of a session.

use super::facts::Facts;
use super::record::Record;
use crate::read::corpus::ContentHash;
use crate::rows::store::{Key, Store, key};
use crate::run::setup::{Preset, Setup};
use crate::run::walk::{Detail, Walk};
use std::sync::Arc;

/// What tells the results of a study from those of others: hashes, since the fingerprints have whole tables in them and
/// each result is named by two.
#[derive(Debug)]
pub(crate) struct Names {
    /// Of [`Setup::fingerprint`].
    setup: Key,
    /// Of [`Preset::fingerprint`] by preset.
    presets: Vec<Key>,
    /// Of all of them.
    all: Key,
}

impl Names {
    pub(crate) fn new(run: &Setup, presets: &[Preset]) -> Arc<Self> {
        let setup = run.fingerprint();
        let texts = presets.iter().map(|preset| {
            let policy = preset.strategy.overflow.as_ref();
            let priced = policy.is_some_and(|policy| policy.stage.reads_prices());
            let prices = if priced { run.billed.as_str() } else { "" };
            format!("{}{prices}", preset.fingerprint)
        });
        let texts: Vec<String> = [setup].into_iter().chain(texts).collect();
        let texts: Vec<&[u8]> = texts.iter().map(String::as_bytes).collect();
        let presets = texts[1..].iter().map(|text| key(&[text])).collect();
        Arc::new(Self { setup: key(&texts[..1]), presets, all: key(&texts) })
    }

    /// A hash of the setup and of every preset.
    pub(crate) fn hash(&self) -> Key {
        self.all
    }
}

/// Where the store keeps what is too large for memory.
#[derive(Clone, Debug)]
pub(crate) struct Keys {
    content: ContentHash,
    /// Number of the session in its file.
    number: usize,
    names: Arc<Names>,
}

impl Keys {
    /// Those of the first session of a file, without results.
    #[cfg(test)]
    pub(crate) fn of_content(content: ContentHash) -> Self {
        let none = key(&[]);
        let names = Names { setup: none, presets: Vec::new(), all: none };
        Self { content, number: 0, names: Arc::new(names) }
    }

    pub(crate) fn new(content: ContentHash, number: usize, names: Arc<Names>) -> Self {
        Self { content, number, names }
    }

    /// What the session was read from.
    pub(crate) fn content(&self) -> ContentHash {
        self.content
    }

    /// Number of the session among those of its file that have something in their log.
    pub(crate) fn number(&self) -> usize {
        self.number
    }

    /// The facts of the session; `None` when the store has lost them.
    pub(crate) fn facts(&self, store: &Store) -> Option<Facts> {
        store.get(self.of_facts())
    }

    /// The record of a preset by its index.
    pub(crate) fn record(&self, store: &Store, preset: usize) -> Option<Record> {
        store.get(self.of_record(preset)?)
    }

    /// Where the ids of the sessions of a file are.
    pub(crate) fn of_file(content: ContentHash) -> Key {
        key(&[b"file", content.as_bytes()])
    }

    pub(crate) fn of_facts(&self) -> Key {
        self.named("facts", &[])
    }

    pub(crate) fn of_record(&self, preset: usize) -> Option<Key> {
        Some(self.named("record", self.names.presets.get(preset)?.as_bytes()))
    }

    fn named(&self, kind: &str, preset: &[u8]) -> Key {
        let number = (self.number as u64).to_le_bytes();
        let setup = self.names.setup.as_bytes();
        key(&[kind.as_bytes(), self.content.as_bytes(), &number, setup, preset])
    }

    /// The walk under presets by their indices; where the store has none, the one that is made is kept.
    pub(crate) fn walk(
        &self,
        store: &Store,
        presets: &[usize],
        detail: Detail,
        make: impl FnOnce() -> Option<Walk>,
    ) -> Option<Walk> {
        let detail = format!("{detail:?}");
        let mut keys = vec![self.of_facts()];
        for preset in presets {
            keys.push(self.of_record(*preset)?);
        }
        let mut parts: Vec<&[u8]> = vec![b"walk", detail.as_bytes()];
        parts.extend(keys.iter().map(|key| &key.as_bytes()[..]));
        let at = key(&parts);
        store.get(at).or_else(|| {
            let walk = make()?;
            if !walk.tracks.iter().any(|track| track.fault.is_some()) {
                // What can't be kept is made again next time.
                let _ = store.put(at, &walk);
            }
            Some(walk)
        })
    }
}
