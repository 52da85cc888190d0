//! Each rule with requests that keep it and requests that break it, in a short notation.
//!
//! `s` system, `u` user, `a` assistant; `a(x,y)` an assistant that calls x and y; `t(x)` the result of
//! x; `-` a message with nothing to send, `-(x)` the result of x behind an empty text; `r` reasoning
//! alone, `r(x)` reasoning with a call; `c(x)` a compaction of Anthropic's own with a call, `f` one that failed, `k` one of OpenAI's,
//! `e(x)` one behind a call, `d` one in the user's name. The n-th message has the id `mn`, from 0.

use super::ledger::Broken;
use super::*;
use crate::log::{Message, Part, PartKind, ResultStatus, Role};
use crate::view::{EditKind, PartEdit};
use proptest::prelude::*;
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;

fn reasoning() -> Part {
    Part::new(PartKind::Reasoning { text: String::new(), opaque: Some("signature".into()) })
}

fn compaction(kind: &str) -> Part {
    let raw = match kind {
        "c" => json!({"type": "compaction", "content": "Before."}),
        "f" => json!({"type": "compaction", "content": null}),
        _ => json!({"type": "compaction", "encrypted_content": "c2ln"}),
    };
    Part::new(PartKind::Unknown { name: "compaction".to_owned(), raw })
}

fn message(index: usize, word: &str) -> Arc<Message> {
    let id = format!("m{index}");
    let (kind, calls) = word.split_once('(').unwrap_or((word, ""));
    let calls: Vec<&str> =
        calls.trim_end_matches(')').split(',').filter(|call| !call.is_empty()).collect();
    let made = calls.iter().map(|call| Part::call(*call, "bash", "{}"));
    Arc::new(match kind {
        "s" => Message::new(id, Role::System, vec![Part::text("rules")]),
        "u" => Message::user(id, "please"),
        "-" if calls.is_empty() => Message::user(id, ""),
        "-" => {
            let mut result = Message::tool(id, calls[0], "bash", "output");
            result.parts.insert(0, Part::text(""));
            result
        }
        "a" if calls.is_empty() => Message::assistant(id, vec![Part::text("done")]),
        "a" => Message::assistant(id, made.collect()),
        "r" => Message::assistant(id, std::iter::once(reasoning()).chain(made).collect()),
        "c" | "f" | "k" => {
            Message::assistant(id, std::iter::once(compaction(kind)).chain(made).collect())
        }
        "e" => Message::assistant(id, made.chain([compaction("c")]).collect()),
        "d" => Message::new(id, Role::User, vec![compaction("c")]),
        "t" => Message::tool(id, calls[0], "bash", "output"),
        other => panic!("no such word: {other}"),
    })
}

fn request(words: &str) -> Vec<Arc<Message>> {
    words.split_whitespace().enumerate().map(|(index, word)| message(index, word)).collect()
}

fn check(messages: &[Arc<Message>], dialect: Dialect) -> Vec<Violation> {
    validate(messages.iter().map(ShownMessage::plain), dialect)
}

/// `rule@message/call`, in order.
fn codes(violations: &[Violation]) -> Vec<String> {
    violations
        .iter()
        .map(|violation| {
            let call = violation.call.as_deref().map(|call| format!("/{call}"));
            format!("{}@{}{}", violation.rule, violation.message, call.unwrap_or_default())
        })
        .collect()
}

const ALL: &[Dialect] = &Dialect::ALL;
const ANTHROPIC: &[Dialect] = &[Dialect::Anthropic];
const CHAT: &[Dialect] = &[Dialect::OpenAiChat];
const RESPONSES: &[Dialect] = &[Dialect::OpenAiResponses];
const GEMINI: &[Dialect] = &[Dialect::Gemini];

