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
    let view = View::default();
    carry.text(history, &view, &layout, &pinned, &letters())
}

fn user(user: CarryUser, budget: u64) -> Carry {
    Carry { user, budget, plan: false }
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
    let text = carry.text(&history, &view, &layout, &BTreeSet::from([1]), &letters());
    assert!(text.unwrap().contains("other"));
}
