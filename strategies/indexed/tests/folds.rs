//! What a fold leaves out, what its note keeps, and when it happens.

use foldback_core::conversation::Conversation;
use foldback_core::log::Message;
use foldback_core::moment::Moment;
use foldback_core::services::{FixedClock, Services};
use foldback_core::{Frame, Limits};
use foldback_testkit::talk::{append, at, sent_ids, sent_texts, step};
use foldback_testkit::{Seen, Session, Subject, drive};
use std::sync::Arc;

use foldback_indexed as _;

/// Texts of the last request of a session under a preset.
fn last(session: &Session, preset: &str) -> Vec<String> {
    sent_last(session, &Subject::preset(preset))
}

fn sent_last(session: &Session, subject: &Subject) -> Vec<String> {
    let strategy = subject.strategy(session);
    let mut texts = Vec::new();
    drive(session, &strategy, &mut |talk, seen| {
        if matches!(seen, Seen::Call) {
            texts = sent_texts(talk);
        }
        Ok(())
    })
    .unwrap();
    texts
}

/// Reads of files of two hundred lines; among those of the first file one that is called by name again and again.
fn reads(files: usize) -> Session {
    let mut session = Session::new("reads").window(20_000, 0).user("Find the leak in the store");
    for file in 0..files {
        let path = format!("src/part{file}.rs");
        let mut text = String::new();
        for line in 0..200 {
            text.push_str(&format!("    {line}→some plain words of no use, line {line}\n"));
        }
        if file == 0 {
            text.push_str("    200→pub fn reopen_after_crash(path: &Path) -> Result<Store> {\n");
        }
        session = session.call("read", &format!("{{\"path\":\"{path}\"}}"), text);
        session = session.call("grep", "{\"pattern\":\"reopen_after_crash\"}", "no match");
    }
    session
}

#[test]
fn a_note_keeps_lines_with_what_calls_name() {
    let texts = last(&reads(12), "indexed");
    let note = texts.iter().find(|text| text.starts_with("[Earlier messages")).unwrap();
    assert!(texts[0].contains("Find the leak"), "IX-K1: the first user message stays in front");
    let notes = texts.iter().filter(|text| text.starts_with("[Earlier")).count();
    assert_eq!(notes, 1, "IX-K2: one note");
    assert!(note.lines().nth(1).unwrap().starts_with("▸ #"), "{note}");
    assert!(note.contains("read src/part"), "{note}");
    assert!(!note.contains('→'), "line numbers are left out");
}

#[test]
fn what_the_user_said_stays_unless_it_is_bulky() {
    let mut session = Session::new("said").window(20_000, 0).user("Begin here");
    for turn in 0..10 {
        session = session.user(format!("and mind rule_{turn}"));
        let bulk = format!("log line of turn {turn}\n").repeat(300);
        session = session.call("run", "{\"command\":\"make\"}", bulk);
    }
    let texts =
        last(&session.user("pasted text ".repeat(3_000)).call("run", "{}", "ok"), "indexed");
    for turn in 0..10 {
        let rule = format!("rule_{turn}");
        assert!(texts.iter().any(|text| text.contains(&rule)), "IX-K3: {rule}");
    }
}

#[test]
fn a_result_that_does_not_fit_goes_behind_the_note() {
    let huge = "seven plain words in each line here\n".repeat(4_000);
    let session = Session::new("huge").window(20_000, 0).user("Look").call("read", "{}", "small");
    let session = session.call("read", "{\"path\":\"src/all.rs\"}", huge).answer("Done");
    let texts = last(&session, "indexed");
    assert!(texts.iter().map(String::len).sum::<usize>() < 40_000, "{} texts", texts.len());
    assert!(texts[0].contains("Look") && texts[1].starts_with("[Earlier"), "{texts:?}");
}

#[test]
fn a_pause_and_a_large_window_make_it_fold_earlier() {
    // id, window, tokens of results, seconds since the last answer, folds
    for (id, window, tokens, pause, folds) in [
        ("IX-T1", 20_000, 12_000, 10, false),
        ("IX-T2", 20_000, 12_000, 301, true),
        ("IX-T3", 20_000, 8_000, 301, false),
        ("IX-T4", 20_000, 16_000, 10, true),
        ("IX-T5", 1_000_000, 148_000, 10, false),
        ("IX-T6", 1_000_000, 152_000, 10, true),
    ] {
        let strategy = Subject::preset("indexed").strategy(&Session::default());
        let clock = Arc::new(FixedClock::at(0));
        let services = Services::with_clock(Arc::clone(&clock) as _);
        let limits = Limits::new(window, 0);
        let mut talk = Conversation::new(strategy, limits, Frame::default(), services);
        append(&mut talk, [Message::user("u", "Go")]);
        for number in 0..10 {
            let text = "seven plain words in each line here\n".repeat(tokens / 10 / 8);
            append(
                &mut talk,
                step(number, "run", text).map(|mut message| {
                    message.at = Some(1_000);
                    message
                }),
            );
        }
        clock.set(1_000 + pause * 1_000);
        let folded = at(&mut talk, Moment::CallStart).iter().any(|report| report.outcome.changed());
        assert_eq!(folded, folds, "{id}: {tokens} tokens after {pause} s");
        if folds {
            assert!(talk.tokens() <= window.min(200_000) / 4, "IX-G1: {} tokens", talk.tokens());
            assert_eq!(sent_ids(&talk).pop().unwrap(), "t9", "IX-G2");
        }
    }
}

