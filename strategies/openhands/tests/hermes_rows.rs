//! The conformance rows of `hermes`, in `hermes_rows.toml`.

use crate::registry;
use foldback_core::Limits;
use foldback_core::conversation::Conversation;
use foldback_core::fold_stats::FoldStats;
use foldback_core::log::{EntryKind, Message, Part, Usage};
use foldback_core::moment::Moment;
use foldback_core::stage::{Pressure, UsageReading, UsageSource};
use foldback_core::strategy::Strategy;
use foldback_openhands::hermes::{budget, line};
use foldback_test_support::table;
use foldback_testkit::stand_in::Scripted;
use foldback_testkit::talk;
use serde::de::DeserializeOwned;
use std::collections::VecDeque;
use std::sync::Arc;

const OWN: &str = "name = \"here\"\nextends = \"hermes\"\n";

fn rows<T: DeserializeOwned>(group: &str) -> Vec<T> {
    table::rows(include_str!("../rows/hermes_rows.toml"), group)
}

fn strategy() -> Strategy {
    talk::compiled(&registry(), OWN)
}

#[test]
fn sizes() {
    table::sizes(
        include_str!("../rows/hermes_rows.toml"),
        &**strategy().estimator(),
        str::to_owned,
    );
    for (id, role, parts, tokens) in rows::<(String, String, String, u64)>("budgets") {
        let message = table::message(&role, &parts, str::to_owned);
        assert_eq!(budget(&message), tokens, "{id} {role} {parts}");
    }
}

fn decides(pressure: &Pressure<'_>) -> foldback_core::stage::Decision {
    strategy().overflow.unwrap().stage.decide(pressure)
}

#[test]
fn triggers() {
    for (id, window, tokens) in rows::<(String, u64, u64)>("thresholds") {
        for (view_tokens, fold) in [(tokens - 1, false), (tokens, true)] {
            let pressure = Pressure::at(Moment::CallStart, Limits::new(window, 0));
            let decision = decides(&Pressure { view_tokens, ..pressure });
            assert_eq!((decision.fold, decision.trigger), (fold, tokens), "{id} {window}");
        }
    }
    for (id, window, usage, estimate, left, fold) in
        rows::<(String, u64, [u64; 4], u64, u64, bool)>("pressures")
    {
        let [uncached, cache_read, cache_write, output] = usage;
        let usage = Usage { uncached, cache_read, cache_write, output, ..Usage::default() };
        let folds = [FoldStats { tokens_after: left, ..FoldStats::default() }];
        let pressure = Pressure::at(Moment::CallStart, Limits::new(window, 0));
        // The frame counts in both.
        let decision = decides(&Pressure {
            usage: Some(UsageReading { usage, source: UsageSource::Provider }),
            view_tokens: estimate - 100,
            frame_tokens: 100,
            fold_stats: &folds
                .map(|one| FoldStats { tokens_after: left.saturating_sub(100), ..one })
                [..usize::from(left > 0)],
            ..pressure
        });
        assert_eq!(decision.fold, fold, "{id}: {}", decision.reason);
    }
}

/// The messages of a row.
fn messages(words: &str) -> Vec<Message> {
    let mut open = VecDeque::new();
    let message = |(at, word): (usize, &str)| {
        let (kind, size) = word.split_at(1);
        let size: usize = size.parse().unwrap();
        let (id, text) = (at.to_string(), "x".repeat(size));
        let mut calls = |count: usize, arguments: &str| {
            open = (0..count).map(|call| format!("c{at}.{call}")).collect();
            let calls = open.iter().map(|id| Part::call(id, "read", arguments));
            Message::assistant(id.clone(), calls.collect())
        };
        match kind {
            "u" => Message::user(id, text),
            "a" => Message::assistant(id, vec![Part::text(text)]),
            "S" => Message::user(id, text).as_entry(EntryKind::Summary),
            "c" => calls(size, "{}"),
            "k" => calls(1, &format!("{{\"a\":\"{}\"}}", "x".repeat(size - 8))),
            _ => {
                let text =
                    if kind == "d" { text } else { format!("{at}:{text}")[..size].to_owned() };
                Message::tool(id, open.pop_front().unwrap(), "read", text)
            }
        }
    };
    words.split_whitespace().enumerate().map(message).collect()
}

