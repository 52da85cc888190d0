//! What Gemini CLI 0.61.0 records with its own chat.

use super::{Draw, all_told, compare};
use crate::differential::ask_script;
use foldback_core::log::{Message, Usage};
use foldback_formats::Session;
use serde_json::{Value, json};

fn usage(draw: &mut Draw) -> Value {
    let cached = draw.below(300);
    json!({
        "promptTokenCount": cached + draw.below(900),
        "cachedContentTokenCount": cached,
        "candidatesTokenCount": 1 + draw.below(90),
        "thoughtsTokenCount": draw.below(40),
        "toolUsePromptTokenCount": draw.below(9),
        "totalTokenCount": 1,
    })
}

/// A user's words, and the rounds until the model has no calls left.
fn ask(draw: &mut Draw, number: usize) -> Value {
    let mut rounds: Vec<Value> =
        (0..draw.below(4)).map(|round| calls(draw, number * 10 + round)).collect();
    let last = rounds.len() - rounds.len().min(1);
    let cancelled = rounds.get(last).is_some_and(|round| round["cancelled"] == true);
    if !cancelled {
        let text = format!("said {number}");
        let thought = thought(draw, number);
        rounds.push(json!({ "text": text, "thought": thought, "calls": [], "usage": usage(draw) }));
    }
    if draw.one_in(5) {
        let at = draw.below(rounds.len());
        rounds[at] = json!({ "fails": draw.of(&["error", "abort"]), "calls": [] });
    }
    json!(["ask", { "text": format!("ask {number}"), "rounds": rounds }])
}

fn thought(draw: &mut Draw, number: usize) -> Value {
    match draw.below(3) {
        0 => json!(format!("**Plan {number}** do it")),
        1 => json!("without a subject"),
        _ => Value::Null,
    }
}

fn calls(draw: &mut Draw, id: usize) -> Value {
    let calls: Vec<Value> = (0..1 + draw.below(2))
        .map(|call| {
            let status = draw.of(&["success", "success", "error", "cancelled"]);
            let file = draw.one_in(6).then(|| format!("aW1n{id}"));
            json!({ "id": format!("c{id}_{call}"), "args": { "n": id }, "status": status, "result": format!("found {id} {call}"), "file": file })
        })
        .collect();
    let said = draw.one_in(2).then(|| format!("so {id}"));
    let cancelled = calls.iter().all(|call| call["status"] == "cancelled");
    json!({ "text": said, "thought": thought(draw, id), "calls": calls, "cancelled": cancelled, "usage": usage(draw) })
}

/// A conversation that was saved elsewhere, or of which some is left.
fn saved(number: usize) -> Value {
    json!([
        { "role": "user", "parts": [{ "text": format!("old {number}") }] },
        { "role": "model", "parts": [{ "text": "Hm.", "thought": true }, { "functionCall": { "id": format!("o{number}"), "name": "f", "args": {} } }] },
        { "role": "user", "parts": [{ "functionResponse": { "id": format!("o{number}"), "name": "f", "response": { "output": "was" } } }] },
        { "role": "model", "parts": [{ "text": "Done." }] },
    ])
}

fn steps(draw: &mut Draw, length: usize) -> Vec<Value> {
    let mut steps = Vec::new();
    for number in 0..length {
        steps.push(ask(draw, number));
        steps.extend(match draw.below(12) {
            0 => Some(json!(["compress", null])),
            1 => Some(json!(["replace", saved(number)])),
            2 => Some(json!(["rewind", draw.below(9)])),
            3 => Some(json!(["resume", null])),
            4 => Some(json!(["mask", null])),
            5 => Some(json!(["note", "a summary of the session"])),
            6 => Some(json!(["directories", "/elsewhere"])),
            _ => None,
        });
    }
    steps
}

/// What foldback reads in a file, as the script says what was recorded.
fn read(session: &Session) -> Value {
    let counts = |message: &Message| {
        let Usage { uncached, cache_read, output, reasoning, .. } =
            message.answer.as_ref()?.usage.unwrap_or_default();
        Some([uncached, cache_read, output, reasoning])
    };
    let messages = || session.messages.iter().map(|message| &**message);
    let from = session.boundaries.last().map_or(0, |boundary| boundary.before);
    let mut now: Vec<String> =
        told(messages().skip(from)).iter().map(|told| told.join("\n")).collect();
    now.retain(|told| !told.starts_with("user file:"));
    now.sort();
    json!({
        "log": told(session.log().map(|message| &**message)),
        "entries": told(messages().filter(|message| message.is_entry())),
        "usage": session.log().filter_map(|message| counts(message)).collect::<Vec<_>>(),
        "boundaries": session.boundaries.iter().map(|boundary| &boundary.kind).collect::<Vec<_>>(),
        "now": now,
    })
}

/// As the script tells them: a call that comes again has the id that it had.
fn told<'m>(messages: impl Iterator<Item = &'m Message>) -> Vec<Vec<String>> {
    let mut told = all_told(messages);
    // The context stands in front of every chat, and is written anew with each.
    told.retain(|told| !told[0].starts_with("user text:<session_context>"));
    for piece in told.iter_mut().flatten() {
        for kind in ["call:", "result:"] {
            if let Some((role, rest)) =
                piece.split_once(&format!(" {kind}")).filter(|(role, _)| !role.contains(':'))
            {
                let (_, rest) = rest.split_once(' ').unwrap();
                *piece = format!("{role} {kind}{rest}");
                break;
            }
        }
    }
    told
}

#[test]
#[ignore = "runs the released package: cargo xtask test-external gemini"]
fn what_gemini_cli_records_is_read_as_it_was_recorded() {
    let mut draw = Draw(5);
    let cases: Vec<Value> =
        (0..300).map(|number| json!({ "steps": steps(&mut draw, 1 + number % 6) })).collect();
    let answers = ask_script("gemini-cli", "gemini-cli-recorder", &cases);
    assert!(compare("gemini-cli", &answers, read) > 250);
    let of = |kind: &str| {
        let all = answers.iter().filter_map(|answer| answer[0]["read"]["boundaries"].as_array());
        all.flatten().filter(|boundary| **boundary == kind).count()
    };
    assert!(of("summary") > 20 && of("replace") > 40, "{} {}", of("summary"), of("replace"));
}
