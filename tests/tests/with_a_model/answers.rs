//! What comes back for a summary and is none, and requests for one that are too large themselves: V2's
//! later suite, which has no numbers.

use super::given::Act::{Stored as Before, Turn};
use super::given::{Given, one};
use super::model::{TOO_LONG, ends, fails, overflow, says, summary};
use super::row::Claim::{
    Asked, By, Ended, Events, Fold, Folds, Hides, NothingStored, Shows, ShowsOnce, Stored,
};
use super::row::{OURS, READ, Row, UP, check, row};
use super::texts::{anchored, answer, long, prompt};
use foldback_core::log::EntryKind::{Marker, Summary};
use foldback_core::log::Finish;
use foldback_core::provider::{ErrorKind, ProviderError};
use foldback_core::stage::SummaryError;

/// What may not become a summary, whatever the answer looks like.
fn refused_answers() -> Vec<Row> {
    let given = |model: Vec<_>| Given { model, ..one() };
    let failed =
        |why| [Ended("failed"), Fold("failed", why), NothingStored, Events("pre-compact manual")];
    let mut rows = vec![
        row(
            "OCv2-empty",
            READ,
            "the provider filtered it",
            given(vec![ends("half a", Finish::ContentFilter)]),
            failed("filtered"),
        ),
        row(
            "OCv2-empty",
            READ,
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
        ("OCv2-empty", "without the form's headings", says("They said hello."), "headings"),
    ] {
        let twice = vec![answer.clone(), answer.clone()];
        let then = vec![answer, summary()];
        let reminded = [Asked("summary summary"), Ended("changed"), Stored(vec![Marker, Summary])];
        let refused = failed(why).into_iter().chain([Asked("summary summary")]);
        let twice = row(id, READ, format!("{name}, twice"), given(twice), refused);
        let then =
            row(id, READ, format!("{name}, and right after one reminder"), given(then), reminded);
        rows.extend([twice, then]);
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
                beneath: Some(SummaryError::Provider(ProviderError::new(
                    ErrorKind::ContextOverflow,
                    TOO_LONG,
                ))),
                acts: vec![
                    Before(prompt("u1", &long("fix the parser"))),
                    Turn(prompt("u2", "and the lexer")),
                ],
                model: vec![overflow()],
                ..Given::default()
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
            Given { model: vec![overflow(), overflow(), overflow(), says("done")], ..large },
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
fn what_is_no_summary() {
    check(&refused_answers());
}

#[test]
fn a_request_that_is_too_large() {
    check(&overflowing());
}

pub(crate) fn rows() -> Vec<Row> {
    [refused_answers(), overflowing()].concat()
}
