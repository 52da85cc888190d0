//! Folds over random histories: running totals stay right, undo gives back what was, the log never
//! changes, and a stale plan is refused.

use crate::support::{Letters, bare};
use foldback_core::Limits;
use foldback_core::conversation::{CommitError, Conversation};
use foldback_core::log::{EntryKind, Message, Part};
use foldback_core::meter::MeterId;
use foldback_core::plan::{Layout, Slot};
use foldback_core::validity::{Dialect, Findings, Monitor, caused_by_strategy, validate};
use foldback_core::view::{EditKind, ShownMessage};
use foldback_test_support::act::{edit, layout, plan};
use foldback_testkit::talk;
use proptest::prelude::*;
use std::sync::Arc;

fn conversation() -> Conversation {
    let letters = Letters { id: "letters".into(), per_token: 1, overhead: 4 };
    talk::conversation(bare(Arc::new(letters)), Limits::default())
}

/// What a test does to a conversation.
#[derive(Clone, Debug)]
enum Act {
    Say(String),
    Run(String, String),
    /// A call that is never answered.
    Ask(String),
    Clear(usize),
    Drop(usize),
    Enter(String),
    Undo,
}

fn act() -> impl Strategy<Value = Act> {
    let text = "[a-zé漢]{0,12}";
    prop_oneof![
        3 => text.prop_map(Act::Say),
        4 => (text, text).prop_map(|(call, result)| Act::Run(call, result)),
        1 => text.prop_map(Act::Ask),
        3 => (0usize..40).prop_map(Act::Clear),
        1 => (0usize..40).prop_map(Act::Drop),
        1 => text.prop_map(Act::Enter),
        2 => Just(Act::Undo),
    ]
}

fn perform(conversation: &mut Conversation, number: usize, act: &Act) {
    match act {
        Act::Say(text) => {
            conversation.append(Message::user(format!("u{number}"), text.clone()));
        }
        Act::Run(call, result) => {
            let [mut asks, answers] = talk::step(number, "run", result.clone());
            asks.parts = vec![Part::call(format!("c{number}"), "run", call.clone())];
            talk::append(conversation, [asks, answers]);
        }
        Act::Ask(call) => {
            let call = Part::call(format!("c{number}"), "run", call.clone());
            conversation.append(Message::assistant(format!("a{number}"), vec![call]));
        }
        Act::Clear(at) if *at < conversation.history().len() => {
            let edit = edit(*at, EditKind::Clear, "[gone]");
            let mut plan = plan(conversation);
            plan.edits = vec![edit];
            conversation.commit(plan).expect("a fresh plan");
        }
        Act::Drop(at) if *at < conversation.history().len() => {
            let layout = layout(format!("i{number}"), *at, "what went before");
            let mut plan = plan(conversation);
            plan.layout = Some(layout);
            conversation.commit(plan).expect("a fresh plan");
        }
        Act::Enter(text) => {
            let entry =
                Message::user(format!("e{number}"), text.clone()).as_entry(EntryKind::Continue);
            let mut plan = plan(conversation);
            plan.entries = vec![entry];
            conversation.commit(plan).expect("a fresh plan");
        }
        Act::Undo => {
            conversation.undo();
        }
        Act::Clear(_) | Act::Drop(_) => {}
    }
}

/// What is shown, recounted from nothing.
fn recount(conversation: &Conversation) -> u64 {
    conversation
        .sent()
        .iter()
        .map(|shown| {
            let parts = shown.message.parts.iter().enumerate();
            4 + parts
                .map(|(index, part)| {
                    let name = part.as_call().map_or(0, |call| call.tool.chars().count());
                    (name + shown.text_of(index).chars().count()) as u64
                })
                .sum::<u64>()
        })
        .sum()
}

/// What the edits in force save, summed over all of them.
fn resaved(conversation: &Conversation) -> u64 {
    let (meter, view) = (conversation.meter(MeterId::OWN), conversation.view());
    let saved = view.edits().keys().map(|at| (meter.part(*at), meter.part_shown(*at)));
    saved.map(|(appended, shown)| appended.saturating_sub(shown)).sum()
}

