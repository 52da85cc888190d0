//! Logistic regression by `linfa-logistic` (L-BFGS, L2 penalty 1), and how well it orders what it has not seen.

use crate::LearnError;
use crate::examples::Examples;
use foldback_indexed::model::Weights;
use linfa::dataset::Dataset;
use linfa::traits::Fit as _;
use linfa_logistic::LogisticRegression;
use ndarray::{Array1, Array2};
use rayon::prelude::*;

/// Examples without use that a fit takes about; of more, every second, third and so on is taken.
const UNUSED: usize = 100_000;

/// Mean gradient at which a fit is done.
const TOLERANCE: f64 = 1e-4;

/// Parts that clusters are divided into.
const PARTS: usize = 5;

/// How well a regression orders examples of clusters that it was not fitted on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeldOut {
    /// The chance that an example that was used comes before one that was not (area under the ROC curve).
    pub auc: f64,
    /// Of the examples that were used, those among the first tenth.
    pub first_tenth: f64,
}

/// Weights by feature, the bias among them.
///
/// # Errors
///
/// Examples of one label, or a fit that fails.
pub fn fit(examples: &Examples) -> Result<Weights, LearnError> {
    let rows: Vec<usize> = (0..examples.len()).collect();
    let weights = regress(examples, &rows)?;
    let names = examples.kind.features().iter().map(|name| (*name).to_owned());
    Ok(names.zip(weights).collect())
}

/// How well fits order the clusters that they leave out; `None` where there is one cluster alone.
///
/// # Errors
///
/// A fit that fails.
pub fn cross_validate(examples: &Examples) -> Result<Option<HeldOut>, LearnError> {
    let clusters = examples.clusters();
    if clusters < 2 {
        return Ok(None);
    }
    let parts = parts(examples);
    let tested = (0..clusters.min(PARTS)).into_par_iter().map(|part| {
        let (inside, outside): (Vec<usize>, Vec<usize>) =
            (0..examples.len()).partition(|row| parts[examples.groups[*row]] == part);
        let varied = |rows: &[usize]| {
            rows.iter().any(|row| examples.labels[*row])
                && rows.iter().any(|row| !examples.labels[*row])
        };
        if !varied(&inside) || !varied(&outside) {
            return Ok(None);
        }
        let weights = regress(examples, &outside)?;
        Ok(Some((measure(examples, &inside, &weights), inside.len() as f64)))
    });
    let tested: Vec<(HeldOut, f64)> =
        tested.collect::<Result<Vec<_>, LearnError>>()?.into_iter().flatten().collect();
    let all: f64 = tested.iter().map(|(_, size)| size).sum();
    let mean = |figure: fn(&HeldOut) -> f64| {
        tested.iter().map(|(held_out, size)| figure(held_out) * size).sum::<f64>() / all
    };
    let held_out = || HeldOut { auc: mean(|h| h.auc), first_tenth: mean(|h| h.first_tenth) };
    Ok((!tested.is_empty()).then(held_out))
}

/// The part of each cluster: the largest ones are dealt out first, each to the smallest part.
fn parts(examples: &Examples) -> Vec<usize> {
    let clusters = examples.groups.iter().max().map_or(0, |last| last + 1);
    let mut sizes = vec![0_usize; clusters];
    for group in &examples.groups {
        sizes[*group] += 1;
    }
    let mut order: Vec<usize> = (0..clusters).collect();
    order.sort_by_key(|cluster| (std::cmp::Reverse(sizes[*cluster]), *cluster));
    let mut filled = [0_usize; PARTS];
    let mut out = vec![0; clusters];
    for cluster in order {
        let part = (0..PARTS).min_by_key(|part| filled[*part]).unwrap_or_default();
        filled[part] += sizes[cluster];
        out[cluster] = part;
    }
    out
}

/// The bias and the weights of the features.
fn regress(examples: &Examples, rows: &[usize]) -> Result<Vec<f32>, LearnError> {
    let kind = examples.kind.name();
    let unused = rows.iter().filter(|row| !examples.labels[**row]).count();
    if unused == 0 || unused == rows.len() {
        return Err(LearnError::OneLabel(kind));
    }
    let step = unused.div_ceil(UNUSED);
    let mut number = 0_usize;
    let taken: Vec<usize> = rows
        .iter()
        .copied()
        .filter(|row| {
            number += usize::from(!examples.labels[*row]);
            examples.labels[*row] || number.is_multiple_of(step)
        })
        .collect();
    let width = examples.width();
    let values = taken.iter().flat_map(|row| {
        examples.features[row * width..(row + 1) * width].iter().map(|value| f64::from(*value))
    });
    let failed = |error: String| LearnError::Fit(kind, error);
    let values = Array2::from_shape_vec((taken.len(), width), values.collect())
        .map_err(|error| failed(error.to_string()))?;
    let labels: Array1<bool> = taken.iter().map(|row| examples.labels[*row]).collect();
    let fitted = LogisticRegression::default()
        .alpha(1.0)
        .max_iterations(500)
        .gradient_tolerance(TOLERANCE * taken.len() as f64)
        .fit(&Dataset::new(values, labels))
        .map_err(|error| failed(error.to_string()))?;
    // The first class that is met counts as the positive one.
    let sign = if fitted.labels().pos.class { 1.0 } else { -1.0 };
    // Examples that were left out would have lowered the chance of all.
    let bias = sign * fitted.intercept() - (step as f64).ln();
    let weights = fitted.params().iter().map(|weight| (sign * weight) as f32);
    Ok(std::iter::once(bias as f32).chain(weights).collect())
}