#[test]
fn structure() {
    #[rustfmt::skip]
    let table: &[(&str, &[Dialect], &[&str])] = &[
        // Requests that every provider takes.
        ("", ALL, &[]),
        ("u", ALL, &[]),
        ("s u a u", ALL, &[]),
        ("u a(x) t(x)", ALL, &[]),
        ("u a(x,y) t(y) t(x) a u", ALL, &[]),
        ("u a(x) t(x) a(y) t(y) u", ALL, &[]),
        ("u a(x) - t(x)", ALL, &[]),
        ("u a(x) -(x)", CHAT, &[]),
        ("u a(x) -(x)", RESPONSES, &[]),
        ("u a(x) -(x)", GEMINI, &[]),
        // The empty text is refused, but nothing stands in front of the result.
        ("u a(x) -(x)", ANTHROPIC, &["empty-text@m2"]),
        ("u r(x) t(x)", ALL, &[]),
        // A call without a result: at the end, before a user, before the model.
        ("u a(x)", ALL, &["call-unanswered@m1/x"]),
        ("u a(x) u", ALL, &["call-unanswered@m1/x"]),
        ("u a(x,y) t(x) a", ALL, &["call-unanswered@m1/y"]),
        ("u a(x,y) t(x) u", ALL, &["call-unanswered@m1/y"]),
        // A result without a call.
        ("u t(x)", ALL, &["result-without-call@m1/x"]),
        ("u a(x) t(x) t(y)", ALL, &["result-without-call@m3/y"]),
        ("u a(x) t(x) t(x)", ALL, &["result-repeated@m3/x"]),
        // Something between call and result.
        ("u a(x) u t(x)", ANTHROPIC, &["result-not-first@m3/x"]),
        ("u a(x,y) u t(x) t(y)", ANTHROPIC, &["result-not-first@m3/x", "result-not-first@m4/y"]),
        ("u a(x) u t(x)", CHAT, &["result-without-call@m3/x", "call-unanswered@m1/x"]),
        ("u a(x) u t(x)", GEMINI, &["result-without-call@m3/x", "call-unanswered@m1/x"]),
        ("u a(x) u t(x)", RESPONSES, &[]),
        ("u a(x,y) t(x) u t(y)", ANTHROPIC, &["result-not-first@m4/y"]),
        ("u a(x,y) t(x) u t(y)", RESPONSES, &[]),
        ("u a(x) s t(x)", ANTHROPIC, &[]),
        ("u a(x) s t(x)", GEMINI, &[]),
        ("u a(x) s t(x)", CHAT, &["result-without-call@m3/x", "call-unanswered@m1/x"]),
        ("u a(x) a t(x)", ANTHROPIC, &[]),
        ("u a(x) a t(x)", GEMINI, &[]),
        ("u a(x) a t(x)", CHAT, &["result-without-call@m3/x", "call-unanswered@m1/x"]),
        ("u a(x) a(y) t(x) t(y)", ANTHROPIC, &[]),
        ("u a(x) u a(y) t(x) t(y)", ANTHROPIC, &["call-unanswered@m1/x", "result-without-call@m4/x"]),
        ("u a(x) u a(y) t(x) t(y)", RESPONSES, &[]),
        // A result before its call.
        ("u t(x) a(x)", RESPONSES, &[]),
        ("u t(x) a(x)", CHAT, &["result-without-call@m1/x", "call-unanswered@m2/x"]),
        // Ids.
        ("u a(x) t(x) a(x) t(x)", ANTHROPIC, &["call-id-repeated@m3/x"]),
        ("u a(x) t(x) a(x) t(x)", CHAT, &["call-id-repeated@m3/x"]),
        ("u a(x) t(x) a(x) t(x)", RESPONSES, &["call-id-repeated@m3/x"]),
        ("u a(x) t(x) a(x) t(x)", GEMINI, &[]),
        ("u a(x,x) t(x) t(x)", GEMINI, &[]),
        ("u a(x,x) t(x)", GEMINI, &["call-unanswered@m1/x"]),
        // How the conversation starts.
        ("a u", ANTHROPIC, &["first-not-user@m0"]),
        ("s a u", ANTHROPIC, &["first-not-user@m1"]),
        ("- a u", ANTHROPIC, &["first-not-user@m1"]),
        ("a u", CHAT, &[]),
        ("a u", RESPONSES, &[]),
        ("a u", GEMINI, &[]),
        ("a(x) t(x)", GEMINI, &["first-not-user@m0"]),
        ("a(x) t(x)", CHAT, &[]),
        // A compaction of the provider's own: Anthropic reads nothing before it, so it may stand first.
        ("c u", ANTHROPIC, &[]),
        ("c(x) t(x)", ANTHROPIC, &[]),
        ("c(x) u", ANTHROPIC, &["call-unanswered@m0/x"]),
        ("c t(x)", ANTHROPIC, &["result-without-call@m1/x"]),
        ("u e(x) u", ANTHROPIC, &[]),
        ("u e(x) t(x)", ANTHROPIC, &["result-without-call@m2/x"]),
        ("a u t(x) a(y) c u", ANTHROPIC, &[]),
        ("a(x) t(x) c(x) t(x)", ANTHROPIC, &[]),
        ("u d", ANTHROPIC, &["compaction-misplaced@m1"]),
        ("f u", ANTHROPIC, &["first-not-user@m0"]),
        ("u t(x) f u", ANTHROPIC, &["result-without-call@m1/x"]),
        // An item of OpenAI's stands among the others, and they are sent.
        ("k u a(x) t(x)", RESPONSES, &[]),
        ("u t(x) k u", RESPONSES, &["result-without-call@m1/x"]),
        ("u t(x) c u", CHAT, &["result-without-call@m1/x"]),
        // Reasoning by itself: Chat has no place for it, Responses wants what it produced.
        ("u r u", RESPONSES, &["reasoning-alone@m1"]),
        ("u r u", CHAT, &[]),
        ("u a(x) r t(x)", CHAT, &[]),
    ];
    for (words, dialects, expected) in table {
        for dialect in *dialects {
            let mut found = codes(&check(&request(words), *dialect));
            let mut expected: Vec<&str> = expected.to_vec();
            found.sort();
            expected.sort_unstable();
            assert_eq!(found, expected, "{words} in {dialect}");
        }
    }
}

