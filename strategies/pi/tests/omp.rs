//! The conformance rows of `oh-my-pi`, in `omp.toml`.

use crate::rows::{cuts_of, registry, short};
use foldback_core::Limits;
use foldback_core::conversation::{Conversation, Signals};
use foldback_core::frame::Frame;
use foldback_core::log::{Message, Part, PartKind, Usage};
use foldback_core::moment::Moment;
use foldback_core::services::{FixedClock, Services};
use foldback_core::strategy::Strategy;
use foldback_core::view::Place;
use foldback_pi::cut::last_that_fit;
use foldback_pi::omp::paths::{Touched, is_address, split_selector};
use foldback_pi::omp::{OmpCheckpointConfig, SUPERSEDED, blocks};
use foldback_test_support::table;
use foldback_testkit::stand_in::Scripted;
use foldback_testkit::talk;
use serde::de::DeserializeOwned;
use std::sync::Arc;

const PRESET: &str = include_str!("../presets/oh-my-pi.toml");

fn rows<T: DeserializeOwned>(group: &str) -> Vec<T> {
    table::rows(include_str!("../rows/omp.toml"), group)
}

/// The preset with other tokens to keep and to protect, for small windows.
pub(crate) fn preset(keep: u64) -> String {
    changed(&format!(
        "[overflow]\nreserve = 1_000\n[filter]\nkeep_recent_tokens = {keep}\n\
         [[pruner]]\nuse = \"oh-my-pi.shake\"\nprotect_tokens = {keep}\nminimum_tokens = 100"
    ))
}

fn changed(sections: &str) -> String {
    format!("name = \"here\"\nextends = \"oh-my-pi\"\n{sections}\n")
}

fn strategy(toml: &str) -> Strategy {
    talk::compiled(&registry(), toml)
}

fn used(input: u64, cached: u64, output: u64, total: u64) -> Usage {
    Usage {
        uncached: input,
        cache_read: cached,
        output,
        total: (total > 0).then_some(total),
        ..Usage::default()
    }
}

fn text(tokens: u64) -> String {
    "x".repeat(usize::try_from(tokens * 4).unwrap())
}

#[test]
fn sizes() {
    let strategy = strategy(PRESET);
    table::sizes(include_str!("../rows/omp.toml"), &**strategy.estimator(), str::to_owned);
}

#[test]
fn triggers() {
    let limits = rows::<(String, u64, u64)>("limits").into_iter();
    let limits = limits.map(|(id, window, limit)| (id, window, 1, 1, 0, 1, limit, None));
    type Row = (String, u64, u64, u64, u64, u64, bool);
    let triggers = rows::<Row>("triggers").into_iter().map(
        |(id, window, input, output, total, estimate, compacts)| {
            (id, window, input, output, total, estimate, 170_000, Some(compacts))
        },
    );
    for (id, window, input, output, total, estimate, limit, compacts) in limits.chain(triggers) {
        let mut talk = talk::conversation(strategy(PRESET), Limits::new(window, 0));
        talk.append(Message::user("u", text(estimate - 1)));
        talk.append(Message::assistant("a", vec![Part::text("Done")]));
        let reports =
            talk::at_usage(&mut talk, Moment::StepEnd, Some(used(input, 0, output, total)));
        let decision = reports.iter().find_map(|report| report.decision.clone()).unwrap();
        assert_eq!(decision.trigger, limit, "{id} {window}");
        assert_eq!(decision.fold, compacts.unwrap_or(decision.count > limit), "{id} {window}");
    }
}

#[test]
fn cuts() {
    cuts_of(rows("cuts"), last_that_fit);
}

