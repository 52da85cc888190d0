//! The conformance rows, in `rows.toml`.

use foldback_core::Limits;
use foldback_core::conversation::Conversation;
use foldback_core::log::{EntryKind, Message, Part, Usage};
use foldback_core::moment::Moment;
use foldback_core::strategy::Strategy;
use foldback_core::view::ShownMessage;
use foldback_dsh::MARKER;
use foldback_test_support::table;
use foldback_testkit::stand_in::Scripted;
use foldback_testkit::talk;
use serde::de::DeserializeOwned;

const PRESET: &str = include_str!("../presets/dsh.toml");

fn rows<T: DeserializeOwned>(group: &str) -> Vec<T> {
    table::rows(include_str!("../rows/rows.toml"), group)
}

/// The preset with other sizes of results, for small windows.
pub(crate) fn pruning(threshold: usize, head: usize, tail: usize) -> String {
    changed(&format!(
        "[[pruner]]\nuse = \"dsh.prune\"\nthreshold_chars = {threshold}\nhead_chars = {head}\ntail_chars = {tail}"
    ))
}

fn changed(sections: &str) -> String {
    format!("name = \"here\"\nextends = \"dsh\"\n{sections}\n")
}

fn strategy(toml: &str) -> Strategy {
    let registry = talk::registry([&foldback_stages::REGISTRATION, &foldback_dsh::REGISTRATION]);
    talk::compiled(&registry, toml)
}

fn usage(classes: &[u64]) -> Option<Usage> {
    let [uncached, output, cache_read, cache_write, reasoning] = classes[..] else { return None };
    Some(Usage { uncached, output, cache_read, cache_write, reasoning, ..Usage::default() })
}

#[test]
fn sizes() {
    let strategy = strategy(PRESET);
    table::sizes(include_str!("../rows/rows.toml"), &**strategy.estimator(), str::to_owned);
}

#[test]
fn triggers() {
    for (id, window, classes, since, compacts) in
        rows::<(String, u64, Vec<u64>, usize, bool)>("triggers")
    {
        let mut talk = talk::conversation(strategy(PRESET), Limits::new(window, 0));
        talk.append(Message::user("u", "Go on."));
        talk.append(Message::assistant("a", vec![Part::call("c", "read", "{}")]));
        talk.append(Message::tool("t", "c", "read", "x".repeat(since)));
        let reports = talk::at_usage(&mut talk, Moment::StepEnd, usage(&classes));
        let decision = reports.iter().find_map(|report| report.decision.clone()).unwrap();
        assert_eq!(decision.fold, compacts, "{id}: {}", decision.reason);
    }
}

/// A conversation that folds as the original does below the guards.
fn unguarded(window: u64) -> Conversation {
    let summaries = Scripted::always(Some("what was done"));
    let strategy = talk::unguarded(strategy(PRESET), &summaries);
    talk::conversation(strategy, Limits::new(window, 0))
}

#[test]
fn prunes() {
    type Row = (String, String, usize, usize, usize);
    for (id, unit, length, head, tail) in rows::<Row>("prunes") {
        let mut talk = unguarded(100);
        talk::append(&mut talk, talk::step(1, "read", unit.repeat(length)));
        talk::at(&mut talk, Moment::StepEnd);
        let text = talk::sent_texts(&talk).remove(1);
        let left = match head {
            0 => unit.repeat(length),
            _ => format!("{}{MARKER}{}", unit.repeat(head), unit.repeat(tail)),
        };
        assert!(text == left, "{id} {length}: {} characters", text.chars().count());
        // What was cut is short enough.
        let folds = talk.folds().len();
        talk::at(&mut talk, Moment::StepEnd);
        assert_eq!(talk.folds().len(), folds, "{id}");
    }
}

/// A message of so many tokens by its letter.
fn sized(at: usize, word: &str) -> Message {
    let (kind, tokens) = word.split_at(1);
    let tokens: usize = tokens.parse().unwrap();
    let text = |besides: usize| "x".repeat((tokens - besides) * 4);
    let id = format!("{kind}{at}");
    match kind {
        "u" => Message::user(id, text(8)),
        "a" => Message::assistant(id, vec![Part::text(text(8))]),
        "c" => Message::assistant(id, vec![Part::call(format!("c{}", at + 1), "read", text(9))]),
        _ => Message::tool(id, format!("c{at}"), "read", text(12)),
    }
}

/// What is sent, in short.
fn sent(talk: &Conversation) -> String {
    let short = |shown: &ShownMessage<'_>| match shown.message.is_entry_of(EntryKind::Summary) {
        true => "S".to_owned(),
        false if shown.to_message().parts.iter().any(|part| part.shown().contains(MARKER)) => {
            format!("{}+", shown.message.id)
        }
        false => shown.message.id.clone(),
    };
    talk.sent().iter().map(short).collect::<Vec<_>>().join(" ")
}

