//! The store and the threads: they change no byte, and nothing is replayed twice.

use super::{few, mending};
use foldback_core::log::{Answer, EntryKind, Message, Part, Role, Usage};
use foldback_core::meter::MeterId;
use foldback_core::moment::Moment;
use foldback_core::outcome::Why;
use foldback_core::stage::{Pruner, Pruning, StageContext};
use foldback_core::strategy::Bound;
use foldback_replay::{Comparison, Corpus, Preset, Store};
use foldback_report::json;
use foldback_tests::lab::{compare_in, everything, preset, reporting, setup};
use foldback_tests::planted::{Needs, Planted};
use rayon::ThreadPoolBuilder;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Everything that a comparison says, and everything that the store holds for it.
fn everything_said(comparison: &Comparison, store: &Store) -> String {
    let mut text = json::comparison(comparison).unwrap();
    for session in 0..comparison.corpus.sessions.len() {
        let facts = comparison.facts(store, session).unwrap();
        text += &(serde_json::to_string(&facts).unwrap() + "\n");
        for at in 0..comparison.presets.len() {
            let record = comparison.record(store, session, at).unwrap();
            for row in &record.rows {
                text += &(serde_json::to_string(row).unwrap() + "\n");
            }
            text += &(serde_json::to_string(&record).unwrap() + "\n");
        }
    }
    text
}

#[test]
fn store_and_threads_change_no_byte() {
    let mut recorded = mending();
    let usage = Usage { uncached: 9_000, output: 100, ..Usage::default() };
    let summary = Message::new("summary", Role::Assistant, vec![Part::text("All is mended.")]);
    let summary = summary.with_answer(Answer { usage: Some(usage), ..Answer::default() });
    recorded.messages.push(Arc::new(summary.as_entry(EntryKind::Summary)));
    let corpus = || Corpus::from_sessions(few(Needs::Recent).into_iter().chain([recorded.clone()]));
    let presets = everything();
    let setup = setup(8_000, 1_000);
    let run = |store: &Store, threads: usize| {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let comparison =
            pool.install(|| compare_in(store, &corpus(), &presets, &setup, reporting("openai")));
        everything_said(&comparison, store)
    };
    let (one, other) = (Store::temporary().unwrap(), Store::temporary().unwrap());
    let cold = run(&one, 2);
    assert!(cold.lines().count() > 1_000);
    for (name, is) in [
        ("warm store", run(&one, 2)),
        ("another cold store, one thread", run(&other, 1)),
        ("warm store, one thread", run(&other, 1)),
    ] {
        assert!(is == cold, "{name}: not the same bytes");
    }
}

/// Does nothing, and counts how often.
#[derive(Debug)]
struct Idle(Arc<AtomicUsize>);

impl Pruner for Idle {
    fn moment(&self) -> Moment {
        Moment::CallStart
    }

    fn prune(&self, _: &StageContext<'_>) -> Pruning {
        self.0.fetch_add(1, Ordering::Relaxed);
        Pruning::Nothing(Why::new("idle", "it never does anything".to_owned()))
    }
}

/// A strategy, and how often it was asked.
fn counted(name: &str) -> (Preset, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let mut strategy = foldback_tests::owned("none");
    strategy.name = name.to_owned();
    strategy.pruners.push(Bound {
        name: name.to_owned(),
        stage: Arc::new(Idle(Arc::clone(&asked))),
        when: vec![Moment::CallStart],
        meter: MeterId::OWN,
    });
    (Preset::new(strategy, name.to_owned()), asked)
}

#[test]
fn one_preset_more_replays_that_one_alone() {
    let store = Store::temporary().unwrap();
    let corpus = Corpus::from_sessions(few(Needs::Recent));
    let run = |presets: &[&Preset]| {
        let presets: Vec<Preset> = presets.iter().map(|preset| (*preset).clone()).collect();
        compare_in(&store, &corpus, &presets, &setup(8_000, 1_000), reporting("openai"));
    };
    let none = preset("none");
    let [(old, asked_old), (new, asked_new)] = ["old", "new"].map(counted);
    let calls = 3 * Planted::default().calls;
    // Presets of the run, and how often each of the two has been asked after it.
    let table: [(&[&Preset], usize, usize); 4] = [
        (&[&none, &old], calls, 0),
        (&[&none, &old], calls, 0),
        (&[&none, &old, &new], calls, calls),
        (&[&new, &none, &old], calls, calls),
    ];
    for (run_number, (presets, old, new)) in table.into_iter().enumerate() {
        run(presets);
        let asked = [&asked_old, &asked_new].map(|asked| asked.load(Ordering::Relaxed));
        assert_eq!(asked, [old, new], "after run {run_number}");
    }
}
