//! Properties that hold whatever the history is.

use crate::common::{conversation, names, strategy, torn};
use foldback_core::log::ResultStatus;
use foldback_core::moment::Moment;
use foldback_core::{Message, Part, PartKind};
use foldback_testkit::talk::{append, at};
use foldback_tiered::budget::{Fixed, Shares, allocate};
use foldback_tiered::{tiers, truncate};
use proptest::prelude::*;

/// What happens next in a history: someone speaks, or the model calls tools.
#[derive(Clone, Debug)]
enum Turn {
    Said { tokens: usize, decided: bool },
    Called { results: Vec<(usize, bool)>, at_once: bool },
}

fn turn() -> impl Strategy<Value = Turn> {
    prop_oneof![
        (0usize..200, any::<bool>()).prop_map(|(tokens, decided)| Turn::Said { tokens, decided }),
        (proptest::collection::vec((0usize..400, any::<bool>()), 1..4), any::<bool>())
            .prop_map(|(results, at_once)| Turn::Called { results, at_once }),
    ]
}

fn messages(turns: &[Turn]) -> Vec<Vec<Message>> {
    turns
        .iter()
        .enumerate()
        .map(|(n, turn)| match turn {
            Turn::Said { tokens, decided } => {
                let start = if *decided { "We decided the task. " } else { "" };
                let text = format!("{start}{}", "word ".repeat(*tokens));
                let message = Message::user(format!("u{n}"), text);
                vec![if *decided { message.annotated("importance", "medium") } else { message }]
            }
            Turn::Called { results, at_once } => {
                let id = |k: usize| format!("call-{n}-{k}");
                let calls = (0..results.len()).map(|k| Part::call(id(k), "read", "{}"));
                let mut group = vec![Message::assistant(format!("a{n}"), calls.collect())];
                for (k, (tokens, failed)) in results.iter().enumerate() {
                    let text = "line\n".repeat(*tokens);
                    let mut result = Message::tool(format!("t{n}-{k}"), id(k), "read", text);
                    if let (true, PartKind::Result(result)) = (failed, &mut result.parts[0].kind) {
                        result.status = ResultStatus::Error;
                        result.text.push_str("the task failed");
                    }
                    group.push(result);
                }
                if !at_once {
                    // A user who does not wait for the tools.
                    group.insert(1, Message::user(format!("w{n}"), "wait"));
                }
                group
            }
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn folds_keep_pairs_and_never_grow(
        turns in proptest::collection::vec(turn(), 1..50),
        window in 500u64..8_000,
    ) {
        let mut conversation = conversation(&strategy("tiered", "", &names()), window);
        let mut appended = 0;
        for group in messages(&turns) {
            appended += group.len();
            append(&mut conversation, group);
            let before = conversation.tokens();
            let reports = at(&mut conversation, Moment::CallStart);
            // The guard would refuse a torn group; the filter must not propose one.
            let refused = reports.iter().filter_map(|report| report.outcome.why());
            prop_assert!(refused.into_iter().all(|why| why.code != "pair-broken"));
            prop_assert!(conversation.tokens() <= before);
            prop_assert!(torn(&conversation).is_empty());
        }
        prop_assert_eq!(conversation.history().len(), appended);
        for fold in conversation.folds() {
            prop_assert!(fold.plan.tokens_after <= fold.plan.tokens_before);
        }
        while conversation.undo().is_some() {}
        prop_assert!(!conversation.view().is_folded());
    }

    #[test]
    fn a_budget_never_gives_more_than_there_is(
        total in 0u64..20_000,
        system in 0u64..5_000,
        residuals in 0u64..10_000,
        used in proptest::array::uniform3(0u64..3_000),
    ) {
        let fixed = Fixed { system_prompt: system, current_message: 50, ..Fixed::default() };
        let budget = allocate(total, fixed, residuals, &Shares::default());
        let given = |tiers: [u64; 4]| budget.allocated.residuals + tiers.iter().sum::<u64>();
        prop_assert!(given(budget.allocated.tiers) <= budget.conversation);
        prop_assert!(budget.allocated.residuals <= residuals);
        let after = budget.redistributed(used);
        prop_assert_eq!(given(after.allocated.tiers), given(budget.allocated.tiers));
        for tier in 1..4 {
            prop_assert!(after.allocated.tiers[tier] <= budget.allocated.tiers[tier]);
        }
    }

    #[test]
    fn every_group_is_in_one_tier_and_tier_0_holds_the_newest(
        groups in proptest::collection::vec(0usize..40, 0..120),
    ) {
        let assigned = tiers::assign(&groups, [10, 25, 50]);
        for (group, tier) in groups.iter().zip(&assigned) {
            let first = groups.iter().position(|g| g == group).unwrap();
            prop_assert_eq!(assigned[first], *tier);
        }
        for tier in assigned.iter().rev().take(10) {
            prop_assert_eq!(*tier, 0);
        }
    }

    #[test]
    fn sentences_never_exceed_their_target(text in "\\PC{0,300}", target in 0usize..200) {
        let cut = truncate::by_sentence(&text, target, &["key".to_owned()]);
        prop_assert!(truncate::length(&cut) <= target);
    }

    #[test]
    fn the_middle_never_exceeds_its_target(text in "\\PC{0,600}", target in 60usize..400) {
        prop_assert!(truncate::length(&truncate::middle(&text, target)) <= target);
    }
}
