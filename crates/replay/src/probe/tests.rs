use super::figures::{Row, lines};
use super::score::{Form, Outcome, score, stands_in};
use super::*;
use crate::Setup;
use crate::acted::{call, preset, session};
use foldback_core::Limits;
use foldback_core::log::Message;
use foldback_formats::Session;
use proptest::prelude::*;

/// A task with everything that can be asked for: three files, two failures, a list, commands, and much in between.
fn rich() -> Session {
    use serde_json::json;
    let mut messages = vec![Message::user(
        "u0",
        "Please fix the parser in src/parse/lexer.rs so that it reads numbers. Do not touch the file docs/format.md, it is frozen. \
         The release branch must still build with the old compiler. Run the tests of crates/grammar-core when you are done.",
    )];
    let steps = [
        (
            "todo_write",
            json!({"todos": [
            {"content": "Read the lexer", "status": "in_progress"},
            {"content": "Fix the numbers", "status": "pending"},
            {"content": "Run all the tests", "status": "pending"}]}),
            "ok",
        ),
        (
            "read",
            json!({"file_path": "src/parse/lexer.rs"}),
            "the lexer listens for port 48213 by default\nfn scan_digits(input: &str)\nother ports are 31415 and 27182 here\nids seen before: aa31b7c9f2 and 11f7a2c3d4",
        ),
        (
            "bash",
            json!({"command": "cargo test --no-fail-fast -p grammar-tables"}),
            "test scan::reads_hex ... FAILED\ntest scan::reads_dec ... ok\ntest scan::skips_blank ... ok\nerror: test failed, to rerun pass `-p grammar`",
        ),
        (
            "edit",
            json!({"file_path": "src/parse/lexer.rs", "old_string": "a", "new_string": "b"}),
            "done",
        ),
        (
            "bash",
            json!({"command": "cargo test --workspace --all-targets"}),
            "error[E0308]: mismatched types in the scanner\nthe cache key of the build is 7f3a9c21d0\nthe server answered on port 51877 after a while",
        ),
        (
            "edit",
            json!({"file_path": "src/parse/number.rs", "old_string": "a", "new_string": "b"}),
            "done",
        ),
        ("write", json!({"file_path": "tests/numbers.rs", "content": "x"}), "done"),
        (
            "bash",
            json!({"command": "cargo test -p lexer-bench --features slow-path --message-format short"}),
            "error: could not compile the bench\nthe digest of the archive is 99ab12fe77",
        ),
        (
            "todo_write",
            json!({"todos": [
            {"content": "Read the lexer", "status": "completed"},
            {"content": "Fix the numbers", "status": "in_progress"},
            {"content": "Run all the tests", "status": "pending"}]}),
            "ok",
        ),
    ];
    for (number, (tool, arguments, result)) in steps.into_iter().enumerate() {
        messages.extend(call(number, tool, arguments, result));
        messages.extend(call(
            100 + number,
            "read",
            json!({"file_path": "notes.txt"}),
            &"words that say nothing and fill the window\n".repeat(60),
        ));
    }
    session(messages)
}

fn setup(window: u64) -> Setup {
    crate::acted::setup(Limits::new(window, window / 10))
}

