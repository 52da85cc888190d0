//! Whatever was said: `window` never sends a result without its call or a call without its result
//! that the log did not lack, never makes a request larger, and can be taken back.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use foldback_core::config::{Document, Options, compile};
use foldback_core::conversation::{Conversation, Signals};
use foldback_core::frame::Frame;
use foldback_core::limits::Limits;
use foldback_core::log::{Message, Part};
use foldback_core::moment::Moment;
use foldback_core::outcome::Outcome;
use foldback_core::registry::Registry;
use foldback_core::services::Services;
use foldback_core::strategy::OnFailure;
use foldback_core::strategy::Strategy as Compaction;
use foldback_core::validity::{Dialect, caused_by_strategy, validate};
use foldback_core::view::Shown;
use proptest::prelude::*;
use std::sync::Arc;

/// One thing that happens in a conversation.
#[derive(Clone, Debug)]
enum Step {
    User(usize),
    Answer(usize),
    /// Calls with the size of each result; `None` for a call that was interrupted.
    Calls(Vec<Option<usize>>),
    /// Calls with a user message between call and results.
    Steered(Vec<usize>),
    /// A result whose call is not in the recording.
    Orphan(usize),
    LengthStop,
    Manual,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let size = || 0usize..3_000;
    let step = prop_oneof![
        3 => size().prop_map(Step::User),
        3 => size().prop_map(Step::Answer),
        8 => prop::collection::vec(prop::option::weighted(0.97, size()), 1..4).prop_map(Step::Calls),
        1 => prop::collection::vec(size(), 1..3).prop_map(Step::Steered),
        1 => size().prop_map(Step::Orphan),
        1 => Just(Step::LengthStop),
        1 => Just(Step::Manual),
    ];
    prop::collection::vec(step, 1..60)
}

/// The preset without its summarizer, so that the worst case is met: what is folded leaves no trace.
fn window(with: &str) -> Compaction {
    let toml = include_str!("../../../configs/window.toml")
        .replace("use = \"extractive\"", "use = \"none\"")
        .replace("max_output = 16_384", "max_output = 100")
        .replace("on_failure = \"hide\"", with);
    let registry = Registry::of([
        &foldback_stages::REGISTRATION,
        &foldback_window::REGISTRATION,
    ])
    .unwrap();
    let document = Document::parse("test.toml", &toml).unwrap();
    compile(&registry, document, Options::default())
        .unwrap()
        .strategy
}

fn messages(step: &Step, n: usize) -> Vec<Message> {
    let text = |size: usize| "y".repeat(size.max(1));
    let call = |k: usize| format!("c{n}-{k}");
    let calling = |count: usize| {
        let calls = (0..count).map(|k| Part::call(call(k), "bash", r#"{"command":"ls"}"#));
        Message::assistant(format!("a{n}"), calls.collect())
    };
    let result = |k: usize, size| Message::tool(format!("t{n}-{k}"), call(k), "bash", text(size));
    match step {
        Step::User(size) => vec![Message::user(format!("u{n}"), text(*size))],
        Step::Answer(size) => vec![Message::assistant(
            format!("a{n}"),
            vec![Part::text(text(*size))],
        )],
        Step::Calls(results) => std::iter::once(calling(results.len()))
            .chain(
                results
                    .iter()
                    .enumerate()
                    .filter_map(|(k, size)| size.map(|size| result(k, size))),
            )
            .collect(),
        Step::Steered(results) => [
            calling(results.len()),
            Message::user(format!("u{n}"), "stop"),
        ]
        .into_iter()
        .chain(results.iter().enumerate().map(|(k, size)| result(k, *size)))
        .collect(),
        Step::Orphan(size) => vec![result(9, *size)],
        Step::LengthStop | Step::Manual => Vec::new(),
    }
}

/// Runs the steps as an agent's loop would and checks after every moment.
fn drive(
    strategy: Compaction,
    steps: &[Step],
    context: u64,
) -> Result<Conversation, TestCaseError> {
    let mut talk = Conversation::new(
        Arc::new(strategy),
        Limits::new(context, 0),
        Frame::default(),
        Services::default(),
    );
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    talk.append(Message::user("u", "please"));
    for (n, step) in steps.iter().enumerate() {
        let mut moments = vec![];
        match step {
            Step::LengthStop => moments.push(Moment::LengthStop),
            Step::Manual => moments.push(Moment::Manual),
            _ => {
                for message in messages(step, n) {
                    let tool = message.role == foldback_core::Role::Tool;
                    talk.append(message);
                    if tool {
                        runtime.block_on(talk.at(Moment::ToolResult, Signals::default()));
                    }
                }
                moments.push(Moment::CallStart);
            }
        }
        for moment in moments {
            for report in runtime.block_on(talk.at(moment, Signals::default())) {
                prop_assert!(
                    report.tokens_after <= report.tokens_before,
                    "grew: {report:?}"
                );
                let refused =
                    matches!(&report.outcome, Outcome::Failed(why) if why.code == "pair-broken");
                prop_assert!(!refused, "a guard had to step in: {report:?}");
            }
        }
        for dialect in Dialect::ALL {
            let inherited = validate(
                talk.history()
                    .iter()
                    .map(|(_, message)| Shown::plain(message)),
                dialect,
            );
            let caused = caused_by_strategy(&validate(talk.sent(), dialect), &inherited);
            prop_assert!(caused.is_empty(), "after step {n}: {caused:?}");
        }
    }
    Ok(talk)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn no_pair_is_ever_torn(steps in steps(), context in 300u64..6_000) {
        drive(window("on_failure = \"hide\""), &steps, context)?;
    }

    #[test]
    fn every_fold_can_be_taken_back(steps in steps(), context in 300u64..6_000) {
        let mut talk = drive(window("on_failure = \"hide\""), &steps, context)?;
        while talk.undo().is_some() {}
        prop_assert!(!talk.view().is_folded());
        let sent: Vec<String> = talk.sent().iter().map(|shown| shown.to_message().shown_text()).collect();
        let log: Vec<String> = talk.history().iter().map(|(_, message)| message.shown_text()).collect();
        prop_assert_eq!(sent, log);
    }

    #[test]
    fn a_failed_summary_changes_nothing_where_the_strategy_keeps(steps in steps()) {
        let strategy = window("on_failure = \"keep\"");
        prop_assert_eq!(strategy.on_failure, OnFailure::Keep);
        let talk = drive(strategy, &steps, 1_000)?;
        prop_assert_eq!(talk.counters().folds, 0);
    }
}
