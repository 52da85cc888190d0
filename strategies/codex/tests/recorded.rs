//! Recorded sessions: a `compacted` line holds the history that Codex went on with. Its item is encrypted; the messages in front of
//! it are not.

use crate::registry;
use crate::rows::strategy;
use foldback_core::log::{Message, Role};
use foldback_core::moment::Moment;
use foldback_formats::{Session, read};
use foldback_test_support::sessions;
use foldback_testkit::stand_in::Scripted;
use foldback_testkit::talk;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

/// The text of a recorded message; `None` for any other item.
fn text(item: &Value) -> Option<(String, String)> {
    let content = item.get("content")?.as_array()?;
    let texts = content.iter().filter_map(|content| content["text"].as_str());
    Some((item["role"].as_str()?.to_owned(), texts.collect::<Vec<_>>().join("\n")))
}

/// The histories that Codex went on with, in order, by their messages; and how many encrypted items stand at the end of each.
fn replaced(session: &Session) -> Vec<(Vec<(String, String)>, bool)> {
    let lines =
        session.source.text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let compacted = lines.filter(|line| line["type"] == "compacted");
    compacted
        .map(|line| {
            let items =
                line["payload"]["replacement_history"].as_array().cloned().unwrap_or_default();
            let sealed = items.last().is_some_and(|item| item["type"] == "compaction");
            (items.iter().filter_map(text).collect(), sealed)
        })
        .collect()
}

/// What the harness had written in the session, which Codex puts into a compacted history again.
fn injected(session: &Session) -> BTreeSet<String> {
    let frame = session.frame.segments().iter().map(|segment| segment.text.clone());
    let synthetic = session.messages.iter().filter(|message| message.role != Role::Assistant);
    frame.chain(synthetic.map(|message| message.said())).collect()
}

#[foldback_needs::sessions]
#[test]
fn keeps_what_codex_kept() {
    let mut found = Vec::new();
    for file in files() {
        let bytes = std::fs::read(&file).unwrap();
        let session = read(&bytes, Some("codex")).unwrap().remove(0);
        let recorded = replaced(&session);
        assert_eq!(recorded.len(), session.boundaries.len(), "{}", file.display());
        let mut strategy = strategy("codex-remote");
        strategy.summarizer = Some(Scripted::always(Some("sealed")) as _);
        let mut talk = talk::conversation(strategy, session.limits);
        let mut appended = 0;
        let injected = injected(&session);
        for (boundary, (messages, sealed)) in session.boundaries.iter().zip(recorded) {
            let log = session.messages[appended..boundary.before]
                .iter()
                .filter(|message| !message.is_entry());
            talk::append(&mut talk, log.map(Arc::clone));
            appended = boundary.before;
            talk::at(&mut talk, Moment::Manual);
            let sent: Vec<Message> = talk.sent().iter().map(|shown| shown.to_message()).collect();
            let ours: Vec<String> = sent
                .iter()
                .filter(|message| message.role == Role::User && !message.is_entry())
                .map(Message::said)
                .collect();
            let is_context = |(role, text): &(String, String)| {
                role == "developer" || injected.contains(text) && !ours.contains(text)
            };
            let (again, theirs): (Vec<_>, Vec<_>) = messages.into_iter().partition(is_context);
            let theirs: Vec<String> = theirs.into_iter().map(|(_, text)| text).collect();
            let again: Vec<String> = again.into_iter().map(|(role, _)| role).collect();
            found.push((ours == theirs, ours.len(), again.join(" "), sealed));
        }
    }
    // Whether the person's messages are the same, how many there are, what of the session's context Codex put in again, and whether
    // an encrypted item ends it.
    let none = String::new();
    let context = || "developer user".to_owned();
    let expect = [
        (true, 6, none, true),
        (true, 9, context(), true),
        (true, 7, context(), true),
        (true, 10, context(), true),
    ];
    assert_eq!(found, expect);
}

/// What a sealed item may keep lies between nothing and all that it replaces, and so does the request after each recorded compaction.
#[foldback_needs::sessions]
#[test]
fn sizes_of_recorded_compactions() {
    let mut found = 0;
    for file in files() {
        let session = read(&std::fs::read(&file).unwrap(), Some("codex")).unwrap().remove(0);
        let preset = "name = \"here\"\nextends = \"openai-compact\"\n[summarizer]\nuse = \"sealed\"\ntokens = 1\non_failure = \"keep\"\n";
        let mut talk = talk::conversation(talk::compiled(&registry(), preset), session.limits);
        let mut appended = 0;
        for boundary in &session.boundaries {
            let log = session.messages[appended..boundary.before].iter();
            talk::append(&mut talk, log.filter(|message| !message.is_entry()).map(Arc::clone));
            appended = boundary.before;
            let all = talk.tokens();
            talk::at(&mut talk, Moment::Manual);
            let nothing = talk.tokens();
            let mut after = session.messages[appended..]
                .iter()
                .filter_map(|message| message.answer.as_ref()?.usage);
            let after = after.next().unwrap().input_total();
            let before = boundary.tokens_before.unwrap();
            assert!(nothing < after && after < before, "{nothing} < {after} < {before}");
            assert!(after < all, "{after} of {all}");
            found += 1;
        }
    }
    assert_eq!(found, 4);
}

fn files() -> Vec<PathBuf> {
    let folders = [sessions().join("codex"), sessions().join("../training/codex")];
    let entries =
        folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.sort();
    files
}
