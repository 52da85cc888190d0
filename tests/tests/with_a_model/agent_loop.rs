//! OC17-L* and OCv2-*: the agent's loop, with every request counted, the agent's and the summarizer's.
//! `agent summary agent` is a request that was refused, its recovery, and the request again.
//!
//! V2 is not among the presets. Its rows are here where they state what a loop does; how V2 itself
//! words and renders a checkpoint is not.

use crate::model::{Reply, TOO_LONG, calls, ends, fails, overflow, says};
use crate::row::Claim::{
    Asked, By, Ended, FirstTurn, Fold, Folds, Hides, LastTurn, NothingStored, Nowhere, Shows,
    ShowsOnce, Stored, Turns, Waited,
};
use crate::row::{Row, check, row};
use crate::session::Act::{Compact, Interrupted, Stored as Before, Turn};
use crate::session::{Act, Given};
use crate::texts::{anchored, answer, long, prompt, screenshot, x};
use foldback_core::Limits;
use foldback_core::log::EntryKind::{Continue, Marker, Summary};
use foldback_core::log::Finish;
use foldback_core::provider::{Classifier, ErrorKind};
use foldback_fake_provider::errors::{
    ANTHROPIC_PROMPT, GEMINI_INPUT, LLAMA_CPP, OPENAI_COMPLETION, OPENAI_MESSAGES, OPENROUTER,
};

const UP: &str = "upstream";
const OURS: &str = "ours";

fn summary() -> Reply {
    says(anchored("They said hello."))
}

/// A turn after an earlier one.
fn given(model: Vec<Reply>) -> Given {
    Given {
        acts: earlier(Turn(prompt("u2", "and the lexer"))),
        model,
        ..Given::default()
    }
}

fn earlier(act: Act) -> Vec<Act> {
    vec![
        Before(prompt("u1", &long("fix the parser"))),
        Before(answer("a1", "fixed")),
        act,
    ]
}

/// What a provider answered.
fn answered(provider: Option<&str>, status: Option<u16>, body: &str) -> Reply {
    Reply::Fails(Classifier::builtin().classify(provider, status, body))
}

const STREAM: &str = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"content\":[]}}\n\n\
    event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long: 203073 tokens > 200000 maximum\"}}\n\n";

const STRUCTURED: &str =
    r#"{"error":{"code":"context_length_exceeded","message":"no","type":"invalid_request_error"}}"#;

fn v1() -> Vec<Row> {
    let recovered = || {
        [
            Asked("agent summary agent"),
            Ended("finished"),
            Stored(vec![Marker, Summary, Continue]),
        ]
    };
    vec![
        row(
            "OC17-L1",
            UP,
            "refused with `auto = false`",
            Given {
                changes: "[overflow]\nauto = false".to_owned(),
                ..given(vec![overflow()])
            },
            [
                Asked("agent"),
                Ended("overflow: context-overflow: prompt is too long"),
                NothingStored,
            ],
        ),
        row(
            "OC17-L2",
            UP,
            "usage at the ceiling",
            given(vec![calls("ok").using(168_000), summary(), says("done")]),
            recovered(),
        ),
        row(
            "OC17-L2",
            OURS,
            "usage below the ceiling",
            given(vec![calls("ok").using(167_999), says("done")]),
            [Asked("agent agent"), Ended("finished"), NothingStored],
        ),
        row(
            "OC17-L2",
            OURS,
            "usage at the ceiling with `auto = false`",
            Given {
                changes: "[overflow]\nauto = false".to_owned(),
                ..given(vec![calls("ok").using(168_000), says("done")])
            },
            [Asked("agent agent"), Ended("finished"), NothingStored],
        ),
        row(
            "OC17-L3",
            UP,
            "a structured error",
            given(vec![
                answered(None, Some(400), STRUCTURED),
                summary(),
                says("done"),
            ]),
            recovered(),
        ),
    ]
}

