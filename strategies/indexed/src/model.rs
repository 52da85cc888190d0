//! Logistic regression: the chance that a later call uses a word, takes a line, or edits a block.

use crate::features::{BLOCK, LINE, WORD};
use foldback_core::registry::Invalid;
use std::collections::BTreeMap;

/// Weights by the name of the feature. Features that are not named weigh nothing.
pub type Weights = BTreeMap<String, f32>;

/// Weights in the order of the features.
#[derive(Clone, Debug)]
pub struct Model {
    word: [f32; WORD.len()],
    line: [f32; LINE.len()],
    block: [f32; BLOCK.len()],
}

impl Model {
    /// Reads weights.
    ///
    /// # Errors
    ///
    /// A weight of a feature that does not exist, or that is no finite number.
    pub fn of(word: &Weights, line: &Weights, block: &Weights) -> Result<Self, Invalid> {
        Ok(Self {
            word: weights("word", &WORD, word)?,
            line: weights("line", &LINE, line)?,
            block: weights("block", &BLOCK, block)?,
        })
    }

    /// The chance that a call names a word.
    pub fn word(&self, features: &[f32; WORD.len()]) -> f32 {
        chance(&self.word, features)
    }

    /// The chance that a call takes all of a line.
    pub fn line(&self, features: &[f32; LINE.len()]) -> f32 {
        chance(&self.line, features)
    }

    /// The chance that a call edits a block.
    pub fn block(&self, features: &[f32; BLOCK.len()]) -> f32 {
        chance(&self.block, features)
    }
}

fn weights<const N: usize>(
    table: &'static str,
    names: &[&str; N],
    given: &Weights,
) -> Result<[f32; N], Invalid> {
    let mut out = [0.0; N];
    for (name, weight) in given {
        let Some(at) = names.iter().position(|known| known == name) else {
            let message = format!("no feature is called `{name}`; known are {}", names.join(", "));
            return Err(Invalid::new(table, message));
        };
        if !weight.is_finite() {
            return Err(Invalid::new(table, format!("`{name}` must be a finite number")));
        }
        out[at] = *weight;
    }
    Ok(out)
}

/// The logistic function of the weighted sum.
pub fn chance(weights: &[f32], features: &[f32]) -> f32 {
    let sum: f32 = weights.iter().zip(features).map(|(weight, value)| weight * value).sum();
    1.0 / (1.0 + (-sum).exp())
}