fn measure(examples: &Examples, rows: &[usize], weights: &[f32]) -> HeldOut {
    let width = examples.width();
    let score = |row: usize| -> f32 {
        let features = &examples.features[row * width..(row + 1) * width];
        features.iter().zip(&weights[1..]).map(|(value, weight)| value * weight).sum()
    };
    let mut scored: Vec<(f32, bool)> =
        rows.iter().map(|row| (score(*row), examples.labels[*row])).collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    let used = scored.iter().filter(|(_, label)| *label).count();
    let first = scored[..scored.len() / 10].iter().filter(|(_, label)| *label).count();
    HeldOut { auc: auc(&scored, used), first_tenth: first as f64 / used.max(1) as f64 }
}

/// The area under the ROC curve of examples in descending order; ties count half.
fn auc(scored: &[(f32, bool)], used: usize) -> f64 {
    let unused = scored.len() - used;
    let (mut before, mut area) = (0_usize, 0.0);
    for tied in scored.chunk_by(|a, b| a.0 == b.0) {
        let taken = tied.iter().filter(|(_, label)| *label).count();
        let others = (tied.len() - taken) as f64;
        area += others * (before as f64 + taken as f64 / 2.0);
        before += taken;
    }
    area / (used as f64 * unused as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples::Learnable;

    #[test]
    fn areas_as_a_table() {
        // name, labels in descending order of scores, area
        let cases = [
            ("all before", vec![(3.0, true), (2.0, true), (1.0, false)], 1.0),
            ("all behind", vec![(3.0, false), (2.0, true), (1.0, true)], 0.0),
            ("tied", vec![(1.0, true), (1.0, false), (1.0, true)], 0.5),
            ("one of two", vec![(4.0, true), (3.0, false), (2.0, true), (1.0, false)], 0.75),
        ];
        for (name, scored, area) in cases {
            let used = scored.iter().filter(|(_, label)| *label).count();
            assert_eq!(auc(&scored, used), area, "{name}");
        }
    }

    /// Blocks whose first feature decides, with odds of e to the power of twice its value less one.
    fn planted() -> Examples {
        let kind = Learnable::Block;
        let width = kind.features().len() - 1;
        let (mut features, mut labels, mut groups) = (Vec::new(), Vec::new(), Vec::new());
        for number in 0..4_000_usize {
            let value = (number % 10) as f32 / 10.0;
            let mut row = vec![0.0; width];
            row[0] = value;
            features.extend(row);
            let chance = 1.0 / (1.0 + (1.0 - 4.0 * value).exp());
            // Evenly spread, so that each value has its share of used ones.
            labels.push(((number / 10) as f32 + 0.5) / 400.0 < chance);
            groups.push(number % 3);
        }
        Examples { kind, features, labels, groups, sessions: 30 }
    }

    #[test]
    fn planted_weights_are_found() {
        let weights = fit(&planted()).unwrap();
        let near = |name: &str, expected: f32| {
            let weight = weights[name];
            assert!((weight - expected).abs() < 0.15, "{name} {weight}, not {expected}");
        };
        near("bias", -1.0);
        near(Learnable::Block.features()[1], 4.0);
        near(Learnable::Block.features()[2], 0.0);
    }

    #[test]
    fn labels_in_the_other_order_give_the_same_weights() {
        let examples = planted();
        let mut turned = examples.clone();
        turned.labels.reverse();
        turned.features =
            examples.features.chunks(examples.width()).rev().flatten().copied().collect();
        let (one, other) = (fit(&examples).unwrap(), fit(&turned).unwrap());
        for (name, weight) in &one {
            assert!((weight - other[name]).abs() < 0.01, "{name}");
        }
    }

    #[test]
    fn what_is_held_out_is_ordered() {
        let held_out = cross_validate(&planted()).unwrap().unwrap();
        assert!((0.7..0.9).contains(&held_out.auc), "{held_out:?}");
        let mut alone = planted();
        alone.groups.fill(0);
        assert_eq!(cross_validate(&alone).unwrap(), None);
        let mut same = planted();
        same.labels.fill(false);
        assert_eq!(fit(&same).unwrap_err(), LearnError::OneLabel("block"));
    }
}