/// A conversation of these messages that a person folds, as the original does below the guards, and its summaries.
fn folded(window: u64, messages: Vec<Message>, summary: &str) -> (Conversation, Arc<Scripted>) {
    let summaries = Scripted::always(Some(summary));
    let strategy = talk::unguarded(strategy(), &summaries);
    let mut talk = talk::conversation(strategy, Limits::new(window, 0));
    talk::append(&mut talk, messages);
    talk::at(&mut talk, Moment::Manual);
    (talk, summaries)
}

/// Numbers of messages in runs, the new summary as S.
fn runs(ids: impl Iterator<Item = String>) -> String {
    let mut runs: Vec<(Option<usize>, Option<usize>)> = Vec::new();
    for id in ids {
        let number: Option<usize> = id.parse().ok();
        match runs.last_mut() {
            Some((_, last)) if number.is_some() && last.map(|last| last + 1) == number => {
                *last = number;
            }
            _ => runs.push((number, number)),
        }
    }
    let run = |run: (Option<usize>, Option<usize>)| match run {
        (Some(first), Some(last)) if first < last => format!("{first}-{last}"),
        (Some(first), _) => first.to_string(),
        _ => "S".to_owned(),
    };
    runs.into_iter().map(run).collect::<Vec<_>>().join(" ")
}

#[test]
fn cuts() {
    for (id, window, words, expected) in rows::<(String, u64, String, String)>("cuts") {
        let (talk, summaries) = folded(window, messages(&words), "s");
        let asked = summaries.asked();
        let shown = match asked.first() {
            None => "nothing".to_owned(),
            Some(request) => {
                let shown = runs(talk::sent_ids(&talk).into_iter());
                let goes: Vec<&str> = request.messages.iter().map(|one| &*one.id).collect();
                format!("{shown} | {}-{}", goes[0], goes[goes.len() - 1])
            }
        };
        assert_eq!(shown, expected, "{id} {window} {words}");
    }
}

#[test]
fn lines() {
    for (id, window, words, expected) in rows::<(String, u64, String, String)>("lines") {
        let all = messages(&words);
        // What is summarized shows its lines to the summarizer.
        let (talk, summaries) = folded(window, all.clone(), "s");
        let seen = summaries.asked().first().map(|request| request.messages.clone());
        let sent = talk.sent();
        let sent = sent.iter().map(|shown| shown.to_shared());
        let shown: Vec<Arc<Message>> = sent.chain(seen.into_iter().flatten()).collect();
        let change = |before: &Message| {
            let now = shown.iter().find(|shown| shown.id == before.id).unwrap().shown_text();
            let kind = match before.role.as_str() {
                _ if now == before.shown_text() => return None,
                "assistant" => "k",
                _ if now.starts_with("[Duplicate") => "d",
                _ => "l",
            };
            Some(format!("{}{kind}", before.id))
        };
        let changes: Vec<String> = all.iter().filter_map(change).collect();
        assert_eq!(changes.join(" "), expected, "{id} {window} {words}");
    }
}

#[test]
fn lines_of_tools() {
    for (id, tool, arguments, result, expected) in
        rows::<(String, String, String, String, String)>("of_tools")
    {
        assert_eq!(line(&tool, &arguments, &result), expected, "{id}");
    }
}

#[test]
fn arguments() {
    for (id, arguments, expected) in rows::<(String, String, String)>("arguments") {
        let mut all = messages(
            "u4 c1 r4 {repeat:15:u40 a40 }"
                .replace("{repeat:15:u40 a40 }", &"u40 a40 ".repeat(15))
                .as_str(),
        );
        all[1].parts = vec![Part::call("c1.0", "read", arguments)];
        let (talk, _) = folded(1_000, all, "s");
        assert_eq!(talk::sent_texts(&talk)[1], expected, "{id}");
    }
}

#[test]
fn what_the_summarizer_sees() {
    for (id, kind, size, beginning, end) in rows::<(String, String, usize, usize, usize)>("seen") {
        let text = "é".repeat(size - 1) + "z";
        let message = match &*kind {
            "u" => Message::user("3", &text),
            "r" => Message::tool("4", "c", "read", &text),
            "k" => Message::assistant("3", vec![Part::call("c", "read", &text)]),
            _ => Message::assistant("3", vec![Part::text(&text)]),
        };
        let mut all = messages("u4 a4 u4");
        if kind == "r" {
            all.push(Message::assistant("3", vec![Part::call("c", "read", "{}")]));
        }
        all.push(message);
        if kind == "k" {
            all.push(Message::tool("4", "c", "read", "ok"));
        }
        let more = (9..22).map(|at| Message::user(at.to_string(), "x".repeat(40_000)));
        all.extend(more);
        // So few that no result is old.
        let (_, summaries) = folded(100_000, all, "s");
        let seen = &summaries.asked()[0].messages[usize::from(kind == "r")];
        let expected = match (end, &*kind) {
            (0, "k") if beginning < size => "é".repeat(beginning) + "...",
            (0, _) => text,
            _ => format!("{}\n...[truncated]...\n{}z", "é".repeat(beginning), "é".repeat(end - 1)),
        };
        assert_eq!(seen.shown_text(), expected, "{id}");
    }
}

