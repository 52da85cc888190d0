//! The conformance rows, in `rows.toml`.

use foldback_core::Limits;
use foldback_core::conversation::Conversation;
use foldback_core::log::{EntryKind, Message, Part, PartKind, Role};
use foldback_core::moment::Moment;
use foldback_core::services::Services;
use foldback_core::stage::{Summarizer as _, SummaryRequest};
use foldback_core::strategy::Strategy;
use foldback_mxf::{Structured, placeholder};
use foldback_providers::errors::Classifier;
use foldback_test_support::table;
use foldback_testkit::talk;
use serde::de::DeserializeOwned;
use std::sync::Arc;

const PRESET: &str = include_str!("../presets/mxf.toml");

/// The preset with another threshold and other messages to keep, for small windows.
pub(crate) fn preset(threshold: u64, keep: u64) -> String {
    format!(
        "name = \"here\"\nextends = \"mxf\"\n[[pruner]]\nuse = \"mxf.microcompact\"\nthreshold = {threshold}\nkeep = {keep}\n\
         [filter.microcompaction]\nthreshold = {threshold}\nkeep = {keep}\n"
    )
}

pub(crate) fn rows<T: DeserializeOwned>(group: &str) -> Vec<T> {
    table::rows(include_str!("../rows/rows.toml"), group)
}

pub(crate) fn strategy(toml: &str) -> Strategy {
    let registry = talk::registry([&foldback_stages::REGISTRATION, &foldback_mxf::REGISTRATION]);
    talk::compiled(&registry, toml)
}

/// A part in short: a letter and the characters of its text.
fn part(word: &str) -> Part {
    let (kind, length) = word.split_at(1);
    let text = "x".repeat(length.parse().unwrap());
    match kind {
        "t" => Part::result("c", "read", text),
        "r" => Part::new(PartKind::Reasoning { text, opaque: None }),
        "c" => Part::call("c", "read", text),
        _ => Part::text(text),
    }
}

/// Messages in short, one a word.
fn messages(short: &str) -> impl Iterator<Item = Message> {
    short.split(' ').enumerate().map(|(number, word)| {
        let role = match &word[..1] {
            "u" => Role::User,
            "s" => Role::System,
            "t" => Role::Tool,
            _ => Role::Assistant,
        };
        Message::new(format!("m{number}"), role, vec![part(word)])
    })
}

/// Numbers of the messages that an edit stands in, with the marker.
fn stripped(talk: &Conversation) -> Vec<usize> {
    let edits = talk.view().edits().iter();
    edits
        .map(|(at, edit)| {
            assert!(edit.text.starts_with("[Tool result: read - success - "), "{}", edit.text);
            at.item
        })
        .collect()
}

/// `packages/core/src/config/ModelContextLimits.ts`
#[test]
fn the_window_of_a_model_that_is_not_known() {
    assert_eq!(strategy(PRESET).preset_limits, Limits::new(128_000, 0), "MX-L1");
}

#[test]
fn texts() {
    let estimator = strategy(PRESET).estimator().clone();
    for (id, text, tokens) in rows::<(String, String, u64)>("texts") {
        assert_eq!(estimator.text(&text), tokens, "{id}: {text}");
    }
}

#[test]
fn histories() {
    let estimator = strategy(PRESET).estimator().clone();
    for (id, parts, tokens) in rows::<(String, String, u64)>("histories") {
        let message = Message::new("m", Role::Assistant, parts.split(' ').map(part).collect());
        assert_eq!(estimator.count(&message).total(), tokens, "{id}: {parts}");
    }
}

#[test]
fn fewer_units_a_token() {
    let file = "name = \"t\"\nextends = \"mxf\"\n[estimator]\nper_token = 2\n";
    assert_eq!(strategy(file).estimator().text("abcd"), 2);
}

#[test]
fn lines() {
    for (id, tool, text, line) in rows::<(String, String, String, String)>("lines") {
        assert_eq!(placeholder(&tool, &text).unwrap_or_default(), line, "{id}");
    }
}

#[test]
fn strips() {
    for (id, threshold, keep, short, expected) in
        rows::<(String, u64, u64, String, Vec<usize>)>("strips")
    {
        let toml = if threshold == 0 { PRESET.to_owned() } else { preset(threshold, keep) };
        let mut talk = talk::conversation(strategy(&toml), Limits::default());
        for message in messages(&short) {
            talk.append(message);
            // What was stripped at earlier calls must not matter.
            talk::at(&mut talk, Moment::CallStart);
        }
        assert_eq!(stripped(&talk), expected, "{id}: {short}");
    }
}

