//! What a fold could have kept, as weights are fitted on it, and whether a later call took it.

use crate::examples::shipped;
use foldback_core::Limits;
use foldback_core::log::{Message, Part};
use foldback_core::moment::Moment;
use foldback_core::strategy::Strategy;
use foldback_indexed::features::{BLOCK, LINE, WORD};
use foldback_indexed::filter::NoteConfig;
use foldback_indexed::known::Known;
use foldback_indexed::learn::{Observed, Offered, Use, Uses};
use foldback_indexed::text::{key, telling};
use foldback_testkit::{Session, Subject, drive, talk};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

/// The strategy for a session, and what its folds could keep.
fn observed(session: &Session) -> (Strategy, Arc<Mutex<Vec<Offered>>>) {
    let observed = Observed::new(NoteConfig::default().filter().unwrap());
    let folds = Arc::clone(&observed.folds);
    let mut strategy = (*Subject::preset("indexed").strategy(session)).clone();
    strategy.filter.as_mut().unwrap().stage = Arc::new(observed);
    (strategy, folds)
}

/// What the folds of a session could keep.
fn offered(file: &str, window: u64) -> (Vec<Offered>, Uses) {
    let session = shipped(file, window);
    let (strategy, folds) = observed(&session);
    let mut log = Vec::new();
    drive(&session, &Arc::new(strategy), &mut |talk, _| {
        let reasons = talk.folds().iter().map(|fold| fold.plan.reasons.last().unwrap());
        assert!(reasons.into_iter().all(|reason| reason.contains("leaves out")));
        log = talk.history().iter().map(|(_, message)| Arc::clone(message)).collect();
        Ok(())
    })
    .unwrap();
    let folds = std::mem::take(&mut *folds.lock().unwrap());
    (folds, Uses::of(&log))
}

/// How many there are and how many are used, with the sum of each feature.
fn summed<const N: usize>(
    out: &mut String,
    names: &[&str; N],
    examples: impl Iterator<Item = ([f32; N], bool)>,
) {
    let (mut count, mut used, mut sums) = (0, 0, [0.0_f64; N]);
    for (features, is_used) in examples {
        count += 1;
        used += usize::from(is_used);
        for (sum, feature) in sums.iter_mut().zip(features) {
            *sum += f64::from(feature);
        }
    }
    let _ = write!(out, "  {count}, {used} used:");
    for (name, sum) in names.iter().zip(sums) {
        let _ = write!(out, " {name} {sum:.1}");
    }
    out.push('\n');
}

#[test]
fn examples_of_a_shipped_session() {
    let (folds, uses) = offered("reservations-claude-code.jsonl", 24_000);
    let mut out = String::new();
    for fold in &folds {
        let after = fold.log_len;
        let _ = writeln!(out, "after {after} messages");
        let words = fold.words.iter().map(|(word, of)| (*of, uses.word(*word, after).any));
        summed(&mut out, &WORD, words);
        let lines = fold.lines.iter().map(|(key, of)| (*of, uses.line(*key, after).first));
        summed(&mut out, &LINE, lines);
        let blocks = fold.blocks.iter().map(|(keys, of)| (*of, uses.edits(keys, after)));
        summed(&mut out, &BLOCK, blocks);
        let telling: usize = fold.blocks.iter().map(|(keys, _)| keys.len()).sum();
        let _ = writeln!(out, "  {telling} telling lines of blocks");
    }
    insta::assert_snapshot!(out);
}