/// A strategy file without weights, that the tests add one to.
const NO_WEIGHTS: &str = include_str!("../ablations/no-weights.toml");

/// Two texts, each with a line of its own that is worth keeping; then turns of the user, what the model says, and a long result.
fn two(extra: &str, again: Option<&str>) -> Session {
    let read = |session: Session, file: &str, line: String| {
        session.call("read", &format!("{{\"path\":\"src/{file}.rs\"}}"), line)
    };
    let session = Session::new("two").window(20_000, 0).user("Begin");
    let session = read(session, "first", "    let value = alpha_key; // of this file\n".into());
    let session = session.answer("Done").user("Go on").answer("Done").user("And on");
    let mut session =
        read(session, "second", format!("    let other = omega_key{extra}; // of that\n"));
    if let Some(file) = again {
        session = read(session, file, "nothing\n".into());
    }
    let session = session.answer("I will use omega_key").user("Do");
    let bulk = "{ } ( ) [ ]; { } ( ) [ ];\n".repeat(1_500);
    session.call("run", "{\"command\":\"make\"}", bulk).call("run", "{}", "ok").answer("Done")
}

/// With a weight on one feature the line where it is higher is kept, with the opposite weight the other line.
#[test]
fn a_weight_decides_between_two_lines() {
    // table, feature, the word of the line where it is higher, more of the second line, a file that is read again
    for (table, feature, higher, extra, again) in [
        ("word", "recency", "omega_key", "", None),
        ("word", "turns", "alpha_key", "", None),
        ("word", "written", "omega_key", "", None),
        ("word", "written_recency", "omega_key", "", None),
        ("line", "turns", "alpha_key", "", None),
        ("line", "words_written", "omega_key", "", None),
        ("line", "words_sum", "omega_key", " + more_key", None),
        ("line", "words", "omega_key", " + more_key", None),
        ("block", "turns", "alpha_key", "", None),
        ("block", "words_written", "omega_key", "", None),
        ("block", "words_sum", "omega_key", " + more_key", None),
        ("block", "file_recency", "omega_key", "", None),
        ("block", "file_recency", "alpha_key", "", Some("first")),
    ] {
        let worth =
            ["word", "line", "block"].map(|of| format!("{of} = {}.0", u8::from(of == table)));
        let text = NO_WEIGHTS
            .replace("note = 0.8", "note = 0.014")
            .replace("word = 1.0, line = 3.0, block = 2.0", &worth.join(", "));
        let other = if higher == "alpha_key" { "omega_key" } else { "alpha_key" };
        for (weight, kept, left) in [(9.0, higher, other), (-9.0, other, higher)] {
            let subject = Subject::toml(format!(
                "{text}\n[filter.{table}]\nbias = -9.0\n{feature} = {weight:.1}\n"
            ));
            let texts = sent_last(&two(extra, again), &subject);
            let note = texts.iter().find(|text| text.starts_with("[Earlier"));
            let note = note.unwrap_or_else(|| panic!("no fold: {texts:?}"));
            assert!(
                note.contains(kept) && !note.contains(left),
                "{table}.{feature} = {weight}: {kept} and not {left} in\n{note}"
            );
        }
    }
}

/// All settings of a strategy file but its weights.
fn settings(text: &str) -> &str {
    let begin = text.find("[estimator]").unwrap();
    let end = text.find("\n# Fitted").or_else(|| text.find("\n[filter.")).unwrap_or(text.len());
    text[begin..end].trim()
}

/// The strategy files that findings are told of. One with other weights can't extend the preset, whose weights would
/// stay; so it repeats its settings.
#[test]
fn every_ablation_is_a_strategy() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/ablations");
    let files: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(files.len(), 8, "{files:?}");
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        if !text.contains("extends = \"indexed\"") {
            let preset = include_str!("../presets/indexed.toml");
            assert_eq!(settings(&text), settings(preset), "{}", file.display());
        }
        let texts = sent_last(&reads(12), &Subject::toml(text));
        assert!(texts.iter().any(|text| text.starts_with("[Earlier")), "{}", file.display());
    }
}
