//! The conformance rows, in `rows.toml`.

use crate::registry;
use foldback_codex::middle::{Unit, cut, was_cut};
use foldback_core::Limits;
use foldback_core::conversation::Conversation;
use foldback_core::log::{Media, Message, Part, PartKind, Role, Usage};
use foldback_core::moment::Moment;
use foldback_core::strategy::Strategy;
use foldback_test_support::table;
use foldback_testkit::stand_in::Scripted;
use foldback_testkit::talk;
use serde::de::DeserializeOwned;
use std::sync::Arc;

fn rows<T: DeserializeOwned>(group: &str) -> Vec<T> {
    table::rows(include_str!("../rows/rows.toml"), group)
}

/// A preset that keeps so many tokens.
pub(crate) fn keeping(preset: &str, tokens: usize) -> String {
    format!(
        "name = \"here\"\nextends = \"{preset}\"\n[filter]\nuse = \"codex.users\"\nkeep_tokens = {tokens}\n"
    )
}

pub(crate) fn strategy(preset: &str) -> Strategy {
    talk::compiled(&registry(), &format!("name = \"here\"\nextends = \"{preset}\"\n"))
}

#[test]
fn middles() {
    for (id, origin, text, limit, unit, after) in
        rows::<(String, String, String, usize, Unit, String)>("middles")
    {
        let cut = cut(&text, limit, unit).unwrap_or_default();
        assert_eq!(cut, after, "{id} ({origin})");
    }
}

#[test]
fn recorded() {
    for (id, origin, length, shown) in rows::<(String, String, usize, usize)>("recorded") {
        let mut talk = talk::conversation(strategy("codex"), Limits::new(272_000, 0));
        talk::append(&mut talk, talk::step(1, "shell", "x".repeat(length)));
        talk::at(&mut talk, Moment::ToolResult);
        let text = talk::sent_texts(&talk).remove(1);
        let ends = text.split('…').next().unwrap().len();
        assert_eq!(if ends == length { 0 } else { ends }, shown, "{id} ({origin})");
        // Once is enough.
        let folds = talk.folds().len();
        talk::at(&mut talk, Moment::ToolResult);
        assert_eq!(talk.folds().len(), folds, "{id}");
    }
}

#[test]
fn triggers() {
    type Row = (String, String, u64, Vec<u64>, u64, usize, bool);
    for (id, origin, window, usage, total, since, compacts) in rows::<Row>("triggers") {
        let mut talk = talk::conversation(strategy("codex"), Limits::new(window, 0));
        talk.append(Message::assistant("a", vec![Part::call("c", "shell", "{}")]));
        talk.append(Message::tool("t", "c", "shell", "x".repeat(since)));
        let usage = (usage.len() == 2).then(|| Usage {
            uncached: usage[0],
            output: usage[1],
            total: (total > 0).then_some(total),
            ..Usage::default()
        });
        let reports = talk::at_usage(&mut talk, Moment::StepEnd, usage);
        let decision = reports.iter().find_map(|report| report.decision.clone()).unwrap();
        assert_eq!(decision.fold, compacts, "{id} ({origin}): {}", decision.reason);
    }
}

/// The threshold of the API, and what stays beside its item.
#[test]
fn threshold() {
    for (id, usage, since, compacts) in rows::<(String, Vec<u64>, usize, bool)>("threshold") {
        let mut talk = talk::conversation(strategy("openai-compact"), Limits::new(1_000_000, 0));
        talk.append(Message::user("u", "x".repeat(20_000)));
        talk.append(Message::assistant("a", vec![Part::call("c", "shell", "{}")]));
        talk.append(Message::tool("t", "c", "shell", "x".repeat(since)));
        let usage = Usage { uncached: usage[0], output: usage[1], ..Usage::default() };
        let reports = talk::at_usage(&mut talk, Moment::CallStart, Some(usage));
        let decision = reports.iter().find_map(|report| report.decision.clone()).unwrap();
        assert_eq!(decision.fold, compacts, "{id}: {}", decision.reason);
        // OA-K1: nothing but the item, of the size that is set.
        let sent = talk::sent_texts(&talk);
        let size = strategy("openai-compact").estimator().text(sent.last().unwrap());
        assert_eq!(sent.len() == 1 && size > 4_000 && size < 4_020, compacts, "OA-K1: {size}");
    }
}