#[test]
fn each_kind_is_asked_for_and_answers_are_those_of_the_log() {
    let moment = Moment::end(&rich());
    let all = questions(&moment, 100);
    let asked = |kind: Kind| {
        let own = all.iter().filter(move |one| one.kind == kind);
        own.map(|one| (one.expected.as_str(), one.age.unwrap())).collect::<Vec<_>>()
    };
    let edited = asked(Kind::Edited);
    assert_eq!(edited, [("src/parse/lexer.rs", 12), ("tests/numbers.rs", 6)]);
    let failed = asked(Kind::Failed);
    for (line, age) in [
        ("error: test failed, to rerun pass `-p grammar`", 14),
        ("error: could not compile the bench", 4),
    ] {
        assert!(failed.contains(&(line, age)), "{line}: {failed:?}");
    }
    let test = all.iter().find(|one| one.expected == "scan::reads_hex");
    assert_eq!(test.and_then(|one| one.age), Some(14));
    assert_eq!(asked(Kind::Task), [("Fix the numbers", 2)]);
    assert!(asked(Kind::Forbade).contains(&("docs/format.md", 19)), "{:?}", asked(Kind::Forbade));
    assert!(asked(Kind::Asked).contains(&("crates/grammar-core", 19)), "{:?}", asked(Kind::Asked));
    let result = asked(Kind::Result);
    for (text, age) in [("48213", 16), ("7f3a9c21d0", 10), ("99ab12fe77", 4)] {
        assert!(result.contains(&(text, age)), "{text}: {result:?}");
    }
    let tried = asked(Kind::Tried);
    assert!(tried.contains(&("--no-fail-fast", 14)), "{tried:?}");
    for question in &all {
        assert!((LEAST..=MOST).contains(&question.distractors.len()), "{question:?}");
        assert!(!question.distractors.contains(&question.expected), "{question:?}");
        assert!(!question.text.contains(&question.expected), "{question:?}");
    }
    // Few are spread over kinds and ages.
    let few = questions(&moment, 7);
    let kinds: std::collections::BTreeSet<Kind> = few.iter().map(|one| one.kind).collect();
    assert_eq!((few.len(), kinds.len()), (7, 7), "{few:?}");
    assert!(few.iter().all(|one| all.contains(one)));
}

/// A line of which another has something else in its place has no single answer.
#[test]
fn a_gap_has_one_answer() {
    let mut messages = vec![Message::user("u", "Look at it.")];
    for number in 0..6 {
        let text =
            format!("the worker was started on port 4{number}217\nthe id of run is 8812{number}77");
        let text = text.replace("id of run", &format!("id of run {}", ["one", "two"][number % 2]));
        messages.extend(call(number, "look", serde_json::json!({}), &text));
    }
    messages.extend(call(
        9,
        "look",
        serde_json::json!({}),
        "the digest of the whole is 7f3a9c21d0\nand of the parts aa31b7c9f2 or 11f7a2c3d4",
    ));
    let found = questions(&Moment::end(&session(messages)), 100);
    let expected: Vec<&str> = found.iter().map(|one| one.expected.as_str()).collect();
    assert!(!found.is_empty());
    assert!(
        !expected.iter().any(|text| text.ends_with("217") || text.starts_with("8812")),
        "{expected:?}"
    );
}

#[test]
fn a_moment_sees_nothing_of_what_comes_later() {
    let session = rich();
    let early = Moment::before(&session, 8).unwrap();
    let asked = questions(&early, 100);
    let edited: Vec<&str> =
        asked.iter().filter(|one| one.kind == Kind::Edited).map(|one| &*one.expected).collect();
    // Too few files had been named for another answer.
    assert!(edited.is_empty() || edited == ["src/parse/lexer.rs"], "{edited:?}");
    assert!(asked.iter().all(|one| one.expected != "99ab12fe77"));
    assert!(Moment::before(&session, session.calls()).is_none());
    assert_eq!(Moment::end(&session).call(), session.calls());
    let view = early.view(&preset("none"), &setup(100_000));
    assert_eq!(view.messages.len(), early.full().messages.len());
}

#[test]
fn a_view_has_what_its_preset_left() {
    let moment = Moment::end(&rich());
    let all = questions(&moment, 100);
    let full = moment.full();
    assert!(all.iter().all(|one| full.has(one) && full.keeps(one) == Some(true)));
    let plain = moment.view(&preset("none"), &setup(100_000));
    assert_eq!(plain.messages, full.messages);
    let folded = moment.view(&preset("window"), &setup(20_000));
    let kept = all.iter().filter(|one| folded.keeps(one) == Some(true)).count();
    assert!(kept < all.len(), "{kept} of {}", all.len());
    // What is shown as it was recorded is in the view.
    assert!(all.iter().all(|one| folded.keeps(one) != Some(true) || folded.has(one)));
    let nothing = View::default();
    assert!(all.iter().all(|one| !nothing.has(one) && nothing.keeps(one) == Some(false)));
}

