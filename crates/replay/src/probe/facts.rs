//! Facts that are found by what calls did and what results report: files, failures, tests, the task list.

use super::candidate::{Candidate, Pool};
use super::{Holder, Kind};
use crate::read::index::{Action, Index, LogPart, failure_line};
use foldback_core::log::{Message, PartKind, open_items};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Characters that an error line has at least and at most.
const LINE: std::ops::RangeInclusive<usize> = 8..=200;

/// All of them.
pub(super) fn facts(index: &Index, log: &[Arc<Message>]) -> Vec<Candidate> {
    let mut found = edited(index, log);
    found.extend(failures(index, log));
    found.extend(tests(log));
    found.extend(tasks(log));
    found
}

/// The newest and the oldest of a list, if they differ, each with its word.
fn ends<T: PartialEq>(list: &[T]) -> impl Iterator<Item = (&T, &'static str)> {
    let newest = list.last().map(|one| (one, "latest"));
    let oldest = list.first().filter(|one| list.last() != Some(one)).map(|one| (one, "first"));
    newest.into_iter().chain(oldest)
}

fn edited(index: &Index, log: &[Arc<Message>]) -> Vec<Candidate> {
    let failed: BTreeSet<&str> = log
        .iter()
        .zip(&index.failed)
        .filter(|(_, failed)| **failed)
        .flat_map(|(message, _)| message.parts.iter().filter_map(|part| part.as_result()))
        .map(|result| result.call_id.as_str())
        .collect();
    let acts = index.acts.iter().filter(|(at, _, _)| at.0 < log.len());
    let pool: Pool = acts.clone().map(|(_, _, path)| path.clone()).collect();
    let succeeded = |at: &LogPart| {
        let call = log[at.0].parts[at.1].as_call();
        call.is_some_and(|call| !failed.contains(call.call_id.as_str()))
    };
    let edits: Vec<(&String, LogPart)> = acts
        .filter(|(at, action, _)| *action != Action::Read && succeeded(at))
        .map(|(at, _, path)| (path, *at))
        .collect();
    let question = |((path, at), which): (&(&String, LogPart), &str)| {
        let word = if which == "latest" { "last" } else { "first" };
        let text = format!("Which file did the agent write or edit {word}? Give its path.");
        let place = (Kind::Edited, Holder::Call, *at);
        Candidate::new(place, text, (*path).clone(), Arc::clone(&pool)).path(true)
    };
    // A file that was both is asked for once.
    let mut questions: Vec<Candidate> = ends(&edits).map(question).collect();
    questions.dedup_by(|a, b| a.question.expected == b.question.expected);
    questions
}

fn failures(index: &Index, log: &[Arc<Message>]) -> Vec<Candidate> {
    let failed = log.iter().zip(&index.failed).enumerate().filter(|(_, (_, failed))| **failed);
    let lines: Vec<(String, LogPart)> = failed
        .filter_map(|(at, (message, _))| {
            let (part, line) = failure_line(message)?;
            Some((line.trim().to_owned(), (at, part)))
        })
        .collect();
    let fits = |line: &str| LINE.contains(&line.chars().count());
    let pool: Pool = lines.iter().map(|(line, _)| line.clone()).filter(|line| fits(line)).collect();
    asked(ends(&lines).filter(|((line, _), _)| fits(line)), &pool, |which| {
        format!(
            "Which line states the error in the {which} tool result that reports a failure? Copy the line."
        )
    })
}

/// A question for each failure, which is the latest or the first.
fn asked<'l>(
    failures: impl Iterator<Item = (&'l (String, LogPart), &'static str)>,
    pool: &Pool,
    text: impl Fn(&str) -> String,
) -> Vec<Candidate> {
    let question = |((answer, at), which): (&'l (String, LogPart), &str)| {
        let place = (Kind::Failed, Holder::Result, *at);
        Candidate::new(place, text(which), answer.clone(), Arc::clone(pool))
    };
    failures.map(question).collect()
}

