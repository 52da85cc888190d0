use super::*;
use crate::acted::{boundary, preset, setup};
use crate::judge::cost::OWN;
use crate::judge::cost::ServiceTerms;
use foldback_core::Limits;
use foldback_core::log::{Answer, EntryKind, Message, Part, Usage};
use foldback_core::view::PartPos;
use foldback_formats::session::{Boundary, Cleared, SEALED};

const FILE: &str = "fn first_name() { other_name() }\nfn second_name() { a_long_line() }\n";
const RULE: &str = "You must never touch legacy_table.";

fn call(number: usize, tool: &str, arguments: &str, usage: Option<Usage>) -> Message {
    let part = Part::call(format!("c{number}"), tool, arguments);
    let mut answer = Message::assistant(format!("a{number}"), vec![part]);
    let model = Some("claude-sonnet-4-5".to_owned());
    answer.answer = Some(Answer { usage, model, ..Answer::default() });
    answer.at = Some(1_000 * number as i64);
    answer
}

fn result(number: usize, text: &str) -> Message {
    Message::tool(format!("r{number}"), format!("c{number}"), "read", text)
}

/// A user's rule, a list of tasks, a file that is read, a compaction, and calls that need what it took.
fn session(kind: &str, summary: Option<&str>, kept: bool) -> Session {
    let read = r#"{"file_path":"src/a.rs"}"#;
    let usage =
        |uncached, cache_read| Some(Usage { uncached, cache_read, output: 10, ..Usage::default() });
    let todo = r#"{"todos":[{"content":"Write the tests","status":"pending"},{"content":"x","status":"completed"}]}"#;
    let mut messages = vec![
        Message::user("u0", format!("Mend it. {RULE}")),
        call(0, "todo_write", todo, usage(10_000, 0)),
        result(0, "ok"),
        call(1, "read", read, usage(500, 10_000)),
        result(1, FILE),
    ];
    let before = messages.len();
    messages.extend(summary.map(|text| Message::user("s", text).as_entry(EntryKind::Summary)));
    messages.extend([
        call(2, "grep", r#"{"pattern":"other_name"}"#, usage(3_000, 2_000)),
        result(2, "nothing found"),
        call(3, "read", read, usage(20, 5_000)),
        result(3, FILE),
        call(
            4,
            "edit",
            r#"{"file_path":"src/a.rs","old_string":"fn first_name() {"}"#,
            usage(100, 5_000),
        ),
    ]);
    let mut session = crate::acted::session(messages);
    session.model = Some("claude-sonnet-4-5".to_owned());
    session.boundaries = vec![Boundary { original_kept: kept, ..boundary(before, kind) }];
    if kind == "clear" {
        session.cleared = vec![Cleared { at: PartPos { item: 4, part: 0 }, time: 0 }];
    }
    session
}

fn audited(session: &Session, presets: &[&Preset]) -> Audit {
    let detail = Detail { excerpt: 0, written: 0 };
    setup(Limits::new(200_000, 8_000)).audit("p", session, presets, Some(detail)).unwrap()
}

/// What each kind of compaction takes from the calls behind it, and what they read again.
#[test]
fn what_went_by_kind() {
    let both = vec!["other_name", "src/a.rs"];
    let told = format!("{RULE} other_name is next. Write the tests");
    // kind, summary, kept; folded, sealed; names, results read again, rules and tasks that are missing
    let table = [
        ("summary", Some("Nothing of it"), true, (true, false), both.clone(), 1, (1, 1)),
        ("summary", Some(&*told), true, (true, false), vec!["src/a.rs"], 1, (0, 0)),
        (SEALED, None, true, (true, true), both, 1, (0, 1)),
        ("clear", None, true, (true, false), vec!["other_name"], 1, (0, 0)),
        ("summary", None, false, (false, false), vec![], 0, (0, 0)),
    ];
    for (kind, summary, kept, known, names, again, missing) in table {
        let session = session(kind, summary, kept);
        let audit = audited(&session, &[]);
        let [compaction] = &*audit.compactions else { panic!("{kind}: one row") };
        let [own] = &*compaction.folds else { panic!("{kind}: the recorder alone") };
        let name = format!("{kind} {summary:?} {kept}");
        assert_eq!((compaction.call, compaction.until), (2, 5), "{name}");
        assert_eq!((own.folded, own.sealed), known, "{name}");
        assert_eq!(own.missing.names, names, "{name}");
        assert_eq!(own.near, own.missing, "{name}");
        assert_eq!(compaction.read_again.results, again, "{name}");
        assert_eq!(compaction.read_again.files.len(), again, "{name}");
        assert_eq!((own.rules.all, own.tasks.all), (1, 1), "{name}");
        assert_eq!((own.rules.missing.len(), own.tasks.missing.len()), missing, "{name}");
        // The edit comes after its old text was read again.
        assert_eq!(own.missing.texts.len(), 0, "{name}");
        assert!(audit.failed.is_empty(), "{name}");
    }
}

/// The summary at its size where its request is not recorded, and what the next call did not read of its input and that was not new.
#[test]
fn what_it_cost() {
    let session = session("summary", Some("Nothing of it"), true);
    let setup = setup(Limits::new(200_000, 8_000));
    let audit = audited(&session, &[]);
    let cost = audit.compactions[0].folds[0].cost;
    let rates = setup.own(session.model.as_deref(), ServiceTerms::default()).unwrap().terms.rates;
    let summary = setup.measure.counts(&session.messages[5]).total();
    let input = 10_500 + 10;
    let expected = (rates.input * input as f64 + rates.output * summary as f64) / 1e6;
    assert!((cost.summary_usd - expected).abs() < 1e-9, "{} {expected}", cost.summary_usd);
    assert!(cost.estimated && !cost.cold);
    // All that came since the request before had gone with the cut.
    assert_eq!(cost.rewritten, 3_000);
    let expected = (rates.written() - rates.read) * 3_000.0 / 1e6;
    assert!((cost.rewritten_usd - expected).abs() < 1e-9);
    let spent = setup.spent(&session);
    let own = spent.iter().find(|(regime, _)| **regime == *OWN).unwrap();
    assert_eq!(audit.usd, Some(own.1));
    // Beyond the life of the cache nothing is written that would not have been anyway.
    let mut late = session.clone();
    for message in &mut late.messages[6..] {
        Arc::make_mut(message).at = Some(4_000_000);
    }
    let late = audited(&late, &[]).compactions.remove(0);
    assert_eq!((late.folds[0].cost.rewritten, late.folds[0].cost.cold), (0, true));
    assert_eq!(late.pause_ms, Some(3_999_000));
}

/// Presets fold where the recorder did and nowhere else, whatever their policies say.
#[test]
fn presets_fold_at_the_same_place() {
    let mut session = session("summary", Some("Nothing of it"), true);
    let text = format!("{FILE}{}", "a line that is long enough\n".repeat(4_000));
    session.messages[4] = Arc::new(result(1, &text));
    let (indexed, window) = (preset("indexed"), preset("claude-code"));
    let audit = audited(&session, &[&indexed, &window]);
    let compaction = &audit.compactions[0];
    let folded: Vec<bool> = compaction.folds.iter().map(|fold| fold.folded).collect();
    // `indexed` leaves what has just been read.
    assert_eq!(folded, [true, false, true]);
    for (fold, track) in compaction.folds.iter().zip(&audit.walk.as_ref().unwrap().tracks) {
        assert!(track.firings.iter().all(|fired| fired.call == 2), "{}", fold.by);
        assert_eq!(fold.folded, !track.firings.is_empty(), "{}", fold.by);
        let is_small = fold.next_tokens < 20_000;
        assert_eq!(fold.folded, is_small, "{}: {}", fold.by, fold.next_tokens);
    }
    // Without a mark nothing is folded, however large.
    session.boundaries.clear();
    let audit = audited(&session, &[&indexed]);
    assert!(audit.compactions.is_empty() && audit.walk.is_none());
    assert_eq!((audit.largest, audit.window), (10_500, 200_000));
}

/// Each counts up to the next, and a copy says that it is one.
#[test]
fn several_share_the_calls() {
    let mut session = session("summary", Some("Nothing of it"), true);
    session.boundaries.push(boundary(8, "clear"));
    let audit = audited(&session, &[]);
    let calls: Vec<(usize, usize)> =
        audit.compactions.iter().map(|it| (it.call, it.until)).collect();
    assert_eq!(calls, [(2, 3), (3, 5)]);
    assert_eq!(audit.compactions[0].read_again.results, 0);
    for message in &mut session.messages[..5] {
        Arc::make_mut(message).answer = None;
    }
    session.copied = 2;
    let copied: Vec<bool> = audited(&session, &[]).compactions.iter().map(|it| it.copied).collect();
    assert_eq!(copied, [true, false]);
}