#[test]
fn questions_of_ones_own_have_the_age_of_their_answers() {
    let moment = Moment::end(&rich());
    let own = Own::read(
        r#"{"question": "Which port?", "answer": "51877", "distractors": ["80", "443"]}

{"question": "Whose?", "answer": "nobody's", "session": "another"}
{"question": "Which file?", "answer": "no/such.rs", "path": true, "session": "constructed"}"#,
    );
    let asked = own.unwrap().about("a.jsonl", &moment);
    let found: Vec<_> = asked.iter().map(|one| (&*one.expected, one.age, one.kind)).collect();
    assert_eq!(found, [("51877", Some(10), Kind::Own), ("no/such.rs", None, Kind::Own)]);
    assert_eq!(moment.full().keeps(&asked[0]), None);
    assert!(moment.full().has(&asked[0]) && !moment.full().has(&asked[1]));
    for (text, part) in [
        ("{\"question\": \"a\"}", "1: missing field `answer`"),
        ("\n{\"question\": \"a\", \"answer\": \" \"}", "2: a question and an answer"),
        (
            "{\"question\": \"a\", \"answer\": \"b\", \"distractors\": [\"b\"]}",
            "among its distractors",
        ),
        ("{\"question\": \"a\", \"answer\": \"b\", \"hint\": 1}", "hint"),
    ] {
        let error = Own::read(text).unwrap_err();
        assert!(error.contains(part), "{error}");
    }
}

fn question(expected: &str, path: bool) -> Question {
    Question {
        kind: Kind::Own,
        holder: None,
        age: None,
        text: "Which?".to_owned(),
        expected: expected.to_owned(),
        also: vec![format!("it is {expected} here")],
        path,
        distractors: vec!["src/one.rs".to_owned(), "src/two.rs".to_owned()],
        place: None,
    }
}

#[test]
fn answers_as_a_table() {
    use Outcome::{Empty, Right, Unknown, Wrong};
    let exact = [
        ("ANSWER: src/a/b.rs", Right),
        ("answer:  `./src/a/b.rs`.", Right),
        ("**ANSWER:** \"SRC/a/b.rs\"", Right),
        ("I looked.\n\nANSWER:\nsrc/a/b.rs", Right),
        ("ANSWER: x\nANSWER: src/a/b.rs", Right),
        ("src/a/b.rs", Right),
        ("ANSWER: it is src/a/b.rs here", Right),
        ("ANSWER: /home/u/src/a/b.rs", Right),
        ("ANSWER: a/b.rs", Right),
        ("ANSWER: b.rs", Wrong),
        ("ANSWER: src/a/b.rs and src/c.rs", Wrong),
        ("ANSWER: unknown.", Unknown),
        (" \n", Empty),
        ("It may be this.\nOr src/a/b.rs.", Outcome::Form),
        ("ANSWER:", Outcome::Form),
    ];
    for (text, expected) in exact {
        assert_eq!(score(&question("src/a/b.rs", true), Form::Exact, text).0, expected, "{text}");
    }
    // A text that is no path needs all of it.
    assert_eq!(score(&question("a/b/c", false), Form::Exact, "b/c").0, Wrong);
    let asked = question("src/a/b.rs", true);
    let at = asked.options().iter().position(|option| *option == asked.expected).unwrap();
    let right = ["A", "B", "C"][at];
    let wrong = ["A", "B", "C"][(at + 1) % 3];
    let choice = [
        (format!("ANSWER: {right}"), Right),
        (format!("({right}) src/a/b.rs"), Right),
        (format!("{}.", right.to_lowercase()), Right),
        ("ANSWER: src/a/b.rs".to_owned(), Right),
        (format!("ANSWER: {wrong}"), Wrong),
        ("ANSWER: D".to_owned(), Outcome::Form),
        ("Bananas".to_owned(), Outcome::Form),
        (format!("{right}. {}", asked.options()[(at + 1) % 3]), Outcome::Form),
        ("UNKNOWN".to_owned(), Unknown),
    ];
    for (text, expected) in choice {
        assert_eq!(score(&asked, Form::Choice, &text).0, expected, "{text}");
    }
}

#[test]
fn a_string_stands_in_a_text_where_it_is_no_piece_of_another() {
    let cases = [
        ("on port 8080.", "8080", true),
        ("on port 18080", "8080", false),
        ("x_max_depth", "max_depth", false),
        ("(max_depth)", "max_depth", true),
        ("18080 and 8080", "8080", true),
        ("./src/a.rs:3", "src/a.rs", true),
        ("", "a", false),
        ("a", "", false),
    ];
    for (text, string, expected) in cases {
        assert_eq!(stands_in(text, string), expected, "{string} in {text}");
    }
}

