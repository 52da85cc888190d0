//! What a call costs does not grow with the session: counted, not timed.

use foldback_core::strategy::Strategy;
use foldback_core::work;
use foldback_formats::Session;
use foldback_replay::controls::{Foresight, clairvoyant, clairvoyant_lines};
use foldback_replay::index::Index;
use foldback_replay::{Probe, Request, replay_with};
use foldback_stages::pruner::EvictConfig;
use foldback_testkit::law::long_session;
use foldback_tests::{options, presets, strategy};
use rayon::prelude::*;
use serde_json::json;
use std::ops::Range;
use std::sync::Arc;

/// Calls of the session, unless `FOLDBACK_TEST_CALLS` says otherwise: at night there are 20,000.
const CALLS: usize = 4_000;

/// Presets that read more than what changed when they fold, and why.
const EXCEPTIONS: [(&str, &str); 9] = [
    ("tiered", "the document cuts the tiers anew from the whole history at each fold"),
    ("tiered-doc-exact", "the same"),
    ("window", "its summary grows up to its limit"),
    ("codex", "what the person said stays, up to more than this window, and then every call folds"),
    ("codex-remote", "the same"),
    ("kimi-code", "the same"),
    ("cline", "what was said stays, up to more than this window, and then every call folds"),
    ("fast-jev", "a line stays for every call, so a fold walks a view that grows"),
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
    let wanted = std::env::var("FOLDBACK_TEST_CALLS");
    let calls = wanted.map_or(CALLS, |calls| calls.parse().unwrap());
    // Calls around the thousandth, around the middle and up to the last: more than one period of whatever comes and goes.
    let middle = calls / 2;
    let spans: [Range<usize>; 3] = [500..1_500, middle..middle + 1_000, calls - 1_000..calls];
    let mut session = Session::of_messages("long", long_session(calls).messages().to_vec());
    // Sizes are counted, not recorded: what a strategy may do then depends on the view alone.
    for message in &mut session.messages {
        let message = Arc::make_mut(message);
        message.answer.iter_mut().for_each(|answer| answer.usage = None);
    }
    let index = Arc::new(Index::new(&session));
    let foresight = Arc::new(Foresight::new(&index));
    let mut strategies = presets();
    strategies.push(Arc::new(clairvoyant(foresight, EvictConfig::default()).unwrap()));
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
            let per_call = spans.clone().map(|span| {
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

/// A session in which each call reads a path of its own, and each result names a path and two names that other calls
/// and results have: nothing is smaller than what is taken from it later. `tests/cases/F01-many-paths` writes the
/// same.
fn many_paths(calls: usize) -> Session {
    let mut messages = vec![json!({ "role": "user", "content": "hi" })];
    for at in 0..calls {
        let (id, path) = (format!("c{at}"), format!("/r/dir{at}/a{at}.rs"));
        let (other, name) = (at * 7 % calls, at * 3 % calls);
        let said = format!("use dir{other}/a{other}.rs; fn name_{at}() name_{name}");
        let call =
            json!({ "type": "tool_use", "id": id, "name": "Read", "input": { "file_path": path } });
        let result = json!({ "type": "tool_result", "tool_use_id": id, "content": said });
        messages.push(json!({ "role": "assistant", "content": [call] }));
        messages.push(json!({ "role": "user", "content": [result] }));
    }
    let text = json!({ "model": "claude-sonnet-4-5", "messages": messages }).to_string();
    foldback_formats::read(text.as_bytes(), None).unwrap().remove(0)
}

/// Makes a control of a session that was read.
type Control = fn(&Arc<Index>) -> Strategy;

/// What a control sees of the future must not cost the square of it. Most calls of these sessions are over the window.
#[test]
fn the_steps_of_a_control_grow_with_the_session() {
    let controls: [(&str, Control); 3] = [
        ("clairvoyant-lines", |index| {
            clairvoyant_lines(Arc::clone(index), EvictConfig::default()).unwrap()
        }),
        ("clairvoyant", |index| {
            clairvoyant(Arc::new(Foresight::new(index)), EvictConfig::default()).unwrap()
        }),
        ("random", |_| Strategy::clone(&strategy("random"))),
    ];
    for (name, control) in controls {
        let steps = [2_000, 4_000, 8_000].map(|calls| {
            let session = many_paths(calls);
            let index = Arc::new(Index::new(&session));
            let before = work::counted();
            let options = options(20_000, 1_000);
            let replay =
                replay_with(&session, &index, &Arc::new(control(&index)), &options, &mut []);
            let fired = replay.rows.iter().filter(|row| !row.fired.is_empty()).count();
            assert!(fired > calls / 20, "{name}: {fired} of {calls} calls cleared something");
            work::counted() - before + replay.conversation.history().reads()
        });
        println!("{name}: {steps:?}");
        for (half, whole) in [(steps[0], steps[1]), (steps[1], steps[2])] {
            assert!(whole as f64 <= 2.2 * half as f64, "{name}: {steps:?}");
        }
    }
}
