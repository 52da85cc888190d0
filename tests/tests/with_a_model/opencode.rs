//! OC17-S*: a compaction of OpenCode 1.17, from what was stored to what the model is asked, with the
//! `llm` summarizer. Rows that no text of a request decides are in the strategy's own suite; see
//! [`crate::coverage`].

use crate::model::{busy, calls, ends, fails, overflow, says};
use crate::row::Claim::{
    Asked, By, Ended, Events, Fold, Hides, LastTurn, NothingStored, Nowhere, Shows, ShowsOnce,
    Stored, StoredText, Turns, View, Waited,
};
use crate::row::{Row, check, row};
use crate::session::Act::{Compact, Interrupted, Stored as Before, Turn};
use crate::session::{self, Given};
use crate::texts::{GO_ON, MARKER, anchored, answer, image, long, prompt, tool, x};
use foldback_core::log::EntryKind::{Continue, Marker, Summary};
use foldback_core::log::Finish;
use foldback_core::provider::{ErrorKind, ProviderError};
use foldback_core::stage::SummaryError;

const UP: &str = "upstream";
const OURS: &str = "ours";

/// Beneath the guard: the originals' rows have texts shorter than any summary.
const MAY_GROW: &str = "[guards]\nno-growth = false\n";

/// A conversation of one prompt that is longer than its summary.
fn one() -> Given {
    Given {
        acts: vec![Before(prompt("u1", &long("hello"))), Compact],
        ..Given::default()
    }
}

/// Keeps so many turns within so many tokens.
fn tail(turns: usize, budget: u64) -> String {
    format!("{MAY_GROW}[filter]\ntail_turns = {turns}\npreserve_recent_tokens = {budget}\n")
}

/// An answer that fills the window of 200,000 with 32,000 output.
const FULL: u64 = 168_000;

fn user(text: &str) -> String {
    format!("user: {text}")
}

fn process() -> Vec<Row> {
    let summary = || says(anchored("They said hello."));
    let checkpoint = || vec![Marker, Summary];
    let goes_on = || vec![Marker, Summary, Continue];
    let listing = tool("list", &x(4_000));
    vec![
        row(
            "OC17-S2",
            UP,
            "one user message, a person compacts",
            Given {
                model: vec![summary()],
                ..one()
            },
            [
                Asked("summary"),
                Ended("changed"),
                Stored(checkpoint()),
                Events("pre-compact manual, boundary manual, session-start"),
                By("llm("),
            ],
        ),
        row(
            "OC17-S3",
            UP,
            "the summary request is too large, beneath the ladder",
            Given {
                beneath: Some(SummaryError::Provider(ProviderError::new(
                    ErrorKind::ContextOverflow,
                    "prompt is too long",
                ))),
                ..one()
            },
            [
                Ended("failed"),
                Fold("failed", "context-overflow: prompt is too long"),
                NothingStored,
            ],
        ),
        row(
            "OC17-S3",
            OURS,
            "the ladder's last rung asks nobody, and says who wrote the summary",
            Given {
                acts: vec![
                    Before(prompt("u1", &long("hello"))),
                    Before(listing.0),
                    Before(listing.1),
                    Compact,
                ],
                model: vec![overflow()],
                ..Given::default()
            },
            [
                Asked("summary"),
                Ended("changed"),
                Stored(checkpoint()),
                By("extractive (llm: context-overflow)"),
            ],
        ),
        row(
            "OC17-S4",
            UP,
            "in the middle of something",
            Given {
                acts: vec![Turn(prompt("u1", &long("hello")))],
                model: vec![calls("ok").using(FULL), summary(), says("done")],
                ..Given::default()
            },
            [
                Asked("agent summary agent"),
                Stored(goes_on()),
                LastTurn(2, GO_ON.to_owned()),
                Ended("finished"),
            ],
        ),
        row(
            "OC17-S4",
            UP,
            "after the model had finished, beneath the guard `continuation`",
            Given {
                changes: "[guards]\ncontinuation = false".to_owned(),
                acts: vec![Turn(prompt("u1", &long("hello")))],
                model: vec![says("done").using(FULL), summary()],
                ..Given::default()
            },
            [
                Asked("agent summary"),
                Stored(goes_on()),
                View(vec![
                    user(MARKER),
                    "assistant: ## Goal".to_owned(),
                    user(GO_ON),
                ]),
            ],
        ),
        row(
            "OC17-S4",
            OURS,
            "nobody tells a model to go on that had finished",
            Given {
                acts: vec![Turn(prompt("u1", &long("hello")))],
                model: vec![says("done").using(FULL), summary()],
                ..Given::default()
            },
            [
                Asked("agent summary"),
                Stored(checkpoint()),
                Nowhere(GO_ON),
                Ended("finished"),
            ],
        ),
        row(
            "OC17-S10",
            UP,
            "going on is vetoed",
            Given {
                changes: "[filter]\ncontinue = \"never\"".to_owned(),
                acts: vec![Turn(prompt("u1", &long("hello")))],
                model: vec![calls("ok").using(FULL), summary(), says("done")],
                ..Given::default()
            },
            [
                Asked("agent summary agent"),
                Stored(checkpoint()),
                LastTurn(2, anchored("They said hello.")),
                Nowhere("Continue if you have next steps"),
            ],
        ),
        row(
            "OC17-S11",
            UP,
            "refused with an image in the prompt",
            Given {
                acts: vec![
                    Before(prompt("u1", &long("root"))),
                    Turn(image("u2", "image", "cat.png", 4_000)),
                ],
                model: vec![overflow(), summary(), says("a cat")],
                ..Given::default()
            },
            [
                Asked("agent summary agent"),
                Stored(goes_on()),
                Shows(1, long("root")),
                Hides(1, "cat.png".to_owned()),
                LastTurn(2, "image\n[Attached image/png: cat.png]".to_owned()),
                Turns(2, 3),
                Nowhere("base64"),
            ],
        ),
        row(
            "OC17-S12",
            UP,
            "refused with nothing before the prompt",
            Given {
                acts: vec![Turn(prompt("u1", &long("root")))],
                model: vec![overflow(), summary(), says("sorry")],
                ..Given::default()
            },
            [
                Asked("agent summary agent"),
                Stored(goes_on()),
                Shows(
                    2,
                    "The last request was larger than the provider accepts.".to_owned(),
                ),
                Hides(2, long("root")),
            ],
        ),
    ]
}

