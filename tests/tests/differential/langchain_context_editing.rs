//! `langchain-context-editing` beside LangChain's own middleware.

use crate::differential::{Case, Package, before_answered, generated, recorded, strategy};
use foldback_core::conversation::Conversation;
use foldback_core::log::Part;
use foldback_core::stage::Estimator;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Message, `result` or `input`, and the text of the placeholder or the id of the call.
type Cleared = BTreeSet<(usize, String, String)>;

fn cleared(talk: &Conversation) -> Cleared {
    let edits = talk.view().edits().iter();
    let told =
        edits.map(|(at, edit)| match talk.history().message(at.item).parts[at.part].as_call() {
            Some(call) => (at.item, "input".to_owned(), call.call_id.clone()),
            None => (at.item, "result".to_owned(), edit.text.to_string()),
        });
    told.collect()
}

/// Takes out what would not get smaller: results, the inputs of their calls, and other inputs.
fn only_smaller(talk: &Conversation, estimator: &dyn Estimator, cleared: &mut Cleared) {
    let smaller = |part: &Part, shown: &str| {
        estimator.part(part, shown) < estimator.part(part, &part.shown())
    };
    let mut gone = BTreeSet::new();
    cleared.retain(|(item, kind, text)| {
        let part = &talk.history().message(*item).parts[0];
        let stays = kind == "result" && !smaller(part, text);
        if let Some(result) = part.as_result().filter(|_| stays) {
            gone.insert(result.call_id.clone());
        }
        !stays
    });
    cleared.retain(|(item, kind, id)| {
        let mut parts = talk.history().message(*item).parts.iter();
        let call = parts.find(|part| part.as_call().is_some_and(|call| call.call_id == *id));
        kind == "result" || !gone.contains(id) && call.is_some_and(|call| smaller(call, "{}"))
    });
}

/// How many results and inputs would not have got smaller, over all calls.
fn differences(fields: &str, options: &Value, cases: &[Case]) -> usize {
    let package = Package { name: "langchain", script: "langchain_context_editing.py" };
    let answers: Vec<Vec<Vec<(usize, String, String)>>> = package.answers(cases, options);
    let strategy = strategy(&format!(
        "name = \"t\"\nextends = \"langchain-context-editing\"\n[guards]\nno-growth = false\n[[pruner]]\nuse = \"clear-tool-uses\"\n{fields}"
    ));
    let estimator = strategy.estimator();
    let mut kept = 0;
    before_answered(&strategy, cases, answers, &mut |case, messages, talk, answer| {
        let all = answer.len();
        let mut expected: Cleared = answer.into_iter().collect();
        only_smaller(talk, &**estimator, &mut expected);
        kept += all - expected.len();
        let place = format!("{options}, {} before message {messages}", case.name);
        assert_eq!(cleared(talk), expected, "{place}");
    });
    kept
}

#[test]
#[ignore = "needs LangChain: cargo xtask test-external langchain"]
fn the_same_tool_uses_are_cleared() {
    for (what, cases) in [("recorded", recorded()), ("drawn", generated(500))] {
        let looks: usize = cases.iter().map(|case| case.at.len()).sum();
        for (fields, options) in [
            ("", json!({})),
            ("trigger = 5_000", json!({"trigger": 5_000})),
            (
                "trigger = 900\nkeep = 1\nexclude_tools = [\"read\", \"Read\"]",
                json!({"trigger": 900, "keep": 1, "exclude_tools": ["read", "Read"]}),
            ),
            (
                "trigger = 900\nkeep = 0\nclear_tool_inputs = true\nplaceholder = \"-\"",
                json!({"trigger": 900, "keep": 0, "clear_tool_inputs": true, "placeholder": "-"}),
            ),
            (
                "trigger = 2_000\nclear_at_least = 1_500\nplaceholder = \"-\"",
                json!({"trigger": 2_000, "clear_at_least": 1_500, "placeholder": "-"}),
            ),
        ] {
            let kept = differences(fields, &options, &cases);
            println!(
                "{what}: {} sessions, {looks} calls, {options}: the same, but for {kept} that would not get smaller",
                cases.len()
            );
        }
        assert!(cases.len() >= 20, "{what}: {} sessions", cases.len());
    }
}