/// Whether an edit took a line out after it was read, as the model is shown it of the line and of its block.
#[test]
fn what_an_edit_took_out() {
    let line = "let value = alpha_key;";
    let read = || Part::call("1", "read", "{\"path\":\"a.rs\"}");
    let edit = || {
        let arguments =
            format!("{{\"path\":\"a.rs\",\"old_string\":\"{line}\",\"new_string\":\"\"}}");
        Part::call("2", "edit", arguments)
    };
    let text = || Message::tool("t1", "1", "read", line);
    let done = || Message::tool("t2", "2", "edit", "done");
    let says = |id: &str, parts: Vec<Part>| Message::assistant(id, parts);
    // id, messages, whether it did
    for (id, messages, removed) in [
        (
            "in a later answer",
            vec![says("a1", vec![read()]), text(), says("a2", vec![edit()]), done()],
            1.0,
        ),
        ("beside it, in one answer", vec![says("a1", vec![read(), edit()]), text(), done()], 0.0),
    ] {
        let (strategy, folds) = observed(&Session::default());
        let mut talk = talk::conversation(strategy, Limits::new(10_000, 0));
        talk.append(Message::user("u", "Begin"));
        talk::append(&mut talk, messages);
        talk::append(&mut talk, talk::step(3, "run", "x y ".repeat(10_000)));
        talk::at(&mut talk, Moment::Manual);
        let folds = folds.lock().unwrap();
        let of = |names: &[&str], features: &[f32]| {
            features[names.iter().position(|name| *name == "removed").unwrap()]
        };
        let lines = &folds[0].lines;
        let (_, features) = lines.iter().find(|(of, _)| *of == key(line)).unwrap();
        assert_eq!(of(&LINE, features), removed, "{id}");
        let (_, features) = folds[0].blocks.iter().find(|(of, _)| of.contains(&key(line))).unwrap();
        assert_eq!(of(&BLOCK, features), removed, "{id}, the block");
    }
}

/// A long line that a call writes is taken in pieces, of which the first ends within a word.
#[test]
fn pieces_of_a_word_are_not_known() {
    let long = format!("alpha_{}", "x".repeat(444));
    let arguments = format!("{{\"content\":\"{long}\"}}");
    let strategy = Subject::preset("indexed").strategy(&Session::default());
    let mut talk = talk::conversation(strategy, Limits::new(10_000, 0));
    talk.append(Message::assistant("a", vec![Part::call("c", "write", arguments)]));
    for (text, is_known) in [(&*long, true), (&long[..400], false)] {
        let mut known = None;
        telling(text, |term| {
            known = Known::of(talk.history(), |all| {
                all.words.number(term.word).map(|number| all.words.at(number).is_known())
            });
        });
        assert_eq!(known, Some(is_known), "{} bytes", text.len());
    }
}

#[test]
fn what_later_calls_take() {
    let line = "let value = alpha_key;";
    let call = |id: &str, tool: &str, arguments: &str| {
        Message::assistant(format!("a{id}"), vec![Part::call(id, tool, arguments)])
    };
    let result = |id: &str, tool: &str| Message::tool(format!("t{id}"), id, tool, line);
    let edit = format!("{{\"path\":\"a.rs\",\"old_string\":\"{line}\",\"new_string\":\"\"}}");
    let log = [
        call("1", "read", "{\"path\":\"a.rs\"}"),
        result("1", "read"),
        call("2", "edit", &edit),
        result("2", "edit"),
        call("3", "edit", &edit),
    ];
    let uses = Uses::of(&log.map(Arc::new));
    let mut word = None;
    telling(line, |term| word = Some(term.word));
    // id, messages before, whether a call is next to name the word, to take the line and to edit it, and whether it is the first
    for (id, after, any, first) in [
        ("the result comes first", 0, false, false),
        ("the result is the next", 1, false, false),
        ("the call is the next, and the first", 2, true, true),
        ("the result of the call brings it again", 3, false, false),
        ("a second call", 4, true, false),
        ("nothing follows", 5, false, false),
    ] {
        let expected = Use { any, first };
        assert_eq!(uses.word(word.unwrap(), after), expected, "{id}");
        assert_eq!(uses.line(key(line), after), expected, "{id}");
        assert_eq!(uses.edits(&[key("another line"), key(line)], after), any, "{id}");
    }
}
