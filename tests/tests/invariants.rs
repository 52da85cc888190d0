//! The engine's invariants as the laboratory sees them, over random sessions and every preset. The laws of
//! `foldback-testkit` hold them against each preset by itself, in the tests of its own crate.

use foldback_core::Limits;
use foldback_core::config::Share;
use foldback_core::conversation::{Conversation, Report};
use foldback_core::moment::Moment;
use foldback_core::strategy::Strategy;
use foldback_formats::Session;
use foldback_replay::{Replay, replay};
use foldback_testkit::generate::{self, Happening, happens};
use foldback_testkit::law::{self, Law, report_holds, unaltered};
use foldback_tests::{Script, file, guarded, options, presets};
use proptest::prelude::*;
use std::sync::Arc;

/// A generated session, as if it had been recorded.
fn session(all: &[(Happening, u8)]) -> Session {
    Session::of_messages("generated", generate::session(all).messages().to_vec())
}

fn shown(conversation: &Conversation) -> Vec<String> {
    conversation
        .sent()
        .iter()
        .map(|shown| serde_json::to_string(&shown.to_message()).unwrap())
        .collect()
}

fn check(
    strategy: &Arc<Strategy>,
    session: &Session,
    context: u64,
) -> Result<Replay, TestCaseError> {
    let options = options(context, context / 8);
    let done = replay(session, strategy, &options);
    let name = &strategy.name;
    // 1. The log is what was appended.
    unaltered(&session.messages, done.conversation.history()).map_err(TestCaseError::fail)?;
    // 2. No rule broken that the recording did not break.
    if guarded(strategy) {
        prop_assert_eq!(done.metrics.strategy_violations, 0, "{}", name);
    }
    // 3. No fold makes the view larger, and a failure changes nothing.
    for (_, report) in &done.reports {
        report_holds(report).map_err(TestCaseError::fail)?;
    }
    // 4. No empty summary.
    for message in done.conversation.sent() {
        let is_summary = message.message.is_entry_of(foldback_core::log::EntryKind::Summary);
        prop_assert!(!is_summary || !message.message.shown_text().trim().is_empty(), "{}", name);
    }
    Ok(done)
}

/// Nothing panics, whatever fills a view at once: the presets as they are, beside the laws of their own crates, which have other windows and
/// thresholds.
#[test]
fn no_preset_panics() {
    for strategy in presets() {
        law::assert(Law::NeverPanics, strategy);
    }
}

/// Three turns of ten calls each, an hour apart.
fn paused() -> Session {
    let mut script = Script::default();
    for turn in 0..3 {
        script.user(&format!("turn {turn}: mend src/m{turn}.rs and run its tests"));
        for step in 0..10 {
            let name = format!("src/m{turn}_{step}.rs");
            let arguments = format!("{{\"path\":\"{name}\"}}");
            script.call("reading on", &[("read", &arguments, &file(&name, 3_000))]);
        }
        script.call("Done.", &[]);
    }
    let mut session = script.session();
    let mut hour = 0;
    for (second, message) in session.messages.iter_mut().enumerate() {
        hour += i64::from(message.begins_turn());
        Arc::make_mut(message).at = Some(3_600_000 * hour + 1_000 * second as i64);
    }
    session
}

/// A preset does nothing while idle unless its file says so. Then it keeps every invariant.
#[test]
fn the_idle_moment_is_for_those_that_list_it() {
    let session = paused();
    let reports = |done: &Replay| done.reports.iter().map(|it| format!("{it:?}")).collect();
    for preset in presets() {
        let name = &preset.name;
        let context =
            if preset.refuses(Limits::new(40_000, 5_000)).is_none() { 40_000 } else { 80_000 };
        let mut other = (*preset).clone();
        other.idle.from = Share::try_from(0.01).unwrap();
        let as_it_is: Vec<String> = reports(&check(&preset, &session, context).unwrap());
        let values_alone: Vec<String> =
            reports(&check(&Arc::new(other.clone()), &session, context).unwrap());
        assert_eq!(as_it_is, values_alone, "{name}");
        other.overflow.iter_mut().for_each(|policy| policy.when.push(Moment::Idle));
        other.pruners.iter_mut().for_each(|pruner| pruner.when.push(Moment::Idle));
        let listed = check(&Arc::new(other.clone()), &session, context).unwrap();
        let idle = listed.reports.iter().filter(|(_, report)| report.moment == Moment::Idle);
        let stages = other.pruners.len() + usize::from(other.overflow.is_some());
        assert!(idle.clone().count() >= 3 * stages, "{name}");
        if other.filter.is_some() && other.overflow.is_some() {
            // One that clears first may have nothing left to fold.
            let decides = |report: &Report| report.decision.as_ref().is_some_and(|it| it.fold);
            assert!(idle.clone().any(|(_, report)| decides(report)), "{name}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn hold_for_every_preset(
        all in happens(),
        context in prop_oneof![Just(16_000u64), Just(64_000), Just(200_000)],
    ) {
        let session = session(&all);
        for strategy in presets() {
            check(&strategy, &session, context)?;
        }
    }

    /// 7. Same log, same configuration, same clock: the same bytes.
    #[test]
    fn the_same_input_gives_the_same_bytes(all in happens()) {
        let session = session(&all);
        for strategy in presets() {
            let options = options(24_000, 3_000);
            let one = replay(&session, &strategy, &options);
            let two = replay(&session, &strategy, &options);
            prop_assert_eq!(shown(&one.conversation), shown(&two.conversation), "{}", strategy.name);
            prop_assert_eq!(one.rows, two.rows);
        }
    }

    /// Happening is to come does not change what was sent.
    #[test]
    fn no_strategy_sees_the_future(all in happens(), cut in 1usize..29) {
        let whole = session(&all);
        let part = session(&all[..cut.min(all.len())]);
        for strategy in presets() {
            let options = options(24_000, 3_000);
            let whole = replay(&whole, &strategy, &options).rows;
            let part = replay(&part, &strategy, &options).rows;
            let common = part.len().min(whole.len());
            let tokens = |rows: &[foldback_replay::CallRow]| {
                rows.iter().take(common).map(|row| row.decision_tokens).collect::<Vec<_>>()
            };
            prop_assert_eq!(tokens(&part), tokens(&whole), "{}", strategy.name);
        }
    }
}
