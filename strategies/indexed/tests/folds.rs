//! What a fold leaves out, what its note keeps, and when it happens.

use crate::text::rows;
use foldback_core::conversation::Conversation;
use foldback_core::log::{Message, Part, Role};
use foldback_core::moment::Moment;
use foldback_core::services::{FixedClock, Services};
use foldback_core::{Frame, Limits, SegmentKind};
use foldback_testkit::talk::{append, at, sent_ids, sent_texts, step};
use foldback_testkit::{DriveEvent, Session, Subject, drive, talk};
use std::sync::Arc;

/// Texts of the last request of a session under a preset.
fn last(session: &Session, preset: &str) -> Vec<String> {
    sent_last(session, &Subject::preset(preset))
}

fn sent_last(session: &Session, subject: &Subject) -> Vec<String> {
    let strategy = subject.strategy(session);
    let mut texts = Vec::new();
    drive(session, &strategy, &mut |talk, seen| {
        if matches!(seen, DriveEvent::Call) {
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
fn from_half_of_the_window_messages_are_read_as_they_come() {
    let strategy = Subject::preset("indexed").strategy(&Session::default());
    let limits = Limits::new(20_000, 0);
    let mut talk = Conversation::new(strategy, limits, Frame::default(), Services::fixed());
    append(&mut talk, [Message::user("u", "Go")]);
    let (mut before, mut ahead) = (0, 0);
    for number in 0..40 {
        append(&mut talk, step(number, "run", "seven plain words in each line here\n".repeat(125)));
        let folded = at(&mut talk, Moment::CallStart).iter().any(|report| report.outcome.changed());
        let results = talk.history().iter().filter(|(_, message)| message.role == Role::Tool);
        let read = results.filter(|(_, message)| message.derived.bytes() > 0).count();
        if folded {
            break;
        }
        match talk.tokens() {
            0..=10_000 => before += usize::from(read == 0),
            _ => ahead += usize::from(read == number + 1),
        }
    }
    assert_eq!((before, ahead), (9, 8), "IX-R1: requests of up to half of the window, and of more");
}

#[test]
fn a_pause_and_a_large_window_make_it_fold_earlier() {
    type Row = (String, u64, usize, i64, bool);
    for (id, window, tokens, pause, folds) in rows::<Row>("triggers") {
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
            assert!(talk.tokens() <= window.min(200_000) / 2, "IX-G1: {} tokens", talk.tokens());
            assert_eq!(sent_ids(&talk).pop().unwrap(), "t9", "IX-G2");
        }
    }
}

/// Messages in short, each with its tokens: `s` is of the harness, `u` of the user, `c` a call with its result, `o` a call without
/// one, whose arguments have the tokens.
fn messages(words: &str, first: usize) -> impl Iterator<Item = Message> {
    let messages = words.split_whitespace().enumerate().map(move |(at, word)| {
        let (kind, tokens) = word.split_once(':').unwrap();
        let text = "x".repeat(4 * tokens.parse::<usize>().unwrap());
        let id = (first + at).to_string();
        let call = |arguments: &str| {
            Message::assistant(format!("a{id}"), vec![Part::call(&id, "run", arguments)])
        };
        match kind {
            "s" => vec![Message::new(&id, Role::System, vec![Part::text(text)])],
            "u" => vec![Message::user(&id, text)],
            "o" => vec![call(&text)],
            _ => vec![call(""), Message::tool(format!("t{id}"), &id, "run", text)],
        }
    });
    messages.collect::<Vec<_>>().into_iter().flatten()
}

/// The filter in a window of 10,000 tokens, which is asked before a call from 2,500 tokens on: it brings the messages down to 2,500, a
/// note of 2,000 among them.
fn filtered(target: f64, limits: Limits, frame: u64) -> Conversation {
    filtered_to(target, 0, limits, frame)
}

fn filtered_to(target: f64, tokens: u64, limits: Limits, frame: u64) -> Conversation {
    let registry =
        talk::registry([&foldback_stages::REGISTRATION, &foldback_indexed::REGISTRATION]);
    let toml = format!(
        "name = \"t\"\nextends = \"indexed\"\n[guards]\nno-growth = false\npairs = false\n[estimator]\nuse = \"chars\"\n\
         unit = \"code-points\"\ncalls = \"arguments\"\n[overflow]\ntrigger = 0.25\ncold_trigger = 0.25\ntarget = {target}\n\
         [filter]\ntarget = 0.25\ntarget_tokens = {tokens}\nnote = 0.8\nuser = 0.25\n"
    );
    let mut talk = talk::conversation(talk::compiled(&registry, &toml), limits);
    let mut system = Frame::default();
    system.push_tokens(SegmentKind::System, frame);
    talk.set_frame(system);
    talk
}

/// Why the filter did what it did at a moment.
fn reason(talk: &mut Conversation, moment: Moment) -> String {
    let folds = talk.folds().len();
    let report = at(talk, moment).pop().unwrap();
    match talk.folds().get(folds) {
        Some(fold) => fold.plan.reasons.last().unwrap().clone(),
        None => report.outcome.why().unwrap().to_string(),
    }
}

#[test]
fn how_much_goes() {
    type Row = (String, u64, u64, Moment, String, String);
    for (id, input, frame, moment, words, expected) in rows::<Row>("amounts") {
        let context = if input > 0 { 20_000 } else { 10_000 };
        let mut talk = filtered(0.25, Limits::new(context, 0).with_input(input), frame);
        append(&mut talk, messages(&words, 0));
        let reason = reason(&mut talk, moment);
        let short = [
            (" tokens, to ", ", "),
            (": leaves out ", ": "),
            (" messages, ", ", "),
            (" tokens, behind a note of up to ", ", "),
        ];
        let short = short.iter().fold(reason, |text, (long, short)| text.replacen(long, short, 1));
        assert!(short.ends_with(&expected), "{id}: {short}");
    }
}

#[test]
fn a_small_share_is_at_least_some_tokens() {
    // id, tokens of the system prompt, tokens that messages may take at least, what a fold comes down to
    for (id, frame, tokens, to) in [
        ("IX-D17 less than the share", 0, 1_000, 2_500),
        ("IX-D18 more than it", 0, 4_000, 4_000),
        ("IX-D19 half of the window at most", 0, 9_000, 5_000),
        ("IX-D20 without the system prompt", 2_000, 9_000, 6_000),
    ] {
        let mut talk = filtered_to(0.25, tokens, Limits::new(10_000, 0), frame);
        append(&mut talk, messages("u:10 c:7000 c:90", 0));
        let reason = reason(&mut talk, Moment::Manual);
        assert!(reason.contains(&format!(" tokens, to {to}: ")), "{id}: {reason}");
    }
}

#[test]
fn a_second_note_takes_the_place_of_the_first() {
    let mut talk = filtered(0.25, Limits::new(10_000, 0), 0);
    append(&mut talk, messages("u:10 c:5000 c:1000", 0));
    at(&mut talk, Moment::Manual);
    append(&mut talk, messages("c:400 c:90", 3));
    // The first note goes in any case, so the second fold has no more to free than IX-D1.
    let reason = reason(&mut talk, Moment::Manual);
    assert!(reason.contains("leaves out 2 of 7 messages, 1000 tokens"), "IX-D13: {reason}");
}

#[test]
fn a_result_whose_call_went_goes_too() {
    let mut talk = filtered(0.25, Limits::new(10_000, 0), 0);
    append(&mut talk, messages("u:10 o:12000", 0));
    at(&mut talk, Moment::Manual);
    talk.append(Message::tool("t1", "1", "run", "x".repeat(40)));
    append(&mut talk, messages("c:90", 2));
    let reason = reason(&mut talk, Moment::Manual);
    assert!(reason.contains("leaves out 1 of 4 messages, 10 tokens"), "IX-D14: {reason}");
}

#[test]
fn what_the_policy_asks_for_counts_where_the_request_was_refused() {
    for (id, moment, to) in [
        ("IX-D15", Moment::ProviderOverflow, "to 2000: "),
        ("IX-D16 its own target otherwise", Moment::CallStart, "to 2500: "),
    ] {
        let mut talk = filtered(0.2, Limits::new(10_000, 0), 0);
        append(&mut talk, messages("u:10 c:5000 c:90", 0));
        let reason = reason(&mut talk, moment);
        assert!(reason.contains(to), "{id}: {reason}");
    }
}

/// Two texts with a line each that is worth keeping, then a long result. A third text may have the first word again.
fn two(again: bool) -> Session {
    let read = |session: Session, file: &str, line: &str| {
        session.call("read", &format!("{{\"path\":\"src/{file}.rs\"}}"), line)
    };
    let session = Session::new("two").window(20_000, 0).user("Begin");
    let session = read(session, "first", "    let value = alpha_key; // of it\n");
    let mut session = read(session, "later", "    let other = omega_key; // of it\n");
    if again {
        session = read(session, "third", "alpha_key\n");
    }
    let bulk = "{ } ( ) [ ]; { } ( ) [ ];\n".repeat(1_500);
    session.call("run", "{\"command\":\"make\"}", bulk).call("run", "{}", "ok").answer("Done")
}

#[test]
fn what_decides_between_two_words() {
    // id, worth of results, of recency, whether the first word comes again, which is kept
    for (id, results, recency, again, kept) in [
        ("IX-W1 the first of equal ones", 0.0, 0.0, false, "alpha_key"),
        ("IX-W2 the newer one", 0.0, 5.0, false, "omega_key"),
        ("IX-W3 the one of more results", 5.0, 0.0, true, "alpha_key"),
    ] {
        let toml = format!(
            "name = \"t\"\nextends = \"indexed\"\n[filter]\nnote = 0.006\n\
             worth = {{ results = {results:.1}, recency = {recency:.1}, block = 0.0, again = 0.0 }}\n"
        );
        let texts = sent_last(&two(again), &Subject::toml(toml));
        let note = texts.iter().find(|text| text.starts_with("[Earlier"));
        let note = note.unwrap_or_else(|| panic!("no fold: {texts:?}"));
        let other = if kept == "alpha_key" { "omega_key" } else { "alpha_key" };
        assert!(note.contains(kept) && !note.contains(other), "{id}: {kept} alone in\n{note}");
    }
}

/// The usage of the last answer says that the provider counts more than the estimator: the same messages are over the trigger
/// then, and what stays is less.
#[test]
fn the_providers_tokens_count() {
    use foldback_core::log::Usage;
    // tokens that the provider counted for some 15,600 of the estimator, folds, tokens left at most
    for (used, folds, left) in
        [(15_000, false, 20_000), (20_000, true, 7_900), (24_000, true, 6_800)]
    {
        let strategy = Subject::preset("indexed").strategy(&Session::default());
        let mut talk = talk::conversation((*strategy).clone(), Limits::new(20_000, 0));
        append(&mut talk, [Message::user("u", "Go")]);
        for number in 0..10 {
            append(
                &mut talk,
                step(number, "run", "seven plain words in each line here\n".repeat(190)),
            );
        }
        append(&mut talk, [Message::assistant("last", vec![Part::text("And on")])]);
        let usage = Usage { uncached: used, ..Usage::default() };
        let reports = talk::at_usage(&mut talk, Moment::CallStart, Some(usage));
        let folded = reports.iter().any(|report| report.outcome.changed());
        assert_eq!(folded, folds, "IX-U1: {used} tokens");
        assert!(talk.tokens() <= left, "IX-U2: {} tokens after {used}", talk.tokens());
    }
}

/// The strategy files that findings are told of.
#[test]
fn every_ablation_is_a_strategy() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/ablations");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(files.len(), 8, "{files:?}");
    files.push(concat!(env!("CARGO_MANIFEST_DIR"), "/break-even.toml").into());
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let texts = sent_last(&reads(12), &Subject::toml(text));
        assert!(texts.iter().any(|text| text.starts_with("[Earlier")), "{}", file.display());
    }
}
