//! The inputs that once went wrong, in `../shared/cases`: none of them is forgotten.

use crate::common::root;
use std::path::Path;

/// Where tests and their tables stand.
const TESTS: [&str; 5] = ["bindings", "crates", "examples", "strategies", "tests"];
const ENDINGS: [&str; 5] = ["js", "mjs", "py", "rs", "toml"];

/// Cases whose tests make the input anew, smaller: the file of the test, and what in it is made of the case.
const MADE_ANEW: &[(&str, &str, &str)] = &[
    (
        "G-node-memory",
        "bindings/node/test/memory.test.js",
        "a loop without a turn of the event loop keeps no engine",
    ),
    (
        "E-hermes-panic",
        "strategies/openhands/rows/hermes_rows.toml",
        r#""u40 c8 {repeat:8:r400 }", "nothing""#,
    ),
    (
        "G-tiered-user",
        "strategies/tiered/tests/conversation.rs",
        "fn a_tier_that_fits_its_budget_stays_whole",
    ),
    (
        "H-brutus-prune-undone",
        "strategies/opencode/tests/flow.rs",
        "fn br_5_a_summary_may_be_larger_than_what_the_clearing_leaves",
    ),
    ("H-mxf-type-task", "strategies/tiered/rows/rows.toml", r#"id = "MX-4 marked as a task""#),
];

/// A case is covered where a test or its table names it, or where `MADE_ANEW` says what stands for it. What is asserted there is
/// what the README of the cases has as right.
#[foldback_needs::cases]
#[test]
fn every_input_that_went_wrong_has_a_test() {
    let folder = root().join("../shared/cases");
    let entries = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap());
    let cases = entries.filter(|entry| entry.path().is_dir());
    let mut untested: Vec<String> =
        cases.map(|entry| entry.file_name().into_string().unwrap()).collect();
    assert!(untested.len() > 50, "{}: {} cases", folder.display(), untested.len());
    untested.sort();
    for below in TESTS {
        cross_off(&root().join(below), false, &mut untested);
    }
    for (case, file, made) in MADE_ANEW {
        let text = std::fs::read_to_string(root().join(file)).unwrap();
        assert!(text.contains(made), "{case}: {file} has no longer: {made}");
        untested.retain(|other| other != case);
    }
    assert!(
        untested.is_empty(),
        "no test names these cases of {}:\n  {}\nCopy a small one to tests/cases and assert its value, or run it from there",
        folder.display(),
        untested.join("\n  ")
    );
}

/// Takes off the list what the tests in a folder name. `is_test`: whether all of it belongs to tests.
fn cross_off(folder: &Path, is_test: bool, untested: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap()) {
        let (path, name) = (entry.path(), entry.file_name().into_string().unwrap());
        // The table above names cases without testing them.
        if path.ends_with("cli/tests/cli/cases.rs") {
            continue;
        }
        let of_tests = is_test || ["test", "tests", "tests.rs"].contains(&&*name);
        let kind = entry.file_type().unwrap();
        // The copies of the cases are no tests: a copy that no test reads is found.
        if kind.is_dir() && !["cases", "node_modules"].contains(&&*name) {
            cross_off(&path, of_tests, untested);
        } else if kind.is_file() && of_tests && has_ending(&path) {
            let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
            untested.retain(|case| !text.contains(case.as_str()));
        }
    }
}

fn has_ending(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ENDINGS.iter().any(|of| ending == *of))
}
