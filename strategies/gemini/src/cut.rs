//! Where Gemini CLI cuts, over plain numbers.
//!
//! A run of messages of the model is one content, and so is a run of what the user and the tools said. From the oldest on, the cut is
//! before the first content of the user without results that has so much in front of it. Where none has, all goes if the model has
//! ended its turn; else it is before the last one of the user's.

use foldback_core::fraction::Fraction;

/// A content as the cut sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Content {
    /// Its first message.
    pub first: usize,
    /// Its size.
    pub units: u64,
    /// Whether the model said it.
    pub model: bool,
    /// Whether it holds calls or results.
    pub tools: bool,
}

impl Content {
    /// Whether the kept part may begin with it.
    fn may_be_first(&self) -> bool {
        !self.model && !self.tools
    }
}

/// The content before which the cut is, `keep` being the share that stays; 0 where nothing goes.
pub fn cut(contents: &[Content], keep: Fraction) -> usize {
    let total: u64 = contents.iter().map(|content| content.units).sum();
    let goes = total - keep.floor_of(total);
    let (mut before, mut last) = (0, 0);
    for (at, content) in contents.iter().enumerate() {
        if content.may_be_first() {
            if before >= goes {
                return at;
            }
            last = at;
        }
        before += content.units;
    }
    let ended = contents.last().is_some_and(|content| content.model && !content.tools);
    if ended { contents.len() } else { last }
}

/// Whether a cut could be anywhere but at the beginning.
pub fn possible(contents: &[Content]) -> bool {
    let ended = contents.last().is_some_and(|content| content.model && !content.tools);
    ended || contents.iter().skip(1).any(Content::may_be_first)
}
