//! The project's own lines: nothing is lost, and every format comes back out of them.
use crate::common::{
    check, clear, counts, detected, edits, fixture, hide, recorded, rewritten, session, usage,
    warnings, write,
};
use foldback_core::Message;
use foldback_core::log::Role;
use foldback_core::view::{EditKind, Shown};
use foldback_formats::{FORMATS, Session, View, read};
use foldback_testkit::needs_sessions;
use std::path::Path;
use std::sync::Arc;

const ID: &str = "foldback";

/// Every fixture of every format that can be read, with its format.
fn all_fixtures() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let mut found = Vec::new();
    for format in FORMATS {
        let Ok(entries) = std::fs::read_dir(root.join(format.id)) else {
            continue;
        };
        for entry in entries {
            let path = entry.unwrap().path();
            let Ok(text) = std::fs::read_to_string(&path) else {
                continue;
            };
            found.push((format.id.to_owned(), text));
        }
    }
    found.sort();
    assert!(found.len() > 8, "only {} fixtures", found.len());
    found
}

/// Asserts that `original` survives, and gives what came back.
fn round_trip(original: &Session) -> Session {
    let first = rewritten(original, ID);
    assert_eq!(first.losses, [""; 0]);
    assert_eq!(detected(&first.text), Some(ID));
    let again = session(&first.text, ID);
    assert_eq!(rewritten(&again, ID).text, first.text, "the second export is the first");
    assert_eq!(again.messages, original.messages);
    assert_eq!((&again.id, again.format), (&original.id, original.format));
    assert_eq!((&again.model, again.limits), (&original.model, original.limits));
    assert_eq!(again.cluster, original.cluster);
    assert_eq!(again.frame, original.frame);
    assert_eq!(again.recorded, original.recorded);
    assert_eq!(again.boundaries, original.boundaries);
    assert_eq!(again.warnings, original.warnings);
    assert_eq!(again.source.text, original.source.text);
    assert_eq!(again.source.records, original.source.records);
    assert_eq!((counts(&again), usage(&again)), (counts(original), usage(original)));
    again
}

#[test]
fn sessions_of_every_format_come_back_as_they_were() {
    for (format, text) in all_fixtures() {
        let Ok(sessions) = read(text.as_bytes(), Some(&format)) else {
            continue;
        };
        for original in sessions {
            let again = round_trip(&original);
            // And can still be written in the recorder's own format, from its own bytes.
            if FORMATS.iter().any(|row| row.id == original.format && row.writer.is_some()) {
                let direct = rewritten(&original, original.format).text;
                assert_eq!(rewritten(&again, original.format).text, direct, "{format}");
            }
        }
    }
}

#[needs_sessions]
#[test]
fn real_exports_come_back_byte_for_byte() {
    for path in recorded("opencode") {
        let text = std::fs::read_to_string(&path).unwrap();
        let again = round_trip(&session(&text, "opencode"));
        check(&again);
        assert!(rewritten(&again, "opencode").text == text, "{}", path.display());
    }
}

#[test]
fn a_file_appended_to_itself_is_the_same_session() {
    let original = session(&fixture("opencode", "parallel.json"), "opencode");
    let text = rewritten(&original, ID).text;
    let twice = format!("{text}{text}");
    let once = session(&text, ID);
    let again = session(&twice, ID);
    assert_eq!(rewritten(&again, ID).text, rewritten(&once, ID).text);
}

#[test]
fn two_sessions_may_share_a_file() {
    let texts = ["plain.json", "parallel.json"]
        .map(|name| rewritten(&session(&fixture("pydantic-ai", name), "pydantic-ai"), ID).text);
    let sessions = read(texts.concat().as_bytes(), None).unwrap();
    assert_eq!(sessions.len(), 2);
    for (session, text) in sessions.iter().zip(texts) {
        assert_eq!(rewritten(session, ID).text, text);
    }
}

#[test]
fn damaged_lines_are_counted_and_the_rest_is_used() {
    let original = session(&fixture("opencode", "plain.json"), "opencode");
    let text = rewritten(&original, ID).text;
    let lines: Vec<&str> = text.lines().collect();
    // 0 header, 1–4 records, 5–9 messages.
    let without = |skip: usize| -> String {
        let kept = lines.iter().enumerate().filter(|(index, _)| *index != skip);
        kept.map(|(_, line)| format!("{line}\n")).collect()
    };
    let cut = &text[..text.len() - 20];
    let table = [
        ("a cut last line", cut.to_owned(), 4, "opencode", vec!["damaged-line"]),
        (
            "a line of rubbish",
            text.replacen('\n', "\nrubbish\n", 1),
            5,
            "opencode",
            vec!["damaged-line"],
        ),
        (
            "an unknown line",
            text.replacen('\n', "\n{\"owl\":{}}\n", 1),
            5,
            "opencode",
            vec!["damaged-line"],
        ),
        ("a missing message", without(6), 4, "opencode", vec![]),
        ("a missing record", without(2), 5, ID, vec!["damaged-source"]),
        (
            "a line before the header",
            format!("{}\n{text}", lines[1]),
            5,
            "opencode",
            vec!["damaged-line"],
        ),
    ];
    for (name, text, messages, format, codes) in table {
        let session = session(&text, ID);
        assert_eq!(session.messages.len(), messages, "{name}");
        assert_eq!(session.format, format, "{name}");
        assert_eq!(warnings(&session), codes, "{name}");
        // What is left can be written, in the own format and in the recorder's.
        rewritten(&session, ID);
        rewritten(&session, "opencode");
    }
}

#[test]
fn what_a_strategy_did_is_written_down() {
    let session = session(&fixture("opencode", "plain.json"), "opencode");
    let is_tool = |message: &Message| message.role == Role::Tool;

    let cleared = clear(&session, 7, is_tool);
    let outcome = write(&View::recorded(&session, &cleared), ID);
    assert_eq!(outcome.losses, [""; 0]);
    let again = self::session(&outcome.text, ID);
    assert_eq!(again.cleared.len(), 1);
    assert_eq!(again.messages, session.messages, "the content is still there");

    let cut = edits(&session, EditKind::Truncate, "fn", 7, is_tool);
    let mut view = View::recorded(&session, &cut);
    hide(&mut view, |index, _| index == 0);
    let insert = [Arc::new(Message::user("note", "An inserted note."))];
    view.sent.insert(0, Shown::plain(&insert[0]));
    let outcome = write(&view, ID);
    assert_eq!(outcome.losses.len(), 2);
    let last: Vec<&str> = outcome.text.lines().rev().take(2).collect();
    assert!(last[0].starts_with(r#"{"view":[{"insert":{"id":"note""#), "{}", last[0]);
    assert_eq!(last[1], r#"{"truncated":{"message":"prt_002_3","part":0,"time":7,"text":"fn"}}"#);
    assert_eq!(self::session(&outcome.text, ID).messages, session.messages);
}

#[test]
fn newer_lines_are_refused() {
    let error = read(br#"{"foldback":2,"id":"a","format":"opencode"}"#, None).unwrap_err();
    assert_eq!(error.to_string(), "line 1: version 2 of these lines; this program reads up to 1");
}