#[test]
fn windows() {
    // id, context, limit of the input, tokens from which it compacts.
    for (id, context, input, from) in [
        ("CX-W1", 272_000, 0, 244_800),
        ("CX-W2 what others call the limit of the input", 400_000, 272_000, 244_800),
    ] {
        for (uncached, compacts) in [(from - 1, false), (from, true)] {
            let limits = Limits::new(context, 0).with_input(input);
            let mut talk = talk::conversation(strategy("codex"), limits);
            talk.append(Message::assistant("a", vec![Part::text("x")]));
            // Every class of tokens counts.
            let (cache_read, cache_write, output, reasoning) = (1, 1, 1, 1);
            let uncached = uncached - 4;
            let usage =
                Usage { uncached, cache_read, cache_write, output, reasoning, ..Usage::default() };
            let report = talk::at_usage(&mut talk, Moment::StepEnd, Some(usage)).pop().unwrap();
            assert_eq!(report.decision.unwrap().fold, compacts, "{id} {uncached} + 4");
        }
    }
    for name in ["codex", "codex-remote"] {
        let strategy = strategy(name);
        assert_eq!(strategy.preset_limits, Limits::new(272_000, 128_000), "CX-W3 {name}");
        assert_eq!(strategy.estimator().text("é€"), 2, "CX-W4 {name}: bytes, rounded up");
    }
}

/// What is sent of a message of the user after a refusal, and what the summarizer was asked.
fn refused(preset: &str, text: &str, summaries: &Arc<Scripted>) -> (usize, Vec<String>) {
    let mut strategy = strategy(preset);
    strategy.summarizer = Some(Arc::clone(summaries) as _);
    let mut talk = talk::conversation(strategy, Limits::new(272_000, 0));
    talk.append(Message::user("u", text));
    talk.append(Message::assistant("a", vec![Part::text("y".repeat(900))]));
    talk::at(&mut talk, Moment::ProviderOverflow);
    (talk.folds().len(), talk::sent_texts(&talk))
}

#[test]
fn refusals() {
    for (id, preset, tokens) in [("CX-K1", "codex", 20_000), ("CX-K2", "codex-remote", 64_000)] {
        for (more, whole) in [(0, true), (4, false)] {
            let text = "x".repeat(tokens * 4 + more);
            let summaries = Scripted::always(Some("s"));
            let (folds, sent) = refused(preset, &text, &summaries);
            assert_eq!(folds, 1, "{id}: the provider's refusal is reason enough");
            assert_eq!(sent[0] == text, whole, "{id} +{more}");
            assert_eq!(summaries.request(0).budget, 4_096, "{id}");
        }
        // A message without text takes nothing of it, or a token.
        let mut talk = talk::conversation(strategy(preset), Limits::new(272_000, 0));
        let image = PartKind::File(Media { mime: "image/png".into(), ..Media::default() });
        talk.append(Message::user("old", "word"));
        talk.append(Message::new("image", Role::User, vec![Part::new(image)]));
        talk.append(Message::user("new", "x".repeat(tokens * 4 - 4)));
        talk.append(Message::assistant("a", vec![Part::text("y".repeat(9_000))]));
        talk::at(&mut talk, Moment::ProviderOverflow);
        let stays = talk::sent_texts(&talk).contains(&"word".to_owned());
        assert_eq!(stays, preset == "codex", "{id}: {:?}", talk::sent_ids(&talk));
        let (folds, sent) = refused(preset, "x", &Scripted::always(None));
        assert_eq!((folds, sent.len()), (0, 2), "CX-S1 {preset}: no summary, and all stays");
    }
}

