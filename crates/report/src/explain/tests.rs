use super::*;
use foldback_replay::walk::{Forgotten, Need};

/// A walk made by hand: twelve calls that grow by 1,000 tokens each; a firing before call 8 takes 5,000 of them
/// back.
pub(crate) fn walk() -> Walk {
    serde_json::from_str(include_str!("walk.json")).unwrap()
}

#[test]
fn told_in_words() {
    insta::assert_snapshot!(explain(&walk(), Width::terminal(100), 10));
}

#[test]
fn fits_the_terminal() {
    let mut walk = walk();
    walk.path = "deep/".repeat(40);
    walk.tracks[0].firings = vec![walk.tracks[0].firings[0].clone(); 100];
    // 700 calls: several to a column.
    walk.calls = (0..700).map(|call| walk.calls[call % 12]).collect();
    let tokens = walk.tracks[0].tokens.clone();
    walk.tracks[0].tokens = (0..700).map(|call| tokens[call % 12]).collect();
    for width in [80, 100, 140] {
        let text = explain(&walk, Width::terminal(width), 10);
        for line in text.lines() {
            let columns = line.chars().count();
            assert!(columns <= usize::from(width), "{columns} columns: {line}");
        }
        assert!(text.lines().any(|line| line.chars().count() > usize::from(width) - 12));
        assert!(text.contains("  … 76 more\n"), "{text}");
    }
}

#[test]
fn what_fired_after_all_calls_is_before_none() {
    let mut walk = walk();
    walk.tracks[0].firings[0].call = walk.calls.len();
    let text = explain(&walk, Width::terminal(100), 10);
    assert!(text.contains("  after the last call, ") && !text.contains("call 12"), "{text}");
}

#[test]
fn a_session_without_calls_has_no_plot() {
    let mut walk = walk();
    walk.calls.clear();
    walk.tracks.truncate(1);
    walk.tracks[0].tokens.clear();
    let text = explain(&walk, Width::terminal(100), 10);
    assert!(text.contains("0 calls in 0 turns") && !text.contains('┤'), "{text}");
}

#[test]
fn what_fold_after_fold_did_is_one_line() {
    let mut walk = walk();
    let fold = |call, own_before, own_after| TrackFiring {
        call,
        fold: true,
        own_before,
        own_after,
        ..walk.tracks[0].firings[0].clone()
    };
    let folds = [fold(4, 9_000, 4_000), fold(8, 9_500, 4_500), fold(11, 9_000, 6_000)];
    for (which, headline) in [(0, true), (2, true), (3, false)] {
        walk.needs[which].headline = headline;
    }
    let cases = [
        (1, None, None),
        (
            2,
            None,
            Some(
                "The first fold freed 5,000 tokens, the last 5,000; the view had 4,000 at first and 4,500 at last. Folds went on having an effect.",
            ),
        ),
        (
            3,
            Some(11),
            Some(
                "The first fold freed 5,000 tokens, the median one 5,000, the last 3,000; the view had 4,000 at first and 6,000 at last. Folds had no effect from call 11 on.",
            ),
        ),
    ];
    for (folded, stuck, expected) in cases {
        walk.tracks[0].firings = folds[..folded].to_vec();
        walk.tracks[0].stuck = stuck;
        let told = explain(&walk, Width::terminal(1_000), 10);
        let line = told.lines().find(|line| line.starts_with("The first"));
        assert_eq!(line, expected, "{folded}");
        let names = "that calls needed again after a fold, it had kept 0 of 2 after two.";
        assert_eq!(told.contains(names), folded > 1, "{told}");
    }
}

#[test]
fn what_has_no_room_is_counted() {
    let mut walk = walk();
    walk.tracks.truncate(1);
    let edits = |lost: &&Forgotten| walk.needs[lost.need].kind == NeedKind::Edit;
    let lost = *walk.tracks[0].forgotten.iter().find(edits).unwrap();
    let need = walk.needs[lost.need].clone();
    for text in ["second", "third"] {
        walk.tracks[0].forgotten.push(Forgotten { need: walk.needs.len(), ..lost });
        walk.needs.push(Need { text: text.to_owned(), source: None, ..need.clone() });
    }
    for (top, more) in [(1, "\n  … 2 more; --count 3 lists all\n"), (2, "\n  … 1 more; --count 3")]
    {
        let told = explain(&walk, Width::terminal(100), top);
        assert!(told.contains(more), "{told}");
    }
    let all = explain(&walk, Width::terminal(100), 3);
    assert!(all.contains("Edits come first") && !all.contains("lists all"), "{all}");
}

#[test]
fn numbers_of_reasons_are_grouped() {
    for (reason, expected) in [
        ("53368 <= 272000 tokens, 82 > 80 events", "53,368 <= 272,000 tokens, 82 > 80 events"),
        ("(usage 17314), 1 of 200000; o200k", "(usage 17,314), 1 of 200,000; o200k"),
        ("", ""),
        ("to 21096: leaves out 35 of 1046", "to 21,096: leaves out 35 of 1,046"),
    ] {
        assert_eq!(with_grouped_numbers(reason), expected);
    }
}

#[test]
fn what_a_sealed_summary_may_hold_is_not_said_to_be_forgotten() {
    let mut walk = walk();
    walk.needs[0].headline = true;
    let track = &mut walk.tracks[0];
    track.sealed = true;
    track.firings = vec![TrackFiring { fold: true, ..track.firings[0].clone() }; 2];
    let told = explain(&walk, Width::terminal(1_000), 10);
    for said in [
        "Forgotten, unless a sealed summary holds it: calls needed 1 old",
        "it had kept at least 0 of 1 after",
    ] {
        assert!(told.contains(said), "{said}: {told}");
    }
}
