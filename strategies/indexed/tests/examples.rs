//! The notes of two sessions that ship with the project, in a small window: what is kept of each message, and in
//! which order, depends on every feature that a line or a message has.

use foldback_core::log::Message;
use foldback_testkit::talk::sent_texts;
use foldback_testkit::{DriveEvent, Session, Subject, drive};
use std::path::Path;
use std::sync::Arc;

/// A session that ships with the project, in a window of so many tokens. Without times, so that sizes alone decide when it
/// folds: pauses have rows of their own.
pub(crate) fn shipped(file: &str, window: u64) -> Session {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/sessions");
    let bytes = std::fs::read(folder.join(file)).unwrap();
    let recorded = foldback_formats::read(&bytes, None).unwrap().remove(0);
    let log = recorded.log().map(|message| {
        let mut message = Message::clone(message);
        message.at = None;
        Arc::new(message)
    });
    Session::from_messages(file, log).window(window, 0)
}

/// The last note of a session, behind what each earlier one kept: its messages and how many lines of each.
fn notes(file: &str, preset: &str, window: u64) -> String {
    let session = shipped(file, window);
    let (mut notes, mut folds) = (Vec::new(), 0);
    drive(&session, &Subject::preset(preset).strategy(&session), &mut |talk, seen| {
        if matches!(seen, DriveEvent::Call) && talk.folds().len() > folds {
            folds = talk.folds().len();
            notes.extend(sent_texts(talk).into_iter().filter(|text| text.starts_with("[Earlier")));
        }
        Ok(())
    })
    .unwrap();
    let last = notes.pop().unwrap();
    let outlines = notes.iter().map(|note| outline(note));
    outlines.chain([last]).collect::<Vec<_>>().join("\n=====\n")
}

/// The headings of a note, each with how many lines stand below it.
fn outline(note: &str) -> String {
    let messages = note.split("\n▸ ").skip(1);
    let counted = messages.map(|message| {
        let mut lines = message.lines();
        let heading = lines.next().unwrap_or_default();
        format!("{} {heading}", lines.count())
    });
    counted.collect::<Vec<_>>().join("\n")
}

#[test]
fn notes_of_shipped_sessions() {
    for (name, file, preset, window) in [
        ("reservations", "reservations-claude-code.jsonl", "indexed", 10_000),
        ("price-lists", "price-lists-codex.jsonl", "indexed", 6_000),
    ] {
        insta::assert_snapshot!(name, notes(file, preset, window));
    }
}
