//! What must be kept in any case: the user's instructions, the latest error, and which files were changed. Ground truth
//! comes from the log alone, without a model.

use crate::read::index::Action;
use crate::stats::Share;
use derive_more::AddAssign;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What must be kept and was.
#[derive(AddAssign, Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MustKeep {
    /// User messages that are word for word in the view at the end.
    pub instructions: Share,
    /// Calls after a failed tool run or a failing test whose view shows the latest of them.
    pub last_error: Share,
    /// Changed files, at the end.
    pub files: Files,
}

/// The files that an agent changed against those that the calls in the view amount to.
#[derive(AddAssign, Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Files {
    /// Files that were there and were changed.
    pub truth: u64,
    /// The same by the visible calls alone. A view that has lost how a file came to be takes a change of it for its
    /// creation.
    pub found: u64,
    /// Files in both.
    pub correct: u64,
}

impl Files {
    /// Harmonic mean of precision and recall; `None` where no file was changed.
    pub(crate) fn f1(&self) -> Option<f64> {
        (self.truth > 0).then(|| 2.0 * self.correct as f64 / (self.truth + self.found) as f64)
    }
}

/// Files by what was done to them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Trail<'a> {
    pub(super) read: BTreeSet<&'a str>,
    pub(super) created: BTreeSet<&'a str>,
    pub(super) modified: BTreeSet<&'a str>,
}

impl<'a> Trail<'a> {
    /// Takes over what a call did with a file.
    pub(super) fn take(&mut self, action: Action, path: &'a str) {
        let known =
            self.read.contains(path) || self.created.contains(path) || self.modified.contains(path);
        match action {
            Action::Read => {
                self.read.insert(path);
            }
            Action::Write | Action::Create if !known => {
                self.created.insert(path);
            }
            // What was created in the session stays created, however often it is changed.
            Action::Write | Action::Create | Action::Edit => {
                if !self.created.contains(path) {
                    self.modified.insert(path);
                }
            }
        }
    }
}
