//! Every row that this crate owes, and the ones that it does not pay, with the reason.

use crate::{boundary, flow, overflow, prune, rendering, usage};
use std::collections::BTreeSet;

/// Rows without a test.
const EXCEPTIONS: &[(&str, &str)] = &[
    (
        "OC1-Revert",
        "a pending revert belongs to the program's store; the log has none, and undoing a fold is tested instead",
    ),
    (
        "OC17-F11",
        "copying a session under new ids is the store's business; a conversation keeps its ids",
    ),
    (
        "OC17-E1",
        "errors are classified in one place for all strategies: rows of this id in crates/provider-errors/tests/answers.toml",
    ),
    ("OC17-E2", "see OC17-E1"),
];

/// The rows of the suites OC1 and BR, and of OC17 overflow, prune, view filter and rendering.
fn owed() -> Vec<String> {
    let numbered =
        |prefix: &str, to: usize| (1..=to).map(|n| format!("{prefix}{n}")).collect::<Vec<_>>();
    let named = "OC17-R2b OC1-R1 OC1-R2 OC1-R3 OC1-R4 OC1-R5 OC17-R5 OC17-R5b OC1-R6 OC17-R6 OC1-R7 \
        OC17-R8 OC1-R9 OC17-R10 OC1-R11 OC1-R12 OC1-R13 OC1-R14 OC1-R15 OC17-E1 OC17-E2 \
        OC1-Revert OC17-P1 OC17-P2 RS-P3 RS-P4 RS-P5 OC17-C1 BR-1 BR-1b BR-2 BR-3 BR-4 BR-5";
    [
        numbered("OC1-O", 8),
        numbered("OC17-O", 11),
        numbered("OC1-T", 3),
        numbered("OC1-U", 7),
        numbered("OC17-F", 13),
        numbered("4.8-", 6),
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
    ]
    .into_iter()
    .flatten()
    .collect();
    let excepted: BTreeSet<&str> = EXCEPTIONS.iter().map(|(id, _)| *id).collect();
    for id in owed() {
        let (tested, excepted) = (tested.contains(&*id), excepted.contains(&*id));
        assert!(tested || excepted, "{id} has neither a test nor a reason");
        assert!(!(tested && excepted), "{id} has both a test and an exception");
    }
    for (id, reason) in EXCEPTIONS {
        assert!(owed().iter().any(|owed| owed == id), "{id} is no row");
        assert!(!reason.is_empty(), "{id} has no reason");
    }
}