fn interrupted() -> Vec<Row> {
    let after = |act| Interrupted(Box::new(act), 250);
    let summary = || says(anchored("They said hello."));
    vec![
        row(
            "OC17-S13",
            UP,
            "a server asks for ten seconds, and a person does not wait",
            Given {
                acts: vec![Before(prompt("u1", &long("hello"))), after(Compact)],
                model: vec![busy(10)],
                ..Given::default()
            },
            [
                Asked("summary"),
                Ended("interrupted"),
                Waited(250),
                NothingStored,
            ],
        ),
        row(
            "OC17-S13",
            OURS,
            "a person who waits does so for ten seconds",
            Given {
                model: vec![busy(10), summary()],
                ..one()
            },
            [Asked("summary summary"), Ended("changed"), Waited(10_000)],
        ),
        row(
            "OC17-S13",
            OURS,
            "after an interrupt the next compaction has nothing to trip over",
            Given {
                acts: vec![
                    Before(prompt("u1", &long("hello"))),
                    after(Compact),
                    Compact,
                ],
                model: vec![busy(10), summary()],
                ..Given::default()
            },
            [
                Asked("summary summary"),
                Ended("changed"),
                Waited(250),
                Stored(vec![Marker, Summary]),
            ],
        ),
        row(
            "OC17-S14",
            UP,
            "while a hook is running",
            Given {
                acts: vec![Before(prompt("u1", &long("hello"))), after(Compact)],
                hook: Some(session::Before::Hangs),
                ..Given::default()
            },
            [Asked(""), Ended("interrupted"), Waited(250), NothingStored],
        ),
    ]
}

fn requests() -> Vec<Row> {
    let summary = || says(anchored("They said hello."));
    let tools_only = || ends("", Finish::ToolCalls);
    let stored = |messages: Vec<_>| -> Vec<session::Act> {
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
            Given {
                model: vec![tools_only(), summary()],
                ..one()
            },
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
            Given {
                model: vec![tools_only(), tools_only()],
                ..one()
            },
            [
                Asked("summary summary"),
                Ended("failed"),
                Fold("failed", "empty"),
                NothingStored,
            ],
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
            .chain(crate::texts::HEADINGS.map(|heading| Shows(1, format!("\n{heading}\n")))),
        ),
    ]
}

/// What may not become a summary, whatever the answer looks like.
fn refused_answers() -> Vec<Row> {
    let given = |model: Vec<_>| Given { model, ..one() };
    let failed = |why| {
        [
            Ended("failed"),
            Fold("failed", why),
            NothingStored,
            Events("pre-compact manual"),
        ]
    };
    let mut rows = vec![
        row(
            "OCv2-empty",
            "reference",
            "the provider filtered it",
            given(vec![ends("half a", Finish::ContentFilter)]),
            failed("filtered"),
        ),
        row(
            "OCv2-empty",
            "reference",
            "the answer broke off, again and again",
            given(vec![fails(ErrorKind::Transport, "connection reset"); 4]),
            failed("connection reset"),
        ),
    ];
    for (id, name, answer, why) in [
        ("OCv2-empty", "nothing", says(""), "empty"),
        ("OCv2-empty", "white space", says(" \n"), "empty"),
        (
            "OCv2-cut",
            "cut by length",
            ends(anchored("They sa"), Finish::Length),
            "cut off at 4096 tokens",
        ),
        (
            "OCv2-empty",
            "without the form's headings",
            says("They said hello."),
            "headings",
        ),
    ] {
        let twice = vec![answer.clone(), answer.clone()];
        let then = vec![answer, says(anchored("They said hello."))];
        let reminded = [
            Asked("summary summary"),
            Ended("changed"),
            Stored(vec![Marker, Summary]),
        ];
        let refused = failed(why).into_iter().chain([Asked("summary summary")]);
        let twice = row(
            id,
            "reference",
            format!("{name}, twice"),
            given(twice),
            refused,
        );
        let then = row(
            id,
            "reference",
            format!("{name}, and right after one reminder"),
            given(then),
            reminded,
        );
        rows.extend([twice, then]);
    }
    rows
}

#[test]
fn a_compaction() {
    check(&process());
}

#[test]
fn an_interrupt() {
    check(&interrupted());
}

#[test]
fn what_the_model_is_asked() {
    check(&requests());
}

#[test]
fn what_is_no_summary() {
    check(&refused_answers());
}

pub(crate) fn rows() -> Vec<Row> {
    [process(), interrupted(), requests(), refused_answers()].concat()
}
