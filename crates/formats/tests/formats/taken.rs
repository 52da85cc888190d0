//! What is written is what the target takes: every fixture in every format that can be written, read again, checked by
//! the rules of its provider, and looked at as JSON for what the rules do not see.
use crate::common::{case, fixtures, sessions};
use foldback_core::PartKind;
use foldback_core::log::{Media, Message, Part};
use foldback_core::validity::{Dialect, rule, validate};
use foldback_core::view::ShownMessage;
use foldback_formats::convert::{convert, writable};
use foldback_formats::{Session, detect, format, read};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Rules that no move repairs: what is missing can't be made up, and the order of what was said stays.
const STAY: &[&str] = &[rule::CALL_UNANSWERED, rule::FIRST_NOT_USER, rule::TRAILING_SPACE];

/// Inputs that once went out as they were.
const CASES: &[&str] = &[
    "B07-convert-blank-text/chat-odd.json",
    "B07-convert-blank-text/whitespace.jsonl",
    "B08-convert-message-between-call-and-result/server-split-user.jsonl",
    "B08-convert-message-between-call-and-result/steer-chat.json",
    "B10-convert-foreign-signature/codex-parallel.jsonl",
    "B11-convert-pdf-as-image/anth-doc.json",
    "B11-convert-pdf-as-image/document-result.jsonl",
    "B20-orphans-go-out/lc-mixed.json",
    "B20-orphans-go-out/pyd-dangling.json",
    "B22-convert-opencode-bare-base64/image-urls.json",
];

fn all() -> Vec<(String, Session)> {
    let fixtures = fixtures().into_iter().flat_map(|(id, name, text)| {
        let named = move |session: Session| (format!("{name} {}", session.id), session);
        sessions(&text, &id).into_iter().map(named)
    });
    let cases = CASES.iter().flat_map(|name| {
        let text = case(name);
        let id = detect(&text).unwrap().id;
        sessions(&text, id).into_iter().map(move |session| ((*name).to_owned(), session))
    });
    fixtures.chain(cases).chain(made()).collect()
}

/// Histories that fixtures do not have: each kind of message at each place between a call and its results.
fn made() -> Vec<(String, Session)> {
    let call = |id: &str, call: &str| Message::assistant(id, vec![Part::call(call, "read", "{}")]);
    let result = |id: &str, call: &str| Message::tool(id, call, "read", "text");
    let user = |id: &str| Message::user(id, "said");
    let answer = |id: &str| Message::assistant(id, vec![Part::text("said")]);
    let blank = |id: &str| Message::user(id, " \n");
    let file = |mime: &str, url: &str| {
        Part::new(PartKind::File(Media { mime: mime.to_owned(), name: None, url: url.to_owned() }))
    };
    let orders: [(&str, Vec<Message>); 8] = [
        ("a message between", vec![call("a", "x"), user("b"), result("c", "x"), answer("d")]),
        ("an answer between", vec![call("a", "x"), answer("b"), result("c", "x")]),
        ("a blank between", vec![call("a", "x"), blank("b"), result("c", "x")]),
        ("a late result", vec![call("a", "x"), call("b", "y"), result("c", "y"), result("d", "x")]),
        (
            "two answers apart",
            vec![call("a", "x"), user("b"), call("c", "y"), result("d", "y"), result("e", "x")],
        ),
        ("an orphan between", vec![call("a", "x"), result("b", "z"), result("c", "x")]),
        ("two results", vec![call("a", "x"), result("b", "x"), result("c", "x")]),
        (
            "files",
            vec![
                Message::new(
                    "a",
                    foldback_core::log::Role::User,
                    vec![
                        file("image/png", "iVBORw0KGgo="),
                        file("application/pdf", "JVBERi0xLjQK"),
                        file("image/*", "JVBERi0xLjQK"),
                        file("text/plain", "d29yZHM="),
                        file("audio/wav", "UklGRg=="),
                        file("image/png", "/home/a.png"),
                        file("application/pdf", "https://example.org/a.pdf"),
                        file("image/png", "https://example.org/a.png"),
                    ],
                ),
                answer("b"),
            ],
        ),
    ];
    let session = |(name, messages): (&str, Vec<Message>)| {
        let first = Message::user("first", "Task");
        let messages = std::iter::once(first).chain(messages).map(Arc::new).collect();
        (name.to_owned(), Session::of_messages(name, messages))
    };
    orders.into_iter().map(session).collect()
}

