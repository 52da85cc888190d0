//! One user turn of a hundred calls under each preset: how often it acted, when, and why. A turn has
//! many calls; a preset that mixes up the two shows here.

use foldback_replay::replay;
use foldback_tests::{Script, file, options, presets};
use std::collections::BTreeMap;
use std::fmt::Write as _;

fn one_turn_of_a_hundred_calls() -> Script {
    let mut script = Script::default();
    script.user("find out why the nightly build is slow, and mend it");
    for call in 0..99 {
        let name = format!("logs/build-{call}.txt");
        let arguments = format!("{{\"path\":\"{name}\"}}");
        script.call("next one", &[("read", &arguments, &file(&name, 3_600))]);
    }
    script.call("The linker runs twice; I removed the second run.", &[]);
    script
}

#[test]
fn how_often_each_preset_acts_in_one_turn() {
    let session = one_turn_of_a_hundred_calls().session();
    let mut table = String::new();
    for strategy in presets() {
        // Ninety thousand tokens of results pass through a window of fifty thousand.
        let done = replay(&session, &strategy, &options(50_000, 5_000));
        let mut fired: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for row in &done.rows {
            for event in &row.fired {
                fired
                    .entry(format!("{} at {}", event.stage, event.moment))
                    .or_default()
                    .push(row.call);
            }
        }
        let over = done.rows.iter().filter(|row| row.overflow).count();
        let _ = writeln!(
            table,
            "{}: {over} calls over the window, peak {}",
            strategy.name, done.metrics.peak_tokens
        );
        if fired.is_empty() {
            let why = done.reports.iter().rev().find_map(|(_, report)| report.outcome.why());
            let why =
                why.map_or_else(|| "none of its moments occurred".to_owned(), ToString::to_string);
            let _ = writeln!(table, "    never: {why}");
        }
        for (what, calls) in fired {
            let first: Vec<String> = calls.iter().take(4).map(ToString::to_string).collect();
            let _ = writeln!(
                table,
                "    {what}: {} times, before calls {} …",
                calls.len(),
                first.join(", ")
            );
        }
    }
    insta::assert_snapshot!(table);
}

/// Of the presets that reproduce no system, those that are made for agents shorten a first message that is too long by itself. The
/// controls and verbatim pruning are what their descriptions say: they take away whole messages or results, or nothing, and leave it as it is.
#[test]
fn a_first_message_that_fills_the_window_is_shortened_or_the_preset_says_that_it_touches_none() {
    let mut script = Script::default();
    let task = file("the task", 160_000);
    script.user(&task);
    for call in 0..4 {
        script.call("next one", &[("read", &format!("{{\"path\":\"{call}\"}}"), &file("a", 900))]);
    }
    let session = script.session();
    let own: Vec<_> = presets().into_iter().filter(|own| own.reproduces.is_empty()).collect();
    let leaves = ["drop-oldest", "keep-last-1", "none", "random"];
    let mut names: Vec<&str> = own.iter().map(|strategy| &*strategy.name).collect();
    names.sort_unstable();
    assert_eq!(names, ["drop-oldest", "indexed", "indexed-large", "keep-last-1", "none", "random"]);
    for strategy in &own {
        let done = replay(&session, strategy, &options(30_000, 3_000));
        let calls = done.rows.len();
        let (talk, _) = done.into_state();
        let whole = talk.sent().iter().any(|shown| shown.to_message().said() == task);
        let over = is_over(&talk, 27_000);
        let name = &*strategy.name;
        assert!(calls > 3, "{name}");
        assert_eq!((whole, over), (leaves.contains(&name), leaves.contains(&name)), "{name}");
    }
}

/// Whether what would be sent is over a limit.
fn is_over(talk: &foldback_core::conversation::Conversation, limit: u64) -> bool {
    let text: usize = talk.sent().iter().map(|shown| shown.to_message().shown_text().len()).sum();
    text as u64 / 4 > limit
}