fn v2() -> Vec<Row> {
    let recovered = || {
        [
            Asked("agent summary agent"),
            Ended("finished"),
            Folds(1),
            // The prompt is what is sent again, behind the summary.
            Turns(2, 3),
            LastTurn(2, "and the lexer".to_owned()),
        ]
    };
    // The refusal is what the user sees, and nothing else has changed.
    let unchanged = || {
        [
            Ended("overflow: context-overflow: prompt is too long"),
            NothingStored,
        ]
    };
    let invalid = || fails(ErrorKind::Auth, "no such key");
    vec![
        row(
            "OCv2-4",
            UP,
            "exactly three requests",
            given(vec![overflow(), summary(), says("done")]),
            recovered(),
        ),
        row(
            "OCv2-5",
            UP,
            "refused again: no third attempt",
            given(vec![overflow(), summary(), overflow()]),
            [
                Asked("agent summary agent"),
                Ended("overflow: context-overflow: prompt is too long"),
                Folds(1),
            ],
        ),
        row(
            "OCv2-5",
            OURS,
            "refused again where there is more to fold",
            Given {
                changes: "[filter]\nreplay_on_overflow = false".to_owned(),
                acts: vec![
                    Before(prompt("u1", &long("one"))),
                    Before(prompt("u2", &long("two"))),
                    Turn(prompt("u3", &long("three"))),
                ],
                ..given(vec![overflow(), summary(), overflow()])
            },
            [
                Asked("agent summary agent"),
                Ended("overflow: context-overflow: prompt is too long"),
                Folds(1),
            ],
        ),
        row(
            "OCv2-5",
            OURS,
            "once in a step, not once in a turn",
            given(vec![
                overflow(),
                summary(),
                calls(x(8_000)),
                overflow(),
                summary(),
                says("done"),
            ]),
            [
                Asked("agent summary agent agent summary agent"),
                Ended("finished"),
                Folds(2),
            ],
        ),
        row(
            "OCv2-6",
            UP,
            "a stream that fails",
            given(vec![
                answered(Some("anthropic"), Some(200), STREAM),
                summary(),
                says("done"),
            ]),
            recovered(),
        ),
        row(
            "OCv2-6",
            UP,
            "a stream that fails without a status, twice",
            given(vec![
                answered(None, None, STREAM),
                summary(),
                answered(None, None, STREAM),
            ]),
            [Asked("agent summary agent"), Ended("overflow"), Folds(1)],
        ),
        row(
            "OCv2-7",
            UP,
            "the summary fails",
            given(vec![overflow(), invalid()]),
            unchanged()
                .into_iter()
                .chain([Asked("agent summary"), Fold("failed", "no such key")]),
        ),
        row(
            "OCv2-7",
            OURS,
            "the summary fails for passing reasons, four times",
            given(
                [overflow()]
                    .into_iter()
                    .chain(vec![fails(ErrorKind::Timeout, "too late"); 4])
                    .collect(),
            ),
            unchanged().into_iter().chain([
                Asked("agent summary summary summary summary"),
                Waited(1_000 + 2_000 + 4_000),
                Fold("failed", "too late"),
            ]),
        ),
        row(
            "OCv2-8",
            UP,
            "an interrupt during the summary",
            Given {
                acts: earlier(Interrupted(
                    Box::new(Turn(prompt("u2", "and the lexer"))),
                    250,
                )),
                ..given(vec![overflow(), Reply::Hangs])
            },
            [
                Asked("agent summary"),
                Ended("interrupted"),
                Waited(250),
                NothingStored,
            ],
        ),
        row(
            "OCv2-8",
            OURS,
            "and of what had been cleared for it",
            Given {
                preset: "brutus",
                acts: vec![
                    Before(prompt("u1", &long("fix the parser"))),
                    Interrupted(Box::new(Turn(prompt("u2", "and the lexer"))), 250),
                ],
                ..given(vec![calls(x(4_000)).using(168_001), Reply::Hangs])
            },
            [Asked("agent summary"), Ended("interrupted"), NothingStored],
        ),
        row(
            "OCv2-9",
            UP,
            "the stream overflows after some text, which was stored",
            given(vec![ends("Let me see wh", Finish::Error)]),
            [Asked("agent"), NothingStored, Nowhere("Continue if")],
        ),
    ]
}

