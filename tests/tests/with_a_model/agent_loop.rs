//! OC17-L* and OCv2-*: the agent's loop, with every request counted, the agent's and the summarizer's.
//! `agent summary agent` is a request that was refused, its recovery, and the request again.
//!
//! V2 is not among the presets. Its rows are here where they state what a loop does; how V2 itself
//! words and renders a checkpoint is not.

use super::given::Act::{Interrupted, Stored as Before, Turn};
use super::given::{Act, Given};
use super::model::{Reply, TOO_LONG, calls, ends, fails, overflow, says, summary};
use super::row::Claim::{
    Asked, Ended, Fold, Folds, Hides, LastTurn, NothingStored, Nowhere, Shows, Stored, Turns,
    Waited,
};
use super::row::{OURS, READ, Row, UP, check, row};
use super::texts::{answer, long, prompt, tool, x};
use foldback_core::log::EntryKind::{Continue, Marker, Summary};
use foldback_core::log::Finish;
use foldback_core::provider::{ErrorKind, ProviderError};
use foldback_fake_provider::errors::{
    ANTHROPIC_PROMPT, GEMINI_INPUT, LLAMA_CPP, OPENAI_COMPLETION, OPENAI_MESSAGES, OPENROUTER,
};
use foldback_provider_errors::Classifier;

/// A turn after an earlier one.
fn given(model: Vec<Reply>) -> Given {
    Given { acts: earlier(Turn(prompt("u2", "and the lexer"))), model, ..Given::default() }
}

fn earlier(act: Act) -> Vec<Act> {
    vec![Before(prompt("u1", &long("fix the parser"))), Before(answer("a1", "fixed")), act]
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
        [Asked("agent summary agent"), Ended("finished"), Stored(vec![Marker, Summary, Continue])]
    };
    vec![
        row(
            "OC17-L1",
            UP,
            "refused with `auto = false`",
            Given { changes: "[overflow]\nauto = false".to_owned(), ..given(vec![overflow()]) },
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
            given(vec![answered(None, Some(400), STRUCTURED), summary(), says("done")]),
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
    let unchanged = || [Ended("overflow: context-overflow: prompt is too long"), NothingStored];
    let invalid = || fails(ErrorKind::Auth, "no such key");
    let listing = tool("list", &x(240_000));
    // Folded at the end of one turn, and refused at the beginning of the next.
    let two_turns = |changes: &str, model| Given {
        changes: changes.to_owned(),
        acts: vec![
            Turn(prompt("u1", &long("fix the parser"))),
            Turn(prompt("u2", &long("and the lexer"))),
        ],
        ..given(model)
    };
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
            [Asked("agent summary agent agent summary agent"), Ended("finished"), Folds(2)],
        ),
        row(
            "OCv2-5",
            READ,
            "folded after the last answer and refused now, beneath the guard `repeat`",
            two_turns(
                "[guards]\nrepeat = false",
                vec![says("done").using(168_000), summary(), overflow(), summary(), says("done")],
            ),
            [Asked("agent summary agent summary agent"), Ended("finished"), Folds(2)],
        ),
        row(
            "OCv2-5",
            OURS,
            "no second fold before the model has answered",
            two_turns("", vec![says("done").using(168_000), summary(), overflow()]),
            [
                Asked("agent summary agent"),
                Ended("overflow: context-overflow: prompt is too long"),
                Folds(1),
            ],
        ),
        row(
            "OCv2-6",
            UP,
            "a stream that fails",
            given(vec![answered(Some("anthropic"), Some(200), STREAM), summary(), says("done")]),
            recovered(),
        ),
        row(
            "OCv2-6",
            UP,
            "a stream that fails without a status, twice",
            given(vec![answered(None, None, STREAM), summary(), answered(None, None, STREAM)]),
            [Asked("agent summary agent"), Ended("overflow"), Folds(1)],
        ),
        row(
            "OCv2-7",
            UP,
            "the summary fails",
            given(vec![overflow(), invalid()]),
            unchanged().into_iter().chain([Asked("agent summary"), Fold("failed", "no such key")]),
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
                acts: earlier(Interrupted(Box::new(Turn(prompt("u2", "and the lexer"))), 250)),
                ..given(vec![overflow(), Reply::Hangs])
            },
            [Asked("agent summary"), Ended("interrupted"), Waited(250), NothingStored],
        ),
        row(
            "OCv2-8",
            OURS,
            "what had been cleared for the summary is there again",
            Given {
                preset: "brutus",
                acts: vec![
                    Before(prompt("u1", &long("fix the parser"))),
                    Before(listing.0),
                    Before(listing.1),
                    Before(prompt("u2", "and the lexer")),
                    Interrupted(Box::new(Turn(prompt("u3", "and the rest"))), 250),
                ],
                ..given(vec![calls("ok").using(168_001), Reply::Hangs])
            },
            [
                Asked("agent summary"),
                // It had been: the summarizer was shown the placeholder.
                Shows(1, "[tool list]: [Old tool result content cleared]".to_owned()),
                Ended("interrupted"),
                NothingStored,
            ],
        ),
        row(
            "OCv2-9",
            UP,
            "the stream overflows after some text, which was stored",
            given(vec![ends("Let me see wh", Finish::Error)]),
            [Asked("agent"), NothingStored, Nowhere("Continue if")],
        ),
        row(
            "OCv2-9",
            OURS,
            "and an agent that wants to recover all the same has its prompt put again, not half an answer",
            given(vec![
                Reply::Breaks(
                    "Let me see wh",
                    ProviderError::new(ErrorKind::ContextOverflow, TOO_LONG),
                ),
                summary(),
                says("done"),
            ]),
            [
                Asked("agent summary agent"),
                Ended("finished"),
                LastTurn(2, "and the lexer".to_owned()),
                Hides(2, "Let me see wh".to_owned()),
            ],
        ),
    ]
}

/// Which refusals are for the size. The whole table is the classifier's own.
fn phrases() -> Vec<Row> {
    let mut rows = Vec::new();
    for refusal in
        [OPENAI_MESSAGES, OPENAI_COMPLETION, ANTHROPIC_PROMPT, GEMINI_INPUT, LLAMA_CPP, OPENROUTER]
    {
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

#[test]
fn opencode_1_17() {
    check(&v1());
}

#[test]
fn opencode_v2() {
    check(&v2());
}

#[test]
fn refusals() {
    check(&phrases());
}

pub(crate) fn rows() -> Vec<Row> {
    [v1(), v2(), phrases()].concat()
}
