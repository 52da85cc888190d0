//! What words and blocks are worth, by how often and how lately results had them.

use crate::known::WordSeen;
use foldback_core::registry::Invalid;
use schemars::JsonSchema;
use serde::Deserialize;

/// What words and blocks are worth.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Worth {
    /// How much more a word is worth with each doubling of the lines of results that have it, as an exponent of e.
    pub results: f32,
    /// How much more a word or a block is worth if a result brings it now than if one did long ago, as an exponent of e.
    pub recency: f32,
    /// Worth of a block of lines of a file beside its words. A word that one old result had is worth about 1.
    #[serde(default)]
    pub block: f32,
    /// What is left of the worth of a word for each line of the note that has it already, and once where the rest of the view shows
    /// it: a share (0 to 1).
    #[serde(default)]
    pub again: f32,
}

impl Worth {
    /// What is wrong with it, if something is.
    pub(crate) fn check(&self) -> Result<(), Invalid> {
        let Self { results, recency, block, again } = *self;
        for (name, value) in [("results", results), ("recency", recency), ("block", block)] {
            // Beyond that, sums of worths are no longer numbers.
            if !(0.0..=10.0).contains(&value) {
                return Err(Invalid::new(format!("worth.{name}"), "must lie between 0 and 10"));
            }
        }
        if !(0.0..=1.0).contains(&again) {
            return Err(Invalid::new("worth.again", "must be a share from 0 to 1"));
        }
        Ok(())
    }

    /// The worth of a word after so many answers.
    pub(crate) fn word(&self, seen: &WordSeen, now: u32) -> f32 {
        let doublings = (1.0 + seen.results as f32).log2();
        (self.results * doublings + self.recency * recency(now, seen.last_result)).exp()
    }

    /// The worth of a block that came with an answer.
    pub(crate) fn block(&self, then: u32, now: u32) -> f32 {
        self.block * (self.recency * recency(now, then)).exp()
    }
}

/// 1 for now, a half for ten answers ago.
fn recency(now: u32, then: u32) -> f32 {
    1.0 / (1.0 + now.saturating_sub(then) as f32 / 10.0)
}