#[test]
fn kept() {
    for (id, input, cached, output, kept) in rows::<(String, u64, u64, u64, u64)>("kept") {
        let mut strategy = strategy(PRESET);
        strategy.summarizer = Some(Scripted::always(Some("summary")));
        let mut talk = talk::conversation(strategy, Limits::new(12_000, 0));
        for number in 0..10 {
            talk.append(Message::user(format!("u{number}"), text(1_000)));
        }
        talk.append(Message::assistant("a", vec![Part::call("c", "f", "")]));
        talk.append(Message::tool("t", "c", "f", ""));
        let total = input + cached + output;
        let used = used(input, cached, output, total.max(11_000));
        let reports = talk::at_usage(&mut talk, Moment::StepEnd, Some(used));
        let fold = talk.folds().last().map(|fold| fold.plan.reasons.join("; "));
        let why = format!("{fold:?} {reports:?}");
        match kept >= 10_000 {
            true => assert!(why.contains("all messages are within"), "{id}: {why}"),
            false => assert!(why.contains(&format!("up to {kept} tokens")), "{id}: {why}"),
        }
    }
}

#[test]
fn selectors() {
    for (id, path, base, selector) in rows::<(String, String, String, String)>("selectors") {
        let selector = Some(selector.as_str()).filter(|selector| !selector.is_empty());
        assert_eq!(split_selector(&path), (base.as_str(), selector), "{id} {path}");
    }
    for (id, path, address) in rows::<(String, String, bool)>("addresses") {
        assert_eq!(is_address(&path), address, "{id} {path}");
    }
}

fn called(touched: &mut Touched, calls: &[(String, String)]) {
    for (tool, path) in calls {
        let arguments = format!("{{\"path\":\"{path}\"}}");
        touched.called_in(&Message::assistant("a", vec![Part::call("c", tool, arguments)]));
    }
}

#[test]
fn files() {
    type Row = (String, String, Vec<(String, String)>, Vec<(String, String)>, String);
    for (id, summary, before, calls, expected) in rows::<Row>("files") {
        let mut earlier = Touched::default();
        called(&mut earlier, &before);
        let mut noted = Message::user("s", "");
        earlier.note_on(&mut noted);
        let mut touched = Touched::default();
        touched.noted_on(&noted);
        called(&mut touched, &calls);
        assert_eq!(touched.below(&summary), expected, "{id}");
    }
    for (id, count, last) in rows::<(String, usize, String)>("many") {
        let mut touched = Touched::default();
        let calls = (0..count).map(|number| ("read".to_owned(), format!("d/{number:02}")));
        called(&mut touched, &calls.collect::<Vec<_>>());
        let below = touched.below("s");
        assert_eq!(below.lines().rev().nth(1), Some(last.as_str()), "{id}: {below}");
    }
}

#[test]
fn blocks_of_a_text() {
    for (id, text, expected) in rows::<(String, String, Vec<(usize, usize)>)>("blocks") {
        let found: Vec<_> = blocks(&text).iter().map(|range| (range.start, range.end)).collect();
        assert_eq!(found, expected, "{id} {text}");
    }
}

#[test]
fn shaken() {
    for (id, messages, left) in rows::<(String, String, String)>("shaken") {
        let strategy = talk::unguarded(strategy(PRESET), &Scripted::always(None));
        let mut talk = talk::conversation(strategy, Limits::new(1_000_000, 0));
        let mut shown = Vec::new();
        for (at, (kind, tokens)) in short(&messages).enumerate() {
            let fenced = || {
                let inside = text(tokens);
                format!("```\n{}\n```", &inside[..inside.len().saturating_sub(8)])
            };
            let result = |talk: &mut Conversation, tool: &str, path: &str| {
                let arguments = format!("{{\"path\":\"{path}\"}}");
                talk.append(Message::assistant(
                    format!("c{at}"),
                    vec![Part::call(format!("call{at}"), tool, arguments)],
                ));
                talk.append(Message::tool(
                    format!("m{at}"),
                    format!("call{at}"),
                    tool,
                    text(tokens),
                ))
            };
            let pos = match kind {
                'u' => talk.append(Message::user(format!("m{at}"), fenced())),
                'a' => {
                    talk.append(Message::assistant(format!("m{at}"), vec![Part::text(fenced())]))
                }
                'r' => result(&mut talk, "read", "file"),
                'k' => result(&mut talk, "skill", "file"),
                's' => result(&mut talk, "read", "skill://file"),
                'f' => result(&mut talk, "read", "artifact://file"),
                _ => talk
                    .append(Message::assistant(format!("m{at}"), vec![Part::text(text(tokens))])),
            };
            shown.push(pos);
        }
        talk::at(&mut talk, Moment::Manual);
        let meter = talk.meter(foldback_core::meter::MeterId::OWN);
        let sizes: Vec<String> =
            shown.iter().map(|pos| meter.shown(Place::Item(*pos)).to_string()).collect();
        assert_eq!(sizes.join(" "), left, "{id}");
    }
}

