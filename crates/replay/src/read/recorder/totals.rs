//! The recorder's policy if a recording has only a total: over several sessions of a model.
//!
//! The tokenizer's error is a property of the model, so under the right policy the ratio of recorded to
//! predicted tokens is nearly the same in all of its sessions: the candidate with the smallest
//! coefficient of variation is the recorder's. (On 261 SWE-agent runs of five models, keeping five
//! observations has 1 to 3 %, the full history 5 to 20 %.)

use super::fit::{CANDIDATES, Call, Policy, Total};
use foldback_formats::Session;
use serde::Deserialize;

/// Largest coefficient of variation with which a policy counts as found.
const FITS: f64 = 0.05;

/// Fewest sessions of a model that say anything.
const LEAST_SESSIONS: usize = 3;

#[derive(Deserialize)]
struct Document {
    info: Info,
}

#[derive(Deserialize)]
struct Info {
    model_stats: Stats,
}

#[derive(Deserialize)]
struct Stats {
    tokens_sent: u64,
}

/// The total of a session whose format records nothing else.
pub(super) fn total(session: &Session, calls: &[Call]) -> Option<Total> {
    if session.format != "swe-agent" {
        return None;
    }
    let document: Document = serde_json::from_str(&session.source.text).ok()?;
    let sent = document.info.model_stats.tokens_sent;
    if sent == 0 {
        return None;
    }
    let predicted = CANDIDATES.into_iter().enumerate();
    Some(Total {
        sent,
        predicted: predicted
            .map(|(at, policy)| (policy, calls.iter().map(|call| call.sizes[at]).sum()))
            .collect(),
    })
}

/// The policy behind the totals of several sessions of a model; `None` with fewer than three, or when no candidate fits.
pub(crate) fn by_totals(totals: &[&Total]) -> Option<Policy> {
    if totals.len() < LEAST_SESSIONS {
        return None;
    }
    let candidates = CANDIDATES.into_iter().enumerate().filter_map(|(at, candidate)| {
        let ratio = |total: &&Total| {
            let (_, predicted) = total.predicted.get(at)?;
            (*predicted > 0).then(|| total.sent as f64 / *predicted as f64)
        };
        let ratios: Option<Vec<f64>> = totals.iter().map(ratio).collect();
        Some((candidate, variation(&ratios?)))
    });
    // Of equal ones the first, which is the simpler.
    let best = candidates.min_by(|a, b| a.1.total_cmp(&b.1));
    best.filter(|(_, variation)| *variation <= FITS).map(|(policy, _)| policy)
}

/// Standard deviation over mean, with `n - 1`.
fn variation(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (n - 1.0)).sqrt() / mean
}
