//! Which context policy a recorder used, from its usage alone.
//!
//! For every candidate the size of each request is predicted from the recorded messages. The right
//! candidate is the one whose prediction, times a tokenizer factor κ and plus the overhead of what was sent
//! but not recorded, is the recorded usage. κ is one number per session; the overhead is one per stretch
//! between compactions, because what a compaction leaves is of unknown size (after a clearing it is less
//! than the messages, so the overhead may be below zero). Both come from least squares on relative errors;
//! κ is held between 0.5 and 3, since no tokenizer is further off and a smaller one would turn any prediction
//! into a constant.

use super::drops::drops;
use super::fit::{CANDIDATES, Call, FITS, Policy, RecorderPolicy};
use foldback_core::log::{Message, PartKind, Role};
use foldback_core::stage::Estimator;
use foldback_formats::Session;

/// A policy that drops something is only believed if it takes this share off the error of sending
/// everything, and at least [`LEAST_GAIN`] of it: short sessions fit many policies alike.
const GAIN: f64 = 0.25;
const LEAST_GAIN: f64 = 0.005;

/// Fewest calls with usage that say anything.
const LEAST_CALLS: usize = 5;

/// Fewest calls whose prediction a policy must change to be told from sending everything.
const LEAST_CHANGED: usize = 10;

/// Tokens of the note that stands for a masked observation.
const MASK: u64 = 10;

/// Finds the policy of a session's recorder; `measure` counts the recorded messages.
pub(crate) fn policy(session: &Session, measure: &dyn Estimator) -> RecorderPolicy {
    let calls = calls(session, measure);
    RecorderPolicy { policy: choose(&candidates(&calls)), unmarked: unmarked(&calls) }
}

/// Sending everything, and the candidates that differ from it in at least ten calls, the simplest first, each with its mean absolute
/// relative error over the calls; none where too few calls record usage.
pub(super) fn candidates(calls: &[Call]) -> Vec<(Policy, f64)> {
    let recorded: Vec<&Call> = calls.iter().filter(|call| call.usage > 0).collect();
    if recorded.len() < LEAST_CALLS {
        return Vec::new();
    }
    let mut out = Vec::new();
    for (at, policy) in CANDIDATES.into_iter().enumerate() {
        let changes = |call: &&&Call| call.sizes[at] != call.sizes[0];
        if at > 0 && recorded.iter().filter(changes).count() < LEAST_CHANGED {
            continue;
        }
        out.push((policy, error(&recorded, at)));
    }
    out
}

fn choose(candidates: &[(Policy, f64)]) -> Option<Policy> {
    let full = candidates.first()?;
    let best = candidates.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let gain = full.1 - best.1;
    let (policy, error) = if gain >= LEAST_GAIN && gain >= GAIN * full.1 { best } else { full };
    // What is about as good as the full history does not fit where that does not.
    (*error <= FITS).then_some(*policy)
}

/// All calls of a session with what each candidate would have sent.
pub(super) fn calls(session: &Session, measure: &dyn Estimator) -> Vec<Call> {
    let mut size = Size { frame: session.frame.tokens(measure), ..Size::default() };
    let mut out: Vec<Call> = Vec::new();
    let mut stretch = 0;
    for (at, message) in session.messages.iter().enumerate() {
        let behind = session.boundaries.iter().filter(|boundary| boundary.before <= at);
        let reset = behind.clone().skip(stretch).any(|boundary| boundary.kind != "clear");
        stretch = behind.count();
        if reset {
            size = Size { frame: size.frame, ..Size::default() };
        }
        if message.is_entry() {
            continue;
        }
        if message.is_answer() {
            let usage = message.answer.as_ref().and_then(|answer| answer.usage);
            out.push(Call {
                number: out.len(),
                stretch,
                usage: usage.map_or(0, |usage| usage.input_total()),
                sizes: CANDIDATES.map(|candidate| size.tokens(candidate)),
            });
        }
        size.take(message, measure);
    }
    out
}

