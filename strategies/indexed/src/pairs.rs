//! `indexed.pairs`: `drop-pairs` with the worth of words as its scorer.
//!
//! A pair is worth what the words of its results are worth which nothing else says, for each token that it takes.

use crate::known::Known;
use crate::message::said;
use crate::shown::Shown;
use crate::worth::Worth;
use foldback_core::outcome::Why;
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::{Filter, StageContext};
use foldback_core::view::Pos;
use foldback_stages::filter::{DropPairs, Pair, Scorer};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Configuration of the stage.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PairsConfig {
    /// What words are worth. Blocks do not count.
    pub worth: Worth,
    /// Which pairs may go, and how many do.
    #[serde(default)]
    pub pairs: foldback_stages::filter::PairsConfig,
}

impl StageConfig<dyn Filter> for PairsConfig {
    fn build(self) -> Result<Arc<dyn Filter>, Invalid> {
        self.worth.check()?;
        Ok(Arc::new(DropPairs::new(self.pairs, Arc::new(self.worth))?))
    }
}

impl Scorer for Worth {
    fn worth(&self, context: &StageContext<'_>, pairs: &[Pair]) -> Result<Vec<f64>, Why> {
        let may_go: BTreeSet<Pos> =
            pairs.iter().flat_map(|pair| &pair.positions).copied().collect();
        let kept: Vec<Pos> = context.items().filter(|pos| !may_go.contains(pos)).collect();
        Ok(Known::of(context.history, |known| {
            let mut told = Shown::of(context.history, &kept, known).words;
            // What several say, the newest says.
            let worth = pairs.iter().rev().map(|pair| {
                let mut worth = 0.0;
                for pos in &pair.positions {
                    let parts = 0..said(context.history.message(*pos)).results.len();
                    for number in
                        parts.filter_map(|part| known.numbers(*pos, part)).flat_map(|n| &n.terms)
                    {
                        if !std::mem::replace(&mut told[*number as usize], true) {
                            worth += f64::from(self.word(known.words.at(*number), known.calls));
                        }
                    }
                }
                worth / pair.tokens as f64
            });
            let mut worth: Vec<f64> = worth.collect();
            worth.reverse();
            worth
        }))
    }
}
