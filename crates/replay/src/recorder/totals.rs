//! The recorder's policy if a recording has only a total: over several sessions of a model.
//!
//! The tokenizer's error is a property of the model, so under the right policy the ratio of recorded to
//! predicted tokens is nearly the same in all of its sessions: the candidate with the smallest
//! coefficient of variation is the recorder's. (On 261 SWE-agent runs of five models, keeping five
//! observations has 1 to 3 %, the full history 5 to 20 %.)

use super::fit::{CANDIDATES, Call, Policy, RecorderPolicy, Total};
use foldback_formats::Session;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Largest coefficient of variation with which a policy counts as found.
const FITS: f64 = 0.05;

/// Fewest sessions of a model that say anything.
const LEAST_SESSIONS: usize = 3;

/// The policy of a group of sessions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupPolicy {
    /// Format and model.
    pub group: String,
    /// Sessions with a total.
    pub sessions: usize,
    /// The policy; `None` with fewer than three sessions, or when no candidate fits.
    pub policy: Option<Policy>,
    /// Coefficient of variation of recorded over predicted, by candidate; empty with fewer than three.
    pub variation: Vec<(Policy, f64)>,
}

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

/// The policies of groups of sessions (label of the group and what was found of one session), by label.
pub fn by_totals<'a>(
    sessions: impl IntoIterator<Item = (&'a str, &'a RecorderPolicy)>,
) -> Vec<GroupPolicy> {
    let mut groups: BTreeMap<&str, Vec<&Total>> = BTreeMap::new();
    for (group, session) in sessions {
        if let Some(total) = &session.total {
            groups.entry(group).or_default().push(total);
        }
    }
    groups.into_iter().map(|(group, totals)| of_group(group, &totals)).collect()
}

fn of_group(group: &str, totals: &[&Total]) -> GroupPolicy {
    let mut out = GroupPolicy {
        group: group.to_owned(),
        sessions: totals.len(),
        policy: None,
        variation: Vec::new(),
    };
    if totals.len() < LEAST_SESSIONS {
        return out;
    }
    for (at, candidate) in CANDIDATES.into_iter().enumerate() {
        let ratios: Option<Vec<f64>> = totals
            .iter()
            .map(|total| {
                let (_, predicted) = total.predicted.get(at)?;
                (*predicted > 0).then(|| total.sent as f64 / *predicted as f64)
            })
            .collect();
        if let Some(ratios) = ratios {
            out.variation.push((candidate, variation(&ratios)));
        }
    }
    // Of equal ones the first, which is the simpler.
    let best = out.variation.iter().min_by(|a, b| a.1.total_cmp(&b.1));
    out.policy = best.filter(|(_, variation)| *variation <= FITS).map(|(policy, _)| *policy);
    out
}

/// Standard deviation over mean, with `n - 1`.
fn variation(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (n - 1.0)).sqrt() / mean
}
