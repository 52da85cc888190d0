//! Whatever was said: `window` keeps every law, also where what is folded leaves no trace.

use crate::support::{registry, unsummarized};
use foldback_core::conversation::Conversation;
use foldback_core::strategy::{OnFailure, Strategy};
use foldback_core::validity::{Dialect, Monitor, Violation, caused_by_strategy, validate};
use foldback_core::view::ShownMessage;
use foldback_testkit::generate::{Happening, happens, session};
use foldback_testkit::law::Law;
use foldback_testkit::{DriveEvent, Session, Subject, drive, laws, talk};
use proptest::prelude::*;
use std::sync::Arc;

/// Windows that a few messages fill.
const SMALL: [(u64, u64); 3] = [(600, 0), (2_000, 0), (6_000, 0)];

laws!(window: Subject::preset("window")
    .breaks(Law::CostPerCallFlat, "the summary is made from the one before, and grows up to its limit"));
laws!(without_a_trace: Subject::toml(preset("window", "hide")).windows(SMALL));
laws!(window_faithful: Subject::preset("window-faithful")
    .breaks(Law::ValidInEveryDialect, "the original cuts between a call and its result"));

/// A preset without its summarizer.
fn preset(name: &str, on_failure: &str) -> String {
    unsummarized(name, on_failure, "[overflow]\nmax_output = 100")
}

fn strategy(name: &str, on_failure: &str) -> Arc<Strategy> {
    Arc::new(talk::compiled(&registry(), &preset(name, on_failure)))
}

fn sorted(violations: Vec<Violation>) -> Vec<String> {
    let mut lines: Vec<String> = violations.iter().map(ToString::to_string).collect();
    lines.sort();
    lines
}

/// What a check of the whole request finds that the log does not break by itself, in every dialect.
fn caused(talk: &Conversation) -> Vec<String> {
    let caused = |dialect| {
        let log = talk.history().iter().map(|(_, message)| ShownMessage::plain(message));
        caused_by_strategy(&validate(talk.sent(), dialect), &validate(log, dialect))
    };
    sorted(Dialect::ALL.into_iter().flat_map(caused).collect())
}

fn in_window(happens: &[(Happening, u8)], context: u64) -> Session {
    session(happens).window(context, 0)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// A monitor that follows a run says of the torn requests of `window-faithful`, and after every
    /// fold that is taken back, what a check of the whole request says.
    #[test]
    fn a_monitor_sees_what_a_whole_check_sees(happens in happens(), context in 300u64..3_000) {
        let mut monitor = Monitor::default();
        let mut before: Vec<String> = Vec::new();
        let mut agree = |talk: &Conversation| {
            let whole = caused(talk);
            let news = sorted(monitor.check(talk).caused);
            let all = sorted(monitor.findings().caused);
            let came = whole.iter().filter(|line| !before.contains(line));
            let told = came.into_iter().all(|line| news.contains(line));
            let held = all == whole && told && news.iter().all(|line| whole.contains(line));
            let found = format!("{news:?} and {all:?} of {whole:?}");
            before = whole;
            if held { Ok(()) } else { Err(found) }
        };
        let session = in_window(&happens, context);
        let strategy = strategy("window-faithful", "hide");
        let agreed = drive(&session, &strategy, &mut |talk, seen| match seen {
            DriveEvent::Asked => Ok(()),
            _ => agree(talk),
        });
        let mut talk = agreed.map_err(TestCaseError::fail)?;
        while talk.undo().is_some() {
            agree(&talk).map_err(TestCaseError::fail)?;
        }
    }

    #[test]
    fn a_failed_summary_changes_nothing_where_the_strategy_keeps(happens in happens()) {
        let strategy = strategy("window", "keep");
        prop_assert_eq!(strategy.on_failure, OnFailure::Keep);
        let ran = drive(&in_window(&happens, 1_000), &strategy, &mut |_, _| Ok(()));
        prop_assert_eq!(ran.map_err(TestCaseError::fail)?.counters().folds, 0);
    }
}
