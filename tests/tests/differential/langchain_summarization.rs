//! `langchain-summarization` beside LangChain's own middleware: what is kept and what is summarized, before every call.

use crate::differential::{Case, Package, before_calls, generated, recorded, strategy};
use foldback_core::Limits;
use foldback_core::conversation::Conversation;
use foldback_core::log::Message;
use foldback_testkit::stand_in::Scripted;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;

/// Before a call: the first message of the log that is kept, the number of messages, and what was given to the model for a
/// summary, by number (-1 for a summary) and length.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
struct ShownMessage {
    first: Option<usize>,
    count: usize,
    trimmed: Option<Vec<(i64, usize)>>,
}

fn shown(talk: &Conversation) -> ShownMessage {
    let sent = talk.sent();
    let first = sent.iter().find_map(|shown| shown.pos);
    ShownMessage { first, count: sent.len(), trimmed: None }
}

/// How often both folded.
fn folds(fields: &str, options: &Value, cases: &[Case]) -> usize {
    let package = Package { name: "langchain", script: "langchain_summarization.py" };
    let answers: Vec<Vec<ShownMessage>> = package.answers(cases, options);
    // The words around a summary count; the original has 46 characters in front of the empty line.
    let toml = format!(
        "name = \"t\"\nextends = \"langchain-summarization\"\n\
         [guards]\npairs = false\nno-growth = false\nbreaker = 0\n{fields}\nwhole_groups = false\nonly_smaller = false\n\
         prefix = \"{}\"\nnothing_left = \"{}\"\n",
        "x".repeat(46),
        "x".repeat(48)
    );
    let window = options["window"].as_u64().unwrap();
    let mut folds = 0;
    for (case, theirs) in cases.iter().zip(answers) {
        let scripted = Scripted::always(Some("S"));
        let mut strategy = strategy(&toml);
        Arc::get_mut(&mut strategy).unwrap().summarizer = Some(scripted.clone());
        let numbers: HashMap<&str, i64> =
            case.log.iter().zip(0..).map(|(message, at)| (&*message.id, at)).collect();
        let told = |message: &Arc<Message>| {
            let length = crate::differential::told(message).text().chars().count();
            (numbers.get(&*message.id).copied().unwrap_or(-1), length)
        };
        let mut theirs = theirs.into_iter();
        let mut asked = 0;
        let mut made = 0;
        before_calls(&strategy, Limits::new(window, 0), &case.log, &mut |messages, talk| {
            let expected = theirs.next().unwrap();
            let mut ours = shown(talk);
            if talk.folds().len() > made {
                made = talk.folds().len();
                let requests = scripted.asked();
                // Where nothing is left to summarize, nobody is asked.
                let request = requests.get(asked);
                asked = requests.len();
                let trimmed = request.map(|request| request.messages.iter().map(told).collect());
                ours.trimmed = Some(trimmed.unwrap_or_default());
            }
            assert_eq!(ours, expected, "{options}, {} before message {messages}", case.name);
        });
        folds += made;
    }
    folds
}

#[test]
#[ignore = "needs LangChain: cargo xtask test-external langchain"]
fn the_same_messages_are_kept_and_summarized() {
    for (what, cases) in [("recorded", recorded()), ("drawn", generated(500))] {
        for (fields, options) in [
            (
                "[filter]",
                json!({"window": 20_000, "trigger": ["fraction", 0.8], "keep": ["messages", 20]}),
            ),
            (
                "[overflow]\nlimit = 4_000\nshare = 1.0\n[filter]\nkeep_messages = 7",
                json!({"window": 20_000, "trigger": ["tokens", 4_000], "keep": ["messages", 7]}),
            ),
            (
                "[filter]\nkeep_fraction = 0.3",
                json!({"window": 8_000, "trigger": ["fraction", 0.8], "keep": ["fraction", 0.3]}),
            ),
        ] {
            let folds = folds(fields, &options, &cases);
            println!("{what}: {} sessions, {options}: {folds} folds, all the same", cases.len());
            assert!(folds > 100, "{what}: {folds} folds");
        }
        assert!(cases.len() >= 20, "{what}: {} sessions", cases.len());
    }
}
