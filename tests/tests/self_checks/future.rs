//! No strategy sees what is to come.

use super::{Sent, few, mending};
use foldback_core::strategy::Strategy;
use foldback_formats::Session;
use foldback_replay::controls::{Foresight, clairvoyant};
use foldback_replay::index::Index;
use foldback_replay::replay_with;
use foldback_stages::pruner::EvictConfig;
use foldback_testkit::law::{FUTURES, first_answer_behind};
use foldback_tests::lab::{self, everything};
use foldback_tests::options;
use foldback_tests::planted::Needs;
use std::sync::Arc;

/// A strategy that may be made for one session.
type Maker = Box<dyn Fn(&Session) -> Arc<Strategy>>;

fn makers() -> Vec<(String, Maker)> {
    let presets = everything().into_iter().map(|preset| preset.strategy);
    let examples = lab::examples();
    let examples = examples.iter().map(|name| lab::example(name).strategy);
    presets
        .filter(|strategy| !strategy.name.starts_with("clairvoyant"))
        .chain(examples)
        .map(|strategy| {
            let name = strategy.name.clone();
            (name, Box::new(move |_: &_| Arc::clone(&strategy)) as Maker)
        })
        .collect()
}

/// The clairvoyant of the session that is replayed.
fn seer(session: &Session) -> Arc<Strategy> {
    let foresight = Foresight::new(&Index::new(session));
    Arc::new(clairvoyant(Arc::new(foresight), EvictConfig::default()).unwrap())
}

fn sent(session: &Session, strategy: &Arc<Strategy>, calls: usize) -> Sent {
    let mut sent = Sent::default();
    let replay = replay_with(
        session,
        &Arc::new(Index::new(session)),
        strategy,
        &options(10_000, 1_000),
        &mut [&mut sent],
    );
    sent.views.truncate(calls);
    sent.rows = replay.rows;
    sent.rows.truncate(calls);
    // With the last call of a session stands what was counted after it.
    if let Some(last) = sent.rows.last_mut() {
        (last.overflow_detections, last.tokens_pruned) = (0, 0);
    }
    sent
}

/// Whether a strategy sends the same up to the cut, whatever comes behind it.
fn blind(session: &Session, cut: usize, make: &Maker) -> Result<(), String> {
    let past = session.messages[..cut].iter();
    let calls = past.filter(|message| message.is_answer()).count();
    let recorded = sent(session, &make(session), calls);
    assert_eq!(recorded.rows.len(), calls);
    for (name, future) in FUTURES {
        let mut other = session.clone();
        other.messages.truncate(cut);
        other.messages.extend(future(&session.messages, cut));
        let other = sent(&other, &make(&other), calls);
        if other.views != recorded.views {
            return Err(format!("future {name}: other views"));
        }
        if other.rows != recorded.rows {
            return Err(format!("future {name}: other rows"));
        }
    }
    Ok(())
}

/// The first answer behind the `share` of the session: everything before it is whole.
fn cut(session: &Session, share: f64) -> usize {
    let at = (session.messages.len() as f64 * share) as usize;
    first_answer_behind(&session.messages, at)
}

#[test]
fn what_is_to_come_changes_nothing_that_was_sent() {
    let sessions = [mending(), few(Needs::Old).remove(0)];
    for session in &sessions {
        for share in [0.5, 0.9] {
            let cut = cut(session, share);
            for (name, make) in makers() {
                let is = blind(session, cut, &make);
                assert_eq!(is, Ok(()), "{name} on {} at {share}", session.id);
            }
        }
    }
    // The one that does see it must be found out, or nothing would be.
    let session = &sessions[1];
    let found = blind(session, cut(session, 0.9), &(Box::new(seer) as Maker));
    assert!(found.is_err(), "foresight was not noticed");
    println!("clairvoyant: {found:?}");
}
