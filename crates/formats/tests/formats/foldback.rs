//! The project's own lines: nothing is lost, and every format comes back out of them.
use crate::common::{
    CLEARED, check, detected, edits, fixture, fixtures, hide, is_tool, recorded, rewritten,
    session, sessions, warnings, write,
};
use foldback_core::Message;
use foldback_core::view::{EditKind, ShownMessage};
use foldback_formats::{FORMATS, Session, View, read};
use std::sync::Arc;

const ID: &str = "foldback";

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
    assert_eq!((&again.cluster, &again.folder), (&original.cluster, &original.folder));
    assert_eq!(again.frame, original.frame);
    assert_eq!(again.recorded, original.recorded);
    assert_eq!(again.boundaries, original.boundaries);
    assert_eq!(again.warnings, original.warnings);
    assert_eq!(again.source.text, original.source.text);
    assert_eq!(*again.source.records, *original.source.records);
    assert_eq!(again.cleared, original.cleared);
    again
}

#[test]
fn sessions_of_every_format_come_back_as_they_were() {
    for (format, _, text) in fixtures() {
        for original in sessions(&text, &format) {
            let again = round_trip(&original);
            // And can still be written in the recorder's own format, from its own bytes.
            if FORMATS.iter().any(|row| row.id == original.format && row.writer.is_some()) {
                let direct = rewritten(&original, original.format).text;
                assert_eq!(rewritten(&again, original.format).text, direct, "{format}");
            }
        }
    }
}

#[foldback_needs::sessions]
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
    let inserted = |line: &str| text.replacen('\n', &format!("\n{line}\n"), 1);
    let (own, damaged) = ("opencode", vec!["damaged-line"]);
    let early = format!("{}\n{text}", lines[1]);
    let table = [
        ("a cut last line", text[..text.len() - 20].to_owned(), 4, own, damaged.clone()),
        ("a line of rubbish", inserted("rubbish"), 5, own, damaged.clone()),
        ("an unknown line", inserted("{\"owl\":{}}"), 5, own, damaged.clone()),
        ("a missing message", without(6), 4, own, vec![]),
        ("a missing record", without(2), 5, ID, vec!["damaged-source"]),
        ("a line before the header", early, 5, own, damaged),
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
    let cleared = edits(&session, EditKind::Clear, CLEARED, is_tool);
    let outcome = write(&View::recorded(&session, &cleared), ID);
    assert_eq!(outcome.losses, [""; 0]);
    let again = self::session(&outcome.text, ID);
    assert_eq!(again.cleared.len(), 1);
    assert_eq!(again.messages, session.messages, "the content is still there");

    let cut = edits(&session, EditKind::Truncate, "fn", is_tool);
    let mut view = View::recorded(&session, &cut);
    hide(&mut view, |index, _| index == 0);
    let insert = [Arc::new(Message::user("note", "An inserted note."))];
    view.sent.insert(0, ShownMessage::plain(&insert[0]));
    let outcome = write(&view, ID);
    assert_eq!(outcome.losses.len(), 2);
    let last: Vec<&str> = outcome.text.lines().rev().take(2).collect();
    assert!(last[0].starts_with(r#"{"view":[{"insert":{"id":"note""#), "{}", last[0]);
    assert_eq!(last[1], r#"{"truncated":{"message":"prt_002_3","part":0,"time":7,"text":"fn"}}"#);
    assert_eq!(self::session(&outcome.text, ID).messages, session.messages);
}
