//! S9-*: the window compactor of Spec 09, its summaries asked of a model.

use super::given::Act::{Compact, Stored as Before, Turn};
use super::given::{Act, Before as Hook, Given};
use super::model::{Reply, calls, ends, fails, says};
use super::row::Claim::{
    Asked, By, Ended, Events, FirstTurn, Fold, Folds, Hides, NothingStored, Nowhere, Shows, View,
    Waited,
};
use super::row::{OURS, READ, Row, UP, check, row};
use super::texts::{answer, prompt, x};
use foldback_core::Limits;
use foldback_core::log::Finish;
use foldback_core::provider::ErrorKind;

const PRESETS: [&str; 2] = ["window", "window-faithful"];
const LEAD: &str = "[Previous conversation summary]\n\n";

/// A window of 1,000 with a reserve of 100, and so many messages of 99 tokens.
fn given(preset: &'static str, count: usize, last: Act) -> Given {
    Given {
        preset,
        changes: "[overflow]\nmax_output = 100".to_owned(),
        summarizer: "on_failure = \"hide\"",
        limits: Limits::new(1_000, 100),
        acts: chat(count).into_iter().chain([last]).collect(),
        ..Given::default()
    }
}

/// User and model in turn, the user first.
fn chat(count: usize) -> Vec<Act> {
    (0..count)
        .map(|n| {
            let (id, text) = (format!("m{n}"), x(380));
            Before(match n % 2 {
                0 => prompt(&id, &text),
                _ => answer(&id, &text),
            })
        })
        .collect()
}

/// The tenth message, which is a prompt, and the answer to it.
fn tenth() -> Act {
    Turn(prompt("now", &x(380)))
}

/// A model that writes a summary and then answers.
fn summarised() -> Vec<Reply> {
    vec![says("They said hello."), says("done")]
}

fn compaction(preset: &'static str) -> Vec<Row> {
    let kept = |lead: &[&str]| -> Vec<String> {
        let lead = lead.iter().map(|lead| (*lead).to_owned());
        let recent = ["assistant", "user", "assistant", "user"];
        let recent = recent.map(|role| format!("{role}: {}", x(380)));
        lead.chain(recent).chain(["assistant: done".to_owned()]).collect()
    };
    // Where the kept part begins with the model, the mended preset says that something is missing.
    let hidden: &[&str] = match preset {
        "window" => &["user: [Earlier messages were left out"],
        _ => &[],
    };
    let minutes = |n: i64| n * 60_000;
    let mut rows = vec![
        row(
            "S9-17",
            UP,
            format!("{preset}: ten messages"),
            Given { model: summarised(), ..given(preset, 10, tenth()) },
            [
                Asked("summary agent"),
                FirstTurn(1, format!("{LEAD}They said hello.")),
                Events("pre-compact auto, boundary auto, session-start"),
                By("llm("),
                Folds(1),
                View(
                    [format!("user: {LEAD}They said hello.")]
                        .into_iter()
                        .chain(kept(&[]).into_iter())
                        .collect(),
                ),
            ],
        ),
        row(
            "S9-18",
            UP,
            format!("{preset}: an error that waiting does not mend"),
            Given {
                model: vec![fails(ErrorKind::Auth, "no such key"), says("done")],
                ..given(preset, 10, tenth())
            },
            [
                Asked("summary agent"),
                Fold("degraded", "no such key"),
                Nowhere("Previous conversation summary"),
                View(kept(hidden)),
                Waited(0),
            ],
        ),
        row(
            "S9-18",
            OURS,
            format!("{preset}: an error that might pass, asked four times"),
            Given {
                model: vec![fails(ErrorKind::Overloaded, "busy"); 4]
                    .into_iter()
                    .chain([says("done")])
                    .collect(),
                ..given(preset, 10, tenth())
            },
            [
                Asked("summary summary summary summary agent"),
                Fold("degraded", "busy"),
                View(kept(hidden)),
                Waited(7_000),
            ],
        ),
        row(
            "S9-18",
            OURS,
            format!(
                "{preset}: with `on_failure = \"keep\"` nothing is dropped, and the call goes ahead"
            ),
            Given {
                summarizer: "on_failure = \"keep\"",
                model: vec![fails(ErrorKind::Auth, "no such key"), says("done")],
                ..given(preset, 10, tenth())
            },
            [
                Asked("summary agent"),
                Fold("failed", "no such key"),
                Ended("finished"),
                NothingStored,
            ],
        ),
        row(
            "S9-21",
            UP,
            format!("{preset}: who is asked where nobody is named"),
            Given { model: summarised(), ..given(preset, 10, tenth()) },
            [By("llm(claude-haiku-4-5 v")],
        ),
        row(
            "S9-20",
            UP,
            format!("{preset}: instructions of a hook"),
            Given {
                hook: Some(Hook::Instructs("Keep the file names.")),
                model: summarised(),
                ..given(preset, 10, tenth())
            },
            [
                Asked("summary agent"),
                Shows(0, "Additional instructions:\nKeep the file names.".to_owned()),
                Hides(1, "Keep the file names.".to_owned()),
            ],
        ),
        row(
            "S9-20",
            OURS,
            format!("{preset}: without a hook the request has no such section"),
            Given { model: summarised(), ..given(preset, 10, tenth()) },
            [Hides(0, "Additional instructions".to_owned())],
        ),
    ];
    for (name, notes, model) in [
        ("fresh", Some(("Noted.", minutes(1))), false),
        ("just fresh", Some(("Noted.", minutes(5) - 1)), false),
        ("just stale", Some(("Noted.", minutes(5))), true),
        ("stale", Some(("Noted.", minutes(10))), true),
        ("missing", None, true),
        ("empty", Some(("", minutes(1))), true),
    ] {
        let origin = if name.starts_with("just") { OURS } else { UP };
        let (asked, text) = match model {
            true => ("summary agent", "They said hello."),
            false => ("agent", "Noted."),
        };
        let replies = summarised().split_off(usize::from(!model));
        rows.push(row(
            "S9-22",
            origin,
            format!("{preset}: {name} notes"),
            Given { notes, model: replies, ..given(preset, 10, tenth()) },
            [Asked(asked), FirstTurn(usize::from(model), format!("{LEAD}{text}"))],
        ));
    }
    rows
}