#[test]
fn stale() {
    for (id, reads, cleared) in rows::<(String, Vec<(String, u64)>, Vec<usize>)>("stale") {
        let mut talk = talk::conversation(strategy(PRESET), Limits::new(1_000_000, 0));
        let calls = reads.iter().enumerate().map(|(at, (path, _))| {
            Part::call(format!("call{at}"), "read", format!("{{\"path\":\"{path}\"}}"))
        });
        talk.append(Message::assistant("calls", calls.collect()));
        for (at, (_, tokens)) in reads.iter().enumerate() {
            talk.append(Message::tool(
                format!("t{at}"),
                format!("call{at}"),
                "read",
                text(*tokens),
            ));
        }
        talk::at(&mut talk, Moment::StepEnd);
        let is_cleared = |talk: &Conversation| -> Vec<usize> {
            let texts = talk::sent_texts(talk);
            let cleared = texts.iter().skip(1).enumerate();
            cleared.filter(|(_, text)| *text == SUPERSEDED).map(|(at, _)| at).collect()
        };
        assert_eq!(is_cleared(&talk), Vec::<usize>::new(), "{id}: the turn goes on");
        talk.append(Message::assistant("end", vec![Part::text("Done, all of it.")]));
        talk::at(&mut talk, Moment::StepEnd);
        assert_eq!(is_cleared(&talk), cleared, "{id}");
    }
}

#[test]
fn stale_after_a_pause() {
    let preset = changed("[[pruner]]\nuse = \"oh-my-pi.stale\"\nsuffix_tokens = 0");
    for (id, pause, cleared) in rows::<(String, i64, bool)>("pauses") {
        let mut services = Services::fixed();
        services.clock = Arc::new(FixedClock::at(pause));
        let limits = Limits::new(1_000_000, 0);
        let strategy = Arc::new(strategy(&preset));
        let mut talk = Conversation::new(strategy, limits, Frame::default(), services);
        let call = |id: &str| Part::call(id, "read", "{\"path\":\"a\"}");
        talk.append(Message::assistant("calls", vec![call("c0"), call("c1")]));
        talk.append(Message::tool("t0", "c0", "read", text(20)));
        talk.append(Message::tool("t1", "c1", "read", text(20)));
        talk.append(Message::assistant("end", vec![Part::text("Done.")]).with_time(0));
        talk::at(&mut talk, Moment::StepEnd);
        let is_cleared = talk::sent_texts(&talk).iter().any(|text| text == SUPERSEDED);
        assert_eq!(is_cleared, cleared, "{id} {pause}");
    }
}

#[test]
fn folds() {
    for (id, keep, messages, sent) in rows::<(String, u64, String, String)>("folds") {
        let summaries = Scripted::by(|request| Ok(request.name.clone()));
        let talk = compacted(&messages, keep, &summaries);
        let mut shown = talk::sent_ids(&talk);
        shown.remove(0);
        let text = talk::sent_texts(&talk).remove(0);
        let text = text.split_once("<summary>\n").unwrap().1.strip_suffix("\n</summary>").unwrap();
        assert_eq!(format!("S{{{text}}} {}", shown.join(" ")), sent, "{id}");
        for request in summaries.asked() {
            let (instructions, budget) =
                if request.name == "history" { (1, 13_107) } else { (0, 8_192) };
            assert_eq!(
                (request.instructions.len(), request.budget),
                (instructions, budget),
                "{id}"
            );
        }
    }
}