#[test]
fn pressures() {
    for (id, window, result, used, expect) in rows::<(String, u64, usize, u64, String)>("pressures")
    {
        let mut talk = unguarded(window);
        let words =
            ["u3000".to_owned(), "a3000".to_owned(), "c11".to_owned(), format!("t{result}")];
        talk::append(&mut talk, words.iter().enumerate().map(|(at, word)| sized(at, word)));
        talk::at_usage(&mut talk, Moment::StepEnd, usage(&[used, 0, 0, 0, 0]));
        assert_eq!(sent(&talk).replace('c', "a"), expect, "{id} {used}");
    }
}

fn folded(window: u64, messages: &str, moment: Moment) -> Conversation {
    let mut talk = unguarded(window);
    talk::append(&mut talk, messages.split(' ').enumerate().map(|(at, word)| sized(at, word)));
    talk::at(&mut talk, moment);
    talk
}

#[test]
fn cuts() {
    for (id, window, messages, expect) in rows::<(String, u64, String, String)>("cuts") {
        let talk = folded(window, &messages, Moment::StepEnd);
        assert_eq!(sent(&talk), expect, "{id} {messages}");
    }
    for (id, window, messages, expect) in rows::<(String, u64, String, String)>("refusals") {
        let talk = folded(window, &messages, Moment::ProviderOverflow);
        assert_eq!(sent(&talk), expect, "{id} {messages}");
    }
}

#[test]
fn a_second_fold_takes_the_earlier_checkpoint_along() {
    let summaries = Scripted::by(|request| Ok(format!("summary of {}", request.messages.len())));
    let strategy = talk::unguarded(strategy(PRESET), &summaries);
    let mut talk = talk::conversation(strategy, Limits::new(100, 0));
    talk::append(
        &mut talk,
        ["u40", "a40", "a16"].iter().enumerate().map(|(at, word)| sized(at, word)),
    );
    talk::at(&mut talk, Moment::StepEnd);
    talk::append(
        &mut talk,
        ["u40", "a40"].iter().enumerate().map(|(at, word)| sized(at + 3, word)),
    );
    talk::at(&mut talk, Moment::StepEnd);
    assert_eq!(sent(&talk), "S a4", "DSH-S5");
    let request = summaries.request(1);
    assert_eq!(request.previous.as_deref(), Some("summary of 2"));
    let ids: Vec<&str> = request.messages.iter().map(|message| &*message.id).collect();
    assert_eq!((ids, request.budget), (vec!["a2", "u3"], 8_192));
}

#[test]
fn a_summary_that_fails_or_does_not_shrink_leaves_the_results_cut() {
    for summary in [None, Some("x".repeat(60_000))] {
        let mut strategy = strategy(PRESET);
        strategy.guards.summary = false;
        strategy.summarizer = Some(Scripted::always(summary.as_deref()) as _);
        let mut talk = talk::conversation(strategy, Limits::new(20_000, 0));
        let words = ["u3000", "a3000", "c11", "t9000"];
        talk::append(&mut talk, words.iter().enumerate().map(|(at, word)| sized(at, word)));
        talk::at_usage(&mut talk, Moment::StepEnd, usage(&[19_000, 0, 0, 0, 0]));
        assert_eq!(sent(&talk), "u0 a1 c2 t3+", "DSH-S6");
    }
}

#[test]
fn defaults() {
    assert_eq!(strategy(PRESET).preset_limits, Limits::new(1_000_000, 64_000));
    let registry = talk::registry([&foldback_stages::REGISTRATION, &foldback_dsh::REGISTRATION]);
    let prune: foldback_dsh::PruneConfig = talk::config(&registry, "dsh", "pruner[0]");
    assert_eq!((prune.threshold_chars, prune.head_chars, prune.tail_chars), (8_192, 4_096, 1_024));
    assert!(PRESET.contains("\nretain_share = 0.16\nsummary_tokens = 8_192\n"));
}

#[test]
fn what_would_leave_more_than_it_takes_is_refused() {
    let registry = talk::registry([&foldback_stages::REGISTRATION, &foldback_dsh::REGISTRATION]);
    for (toml, field) in [
        (pruning(238, 100, 100), "threshold_chars"),
        (changed("[filter]\nretain_share = 1.1"), "retain_share"),
        (changed("[filter]\nsummary_tokens = 0"), "summary_tokens"),
    ] {
        assert!(
            talk::try_compile(&registry, &toml).unwrap_err().to_string().contains(field),
            "{field}"
        );
    }
    strategy(&pruning(239, 100, 100));
}
