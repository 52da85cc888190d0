//! OC17-S*: a compaction of OpenCode 1.17, from what was stored to what the model is asked, with the
//! `llm` summarizer. Rows that no text of a request decides are in the strategy's own suite; see
//! [`super::coverage`].

use super::given::Act::{Compact, Interrupted, Stored as Before, Turn};
use super::given::{Before as Hook, Given, one};
use super::model::{busy, calls, overflow, says, summary};
use super::row::Claim::{
    Asked, By, Ended, Events, Fold, Hides, LastTurn, NothingStored, Nowhere, Shows, Stored, Turns,
    View, Waited,
};
use super::row::{OURS, Row, UP, check, row};
use super::texts::{GO_ON, MARKER, anchored, image, long, prompt, tool, x};
use foldback_core::log::EntryKind::{Continue, Marker, Summary};
use foldback_core::provider::{ErrorKind, ProviderError};
use foldback_core::stage::SummaryError;

/// An answer that fills the window of 200,000 with 32,000 output.
const FULL: u64 = 168_000;

fn user(text: &str) -> String {
    format!("user: {text}")
}

fn process() -> Vec<Row> {
    let checkpoint = || vec![Marker, Summary];
    let goes_on = || vec![Marker, Summary, Continue];
    let listing = tool("list", &x(4_000));
    vec![
        row(
            "OC17-S2",
            UP,
            "one user message, a person compacts",
            Given { model: vec![summary()], ..one() },
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
                Ended("degraded"),
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
                View(vec![user(MARKER), "assistant: ## Goal".to_owned(), user(GO_ON)]),
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
            [Asked("agent summary"), Stored(checkpoint()), Nowhere(GO_ON), Ended("finished")],
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
                Shows(2, "The last request was larger than the provider accepts.".to_owned()),
                Hides(2, long("root")),
            ],
        ),
    ]
}

fn interrupted() -> Vec<Row> {
    let after = |act| Interrupted(Box::new(act), 250);
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
            [Asked("summary"), Ended("interrupted"), Waited(250), NothingStored],
        ),
        row(
            "OC17-S13",
            OURS,
            "a person who waits does so for ten seconds",
            Given { model: vec![busy(10), summary()], ..one() },
            [Asked("summary summary"), Ended("changed"), Waited(10_000)],
        ),
        row(
            "OC17-S13",
            OURS,
            "after an interrupt the next compaction has nothing to trip over",
            Given {
                acts: vec![Before(prompt("u1", &long("hello"))), after(Compact), Compact],
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
                hook: Some(Hook::Hangs),
                ..Given::default()
            },
            [Asked(""), Ended("interrupted"), Waited(250), NothingStored],
        ),
    ]
}

#[test]
fn a_compaction() {
    check(&process());
}

#[test]
fn an_interrupt() {
    check(&interrupted());
}

pub(crate) fn rows() -> Vec<Row> {
    [process(), interrupted()].concat()
}
