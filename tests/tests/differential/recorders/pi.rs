//! What pi 1.6.0 records with its own session manager.

use super::{Draw, all_told, compare};
use crate::differential::ask_script;
use foldback_core::SegmentKind;
use foldback_core::log::{EntryKind, Message, PartKind, Role, Usage};
use foldback_formats::Session;
use serde_json::{Value, json};

/// Ways in which a step may say something.
fn content(draw: &mut Draw, number: usize) -> Value {
    let text = json!({ "type": "text", "text": format!("words {number}") });
    match draw.below(4) {
        0 => json!(format!("plain {number}")),
        1 => {
            json!([text, { "type": "image", "data": format!("aW1n{number}"), "mimeType": "image/png" }])
        }
        2 => json!([text, { "type": "text", "text": "" }, { "type": "text", "text": "more" }]),
        _ => json!([text]),
    }
}

fn usage(draw: &mut Draw) -> Value {
    let mut usage = json!({ "input": draw.below(900), "output": 20 + draw.below(90), "cacheRead": draw.below(5_000), "cacheWrite": 50 });
    if draw.one_in(2) {
        usage["reasoning"] = draw.below(20).into();
    }
    if draw.one_in(3) {
        usage["cacheWrite1h"] = draw.below(50).into();
    }
    usage
}

/// Usage that is there or not.
fn maybe_usage(draw: &mut Draw) -> Value {
    if draw.one_in(2) { usage(draw) } else { Value::Null }
}

fn answer(draw: &mut Draw, number: usize, calls: usize) -> Value {
    let mut content = vec![];
    if draw.one_in(2) {
        content.push(json!({ "type": "thinking", "thinking": format!("thought {number}"), "thinkingSignature": "c2ln" }));
    }
    if calls == 0 || draw.one_in(2) {
        content.push(json!({ "type": "text", "text": format!("said {number}") }));
    }
    for call in 0..calls {
        content.push(json!({ "type": "toolCall", "id": format!("c{number}_{call}"), "name": "f", "arguments": { "n": call } }));
    }
    let stop = match calls {
        0 => draw.of(&["stop", "length", "error", "aborted"]),
        _ => "toolUse",
    };
    let mut answer = json!({ "content": content, "stopReason": stop, "usage": usage(draw) });
    if stop == "error" {
        answer["errorMessage"] = "overloaded".into();
    }
    answer
}

fn system(draw: &mut Draw, number: usize) -> Value {
    let tool = json!({ "name": format!("t{number}"), "description": "d", "parameters": { "type": "object" } });
    match draw.below(4) {
        0 => {
            json!({ "content": "", "sections": { "preamble": format!("You {number}."), "tools": "<tools>\nx\n</tools>" }, "toolsAdded": [tool] })
        }
        1 => {
            json!({ "content": "", "sections": { "tools": null, "rules": format!("rule {number}") } })
        }
        2 => json!({ "content": "", "toolsRemoved": [tool] }),
        _ => json!({ "content": format!("prompt {number}") }),
    }
}

/// Steps of a session: what is asked and answered, and all else that is recorded in between.
fn steps(draw: &mut Draw, turns: std::ops::Range<usize>) -> Vec<Value> {
    let mut steps = Vec::new();
    if draw.one_in(2) {
        steps.push(json!(["system", system(draw, 0)]));
    }
    for number in turns {
        steps.push(json!(["user", { "content": content(draw, number) }]));
        for round in 0..draw.below(3) {
            let calls = 1 + draw.below(2);
            let id = number * 10 + round;
            steps.push(json!(["assistant", answer(draw, id, calls)]));
            for call in 0..calls {
                let text = json!([{ "type": "text", "text": format!("found {id} {call}") }]);
                steps.push(json!(["toolResult", {
                    "toolCallId": format!("c{id}_{call}"), "toolName": "f", "content": text, "isError": draw.one_in(4), "usage": maybe_usage(draw),
                }]));
            }
        }
        steps.push(json!(["assistant", answer(draw, number * 10 + 9, 0)]));
        steps.extend((0..draw.below(3)).map(|_| beside(draw, number)));
    }
    steps
}

