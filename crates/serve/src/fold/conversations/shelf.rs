//! Journals of conversations that left memory. They stay in the folder, under a limit of their own. A conversation whose
//! client comes back is read again.

use super::journals::{self, Named};
use foldback_live::follow::identity::Key;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

/// The journals of conversations that are not in memory.
#[derive(Debug)]
pub(crate) struct Shelf {
    most: usize,
    /// By the order in which they came.
    files: BTreeMap<u64, Shelved>,
    /// By the key after the last message.
    tips: HashMap<Key, u64>,
    next: u64,
}

#[derive(Debug)]
struct Shelved {
    path: PathBuf,
    /// `None` if the file was never read.
    tip: Option<Key>,
}

impl Shelf {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, files: BTreeMap::new(), tips: HashMap::new(), next: 0 }
    }

    /// Takes a journal. If there are too many, the oldest are deleted.
    pub(crate) fn put(&mut self, path: PathBuf, tip: Option<Key>) {
        if let Some(tip) = tip {
            self.tips.insert(tip, self.next);
        }
        self.files.insert(self.next, Shelved { path, tip });
        self.next += 1;
        while self.files.len() > self.most {
            let Some((at, oldest)) = self.files.pop_first() else { return };
            self.leave_tip(at, oldest.tip);
            journals::delete(&oldest.path);
        }
    }

    /// The journal of the conversation that a request with these keys continues, the longest first. The request must
    /// repeat an answer of the model, the first of which is message `answered`.
    pub(crate) fn take(
        &mut self,
        keys: &[Key],
        base: usize,
        answered: usize,
    ) -> Option<(Named, PathBuf)> {
        let seen = (answered.saturating_add(1)..keys.len()).rev();
        let (at, named) = seen.filter_map(|seen| self.tips.get(&keys[seen])).find_map(|at| {
            let named = Named::of(&self.files.get(at)?.path)?;
            (named.base == base).then_some((*at, named))
        })?;
        let shelved = self.files.remove(&at)?;
        self.leave_tip(at, shelved.tip);
        Some((named, shelved.path))
    }

    fn leave_tip(&mut self, at: u64, tip: Option<Key>) {
        if let Some(tip) = tip
            && self.tips.get(&tip) == Some(&at)
        {
            self.tips.remove(&tip);
        }
    }
}
