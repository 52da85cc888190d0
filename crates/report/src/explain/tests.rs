use super::*;

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
fn a_session_without_calls_has_no_plot() {
    let mut walk = walk();
    walk.calls.clear();
    walk.tracks.truncate(1);
    walk.tracks[0].tokens.clear();
    let text = explain(&walk, Width::terminal(100), 10);
    assert!(text.contains("0 calls in 0 turns") && !text.contains('┤'), "{text}");
}
