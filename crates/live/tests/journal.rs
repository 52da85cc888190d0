//! What a journal gives back is what was there, to the byte; and a process may die at any time.

use crate::support::{append, asks, at, sent, step, stored, turns};
use foldback::{Conversation, Message, Moment};
use foldback_core::services::FixedClock;
use foldback_core::view::PartPos;
use foldback_live::journal::Journal;
use proptest::prelude::*;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use tempfile::TempDir;

pub(crate) struct Place {
    _folder: TempDir,
    pub(crate) path: PathBuf,
}

pub(crate) fn place() -> Place {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("journal.jsonl");
    Place { _folder: folder, path }
}

pub(crate) fn empty(preset: &str) -> Conversation {
    crate::support::conversation(preset, &Arc::new(FixedClock::at(9_999_999)))
}

/// An empty conversation with its journal.
pub(crate) fn begun() -> (Place, Conversation, Journal) {
    let (place, mut conversation) = (place(), empty("window"));
    let journal = Journal::open(&place.path, &mut conversation).unwrap();
    (place, conversation, journal)
}

pub(crate) fn reopened(preset: &str, place: &Place) -> Conversation {
    let mut conversation = empty(preset);
    Journal::open(&place.path, &mut conversation).expect("the journal");
    conversation
}

/// Everything that a reader of a conversation can see.
pub(crate) fn state(conversation: &Conversation) -> String {
    let folds: Vec<_> = conversation
        .folds()
        .iter()
        .map(|fold| {
            (fold.id, fold.at, fold.entries(), serde_json::to_string(&*fold.plan).expect("JSON"))
        })
        .collect();
    format!(
        "{}\n{}\n{:?}\n{} tokens\n{folds:?}",
        sent(conversation),
        stored(conversation),
        conversation.view().layout(),
        conversation.tokens()
    )
}

/// What a conversation goes through.
#[derive(Clone, Debug)]
enum Act {
    Step(usize),
    Fold,
    TurnEnd,
    CallStart,
    Undo,
    Record,
    Reopen,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        5 => (1_usize..500).prop_map(Act::Step),
        2 => Just(Act::Fold),
        1 => Just(Act::TurnEnd),
        1 => Just(Act::CallStart),
        1 => Just(Act::Undo),
        3 => Just(Act::Record),
        1 => Just(Act::Reopen),
    ];
    proptest::collection::vec(act, 1..24)
}

fn presets() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        Just("window"),
        Just("opencode"),
        Just("opencode-1.17"),
        Just("tiered"),
        Just("tunacode-local")
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_was_recorded_comes_back(preset in presets(), acts in acts()) {
        let place = place();
        let clock = Arc::new(FixedClock::at(1));
        let mut conversation = crate::support::conversation(preset, &clock);
        let mut journal = Journal::open(&place.path, &mut conversation).unwrap();
        for (number, act) in acts.into_iter().enumerate() {
            clock.set(number as i64 * 1_000);
            match act {
                Act::Step(words) => turns(&mut conversation, number..number + 1, words),
                Act::Fold => { at(&mut conversation, Moment::Manual); }
                Act::TurnEnd => { at(&mut conversation, Moment::TurnEnd); }
                Act::CallStart => { at(&mut conversation, Moment::CallStart); }
                Act::Undo => { conversation.undo(); }
                Act::Record => journal.record(&conversation).unwrap(),
                Act::Reopen => {
                    journal.record(&conversation).unwrap();
                    drop(journal);
                    let before = state(&conversation);
                    conversation = crate::support::conversation(preset, &clock);
                    journal = Journal::open(&place.path, &mut conversation).unwrap();
                    prop_assert_eq!(state(&conversation), before);
                }
            }
        }
        journal.record(&conversation).unwrap();
        drop(journal);
        prop_assert_eq!(state(&reopened(preset, &place)), state(&conversation));
        // Going on makes the same folds as if nothing had happened.
        let mut again = reopened(preset, &place);
        prop_assert_eq!(again.undo(), conversation.undo());
        prop_assert_eq!(sent(&again), sent(&conversation));
    }
}

