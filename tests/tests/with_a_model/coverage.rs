//! Every row that needs a model request, and where it is paid for: one table, complete by its test.

use super::row::{OURS, Row};
use super::{agent_loop, answers, opencode, requests, window};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Where a row is paid for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Paid {
    /// A row of this suite.
    Here,
    /// A test that says the id, beneath the request to the model; path from the workspace.
    In(&'static str),
    /// Nowhere, for this reason.
    Not(&'static str),
}

use Paid::{Here, In, Not};

const FLOW: &str = "strategies/opencode/tests/conformance/flow.rs";
const ERRORS: &str = "crates/provider-errors/tests/answers.toml";

const TABLE: &[(&str, Paid)] = &[
    (
        "OC17-S1",
        Not(
            "a compaction is asked of a conversation, not of a message: there is no parent that could be of the wrong kind",
        ),
    ),
    ("OC17-S2", Here),
    ("OC17-S3", Here),
    ("OC17-S4", Here),
    ("OC17-S5", In(FLOW)),
    ("OC17-S6", In(FLOW)),
    ("OC17-S7", Here),
    ("OC17-S8", Here),
    ("OC17-S9", Here),
    ("OC17-S10", Here),
    ("OC17-S11", Here),
    ("OC17-S12", Here),
    ("OC17-S13", Here),
    ("OC17-S14", Here),
    (
        "OC17-S15",
        Not(
            "deltas of a stream are put together by the client; a summary reaches foldback as one text",
        ),
    ),
    ("OC17-S16", Here),
    ("OC17-S17", Here),
    ("OC17-S18", Here),
    ("OC17-S19", In(FLOW)),
    ("OC17-S20", In(FLOW)),
    ("OC17-L1", Here),
    ("OC17-L2", Here),
    ("OC17-L3", Here),
    ("OC17-E1", In(ERRORS)),
    ("OC17-E2", In(ERRORS)),
    ("OCv2-1", Here),
    ("OCv2-2", Here),
    ("OCv2-3", Here),
    ("OCv2-4", Here),
    ("OCv2-5", Here),
    ("OCv2-6", Here),
    ("OCv2-7", Here),
    ("OCv2-8", Here),
    ("OCv2-9", Here),
    // The later suite has no numbers.
    ("OCv2-empty", Here),
    ("OCv2-cut", Here),
    ("OCv2-overflow", Here),
    ("OCv2-phrases", Here),
    ("S9-17", Here),
    ("S9-18", Here),
    ("S9-20", Here),
    ("S9-21", Here),
    ("S9-22", Here),
    ("S9-23", Here),
    ("S9-24", Here),
];

/// Halves of rows that are not here, and why.
const EXCEPTIONS: &[(&str, &str)] = &[
    (
        "OC17-S3",
        "the text of the error message that is stored beside the summary: a fold that fails stores nothing, its report says why",
    ),
    (
        "OCv2-2",
        "the tags `<summary>` and `<recent-context>` around a checkpoint: V2's own wording, and V2 is no preset",
    ),
    (
        "OCv2-5",
        "the error is persisted: what an agent stores of an error is the agent's own; the loop hands it over",
    ),
    (
        "S9-21",
        "the thresholds: beneath the request, in strategies/window/tests/conformance/budget.rs",
    ),
    (
        "S9-22",
        "the folder of the session memory: the reader is injected, so an empty folder is a reader that returns nothing",
    ),
];

fn owed() -> BTreeSet<String> {
    let numbered = |prefix: &'static str, to: usize| (1..=to).map(move |n| format!("{prefix}{n}"));
    let named = ["OC17-E1", "OC17-E2", "OCv2-empty", "OCv2-cut", "OCv2-overflow", "OCv2-phrases"];
    let window = [17, 18, 20, 21, 22, 23, 24].map(|n| format!("S9-{n}"));
    numbered("OC17-S", 20)
        .chain(numbered("OC17-L", 3))
        .chain(numbered("OCv2-", 9))
        .chain(named.map(str::to_owned))
        .chain(window)
        .collect()
}

fn rows() -> BTreeMap<&'static str, Vec<Row>> {
    let mut by_id: BTreeMap<&'static str, Vec<Row>> = BTreeMap::new();
    let suites =
        [opencode::rows(), agent_loop::rows(), requests::rows(), answers::rows(), window::rows()];
    for row in suites.concat() {
        by_id.entry(row.id).or_default().push(row);
    }
    by_id
}

#[test]
fn every_row_is_paid_for() {
    let table: BTreeMap<&str, Paid> = TABLE.iter().copied().collect();
    assert_eq!(table.len(), TABLE.len(), "an id is in the table twice");
    let listed: BTreeSet<String> = table.keys().map(|id| (*id).to_owned()).collect();
    assert_eq!(listed, owed());
    let rows = rows();
    for (id, paid) in &table {
        let here = rows.get(id).map_or(0, Vec::len);
        match paid {
            Here => assert!(here > 0, "{id} is said to be here and is not"),
            In(path) => {
                let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
                let text = std::fs::read_to_string(root.join(path)).unwrap();
                let named = text.match_indices(id).any(|(at, _)| {
                    !text[at + id.len()..].starts_with(|c: char| c.is_ascii_digit())
                });
                assert!(named, "{path} does not name {id}");
                assert_eq!(here, 0, "{id} is here as well");
            }
            Not(reason) => {
                assert!(!reason.is_empty(), "{id} has no reason");
                assert_eq!(here, 0, "{id} is here all the same");
            }
        }
    }
    for id in rows.keys() {
        assert!(table.contains_key(id), "{id} is in no reference");
    }
    for (id, reason) in EXCEPTIONS {
        assert_eq!(table.get(id), Some(&Here), "half of {id} is an exception");
        assert!(!reason.is_empty(), "{id} has no reason");
    }
}

/// A row of the original that foldback keeps only beneath a guard or a rung has a row of ours beside it
/// that says what the guard does.
#[test]
fn what_is_beneath_a_guard_has_a_row_above_it() {
    for (id, rows) in rows() {
        let beneath = rows.iter().any(|row| row.name.contains("beneath"));
        let above = rows.iter().any(|row| row.origin == OURS);
        assert!(!beneath || above, "{id}: what does foldback do?");
        assert!(rows.iter().any(|row| row.origin != OURS), "{id}: no row is the original's");
        let names: BTreeSet<&str> = rows.iter().map(|row| &*row.name).collect();
        assert_eq!(names.len(), rows.len(), "{id}: two rows have one name");
    }
}