fn row(session: usize, preset: &str, id: usize, right: bool, in_view: bool) -> Row {
    Row {
        session: format!("s{session}"),
        cluster: format!("s{session}"),
        preset: preset.to_owned(),
        call: 9,
        id: id.to_string(),
        kind: Kind::Result,
        holder: Some(Holder::Result),
        age: Some(id + 1),
        question: String::new(),
        expected: String::new(),
        form: Form::Exact,
        answer: String::new(),
        outcome: if right { Outcome::Right } else { Outcome::Wrong },
        right,
        in_view,
        kept: Some(in_view),
        recalls: 0,
        tokens: 100,
    }
}

#[test]
fn shares_are_over_what_was_asked_and_differences_over_what_both_were() {
    let mut rows = Vec::new();
    for session in 0..4 {
        for id in 0..5 {
            rows.push(row(session, "a", id, id > 0, id > 1));
            rows.push(row(session, "b", id, id > 2, id > 2));
        }
    }
    rows.push(Row { outcome: Outcome::TooLarge, ..row(0, "b", 7, false, true) });
    let found = lines(&rows);
    let [a, b] = found.as_slice() else { panic!("{found:?}") };
    let near = |estimate: &crate::stats::Estimate, value: f64| {
        assert!((estimate.value.unwrap() - value).abs() < 1e-12, "{estimate:?}");
    };
    near(&a.exact, 0.8);
    near(&a.in_view, 0.6);
    near(&a.agreement, 0.8);
    near(&b.exact, 0.4);
    near(&b.difference, -0.4);
    near(&b.kept_agreement, 1.0);
    near(&a.difference, 0.0);
    assert_eq!((b.asked, b.too_large, b.tokens), (20, 1, 100));
    assert_eq!(a.choice.value, None);
    let ages: Vec<_> =
        b.ages.iter().map(|(band, share)| (&**band, share.kept, share.needed)).collect();
    assert_eq!(ages, [("1–3", 0, 12), ("4–10", 8, 8), ("11–50", 0, 0), ("51+", 0, 0)]);
}

proptest! {
    /// Whatever was said: the same questions each time, each answered by the log, none by itself or by a distractor.
    #[test]
    fn questions_hold_for_any_log(
        texts in prop::collection::vec("[a-z ]{0,20}[ /._'0-9a-zé\n]{0,60}", 1..8),
        most in 0_usize..20,
    ) {
        let mut messages = vec![Message::user("u", texts.join(". "))];
        for (number, text) in texts.iter().enumerate() {
            let arguments = serde_json::json!({ "command": text, "path": text.trim() });
            messages.extend(call(number, "write", arguments, text));
        }
        let moment = Moment::end(&session(messages));
        let found = questions(&moment, most);
        prop_assert_eq!(&found, &questions(&moment, most));
        prop_assert!(found.len() <= most);
        let full = moment.full();
        for one in &found {
            prop_assert!(full.keeps(one) == Some(true));
            prop_assert!(one.age.is_some_and(|age| (1..=moment.call() + 1).contains(&age)));
            let right = score(one, Form::Exact, &one.expected).0;
            prop_assert!(right == Outcome::Right, "{:?}", one);
            for wrong in &one.distractors {
                prop_assert!(score(one, Form::Exact, wrong).0 != Outcome::Right, "{:?}", one);
            }
        }
    }
}

#[test]
fn a_model_may_look_something_up_instead_of_answering() {
    let table = [
        ("RECALL: {\"query\": \"a\"}", Some(("RECALL: {\"query\": \"a\"}", "{\"query\": \"a\"}"))),
        ("Hm.\n **recall: {}**\nANSWER: made up", Some(("Hm.\n **recall: {}**", "{}"))),
        ("RECALL:\n", Some(("RECALL:", ""))),
        ("ANSWER: RECALL: {}", None),
        ("ANSWER: 7\nRECALL: {}", None),
        ("I recall: nothing", None),
        ("", None),
    ];
    for (text, expected) in table {
        assert_eq!(score::recalled(text), expected, "{text}");
    }
}
