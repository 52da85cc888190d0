//! The rows of `tunacode-2026-02`, in `safe.toml`, and those of `tunacode-0.2`, which counts in another way, in `sizes_0_2.toml`.

use crate::support::{preset, registry, user_file};
use foldback_core::Limits;
use foldback_core::conversation::{Conversation, Report};
use foldback_core::log::{Answer, Finish, Media, Message, Part, PartKind, Role};
use foldback_core::meter::MeterId;
use foldback_core::moment::Moment;
use foldback_core::outcome::Outcome;
use foldback_core::stage::SummaryError;
use foldback_core::strategy::Strategy;
use foldback_test_support::table;
use foldback_testkit::stand_in::Scripted;
use foldback_testkit::talk;
use serde::de::DeserializeOwned;
use std::sync::Arc;

const NAME: &str = "tunacode-2026-02";
/// No window is smaller: whatever is stored is above the threshold.
const TINY: u64 = 1;

fn rows<T: DeserializeOwned>(group: &str) -> Vec<T> {
    table::rows(include_str!("../rows/safe.toml"), group)
}

/// The preset, with other tokens to keep where these are not its own.
fn keeping(keep: u64, summaries: &Arc<Scripted>) -> Strategy {
    if keep == 20_000 {
        return talk::unguarded(preset(NAME), summaries);
    }
    let toml = format!(
        "name = \"t\"\nextends = \"{NAME}\"\n[filter]\nuse = \"tunacode.summary\"\nkeep_recent_tokens = {keep}\n"
    );
    talk::unguarded(user_file(&toml), summaries)
}

fn image() -> Part {
    let (mime, name, url) = ("image/png".to_owned(), None, "data:,x".to_owned());
    Part::new(PartKind::File(Media { mime, name, url }))
}

/// A conversation of messages in short.
fn said(strategy: Strategy, window: u64, messages: &str) -> Conversation {
    let mut talk = talk::conversation(strategy, Limits::new(window, 0));
    for (at, word) in messages.split(' ').filter(|word| !word.is_empty()).enumerate() {
        let (kind, tokens) = word.split_at(1);
        let text = "x".repeat(4 * tokens.parse::<usize>().expect("tokens"));
        // Id, name and arguments of a call: c, r, {'a': '…'}.
        let call =
            || Part::call("c", "r", format!("{{\"a\":\"{}\"}}", &text[text.len().min(12)..]));
        let ended = Answer { finish: Some(Finish::Stop), ..Answer::default() };
        let id = format!("m{at}");
        talk.append(match kind {
            "u" => Message::user(id, text),
            "i" => Message::user(id, "").with_parts(vec![image()]),
            "t" => Message::tool(id, "c", "r", text),
            "a" => Message::assistant(id, vec![Part::text(text)]).with_answer(ended),
            "C" => Message::assistant(id, vec![call()]).with_answer(ended),
            "c" => Message::assistant(id, vec![call()]),
            "s" => Message::assistant(id, vec![Part::text(&text), call()]),
            _ => Message::assistant(id, vec![Part::text(text)]),
        });
    }
    talk
}

/// The ids behind the summary, and how many messages are gone.
fn boundary(talk: &Conversation) -> usize {
    match talk.folds().is_empty() {
        true => 0,
        false => talk.history().log_len() - (talk.sent().len() - 1),
    }
}

fn at(talk: &mut Conversation, moment: Moment) -> Report {
    talk::at(talk, moment).pop().expect("a report")
}

/// Checks the sizes of a preset. What the threshold is compared with is counted in the same way.
fn counts(preset_name: &str, file: &str, arguments: impl Fn(&str) -> String) {
    let strategy = preset(preset_name);
    let policy = strategy.overflow.as_ref().expect("a policy");
    assert_ne!(policy.meter, MeterId::OWN);
    for estimator in [strategy.estimator(), strategy.counts_for(policy)] {
        table::sizes(file, &**estimator, &arguments);
    }
}