#[test]
fn refusals() {
    for (id, status, message) in rows::<(String, u16, String)>("refusals") {
        let kind = Classifier::builtin().kind_of(None, Some(status), &message);
        assert!(kind.is_overflow(), "{id}: {message} is {kind:?}");
    }
}

fn is_summarized(talk: &Conversation) -> bool {
    talk.sent()[0].message.is_entry_of(EntryKind::Summary)
}

#[test]
fn recoveries() {
    for (id, short, expected, folds, kept) in
        rows::<(String, String, Vec<usize>, bool, usize)>("recoveries")
    {
        let mut talk = talk::conversation(strategy(PRESET), Limits::default());
        talk::append(&mut talk, messages(&short));
        talk::at(&mut talk, Moment::ProviderOverflow);
        assert_eq!(stripped(&talk), expected, "{id}");
        assert!(!is_summarized(&talk), "{id}: results are stripped first");
        talk::at(&mut talk, Moment::ProviderOverflow);
        assert_eq!(is_summarized(&talk), folds, "{id}");
        assert!(!folds || talk.sent().len() == kept + 1, "{id}");
        // A third time is not tried.
        let sent = talk::sent_texts(&talk);
        talk::at(&mut talk, Moment::ProviderOverflow);
        assert_eq!(talk::sent_texts(&talk), sent, "{id}");
    }
}

#[test]
fn it_folds_where_a_request_was_refused() {
    assert_eq!(strategy(PRESET).overflow.unwrap().when, [Moment::ProviderOverflow]);
}

/// Not as MXF has it: a person need not wait for a refusal, and nothing is stripped then.
#[test]
fn a_person_gets_a_summary_of_what_stands() {
    for (short, line) in [
        ("u40000 a4 u4 a4 u4", "(Summarized 2 messages)"),
        ("u40000 a4 t400 u4 a4 u4", "- read: success — xxx"),
    ] {
        let mut talk = talk::conversation(strategy(PRESET), Limits::default());
        talk::append(&mut talk, messages(short));
        talk::at(&mut talk, Moment::Manual);
        assert!(is_summarized(&talk) && talk.sent().len() == 4, "{short}");
        assert!(talk::sent_texts(&talk)[0].contains(line), "{short}");
        assert_eq!(stripped(&talk), [0; 0], "{short}");
    }
}

/// Messages as a row has them: how often, if more than once, the letter of who speaks, and the text.
fn said(rows: &[String]) -> Vec<Arc<Message>> {
    let mut messages = Vec::new();
    for row in rows {
        let number = row.find(|c: char| !c.is_ascii_digit()).unwrap();
        let (role, text) = row[number..].trim_start().split_once(' ').unwrap();
        for n in 1..=row[..number].parse().unwrap_or(1) {
            let text = text.replace("{n}", &n.to_string());
            messages.push(Arc::new(match role {
                "u" => Message::user("u", text),
                "a" => Message::assistant("a", vec![Part::text(text)]),
                _ => Message::tool("t", "c", "sh", text),
            }));
        }
    }
    messages
}

/// The summary of these messages, without what stands around it.
fn summary(messages: Vec<Arc<Message>>) -> String {
    let request = SummaryRequest {
        name: "history".to_owned(),
        style: "mxf.history".to_owned(),
        messages,
        previous: None,
        instructions: Vec::new(),
        budget: 1_000_000,
        estimator: strategy(PRESET).estimator().clone(),
        ready: None,
    };
    let summary = talk::block_on(Structured.summarize(&request, &Services::fixed())).unwrap();
    assert_eq!(summary.tokens, request.estimator.text(&summary.text));
    let inner = summary.text.strip_prefix("<conversation-summary>\n\n").unwrap();
    inner.strip_suffix("\n\n</conversation-summary>").unwrap().to_owned()
}

#[test]
fn summaries() {
    for (id, messages, lines) in rows::<(String, Vec<String>, Vec<String>)>("summaries") {
        assert_eq!(summary(said(&messages)), lines.join("\n"), "{id}");
    }
}

#[test]
fn sections() {
    for (id, heading, messages, lines) in
        rows::<(String, String, Vec<String>, Vec<String>)>("sections")
    {
        let summary = summary(said(&messages));
        let (_, section) = summary.split_once(&format!("## {heading}\n- ")).unwrap_or_default();
        let (section, _) = section.split_once("\n\n").unwrap_or_default();
        assert_eq!(section, lines.join("\n- "), "{id}");
    }
}