fn prompts(preset: &'static str) -> Vec<Row> {
    let hello = Given {
        acts: vec![
            Before(prompt("u1", "hello")),
            Before(answer("a1", &x(3_000))),
            Before(prompt("u2", &x(1_500))),
            Compact,
        ],
        model: vec![says("They said hello.")],
        ..given(preset, 0, Compact)
    };
    vec![row(
        "S9-23",
        UP,
        format!("{preset}: what is said, and how much of it"),
        hello,
        [
            Asked("summary"),
            Ended("changed"),
            Shows(0, "[user]: hello\n".to_owned()),
            Shows(0, format!("[assistant]: {}...", x(2_000))),
            Hides(0, x(2_001)),
        ],
    )]
}

fn moments(preset: &'static str) -> Vec<Row> {
    let cut = |bytes| ends(x(bytes), Finish::Length);
    // 872 of 1,000: above the threshold and below what the plan calls critical.
    let between = if preset == "window" {
        row(
            "S9-24",
            OURS,
            "window: no on max_tokens below 95 %",
            Given { model: vec![cut(300)], ..given(preset, 6, tenth()) },
            [Asked("agent"), Ended("length: 872 <= 950"), NothingStored],
        )
    } else {
        row(
            "S9-24",
            READ,
            "window-faithful: yes on max_tokens above 80 %, as the code asks",
            Given {
                model: vec![cut(300), says("They said hello."), says("done")],
                ..given(preset, 6, tenth())
            },
            [Asked("agent summary agent"), Ended("finished"), Folds(1)],
        )
    };
    vec![
        between,
        row(
            "S9-24",
            UP,
            format!("{preset}: yes"),
            Given { model: summarised(), ..given(preset, 8, tenth()) },
            [Asked("summary agent"), Ended("finished"), Folds(1)],
        ),
        row(
            "S9-24",
            OURS,
            format!("{preset}: no"),
            Given { model: vec![says("done")], ..given(preset, 4, tenth()) },
            [Asked("agent"), Ended("finished"), Folds(0)],
        ),
        row(
            "S9-24",
            UP,
            format!("{preset}: yes on max_tokens"),
            Given {
                model: vec![cut(1_000), says("They said hello."), says("done")],
                ..given(preset, 6, tenth())
            },
            [Asked("agent summary agent"), Ended("finished"), Folds(1)],
        ),
        row(
            "S9-24",
            UP,
            format!("{preset}: no on max_tokens"),
            Given { model: vec![cut(100)], ..given(preset, 2, tenth()) },
            [Asked("agent"), Ended("length: "), NothingStored],
        ),
        row(
            "S9-24",
            OURS,
            format!("{preset}: yes before the request, and again on max_tokens"),
            Given {
                model: vec![
                    says("They said hello."),
                    cut(2_400),
                    says("They said hello again."),
                    says("done"),
                ],
                ..given(preset, 8, tenth())
            },
            [Asked("summary agent summary agent"), Ended("finished"), Folds(2)],
        ),
        row(
            "S9-24",
            UP,
            format!("{preset}: always yes, two tool rounds"),
            Given {
                model: vec![
                    calls(x(2_400)),
                    says("They said hello."),
                    calls(x(2_400)),
                    says("They said hello again."),
                    says("done"),
                ],
                ..given(preset, 0, Turn(prompt("now", &x(2_000))))
            },
            [Asked("agent summary agent summary agent"), Ended("finished"), Folds(2)],
        ),
    ]
}

#[test]
fn a_compaction() {
    check(&PRESETS.map(compaction).concat());
}

#[test]
fn what_the_model_is_asked() {
    check(&PRESETS.map(prompts).concat());
}

#[test]
fn when_it_is_asked() {
    check(&PRESETS.map(moments).concat());
}

pub(crate) fn rows() -> Vec<Row> {
    PRESETS
        .iter()
        .flat_map(|preset| [compaction(preset), prompts(preset), moments(preset)].concat())
        .collect()
}
