//! Every row that needs a model request, and where it is paid for: one table, complete by its test.

use super::row::Row;
use super::{read, suites};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Where a row is paid for.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Paid {
    /// A row of this suite.
    Here,
    /// A test that says the id, beneath the request to the model; path from the workspace.
    In(String),
    /// Nowhere, for this reason.
    Not(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Coverage {
    rows: BTreeMap<String, Paid>,
    /// Halves of rows that are not here, and why.
    exceptions: BTreeMap<String, String>,
}

fn owed() -> BTreeSet<String> {
    let numbered = |prefix: &'static str, to: usize| (1..=to).map(move |n| format!("{prefix}{n}"));
    let named = [
        "OC17-E1",
        "OC17-E2",
        "OCv2-empty",
        "OCv2-cut",
        "OCv2-overflow",
        "OCv2-phrases",
        "OCv2-C6",
    ];
    let window = [17, 18, 20, 21, 22, 23, 24].map(|n| format!("S9-{n}"));
    numbered("OC17-S", 20)
        .chain(numbered("OC17-L", 3))
        .chain(numbered("OCv2-", 9))
        .chain(named.map(str::to_owned))
        .chain(window)
        .collect()
}

fn rows() -> BTreeMap<String, Vec<Row>> {
    let mut by_id: BTreeMap<String, Vec<Row>> = BTreeMap::new();
    for (file, group) in suites::GROUPS {
        for row in read::rows(file, group) {
            by_id.entry(row.id.clone()).or_default().push(row);
        }
    }
    by_id
}

#[test]
fn every_row_is_paid_for() {
    let Coverage { rows: table, exceptions } =
        toml::from_str(include_str!("coverage.toml")).expect("the table");
    assert_eq!(table.keys().cloned().collect::<BTreeSet<_>>(), owed());
    let rows = rows();
    for (id, paid) in &table {
        let here = rows.get(id).map_or(0, Vec::len);
        match paid {
            Paid::Here => assert!(here > 0, "{id} is said to be here and is not"),
            Paid::In(path) => {
                let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
                let text = std::fs::read_to_string(root.join(path)).unwrap();
                let named = text.match_indices(id.as_str()).any(|(at, _)| {
                    !text[at + id.len()..].starts_with(|c: char| c.is_ascii_digit())
                });
                assert!(named, "{path} does not name {id}");
                assert_eq!(here, 0, "{id} is here as well");
            }
            Paid::Not(reason) => {
                assert!(!reason.is_empty(), "{id} has no reason");
                assert_eq!(here, 0, "{id} is here all the same");
            }
        }
    }
    for id in rows.keys() {
        assert!(table.contains_key(id), "{id} is in no reference");
    }
    for (id, reason) in &exceptions {
        assert_eq!(table.get(id), Some(&Paid::Here), "half of {id} is an exception");
        assert!(!reason.is_empty(), "{id} has no reason");
    }
}

/// A row of the original that foldback keeps only beneath a guard or a rung has a row of ours beside it
/// that says what the guard does.
#[test]
fn what_is_beneath_a_guard_has_a_row_above_it() {
    for (id, rows) in rows() {
        let beneath = rows.iter().any(|row| row.name.contains("beneath"));
        let above = rows.iter().any(|row| row.origin == "ours");
        assert!(!beneath || above, "{id}: what does foldback do?");
        assert!(rows.iter().any(|row| row.origin != "ours"), "{id}: no row is the original's");
        let names: BTreeSet<&str> = rows.iter().map(|row| &*row.name).collect();
        assert_eq!(names.len(), rows.len(), "{id}: two rows have one name");
    }
}
