//! What 1.18 does otherwise than 1.17: how much of the end is kept, and how the request shows results. Rows in `later.toml`.

use crate::flow::{long, marker, prompt, turn, with};
use crate::support::*;
use foldback_core::config::{Options, compile_preset};
use foldback_core::log::{Media, Message, Part, PartKind, ResultStatus, ToolResult};
use foldback_core::moment::Moment;
use foldback_core::view::PartPos;
use foldback_opencode::render::{Content, ModelMessage, ModelRole};
use foldback_opencode::request::{Cuts, Form};
use foldback_test_support::table;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet};

pub(crate) fn rows<T: DeserializeOwned>(group: &str) -> Vec<T> {
    table::rows(include_str!("../rows/later.toml"), group)
}

#[derive(Deserialize)]
struct Budget {
    id: String,
    rows: Vec<(String, Vec<u64>, usize)>,
}

/// A message of the user that is this many tokens large, as the tail counts it.
fn sized(id: &str, tokens: usize, more: usize) -> Message {
    let empty = vec![ModelMessage::new(ModelRole::User, vec![Content::text("")])];
    let around = serde_json::to_string(&empty).unwrap().len();
    prompt(id, &"x".repeat(tokens * 4 - around + more))
}

#[test]
fn budgets() {
    for Budget { id, rows } in rows("budgets") {
        for (preset, window, tokens) in rows {
            // Half a token more is rounded up.
            for (more, tail) in [(0, Some("u2")), (1, Some("u2")), (2, None)] {
                let summarizer = Scripted::in_turn([Ok("short")]);
                let mut strategy = strategy(&preset, "[guards]\nno-growth = false");
                strategy.summarizer = Some(summarizer);
                let mut conversation = conversation(strategy, limits(&window));
                conversation.append(prompt("u1", "first"));
                conversation.append(sized("u2", tokens, more));
                at(&mut conversation, Moment::Manual, None);
                let start = marker(&conversation).tail_start;
                assert_eq!(start.as_deref(), tail, "{id} {preset} {window:?} +{more}");
            }
        }
    }
}

/// Everything that 1.18 has from 1.17, by the rows of which it is checked.
#[test]
fn what_1_18_left_as_it_was() {
    let values = |name: &str| {
        let compiled = compile_preset(&registry(), name, Options::default()).unwrap();
        let mut values = compiled.root.to_value();
        let fields = values["filter"].as_object_mut().unwrap();
        let changed = ["tail_turns", "tail_maximum", "request"].map(|field| fields.remove(field));
        assert!(changed.iter().flatten().count() >= 2, "{name}");
        ["window", "estimator", "overflow", "pruner", "filter", "summarizer"]
            .map(|section| values[section].take())
    };
    assert_eq!(values("opencode-1.18"), values("opencode-1.17"));
}

#[test]
fn units_and_windows() {
    // UTF-16 units, of which an emoji has two; what is taken for the limits of a model that is not known.
    for name in ["opencode", "opencode-1.17", "opencode-1.18", "opencode-2"] {
        let strategy = strategy(name, "");
        assert_eq!(strategy.estimator().text(&"😀".repeat(6)), 3, "{name}");
        assert_eq!(strategy.preset_limits, foldback_core::Limits::new(200_000, 32_000), "{name}");
    }
}

#[derive(Deserialize)]
struct Tail {
    id: String,
    budget: u64,
    messages: String,
    starts: BTreeMap<String, String>,
}

