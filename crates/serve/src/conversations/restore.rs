//! Conversations from their journals: at a start, and when a forgotten conversation comes back.

use super::{Conversations, Held, Id, Kept, lock};
use crate::journals::{self, JournalsError, Named};
use foldback_core::{Frame, Limits};
use foldback_live::follow::Followed;
use std::path::{Path, PathBuf};

impl Conversations {
    pub(super) fn restore(&self, folder: &Path) -> Result<(), JournalsError> {
        let all = journals::all(folder)?;
        let label = self.folding.strategy.label();
        if let Some(before) = journals::written_by(folder, &label)
            && !all.is_empty()
        {
            (self.say)(&format!(
                "{}: {before} folded these conversations until now; {label} goes on with them",
                folder.display()
            ));
        }
        // The latest, as many as fit; the others stay where they are.
        let (left, latest) = all.split_at(all.len().saturating_sub(self.folding.max_conversations));
        let mut kept = lock(&self.kept);
        left.iter().for_each(|named| kept.shelf.put(named.path(folder), None));
        kept.next = all.iter().map(|named| named.id + 1).fold(kept.next, Id::max);
        drop(kept);
        for named in latest {
            let path = named.path(folder);
            let followed = self.read_journal(named, &path)?;
            let mut kept = lock(&self.kept);
            kept.restored(named, path, followed);
            let gone = kept.evict(self.folding.max_conversations, self.folding.max_bytes);
            drop(kept);
            drop(gone);
        }
        Ok(())
    }

    /// A conversation as its journal has it, with what its provider said.
    pub(super) fn read_journal(
        &self,
        named: &Named,
        path: &Path,
    ) -> Result<Followed, JournalsError> {
        let empty = self.empty(named.id, Frame::default(), Limits::default());
        let followed = Followed::restored(empty, named.base, named.key, path)?;
        self.answers.restore(path);
        Ok(self.asking(followed))
    }
}

impl Kept {
    /// Takes a conversation that was read from its journal.
    pub(super) fn restored(&mut self, named: &Named, path: PathBuf, mut followed: Followed) {
        let (tip, bytes) = (followed.key(), followed.bytes());
        self.insert(named.id, Held::new(followed), named.base, Some(path));
        // Its frame is not known. An answer of the model is enough to go on.
        self.claim(named.id, tip, blake3::Hash::from_bytes([0; 32]));
        self.weigh(named.id, bytes);
    }
}
