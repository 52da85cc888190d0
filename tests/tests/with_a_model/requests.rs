//! What the model is asked: the text of the summary request and of the agent's next one.
//!
//! Rows of OpenCode 1.17's process that a request decides, and those of V2 that state what a request
//! holds, on presets that have the behaviour; how V2 itself renders a checkpoint is not among them.

use super::given::Act::{Compact, Stored as Before, Turn};
use super::given::{Act, Given, one};
use super::model::{ends, says, summary};
use super::row::Claim::{
    Asked, Ended, FirstTurn, Fold, Hides, LastTurn, NothingStored, Nowhere, Shows, ShowsOnce,
    Stored, StoredText, View,
};
use super::row::{OURS, Row, UP, check, row};
use super::texts::{HEADINGS, MARKER, anchored, answer, image, long, prompt, screenshot, x};
use foldback_core::Limits;
use foldback_core::log::EntryKind::{Marker, Summary};
use foldback_core::log::Finish;

/// Beneath the guard: the originals' rows have texts shorter than any summary.
const MAY_GROW: &str = "[guards]\nno-growth = false\n";

/// Keeps so many turns within so many tokens.
fn tail(turns: usize, budget: u64) -> String {
    format!("{MAY_GROW}[filter]\ntail_turns = {turns}\npreserve_recent_tokens = {budget}\n")
}

fn user(text: &str) -> String {
    format!("user: {text}")
}

fn checkpoints() -> Vec<Row> {
    let tools_only = || ends("", Finish::ToolCalls);
    let stored = |messages: Vec<_>| -> Vec<Act> {
        messages.into_iter().map(Before).chain([Compact]).collect()
    };
    vec![
        row(
            "OC17-S7",
            UP,
            "no turn fits",
            Given {
                changes: tail(1, 20),
                acts: stored(vec![prompt("u1", "first"), prompt("u2", &x(2_000))]),
                model: vec![summary()],
                ..Given::default()
            },
            [
                Asked("summary"),
                Shows(0, x(2_000)),
                View(vec![user(MARKER), "assistant: ## Goal".to_owned()]),
            ],
        ),
        row(
            "OC17-S8",
            UP,
            "an image is too large to keep, and is described",
            Given {
                changes: tail(1, 100),
                acts: stored(vec![
                    prompt("u1", "first"),
                    answer("a1", "ok"),
                    image("u2", "what is this?", "big.png", 4_000),
                ]),
                model: vec![summary()],
                ..Given::default()
            },
            [
                Asked("summary"),
                Shows(0, "what is this?".to_owned()),
                Shows(0, "Attached image/png: big.png".to_owned()),
                Hides(0, "base64".to_owned()),
                View(vec![user(MARKER), "assistant: ## Goal".to_owned()]),
            ],
        ),
        row(
            "OC17-S9",
            UP,
            "a turn is split",
            Given {
                changes: tail(1, 100),
                acts: stored(vec![
                    prompt("u1", "what is it?"),
                    answer("a1", &x(2_000)),
                    answer("a2", "the latter half"),
                ]),
                model: vec![summary()],
                ..Given::default()
            },
            [
                Asked("summary"),
                Shows(0, x(2_000)),
                Hides(0, "the latter half".to_owned()),
                View(vec![
                    user(MARKER),
                    "assistant: ## Goal".to_owned(),
                    "assistant: the latter half".to_owned(),
                ]),
            ],
        ),
        row(
            "OC17-S16",
            UP,
            "a tool call and then a text",
            Given { model: vec![tools_only(), summary()], ..one() },
            [
                Asked("summary summary"),
                Ended("changed"),
                Stored(vec![Marker, Summary]),
                Nowhere("tool-call"),
            ],
        ),
        row(
            "OC17-S16",
            OURS,
            "nothing but tool calls is no summary",
            Given { model: vec![tools_only(), tools_only()], ..one() },
            [Asked("summary summary"), Ended("failed"), Fold("failed", "empty"), NothingStored],
        ),
        row(
            "OC17-S17",
            UP,
            "what is kept is not summarised",
            Given {
                changes: MAY_GROW.to_owned(),
                acts: stored(vec![
                    prompt("u1", "older context"),
                    prompt("u2", "keep this turn"),
                    prompt("u3", "and this one too"),
                ]),
                model: vec![summary()],
                ..Given::default()
            },
            [
                Asked("summary"),
                Shows(0, "[user]: older context".to_owned()),
                Hides(0, "keep this turn".to_owned()),
                Hides(0, "and this one too".to_owned()),
                Hides(0, MARKER.to_owned()),
            ],
        ),
        row(
            "OC17-S18",
            UP,
            "two compactions in a row",
            Given {
                acts: vec![
                    Before(prompt("u1", &long("turn 1"))),
                    Before(prompt("u2", &long("turn 2"))),
                    Before(prompt("u3", &long("turn 3"))),
                    Compact,
                    Before(prompt("u4", &long("turn 4"))),
                    Compact,
                ],
                model: vec![
                    says(anchored("Turn one was about apples.")),
                    says(anchored("All of it was about fruit.")),
                ],
                ..Given::default()
            },
            [
                Asked("summary summary"),
                Hides(0, "<previous-summary>".to_owned()),
                Shows(1, "<previous-summary>\n".to_owned()),
                ShowsOnce(1, "Turn one was about apples.".to_owned()),
                Shows(1, long("turn 2")),
                Hides(1, "turn 1".to_owned()),
                Hides(1, "turn 3".to_owned()),
                StoredText("All of it was about fruit.".to_owned()),
            ]
            .into_iter()
            .chain(HEADINGS.map(|heading| Shows(1, format!("\n{heading}\n")))),
        ),
    ]
}

