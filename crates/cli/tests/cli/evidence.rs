//! The figures of `tests/evidence` are those of the code as it is.

use crate::common::{foldback, root};
use std::process::Command;

/// The recordings behind `figures.tsv` are not part of the project. The same figures of the sessions that are fall out
/// differently once a definition changes, here or in the script, and so would those.
#[foldback_needs::judge]
#[test]
fn figures_of_arms_are_defined_as_when_the_extract_was_made() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let [rows, json, made] = ["rows.csv", "comparison.json", "figures.tsv"].map(path);
    let mut args = vec!["compare", "examples/sessions", "--preset", "masking-10"];
    let arms = std::fs::read_dir(root().join("examples/complexity-trap")).unwrap();
    let mut arms: Vec<String> =
        arms.map(|arm| arm.unwrap().path().to_str().unwrap().to_owned()).collect();
    arms.sort();
    args.extend(arms.iter().flat_map(|arm| ["--preset", arm]));
    foldback(&[&args[..], &["--rows", &rows, "--json", &json]].concat()).done();
    let mut python = Command::new("python3");
    python.args(["-B", "tests/evidence/extract.py", "figures", &rows, &json, &made]);
    let output = python.current_dir(root()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let read = |path: &str| std::fs::read_to_string(root().join(path)).unwrap();
    let (made, known) = (read(&made), read("tests/evidence/examples.tsv"));
    assert!(
        made == known,
        "a definition has changed: make figures.tsv and sessions.tsv again as tests/evidence/README.md says, and put this \
         into tests/evidence/examples.tsv\n{made}"
    );
    let names = |table: &str| {
        let lines = table.lines().map(|line| line.split('\t').next().unwrap().to_owned());
        (table.lines().next().unwrap().to_owned(), lines.collect::<Vec<_>>())
    };
    assert_eq!(names(&known), names(&read("tests/evidence/figures.tsv")));
}

/// The same for the measurements of others: what replays of their arms come to, and what a view has of values that a user, an
/// assistant and a tool said.
#[foldback_needs::judge]
#[test]
fn figures_of_outside_measurements_are_defined_as_when_the_extracts_were_made() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let [rows, json, made] = ["rows.csv", "comparison.json", "made.tsv"].map(path);
    let presets =
        "examples/outside/distil-provider-cm.toml,indexed,codex,claude-code,opencode-1.18";
    let args = ["compare", "examples/sessions", "--preset", presets, "--window", "200000"];
    foldback(&[&args[..], &["--rows", &rows, "--json", &json]].concat()).done();
    let script = |args: &[&str]| {
        let mut python = Command::new("python3");
        python.args(["-B", "tests/evidence/outside.py"]).args(args);
        let output = python.current_dir(root()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    script(&["figures", &rows, &json, &made]);
    let said = script(&["said", env!("CARGO_BIN_EXE_foldback")]);
    let read = |path: &str| std::fs::read_to_string(root().join(path)).unwrap();
    let made = format!("{}preset\tuser\tassistant\ttool\n{said}", read(&made));
    assert!(
        made == read("tests/evidence/outside/examples.tsv"),
        "a definition has changed: make the extracts of tests/evidence/outside again as tests/evidence/README.md says, and \
         put this into examples.tsv there\n{made}"
    );
}
