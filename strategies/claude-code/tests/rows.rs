//! The conformance rows, in `rows.toml`.

use crate::registry;
use foldback_core::Limits;
use foldback_core::log::{EntryKind, Message, Part, Role, Usage};
use foldback_core::moment::Moment;
use foldback_core::strategy::Strategy;
use foldback_test_support::table;
use foldback_testkit::stand_in::Scripted;
use foldback_testkit::talk;
use serde::de::DeserializeOwned;

fn rows<T: DeserializeOwned>(group: &str) -> Vec<T> {
    table::rows(include_str!("../rows/rows.toml"), group)
}

pub(crate) fn strategy(preset: &str) -> Strategy {
    talk::compiled(&registry(), &format!("name = \"here\"\nextends = \"{preset}\"\n"))
}

#[test]
fn triggers() {
    type Row = (String, String, String, u64, Vec<u64>, usize, bool);
    for (id, origin, preset, window, usage, since, compacts) in rows::<Row>("triggers") {
        let mut talk = talk::conversation(strategy(&preset), Limits::new(window, 0));
        talk.append(Message::assistant("a", vec![Part::call("c", "Bash", "{}")]));
        talk.append(Message::tool("t", "c", "Bash", "x".repeat(since)));
        let usage = (usage.len() == 4).then(|| Usage {
            uncached: usage[0],
            output: usage[1],
            cache_read: usage[2],
            cache_write: usage[3],
            ..Usage::default()
        });
        let reports = talk::at_usage(&mut talk, Moment::CallStart, usage);
        let decision = reports.iter().find_map(|report| report.decision.clone()).unwrap();
        assert_eq!(decision.fold, compacts, "{id} ({origin}): {}", decision.reason);
    }
}

#[test]
fn clearings() {
    for (id, origin, used, results_in_short, cleared) in
        rows::<(String, String, u64, String, Vec<usize>)>("clearings")
    {
        let limits = Limits::new(200_000, 0);
        let mut talk = talk::conversation(strategy("claude-code-2.1.17"), limits);
        for (at, result) in results_in_short.split(' ').enumerate() {
            let (tool, tokens) = result.split_once(':').unwrap();
            let text = "x".repeat(tokens.parse::<usize>().unwrap() * 4);
            let call = format!("c{at}");
            talk.append(Message::assistant(format!("a{at}"), vec![Part::call(&call, tool, "{}")]));
            talk.append(Message::tool(format!("t{at}"), &call, tool, text));
        }
        talk.append(Message::assistant("last", vec![Part::text("")]));
        let usage = (used > 0).then(|| Usage { uncached: used, ..Usage::default() });
        talk::at_usage(&mut talk, Moment::CallStart, usage);
        let placeholder = "[Old tool result content cleared]";
        let texts = talk::sent_texts(&talk);
        let results = texts.iter().skip(1).step_by(2).zip(0..);
        let found = results.filter(|(text, _)| *text == placeholder).map(|(_, index)| index);
        assert_eq!(found.collect::<Vec<usize>>(), cleared, "{id} ({origin}): {results_in_short}");
    }
}

#[test]
fn folds() {
    type Row = (String, String, String, String, Vec<String>, Vec<String>);
    for (id, origin, preset, messages, first, second) in rows::<Row>("folds") {
        let summaries = Scripted::always(Some("what happened"));
        let strategy = talk::unguarded(strategy(&preset), &summaries);
        let mut talk = talk::conversation(strategy, Limits::new(200_000, 0));
        for (at, word) in messages.split(' ').enumerate() {
            talk.append(match word {
                "s" => Message::new("s", Role::System, vec![Part::text("Rules.")]),
                "u" => Message::user(format!("u{at}"), "Go on."),
                "t" => Message::tool(format!("t{at}"), "c", "Bash", "done"),
                _ if messages.split(' ').nth(at + 1) == Some("t") => {
                    Message::assistant("a", vec![Part::call("c", "Bash", "{}")])
                }
                _ => Message::assistant(format!("a{at}"), vec![Part::text("Done.")]),
            });
        }
        for expect in [&first, &second] {
            talk::at(&mut talk, Moment::Manual);
            let sent = talk.sent();
            let found: Vec<&str> = sent
                .iter()
                .map(|shown| match shown.message.is_entry_of(EntryKind::Summary) {
                    true => "summary",
                    false => shown.message.role.as_str(),
                })
                .collect();
            assert_eq!(found, *expect, "{id} ({origin})");
        }
        let folds = 1 + usize::from(first != second);
        assert_eq!(talk.folds().len(), folds, "{id}: a summary alone is not summarized");
    }
}

#[test]
fn a_second_summary_has_the_first_before_it() {
    let summaries = Scripted::by(|request| Ok(format!("up to {}", request.messages[0].id)));
    let strategy = talk::unguarded(strategy("claude-code"), &summaries);
    let mut talk = talk::conversation(strategy, Limits::new(200_000, 0));
    for id in ["u1", "u2"] {
        talk.append(Message::user(id, "Go on."));
        talk::at(&mut talk, Moment::Manual);
    }
    let request = summaries.request(1);
    assert_eq!((request.previous.as_deref(), request.messages.len()), (Some("up to u1"), 1));
}

/// The usage of an answer is told when the answer is there; the policy asks before the next call.
#[test]
fn usage_is_kept_until_the_next_answer_or_fold() {
    let mut talk = talk::conversation(strategy("claude-code"), Limits::new(200_000, 0));
    talk.append(Message::assistant("a", vec![Part::call("c", "Bash", "{}")]));
    talk.append(Message::tool("t", "c", "Bash", "done ".repeat(50_000)));
    let usage = Usage { uncached: 166_999, ..Usage::default() };
    talk::at_usage(&mut talk, Moment::StepEnd, Some(usage));
    let counted = |talk: &mut _| talk::at(talk, Moment::CallStart)[0].decision.clone().unwrap();
    assert_eq!(counted(&mut talk).count, 166_999 + 62_500);
    assert_eq!(talk.folds().len(), 1);
    assert_eq!(counted(&mut talk).reason, "no usage of a last answer is known");
    talk::at_usage(&mut talk, Moment::StepEnd, Some(usage));
    talk.append(Message::assistant("b", vec![Part::text("Done.")]));
    assert_eq!(counted(&mut talk).reason, "no usage of a last answer is known");
}