fn shown(conversation: &Conversation) -> Vec<String> {
    conversation
        .sent()
        .iter()
        .map(|shown| format!("{}:{:?}", shown.message.id, shown.to_message().shown_text()))
        .collect()
}

/// What is wrong with all that is sent, looked at from nothing.
fn wrong(conversation: &Conversation) -> Findings {
    let mut findings = Findings::default();
    for dialect in Dialect::ALL {
        let log = conversation.history().iter().map(|(_, message)| message);
        let inherited = validate(log.filter(|m| !m.is_entry()).map(ShownMessage::plain), dialect);
        let own = validate(conversation.sent(), dialect);
        findings.caused.extend(caused_by_strategy(&own, &inherited));
        findings.inherited.extend(inherited);
    }
    findings
}

/// What a test does, and what is new in the view and in the log, as `rule/call`.
type News = (Act, &'static [&'static str], &'static [&'static str]);

/// Each thing wrong is said when it comes, and again when it comes again.
#[test]
fn a_monitor_says_what_is_new() {
    let (run, ask) = (|| Act::Run("{}".into(), "ran".into()), || Act::Ask("{}".into()));
    let table: Vec<News> = vec![
        (Act::Say("go".into()), &[], &[]),
        (run(), &[], &[]),
        (Act::Drop(2), &["result-without-call/c1"], &[]),
        (Act::Say("on".into()), &[], &[]),
        (Act::Undo, &[], &[]),
        (Act::Drop(2), &["result-without-call/c1"], &[]),
        (ask(), &[], &["call-unanswered/c6"]),
        // Nothing can answer it any more, which is said once.
        (Act::Say("never mind".into()), &[], &["call-unanswered/c6"]),
        (Act::Say("go on".into()), &[], &[]),
        // The view is looked at from its beginning again, so what the log breaks is said again.
        (Act::Undo, &[], &["call-unanswered/c6"]),
    ];
    let (mut conversation, mut monitor) = (conversation(), Monitor::default());
    for (number, (act, caused, inherited)) in table.iter().enumerate() {
        perform(&mut conversation, number, act);
        let new = monitor.check(&conversation);
        for (found, expected) in [(new.caused, caused), (new.inherited, inherited)] {
            let found = found.iter().filter(|one| one.dialect == Dialect::OpenAiChat);
            let found: Vec<String> = found
                .map(|one| format!("{}/{}", one.rule, one.call.as_deref().unwrap_or_default()))
                .collect();
            assert_eq!(&found, expected, "{number}: {act:?}");
        }
    }
}

