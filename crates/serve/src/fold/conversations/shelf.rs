//! Journals of conversations that left memory. They stay in the folder, under a limit of their own. A conversation whose
//! client comes back is read again.

use super::journals::{self, JournalName};
use foldback_live::follow::identity::Key;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

/// The journals of conversations that are not in memory.
#[derive(Debug)]
pub(crate) struct Shelf {
    most: usize,
    /// By the order in which they came.
    files: BTreeMap<u64, File>,
    /// By the key after the last message.
    tips: HashMap<Key, u64>,
    next: u64,
    /// Journals that were taken and are being read: the key after the last message, and the messages at the beginning
    /// that are not the engine's.
    reading: Vec<(Key, usize)>,
}

/// The conversation on disk that a request continues.
#[derive(Debug)]
pub(crate) enum Shelved {
    /// It is to be read. [`Shelf::was_read`] ends that, by its key.
    Journal(JournalName, PathBuf, Key),
    /// Another request has it read.
    BeingRead,
}

#[derive(Debug)]
struct File {
    path: PathBuf,
    /// `None` if the file was never read.
    tip: Option<Key>,
}

impl Shelf {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, files: BTreeMap::new(), tips: HashMap::new(), next: 0, reading: Vec::new() }
    }

    /// Takes a journal. If there are too many, the oldest are deleted.
    pub(crate) fn put(&mut self, path: PathBuf, tip: Option<Key>) {
        if let Some(tip) = tip {
            self.tips.insert(tip, self.next);
        }
        self.files.insert(self.next, File { path, tip });
        self.next += 1;
        while self.files.len() > self.most {
            let Some((at, oldest)) = self.files.pop_first() else { return };
            self.leave_tip(at, oldest.tip);
            journals::delete(&oldest.path);
        }
    }

    /// Takes the journal of the conversation that a request with these keys continues, the longest first. The request
    /// must repeat an answer of the model, the first of which is message `answered`.
    pub(crate) fn take(&mut self, keys: &[Key], base: usize, answered: usize) -> Option<Shelved> {
        for tip in (answered.saturating_add(1)..keys.len()).rev().map(|length| keys[length]) {
            if self.reading.contains(&(tip, base)) {
                return Some(Shelved::BeingRead);
            }
            let file = self.tips.get(&tip).and_then(|at| Some((*at, self.files.get(at)?)));
            let name = file.and_then(|(at, file)| Some((at, JournalName::from_path(&file.path)?)));
            if let Some((at, name)) = name.filter(|(_, name)| name.base == base) {
                let file = self.files.remove(&at)?;
                self.leave_tip(at, file.tip);
                self.reading.push((tip, base));
                return Some(Shelved::Journal(name, file.path, tip));
            }
        }
        None
    }

    /// A journal that was taken is not being read any more.
    pub(crate) fn was_read(&mut self, tip: Key, base: usize) {
        if let Some(at) = self.reading.iter().position(|reading| *reading == (tip, base)) {
            self.reading.swap_remove(at);
        }
    }

    fn leave_tip(&mut self, at: u64, tip: Option<Key>) {
        if let Some(tip) = tip
            && self.tips.get(&tip) == Some(&at)
        {
            self.tips.remove(&tip);
        }
    }
}