#[test]
fn sizes() {
    let arguments = |text: &str| match text.is_empty() {
        true => "not an object".to_owned(),
        false => format!("{{\"a\":\"{text}\"}}"),
    };
    counts(NAME, include_str!("../rows/safe.toml"), arguments);
    counts("tunacode-0.2", include_str!("../rows/sizes_0_2.toml"), arguments);
}

#[test]
fn triggers() {
    for (id, window, tokens, compacts) in rows::<(String, u64, u64, bool)>("triggers") {
        let strategy = talk::unguarded(preset(NAME), &Scripted::always(Some("s")));
        let mut talk = said(strategy, window, &format!("u{tokens}"));
        // What the original does not store with the messages does not count.
        talk.append(Message::new("s", Role::System, vec![Part::text("x".repeat(4_000))]));
        let decision = at(&mut talk, Moment::TurnStart).decision.expect("a decision");
        assert_eq!(decision.fold, compacts, "{id} {window}: {}", decision.reason);
    }
    let unknown = talk::unguarded(preset(NAME), &Scripted::always(Some("s")));
    let report = at(&mut said(unknown, 0, "u9 a9"), Moment::TurnStart);
    assert!(!report.decision.expect("a decision").fold, "T2-T4: the window is not known");
}

#[test]
fn when_it_acts() {
    let when = preset(NAME).overflow.expect("a policy").when;
    assert_eq!(when, [Moment::TurnStart, Moment::ProviderOverflow]);
}

#[test]
fn boundaries() {
    for (id, keep, messages, expected) in rows::<(String, u64, String, usize)>("boundaries") {
        let mut talk = said(keeping(keep, &Scripted::always(Some("s"))), TINY, &messages);
        let outcome = at(&mut talk, Moment::TurnStart).outcome;
        assert_eq!(boundary(&talk), expected, "{id} {messages}: {outcome:?}");
        if expected == 0 {
            assert_eq!(outcome.why().expect("a reason").code, "no-valid-boundary", "{id}");
        }
    }
}

#[test]
fn forced() {
    for (id, messages, expected) in rows::<(String, String, usize)>("forced") {
        let strategy = talk::unguarded(preset(NAME), &Scripted::always(Some("s")));
        let mut talk = said(strategy, 200_000, &messages);
        at(&mut talk, Moment::Manual);
        assert_eq!(boundary(&talk), expected, "{id} {messages}");
    }
}

#[test]
fn refused() {
    for (id, messages, expected) in rows::<(String, String, usize)>("refused") {
        let strategy = talk::unguarded(preset(NAME), &Scripted::always(Some("s")));
        let mut talk = said(strategy, 200_000, &messages);
        at(&mut talk, Moment::ProviderOverflow);
        assert_eq!(boundary(&talk), expected, "{id} {messages}");
    }
}

#[test]
fn what_becomes_of_a_fold() {
    let outcome = |messages: &str, answer: Result<&str, SummaryError>| {
        let strategy = talk::unguarded(preset(NAME), &Scripted::in_turn([answer]));
        let mut talk = said(strategy, 200_000, messages);
        let outcome = at(&mut talk, Moment::Manual).outcome;
        let same =
            talk::sent_ids(&talk).len() == talk.history().log_len() && talk.folds().is_empty();
        (outcome, same)
    };
    let unavailable = |why: &str| Err(SummaryError::Unavailable(why.to_owned()));
    // Id, messages, what the summarizer says, code of the reason, whether all messages stay.
    for (id, messages, answer, code) in [
        ("T2-6", "", Ok("s"), "no-valid-boundary"),
        ("T2-7", "u5 a5", unavailable("unsupported provider"), "summary-failed"),
        ("T2-8", "u5 a5", unavailable("missing key"), "summary-failed"),
        ("T2-9", "u5 a5", Err(SummaryError::Failed("it raised".to_owned())), "summary-failed"),
        ("T2-9", "u5 a5", Ok("  \n"), "summary-failed"),
        ("T2-11", "u0 u0", Ok("s"), "nothing-to-summarize"),
    ] {
        let (outcome, same) = outcome(messages, answer);
        assert_eq!(outcome.why().expect("a reason").code, code, "{id}");
        assert!(same, "{id}");
        assert_eq!(matches!(outcome, Outcome::Failed(_)), code == "summary-failed", "{id}");
    }
    // An image alone says something.
    for (id, messages) in [("T2-10", "u5 a5"), ("T2-11", "i0 u0")] {
        let (outcome, same) = outcome(messages, Ok("s"));
        assert!(matches!(outcome, Outcome::Changed) && !same, "{id}: {outcome:?}");
    }
}