/// A message in short.
pub(crate) fn message(number: usize, word: &str) -> Message {
    let (kind, length) = word.split_at(1);
    let text = "x".repeat(length.parse().unwrap_or(0));
    let id = format!("{kind}{number}");
    match kind {
        "p" => Message::user(id, text),
        "h" => Message::new(id, Role::User, vec![Part::synthetic(text)]),
        "i" => {
            let media = Media { mime: "image/png".to_owned(), ..Media::default() };
            Message::new(id, Role::User, vec![Part::new(PartKind::File(media))])
        }
        "r" => {
            let thought =
                PartKind::Reasoning { text: text.clone(), opaque: Some("signed".to_owned()) };
            Message::assistant(id, vec![Part::new(thought), Part::text(text)])
        }
        "d" => Message::new(id, Role::System, vec![Part::text(text)]),
        _ => Message::assistant(id, vec![Part::text(text)]),
    }
}

/// What is sent, in short: the last message apart.
fn short(talk: &Conversation) -> (Vec<String>, String) {
    let mut texts = talk::sent_texts(talk);
    let last = texts.pop().unwrap();
    let short = |text: &String| match text.split_once('…') {
        Some((before, rest)) => {
            let (missing, after) = rest.split_once(" tokens truncated…").unwrap();
            format!("p{}+{missing}", before.len() + after.len())
        }
        None if text.is_empty() => "i".to_owned(),
        None => format!("p{}", text.len()),
    };
    (texts.iter().map(short).collect(), last)
}

#[test]
fn kept() {
    for (id, origin, preset, keep, messages, expect) in
        rows::<(String, String, String, usize, String, String)>("kept")
    {
        let strategy = talk::compiled(&registry(), &keeping(&preset, keep));
        let strategy = talk::unguarded(strategy, &Scripted::always(Some("what was done")));
        let mut talk = talk::conversation(strategy, Limits::new(272_000, 0));
        let messages = messages.split(' ').enumerate().map(|(number, word)| message(number, word));
        // A message that no one keeps, so that there is something to fold.
        talk::append(&mut talk, messages.chain([message(99, "a9")]));
        talk::at(&mut talk, Moment::Manual);
        let (kept, last) = short(&talk);
        assert_eq!(kept.join(" "), expect, "{id} ({origin})");
        assert!(last.ends_with(":\nwhat was done"), "{id}: {last}");
    }
}

#[test]
fn a_second_fold_keeps_the_person_and_updates_the_summary() {
    let summaries = Scripted::by(|request| Ok(format!("summary of {}", request.messages.len())));
    let strategy = talk::unguarded(strategy("codex"), &summaries);
    let mut talk = talk::conversation(strategy, Limits::new(272_000, 0));
    talk::append(
        &mut talk,
        ["p5", "a9"].into_iter().enumerate().map(|(number, word)| message(number, word)),
    );
    talk::at(&mut talk, Moment::Manual);
    // Nothing but what is kept: nothing to do.
    talk::at(&mut talk, Moment::Manual);
    assert_eq!(talk.folds().len(), 1);
    talk::append(
        &mut talk,
        ["p6", "a9"].into_iter().enumerate().map(|(number, word)| message(number + 2, word)),
    );
    talk::at(&mut talk, Moment::Manual);
    let request = summaries.request(1);
    assert_eq!(request.previous.as_deref(), Some("summary of 1"));
    let ids: Vec<&str> = request.messages.iter().map(|message| &*message.id).collect();
    assert_eq!(ids, ["a3"], "the earlier summary goes apart, and what stays is left out");
    assert_eq!(talk::sent_ids(&talk)[..2], ["p0", "p2"]);
    assert_eq!(talk.sent().len(), 3);
}

#[test]
fn a_text_that_was_cut_is_known_by_its_note() {
    let long = "words of a result, 😀 and äöü; ".repeat(40);
    for unit in [Unit::Tokens, Unit::Bytes] {
        for limit in [10, 33, 50, 64, 101] {
            let once = cut(&long, limit, unit).unwrap_or_default();
            assert!(!was_cut(&long, limit, unit), "{limit}");
            assert!(was_cut(&once, limit, unit), "{limit} {unit:?}: {once}");
            // More was said since, or the limit is lower.
            assert!(!was_cut(&format!("{once}{long}"), limit, unit), "{limit}");
            assert!(!was_cut(&once, limit / 2, unit), "{limit} {unit:?}: {once}");
        }
    }
}
