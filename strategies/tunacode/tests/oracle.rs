//! What the stage clears against what the real package cleared in the same histories.
//!
//! `rows/oracle.json` was written by tunacode-cli 0.1.40 itself; `oracle.py` beside it made it and says how.

use crate::support::{conversation, preset, prune, reclaimed};
use foldback_core::log::Part;
use foldback_core::stage::Pruning;
use serde_json::{Value, json};

/// A history in the short form of `rows/oracle.json` as pydantic-ai would store it.
fn expand(messages: &Value) -> String {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let records: Vec<Value> = list(messages)
        .iter()
        .map(|message| {
            let parts: Vec<Value> = list(&message[1]).iter().map(expand_part).collect();
            json!({"kind": message[0], "parts": parts})
        })
        .collect();
    Value::from(records).to_string()
}

fn expand_part(part: &Value) -> Value {
    match part[0].as_str().expect("a kind") {
        kind @ ("tool-return" | "retry-prompt") => {
            let content = match (&part[1], part[2].as_u64()) {
                (unit, None) => unit.clone(),
                (Value::String(unit), Some(n)) => Value::from(unit.repeat(n as usize)),
                (unit, Some(n)) => Value::from(vec![unit.clone(); n as usize]),
            };
            json!({"part_kind": kind, "tool_name": "t", "tool_call_id": "c", "content": content})
        }
        "bare-retry" => json!({"part_kind": "retry-prompt", "content": "again"}),
        "tool-call" => {
            json!({"part_kind": "tool-call", "tool_name": "t", "tool_call_id": "c", "args": "{}"})
        }
        kind => json!({"part_kind": kind, "content": "text"}),
    }
}

/// Message and part of the stored history that a part of the log came from.
fn place(record: Option<u32>, part: &Part) -> (u64, u64) {
    let pointer = part.pointer.as_deref().unwrap_or_default();
    let index = pointer
        .strip_prefix("/parts/")
        .and_then(|rest| rest.split('/').next())
        .and_then(|index| index.parse().ok());
    (u64::from(record.expect("a record")), index.expect("a pointer into the parts"))
}

#[test]
fn clears_what_the_package_clears() {
    let cases: Vec<Value> =
        serde_json::from_str(include_str!("../rows/oracle.json")).expect("the recorded cases");
    assert!(cases.len() >= 64);
    for (index, case) in cases.iter().enumerate() {
        let text = expand(&case["messages"]);
        let sessions = match foldback_formats::read(text.as_bytes(), Some("pydantic-ai")) {
            Ok(sessions) => sessions,
            Err(_) if text == "[]" => continue,
            Err(error) => panic!("case {index}: {error}"),
        };
        for name in ["tunacode", "tunacode-local"] {
            let log = sessions[0].log().map(|message| (**message).clone());
            let history = conversation(preset(name), log);
            let proposal = prune(&history);
            let mut cleared: Vec<(u64, u64)> = match &proposal {
                Pruning::Nothing(_) => Vec::new(),
                Pruning::Edits { edits, .. } => edits
                    .iter()
                    .map(|edit| {
                        let message = history.history().message(edit.at.item);
                        place(message.record, &message.parts[edit.at.part])
                    })
                    .collect(),
            };
            cleared.sort_unstable();
            let expected: Vec<(u64, u64)> =
                serde_json::from_value(case[name]["cleared"].clone()).expect("a list of places");
            assert_eq!(cleared, expected, "case {index}, {name}: {proposal:?}");
            assert_eq!(
                reclaimed(&proposal),
                case[name]["reclaimed"].as_u64().expect("a number"),
                "case {index}, {name}"
            );
        }
    }
}
