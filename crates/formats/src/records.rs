//! Where the records of a file lie in its text, and on which lines.

use std::ops::{Deref, Range};
use std::sync::{Arc, OnceLock};

/// Byte ranges of the records of a text, by record index. All sessions of a file share them.
#[derive(Clone, Debug, Default)]
pub struct Records {
    ranges: Arc<Vec<Range<usize>>>,
    /// Where the lines of the text end; found out once, for files of which much is to be said.
    breaks: Arc<OnceLock<Vec<usize>>>,
}

impl Records {
    /// Adds a record behind the others.
    pub(crate) fn push(&mut self, range: Range<usize>) {
        Arc::make_mut(&mut self.ranges).push(range);
    }

    /// The line (1-based) of a byte offset into the text that the records are of.
    pub(crate) fn line(&self, text: &str, offset: usize) -> usize {
        let breaks = self.breaks.get_or_init(|| {
            foldback_core::work::count(text.len() as u64);
            let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
            ends.map(|(at, _)| at).collect()
        });
        foldback_core::work::count(1);
        breaks.partition_point(|at| *at < offset) + 1
    }
}

impl From<Vec<Range<usize>>> for Records {
    fn from(ranges: Vec<Range<usize>>) -> Self {
        Self { ranges: Arc::new(ranges), breaks: Arc::default() }
    }
}

impl Deref for Records {
    type Target = [Range<usize>];

    fn deref(&self) -> &Self::Target {
        &self.ranges
    }
}
