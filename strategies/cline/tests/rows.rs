//! The conformance rows, in `rows.toml`.

use foldback_cline::{NOTICE, NoticesConfig, RequestConfig};
use foldback_core::Limits;
use foldback_core::conversation::Conversation;
use foldback_core::log::{Message, Part, PartKind, Role};
use foldback_core::moment::Moment;
use foldback_core::registry::{Registry, StageConfig};
use foldback_core::strategy::Strategy;
use foldback_core::view::ShownMessage;
use foldback_test_support::table;
use foldback_testkit::talk;
use serde::de::DeserializeOwned;

const PRESET: &str = include_str!("../presets/cline.toml");

fn rows<T: DeserializeOwned>(group: &str) -> Vec<T> {
    table::rows(include_str!("../rows/rows.toml"), group)
}

fn strategy(toml: &str) -> Strategy {
    talk::compiled(&registry(), toml)
}

fn registry() -> Registry {
    talk::registry([&foldback_stages::REGISTRATION, &foldback_cline::REGISTRATION])
}

/// A conversation that folds as the original does below the guards.
fn unguarded(limits: Limits) -> Conversation {
    let mut strategy = strategy(PRESET);
    strategy.guards.no_growth = false;
    strategy.guards.repeat = false;
    talk::conversation(strategy, limits)
}

#[test]
fn sizes() {
    let strategy = strategy(PRESET);
    table::sizes(include_str!("../rows/rows.toml"), &**strategy.estimator(), |text| {
        format!("{{ \"k\": \"{text}\" }}")
    });
}

/// A message of so many tokens by its letter, three units each: `u` the person, `a` an answer, `c` a call, `t` its result, `r` an answer
/// after some thought, `b` blanks of the person.
fn sized(at: usize, word: &str) -> Message {
    let (kind, tokens) = word.split_at(1);
    let units = 3 * tokens.parse::<usize>().unwrap();
    let id = format!("{kind}{at}");
    let unit = request().build().unwrap().unit().unwrap();
    let json = |message: &Message| usize::try_from(unit.count(message).total()).unwrap();
    let of = |text: String| match kind {
        "u" | "b" => Message::user(&*id, text),
        "a" => Message::assistant(&*id, vec![Part::text(text)]),
        "r" => Message::assistant(&*id, vec![thought(), Part::text(text)]),
        "c" => Message::assistant(
            &*id,
            vec![Part::call(format!("c{}", at + 1), "x", format!("{{\"k\":\"{text}\"}}"))],
        ),
        _ => Message::tool(&*id, format!("c{at}"), "x", text),
    };
    let letter = if kind == "b" { " " } else { "x" };
    let empty = json(&of(String::new())) - 1;
    of(letter.repeat(units.checked_sub(empty).unwrap()))
}

fn thought() -> Part {
    Part::new(PartKind::Reasoning { text: "hm".to_owned(), opaque: None })
}

#[test]
fn triggers() {
    for (id, context, input, units, compacts) in rows::<(String, u64, u64, usize, bool)>("triggers")
    {
        let mut talk = unguarded(Limits::new(context, 0).with_input(input));
        // 44 around the messages, and 63 around what the person says in `u0`.
        talk.append(Message::user("u0", "x".repeat(units - 44 - 63)));
        let reports = talk::at(&mut talk, Moment::CallStart);
        let decision = reports.iter().find_map(|report| report.decision.clone()).unwrap();
        assert_eq!(decision.fold, compacts, "{id}: {}", decision.reason);
    }
}

/// What is sent, in short: ids, with + where a text was cut, N for a note.
fn sent(talk: &Conversation) -> String {
    let short = |shown: &ShownMessage<'_>| match shown.message.is_entry() {
        true => "N".to_owned(),
        false => format!("{}{}", shown.message.id, if shown.edits.is_empty() { "" } else { "+" }),
    };
    talk.sent().iter().map(short).collect::<Vec<_>>().join(" ")
}

fn append(talk: &mut Conversation, words: &str) {
    let at = talk.history().iter().filter(|(_, message)| !message.is_entry()).count();
    talk::append(talk, words.split(' ').enumerate().map(|(number, word)| sized(at + number, word)));
}

#[test]
fn folds() {
    for (id, window, output, messages, expect) in
        rows::<(String, u64, u64, String, String)>("folds")
    {
        let mut talk = unguarded(Limits::new(window, output));
        append(&mut talk, &messages);
        talk::at(&mut talk, Moment::CallStart);
        assert_eq!(sent(&talk), expect, "{id} {messages}");
    }
    for (group, moment) in [("refusals", Moment::ProviderOverflow), ("asked", Moment::Manual)] {
        for (id, window, messages, expect) in rows::<(String, u64, String, String)>(group) {
            let mut talk = unguarded(Limits::new(window, 0));
            append(&mut talk, &messages);
            talk::at(&mut talk, moment);
            assert_eq!(sent(&talk), expect, "{id} {messages}");
        }
    }
}

