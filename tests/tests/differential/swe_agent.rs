//! `swe-agent-last-5`, `masking-10` and polling beside SWE-agent's own class.

use crate::differential::{Case, Package, before_answered, generated, recorded, strategy};
use foldback_core::conversation::Conversation;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What stands in the place of results, by the number of the message.
type Replaced = BTreeMap<usize, String>;

fn replaced(talk: &Conversation) -> Replaced {
    talk.view().edits().iter().map(|(at, edit)| (at.item, edit.text.to_string())).collect()
}

/// How often the real class replaced what would not get smaller, which the presets do not.
fn differences(toml: &str, cases: &[Case], options: &Value) -> usize {
    let package = Package { name: "swe-agent", script: "swe_agent.py" };
    let answers: Vec<Vec<Vec<(usize, String)>>> = package.answers(cases, options);
    let strategy = strategy(&format!("name = \"t\"\nextends = {toml}"));
    let estimator = strategy.estimator();
    let mut kept = 0;
    before_answered(&strategy, cases, answers, &mut |case, messages, talk, answer| {
        let mut expected: Replaced = answer.into_iter().collect();
        expected.retain(|at, text| {
            let result = &talk.history().message(*at).parts[0];
            let smaller = estimator.part(result, text) < estimator.part(result, &result.shown());
            kept += usize::from(!smaller);
            smaller
        });
        assert_eq!(replaced(talk), expected, "{toml}, {} before message {messages}", case.name);
    });
    kept
}

#[test]
#[ignore = "needs SWE-agent: cargo xtask test-external swe-agent"]
fn the_same_observations_are_replaced() {
    for (what, cases) in [("recorded", recorded()), ("drawn", generated(500))] {
        let looks: usize = cases.iter().map(|case| case.at.len()).sum();
        for (toml, options) in [
            ("\"swe-agent-last-5\"", json!({"n": 5})),
            ("\"masking-10\"", json!({"n": 10})),
            (
                "\"swe-agent-last-5\"\n[[pruner]]\nuse = \"keep-last\"\nbatch = 4",
                json!({"n": 5, "polling": 4}),
            ),
        ] {
            let kept = differences(toml, &cases, &options);
            println!(
                "{what}: {} sessions, {looks} calls, {options}: the same, but for {kept} results that would not get smaller",
                cases.len()
            );
        }
        assert!(cases.len() >= 20, "{what}: {} sessions", cases.len());
    }
}
