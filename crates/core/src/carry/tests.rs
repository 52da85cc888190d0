//! What is carried over, out of small histories of which a layout hides the beginning.

use super::*;
use crate::log::{Message, Part};
use crate::stage::Letters;

fn letters() -> Arc<dyn Estimator> {
    Arc::new(Letters("letters".into()))
}

/// Users' messages `u0`, `u1`, … with these texts.
fn said(texts: &[&str]) -> History {
    let mut history = History::default();
    for (number, text) in texts.iter().enumerate() {
        history.append(Arc::new(Message::user(format!("u{number}"), *text)));
    }
    history
}

/// What is carried where the messages before `tail_from` are hidden.
fn carried(carry: Carry, history: &History, pinned: &[Pos], tail_from: Pos) -> Option<String> {
    let layout = Layout { slots: Vec::new(), tail_from };
    let pinned = pinned.iter().copied().collect();
    folded(carry, history, &View::default(), &layout, &pinned)
}

fn folded(
    carry: Carry,
    history: &History,
    view: &View,
    layout: &Layout,
    pinned: &BTreeSet<Pos>,
) -> Option<String> {
    let mut pins = Pins::default();
    history.iter().for_each(|(pos, message)| pins.read(pos, message, &carry.pins));
    let folding = Folding { history, view, layout, entries: &[], pinned, pins: &pins };
    carry.text(&folding, &letters())
}

fn user(user: CarryUser, budget: u64) -> Carry {
    Carry { user, budget, ..Carry::default() }
}