/// What a request holds: V2's rows, on presets that have the behaviour.
fn media_and_recent() -> Vec<Row> {
    let (call, result) = screenshot("shot.png", 4_000);
    let described = |strip: bool| Given {
        changes: format!("[filter]\nstrip_media = {strip}\ntail_turns = 0"),
        acts: vec![
            Before(prompt("u1", &long("look at the page"))),
            Before(call.clone()),
            Before(result.clone()),
            Before(prompt(
                "u2",
                &format!("inline data:image/png;base64,{}", "iVBORw0K".repeat(500)),
            )),
            Compact,
        ],
        model: vec![summary()],
        ..Given::default()
    };
    // Keeps 2,000 of 5,000 tokens, 1,000 of them for the answer.
    let recent = Given {
        preset: "window",
        changes: "[overflow]\nmax_output = 1_000".to_owned(),
        limits: Limits::new(5_000, 1_000),
        ..Given::default()
    };
    let first = format!("first task {}", x(6_000));
    let second = format!("second task {}", x(7_000));
    let third = format!("third task {}", x(7_000));
    let lead = "[Previous conversation summary]\n\n";
    vec![
        row(
            "OCv2-1",
            UP,
            "media of tools are described",
            described(false),
            [
                Asked("summary"),
                Shows(0, "[tool screenshot]: taken\n[Attached image/png: shot.png]".to_owned()),
                Nowhere("iVBORw0K"),
            ],
        ),
        row(
            "OCv2-1",
            OURS,
            "where a preset strips them they are gone",
            described(true),
            [
                Asked("summary"),
                Shows(0, "[tool screenshot]: taken\n".to_owned()),
                Hides(0, "shot.png".to_owned()),
                Nowhere("iVBORw0K"),
            ],
        ),
        row(
            "OCv2-2",
            UP,
            "a second prompt over the ceiling: two requests, and the prompt word for word",
            Given {
                acts: vec![Turn(prompt("u1", &first)), Turn(prompt("u2", &second))],
                model: vec![says("ok"), says("One was done."), says("done")],
                ..recent.clone()
            },
            [
                Asked("agent summary agent"),
                FirstTurn(2, format!("{lead}One was done.")),
                LastTurn(2, second.clone()),
                Hides(2, "first task".to_owned()),
                Hides(1, "second task".to_owned()),
            ],
        ),
        row(
            "OCv2-3",
            UP,
            "a third one: the summary so far, and what was recent",
            Given {
                acts: vec![
                    Turn(prompt("u1", &first)),
                    Turn(prompt("u2", &second)),
                    Turn(prompt("u3", &third)),
                ],
                model: vec![
                    says("ok"),
                    says("One was done."),
                    says("done"),
                    says("One and two were done."),
                    says("done"),
                ],
                ..recent
            },
            [
                Asked("agent summary agent summary agent"),
                Shows(3, "<previous-summary>\n".to_owned()),
                ShowsOnce(3, "One was done.".to_owned()),
                Shows(3, "[user]: second task".to_owned()),
                Hides(3, "third task".to_owned()),
                FirstTurn(4, format!("{lead}One and two were done.")),
                LastTurn(4, third.clone()),
            ],
        ),
    ]
}

#[test]
fn of_checkpoints() {
    check(&checkpoints());
}

#[test]
fn of_media_and_recent_messages() {
    check(&media_and_recent());
}

pub(crate) fn rows() -> Vec<Row> {
    [checkpoints(), media_and_recent()].concat()
}
