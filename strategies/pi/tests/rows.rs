//! The conformance rows, in `rows.toml`.

use foldback_core::Limits;
use foldback_core::conversation::{Conversation, Signals};
use foldback_core::log::{Message, Part, PartKind, Usage};
use foldback_core::moment::Moment;
use foldback_core::registry::Registry;
use foldback_core::stage::SummaryRequest;
use foldback_core::strategy::Strategy;
use foldback_pi::cut::{Cut, Unit, first_kept};
use foldback_pi::files::Files;
use foldback_test_support::table;
use foldback_testkit::stand_in::Scripted;
use foldback_testkit::talk;
use serde::de::DeserializeOwned;
use std::sync::Arc;

const PRESET: &str = include_str!("../presets/pi.toml");

fn rows<T: DeserializeOwned>(group: &str) -> Vec<T> {
    table::rows(include_str!("../rows/rows.toml"), group)
}

/// The preset with another reserve and other tokens to keep, for small windows.
pub(crate) fn preset(reserve: u64, keep: u64) -> String {
    format!(
        "name = \"here\"\nextends = \"pi\"\n[overflow]\nreserve = {reserve}\n[filter]\nkeep_recent_tokens = {keep}\n"
    )
}

pub(crate) fn registry() -> Registry {
    talk::registry([&foldback_stages::REGISTRATION, &foldback_pi::REGISTRATION])
}

fn strategy(toml: &str) -> Strategy {
    talk::compiled(&registry(), toml)
}

/// Messages in short: a letter for the role and the tokens.
pub(crate) fn short(messages: &str) -> impl Iterator<Item = (char, u64)> {
    messages.split(' ').map(|word| {
        let (role, tokens) = word.split_at(1);
        (role.chars().next().unwrap(), tokens.parse().unwrap())
    })
}

#[test]
fn sizes() {
    let strategy = strategy(PRESET);
    table::sizes(include_str!("../rows/rows.toml"), &**strategy.estimator(), str::to_owned);
}

#[test]
fn triggers() {
    type Row = (String, u64, Vec<u64>, u64, usize, bool);
    for (id, window, usage, total, since, compacts) in rows::<Row>("triggers") {
        let mut talk = talk::conversation(strategy(PRESET), Limits::new(window, 0));
        talk::append(
            &mut talk,
            [
                Message::user("u", "Go on."),
                Message::assistant("a", vec![Part::call("c", "read", "{}")]),
            ],
        );
        talk.append(Message::tool("t", "c", "read", "x".repeat(since * 4)));
        let usage = (usage.len() >= 4).then(|| Usage {
            reasoning: usage.get(4).copied().unwrap_or_default(),
            uncached: usage[0],
            output: usage[1],
            cache_read: usage[2],
            cache_write: usage[3],
            total: (total > 0).then_some(total),
            ..Usage::default()
        });
        let reports = talk::at_usage(&mut talk, Moment::StepEnd, usage);
        let decision = reports[0].decision.clone().unwrap();
        assert_eq!(decision.fold, compacts, "{id}: {}", decision.reason);
    }
}

/// The cuts of rows, where `first` finds the message from which on all are kept.
pub(crate) fn cuts_of(
    rows: Vec<(String, u64, String, usize, i64)>,
    first: fn(&[Unit], u64) -> Option<usize>,
) {
    for (id, keep, messages, kept, turn) in rows {
        let unit =
            |(role, tokens)| Unit { tokens, may_be_first: role != 't', begins_turn: role == 'u' };
        let units: Vec<Unit> = short(&messages).map(unit).collect();
        let cut = Cut::before(&units, first(&units, keep).unwrap());
        let begins = cut.turn.map_or(-1, |turn| i64::try_from(turn).unwrap());
        assert_eq!((cut.kept, begins), (kept, turn), "{id} {messages}");
    }
    assert_eq!(first(&[Unit { tokens: 5, ..Unit::default() }], 1), None);
}

#[test]
fn cuts() {
    cuts_of(rows("cuts"), first_kept);
}

#[test]
fn files() {
    type Row = (String, String, Vec<(String, String)>, String);
    for (id, earlier, calls, below) in rows::<Row>("files") {
        let mut files = Files::default();
        files.listed_in(&earlier);
        for (tool, path) in calls {
            let arguments = format!("{{\"path\":\"{path}\"}}");
            files.called_in(&Message::assistant("a", vec![Part::call("c", tool, arguments)]));
        }
        assert_eq!(files.below(), below, "{id}");
    }
}

fn reasoning(text: String) -> Part {
    Part::new(PartKind::Reasoning { text, opaque: None })
}