/// What comes at once is said in the order of rules, messages and calls.
#[test]
fn what_a_monitor_says_has_an_order() {
    let (mut conversation, mut monitor) = (conversation(), Monitor::default());
    for number in 0..8 {
        perform(&mut conversation, number, &Act::Ask("{}".into()));
    }
    perform(&mut conversation, 8, &Act::Say("never mind".into()));
    let new = monitor.check(&conversation).inherited;
    let found = new.iter().filter(|one| one.dialect == Dialect::OpenAiChat);
    let found: Vec<&str> = found.filter_map(|one| one.call.as_deref()).collect();
    assert_eq!(found, ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"]);
}

/// What is wrong again in a new layout is said where it stands now, not where it stood before.
#[test]
fn what_a_monitor_says_is_in_the_order_of_the_view() {
    let (mut conversation, mut monitor) = (conversation(), Monitor::default());
    perform(&mut conversation, 0, &Act::Say("go".into()));
    for number in 1..3 {
        perform(&mut conversation, number, &Act::Run("{}".into(), "ran".into()));
    }
    let history = conversation.history();
    let end = history.len();
    let [first, second] = ["t1", "t2"].map(|id| history.position(id).expect("it was appended"));
    for (kept, expected) in [(vec![second], &["c2"][..]), (vec![first, second], &["c1", "c2"])] {
        let mut plan = plan(&conversation);
        let slots = kept.into_iter().map(|at| Slot::Keep(at..at + 1)).collect();
        plan.layout = Some(Layout { slots, tail_from: end });
        conversation.commit(plan).expect("a fresh plan");
        let found = monitor.check(&conversation).caused;
        let found = found.iter().filter(|one| one.dialect == Dialect::OpenAiChat);
        let found: Vec<&str> = found.filter_map(|one| one.call.as_deref()).collect();
        assert_eq!(found, expected);
    }
}

proptest! {
    /// A monitor that goes along finds what a look at everything finds, and says of it what is new.
    #[test]
    fn a_monitor_finds_what_a_look_at_everything_finds(acts in prop::collection::vec(act(), 1..40)) {
        let mut conversation = conversation();
        let (mut monitor, mut before) = (Monitor::default(), Findings::default());
        for (number, act) in acts.iter().enumerate() {
            perform(&mut conversation, number, act);
            let new = monitor.check(&conversation);
            let now = monitor.findings();
            prop_assert_eq!(&now, &wrong(&conversation), "after {:?}", act);
            for (now, new, before) in [
                (&now.caused, &new.caused, &before.caused),
                (&now.inherited, &new.inherited, &before.inherited),
            ] {
                prop_assert!(now.iter().all(|one| new.contains(one) || before.contains(one)));
                prop_assert!(new.iter().all(|one| now.contains(one)));
            }
            before = now;
        }
    }

    #[test]
    fn running_totals_are_what_a_recount_gives(acts in prop::collection::vec(act(), 0..60)) {
        let mut conversation = conversation();
        for (number, act) in acts.iter().enumerate() {
            perform(&mut conversation, number, act);
            prop_assert_eq!(conversation.meter(MeterId::OWN).view_tokens(), recount(&conversation), "after {:?}", act);
            prop_assert_eq!(conversation.meter(MeterId::OWN).saved_tokens(), resaved(&conversation), "after {:?}", act);
        }
    }

    #[test]
    fn undoing_everything_shows_the_log(acts in prop::collection::vec(act(), 0..60)) {
        let mut conversation = conversation();
        let mut log = Vec::new();
        for (number, act) in acts.iter().enumerate() {
            let had = conversation.history().len();
            perform(&mut conversation, number, act);
            for (_, message) in conversation.history().range(had..conversation.history().len()) {
                if !message.is_entry() {
                    log.push(format!("{}:{:?}", message.id, message.shown_text()));
                }
            }
        }
        while conversation.undo().is_some() {}
        prop_assert_eq!(shown(&conversation), log);
        prop_assert!(!conversation.view().is_folded());
    }
}

#[test]
fn a_plan_on_another_state_is_refused() {
    let mut conversation = conversation();
    conversation.append(Message::user("u1", "hello"));
    let stale = plan(&conversation);
    conversation.append(Message::user("u2", "again"));
    assert_eq!(conversation.commit(stale), Err(CommitError::Stale { plan: 1, now: 2 }));
}

#[test]
fn a_group_is_a_call_with_its_results() {
    let mut conversation = conversation();
    let calls = vec![Part::call("c1", "a", "{}"), Part::call("c2", "b", "{}")];
    conversation.append(Message::user("u", "go"));
    conversation.append(Message::assistant("a", calls));
    conversation.append(Message::tool("t1", "c1", "a", "one"));
    conversation.append(Message::user("interrupts", "wait"));
    conversation.append(Message::tool("t2", "c2", "b", "two"));
    let history = conversation.history();
    let groups: Vec<Vec<usize>> =
        history.groups().iter().map(|group| group.items.to_vec()).collect();
    assert_eq!(groups, [vec![0], vec![1, 2, 4], vec![3]]);
    let splits: Vec<bool> = (0..6).map(|pos| history.splits_group(pos)).collect();
    assert_eq!(splits, [false, false, true, true, true, false]);
}
