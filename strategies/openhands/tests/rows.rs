//! The conformance rows, in `rows.toml`.

use crate::registry;
use foldback_core::conversation::Conversation;
use foldback_core::log::{EntryKind, Message, Part, PartKind, Role};
use foldback_core::moment::Moment;
use foldback_core::registry::StageConfig as _;
use foldback_core::stage::Pressure;
use foldback_core::{Frame, Limits, SegmentKind};
use foldback_openhands::PressureConfig;
use foldback_test_support::table;
use foldback_testkit::stand_in::Scripted;
use foldback_testkit::talk;
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;
use std::num::NonZeroU64;
use std::sync::Arc;

fn rows<T: DeserializeOwned>(group: &str) -> Vec<T> {
    table::rows(include_str!("../rows/rows.toml"), group)
}

fn message(at: usize, word: &str) -> Message {
    let (word, tokens) = word.split_once(':').unwrap_or((word, "1"));
    let text = || "x".repeat(4 * tokens.parse::<usize>().unwrap());
    let id = at.to_string();
    let (kind, calls) = word.split_at(1);
    match kind {
        "u" => Message::user(id, text()),
        "s" => Message::new(id, Role::System, vec![Part::text(text())]),
        "r" => Message::tool(id, format!("c{calls}"), "read", text()),
        _ => {
            let opaque = (kind == "t").then(|| "signed".to_owned());
            let thought = Part::new(PartKind::Reasoning { text: "so".to_owned(), opaque });
            let calls = calls.chars().map(|call| Part::call(format!("c{call}"), "read", ""));
            Message::assistant(id, [thought, Part::text(text())].into_iter().chain(calls).collect())
        }
    }
}

/// The two tables of a strategy that share their limits. Fields: `name = value, name = value`.
fn strategy(fields: &str, whole_groups: bool) -> (String, u64) {
    let (mut limits, mut own, mut window) = (String::new(), String::new(), 0);
    for field in fields.split(", ").filter(|field| !field.is_empty()) {
        let (name, value) = field.split_once(" = ").unwrap();
        match name {
            "window" => window = value.parse().unwrap(),
            "max_size" | "max_tokens" => limits.push_str(&format!("{field}\n")),
            _ => own.push_str(&format!("{field}\n")),
        }
    }
    let toml = format!(
        "name = \"t\"\nextends = \"openhands\"\n[guards]\nno-growth = false\npairs = false\n[estimator]\nuse = \"chars\"\nunit = \"code-points\"\n\
         reasoning = false\ncalls = \"arguments\"\n[overflow]\n{limits}\n[filter]\nwhole_groups = {whole_groups}\n{limits}{own}\n"
    );
    (toml, window)
}

fn folded(
    fields: &str,
    when: &str,
    messages: impl IntoIterator<Item = Message>,
    whole_groups: bool,
) -> (Conversation, Arc<Scripted>) {
    let (toml, window) = strategy(fields, whole_groups);
    let scripted = Scripted::always(Some("S"));
    let mut strategy = talk::compiled(&registry(), &toml);
    strategy.summarizer = Some(scripted.clone());
    let mut talk = talk::conversation(strategy, Limits::new(window, 0));
    talk::append(&mut talk, messages);
    let moment = match when {
        "call" => Moment::CallStart,
        "refused" => Moment::ProviderOverflow,
        _ => Moment::Manual,
    };
    talk::at(&mut talk, moment);
    (talk, scripted)
}

/// The messages that went, from the first to the one behind the last.
fn gone(talk: &Conversation) -> Vec<usize> {
    let sent: BTreeSet<String> = talk::sent_ids(talk).into_iter().collect();
    let log = (0..talk.history().log_len()).filter(|at| !sent.contains(&at.to_string()));
    let gone: Vec<usize> = log.collect();
    let Some((first, last)) = gone.first().zip(gone.last()) else { return Vec::new() };
    assert_eq!(gone.len(), last + 1 - first, "what goes has no gap");
    // The summary stands where they stood.
    let ids = talk::sent_ids(talk);
    assert!(ids[*first].contains("summary"), "{ids:?}");
    vec![*first, last + 1]
}

fn check(group: &str, whole_groups: bool) {
    for (id, origin, fields, when, words, expected) in
        rows::<(String, String, String, String, String, Vec<usize>)>(group)
    {
        let words = words.split_whitespace().enumerate();
        let messages = words.map(|(at, word)| message(at, word));
        let (talk, _) = folded(&fields, &when, messages, whole_groups);
        assert_eq!(gone(&talk), expected, "{id} ({origin})");
    }
}

#[test]
fn what_goes() {
    check("ranges", false);
    check("groups", true);
}

#[test]
fn what_the_summarizer_sees() {
    for (id, origin, kind, length, shown) in
        rows::<(String, String, String, usize, usize)>("previews")
    {
        // A character of several bytes is one.
        let text = "ä".repeat(length);
        let call = |text: &str| {
            Message::assistant("0", vec![Part::text(text), Part::call("c", "read", "{\"a\":1}")])
        };
        let messages = match &*kind {
            "u" => vec![Message::user("0", &text)],
            "a" => vec![Message::assistant("0", vec![Part::text(&text)])],
            "s" => vec![Message::user("0", &text).as_entry(EntryKind::Summary)],
            "c" => vec![call(&text), Message::tool("1", "c", "read", "")],
            _ => vec![call(""), Message::tool("1", "c", "read", &text)],
        };
        let (_, scripted) = folded("keep_first = 0", "refused", messages, true);
        let seen = scripted.shown(0).join("");
        let dots = if shown == length { "" } else { "..." };
        let arguments = if kind == "c" || kind == "r" { "{}" } else { "" };
        let seen: String = seen.replace('\n', "").replace(arguments, "");
        assert_eq!(seen, format!("{}{dots}", "ä".repeat(shown)), "{id} ({origin})");
    }
}