/// A conversation of messages in short, compacted by hand.
fn compacted(messages: &str, keep: u64, summaries: &Arc<Scripted>) -> Conversation {
    compacted_by(strategy(&preset(100, keep)), messages, summaries)
}

fn compacted_by(strategy: Strategy, messages: &str, summaries: &Arc<Scripted>) -> Conversation {
    let strategy = talk::unguarded(strategy, summaries);
    let mut talk = talk::conversation(strategy, Limits::new(1_000_000, 64_000));
    for (at, (role, tokens)) in short(messages).enumerate() {
        let text = "x".repeat(usize::try_from(tokens * 4).unwrap());
        talk.append(match role {
            'u' => Message::user(format!("u{at}"), text),
            'r' => Message::assistant(format!("r{at}"), vec![reasoning(text)]),
            _ => Message::assistant(format!("a{at}"), vec![Part::text(text)]),
        });
    }
    let instructions = Some("Keep the names.".to_owned());
    talk::block_on(talk.at(Moment::Manual, Signals { usage: None, instructions }));
    talk
}

#[test]
fn folds() {
    for (id, keep, messages, sent) in rows::<(String, u64, String, String)>("folds") {
        let summaries = Scripted::by(|request| Ok(request.name.clone()));
        let talk = compacted(&messages, keep, &summaries);
        let mut shown = talk::sent_ids(&talk);
        shown.remove(0);
        let text = talk::sent_texts(&talk).remove(0);
        let open = "The conversation history before this point was compacted into the following summary:\n\n<summary>\n";
        let text = text.strip_prefix(open).unwrap().strip_suffix("\n</summary>").unwrap();
        assert_eq!(format!("S{{{text}}} {}", shown.join(" ")), sent, "{id}");
    }
}

#[test]
fn requests() {
    for (id, name, messages, asked) in
        rows::<(String, String, String, Vec<(String, u64, usize, usize)>)>("requests")
    {
        let registry = registry();
        let document = format!(
            "name = \"here\"\nextends = \"{name}\"\n[filter]\nuse = \"pi.checkpoint\"\nkeep_recent_tokens = 100\n"
        );
        let summaries = Scripted::by(|request| Ok(request.name.clone()));
        compacted_by(talk::compiled(&registry, &document), &messages, &summaries);
        let of = |request: &SummaryRequest| {
            (
                request.name.clone(),
                request.budget,
                request.instructions.len(),
                request.messages.len(),
            )
        };
        assert_eq!(summaries.asked().iter().map(of).collect::<Vec<_>>(), asked, "{id} {name}");
    }
}

#[test]
fn a_second_fold_updates_the_first() {
    let summaries = Scripted::by(|request| Ok(request.name.clone()));
    let mut talk = compacted("u50 a50 u50 a50", 100, &summaries);
    // Nothing was said since: nothing to do.
    let folds = talk.folds().len();
    talk::at(&mut talk, Moment::Manual);
    assert_eq!(talk.folds().len(), folds);
    talk.append(Message::user("u9", "x".repeat(600)));
    talk::at(&mut talk, Moment::Manual);
    let request = summaries.request(1);
    assert_eq!((request.name.as_str(), request.previous.as_deref()), ("history", Some("history")));
    assert_eq!(talk::sent_ids(&talk)[1..], ["u9"]);
}

#[test]
fn results() {
    for (id, length, shown, end) in rows::<(String, usize, usize, String)>("results") {
        let summaries = Scripted::always(Some("summary"));
        let tokens = length.div_ceil(4);
        let mut talk = compacted("u1", 1, &summaries);
        talk.append(Message::assistant("a1", vec![Part::call("c1", "bash", "")]));
        talk.append(Message::tool("t2", "c1", "bash", "x".repeat(length)));
        talk.append(Message::user("u3", "x".repeat(tokens)));
        talk::at(&mut talk, Moment::Manual);
        let text = summaries.shown(0).pop().unwrap();
        assert_eq!(text, format!("{}{end}", "x".repeat(shown)), "{id}");
    }
}

#[test]
fn defaults() {
    assert_eq!(strategy(PRESET).preset_limits, Limits::new(200_000, 64_000));
    let default: foldback_pi::CheckpointConfig = talk::config(&registry(), "pi", "filter");
    assert_eq!((default.keep_recent_tokens, default.result_units), (20_000, 2_000));
    assert!(PRESET.contains("when = [\"step-end\", \"provider-overflow\"]"));
}

#[test]
fn a_summary_that_fails_changes_nothing() {
    let talk = compacted("u50 a50 u50 a50", 100, &Scripted::always(None));
    assert_eq!(talk::sent_ids(&talk), ["u0", "a1", "u2", "a3"], "PI-S4");
}
