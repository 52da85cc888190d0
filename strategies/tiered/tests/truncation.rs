//! Sentence truncation, mended and to the letter, and cutting the middle.

use foldback_tiered::truncate::{by_sentence, by_sentence_exact, length, middle, to_tokens};

fn words(list: &[&str]) -> Vec<String> {
    list.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn sentences_as_a_table() {
    // name, content, target, keywords, expect
    let rows: [(&str, &str, usize, &[&str], &str); 12] = [
        ("all of it", "One. Two! Three?", 99, &[], "One. Two! Three?"),
        ("nothing", "", 10, &[], ""),
        (
            "a keyword wins, whatever its case",
            "Alpha is here. Beta is here.",
            14,
            &["BETA"],
            "Beta is here.",
        ),
        (
            "a decision wins over importance",
            "Note a pit. We must go. So it is.",
            11,
            &[],
            "We must go.",
        ),
        ("importance wins over nothing", "So it is. Note the tree.", 14, &[], "Note the tree."),
        (
            "a keyword (10) wins over decision and importance (8)",
            "It must be noted as key. Beta is here for all.",
            24,
            &["beta"],
            "Beta is here for all.",
        ),
        (
            "original order",
            "First. We decided. Last must be.",
            32,
            &[],
            "First. We decided. Last must be.",
        ),
        ("the separator counts", "Abc. Def.", 8, &[], "Abc."),
        ("the separator fits", "Abc. Def.", 9, &[], "Abc. Def."),
        ("no sentence fits", "A long sentence without an end", 9, &[], "A long..."),
        (
            "identifiers stay whole",
            "See src/main.rs at v1.2.3 now. Then go.",
            99,
            &[],
            "See src/main.rs at v1.2.3 now. Then go.",
        ),
        ("lines end sentences", "one\ntwo must\nthree", 8, &[], "two must"),
    ];
    for (name, content, target, keywords, expect) in rows {
        let result = by_sentence(content, target, &words(keywords));
        assert_eq!(result, expect, "{name}");
        assert!(length(&result) <= target, "{name}");
    }
}

#[test]
fn sentences_to_the_letter() {
    // name, content, target, keywords, expect
    let rows: [(&str, &str, usize, &[&str], &str); 7] = [
        ("in the order of the points", "First. We decided", 99, &[], " We decided. First. "),
        ("the empty rest is a sentence", "One. Two.", 99, &[], "One.  Two. . "),
        ("the separator is not counted, so the result is too long", "Abcd. Efg", 4, &[], "Abcd. "),
        ("the separator counts for what follows", "Ab. Cd", 6, &[], "Ab. "),
        ("nothing fits", "Abcdefgh", 3, &[], "Abc..."),
        ("the empty rest fits where nothing else does", "Abcdefgh.", 3, &[], ". "),
        ("lengths are UTF-16 code units", "😀😀! ab", 3, &[], " ab. "),
    ];
    for (name, content, target, keywords, expect) in rows {
        let result = by_sentence_exact(content, target, &words(keywords));
        assert_eq!(result, expect, "{name}");
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
