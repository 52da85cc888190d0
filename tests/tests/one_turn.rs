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
        let _ = writeln!(
            table,
            "{}: {} calls over the window, peak {}",
            strategy.name, done.metrics.overflow_calls, done.metrics.peak_tokens
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