/// What a request holds: V2's rows, on presets that have the behaviour.
fn contents() -> Vec<Row> {
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
                Shows(
                    0,
                    "[tool screenshot]: taken\n[Attached image/png: shot.png]".to_owned(),
                ),
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

/// Which refusals are for the size. The whole table is the classifier's own.
fn phrases() -> Vec<Row> {
    let mut rows = Vec::new();
    for refusal in [
        OPENAI_MESSAGES,
        OPENAI_COMPLETION,
        ANTHROPIC_PROMPT,
        GEMINI_INPUT,
        LLAMA_CPP,
        OPENROUTER,
    ] {
        let reply = answered(Some(refusal.provider), Some(refusal.status), refusal.body);
        rows.push(row(
            "OCv2-phrases",
            UP,
            refusal.source,
            given(vec![reply, summary(), says("done")]),
            [Asked("agent summary agent"), Ended("finished"), Folds(1)],
        ));
    }
    for (name, status, body) in [
        ("HTTP 500", Some(500), "HTTP 500"),
        (
            "output token limit",
            Some(400),
            "max_tokens: 64000 > 8192, which is the maximum allowed number of output tokens",
        ),
        ("429 without a body", Some(429), ""),
    ] {
        rows.push(row(
            "OCv2-phrases",
            UP,
            name,
            given(vec![answered(None, status, body)]),
            [Asked("agent"), Ended("provider: "), NothingStored],
        ));
    }
    rows
}

/// A summary request that is too large itself.
fn overflowing() -> Vec<Row> {
    let large = Given {
        acts: vec![
            Before(prompt("u1", &long("fix the parser"))),
            Before(answer("a1", &"the parser has lines ".repeat(20_000))),
            Turn(prompt("u2", "and the lexer")),
        ],
        ..Given::default()
    };
    let chunk = |n| says(anchored(&format!("Parts up to {n}.")));
    vec![
        row(
            "OCv2-overflow",
            UP,
            "nothing of it is stored, beneath the ladder",
            Given {
                beneath: Some(foldback_core::stage::SummaryError::Provider(
                    foldback_core::provider::ProviderError::new(
                        ErrorKind::ContextOverflow,
                        TOO_LONG,
                    ),
                )),
                ..given(vec![overflow()])
            },
            [Asked("agent"), Ended("overflow"), NothingStored],
        ),
        row(
            "OCv2-overflow",
            OURS,
            "what does not fit at once is summarised in parts",
            Given {
                model: vec![
                    overflow(),
                    overflow(),
                    chunk(1),
                    chunk(2),
                    chunk(3),
                    chunk(4),
                    says("done"),
                ],
                ..large.clone()
            },
            [
                Asked("agent summary summary summary summary summary agent"),
                Ended("finished"),
                Folds(1),
                Shows(2, "part 1 of 4".to_owned()),
                Hides(2, "<previous-summary>\n".to_owned()),
                Shows(5, "part 4 of 4".to_owned()),
                ShowsOnce(5, "Parts up to 3.".to_owned()),
                Shows(6, anchored("Parts up to 4.")),
            ],
        ),
        row(
            "OCv2-overflow",
            OURS,
            "refused on every rung: the extractive summary, and the loop goes on",
            Given {
                model: vec![overflow(), overflow(), overflow(), says("done")],
                ..large
            },
            [
                Asked("agent summary summary agent"),
                Ended("finished"),
                Folds(1),
                By("extractive (llm: context-overflow)"),
            ],
        ),
    ]
}

#[test]
fn opencode_1_17() {
    check(&v1());
}

#[test]
fn opencode_v2() {
    check(&v2());
}

#[test]
fn what_requests_hold() {
    check(&contents());
}

#[test]
fn refusals() {
    check(&phrases());
}

#[test]
fn a_summary_request_that_is_too_large() {
    check(&overflowing());
}

pub(crate) fn rows() -> Vec<Row> {
    [v1(), v2(), contents(), phrases(), overflowing()].concat()
}