/// A result that never came is sent as an error, so its call is answered.
#[test]
fn pending_and_running_results_answer() {
    for status in [ResultStatus::Pending, ResultStatus::Running] {
        let mut messages = request("u a(x) t(x)");
        let mut result = Message::clone(&messages[2]);
        if let PartKind::Result(result) = &mut result.parts[0].kind {
            result.status = status;
        }
        messages[2] = Arc::new(result);
        for dialect in Dialect::ALL {
            assert_eq!(check(&messages, dialect), [], "{status:?} in {dialect}");
        }
    }
}

/// Name; parts of an assistant message whose call a result follows; an edit over its first part; what
/// the message breaks in which dialects.
type ContentCase =
    (&'static str, Vec<Part>, Option<&'static str>, &'static [Dialect], &'static [&'static str]);

#[test]
fn content() {
    let ignored = |text: &str| {
        Part::new(PartKind::Text { text: text.into(), synthetic: false, ignored: true })
    };
    let call = || Part::call("x", "bash", r#"{"a":1}"#);
    let (keep, clear): (Option<&str>, _) = (None, Some("[cleared]"));
    #[rustfmt::skip]
    let table: Vec<ContentCase> = vec![
        ("text", vec![Part::text("a"), call()], keep, ALL, &[]),
        ("empty text", vec![Part::text(""), call()], keep, ANTHROPIC, &["empty-text@m1"]),
        ("blank text", vec![Part::text(" \n"), call()], keep, ANTHROPIC, &["empty-text@m1"]),
        ("empty text elsewhere", vec![Part::text(""), call()], keep, CHAT, &[]),
        ("text emptied by an edit", vec![Part::text("a"), call()], Some(""), ANTHROPIC, &["empty-text@m1"]),
        ("empty text filled by an edit", vec![Part::text(""), call()], clear, ANTHROPIC, &[]),
        ("empty text that is not sent", vec![ignored(""), call()], keep, ANTHROPIC, &[]),
        ("reasoning", vec![reasoning(), call()], keep, ALL, &[]),
        ("edited reasoning", vec![reasoning(), call()], clear, ANTHROPIC, &["reasoning-altered@m1"]),
        ("edited reasoning", vec![reasoning(), call()], clear, RESPONSES, &["reasoning-altered@m1"]),
        ("edited reasoning", vec![reasoning(), call()], clear, GEMINI, &["reasoning-altered@m1"]),
        ("edited reasoning", vec![reasoning(), call()], clear, CHAT, &[]),
        ("edited arguments", vec![call()], Some(r#"{"a":2}"#), ALL, &[]),
        ("cut arguments", vec![call()], Some(r#"{"a":"#), ALL, &["arguments-broken@m1/x"]),
        ("free arguments", vec![Part::call("x", "patch", "*** Begin")], Some("***"), ALL, &[]),
    ];
    for (case, parts, edit, dialects, expected) in table {
        let calls = Arc::new(Message::assistant("m1", parts));
        let edit = edit.map(|text| PartEdit { kind: EditKind::Clear, text: text.into(), at: 0 });
        let request = [request("u")[0].clone(), calls, message(2, "t(x)")];
        for dialect in dialects {
            let shown = |index: usize| ShownMessage {
                edits: edit.iter().filter(|_| index == 1).map(|e| (0, e)).collect(),
                ..ShownMessage::plain(&request[index])
            };
            let found = validate((0..3).map(shown), *dialect);
            assert_eq!(codes(&found), expected, "{case} in {dialect}");

            // Feeding the message first and telling of the edit later comes to the same.
            let (mut checker, mut names) = (Checker::new(*dialect), Names::default());
            for message in &request {
                checker.push(&ShownMessage::plain(message), &names.number_message(message));
            }
            checker.recheck(&shown(1), &names.number_message(&request[1]));
            assert_eq!(checker.violations(&names), found, "{case} in {dialect}, edited");
        }
    }
}

#[test]
fn trailing_space() {
    let ends = |text: &str| {
        [request("u")[0].clone(), Arc::new(Message::assistant("m1", vec![Part::text(text)]))]
    };
    let mut after = ends("so ").to_vec();
    after.push(message(2, "u"));
    assert_eq!(codes(&check(&ends("so "), Dialect::Anthropic)), ["trailing-space@m1"]);
    assert_eq!(codes(&check(&ends("so"), Dialect::Anthropic)), [""; 0]);
    assert_eq!(codes(&check(&ends("so "), Dialect::OpenAiChat)), [""; 0]);
    assert_eq!(codes(&check(&after, Dialect::Anthropic)), [""; 0]);
}

#[test]
fn only_what_the_recording_lacked_counts() {
    let dialect = Dialect::OpenAiChat;
    let log = request("u a(x) u a(y) t(y) a(z) t(z)");
    let inherited = check(&log, dialect);
    assert_eq!(codes(&inherited), ["call-unanswered@m1/x"]);
    // What is kept of the log, and what that breaks anew.
    let table: &[(&[usize], &[&str])] = &[
        (&[0, 1, 2, 3, 4, 5, 6], &[]),
        (&[2, 3, 4, 5, 6], &[]),
        (&[0, 1, 2, 4, 5, 6], &["result-without-call@m4/y"]),
        (&[0, 1, 2, 3, 5, 6], &["call-unanswered@m3/y"]),
    ];
    for (kept, expected) in table {
        let view: Vec<_> = kept.iter().map(|index| log[*index].clone()).collect();
        let caused = caused_by_strategy(&check(&view, dialect), &inherited);
        assert_eq!(codes(&caused), *expected, "{kept:?}");
    }
    let twice = [inherited.clone(), inherited.clone()].concat();
    assert_eq!(caused_by_strategy(&twice, &inherited).len(), 1);
}

/// Asking at every step gives what a check from the start gives.
#[test]
fn a_checker_can_be_asked_at_any_time() {
    let log = request("u a(x) u a(y,z) t(z) a - t(y) u r a(x) c(k) - u c(l)");
    for dialect in Dialect::ALL {
        let (mut checker, mut names) = (Checker::new(dialect), Names::default());
        for (index, message) in log.iter().enumerate() {
            let named = names.number_message(message);
            checker.push(&ShownMessage::plain(message), &named);
            let whole = check(&log[..=index], dialect);
            assert_eq!(checker.violations(&names), whole, "{dialect} after m{index}");
        }
    }
}

/// What is edited before the provider's own compaction is not read.
#[test]
fn an_edit_before_a_compaction_breaks_nothing() {
    let log = request("u a c a");
    let edit = PartEdit { kind: EditKind::Clear, text: " ".into(), at: 0 };
    for (index, broken) in [(1, 0), (3, 1)] {
        let (mut checker, mut names) = (Checker::new(Dialect::Anthropic), Names::default());
        for message in &log {
            checker.push(&ShownMessage::plain(message), &names.number_message(message));
        }
        let shown = ShownMessage { edits: vec![(0, &edit)], ..ShownMessage::plain(&log[index]) };
        checker.recheck(&shown, &names.number_message(&log[index]));
        assert_eq!(checker.violations(&names).len(), broken, "m{index}");
    }
}

/// The changes since the last check, applied to what was broken then, give what is broken now, however
/// many messages lie between two checks; what comes and goes between them is no change.
#[test]
fn changes_add_up() {
    let log = request(
        "a - t(v) u a(x) u a(y,z) t(z) a -(q) t(y) u r a(w,w) t(w) a(w) t(w) d c(k) - u t(w)",
    );
    for dialect in Dialect::ALL {
        for step in [1, 2, 3, log.len()] {
            let (mut checker, mut names) = (Checker::new(dialect), Names::default());
            let mut broken = std::collections::BTreeMap::new();
            for round in 0..2 {
                for some in log.chunks(step) {
                    for message in some {
                        checker.push(&ShownMessage::plain(message), &names.number_message(message));
                    }
                    for change in checker.take_changes() {
                        if change.came {
                            assert_eq!(broken.insert(change.rank, change.broken), None);
                        } else {
                            assert_eq!(broken.remove(&change.rank), Some(change.broken));
                        }
                    }
                    let of_changes: Vec<_> =
                        broken.values().map(|one| one.violation(dialect, &names)).collect();
                    let case = format!("{dialect}, {step} at once, round {round}");
                    assert_eq!(of_changes, checker.violations(&names), "{case}");
                }
                checker.restart();
            }
        }
    }
}

/// A dialect goes by one name, in files and where it is printed.
#[test]
fn dialects_have_one_name() {
    for dialect in Dialect::ALL {
        assert_eq!(serde_json::to_value(dialect).unwrap(), dialect.as_str());
        let (rule, message) = (rule::EMPTY_TEXT, "m".to_owned());
        let violation =
            Violation { dialect, rule, message, call: None, detail: "it is blank".to_owned() };
        let name = dialect.as_str();
        assert_eq!(violation.to_string(), format!("{name} empty-text: message m: it is blank"));
    }
}

/// No rule goes without words, and they differ where dialects look in different places.
#[test]
fn every_rule_has_words() {
    let mut names = Names::default();
    let message = names.number_message(&Message::user("m", "")).message;
    for (rule, kinds) in [
        (rule::CALL_UNANSWERED, 3),
        (rule::RESULT_WITHOUT_CALL, 2),
        (rule::RESULT_REPEATED, 1),
        (rule::CALL_ID_REPEATED, 1),
        (rule::RESULT_NOT_FIRST, 1),
        (rule::FIRST_NOT_USER, 1),
        (rule::EMPTY_TEXT, 1),
        (rule::TRAILING_SPACE, 1),
        (rule::REASONING_ALTERED, 1),
        (rule::REASONING_ALONE, 1),
        (rule::COMPACTION_MISPLACED, 1),
        (rule::ARGUMENTS_BROKEN, 1),
    ] {
        let broken = Broken { rule, message, call: None };
        let said: BTreeSet<String> =
            Dialect::ALL.map(|dialect| broken.violation(dialect, &names).detail).into();
        assert_eq!(said.len(), kinds, "{rule}: {said:?}");
        assert!(!said.contains(rule), "{rule} is no sentence");
    }
}

/// Turns of a recording in which nothing was interrupted.
fn sound() -> impl Strategy<Value = String> {
    prop::collection::vec(0usize..4, 0..30).prop_map(|turns| {
        let mut words = vec!["u".to_owned()];
        for (turn, calls) in turns.into_iter().enumerate() {
            let ids: Vec<String> = (0..calls).map(|call| format!("c{turn}-{call}")).collect();
            if ids.is_empty() {
                words.extend(["a".to_owned(), "u".to_owned()]);
            } else {
                words.push(format!("a({})", ids.join(",")));
                words.extend(ids.iter().rev().map(|id| format!("t({id})")));
            }
        }
        words.join(" ")
    })
}

proptest! {
    #[test]
    fn sound_histories_have_no_violation(words in sound()) {
        for dialect in Dialect::ALL {
            prop_assert_eq!(codes(&check(&request(&words), dialect)), Vec::<String>::new());
        }
    }

    /// Leaving out one half of a pair is always seen, in every dialect.
    #[test]
    fn a_torn_pair_is_always_seen(words in sound(), at in any::<prop::sample::Index>()) {
        let mut log = request(&words);
        let torn: Vec<usize> = (0..log.len())
            .filter(|index| log[*index].role == Role::Tool || log[*index].call_ids().next().is_some())
            .collect();
        prop_assume!(!torn.is_empty());
        log.remove(torn[at.index(torn.len())]);
        for dialect in Dialect::ALL {
            prop_assert!(!check(&log, dialect).is_empty(), "{} in {dialect}", words);
        }
    }
}