/// A file that ends at any byte gives one of the states that were recorded, and can be written on.
#[test]
fn a_process_may_die_at_any_byte() {
    let (place, mut conversation, mut journal) = begun();
    let mut states = vec![(fs::metadata(&place.path).unwrap().len(), state(&conversation))];
    for number in 0..8 {
        turns(&mut conversation, number..number + 1, 300);
        journal.record(&conversation).unwrap();
    }
    let mut mark = |conversation: &Conversation, journal: &mut Journal| {
        journal.record(conversation).unwrap();
        states.push((fs::metadata(&place.path).unwrap().len(), state(conversation)));
    };
    mark(&conversation, &mut journal);
    assert!(at(&mut conversation, Moment::Manual).iter().any(|report| report.outcome.changed()));
    mark(&conversation, &mut journal);
    conversation.undo();
    mark(&conversation, &mut journal);
    at(&mut conversation, Moment::Manual);
    mark(&conversation, &mut journal);
    drop(journal);
    let whole = fs::read(&place.path).unwrap();
    let from = states[1].0 as usize;
    let blank = empty("window");
    for cut in from..=whole.len() {
        fs::write(&place.path, &whole[..cut]).unwrap();
        let expect = states.iter().rev().find(|(end, _)| *end as usize <= cut).expect("a state");
        let mut conversation = blank.clone();
        let mut journal = Journal::open(&place.path, &mut conversation).unwrap();
        assert!(state(&conversation) == expect.1, "cut at {cut} of {}", whole.len());
        // Every byte would take long: once in the middle of each line is enough.
        if cut % 997 == 0 || cut == whole.len() {
            conversation.append(Message::user("later", "later"));
            journal.record(&conversation).unwrap();
            drop(journal);
            assert_eq!(state(&reopened("window", &place)), state(&conversation), "cut at {cut}");
        }
    }
}

/// Folds, notices that they were missed, and folds again: closing the program in between makes no
/// difference, down to ids, what the folds brought, and which automatic fold is held back.
#[test]
fn going_on_is_as_if_nothing_had_happened() {
    for preset in ["window", "opencode-1.17", "tiered"] {
        let mut ends = Vec::new();
        for reopens in [false, true] {
            let place = place();
            let clock = Arc::new(FixedClock::at(1));
            let mut conversation = crate::support::conversation(preset, &clock);
            let mut journal = Journal::open(&place.path, &mut conversation).unwrap();
            let mut outcomes = Vec::new();
            for round in 0..3 {
                for number in 0..8 {
                    conversation.append(asks(10 * round + number));
                    append(&mut conversation, step(number, 400));
                }
                let moment = if round == 1 { Moment::Manual } else { Moment::ProviderOverflow };
                outcomes.extend(at(&mut conversation, moment));
                outcomes.extend(at(&mut conversation, Moment::CallStart));
                journal.record(&conversation).unwrap();
                if reopens {
                    drop(journal);
                    conversation = crate::support::conversation(preset, &clock);
                    journal = Journal::open(&place.path, &mut conversation).unwrap();
                }
                outcomes.extend(at(&mut conversation, Moment::CallStart));
            }
            assert!(conversation.folds().len() > 1, "{preset}");
            ends.push((
                state(&conversation),
                conversation.fold_stats().to_vec(),
                serde_json::to_string(&outcomes).unwrap(),
            ));
        }
        assert!(ends[0].1.iter().any(|fold| fold.missed > 0), "{preset}");
        assert_eq!(ends[0], ends[1], "{preset}");
    }
}

/// A person's wishes outlive the process too.
#[test]
fn pins_come_back() {
    let (place, mut conversation, mut journal) = begun();
    turns(&mut conversation, 0..8, 400);
    assert!(conversation.pin(1) && conversation.pin(3));
    journal.record(&conversation).unwrap();
    assert!(conversation.unpin(3) && conversation.pin(0));
    assert!(conversation.pin_text("Question 4") && conversation.pin_text("Question 5"));
    assert!(conversation.unpin_text("Question 4") && !conversation.pin_text("nobody said it"));
    journal.record(&conversation).unwrap();
    drop(journal);
    let mut again = reopened("window", &place);
    assert_eq!(again.pinned(), conversation.pinned());
    assert_eq!(again.pins(), conversation.pins());
    assert_eq!(again.pins().iter().map(|pin| &*pin.text).collect::<Vec<_>>(), ["Question 5"]);
    assert_eq!(again.pinned().iter().copied().collect::<Vec<_>>(), [0, 1]);
    at(&mut again, Moment::Manual);
    assert!(sent(&again).contains("Question 0"), "{}", sent(&again));
}

/// A history that was loaded with marks of its recorder.
#[test]
fn marks_of_a_loaded_history() {
    let place = place();
    let mut conversation = empty("opencode");
    append(&mut conversation, step(0, 20));
    conversation.mark_cleared(PartPos { item: 1, part: 0 }, "[cleared]".into(), 42);
    drop(Journal::open(&place.path, &mut conversation).unwrap());
    assert_eq!(state(&reopened("opencode", &place)), state(&conversation));
}
