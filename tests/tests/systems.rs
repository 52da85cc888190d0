//! `docs/systems.md`: its cells name rows, and the rows exist.

use crate::house::{root, visit};
use std::collections::BTreeSet;

/// What a cell without a row says, if it is not empty: the same as another system's, or what it rests on instead.
const WITHOUT: [&str; 6] =
    ["as `", "(differential)", "(recordings)", "(source)", "not recorded", "not documented"];

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
    let named = rows(&page());
    let missing: Vec<&String> = named.iter().filter(|row| !words.contains(*row)).collect();
    assert!(
        named.len() > 600 && missing.is_empty(),
        "{} rows, not there: {missing:?}",
        named.len()
    );
}

#[test]
fn every_cell_of_the_table_of_systems_rests_on_something() {
    let page = page();
    let systems = page.lines().filter(|line| line.starts_with("| [`"));
    let cells = systems.flat_map(|line| {
        let mut cells = line.trim_matches('|').split(" | ").map(str::trim);
        let system = cells.next().unwrap_or_default();
        cells.map(move |cell| (system, cell))
    });
    let loose = cells.filter(|(_, cell)| {
        *cell != "–" && rows(cell).is_empty() && !WITHOUT.iter().any(|word| cell.contains(word))
    });
    assert_eq!(loose.collect::<Vec<_>>(), []);
}

/// The rows that stand in parentheses: `(OC1-O1, OC1-O2)`, or `(OC1-O1 to OC1-O8)` for eight of them.
fn rows(text: &str) -> Vec<String> {
    let open = text.split('(').skip(1).filter_map(|rest| rest.split_once(')'));
    let words = open.flat_map(|(inside, _)| inside.split([',', ';']));
    words.flat_map(|words| from_to(words.trim())).collect()
}

fn from_to(words: &str) -> Vec<String> {
    let (first, last) = words.split_once(" to ").unwrap_or((words, words));
    let is_row = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_uppercase() || c.is_ascii_digit())
            && word.contains('-')
            && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '.')
    };
    if !is_row(first) {
        return Vec::new();
    }
    let number = |row: &str| row.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let (group, from) = first.split_at(number(first));
    let (same, to) = last.split_at(number(last));
    match (from.parse::<u32>(), to.parse::<u32>()) {
        (Ok(from), Ok(to)) if group == same && from <= to => {
            (from..=to).map(|number| format!("{group}{number}")).collect()
        }
        _ => vec![first.to_owned(), last.to_owned()],
    }
}
