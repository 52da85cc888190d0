//! `deepagents` beside its own middleware: what is kept, and whose arguments are cut, before every call.

use crate::differential::{Case, Package, before_calls, generated, recorded, strategy};
use foldback_core::Limits;
use foldback_core::conversation::Conversation;
use foldback_core::log::PartKind;
use foldback_testkit::stand_in::Scripted;
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;

/// Before a call: the first message of the log that is kept, the number of messages, and the calls whose arguments were cut.
#[derive(Debug, PartialEq, Eq, Deserialize)]
struct ShownMessage {
    first: Option<usize>,
    count: usize,
    cut: Vec<(usize, String)>,
}

fn shown(talk: &Conversation) -> ShownMessage {
    let sent = talk.sent();
    let edits = talk.view().edits().keys().filter(|at| talk.view().is_visible(at.item));
    let cut = edits.map(|at| {
        let call = talk.history().message(at.item).parts[at.part].as_call().unwrap();
        (at.item, call.call_id.clone())
    });
    ShownMessage {
        first: sent.iter().find_map(|shown| shown.pos),
        count: sent.len(),
        cut: cut.collect(),
    }
}

/// Folds, cut arguments, sessions in which the original gave up or wrote results into files, and sessions in which the
/// two part after arguments were cut.
fn compared(window: u64, cases: &[Case]) -> [usize; 4] {
    let package = Package { name: "langchain", script: "deepagents_summarization.py" };
    let answers: Vec<Vec<ShownMessage>> =
        package.answers(cases, &json!({"window": window, "prefix": 50}));
    let toml = format!(
        "name = \"t\"\nextends = \"deepagents\"\n[guards]\npairs = false\nno-growth = false\nbreaker = 0\n\
         [filter]\nwhole_groups = false\nonly_smaller = false\nprefix = \"{}\"\n",
        "x".repeat(48)
    );
    let mut counted = [0; 4];
    for (case, theirs) in cases.iter().zip(answers) {
        let mut strategy = strategy(&toml);
        Arc::get_mut(&mut strategy).unwrap().summarizer = Some(Scripted::always(Some("S")));
        counted[2] += usize::from(theirs.len() < case.calls.len());
        let mut theirs = theirs.into_iter();
        let mut cut = 0;
        let (mut folds, mut parted, mut had_cut) = (0, false, false);
        before_calls(&strategy, Limits::new(window, 0), &case.log, &mut |messages, talk| {
            let Some(expected) = theirs.next().filter(|_| !parted) else { return };
            let ours = shown(talk);
            // A named deviation: what was cut stays cut here. The original has it whole again where the last message alone is
            // over the tenth, and folds sooner.
            parted = had_cut && ours != expected;
            had_cut |= !expected.cut.is_empty();
            if parted {
                return;
            }
            assert_eq!(ours, expected, "{window}, {} before message {messages}", case.name);
            cut = cut.max(expected.cut.len());
            folds = talk.folds().iter().filter(|fold| fold.plan.layout.is_some()).count();
        });
        counted[0] += folds;
        counted[1] += cut;
        counted[3] += usize::from(parted);
    }
    counted
}

/// The session as if every second call wrote a file, and now and then a long one.
fn writing(mut case: Case) -> Case {
    for (at, message) in case.log.iter_mut().enumerate().filter(|(at, _)| at % 2 == 0) {
        for part in &mut Arc::make_mut(message).parts {
            if let PartKind::Call(call) = &mut part.kind {
                call.tool = if at % 4 == 0 { "write_file" } else { "edit_file" }.to_owned();
                let content = "a line of it\n".repeat(at * 37 % 400);
                call.arguments = json!({"file_path": "a.rs", "content": content}).to_string();
            }
        }
    }
    case
}

#[test]
#[ignore = "needs deepagents: cargo xtask test-external langchain"]
fn langchain_deepagents_keeps_the_same() {
    let writing = |cases: Vec<Case>| cases.into_iter().map(writing).collect::<Vec<Case>>();
    for (what, cases) in [
        ("recorded", recorded()),
        ("drawn", generated(500)),
        ("recorded, writing", writing(recorded())),
        ("drawn, writing", writing(generated(500))),
    ] {
        // Without a window nothing is known of the model.
        for window in [0, 20_000, 60_000] {
            let [folds, cut, gave_up, parted] = compared(window, &cases);
            println!(
                "{what}: {} sessions, a window of {window}: {folds} folds and {cut} cut arguments, all the same; up to where \
                 the original gave up in {gave_up}, and to where they part over arguments that were cut in {parted}",
                cases.len()
            );
        }
        assert!(cases.len() >= 20, "{what}: {} sessions", cases.len());
    }
}