/// A conversation of messages in short, compacted by hand.
fn compacted(messages: &str, keep: u64, summaries: &Arc<Scripted>) -> Conversation {
    let strategy = talk::unguarded(strategy(&preset(keep)), summaries);
    let mut talk = talk::conversation(strategy, Limits::new(1_000_000, 0));
    for (at, (role, tokens)) in short(messages).enumerate() {
        let thought = PartKind::Reasoning { text: String::new(), opaque: None };
        talk.append(match role {
            'u' => Message::user(format!("u{at}"), text(tokens)),
            _ => Message::assistant(
                format!("a{at}"),
                vec![Part::new(thought), Part::text(text(tokens))],
            ),
        });
    }
    let instructions = Some("Keep the names.".to_owned());
    talk::block_on(talk.at(Moment::Manual, Signals { usage: None, instructions }));
    talk
}

#[test]
fn a_second_fold_updates_the_first_even_where_only_a_turn_is_split() {
    let summaries = Scripted::by(|request| Ok(request.name.clone()));
    let mut talk = compacted("u50 a50 u50 a50", 100, &summaries);
    for at in 4..7 {
        talk.append(Message::assistant(format!("a{at}"), vec![Part::text(text(60))]));
    }
    talk::at(&mut talk, Moment::Manual);
    let requests = summaries.asked();
    let names: Vec<(&str, Option<&str>, usize)> = requests[1..]
        .iter()
        .map(|request| (&*request.name, request.previous.as_deref(), request.messages.len()))
        .collect();
    assert_eq!(names, [("history", Some("history"), 0), ("turn", None, 4)], "OMP-Q4");
    let shown = |at: usize| requests[at].messages.iter().all(|message| message.parts.len() == 1);
    assert!(shown(0) && shown(2), "OMP-Q5: reasoning is not shown");
}

#[test]
fn shaking_that_is_enough_spares_the_summary() {
    for (shaken, folds) in [(2_500, false), (700, true)] {
        let summaries = Scripted::always(Some("summary"));
        let mut strategy = strategy(&preset(1_000));
        strategy.summarizer = Some(Arc::clone(&summaries) as _);
        // The limit is 8,500; down to 6,800 is enough.
        let mut talk = talk::conversation(strategy, Limits::new(10_000, 0));
        talk.append(Message::user("u", text(3_500)));
        talk.append(Message::assistant("a", vec![Part::call("c", "f", "")]));
        talk.append(Message::tool("t", "c", "f", text(shaken)));
        talk.append(Message::assistant("a2", vec![Part::call("c2", "g", "")]));
        talk.append(Message::tool("t2", "c2", "g", text(1_500)));
        talk::at_usage(&mut talk, Moment::StepEnd, Some(used(9_200, 0, 0, 0)));
        assert_eq!(!summaries.asked().is_empty(), folds, "OMP-S5 {shaken}");
        assert!(talk::sent_texts(&talk).iter().any(|text| text.starts_with("[shaken ~")) || folds);
    }
}

#[test]
fn defaults() {
    assert_eq!(strategy(PRESET).preset_limits, Limits::new(200_000, 64_000));
    let OmpCheckpointConfig { keep_recent_tokens, result_units, enough_share, .. } =
        talk::config(&registry(), "oh-my-pi", "filter");
    assert_eq!((keep_recent_tokens, result_units, enough_share.number()), (20_000, 2_000, 0.8));
    for line in [
        "when = \"step-end\"",
        "when = \"before-summary\"",
        "atomic = false",
        "on_failure = \"keep\"",
    ] {
        assert!(PRESET.lines().any(|one| one == line), "{line}");
    }
}
