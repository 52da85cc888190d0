//! The notes of two sessions that ship with the project, in a small window: what is kept of each message, and in
//! which order, depends on every feature that a line or a message has.

use foldback_core::Limits;
use foldback_core::moment::Moment;
use foldback_testkit::talk::{self, sent_texts};
use foldback_testkit::{Session, Subject};
use std::path::Path;
use std::sync::Arc;

/// The last note of a session, behind what each earlier one kept: its messages and how many lines of each.
fn notes(file: &str, preset: &str, window: u64) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/sessions");
    let bytes = std::fs::read(folder.join(file)).unwrap();
    let session = foldback_formats::read(&bytes, None).unwrap().remove(0);
    let strategy = Subject::preset(preset).strategy(&Session::default());
    let mut conversation = talk::conversation(strategy, Limits::new(window, 0));
    let mut notes: Vec<String> = Vec::new();
    for message in session.log() {
        if message.is_answer() {
            let had = conversation.folds().len();
            talk::at(&mut conversation, Moment::CallStart);
            if conversation.folds().len() > had {
                let texts = sent_texts(&conversation);
                notes.extend(texts.into_iter().filter(|text| text.starts_with("[Earlier")));
            }
        }
        conversation.append(Arc::clone(message));
    }
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
        ("price-lists", "price-lists-codex.jsonl", "indexed-small", 6_000),
    ] {
        insta::assert_snapshot!(name, notes(file, preset, window));
    }
}
