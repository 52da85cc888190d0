//! Which combinations of values are tried: all of a grid, or as many drawn at random.

use super::Range;
use crate::stats::SplitMix64;
use serde::Serialize;
use serde_json::Value;

/// Most configurations that are replayed.
pub(crate) const MOST: usize = 64;

/// How the space of all combinations is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Search {
    /// Every combination of so many points per field.
    Grid(usize),
    /// Combinations drawn from the ranges themselves, not from a grid on them: where only some of the fields
    /// matter, a random sample tries more values of those (Bergstra and Bengio, JMLR 13, 2012).
    Sample {
        /// How many.
        count: usize,
        /// Seed of the generator.
        seed: u64,
    },
}

/// Seed of every sample.
const SEED: u64 = 1;

impl Search {
    /// A grid of `points` per field while it has no more than [`MOST`] combinations, else a sample of as many.
    pub fn choose(ranges: &[Range], points: usize) -> Self {
        let size = |size: usize, range: &Range| size.saturating_mul(range.points(points).len());
        match ranges.iter().fold(1, size) <= MOST {
            true => Self::Grid(points),
            false => Self::Sample { count: MOST, seed: SEED },
        }
    }

    /// The combinations, each with one value per range, none twice. A sample may be smaller than asked for
    /// where the ranges hold no more.
    pub fn combinations(self, ranges: &[Range]) -> Vec<Vec<Value>> {
        match self {
            Self::Grid(points) => grid(ranges, points),
            Self::Sample { count, seed } => sample(ranges, count, seed),
        }
    }
}

/// The last range varies fastest.
fn grid(ranges: &[Range], points: usize) -> Vec<Vec<Value>> {
    ranges.iter().fold(vec![Vec::new()], |combinations, range| {
        let values = range.points(points);
        let longer = |start: Vec<Value>| {
            let with = move |value: &Value| {
                let mut longer = start.clone();
                longer.push(value.clone());
                longer
            };
            values.iter().map(with).collect::<Vec<_>>()
        };
        combinations.into_iter().flat_map(longer).collect()
    })
}

/// Draws that bring nothing new before a sample counts as all there is.
const PATIENCE: usize = 1_000;

fn sample(ranges: &[Range], count: usize, seed: u64) -> Vec<Vec<Value>> {
    let mut rng = SplitMix64::new(seed);
    let mut drawn: Vec<Vec<Value>> = Vec::new();
    let mut missed = 0;
    while drawn.len() < count && missed < PATIENCE {
        let next: Vec<Value> = ranges.iter().map(|range| range.draw(&mut rng)).collect();
        if drawn.contains(&next) {
            missed += 1;
        } else {
            missed = 0;
            drawn.push(next);
        }
    }
    drawn
}
