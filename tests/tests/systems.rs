//! `docs/systems.md`: its lines name conformance rows, and the rows exist.

use crate::house::{root, visit};
use std::collections::BTreeSet;

/// What checks a line that names no conformance row.
const WITHOUT: [&str; 3] = ["differential", "recordings", "source"];

fn page() -> String {
    std::fs::read_to_string(root().join("docs/systems.md")).unwrap()
}

#[test]
fn every_row_of_the_table_of_systems_is_in_a_test() {
    let mut words = BTreeSet::new();
    let other = |c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '.');
    for folder in ["strategies", "crates/stages/tests", "tests/tests"] {
        visit(&root().join(folder), &["rs", "toml"], &mut |_, text| {
            words.extend(text.split(other).map(|word| word.trim_matches('.').to_owned()));
        });
    }
    let page = page();
    let inside = page.split('(').skip(1).filter_map(|rest| rest.split_once(')'));
    let named: BTreeSet<String> =
        inside.map(|(inside, _)| inside).chain(checks(&page)).flat_map(rows).collect();
    let missing: Vec<&String> = named.iter().filter(|row| !words.contains(*row)).collect();
    assert!(
        named.len() > 500 && missing.is_empty(),
        "{} rows, not there: {missing:?}",
        named.len()
    );
}

#[test]
fn every_line_of_the_table_of_systems_rests_on_something() {
    let page = page();
    let checks: Vec<&str> = checks(&page).collect();
    assert!(checks.len() > 80, "{} lines", checks.len());
    let loose = checks
        .into_iter()
        .filter(|cell| rows(cell).is_empty() && !WITHOUT.iter().any(|word| cell.contains(word)));
    assert_eq!(loose.collect::<Vec<_>>(), Vec::<&str>::new());
}

/// The last cells of the tables whose last column says what checks a line.
fn checks(page: &str) -> impl Iterator<Item = &str> {
    let tables = page.split("| checked by |\n").skip(1);
    let lines =
        tables.flat_map(|table| table.lines().skip(1).take_while(|line| line.starts_with('|')));
    lines.filter_map(|line| line.trim_end_matches(" |").rsplit(" | ").next())
}

/// The conformance rows of a list: `OC1-O1, OC1-O2`, or `OC1-O1–8` for eight of them.
fn rows(list: &str) -> Vec<String> {
    list.split([',', ';']).flat_map(|words| from_to(words.trim())).collect()
}

fn from_to(words: &str) -> Vec<String> {
    let (first, last) = words.split_once('–').unwrap_or((words, ""));
    let is_row = first.starts_with(|c: char| c.is_ascii_uppercase() || c.is_ascii_digit())
        && first.contains('-')
        && first.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '.');
    if !is_row {
        return Vec::new();
    }
    let (group, from) = first.split_at(first.trim_end_matches(|c: char| c.is_ascii_digit()).len());
    match (from.parse::<u32>(), last.parse::<u32>()) {
        (Ok(from), Ok(to)) => (from..=to).map(|number| format!("{group}{number}")).collect(),
        _ => vec![first.to_owned()],
    }
}
