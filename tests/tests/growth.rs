//! What a call costs does not grow with the session: counted, not timed.

use foldback_replay::controls::{Hindsight, clairvoyant};
use foldback_replay::index::Index;
use foldback_replay::{Probe, Request, replay_with};
use foldback_stages::pruner::EvictConfig;
use foldback_tests::{Script, file, options, presets};
use std::ops::Range;
use std::sync::Arc;

const CALLS: usize = 20_000;

/// Calls around the thousandth, around the five-thousandth and up to the last: more than one period of
/// whatever comes and goes.
const SPANS: [Range<usize>; 3] = [500..1_500, 4_500..5_500, 19_000..20_000];

/// Presets that read more than what changed when they fold, and why.
const EXCEPTIONS: [(&str, &str); 6] = [
    ("brutus", "the original's view filter goes over the stored history at each fold"),
    ("opencode", "the same"),
    ("opencode-1.17", "the same"),
    ("tiered", "the document cuts the tiers anew from the whole history at each fold"),
    ("tiered-doc-exact", "the same"),
    ("window", "its summary grows up to its limit"),
];

/// Up to each call, how often messages were read and parts looked at.
#[derive(Default)]
struct Work(Vec<u64>);

impl Probe for Work {
    fn call(&mut self, request: &Request<'_>) {
        let delta = request.delta;
        let changed = delta.edited.len() + delta.hidden.len() + delta.shown.len();
        let before = self.0.last().copied().unwrap_or(0);
        let reads = request.conversation.history().reads() + request.tracker.looked_at();
        self.0.push(before.max(reads) + changed as u64);
    }
}

#[test]
fn a_call_costs_the_same_however_long_the_session_is() {
    let mut script = Script::default();
    for call in 0..CALLS {
        if call % 20 == 0 {
            script.user(&format!("Please look at step {call} as well"));
        }
        let name = format!("src/m{}.rs", call % 200);
        let arguments = format!("{{\"path\":\"{name}\"}}");
        script.call("", &[("read", &arguments, &file(&name, 400))]);
    }
    let session = script.session();
    let index = Arc::new(Index::of(&session));
    let hindsight = Arc::new(Hindsight::of(&index));
    let mut strategies = presets();
    strategies.push(Arc::new(clairvoyant(hindsight, EvictConfig::default()).unwrap()));
    let mut grown = Vec::new();
    strategies.retain(|strategy| EXCEPTIONS.iter().all(|(name, _)| *name != strategy.name));
    assert!(strategies.len() >= 8, "most presets are held against the law");
    for strategy in strategies {
        let mut work = Work::default();
        let options = options(32_000, 2_000);
        replay_with(&session, &index, &strategy, &options, &mut [&mut work]);
        let per_call = SPANS.map(|span| {
            let work = work.0[span.end - 1] - work.0[span.start];
            work as f64 / span.len() as f64
        });
        println!("{:>24} {per_call:.1?}", strategy.label());
        let [early, later, last] = per_call;
        if later.max(last) > 1.25 * early + 2.0 {
            grown.push(format!("{}: {per_call:.1?}", strategy.label()));
        }
    }
    assert!(grown.is_empty(), "messages read per call grow: {grown:#?}");
}
