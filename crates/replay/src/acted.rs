//! What tests of probes share: a session of messages, and what a probe sees where its view is changed.

use crate::drive::{Probe, show};
use crate::index::{Index, Tracker};
use foldback_core::Limits;
use foldback_core::delta::Cursor;
use foldback_core::log::Message;
use foldback_core::meter::MeterId;
use foldback_core::step::{Step, steps};
use foldback_formats::Session;
use foldback_test_support::act::Act;
use foldback_testkit::talk;
use std::sync::Arc;

pub(crate) fn session(messages: Vec<Message>) -> Session {
    Session::of_messages("constructed", messages.into_iter().map(Arc::new).collect())
}

/// Shows a probe every request of a session without compaction, acts on the view before the calls that are named, and
/// shows it the end.
pub(crate) fn observe(
    session: &Session,
    index: &Arc<Index>,
    acts: &[(usize, Act<'_>)],
    probe: &mut dyn Probe,
) {
    let registry = foldback::registry().unwrap();
    let strategy = Arc::new(foldback::preset(&registry, "none").unwrap());
    let mut conversation = talk::conversation(strategy, Limits::new(100_000, 1_000));
    let (mut tracker, mut cursor) = (Tracker::new(Arc::clone(index)), Cursor::default());
    for step in steps(session.log()) {
        match step {
            Step::Append(message) => {
                conversation.append(Arc::clone(message));
            }
            Step::Call { call, answer } => {
                for (_, wanted) in acts.iter().filter(|(at, _)| *at == call) {
                    wanted.on(&mut conversation);
                }
                let delta = conversation.delta(&mut cursor);
                show(
                    &mut [probe],
                    &mut tracker,
                    (&conversation, MeterId::OWN),
                    &delta,
                    call,
                    Some(answer),
                );
            }
            Step::At(_) | Step::StepEnd { .. } => {}
        }
    }
    let delta = conversation.delta(&mut cursor);
    show(&mut [probe], &mut tracker, (&conversation, MeterId::OWN), &delta, index.calls(), None);
}