#[test]
fn which_messages_by_budget() {
    let long = "x".repeat(100);
    let texts = ["task", "middle", "newest", "shown"];
    // which, budget, hidden from the front, contains, does not contain
    /// Which messages, within which budget, hidden up to where; what is carried, what is not.
    type Row<'a> = (CarryUser, u64, Pos, &'a [&'a str], &'a [&'a str]);
    let table: [Row<'_>; 8] = [
        (CarryUser::None, 2_000, 4, &[], &["task"]),
        (CarryUser::All, 2_000, 0, &[], &["task"]),
        (CarryUser::All, 2_000, 3, &["task", "middle", "newest"], &["shown", "left out"]),
        (
            CarryUser::All,
            10,
            3,
            &["task", "newest", "(1 messages in between are left out)"],
            &["middle"],
        ),
        (CarryUser::All, 4, 3, &[], &["newest"]),
        // Its last one is shown, so only the first is carried.
        (CarryUser::Ends, 2_000, 3, &["task"], &["middle", "newest", "left out"]),
        (CarryUser::Ends, 2_000, 4, &["task", "shown"], &["middle", "newest", "left out"]),
        (CarryUser::Ends, 2_000, 1, &["task"], &["middle"]),
    ];
    for (row, (which, budget, hidden, with, without)) in table.into_iter().enumerate() {
        let text = carried(user(which, budget), &said(&texts), &[], hidden).unwrap_or_default();
        for word in with {
            assert!(text.contains(word), "row {row}: {word} in {text}");
        }
        for word in without {
            assert!(!text.contains(word), "row {row}: no {word} in {text}");
        }
    }
    let alone = carried(user(CarryUser::All, 100), &said(&[&long]), &[], 1).unwrap();
    assert!(alone.contains(&long), "the budget is not halved for one message");
}

#[test]
fn no_text_can_end_its_quotation() {
    for (inner, fence) in [("a", 3), ("a `b`", 3), ("```\nout\n```", 4), ("`````", 6)] {
        let text = carried(user(CarryUser::All, 2_000), &said(&[inner]), &[], 1).unwrap();
        let marks = "`".repeat(fence);
        assert!(text.ends_with(&format!("user:\n{marks}\n{inner}\n{marks}")), "{text}");
    }
}

#[test]
fn a_cut_keeps_characters_whole_and_the_budget() {
    for text in ["é".repeat(300), "漢字".repeat(150), "🦀".repeat(300)] {
        for budget in [20, 21, 33, 64] {
            let carried = carried(user(CarryUser::All, budget), &said(&[&text]), &[], 1).unwrap();
            let lines: Vec<&str> = carried.lines().collect();
            let cut = lines[lines.len() - 2];
            let start = cut.strip_suffix(" …").unwrap();
            assert!(!start.is_empty() && text.starts_with(start), "{budget}: {cut}");
            assert!(cut.chars().count() as u64 <= budget, "{budget}: {cut}");
        }
    }
}

#[test]
fn the_open_plan_as_a_table() {
    let list = |items: &str| format!("{{\"todos\":[{items}]}}");
    let (open, done) = (
        r#"{"content":"write it","status":"pending"},{"content":"test it","status":"pending"}"#,
        r#"{"content":"write it","status":"completed"}"#,
    );
    // calls in order (tool, arguments), hidden from the front, budget, expected
    /// Calls, hidden up to where, within which budget; the plan that is carried.
    type Row<'a> = (&'a [(&'a str, String)], Pos, u64, Option<&'a str>);
    let table: [Row<'_>; 7] = [
        (&[("TodoWrite", list(open))], 1, 99, Some("- [ ] write it\n- [ ] test it")),
        (&[("TodoWrite", list(open))], 1, 15, Some("- [ ] write it")),
        (&[("TodoWrite", list(open))], 1, 3, None),
        (&[("TodoWrite", list(open))], 0, 99, None),
        (&[("TodoWrite", list(open)), ("todo", list(done))], 2, 99, None),
        (
            &[("todo", list(done)), ("update_plan", list(open))],
            2,
            99,
            Some("- [ ] write it\n- [ ] test it"),
        ),
        (&[("read", list(open))], 1, 99, None),
    ];
    for (row, (calls, hidden, budget, expected)) in table.into_iter().enumerate() {
        let mut history = History::default();
        for (number, (tool, arguments)) in calls.iter().enumerate() {
            let call = Part::call(format!("c{number}"), *tool, arguments.clone());
            history.append(Arc::new(Message::assistant(format!("a{number}"), vec![call])));
        }
        let carry = Carry { plan: true, ..user(CarryUser::None, budget) };
        let text = carried(carry, &history, &[], hidden);
        let plan = text.as_deref().and_then(|text| text.split("## Open plan\n\n").nth(1));
        assert_eq!(plan, expected, "row {row}");
    }
}

#[test]
fn pins_are_carried_whole_whatever_the_budget() {
    let long = "x".repeat(500);
    let history = said(&[&long, "other"]);
    let text = carried(user(CarryUser::None, 10), &history, &[0], 2).unwrap();
    assert!(text.contains("## Pinned") && text.contains(&long) && !text.contains("other"));
    assert_eq!(carried(user(CarryUser::None, 10), &history, &[0], 0), None);
    // ShownMessage, but not as it was said.
    let mut view = View::default();
    for pos in 0..2 {
        view.append(pos);
    }
    let edit =
        crate::view::PartEdit { kind: crate::view::EditKind::Clear, text: "[gone]".into(), at: 0 };
    view.set_edit(crate::view::PartPos { item: 1, part: 0 }, Some(edit));
    let (carry, layout) = (user(CarryUser::None, 10), Layout::default());
    let text = folded(carry, &history, &view, &layout, &BTreeSet::from([1]));
    assert!(text.unwrap().contains("other"));
}

#[test]
fn images_of_the_user_never_go_silently() {
    let file = |mime: &str| {
        Part::new(PartKind::File(crate::log::Media { mime: mime.to_owned(), ..Default::default() }))
    };
    let parts = vec![Part::text("See these"), file("image/png"), file("image/jpeg")];
    let mut history = History::default();
    history.append(Arc::new(Message::new("u0", Role::User, parts)));
    history.append(Arc::new(Message::new("u1", Role::User, vec![file("application/pdf")])));
    history.append(Arc::new(Message::new("u2", Role::User, vec![file("image/png")])));
    let mut view = View::default();
    (0..3).for_each(|pos| view.append(pos));
    for (tail_from, expected) in [(0, 0), (1, 2), (2, 2), (3, 3)] {
        let folding = Folding {
            history: &history,
            view: &view,
            layout: &Layout { slots: Vec::new(), tail_from },
            entries: &[],
            pinned: &BTreeSet::new(),
            pins: &Pins::default(),
        };
        assert_eq!(folding.lost_images(), expected, "{tail_from}");
    }
    let text = carried(user(CarryUser::All, 1_000), &history, &[], 3).unwrap();
    assert!(text.contains("See these\n[image]\n[image]") && text.matches("[image]").count() == 3);
}

#[test]
fn prohibitions_of_a_summary_that_no_user_gave() {
    // What a summary says, and whether it is a prohibition with names that neither user nor frame says.
    let table = [
        ("Never edit `vendor/`.", true),
        ("- **Do not** run `cargo publish` again.", true),
        ("The user said: never touch src/main.rs.", false),
        ("Mustn't change max_depth in the frame.", false),
        ("You must not call deleteAll().", true),
        ("Never push.", false),
        ("`onBreak` never inspects static/.", false),
        ("It was slow, and never matched any_row.", false),
        ("I don't know other_name.", false),
        ("Read other_name and never `git reset --hard` it.", true),
        ("Do not ask and/or e.g. wait.", false),
    ];
    let mut frame = crate::Frame::default();
    frame.push_text(crate::SegmentKind::System, "max_depth is 3");
    let log = [
        Message::user("u", "Mind src/main.rs"),
        Message::assistant("a", vec![Part::text("vendor/ deleteAll other_name")]),
        Message::user("s", "vendor/ deleteAll").as_entry(crate::log::EntryKind::Summary),
    ];
    for (summary, expected) in table {
        let found = invented(&format!("# Summary\n{summary}\nDone."), &frame, log.iter());
        assert_eq!(found, expected.then(|| summary.to_owned()).as_slice(), "{summary}");
    }
}

#[test]
fn what_pins_a_text_and_what_unpins_it() {
    let rules = vec![PinPattern::try_from("rules".to_owned()).unwrap()];
    let deadline = vec![PinPattern::try_from("(?i)by friday".to_owned()).unwrap()];
    /// What the user said, the patterns, and what is carried of it.
    type Row<'a> = (&'a [&'a str], &'a [PinPattern], &'a [&'a str]);
    let table: [Row<'_>; 13] = [
        (&["Mend it. <pin>Never touch main.</pin> Go."], &[], &["<pin>Never touch main.</pin>"]),
        (&["<pin>\n  one\n  two\n</pin>"], &[], &["<pin>one\n  two</pin>"]),
        (&["<pin>a</pin><pin>b</pin>"], &[], &["<pin>a</pin>", "<pin>b</pin>"]),
        (&["<pin>a</pin>", "<pin>b</pin>", "<pin>a</pin>"], &[], &["<pin>b</pin>", "<pin>a</pin>"]),
        (&["<pin>abc</pin>", "<unpin>abc</unpin>"], &[], &[]),
        (&["<pin>abc</pin>", "<unpin>ab</unpin>", "<pin>x</pin>"], &[], &["<pin>x</pin>"]),
        (&["<pin>abc</pin>", "<unpin> </unpin>", "<unpin>b</unpin>"], &[], &["<pin>abc</pin>"]),
        (&["<unpin>a</unpin> <pin>a</pin>"], &[], &["<pin>a</pin>"]),
        (&["`<pin>` marks it", "<pin> </pin>", "< pin>a</pin>", "<pin >a</pin>"], &[], &[]),
        (&["Never push. Run it."], &[], &[]),
        (
            &["Never push. Run it. Don’t ask."],
            &rules,
            &["<pin>Never push.</pin>", "<pin>Don’t ask.</pin>"],
        ),
        (
            &["I don't know, we do not. You must not ask, but do not stop."],
            &rules,
            &["<pin>You must not ask, but do not stop.</pin>"],
        ),
        (
            &["Ship it by Friday! <b>Now</b>.", "Never push."],
            &deadline,
            &["<pin>Ship it by Friday!</pin>"],
        ),
    ];
    for (row, (said_texts, patterns, expected)) in table.into_iter().enumerate() {
        let carry = Carry { pins: patterns.to_vec(), ..user(CarryUser::None, 10) };
        let text = carried(carry, &said(said_texts), &[], said_texts.len());
        let pins = text.as_deref().and_then(|text| text.split("## Pinned\n\n").nth(1));
        let expected = expected.join("\n");
        assert_eq!(pins.unwrap_or_default(), expected, "row {row}");
    }
}

#[test]
fn a_pin_is_carried_only_where_nothing_shown_says_it() {
    let history = said(&["<pin>keep me</pin>", "I said: keep me.", "other"]);
    let carry = || user(CarryUser::None, 10);
    // The first message is hidden; the second, which is shown, says it.
    assert_eq!(carried(carry(), &history, &[], 1), None);
    assert!(carried(carry(), &history, &[], 2).unwrap().contains("<pin>keep me</pin>"));
    // A summary that says it is enough, too; what an earlier fold carried goes.
    for (origin, is_enough) in [(EntryKind::Summary, true), (EntryKind::Carried, false)] {
        let insert = Insert::new("s", Role::User, "He said: keep me".to_owned(), origin);
        let layout = Layout { slots: vec![Slot::Insert(insert)], tail_from: 2 };
        let text = folded(carry(), &history, &View::default(), &layout, &BTreeSet::new());
        assert_eq!(text.is_none(), is_enough, "{origin:?}");
    }
}

#[test]
fn tools_pin_what_a_model_asks_for() {
    let table = [
        ("mcp__foldback__pin", r#"{"text":"a rule"}"#, true),
        ("foldback_pin", r#"{"text":"a rule"}"#, true),
        ("foldback.pin", r#"{"text":" a rule "}"#, true),
        ("pin", r#"{"text":"a rule"}"#, false),
        ("other_pin", r#"{"text":"a rule"}"#, false),
        ("foldback_search", r#"{"text":"a rule"}"#, false),
        ("foldback_pin", r#"{"text":7}"#, false),
        ("foldback_pin", "no JSON", false),
    ];
    for (tool, arguments, pins_it) in table {
        let mut pins = Pins::default();
        let call = |tool: &str| Message::assistant("a", vec![Part::call("c", tool, arguments)]);
        pins.read(0, &call(tool), &[]);
        assert_eq!(pins.iter().any(|pin| &*pin.text == "a rule"), pins_it, "{tool} {arguments}");
        pins.read(1, &call(&tool.replace("pin", "unpin")), &[]);
        assert!(pins.is_empty(), "{tool}");
    }
}

#[test]
fn pins_may_take_a_quarter_of_the_window() {
    let history = said(&["x"]);
    let mut pins = Pins::default();
    assert!(pins.add(0, &"x".repeat(100)) && !pins.add(0, "a</pin>b"));
    let check = |context| check_pinned(&history, &BTreeSet::new(), &pins, context, &letters());
    for (context, is_refused) in [(0, false), (400, false), (399, true), (100, true)] {
        assert_eq!(check(context).is_err(), is_refused, "{context}");
    }
    assert_eq!(
        check(100).unwrap_err().to_string(),
        "what is pinned has 100 tokens, more than a quarter of the window of 100: unpin some of it"
    );
}