#[test]
fn what_is_written_is_taken_or_said_not_to_be() {
    let mut written = 0;
    let mut repaired = 0;
    for (name, session) in all() {
        for to in writable().filter(|to| to.id != session.format) {
            let name = format!("{name} → {}", to.id);
            let converted = convert(std::slice::from_ref(&session), to).unwrap();
            let again = read(converted.text.as_bytes(), Some(to.id)).unwrap();
            let same = again.iter().find(|again| again.id == session.id).unwrap_or(&again[0]);
            let Some(provider) = to.provider else { continue };
            let broken = validate(same.log().map(ShownMessage::plain), provider);
            assert_eq!(converted.breaks, broken, "{name}: printed");
            let rules: BTreeSet<&str> = broken.iter().map(|broken| broken.rule).collect();
            let odd: Vec<_> = rules.iter().filter(|rule| !STAY.contains(rule)).collect();
            assert!(odd.is_empty(), "{name}: {broken:#?}");
            let before = validate(session.log().map(ShownMessage::plain), provider);
            repaired += usize::from(before.len() > broken.len());
            written += 1;
            if to.id != "swe-agent" && to.id != "mini-swe-agent" {
                values(&converted.text, &mut |value| {
                    assert!(is_taken(value, provider, &session), "{name}: {value}");
                });
            }
        }
    }
    assert!(written > 500 && repaired > 30, "{written} written, {repaired} repaired");
}

/// Only who made reasoning can read it, whoever recorded it. What can be read by anybody stays where it is taken.
#[test]
fn signatures_go_back_to_whoever_made_them() {
    let item = r#"{"type":"reasoning","id":"rs_1","encrypted_content":"gAAA"}"#;
    let table = [
        ("claude-opus-4-8", "sig", "anthropic", Some("sig")),
        ("claude-opus-4-8", "sig", "claude-code", Some("sig")),
        ("claude-opus-4-8", "sig", "openai-responses", None),
        ("anthropic/claude-sonnet-5", "sig", "codex", None),
        ("gpt-5.5", "gAAA", "anthropic", None),
        ("gpt-5.5", "gAAA", "openai-responses", Some("gAAA")),
        ("o3", "gAAA", "codex", Some("gAAA")),
        ("gpt-5.5", item, "openai-responses", Some("gAAA")),
        ("gemini-3-pro", "c2ln", "gemini", Some("c2ln")),
        ("gemini-3-pro", "c2ln", "roo-code", None),
        ("unheard-of", "sig", "anthropic", None),
        // What is hidden is Anthropic's, whatever the model is called.
        ("unheard-of", "hidden", "anthropic", Some("hidden")),
        ("unheard-of", "hidden", "openai-responses", None),
        ("gpt-5.5", "gAAA", "pydantic-ai", Some("gAAA")),
    ];
    for (model, opaque, to, expected) in table {
        let thought =
            PartKind::Reasoning { text: "Hm.".to_owned(), opaque: Some(opaque.to_owned()) };
        let thought = Part { redacted: opaque == "hidden", ..Part::new(thought) };
        let mut answer = Message::assistant("b", vec![thought, Part::text("So.")]);
        answer.answer.as_mut().unwrap().model = Some(model.to_owned());
        let messages = [Message::user("a", "Why?"), answer].map(Arc::new);
        let session = Session::of_messages("s", messages.into());
        let converted = convert(&[session], format(to).unwrap()).unwrap();
        let again = read(converted.text.as_bytes(), Some(to)).unwrap();
        let parts = again[0].log().flat_map(|message| &message.parts);
        let mut signatures = parts.filter_map(|part| match &part.kind {
            PartKind::Reasoning { opaque, .. } => opaque.as_deref(),
            _ => None,
        });
        assert_eq!(signatures.next(), expected, "{model} → {to}");
        let lost = converted.losses.iter().any(|loss| loss.what[0] == "reasoning signature");
        assert_eq!(lost, expected != Some(opaque), "{model} → {to}: said");
    }
}

