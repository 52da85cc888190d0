//! Every row that this crate owes, and the ones that it does not pay, with the reason.

use crate::{boundary, flow, overflow, prune, rendering, usage, v1_18, v2};
use foldback_test_support::table;
use std::collections::BTreeSet;

/// The rows of the suites OC1, BR and OC18, of OC17 overflow, prune, view filter and rendering, and of OCv2 what needs no model.
fn owed() -> Vec<String> {
    let numbered =
        |prefix: &str, to: usize| (1..=to).map(|n| format!("{prefix}{n}")).collect::<Vec<_>>();
    let named = "OC17-R2b OC1-R1 OC1-R2 OC1-R3 OC1-R4 OC1-R5 OC17-R5 OC17-R5b OC1-R6 OC17-R6 OC1-R7 \
        OC17-R8 OC1-R9 OC17-R10 OC1-R11 OC1-R12 OC1-R13 OC1-R14 OC1-R15 OC17-E1 OC17-E2 \
        OC1-Revert OC17-P1 OC17-P2 RS-P3 RS-P4 RS-P5 OC17-C1 BR-1 BR-1b BR-2 BR-3 BR-4 BR-5 \
        OCv2-1 OCv2-2 OCv2-3 OCv2-5 OCv2-7 OCv2-O8 \
        OC1-S1 OC1-S2 OC1-Q1 OC17-B1 OC17-Q1 OC18-Q1 OCv2-Q1 BR-6 BR-7";
    [
        numbered("OC1-O", 8),
        numbered("OC17-O", 11),
        numbered("OC1-T", 3),
        numbered("OC1-U", 7),
        numbered("OC17-F", 13),
        numbered("4.8-", 6),
        numbered("OC18-O", 11),
        numbered("OC18-B", 3),
        numbered("OC18-K", 4),
        numbered("OC18-R", 5),
        numbered("OC18-S", 4),
        numbered("OCv2-C", 5),
        numbered("OCv2-U", 4),
        numbered("OCv2-K", 8),
        numbered("OCv2-R", 6),
        named.split(' ').map(str::to_owned).collect(),
    ]
    .concat()
}

#[test]
fn every_row_is_tested_or_excepted() {
    let tested: BTreeSet<String> = [
        overflow::ids(),
        usage::ids(),
        prune::ids(),
        boundary::ids(),
        rendering::ids(),
        flow::ids(),
        v1_18::ids(),
        v2::ids(),
    ]
    .into_iter()
    .flatten()
    .collect();
    table::covered(&owed(), &tested, include_str!("../rows/rows.toml"));
}