#[test]
fn a_fold_and_the_next() {
    let summaries = Scripted::by(|request| Ok(format!(" said {} \n", request.messages.len())));
    let mut talk = said(keeping(10, &summaries), TINY, "u5 a5 u5 a5");
    at(&mut talk, Moment::TurnStart);
    // T2-12: the summary stands in front, below its header, without the spaces around it.
    assert_eq!(talk::sent_texts(&talk)[0], "[Compaction summary]\n\nsaid 2");
    assert_eq!(talk::sent_ids(&talk)[1..], ["m2", "m3"]);
    let first = summaries.request(0);
    assert_eq!((first.previous, first.style.as_str()), (None, "tunacode.summary"));
    assert_eq!(first.budget, 4_096);
    // T2-13: the next one updates it; it is no message of its own and does not count.
    talk.append(Message::user("m4", "x".repeat(40)));
    let ended = Answer { finish: Some(Finish::Stop), ..Answer::default() };
    talk.append(Message::assistant("m5", vec![Part::text("y".repeat(40))]).with_answer(ended));
    let report = at(&mut talk, Moment::TurnStart);
    assert_eq!(report.decision.expect("a decision").count, 5 + 5 + 10 + 10);
    let second = summaries.request(1);
    assert_eq!(second.previous.as_deref(), Some("said 2"));
    let ids: Vec<&str> = second.messages.iter().map(|message| &*message.id).collect();
    assert_eq!(ids, ["m2", "m3", "m4"]);
    // T2-14: only when a turn starts.
    for moment in [Moment::CallStart, Moment::StepEnd, Moment::ToolResult, Moment::TurnEnd] {
        assert!(talk::at(&mut talk, moment).is_empty(), "{moment}");
    }
}

#[test]
fn results() {
    for (id, length, shown, end) in rows::<(String, usize, usize, String)>("results") {
        let summaries = Scripted::always(Some("s"));
        let mut talk = said(talk::unguarded(preset(NAME), &summaries), 200_000, "u5 C9");
        talk.append(Message::tool("t", "c", "r", format!(" {}\n", "é".repeat(length))));
        talk.append(Message::user("u", "x"));
        at(&mut talk, Moment::Manual);
        let text = summaries.shown(0).swap_remove(2);
        assert_eq!(text.trim(), format!("{}{end}", "é".repeat(shown)), "{id}");
    }
}

#[test]
fn the_newer_preset_differs_in_what_counts() {
    // T3-T1: a call of 13 tokens above a threshold of 0, which are none in 0.2.3.
    for (name, folds) in [(NAME, true), ("tunacode-0.2", false)] {
        let strategy = talk::unguarded(preset(name), &Scripted::always(Some("s")));
        let mut talk = said(strategy, 36_384, "u0 C13");
        talk.append(Message::tool("t", "c", "r", ""));
        let decision = at(&mut talk, Moment::TurnStart).decision.expect("a decision");
        assert_eq!(decision.fold, folds, "{name}: {}", decision.reason);
    }
    let (older, newer) = (preset(NAME), preset("tunacode-0.2"));
    assert_eq!(newer.preset_limits, older.preset_limits);
    assert!(newer.reproduces.contains("0.2.3"));
}

#[test]
fn the_presets() {
    let strategy = preset("tunacode-0.2");
    assert_eq!(strategy.preset_limits, Limits::new(200_000, 0), "a model that is not known");
    assert!(strategy.deviations.len() > 9 && preset(NAME).reproduces.contains("0.1.78"));
    assert!(registry().preset(NAME).is_some());
}