#[test]
fn folds_again() {
    for (id, window, first, more, expect) in
        rows::<(String, u64, String, String, [String; 2])>("again")
    {
        let mut talk = unguarded(Limits::new(window, 0));
        append(&mut talk, &first);
        talk::at(&mut talk, Moment::CallStart);
        assert_eq!(sent(&talk), expect[0], "{id} {first}");
        append(&mut talk, &more);
        talk::at(&mut talk, Moment::CallStart);
        assert_eq!(sent(&talk), expect[1], "{id} {first}, {more}");
    }
}

#[test]
fn cuts() {
    for (id, window, messages, expect) in rows::<(String, u64, String, Vec<String>)>("cuts") {
        let mut talk = unguarded(Limits::new(window, 0));
        append(&mut talk, &messages);
        talk::at(&mut talk, Moment::CallStart);
        let short = |shown: &ShownMessage<'_>| {
            let text = shown.to_message().shown_text();
            match text.split_once('\n') {
                _ if shown.message.is_entry() => "N".to_owned(),
                Some((left, marker)) => format!("{}{marker}", left.len()),
                None => text.len().to_string(),
            }
        };
        let texts: Vec<String> = talk.sent().iter().map(short).collect();
        assert_eq!(texts, expect, "{id} {messages}");
    }
}

/// No API takes a blank text.
#[test]
fn what_is_cut_to_nothing_says_so() {
    let mut talk = unguarded(Limits::new(1_000, 0));
    let texts = ["x".repeat(1_500), "y".repeat(900)].map(Part::text);
    talk::append(&mut talk, [Message::new("u0", Role::User, texts.to_vec())]);
    append(&mut talk, "u400");
    talk::at(&mut talk, Moment::CallStart);
    let cut = talk.sent()[0].to_message();
    let texts: Vec<_> = cut.parts.iter().map(|part| part.shown()).collect();
    assert!(texts[0].starts_with("xxx"), "{texts:?}");
    assert_eq!(texts[1], "...[truncated 900 chars]");
}

/// The notes of a conversation after a fold.
fn notes(messages: Vec<Message>) -> Vec<String> {
    let mut talk = unguarded(Limits::new(10_000, 0));
    talk::append(&mut talk, messages);
    talk::append(&mut talk, [Message::user("last", "x".repeat(24_000))]);
    talk::at(&mut talk, Moment::CallStart);
    let notes = talk.sent().into_iter().filter(|shown| shown.message.is_entry()).map(|shown| {
        let text = shown.to_message().said();
        text.strip_prefix(NOTICE).unwrap().strip_suffix("</SYSTEM_NOTICE>").unwrap().to_owned()
    });
    notes.collect()
}

#[test]
fn activity() {
    type Row = (String, String, String, String, [String; 3]);
    for (id, tool, input, result, [read, edited, ran]) in rows::<Row>("activity") {
        let found = notes(vec![
            Message::user("u", "Go on."),
            Message::assistant("a", vec![Part::call("c", &tool, &input)]),
            Message::tool("t", "c", &tool, &result),
        ]);
        let expect =
            format!("Files read:\n{read}\n\nFiles edited:\n{edited}\n\nCommands ran:\n{ran}");
        let expect =
            if [read, edited, ran].iter().all(String::is_empty) { vec![] } else { vec![expect] };
        assert_eq!(found, expect, "{id} {tool} {input}");
    }
}

#[test]
fn answers() {
    for (id, texts, expect) in rows::<(String, Vec<String>, Vec<String>)>("answers") {
        let mut messages = vec![Message::user("u", "Go on.")];
        for (at, text) in texts.iter().enumerate() {
            let (answer, call) = (format!("a{at}"), format!("c{at}"));
            messages.push(Message::assistant(
                answer,
                vec![Part::text(text), Part::call(&*call, "x", "{}")],
            ));
            messages.push(Message::tool(format!("t{at}"), call, "x", "ok"));
        }
        let found = notes(messages);
        let found = found.first().and_then(|note| note.split_once("Your recent responses:\n"));
        let found: Vec<&str> =
            found.map_or(Vec::new(), |(_, answers)| answers.split("\n---\n").collect());
        assert_eq!(found, expect, "{id}");
    }
}

/// The policy of the preset.
fn request() -> RequestConfig {
    talk::config(&registry(), "cline", "overflow")
}

#[test]
fn defaults() {
    let NoticesConfig {
        target_share,
        long_share,
        long_answers,
        manual_share,
        answers,
        command_chars,
    } = talk::config(&registry(), "cline", "filter");
    let shares = [target_share, long_share, manual_share];
    assert_eq!(shares.map(|share| share.number()), [0.7, 0.5, 0.5]);
    assert_eq!((long_answers, answers, command_chars), (5, 3, 100));
    assert_eq!(request().share.number(), 0.9);
}

#[test]
fn what_is_no_share_is_refused() {
    for (section, field) in [
        ("overflow", "share"),
        ("filter", "target_share"),
        ("filter", "long_share"),
        ("filter", "manual_share"),
    ] {
        for value in ["0.0", "1.5", "nan"] {
            let toml =
                format!("name = \"here\"\nextends = \"cline\"\n[{section}]\n{field} = {value}\n");
            let refused = talk::try_compile(&registry(), &toml);
            assert!(refused.unwrap_err().to_string().contains(field), "{field} {value}");
        }
    }
}