/// The history so far by what it is made of.
struct Size {
    frame: u64,
    other: u64,
    reasoning: u64,
    /// Reasoning of turns that have ended.
    old_reasoning: u64,
    observations: u64,
    /// By number of observations, what masking that many takes off.
    masked: Vec<u64>,
}

impl Default for Size {
    fn default() -> Self {
        Self {
            frame: 0,
            other: 0,
            reasoning: 0,
            old_reasoning: 0,
            observations: 0,
            masked: vec![0],
        }
    }
}

impl Size {
    fn take(&mut self, message: &Message, measure: &dyn Estimator) {
        let counts = measure.counts(message);
        if message.begins_turn() {
            self.old_reasoning = self.reasoning;
        }
        if message.role == Role::Tool {
            self.observations += counts.total();
            let before = self.masked.last().copied().unwrap_or(0);
            self.masked.push(before + counts.total().saturating_sub(MASK));
            return;
        }
        self.other += counts.overhead;
        for (part, tokens) in message.parts.iter().zip(&counts.parts) {
            match part.kind {
                PartKind::Reasoning { .. } => self.reasoning += tokens,
                _ => self.other += tokens,
            }
        }
    }

    fn tokens(&self, policy: Policy) -> u64 {
        let full = self.frame + self.other + self.reasoning + self.observations;
        match policy {
            Policy::Full => full,
            Policy::TurnReasoning => full - self.old_reasoning,
            Policy::NoReasoning => full - self.reasoning,
            Policy::LastObservations(keep) => {
                let masked = self.masked.len().saturating_sub(1 + keep as usize);
                full - self.masked[masked]
            }
        }
    }
}

fn unmarked(calls: &[Call]) -> Vec<usize> {
    let inputs: Vec<(usize, u64)> =
        calls.iter().filter(|call| call.usage > 0).map(|call| (call.number, call.usage)).collect();
    let mut found = drops(&inputs);
    // The same compaction if a mark lies between the two calls.
    found.retain(|drop| {
        let before = inputs.iter().rev().find(|(call, _)| call < drop);
        before.is_none_or(|(call, _)| calls[*call].stretch == calls[*drop].stretch)
    });
    found
}

/// The mean absolute relative error of `usage = κ · estimate + overhead of the stretch`, with the estimates of a candidate.
fn error(calls: &[&Call], candidate: usize) -> f64 {
    const LEAST: f64 = 0.5;
    const MOST: f64 = 3.0;
    let pair = |call: &&Call| (call.stretch, call.sizes[candidate] as f64, call.usage as f64);
    let pairs: Vec<(usize, f64, f64)> = calls.iter().map(pair).collect();
    let stretches = pairs.iter().map(|(stretch, ..)| *stretch).max().unwrap_or(0) + 1;
    // Weight, weighted estimate and weighted usage by stretch.
    let mut sums = vec![[0.0; 3]; stretches];
    for (stretch, estimate, usage) in &pairs {
        let weight = 1.0 / (usage * usage);
        let sum = &mut sums[*stretch];
        sum[0] += weight;
        sum[1] += weight * estimate;
        sum[2] += weight * usage;
    }
    let mean = |stretch: usize, of: usize| sums[stretch][of] / sums[stretch][0];
    let (mut above, mut below) = (0.0, 0.0);
    for (stretch, estimate, usage) in &pairs {
        let weight = 1.0 / (usage * usage);
        let off = estimate - mean(*stretch, 1);
        above += weight * off * (usage - mean(*stretch, 2));
        below += weight * off * off;
    }
    let kappa = if below > 0.0 { above / below } else { 1.0 };
    let kappa = kappa.clamp(LEAST, MOST);
    let error: f64 = pairs
        .iter()
        .map(|(stretch, estimate, usage)| {
            let overhead = mean(*stretch, 2) - kappa * mean(*stretch, 1);
            (kappa * estimate + overhead - usage).abs() / usage
        })
        .sum();
    error / pairs.len().max(1) as f64
}
