//! Examples to learn from: what a fold could have kept, and whether a later call took it.

use crate::features::{BLOCK, LINE, WORD};
use crate::filter::NoteFilter;
use crate::message::said;
use crate::text::{LineKey, Word};
use foldback_core::log::Message;
use foldback_core::outcome::Why;
use foldback_core::stage::{Arrangement, Filter, Proposal, StageContext, Summary};
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// What a fold could keep.
#[derive(Clone, Debug)]
pub struct Offered {
    /// Messages of the log at that moment.
    pub log_len: usize,
    /// Words, with what the model is shown of each.
    pub words: Vec<(Word, [f32; WORD.len()])>,
    /// Lines, with what the model is shown of each.
    pub lines: Vec<(LineKey, [f32; LINE.len()])>,
    /// Blocks by their telling lines, with what the model is shown of each.
    pub blocks: Vec<(Vec<LineKey>, [f32; BLOCK.len()])>,
}

/// The filter, which also notes what each fold could keep.
#[derive(Debug)]
pub struct Observed {
    filter: NoteFilter,
    /// One per fold.
    pub folds: Arc<Mutex<Vec<Offered>>>,
}

impl Observed {
    /// Around a filter.
    pub fn new(filter: NoteFilter) -> Self {
        Self { filter, folds: Arc::default() }
    }
}

impl Filter for Observed {
    fn propose(&self, context: &StageContext<'_>) -> Result<Proposal, Why> {
        self.filter.propose(context)
    }

    fn arrange(
        &self,
        context: &StageContext<'_>,
        proposal: &Proposal,
        summaries: &[Option<Summary>],
    ) -> Result<Arrangement, Why> {
        if let Some(candidates) = self.filter.offered(context) {
            let lines = candidates.lines.iter().filter(|line| line.open);
            let blocks = candidates.blocks.iter().map(|block| candidates.telling(block));
            let examples = candidates.examples.clone().unwrap_or_default();
            let offered = Offered {
                log_len: context.history.log_len(),
                words: candidates.word_features(context.history),
                lines: lines.map(|line| line.line.key).zip(examples.lines).collect(),
                blocks: blocks.zip(examples.blocks).collect(),
            };
            self.folds.lock().unwrap_or_else(PoisonError::into_inner).push(offered);
        }
        self.filter.arrange(context, proposal, summaries)
    }
}

/// When words and lines come up in a session: by the ordinal of the message, whether a call takes them.
#[derive(Debug, Default)]
pub struct Uses {
    words: FxHashMap<Word, Vec<(u32, bool)>>,
    lines: FxHashMap<LineKey, Vec<(u32, bool)>>,
    edits: FxHashMap<LineKey, Vec<(u32, bool)>>,
}

impl Uses {
    /// Reads a log.
    pub fn of(log: &[Arc<Message>]) -> Self {
        let mut out = Self::default();
        for (ordinal, message) in log.iter().enumerate() {
            let ordinal = u32::try_from(ordinal).unwrap_or(u32::MAX);
            let said = said(message);
            for call in said.calls.iter().flatten() {
                for term in &call.terms {
                    out.words.entry(term.word).or_default().push((ordinal, true));
                }
                for key in &call.keys {
                    out.lines.entry(*key).or_default().push((ordinal, true));
                }
                for key in &call.old {
                    out.edits.entry(*key).or_default().push((ordinal, true));
                }
            }
            for lines in &said.results {
                for term in &lines.terms {
                    out.words.entry(term.word).or_default().push((ordinal, false));
                }
                for line in &lines.lines {
                    out.lines.entry(line.key).or_default().push((ordinal, false));
                    out.edits.entry(line.key).or_default().push((ordinal, false));
                }
            }
        }
        out
    }

    /// Whether a call names a word after so many messages, before a result brings it again.
    pub fn word(&self, word: Word, after: usize) -> Use {
        Use::of(self.words.get(&word), after)
    }

    /// Whether a call takes a line as a whole.
    pub fn line(&self, key: LineKey, after: usize) -> Use {
        Use::of(self.lines.get(&key), after)
    }

    /// Whether a call edits one of the lines.
    pub fn edits(&self, keys: &[LineKey], after: usize) -> bool {
        keys.iter().any(|key| Use::of(self.edits.get(key), after).any)
    }
}

/// What later calls do with something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Use {
    /// A call uses it before a result brings it again.
    pub any: bool,
    /// That call is the first of all to do so.
    pub first: bool,
}

impl Use {
    fn of(uses: Option<&Vec<(u32, bool)>>, after: usize) -> Self {
        let uses = uses.map_or(&[][..], |uses| uses);
        let next = uses.partition_point(|(ordinal, _)| (*ordinal as usize) < after);
        let any = uses.get(next).is_some_and(|(_, call)| *call);
        Self { any, first: any && !uses[..next].iter().any(|(_, call)| *call) }
    }
}
