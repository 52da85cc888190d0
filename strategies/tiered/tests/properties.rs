//! Properties that hold whatever the history is.

use crate::support::{names, strategy};
use foldback_testkit::law::Law;
use foldback_testkit::{Subject, laws};
use foldback_tiered::budget::{Fixed, Shares, allocate};
use foldback_tiered::{tiers, truncate};
use proptest::prelude::*;

laws!(tiered: Subject::preset("tiered").breaks(Law::CostPerCallFlat, CUT_ANEW));
laws!(every_summary_is_a_few_words: Subject::made_by(|_| strategy("tiered", "", &names()))
    .windows(SMALL)
    .breaks(Law::CostPerCallFlat, CUT_ANEW));
laws!(tiered_doc_exact: Subject::preset("tiered-doc-exact")
    .breaks(Law::CostPerCallFlat, CUT_ANEW)
    .breaks(Law::ValidInEveryDialect, "the document lets a view begin with an answer of the model"));

const CUT_ANEW: &str = "the document cuts the tiers anew from the whole history at each fold";

/// Windows that a few messages fill.
const SMALL: [(u64, u64); 3] = [(500, 0), (2_000, 0), (8_000, 0)];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

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