#[test]
fn the_summary_stands_alone_and_goes_into_the_next() {
    let words = "u a u a u a u a u a".split(' ').enumerate();
    let messages = words.map(|(at, word)| message(at, word));
    let (mut talk, scripted) = folded("max_size = 10", "call", messages, true);
    // OH-E1 event/condenser.py: a message of the user with the text of the summary and nothing else.
    let summary = talk.sent()[1].to_message();
    assert_eq!((summary.role, summary.said()), (Role::User, "S".to_owned()));
    talk::append(&mut talk, (10..17).map(|at| message(at, "a")));
    talk::at(&mut talk, Moment::CallStart);
    // OH-E2: the summary is an event like others.
    assert_eq!(talk.folds().len(), 2);
    assert_eq!(scripted.shown(1)[0], "S");
}

#[test]
fn the_presets_are_these() {
    for (id, preset, size, first) in
        [("OH-D1", "openhands", 240, 2), ("OH-D2", "openhands-80", 80, 4)]
    {
        for more in [0, 1] {
            let strategy =
                talk::compiled(&registry(), &format!("name = \"t\"\nextends = \"{preset}\"\n"));
            let mut talk = talk::conversation(strategy, Limits::new(1_000_000, 0));
            talk::append(&mut talk, (0..size - 1 + more).map(|at| message(at, "a:60")));
            talk::at(&mut talk, Moment::CallStart);
            let expected = match more {
                0 => Vec::new(),
                _ => vec![first - 1, size - (size / 2 - first - 1)],
            };
            assert_eq!(gone(&talk), expected, "{id}");
        }
    }
}

#[test]
fn what_a_message_counts() {
    for (id, origin, kind, tokens) in rows::<(String, String, String, u64)>("counts") {
        let text = || Part::text("hello world");
        let opaque = Some("signed".to_owned());
        let thought = PartKind::Reasoning { text: "so it is".to_owned(), opaque };
        let message = match &*kind {
            "user" => Message::user("0", "hello world"),
            "call" => {
                let call = Part::call("c1", "read", "{\"path\": \"src/main.rs\"}");
                Message::assistant("0", vec![text(), call])
            }
            _ => Message::assistant("0", vec![Part::new(thought), text()]),
        };
        let strategy = talk::compiled(&registry(), "name = \"t\"\nextends = \"openhands\"\n");
        let mut talk = talk::conversation(strategy, Limits::default());
        talk.append(message);
        assert_eq!(talk.tokens(), tokens, "{id} ({origin})");
    }
}

#[test]
fn a_policy_of_another_kind_asks_as_a_person_does() {
    let toml = "name = \"t\"\nextends = \"openhands\"\n[overflow]\nuse = \"window-fraction\"\n";
    let mut talk = talk::conversation(talk::compiled(&registry(), toml), Limits::new(100, 0));
    talk::append(&mut talk, (0..10).map(|at| message(at, "a:20")));
    talk::at(&mut talk, Moment::CallStart);
    assert_eq!(gone(&talk), [1, 8]);
}

#[test]
fn a_frame_whose_size_is_known_is_one_event() {
    let strategy = talk::compiled(&registry(), "name = \"t\"\nextends = \"openhands\"\n");
    let mut talk = talk::conversation(strategy, Limits::default());
    let mut frame = Frame::default();
    frame.push_tokens(SegmentKind::Unrecorded, 1_000);
    talk.set_frame(frame);
    talk::append(&mut talk, (0..239).map(|at| message(at, "a")));
    talk::at(&mut talk, Moment::CallStart);
    assert!(talk.folds().is_empty());
}

#[test]
fn limits_that_leave_nothing_are_refused() {
    for (field, fields) in [
        ("keep_first", "max_size = 10\nkeep_first = 4"),
        ("minimum_progress", "minimum_progress = 0.0"),
        ("minimum_progress", "minimum_progress = 1.0"),
        ("summary_tokens", "summary_tokens = 0"),
    ] {
        let toml = format!("name = \"t\"\nextends = \"openhands\"\n[filter]\n{fields}\n");
        let error = talk::try_compile(&registry(), &toml).unwrap_err().to_string();
        assert!(error.contains(field), "{error}");
    }
    let fine = "name = \"t\"\nextends = \"openhands\"\n[filter]\nmax_size = 10\nkeep_first = 3\n";
    assert!(talk::try_compile(&registry(), fine).is_ok());
}

#[test]
fn what_the_policy_reports() {
    let max_size = NonZeroU64::new(10).unwrap();
    let config = PressureConfig { max_size, max_tokens: Some(100), window: false };
    let policy = config.build().unwrap();
    assert_eq!(policy.moments(), [Moment::CallStart, Moment::ProviderOverflow]);
    // id, tokens, events, the count that is reported and its limit
    for (id, view_tokens, units, reported) in [
        ("tokens where neither presses", 100, 10, (100, 100)),
        ("events where they alone do", 100, 11, (11, 10)),
        ("tokens where they alone do", 101, 10, (101, 100)),
        ("tokens where both do", 101, 11, (101, 100)),
    ] {
        let asked = Pressure::at(Moment::CallStart, Limits::default());
        let decision = policy.decide(&Pressure { view_tokens, units, ..asked });
        assert_eq!((decision.count, decision.trigger), reported, "{id}");
        assert_eq!(decision.fold, view_tokens > 100 || units > 10, "{id}");
    }
}