#[test]
fn summaries() {
    for (id, window, goes, tokens) in rows::<(String, u64, u64, u64)>("budgets_of_summaries") {
        // A message of the user is 32 characters as Python prints it, besides its text.
        let mut all = messages("u4 a4 u4 u4 u4");
        let rest = 2 * strategy().estimator().count(&all[4]).total();
        all.push(Message::user("5", "x".repeat((goes - rest) as usize * 4 - 32)));
        let big = "x".repeat(window as usize * 2);
        all.extend((6..14).map(|at| Message::user(at.to_string(), &big)));
        let (_, summaries) = folded(window, all, "s");
        let request = &summaries.asked()[0];
        assert_eq!(request.messages.len(), 3, "{id}");
        assert_eq!(request.budget, tokens, "{id}");
    }
    for (id, said, expected) in rows::<(String, Vec<String>, String)>("focus") {
        let mut all = messages("a4 a4 a4 a4 a4 a4 a4 a4 a4 a4");
        all.extend(said.iter().zip(10..).map(|(text, at)| Message::user(at.to_string(), text)));
        let (_, summaries) = folded(1_000, all, "s");
        assert_eq!(summaries.asked()[0].instructions, [expected], "{id}");
    }
    for (id, summary, asked, before, request, after) in
        rows::<(String, String, String, String, String, String)>("grounded")
    {
        let mut all = messages("u4 a4 u4");
        all.push(Message::user("3", asked));
        all.extend(messages("u4 a4 u4 u4 a4 a4").drain(4..));
        all.extend((6..14).map(|at| Message::user(at.to_string(), "x".repeat(400))));
        let (talk, summaries) = folded(1_000, all, &summary);
        assert_eq!(summaries.asked()[0].messages.len(), 2, "{id}");
        let text = talk.sent()[3].to_message().said();
        let text = text.split_once('\n').unwrap().1;
        let text = text.rsplit_once("\n\n").unwrap().0;
        let (ours, rest) = text
            .split_once("## Historical Task Snapshot\nThe user asked, in these words: ")
            .unwrap();
        let (said, rest) = rest.split_once('\n').unwrap();
        let rest = rest.split_once('.').unwrap().1;
        assert_eq!((ours, said, rest), (&*before, &*request, &*after), "{id}");
    }
}

#[test]
fn a_summary_that_fails_leaves_the_messages_and_their_lines() {
    let mut strategy = strategy();
    strategy.summarizer = Some(Scripted::always(None) as _);
    let mut talk = talk::conversation(strategy, Limits::new(1_000, 0));
    talk::append(&mut talk, messages(&format!("u40 {}", "c1 r300 ".repeat(15))));
    talk::at(&mut talk, Moment::ProviderOverflow);
    assert_eq!((talk.sent().len(), talk.view().edits().len()), (31, 5), "HM-D1");
}

#[test]
fn two_folds_that_do_not_help_are_the_last() {
    let mut strategy = strategy();
    strategy.summarizer = Some(Scripted::always(None) as _);
    let mut talk = talk::conversation(strategy, Limits::new(400, 0));
    talk::append(&mut talk, messages(&"u40 a40 ".repeat(20)));
    let held = (0..4).map(|round| {
        talk.append(Message::assistant(format!("n{round}"), vec![Part::text("x".repeat(400))]));
        let reports = talk::at(&mut talk, Moment::CallStart);
        reports.iter().any(|report| format!("{:?}", report.outcome).contains("breaker-open"))
    });
    assert_eq!(held.collect::<Vec<_>>(), [false, false, true, true], "HM-D2 (1615 to 1624)");
}

#[test]
fn the_window_where_none_is_known() {
    assert_eq!(
        strategy().preset_limits,
        Limits::new(256_000, 0),
        "HM-D3 agent/model_metadata.py:189"
    );
}