/// Reasoning that has no text is not reasoning that was hidden.
#[test]
fn empty_and_hidden_reasoning_stay_apart() {
    let body = r#"{"model":"claude-opus-4-8","messages":[{"role":"user","content":"Why?"},{"role":"assistant","content":[
        {"type":"thinking","thinking":"","signature":"sig"},{"type":"redacted_thinking","data":"hidden"},{"type":"text","text":"So."}]}]}"#;
    let session = sessions(body, "anthropic").remove(0);
    for to in ["claude-code", "roo-code", "foldback"] {
        let written = convert(std::slice::from_ref(&session), format(to).unwrap()).unwrap().text;
        let session = read(written.as_bytes(), Some(to)).unwrap().remove(0);
        let back = convert(&[session], format("anthropic").unwrap()).unwrap().text;
        let back: Value = serde_json::from_str(&back).unwrap();
        let blocks = &back["messages"][1]["content"];
        let kinds = [&blocks[0], &blocks[1]].map(|block| {
            ["type", "signature", "data"].map(|key| block[key].as_str().unwrap_or_default())
        });
        let expected = [["thinking", "sig", ""], ["redacted_thinking", "", "hidden"]];
        assert_eq!(kinds, expected, "{to}: {back}");
    }
}

/// Every value of a document, or of lines.
fn values(text: &str, look: &mut dyn FnMut(&Value)) {
    fn walk(value: &Value, look: &mut dyn FnMut(&Value)) {
        look(value);
        match value {
            Value::Array(items) => items.iter().for_each(|item| walk(item, look)),
            Value::Object(members) => members
                .iter()
                // What a tool is given and gives is its own.
                .filter(|(key, _)| !["input", "args", "arguments", "tools"].contains(&&***key))
                .for_each(|(_, value)| walk(value, look)),
            _ => {}
        }
    }
    match serde_json::from_str(text) {
        Ok(root) => walk(&root, look),
        Err(_) => text.lines().for_each(|line| walk(&serde_json::from_str(line).unwrap(), look)),
    }
}

/// What providers say no to and the canonical form does not show.
fn is_taken(value: &Value, provider: Dialect, session: &Session) -> bool {
    let text = |key: &str| value[key].as_str();
    let anthropic = provider == Dialect::Anthropic;
    let empty = |content: &Value| match content {
        Value::Array(items) => items.is_empty(),
        Value::String(text) => anthropic && text.trim().is_empty(),
        _ => false,
    };
    let is_image = |url: &str| url.starts_with("data:image/") || url.contains("://");
    let hidden = session.messages.iter().flat_map(|message| &message.parts);
    match text("type").or(text("role")) {
        Some("user" | "assistant" | "message") => !empty(&value["content"]),
        Some("text") if anthropic && value.get("data").is_none() => {
            text("text").is_some_and(|text| !text.trim().is_empty())
        }
        Some("redacted_thinking") => hidden.clone().any(|part| part.redacted),
        Some("thinking") if anthropic => text("signature").is_some_and(|mark| !mark.is_empty()),
        Some("image_url") => value["image_url"]["url"].as_str().is_some_and(is_image),
        Some("input_image") => text("image_url").is_some_and(is_image),
        Some("image") if anthropic => {
            let mime = value["source"]["media_type"].as_str();
            value["source"]["type"] == "url"
                || mime.is_some_and(|mime| mime.starts_with("image/") && mime != "image/*")
        }
        Some("document") if value["source"]["type"] == "base64" => {
            value["source"]["media_type"] == "application/pdf"
        }
        _ => true,
    }
}