#[test]
fn tails() {
    for Tail { id, budget, messages, starts } in rows("tails") {
        for (turns, start) in starts {
            let field =
                if turns.is_empty() { String::new() } else { format!("tail_turns = {turns}") };
            let changes = format!(
                "[filter]\npreserve_recent_tokens = {budget}\n{field}\n[guards]\nno-growth = false"
            );
            let mut conversation =
                with("opencode-1.18", &changes, &Scripted::in_turn([Ok("short")]));
            for (at, word) in messages.split(' ').enumerate() {
                let (role, length) = word.split_at(1);
                let (id, text) = (format!("m{at}"), "x".repeat(length.parse().unwrap()));
                conversation.append(match (role, &*text) {
                    ("u", text) => prompt(&id, text),
                    (_, "") => assistant(&id, vec![], foldback_core::log::Finish::Stop),
                    (_, text) => answer(&id, text),
                });
            }
            at(&mut conversation, Moment::Manual, None);
            let found = marker(&conversation).tail_start.unwrap_or_default();
            assert_eq!(found, start, "{id}, {turns:?} turns");
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Shown {
    id: String,
    #[serde(default)]
    status: ResultStatus,
    text: String,
    #[serde(default)]
    media: Vec<Media>,
    #[serde(default)]
    cleared: bool,
    expect: String,
}

#[test]
fn results() {
    let cuts = Cuts { form: Form::Text, strip_media: true, max_output: Some(2_000) };
    for Shown { id, status, text, media, cleared, expect } in rows("results") {
        let result = ToolResult {
            call_id: "c".to_owned(),
            tool: "bash".to_owned(),
            status,
            text,
            media,
            ..ToolResult::default()
        };
        let mut conversation = with("opencode-1.18", "", &Scripted::in_turn([]));
        let mut message = Message::tool("t", "c", "bash", "");
        message.parts = vec![Part::new(PartKind::Result(result))];
        append(
            &mut conversation,
            [
                assistant(
                    "a",
                    vec![Part::call("c", "bash", "{}")],
                    foldback_core::log::Finish::ToolCalls,
                ),
                message,
            ],
        );
        if cleared {
            let at = PartPos { item: 1, part: 0 };
            conversation.mark_cleared(at, "[Old tool result content cleared]".into(), 0);
        }
        let shown = cuts.shown(&conversation.view().show_item(conversation.history(), 1));
        let result = shown.parts[0].as_result().unwrap();
        assert_eq!((&result.text, result.media.len()), (&expect, 0), "{id}");
    }
}

/// The request has the record of the head alone; what came before stands apart.
#[test]
fn oc18_s1_s2_the_request() {
    let summarizer = Scripted::in_turn([Ok("one"), Ok("two")]);
    let changes = "[filter]\npreserve_recent_tokens = 20";
    let mut conversation = with("opencode-1.18", changes, &summarizer);
    append(&mut conversation, turn(1));
    append(&mut conversation, tools("a2", &[("bash", &"x".repeat(2_001))]));
    conversation.append(prompt("u3", "short"));
    at(&mut conversation, Moment::Manual, None);
    assert_eq!(summarizer.request(0).style, "opencode.objective", "OC18-S1");
    let shown = summarizer.shown(0);
    assert_eq!(shown[0], long("turn 1"), "OC18-S1");
    assert_eq!(shown[3], format!("{}\n[truncated]", "x".repeat(2_000)), "OC18-S1");
    assert_eq!(shown.len(), 4, "OC18-S1: neither the tail nor the marker");
    append(&mut conversation, turn(4));
    at(&mut conversation, Moment::Manual, None);
    assert_eq!(summarizer.request(1).previous.as_deref(), Some("one"), "OC18-S2");
    assert!(!summarizer.shown(1).join("\n").contains("one"), "OC18-S2");
}

/// summaryText: the texts of a stored summary, trimmed, as paragraphs.
#[test]
fn oc18_s3_a_stored_summary_of_two_texts() {
    let summarizer = Scripted::in_turn([Ok("one"), Ok("two")]);
    let mut first = with("opencode-1.18", "[filter]\ntail_turns = 0", &summarizer);
    append(&mut first, turn(1));
    at(&mut first, Moment::Manual, None);
    let mut again = with("opencode-1.18", "[filter]\ntail_turns = 0", &summarizer);
    append(
        &mut again,
        first.history().iter().map(|(_, message)| {
            match message.is_entry() && message.parent.is_some() {
                true => message.with_parts(vec![
                    Part::text(" first "),
                    Part::text(" "),
                    Part::text("second\n"),
                ]),
                false => Message::clone(message),
            }
        }),
    );
    again.restore();
    append(&mut again, turn(2));
    at(&mut again, Moment::Manual, None);
    assert_eq!(summarizer.request(1).previous.as_deref(), Some("first\n\nsecond"), "OC18-S3");
}

pub(crate) fn ids() -> BTreeSet<String> {
    let budgets = rows::<Budget>("budgets").into_iter().map(|row| row.id);
    let tails = rows::<Tail>("tails").into_iter().map(|row| row.id);
    let results = rows::<Shown>("results").into_iter().map(|row| row.id);
    let others = ["OC18-S1", "OC18-S2", "OC18-S3"].map(str::to_owned);
    budgets.chain(tails).chain(results).chain(others).collect()
}
