//! Files that are no journal, or not the whole of one: what is wrong is told, and nothing is written.

use crate::journal::{Place, begun, empty, place};
use crate::support::{append, asks, at, step};
use foldback::{Conversation, Message, Moment};
use foldback_live::journal::{Journal, JournalError};
use serde_json::Value;
use std::fs;

/// The lines of a journal of three messages.
fn three_lines() -> Vec<String> {
    let (good, mut conversation, mut journal) = begun();
    for number in 0..3 {
        conversation.append(asks(number));
        journal.record(&conversation).unwrap();
    }
    drop(journal);
    let text = fs::read_to_string(&good.path).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// Lines as a journal has them in which this happened, each with its number and its check.
fn checked(happened: &[&str]) -> Vec<String> {
    let mut lines = vec![r#"{"foldback_journal":1}"#.to_owned()];
    let mut check = String::new();
    for happened in happened {
        let line = lines.len() + 1;
        let mut hasher = blake3::Hasher::new();
        hasher.update(check.as_bytes());
        hasher.update(&(line as u64).to_le_bytes());
        hasher.update(happened.as_bytes());
        check = hasher.finalize().to_hex()[..16].to_owned();
        lines.push(format!("{{\"line\":{line},\"check\":\"{check}\",\"happened\":{happened}}}"));
    }
    lines
}

fn opened(text: &str) -> (Place, Result<Conversation, String>) {
    let place = place();
    fs::write(&place.path, text).unwrap();
    let mut conversation = empty("window");
    let opened = Journal::open(&place.path, &mut conversation);
    let opened = opened.map(|_| conversation).map_err(|error| error.to_string());
    if opened.is_err() {
        assert_eq!(fs::read_to_string(&place.path).unwrap(), text, "it is left alone");
    }
    (place, opened)
}

/// Every line that is missing, doubled, swapped or from another journal is found; but nothing tells that the
/// last lines are gone.
#[test]
fn lines_are_in_their_place() {
    let lines = three_lines();
    let refused = |lines: &[String], expect: &str| {
        let (_, opened) = opened(&(lines.join("\n") + "\n"));
        let error = opened.unwrap_err();
        assert!(error.contains(expect), "{error}\nlacks {expect}");
    };
    for (at, line) in lines.iter().enumerate().skip(1) {
        for to in 1..=lines.len() {
            let mut doubled = lines.clone();
            doubled.insert(to, line.clone());
            refused(&doubled, "lines are missing, doubled or swapped");
        }
        for other in 1..at {
            let mut swapped = lines.clone();
            swapped.swap(at, other);
            refused(&swapped, &format!(":{}: says it is line {}", other + 1, at + 1));
        }
    }
    for gone in 1..lines.len() - 1 {
        let mut without = lines.clone();
        without.remove(gone);
        refused(&without, &format!(":{}: says it is line {}", gone + 1, gone + 2));
    }
    let (foreign, mut conversation, mut journal) = begun();
    for text in ["other", "text"] {
        conversation.append(Message::user(text, text));
        journal.record(&conversation).unwrap();
    }
    let foreign = fs::read_to_string(&foreign.path).unwrap();
    let mut spliced = lines.clone();
    spliced[2] = foreign.lines().nth(2).unwrap().to_owned();
    refused(&spliced, ":3: does not follow the line before it");
    let altered = lines[2].replacen("Question", "Qvestion", 1);
    assert_ne!(altered, lines[2]);
    spliced[2] = altered;
    refused(&spliced, ":3: does not follow the line before it");
}

/// A file that is no journal is never written over, also where it has no line break.
#[test]
fn a_foreign_file_is_refused() {
    for text in
        ["precious notes", "{\"precious\":1}", "{\"foldback_journal\":22}", "\0\0\0\0", "x\n", "\n"]
    {
        let error = opened(text).1.unwrap_err();
        assert!(
            error.contains("journal.jsonl:1: is not a foldback journal")
                || error.contains("has version"),
            "{error}"
        );
    }
    // The beginning of a first line is one that a process did not finish.
    let whole = three_lines().swap_remove(0);
    for end in 0..=whole.len() {
        assert!(opened(&whole[..end]).1.is_ok(), "cut at {end}");
    }
}

#[test]
fn damage_is_named() {
    let whole = three_lines();
    let happened =
        |line: &str| serde_json::from_str::<Value>(line).unwrap()["happened"].to_string();
    let [first, second] = [&whole[1], &whole[2]].map(|line| happened(line));
    assert_eq!(checked(&[&first, &second]), whole[..3]);

    let plan = r#"{"base":0,"moment":"manual","trigger":"manual","stage":"s","estimator":"e","tokens_before":0,"tokens_after":0,"prunable":0,"reclaimed":0,"reasons":[],"edits":[],"layout":{"slots":[],"tail_from":99}}"#;
    let fold = format!(r#"[{{"fold":{{"id":1,"at":0,"plan":{plan}}}}}]"#);
    let mark = r#"[{"mark":{"part":{"item":0,"part":0},"text":"","at":0}}]"#;
    let cut = [&*whole[0], &*whole[1], "{\"line\":3,\"che", &*whole[2]].join("\n");
    let cases = [
        (cut, ":3: can't be read (EOF"),
        (
            checked(&[r#"[{"letter":1}]"#, &second]).join("\n"),
            ":2: can't be read (unknown variant `letter`",
        ),
        (["{\"a\":1}", &*whole[1]].join("\n"), ":1: is not a foldback journal"),
        ("{\"foldback_journal\":3}".to_owned(), ":1: has version 3, and only 1 can be read"),
        (
            checked(&[&first, r#"[{"undo":1}]"#]).join("\n"),
            ":3: fold 1 is undone, but the last fold in force is none",
        ),
        (
            checked(&[&first, &fold]).join("\n"),
            ":3: fold 1 refers to message 98, but the history has 1 messages",
        ),
        (checked(&[mark]).join("\n"), ":2: fold 0 refers to part 0 of message 0"),
    ];
    for (text, expect) in cases {
        let message = opened(&(text + "\n")).1.unwrap_err();
        assert!(message.contains(expect) && message.contains("journal.jsonl"), "{message}");
    }
}

#[test]
fn who_may_open() {
    let (taken, mut conversation, journal) = begun();
    let again = Journal::open(&taken.path, &mut empty("window"));
    assert!(matches!(again, Err(JournalError::Locked { .. })), "{again:?}");
    drop(journal);
    conversation.append(asks(0));
    let full = Journal::open(&taken.path, &mut conversation);
    assert!(matches!(full, Err(JournalError::NotEmpty { .. })), "{full:?}");

    let late = place();
    append(&mut conversation, (0..8).flat_map(|number| step(number, 400)));
    at(&mut conversation, Moment::Manual);
    let late = Journal::open(&late.path, &mut conversation);
    assert!(matches!(late, Err(JournalError::TooLate { .. })), "{late:?}");

    let nowhere = Journal::open("/nowhere/at/all", &mut empty("window")).unwrap_err();
    assert!(nowhere.to_string().starts_with("/nowhere/at/all: "), "{nowhere}");
}
