//! Whatever was said: `window` never sends a result without its call or a call without its result
//! that the log did not lack, never makes a request larger, and can be taken back.

use foldback_core::conversation::{Conversation, Report};
use foldback_core::limits::Limits;
use foldback_core::log::{Message, Part, Role};
use foldback_core::moment::Moment;
use foldback_core::outcome::Outcome;
use foldback_core::strategy::OnFailure;
use foldback_core::strategy::Strategy as Compaction;
use foldback_core::validity::{Dialect, Monitor, Violation, caused_by_strategy, validate};
use foldback_core::view::Shown;
use foldback_testkit::talk::{self, at};
use proptest::prelude::*;

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

const WINDOW: &str = include_str!("../presets/window.toml");
const FAITHFUL: &str = include_str!("../presets/window-faithful.toml");

/// A preset without its summarizer, so that the worst case is met: what is folded leaves no trace.
fn preset(toml: &str, on_failure: &str) -> Compaction {
    let toml = toml
        .replace("use = \"extractive\"", "use = \"none\"")
        .replace("max_output = 16_384", "max_output = 100")
        .replace("on_failure = \"hide\"", on_failure);
    talk::compiled(&crate::conformance::registry(), &toml)
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
        Step::Answer(size) => {
            vec![Message::assistant(format!("a{n}"), vec![Part::text(text(*size))])]
        }
        Step::Calls(results) => std::iter::once(calling(results.len()))
            .chain(
                results.iter().enumerate().filter_map(|(k, size)| size.map(|size| result(k, size))),
            )
            .collect(),
        Step::Steered(results) => [calling(results.len()), Message::user(format!("u{n}"), "stop")]
            .into_iter()
            .chain(results.iter().enumerate().map(|(k, size)| result(k, *size)))
            .collect(),
        Step::Orphan(size) => vec![result(9, *size)],
        Step::LengthStop | Step::Manual => Vec::new(),
    }
}

/// What the log breaks by itself, in every dialect.
fn from_scratch(talk: &Conversation) -> Vec<String> {
    let log = || talk.history().iter().map(|(_, message)| Shown::plain(message));
    sorted(Dialect::ALL.into_iter().flat_map(|dialect| validate(log(), dialect)).collect())
}

fn sorted(violations: Vec<Violation>) -> Vec<String> {
    let mut lines: Vec<String> = violations.iter().map(ToString::to_string).collect();
    lines.sort();
    lines
}

fn start(strategy: Compaction, context: u64) -> Conversation {
    let mut talk = talk::conversation(strategy, Limits::new(context, 0));
    talk.append(Message::user("u", "please"));
    talk
}

/// Runs one step as an agent's loop would.
fn run(talk: &mut Conversation, step: &Step, n: usize) -> Vec<Report> {
    match step {
        Step::LengthStop => at(talk, Moment::LengthStop),
        Step::Manual => at(talk, Moment::Manual),
        _ => {
            let mut reports = Vec::new();
            for message in messages(step, n) {
                let tool = message.role == Role::Tool;
                talk.append(message);
                if tool {
                    reports.extend(at(talk, Moment::ToolResult));
                }
            }
            reports.extend(at(talk, Moment::CallStart));
            reports
        }
    }
}

/// Runs the steps of `window` and checks after each.
fn drive(
    strategy: Compaction,
    steps: &[Step],
    context: u64,
) -> Result<Conversation, TestCaseError> {
    let mut talk = start(strategy, context);
    let mut monitor = Monitor::default();
    for (n, step) in steps.iter().enumerate() {
        for report in run(&mut talk, step, n) {
            let grew = report.tokens_after > report.tokens_before;
            prop_assert!(!grew, "{report:?}");
            let refused =
                matches!(&report.outcome, Outcome::Failed(why) if why.code == "pair-broken");
            prop_assert!(!refused, "a guard had to step in: {report:?}");
        }
        monitor.check(&talk);
        let found = monitor.findings();
        prop_assert!(found.caused.is_empty(), "after step {n}: {:?}", found.caused);
        prop_assert_eq!(sorted(found.inherited), from_scratch(&talk), "after step {}", n);
    }
    Ok(talk)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn no_pair_is_ever_torn(steps in steps(), context in 300u64..6_000) {
        drive(preset(WINDOW, "on_failure = \"hide\""), &steps, context)?;
    }

    /// A monitor that follows a run says of the torn requests of `window-faithful`, and after every
    /// fold that is taken back, what a check of the whole request says.
    #[test]
    fn a_monitor_sees_what_a_whole_check_sees(steps in steps(), context in 300u64..3_000) {
        let mut talk = start(preset(FAITHFUL, "on_failure = \"hide\""), context);
        let mut monitor = Monitor::default();
        let mut before: Vec<String> = Vec::new();
        let mut agree = |monitor: &mut Monitor, talk: &Conversation| {
            let caused = |dialect| {
                let log = talk.history().iter().map(|(_, message)| Shown::plain(message));
                caused_by_strategy(&validate(talk.sent(), dialect), &validate(log, dialect))
            };
            let whole = sorted(Dialect::ALL.into_iter().flat_map(caused).collect());
            let news = sorted(monitor.check(talk).caused);
            prop_assert_eq!(&sorted(monitor.findings().caused), &whole);
            prop_assert!(news.iter().all(|line| whole.contains(line)), "{news:?} of {whole:?}");
            let came = whole.iter().filter(|line| !before.contains(line));
            prop_assert!(came.clone().all(|line| news.contains(line)), "{news:?} of {whole:?}");
            before = whole;
            Ok(())
        };
        for (n, step) in steps.iter().enumerate() {
            run(&mut talk, step, n);
            agree(&mut monitor, &talk)?;
        }
        while talk.undo().is_some() {
            agree(&mut monitor, &talk)?;
        }
    }

    #[test]
    fn every_fold_can_be_taken_back(steps in steps(), context in 300u64..6_000) {
        let mut talk = drive(preset(WINDOW, "on_failure = \"hide\""), &steps, context)?;
        while talk.undo().is_some() {}
        prop_assert!(!talk.view().is_folded());
        let sent = talk::sent_texts(&talk);
        let log: Vec<String> = talk.history().iter().map(|(_, message)| message.shown_text()).collect();
        prop_assert_eq!(sent, log);
    }

    #[test]
    fn a_failed_summary_changes_nothing_where_the_strategy_keeps(steps in steps()) {
        let strategy = preset(WINDOW, "on_failure = \"keep\"");
        prop_assert_eq!(strategy.on_failure, OnFailure::Keep);
        let talk = drive(strategy, &steps, 1_000)?;
        prop_assert_eq!(talk.counters().folds, 0);
    }
}
