//! What a call costs does not grow with the session: counted, not timed.

use foldback_formats::Session;
use foldback_replay::controls::{Hindsight, clairvoyant, clairvoyant_lines};
use foldback_replay::index::Index;
use foldback_replay::{Probe, Request, replay_with};
use foldback_stages::pruner::EvictConfig;
use foldback_testkit::law::long_session;
use foldback_tests::{options, presets};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

const CALLS: usize = 20_000;

/// Calls around the thousandth, around the five-thousandth and up to the last: more than one period of
/// whatever comes and goes.
const SPANS: [Range<usize>; 3] = [500..1_500, 4_500..5_500, 19_000..20_000];

/// Presets that read more than what changed when they fold, and why.
const EXCEPTIONS: [(&str, &str); 6] = [
    ("tiered", "the document cuts the tiers anew from the whole history at each fold"),
    ("tiered-doc-exact", "the same"),
    ("window", "its summary grows up to its limit"),
    ("codex", "what the person said stays, up to more than this window, and then every call folds"),
    ("codex-remote", "the same"),
    ("mxf", "the original estimates and summarizes its whole history at each refusal"),
];

/// Up to each call, how often messages were read and parts looked at.
#[derive(Default)]
struct Work {
    changed: usize,
    per_call: Vec<u64>,
}

impl Probe for Work {
    fn call(&mut self, request: &Request<'_>) {
        let delta = request.delta;
        self.changed += delta.edited.len() + delta.hidden.len() + delta.shown.len();
        let reads = request.conversation.history().reads() + request.tracker.looked_at();
        self.per_call.push(reads + self.changed as u64);
    }
}

#[test]
fn a_call_costs_the_same_however_long_the_session_is() {
    let mut session = Session::of_messages("long", long_session(CALLS).messages().to_vec());
    // Sizes are counted, not recorded: what a strategy may do then depends on the view alone.
    for message in &mut session.messages {
        let message = Arc::make_mut(message);
        message.answer.iter_mut().for_each(|answer| answer.usage = None);
    }
    let index = Arc::new(Index::of(&session));
    let hindsight = Arc::new(Hindsight::of(&index));
    let mut strategies = presets();
    strategies.push(Arc::new(clairvoyant(hindsight, EvictConfig::default()).unwrap()));
    let lines = clairvoyant_lines(Arc::clone(&index), EvictConfig::default()).unwrap();
    strategies.push(Arc::new(lines));
    strategies.retain(|strategy| EXCEPTIONS.iter().all(|(name, _)| *name != strategy.name));
    assert!(strategies.len() >= 8, "most presets are held against the law");
    let per_call: Vec<(String, [f64; 3])> = strategies
        .par_iter()
        .map(|strategy| {
            let mut work = Work::default();
            let options = options(12_000, 1_000);
            replay_with(&session, &index, strategy, &options, &mut [&mut work]);
            let per_call = SPANS.map(|span| {
                let work = work.per_call[span.end - 1] - work.per_call[span.start];
                work as f64 / span.len() as f64
            });
            (strategy.label(), per_call)
        })
        .collect();
    let grown: Vec<_> = per_call
        .into_iter()
        .filter(|(_, [early, later, last])| later.max(*last) > 1.25 * early + 2.0)
        .collect();
    assert!(grown.is_empty(), "messages read per call grow: {grown:.1?}");
}
