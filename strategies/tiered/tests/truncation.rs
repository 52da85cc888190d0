//! Sentence truncation, mended and to the letter, and cutting the middle.

use foldback_test_support::table;
use foldback_tiered::truncate::{by_sentence, by_sentence_exact, length, middle, to_tokens};

/// Name, content, target, keywords, what is left of it.
type Row = (String, String, usize, Vec<String>, String);

fn rows(group: &str) -> Vec<Row> {
    table::rows(include_str!("../rows/rows.toml"), group)
}

#[test]
fn sentences_as_a_table() {
    for (name, content, target, keywords, expect) in rows("sentences") {
        let result = by_sentence(&content, target, &keywords);
        assert_eq!(result, expect, "{name}");
        assert!(length(&result) <= target, "{name}");
    }
}

#[test]
fn sentences_to_the_letter() {
    for (name, content, target, keywords, expect) in rows("sentences-exact") {
        assert_eq!(by_sentence_exact(&content, target, &keywords), expect, "{name}");
    }
}

#[test]
fn the_middle_goes() {
    let text: String = ('a'..='z').cycle().take(1_000).collect();
    let cut = middle(&text, 100);
    assert!(length(&cut) <= 100, "{}", length(&cut));
    assert!(cut.starts_with("abcdef") && cut.ends_with(&text[980..]), "{cut}");
    let missing: usize = cut
        .split("[... ")
        .nth(1)
        .and_then(|rest| rest.split(' ').next())
        .and_then(|number| number.parse().ok())
        .unwrap();
    let head = cut.find('\n').unwrap();
    let tail = length(&cut) - cut.rfind('\n').unwrap() - 1;
    assert!(head.abs_diff(2 * tail) <= 2, "two thirds and one: {head}, {tail}");
    let notice = format!("\n[... {missing} characters cut ...]\n");
    assert_eq!(length(&cut) - notice.len() + missing, 1_000);
    assert_eq!(middle(&text, 1_000), text);
    // Characters of two units and of four bytes are never torn.
    assert!(length(&middle(&"😀é漢".repeat(200), 101)) <= 101);
}

/// Of 100 characters 45 are in proportion; with ten more for each text that is too many, and the next try takes a twentieth off.
#[test]
fn the_second_try_takes_a_little_more() {
    let count = |text: &str| text.len() as u64 + 10;
    let cut = |text: &str, target: usize| text[..target].to_owned();
    assert_eq!(to_tokens(&"y".repeat(100), 110, 50, count, cut).len(), 38);
}

#[test]
fn tokens_are_reached_with_any_estimator() {
    let text = "It must stay short. ".repeat(200);
    let estimators: [fn(&str) -> u64; 3] = [
        |text| text.len() as u64,
        |text| text.split_whitespace().count() as u64,
        |text| (text.len() as u64).div_ceil(4) + 7,
    ];
    for (index, count) in estimators.into_iter().enumerate() {
        for goal in [50, 200, 500] {
            let cut = to_tokens(&text, count(&text), goal, count, |text, target| {
                by_sentence(text, target, &[])
            });
            assert!(count(&cut) <= goal, "{index}: {} > {goal}", count(&cut));
            assert!(!cut.is_empty(), "{index}: {goal}");
        }
    }
}
