//! What tests share: sessions of messages, presets and setups, and what a probe sees where its view is changed.

use crate::judge::cost::RegimeTable;
use crate::judge::measures::Firings;
use crate::judge::request::{Probe, Request, show};
use crate::read::index::{Index, Tracker};
use crate::run::drive::ReplayOptions;
use crate::run::setup::{Preset, Setup};
use foldback_core::Limits;
use foldback_core::conversation::Conversation;
use foldback_core::delta::Cursor;
use foldback_core::log::{Message, Part};
use foldback_core::meter::MeterId;
use foldback_core::stage::Estimator;
use foldback_core::step::{Step, steps};
use foldback_core::strategy::Strategy;
use foldback_formats::Session;
use foldback_formats::session::Boundary;
use foldback_providers::prices::ModelTable;
use foldback_test_support::act::Act;
use foldback_testkit::talk;
use std::sync::Arc;

pub(crate) fn strategy(name: &str) -> Strategy {
    foldback::preset(&foldback::registry().unwrap(), name).unwrap()
}

pub(crate) fn preset(name: &str) -> Preset {
    Preset::new(strategy(name), name.to_owned())
}

/// What presets share under these limits, measured as `none` counts.
pub(crate) fn setup(limits: Limits) -> Setup {
    Setup {
        limits,
        model: None,
        models: ModelTable::embedded(),
        regimes: RegimeTable::embedded(),
        billed: crate::judge::cost::OWN.to_owned(),
        measure: Arc::clone(strategy("none").estimator()),
    }
}

/// Options of a replay that checks no rules.
pub(crate) fn options(limits: Limits, measure: Arc<dyn Estimator>) -> ReplayOptions {
    let (ceiling, model, completions) = (None, None, None);
    ReplayOptions { limits, ceiling, model, prices: None, measure, validate: false, completions }
}

/// A call of a tool, and its result.
pub(crate) fn call(
    number: usize,
    tool: &str,
    arguments: serde_json::Value,
    result: &str,
) -> [Message; 2] {
    let id = format!("c{number}");
    let asked = Part::call(&id, tool, arguments.to_string());
    [
        Message::assistant(format!("a{number}"), vec![asked]),
        Message::tool(format!("r{number}"), &id, tool, result),
    ]
}

/// A compaction of the recorder that left the original in the file.
pub(crate) fn boundary(before: usize, kind: &str) -> Boundary {
    Boundary {
        before,
        trigger: "auto".to_owned(),
        kind: kind.to_owned(),
        tokens_before: None,
        tokens_after: None,
        original_kept: true,
    }
}

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
    let none = Arc::new(strategy("none"));
    let mut conversation = talk::conversation(none, Limits::new(100_000, 1_000));
    let (mut tracker, mut cursor) = (Tracker::new(Arc::clone(index)), Cursor::default());
    let mut firings = Firings::default();
    let mut tell = |conversation: &Conversation, call, answer: Option<&Message>| {
        let delta = &conversation.delta(&mut cursor);
        tracker.update(conversation, delta, call);
        let (tracker, meter) = (&tracker, conversation.meter(MeterId::OWN));
        let written = &firings.look(call, conversation, meter, delta);
        let request = Request { call, answer, conversation, meter, delta, tracker, written };
        show(&mut [&mut *probe], &request);
    };
    for step in steps(session.log()) {
        match step {
            Step::Append(message) => {
                conversation.append(Arc::clone(message));
            }
            Step::Call { call, answer } => {
                for (_, wanted) in acts.iter().filter(|(at, _)| *at == call) {
                    wanted.on(&mut conversation);
                }
                tell(&conversation, call, Some(answer));
            }
            Step::At(_) | Step::StepEnd { .. } => {}
        }
    }
    tell(&conversation, index.calls.len(), None);
}