fn tests(log: &[Arc<Message>]) -> Vec<Candidate> {
    let mut names = Vec::new();
    let mut failing: Vec<(String, LogPart)> = Vec::new();
    for (at, message) in log.iter().enumerate() {
        for (number, part) in message.parts.iter().enumerate() {
            let PartKind::Result(result) = &part.kind else { continue };
            let told: Vec<(bool, &str)> = result.text.lines().filter_map(test_of).collect();
            if let Some((_, name)) = told.iter().find(|(failed, _)| *failed) {
                failing.push(((*name).to_owned(), (at, number)));
            }
            names.extend(told.into_iter().map(|(_, name)| name.to_owned()));
        }
    }
    asked(ends(&failing), &names.into(), |which| {
        format!("Which test does the {which} tool result with failing tests name first as failed?")
    })
}

/// The test that a line of pytest, unittest, Go or Rust tells of, and whether it failed.
fn test_of(line: &str) -> Option<(bool, &str)> {
    let line = line.trim();
    let word = |text: &'_ str| text.split_whitespace().next().map_or(0, str::len);
    let first = |rest: &str| (word(rest) > 2).then(|| word(rest));
    let named = |start: &str, failed: bool| {
        let rest = line.strip_prefix(start)?.trim_start();
        Some((failed, &rest[..first(rest)?]))
    };
    // Rust: `test a::b ... FAILED`.
    if let Some(rest) = line.strip_prefix("test ")
        && let Some((name, how)) = rest.split_once(" ... ")
    {
        let failed = how.starts_with("FAILED");
        return (failed || how.starts_with("ok")).then_some((failed, name));
    }
    // pytest with `-v`: `a.py::b PASSED`.
    if let Some((name, how)) = line.split_once(' ')
        && name.contains("::")
        && !name.ends_with("::")
    {
        let failed = how.starts_with("FAILED");
        return (failed || how.starts_with("PASSED")).then_some((failed, name));
    }
    named("--- FAIL: ", true)
        .or_else(|| named("--- PASS: ", false))
        .or_else(|| named("FAILED ", true).filter(|(_, name)| name.contains("::")))
        .or_else(|| named("FAIL: ", true).filter(|(_, name)| name.starts_with("test")))
        .or_else(|| named("ERROR: ", true).filter(|(_, name)| name.starts_with("test")))
}

fn tasks(log: &[Arc<Message>]) -> Vec<Candidate> {
    let mut all = Vec::new();
    let mut latest = None;
    for (at, message) in log.iter().enumerate() {
        for (number, part) in message.parts.iter().enumerate() {
            let Some(call) = part.as_call() else { continue };
            let Some(items) = open_items(&call.arguments_value()) else { continue };
            latest = items.first().map(|first| (first.clone(), (at, number)));
            all.extend(items);
        }
    }
    let pool: Pool = all.into();
    let question = |(first, at): (String, LogPart)| {
        Candidate::new(
            (Kind::Task, Holder::Call, at),
            "Which item of the agent's latest task list is in progress, or, if none is, open and first? Copy it."
                .to_owned(),
            first,
            pool,
        )
    };
    latest.map(question).into_iter().collect()
}

#[cfg(test)]
mod table {
    use super::test_of;

    #[test]
    fn lines_of_test_runs() {
        let cases = [
            ("FAILED tests/a.py::test_b - assert 1 == 2", Some((true, "tests/a.py::test_b"))),
            ("tests/a.py::test_b PASSED   [ 50%]", Some((false, "tests/a.py::test_b"))),
            ("tests/a.py::test_b FAILED   [ 50%]", Some((true, "tests/a.py::test_b"))),
            ("    --- FAIL: TestParse (0.00s)", Some((true, "TestParse"))),
            ("--- PASS: TestParse/empty (0.00s)", Some((false, "TestParse/empty"))),
            ("test log::tests::reads ... FAILED", Some((true, "log::tests::reads"))),
            ("test log::tests::reads ... ok", Some((false, "log::tests::reads"))),
            ("test log::tests::reads ... ignored", None),
            ("FAIL: test_sum (test_calc.Calc)", Some((true, "test_sum"))),
            ("FAIL: it did not work", None),
            ("FAILED (failures=1)", None),
            ("test is what this is", None),
        ];
        for (line, expected) in cases {
            assert_eq!(test_of(line), expected, "{line}");
        }
    }
}