/// One of the other things.
fn beside(draw: &mut Draw, number: usize) -> Value {
    let at = draw.below(12);
    match draw.below(16) {
        0 => json!(["system", system(draw, number)]),
        1 => {
            json!(["bashExecution", { "command": "ls", "output": draw.of(&["", "a\nb"]), "exitCode": draw.below(2), "cancelled": draw.one_in(4),
            "truncated": draw.one_in(2), "fullOutputPath": "/o", "excludeFromContext": draw.one_in(3) }])
        }
        2 => {
            json!(["custom", { "customType": "x", "content": content(draw, number), "display": true }])
        }
        3 => json!(["custom_message", { "content": content(draw, number) }]),
        4 => json!(["custom_entry", { "state": number }]),
        5 => json!(["model", "m2"]),
        6 => json!(["thinking", "high"]),
        7 => json!(["name", "a name"]),
        8 => json!(["label", { "at": at, "label": draw.of(&[Some("here"), None]) }]),
        9 => json!(["usage", usage(draw)]),
        10 => {
            json!(["compaction", { "summary": format!("summary {number}"), "kept": draw.of(&[at, usize::MAX >> 12]), "before": 9_000 + number,
            "hook": draw.one_in(2), "usage": maybe_usage(draw) }])
        }
        11 => {
            json!(["branch_summary", { "at": at, "summary": draw.of(&["left", ""]), "hook": false, "usage": maybe_usage(draw) }])
        }
        12 => json!(["branch", at]),
        13 if draw.one_in(4) => json!(["restart", null]),
        14 => json!(["new_file", at + 6]),
        _ => json!(["edit", { "at": at, "replacement": edit(draw, number) }]),
    }
}

fn edit(draw: &mut Draw, number: usize) -> Value {
    match draw.below(3) {
        0 => Value::Null,
        1 => json!({ "content": format!("edited {number}") }),
        _ => json!({ "content": [{ "type": "text", "text": format!("edited {number}") }] }),
    }
}

/// What foldback reads in a file, as the script says it of pi.
fn read(session: &Session) -> Value {
    let log = || session.log().map(|message| &**message);
    let counts = |message: &Message| {
        let Usage { uncached, cache_read, cache_write, cache_write_1h, output, reasoning, .. } =
            message.answer.as_ref()?.usage.unwrap_or_default();
        Some([uncached, cache_read, cache_write, cache_write_1h, output + reasoning, reasoning])
    };
    let usage: Vec<[u64; 6]> = log().filter_map(counts).collect();
    let spent: u64 = usage
        .iter()
        .map(|[uncached, read, written, _, output, _]| uncached + read + written + output)
        .sum();
    let segments = |kind: SegmentKind| {
        session
            .frame
            .segments()
            .iter()
            .filter(move |segment| segment.kind == kind)
            .map(|segment| segment.text.to_string())
    };
    let tools: Vec<Value> = segments(SegmentKind::Tools)
        .flat_map(|text| serde_json::from_str::<Vec<Value>>(&text).unwrap())
        .collect();
    json!({
        "id": session.id,
        "system": segments(SegmentKind::System).collect::<Vec<_>>().join("\n\n"),
        "tools": tools.iter().map(|tool| &tool["name"]).collect::<Vec<_>>(),
        "log": all_told(log()),
        "usage": usage,
        "spent": spent + beside_the_conversation(session),
        "compactions": session.boundaries.iter().map(|boundary| boundary.tokens_before).collect::<Vec<_>>(),
        "context": all_told(context(session).into_iter()),
    })
}

/// Tokens of which the reader says that they are of no answer.
fn beside_the_conversation(session: &Session) -> u64 {
    let of_them = session.warnings.iter().filter(|warning| warning.code == "stray-usage");
    of_them.map(|warning| tokens(&warning.detail)).sum()
}

/// The number before `tokens`.
fn tokens(detail: &str) -> u64 {
    let words: Vec<&str> = detail.split(' ').collect();
    let at = words.iter().position(|word| *word == "tokens").unwrap();
    words[at - 1].parse().unwrap()
}

/// What the next request says: the last summary, the messages from the one that it names, and what came behind it.
fn context(session: &Session) -> Vec<&Message> {
    let all: Vec<&Message> = session.messages.iter().map(|message| &**message).collect();
    let told = |message: &&Message| message.role != Role::System;
    let Some(at) = all.iter().rposition(|message| message.is_entry_of(EntryKind::Summary)) else {
        return all.into_iter().filter(told).collect();
    };
    let marker = all[at].parts.iter().find_map(|part| match &part.kind {
        PartKind::Marker(marker) => marker.tail_start.as_deref(),
        _ => None,
    });
    let start =
        marker.map_or(at, |start| all.iter().position(|message| message.id == start).unwrap());
    let kept = all[start.min(at)..at].iter().copied().filter(|message| !message.is_entry());
    [all[at]].into_iter().chain(kept).chain(all[at + 1..].iter().copied()).filter(told).collect()
}

#[test]
#[ignore = "runs the released package: cargo xtask test-external pi"]
fn what_pi_records_is_read_as_pi_reads_it() {
    let mut draw = Draw(11);
    let cases: Vec<Value> = (0..600)
        .map(|number| {
            let length = 1 + number % 7;
            let mut case = json!({ "steps": steps(&mut draw, 0..length) });
            if draw.one_in(4) {
                case["forks"] = json!(steps(&mut draw, 10..12));
            }
            case
        })
        .collect();
    let answers = ask_script("pi", "pi-recorder", &cases);
    assert!(compare("pi", &answers, read) > 600);
}
