//! Real sessions, driven call by call in a small window: the preset tears no group, gets below its
//! trigger, and finds something to say for every tier.
//!
//! The sessions are not part of the repository; without them this test is ignored.

use crate::support::{registry, torn_of};
use foldback_core::Limits;
use foldback_core::config::{Options, compile_preset};
use foldback_core::moment::Moment;
use foldback_test_support::sessions;
use foldback_testkit::talk;
use std::sync::Arc;

/// Sessions with a window in which they overflow a few times.
const SESSIONS: [(&str, u64); 3] = [
    ("claude-code/cipherbox-1compact-233tools.jsonl", 40_000),
    ("claude-code/omp-sonnet5-nocompact-453k.jsonl", 60_000),
    ("opencode/nimbus-82msg-pruned.json", 30_000),
];

#[foldback_needs::sessions]
#[test]
fn real_sessions_keep_their_groups_and_get_smaller() {
    let compiled = compile_preset(&registry(), "tiered", Options::default()).unwrap();
    let strategy = Arc::new(compiled.strategy);
    for (name, window) in SESSIONS {
        let bytes = std::fs::read(sessions().join(name)).unwrap();
        let session = foldback_formats::read(&bytes, None).unwrap().remove(0);
        let limits = Limits::new(window, 0);
        let mut conversation = talk::conversation(Arc::clone(&strategy), limits);
        let mut summarised = 0;
        for message in session.log() {
            if message.is_answer() {
                let had = conversation.folds().len();
                talk::at(&mut conversation, Moment::CallStart);
                for fold in &conversation.folds()[had..] {
                    let plan = &fold.plan;
                    assert!(plan.tokens_after <= window * 8 / 10, "{name}: {plan:?}");
                    summarised += plan.summaries.len();
                    let torn = torn_of(conversation.sent().iter().map(|shown| shown.message));
                    let recorded =
                        torn_of(conversation.history().iter().map(|(_, message)| message));
                    assert!(
                        torn.iter().all(|id| recorded.contains(id)),
                        "{name}: {torn:?}, recorded {recorded:?}"
                    );
                }
            }
            conversation.append(Arc::clone(message));
        }
        assert_eq!(conversation.counters().failures, 0, "{name}");
        assert!(conversation.folds().len() > 1, "{name} never overflows twice");
        assert!(summarised > 0, "{name} was never summarised");
        println!("{name}: {} folds, {summarised} summaries", conversation.folds().len());
    }
}
