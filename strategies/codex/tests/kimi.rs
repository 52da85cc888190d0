//! The conformance rows of `kimi-code`, in `kimi.toml`.

use crate::registry;
use crate::rows::{message, strategy};
use foldback_core::Limits;
use foldback_core::conversation::Conversation;
use foldback_core::log::{EntryKind, Message, Origin, Part, Usage};
use foldback_core::moment::Moment;
use foldback_core::view::ShownMessage;
use foldback_test_support::table;
use foldback_testkit::stand_in::Scripted;
use foldback_testkit::talk;
use serde::de::DeserializeOwned;
use std::sync::Arc;

fn rows<T: DeserializeOwned>(group: &str) -> Vec<T> {
    table::rows(include_str!("../rows/kimi.toml"), group)
}

/// The preset with so many tokens of what the person said, and of its beginning.
pub(crate) fn keeping(keep: u64, head: u64) -> String {
    format!(
        "name = \"here\"\nextends = \"kimi-code\"\n[filter]\nuse = \"kimi.users\"\nkeep_tokens = {keep}\nhead_tokens = {head}\n"
    )
}

#[test]
fn sizes() {
    let strategy = strategy("kimi-code");
    let arguments = |text: &str| format!("{{\"a\":\"{text}\"}}");
    table::sizes(include_str!("../rows/kimi.toml"), &**strategy.estimator(), arguments);
}

#[test]
fn triggers() {
    for (id, window, input, usage, since, compacts) in
        rows::<(String, u64, u64, Vec<u64>, usize, bool)>("triggers")
    {
        let limits = Limits::new(window, 0).with_input(input);
        let mut talk = talk::conversation(strategy("kimi-code"), limits);
        talk.append(Message::user("u", "Go on."));
        talk.append(Message::assistant("a", vec![Part::call("c", "read", "{}")]));
        talk.append(Message::tool("t", "c", "read", "x".repeat(since)));
        let usage = match usage[..] {
            [uncached, output, cache_read, cache_write, reasoning] => Some(Usage {
                uncached,
                output,
                cache_read,
                cache_write,
                reasoning,
                ..Usage::default()
            }),
            _ => None,
        };
        let reports = talk::at_usage(&mut talk, Moment::CallStart, usage);
        let decision = reports.iter().find_map(|report| report.decision.clone()).unwrap();
        assert_eq!(decision.fold, compacts, "{id}: {}", decision.reason);
    }
}

/// What is sent, in short; the texts of what folds left of messages by their lengths.
fn short(talk: &Conversation) -> String {
    let short = |shown: &ShownMessage<'_>| {
        let text = shown.to_message().said();
        let kind = if text.is_empty() { "i".to_owned() } else { format!("p{}", text.len()) };
        match shown.message.origin {
            Origin::Log => kind,
            Origin::Entry(EntryKind::Boundary) => {
                let tokens: String = text.chars().filter(char::is_ascii_digit).collect();
                format!("…{tokens}")
            }
            Origin::Entry(EntryKind::Carried) => format!("~{}", text.len()),
            Origin::Entry(EntryKind::Summary) => "S".to_owned(),
            Origin::Entry(_) => "go-on".to_owned(),
        }
    };
    talk.sent().iter().map(short).collect::<Vec<_>>().join(" ")
}

/// A conversation that folds as the original does below the guards.
fn unguarded(toml: &str, summaries: &Arc<Scripted>) -> Conversation {
    let mut strategy = talk::unguarded(talk::compiled(&registry(), toml), summaries);
    strategy.guards.continuation = false;
    talk::conversation(strategy, Limits::new(1_000_000, 0))
}

fn append(talk: &mut Conversation, messages: &str) {
    let from = talk.history().len();
    let words = messages.split(' ').enumerate();
    talk::append(talk, words.map(|(number, word)| message(from + number, word)));
}

#[test]
fn kept() {
    for (id, messages, expect) in rows::<(String, String, String)>("kept") {
        let own = "name = \"here\"\nextends = \"kimi-code\"\n";
        let mut talk = unguarded(own, &Scripted::always(Some("what was done")));
        append(&mut talk, &messages);
        talk::at(&mut talk, Moment::ProviderOverflow);
        assert_eq!(short(&talk), format!("{expect} S go-on"), "{id}");
    }
}

#[test]
fn cuts() {
    for (id, keep, head, said, expect) in rows::<(String, u64, u64, String, String)>("cuts") {
        let mut talk = unguarded(&keeping(keep, head), &Scripted::always(Some("s")));
        talk.append(Message::user("u", said));
        talk::at(&mut talk, Moment::ProviderOverflow);
        let sent = talk::sent_texts(&talk);
        assert_eq!(format!("{}|{}", sent[0], sent[2]), expect, "{id}");
    }
}

#[test]
fn a_second_fold_keeps_what_the_first_left_and_updates_the_summary() {
    let summaries = Scripted::by(|request| Ok(format!("summary of {}", request.messages.len())));
    let mut talk = unguarded(&keeping(100, 20), &summaries);
    append(&mut talk, "p800 a9 p40");
    talk::at(&mut talk, Moment::Manual);
    assert_eq!(short(&talk), "~80 …110 ~276 p40 S go-on", "KM-S1");
    append(&mut talk, "a9 p36");
    talk::at(&mut talk, Moment::Manual);
    assert_eq!(short(&talk), "~80 …10 ~236 p40 p36 S go-on", "KM-S2");
    let request = summaries.request(1);
    assert_eq!(request.previous.as_deref(), Some("summary of 2"), "KM-S3");
    let ids: Vec<&str> = request.messages.iter().map(|message| &*message.id).collect();
    assert!(ids.len() == 1 && ids[0].starts_with('a'), "KM-S3: {ids:?}");
    assert_eq!(request.budget, 4_096);
}

#[test]
fn a_summary_that_fails_leaves_everything() {
    let mut talk = unguarded(&keeping(100, 20), &Scripted::always(None));
    append(&mut talk, "p800 a9");
    talk::at(&mut talk, Moment::ProviderOverflow);
    assert_eq!((talk.folds().len(), talk.sent().len()), (0, 2), "KM-S4");
}

#[test]
fn calls_whose_results_are_to_come_wait() {
    let mut talk = unguarded(&keeping(100, 20), &Scripted::always(Some("s")));
    talk.append(Message::assistant("a", vec![Part::call("c", "read", "{}")]));
    talk::at(&mut talk, Moment::ProviderOverflow);
    assert_eq!(talk.folds().len(), 0);
}

#[test]
fn defaults() {
    assert_eq!(strategy("kimi-code").preset_limits, Limits::new(262_144, 32_000));
    let ends: foldback_codex::EndsConfig = talk::config(&registry(), "kimi-code", "filter");
    assert_eq!((ends.keep_tokens, ends.head_tokens), (20_000, 2_000));
    let refused = talk::try_compile(&registry(), &keeping(10, 11));
    assert!(refused.unwrap_err().to_string().contains("head_tokens"));
}
