use super::fixtures::walk;
use super::*;

#[test]
fn told_in_words() {
    insta::assert_snapshot!(explain(&walk(), Layout::default()));
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
        let layout = Layout { width, ..Layout::default() };
        let text = explain(&walk, layout);
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
    let text = explain(&walk, Layout::default());
    assert!(text.contains("0 calls in 0 turns") && !text.contains('┤'), "{text}");
}
