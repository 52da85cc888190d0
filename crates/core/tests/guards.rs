//! The guards that look at a plan, and what they are called.

#![expect(clippy::single_range_in_vec_init, reason = "a layout keeps ranges, sometimes one")]

use crate::support::{Letters, bare};
use foldback_core::Limits;
use foldback_core::conversation::Conversation;
use foldback_core::guard::Guards;
use foldback_core::log::{Message, Part};
use foldback_core::moment::{Moment, Trigger};
use foldback_core::plan::{Layout, Slot};
use foldback_test_support::act::plan;
use foldback_testkit::talk;
use std::ops::Range;
use std::sync::Arc;

/// A guard goes by one name, in a file and where it is said to be off.
#[test]
fn a_guard_that_is_off_is_named() {
    assert!(Guards::default().off().is_empty());
    for name in ["pairs", "no-growth", "repeat", "summary", "continuation", "atomic", "breaker"] {
        let off = if name == "breaker" { "0" } else { "false" };
        let guards: Guards = toml::from_str(&format!("{name} = {off}")).unwrap();
        assert_eq!(guards.off(), [name]);
    }
}

/// A user's message, a call with its result, and an answer with two calls, of which the second may have no result yet.
fn history(open: bool) -> Conversation {
    let letters = Letters { id: "letters".into(), per_token: 1, overhead: 4 };
    let mut conversation = talk::conversation(bare(Arc::new(letters)), Limits::default());
    let calls = |id: &str, calls: &[&str]| {
        let parts = calls.iter().map(|call| Part::call(*call, "run", "{}"));
        Message::assistant(id, parts.collect())
    };
    let result = |call: &str| Message::tool(format!("t-{call}"), call, "run", "done");
    talk::append(
        &mut conversation,
        [
            Message::user("u", "Run it."),
            calls("a1", &["c1"]),
            result("c1"),
            calls("a2", &["c2", "c3"]),
            result("c2"),
        ],
    );
    if !open {
        talk::append(&mut conversation, [result("c3")]);
    }
    conversation
}

#[test]
fn what_a_plan_may_show() {
    use Moment::{LengthStop, Manual, StepEnd, ToolResult, TurnStart};
    type Row = (&'static str, bool, Moment, &'static [Range<usize>], usize, Option<&'static str>);
    let rows: [Row; 13] = [
        ("everything", true, StepEnd, &[0..3], 3, None),
        ("a call and its result gone", true, StepEnd, &[0..1], 3, None),
        ("a call alone", false, Manual, &[0..2], 3, Some("message 1 would stay without message 2")),
        ("a result alone", false, Manual, &[0..1, 2..3], 3, Some("2 would stay without message 1")),
        ("one of two results", false, Manual, &[0..5], 6, Some("3 would stay without message 5")),
        ("a result first", false, Manual, &[0..1, 2..3, 1..2], 3, Some("2 would stand before its")),
        ("turned round in whole", false, Manual, &[1..3, 0..1], 3, None),
        ("only the beginning", false, StepEnd, &[0..3], 6, None),
        ("an open call gone at the end of a step", true, StepEnd, &[0..3], 5, Some("message 3")),
        ("after a result", true, ToolResult, &[0..3], 5, Some("call c3 arrives")),
        ("after an answer that was cut", true, LengthStop, &[0..3], 5, Some("call c3 arrives")),
        ("at the start of a turn", true, TurnStart, &[0..3], 5, None),
        ("by hand", true, Manual, &[0..3], 5, None),
    ];
    for (name, open, moment, kept, tail_from, expected) in rows {
        let conversation = history(open);
        let mut plan = plan(&conversation);
        // It is worth it.
        plan.tokens_before = 1;
        plan.moment = moment;
        let slots = kept.iter().cloned().map(Slot::Keep).collect();
        plan.layout = Some(Layout { slots, tail_from });
        let checked = Guards::default().check(conversation.history(), &plan);
        match (&checked, expected) {
            (Ok(()), None) => {}
            (Err(why), Some(part)) => {
                assert_eq!(why.code, "pair-broken", "{name}");
                assert!(why.to_string().contains(part), "{name}: {why}");
            }
            _ => panic!("{name}: {checked:?}"),
        }
        let unguarded = Guards { pairs: false, ..Guards::default() };
        assert_eq!(unguarded.check(conversation.history(), &plan), Ok(()), "{name}, unguarded");
    }
}

/// A fold of the same size is worth nothing, unless a person asked for it.
#[test]
fn a_fold_that_saves_nothing_is_refused() {
    let conversation = history(false);
    for (trigger, after, refused) in
        [(Trigger::Auto, 9, false), (Trigger::Auto, 10, true), (Trigger::Manual, 10, false)]
    {
        let mut plan = plan(&conversation);
        plan.trigger = trigger;
        plan.layout = Some(Layout { slots: vec![Slot::Keep(0..3)], tail_from: 3 });
        (plan.tokens_before, plan.tokens_after) = (10, after);
        let code = Guards::default().check(conversation.history(), &plan).err();
        let code = code.map(|why| why.code.to_string());
        assert_eq!(code.as_deref(), refused.then_some("no-gain"), "{trigger:?} {after}");
        let unguarded = Guards { no_growth: false, ..Guards::default() };
        assert_eq!(unguarded.check(conversation.history(), &plan), Ok(()), "{trigger:?}");
    }
}

#[test]
fn what_a_plan_may_weigh() {
    let conversation = history(false);
    for (before, after, refused) in [(10, 9, false), (10, 10, false), (10, 11, true)] {
        let mut plan = plan(&conversation);
        (plan.tokens_before, plan.tokens_after) = (before, after);
        let check = |guards: Guards| guards.check(conversation.history(), &plan);
        let code = check(Guards::default()).err().map(|why| why.code.to_string());
        assert_eq!(code.as_deref(), refused.then_some("no-gain"), "from {before} to {after}");
        assert_eq!(check(Guards { no_growth: false, ..Guards::default() }), Ok(()));
    }
}
