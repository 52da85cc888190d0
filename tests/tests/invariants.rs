//! The engine's invariants, over random sessions and every preset.

use foldback_core::conversation::Conversation;
use foldback_core::log::Message;
use foldback_core::strategy::Strategy;
use foldback_formats::Session;
use foldback_replay::{Replay, replay};
use foldback_tests::{Script, file, guarded, options, presets};
use proptest::prelude::*;
use proptest::strategy::Strategy as Arbitrarily;
use std::sync::Arc;

/// Stands for a result that is taken out of the session again: the call was interrupted.
const NEVER_CAME: &str = "(never came)";

/// Begins a result behind which the user speaks.
const SPOKEN_OVER: &str = "(spoken over)";

/// One thing that happens in a random session.
#[derive(Clone, Debug)]
enum Happens {
    User(usize),
    Answer,
    Tools(Vec<usize>),
    /// The user says something between the results of one answer.
    Interrupted(Vec<usize>),
    Failure(usize),
    Unanswered,
}

fn happens() -> impl Arbitrarily<Value = Happens> {
    let size = prop_oneof![0usize..200, 200usize..4_000, 4_000usize..20_000];
    prop_oneof![
        // Long enough not to be blank: a copy of a blank message breaks the rule that the blank one broke.
        2 => (6usize..400).prop_map(Happens::User),
        2 => Just(Happens::Answer),
        6 => prop::collection::vec(size.clone(), 1..4).prop_map(Happens::Tools),
        1 => prop::collection::vec(size.clone(), 2..4).prop_map(Happens::Interrupted),
        1 => size.prop_map(Happens::Failure),
        1 => Just(Happens::Unanswered),
    ]
}

fn session(all: &[Happens]) -> Session {
    let mut script = Script::default();
    script.user("fix the build and keep the public interface of src/lib.rs as it is");
    for (number, what) in all.iter().enumerate() {
        match what {
            Happens::User(size) => {
                script.user(&file("request", *size));
            }
            Happens::Answer => {
                script.call("We decided to keep parse_line in src/lib.rs.", &[]);
            }
            Happens::Tools(sizes) | Happens::Interrupted(sizes) => {
                let names: Vec<String> =
                    sizes.iter().map(|size| format!("src/m{}.rs", size % 13)).collect();
                let arguments: Vec<String> =
                    names.iter().map(|name| format!("{{\"path\":\"{name}\"}}")).collect();
                let mut results: Vec<String> =
                    names.iter().zip(sizes).map(|(name, size)| file(name, *size)).collect();
                if matches!(what, Happens::Interrupted(_)) {
                    results[0].insert_str(0, SPOKEN_OVER);
                }
                let tools: Vec<(&str, &str, &str)> = arguments
                    .iter()
                    .zip(&results)
                    .map(|(arguments, result)| ("read", arguments.as_str(), result.as_str()))
                    .collect();
                script.call("", &tools);
            }
            Happens::Failure(size) => {
                let text = format!("error: test_parse_{number} failed\n{}", file("log", *size));
                script.call(
                    "I will run the tests.",
                    &[("bash", "{\"command\":\"cargo test\"}", &text)],
                );
            }
            Happens::Unanswered => {
                script.call("", &[("bash", "{\"command\":\"sleep 1\"}", NEVER_CAME)]);
            }
        }
    }
    let mut session = script.session();
    session.messages.retain(|message| message.shown_text() != NEVER_CAME);
    let spoken = |message: Arc<Message>| {
        let says = message.shown_text().starts_with(SPOKEN_OVER);
        let said =
            says.then(|| Message::user(format!("over-{}", message.id), "wait, not that one"));
        std::iter::once(message).chain(said.map(Arc::new))
    };
    session.messages = session.messages.into_iter().flat_map(spoken).collect();
    session
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
    let log: Vec<&Arc<_>> = session.log().collect();
    let kept: Vec<_> =
        done.conversation.history().iter().map(|(_, m)| m).filter(|m| !m.is_entry()).collect();
    prop_assert_eq!(log.len(), kept.len(), "{}", name);
    for (before, after) in log.iter().zip(&kept) {
        prop_assert!(Arc::ptr_eq(before, after), "{} replaced a message", name);
    }
    // 2. No rule broken that the recording did not break.
    if guarded(strategy) {
        prop_assert_eq!(done.metrics.strategy_violations, 0, "{}", name);
    }
    for (_, report) in &done.reports {
        // 3. No fold makes the view larger.
        prop_assert!(
            !report.outcome.changed() || report.tokens_after <= report.tokens_before,
            "{}: {:?}",
            name,
            report
        );
        // A failure changes nothing.
        prop_assert!(
            report.outcome.changed() || report.tokens_after == report.tokens_before,
            "{}: {:?}",
            name,
            report
        );
    }
    // 5. No empty summary.
    for message in done.conversation.sent() {
        let is_summary = message.message.is_entry_of(foldback_core::log::EntryKind::Summary);
        prop_assert!(!is_summary || !message.message.shown_text().trim().is_empty(), "{}", name);
    }
    Ok(done)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn hold_for_every_preset(
        all in prop::collection::vec(happens(), 1..40),
        context in prop_oneof![Just(16_000u64), Just(64_000), Just(200_000)],
    ) {
        let session = session(&all);
        for strategy in presets() {
            check(&strategy, &session, context)?;
        }
    }

    /// 7. Same log, same configuration, same clock: the same bytes.
    #[test]
    fn the_same_input_gives_the_same_bytes(all in prop::collection::vec(happens(), 1..30)) {
        let session = session(&all);
        for strategy in presets() {
            let options = options(24_000, 3_000);
            let one = replay(&session, &strategy, &options);
            let two = replay(&session, &strategy, &options);
            prop_assert_eq!(shown(&one.conversation), shown(&two.conversation), "{}", strategy.name);
            prop_assert_eq!(one.rows, two.rows);
        }
    }

    /// What is to come does not change what was sent.
    #[test]
    fn no_strategy_sees_the_future(all in prop::collection::vec(happens(), 2..30), cut in 1usize..29) {
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
