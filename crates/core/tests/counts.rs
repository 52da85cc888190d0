//! What is counted when: a part once, when its message is appended, and afterwards only what a fold
//! touches. A peer that counts its whole history again at every edit is quadratic.

use crate::support::bare;
use foldback_core::Limits;
use foldback_core::conversation::Conversation;
use foldback_core::log::{EntryKind, Message, Part, Role};
use foldback_core::meter::MeterId;
use foldback_core::moment::{Moment, Trigger};
use foldback_core::outcome::Why;
use foldback_core::plan::{Insert, Layout, Slot};
use foldback_core::stage::{
    Decision, Estimator, OverflowPolicy, Pressure, Pruner, Pruning, StageContext,
};
use foldback_core::strategy::Bound;
use foldback_core::view::EditKind;
use foldback_testkit::talk;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const CALLS: usize = 5_000;
const MESSAGES: usize = 2 * CALLS;

/// Counts bytes, and how often it was asked.
#[derive(Debug)]
struct Counting {
    id: Arc<str>,
    asked: AtomicUsize,
}

impl Estimator for Counting {
    fn id(&self) -> &Arc<str> {
        &self.id
    }

    fn text(&self, text: &str) -> u64 {
        self.asked.fetch_add(1, Ordering::Relaxed);
        text.len() as u64
    }
}

/// Clears the oldest tool results that are not cleared yet, so many at once.
#[derive(Debug)]
struct ClearOldest(usize);

impl Pruner for ClearOldest {
    fn moment(&self) -> Moment {
        Moment::TurnEnd
    }

    fn prune(&self, context: &StageContext<'_>) -> Pruning {
        let edits: Vec<_> = context
            .history
            .iter()
            .filter(|(pos, message)| {
                message.parts[0].as_result().is_some()
                    && context.view.show_item(context.history, *pos).edits.is_empty()
            })
            .take(self.0)
            .map(|(pos, _)| context.edit(pos, 0, EditKind::Clear, "gone".into(), "old"))
            .collect();
        if edits.is_empty() {
            return Pruning::Nothing(Why::new("no-results", ""));
        }
        Pruning::Edits { edits, prunable: 0, reason: String::new() }
    }
}

/// Looks at the pressure and never folds.
#[derive(Debug)]
struct Never;

impl OverflowPolicy for Never {
    fn moments(&self) -> &'static [Moment] {
        &[Moment::CallStart]
    }

    fn decide(&self, pressure: &Pressure<'_>) -> Decision {
        Decision::off(format!("{} tokens", pressure.view_tokens))
    }
}

fn conversation(estimator: &Arc<Counting>, clears: usize) -> Conversation {
    let mut strategy = bare(Arc::clone(estimator) as _);
    strategy.overflow = Some(Bound {
        name: "never".to_owned(),
        stage: Arc::new(Never),
        when: vec![Moment::CallStart],
        meter: MeterId::OWN,
    });
    strategy.pruners = vec![Bound {
        name: "clear-oldest".to_owned(),
        stage: Arc::new(ClearOldest(clears)),
        when: vec![Moment::TurnEnd],
        meter: MeterId::OWN,
    }];
    talk::conversation(strategy, Limits::default())
}

/// Ten thousand messages: calls, each of two texts (name of the tool and arguments), and results.
fn log() -> Vec<Arc<Message>> {
    (0..CALLS)
        .flat_map(|i| {
            let call = format!("c{i}");
            let parts = vec![Part::call(&*call, "read", r#"{"path":"a.rs"}"#)];
            [
                Arc::new(Message::assistant(format!("a{i}"), parts)),
                Arc::new(Message::tool(format!("t{i}"), call, "read", "fn main() {}")),
            ]
        })
        .collect()
}

fn counting() -> Arc<Counting> {
    Arc::new(Counting { id: "counting".into(), asked: AtomicUsize::new(0) })
}

fn at(conversation: &mut Conversation, moment: Moment) -> bool {
    talk::at(conversation, moment).iter().any(|report| report.outcome.changed())
}

#[test]
fn only_what_is_new_or_touched_is_counted() {
    let estimator = counting();
    let mut conversation = conversation(&estimator, 3);
    let asked = || estimator.asked.swap(0, Ordering::Relaxed);
    talk::append(&mut conversation, log());
    assert_eq!(conversation.history().len(), MESSAGES);
    assert_eq!(asked(), 3 * CALLS, "every text once");

    conversation.append(Message::user("u1", "and now?"));
    assert_eq!(asked(), 1, "the new message alone");

    for _ in 0..100 {
        assert!(!at(&mut conversation, Moment::CallStart));
    }
    assert_eq!(asked(), 0, "nothing where nothing is done");

    assert!(at(&mut conversation, Moment::TurnEnd));
    // The placeholder of each of the three edits: by the stage, and by the plan for whatever stage.
    assert_eq!(asked(), 2 * 3, "what the fold touches");

    conversation.undo();
    assert_eq!(asked(), 0, "an undo knows what was");

    let untouched = conversation.clone();
    let before = conversation.tokens();
    assert!(at(&mut conversation, Moment::TurnEnd));
    assert_eq!(before - conversation.tokens(), 3 * ("fn main() {}".len() - "gone".len()) as u64);
    assert_eq!(untouched.tokens(), before);
}

#[test]
fn a_second_conversation_over_the_same_log_counts_nothing() {
    let estimator = counting();
    let log = log();
    talk::append(&mut conversation(&estimator, 0), log.clone());
    estimator.asked.store(0, Ordering::Relaxed);
    talk::append(&mut conversation(&estimator, 0), log);
    assert_eq!(estimator.asked.load(Ordering::Relaxed), 0);
}

#[test]
fn an_insert_is_counted_once_however_often_it_is_shown() {
    let estimator = counting();
    let mut conversation = conversation(&estimator, 0);
    talk::append(&mut conversation, log());
    estimator.asked.store(0, Ordering::Relaxed);
    let summary = Insert::new("s1", Role::User, "earlier".to_owned(), EntryKind::Summary);
    for kept in [10, 8] {
        let mut plan = conversation.draft("test", Moment::Manual, Trigger::Manual);
        let slots = vec![Slot::Insert(summary.clone())];
        plan.layout = Some(Layout { slots, tail_from: MESSAGES - kept });
        conversation.commit(plan).expect("made on this state");
    }
    let again = conversation.meter(MeterId::OWN).measure(summary.message());
    assert_eq!((again, estimator.asked.load(Ordering::Relaxed)), (7, 1));
}
