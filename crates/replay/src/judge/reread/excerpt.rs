//! Which lines of a long result are read again.
//!
//! Up to [`WHOLE`] lines are read whole. Of more, [`AROUND`] lines before the first and behind the last that is needed: an agent
//! that knows where something stands asks for that place.

use crate::read::index::lines_of;
use std::ops::Range;

/// Lines of a result that is read whole.
pub(crate) const WHOLE: usize = 400;

/// Lines before and behind what is needed of a longer one.
pub(crate) const AROUND: usize = 200;

/// What is looked for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wanted<'t> {
    /// An old text, by its lines.
    Lines(&'t str),
    /// A piece, word for word.
    Piece(&'t str),
}

impl Wanted<'_> {
    /// The first lines of a text that hold it; `None` where that can't be told.
    pub(crate) fn lines_in(self, text: &str) -> Option<Range<usize>> {
        match self {
            Self::Lines(old) => lines_of(text, old),
            Self::Piece(piece) => text.find(piece).map(|at| {
                let line = |at: usize| text[..at].matches('\n').count();
                line(at)..line(at + piece.len()) + 1
            }),
        }
    }
}

/// The lines to read of a text with so many lines for what is needed, which stands in these; `None` for all of it.
pub(crate) fn excerpt(
    count: usize,
    needed: impl IntoIterator<Item = Option<Range<usize>>>,
) -> Option<Range<usize>> {
    if count <= WHOLE {
        return None;
    }
    // Where it can't be told where something stands, all is read.
    let needed: Option<Vec<Range<usize>>> = needed.into_iter().collect();
    let both = |a: Range<usize>, b: Range<usize>| a.start.min(b.start)..a.end.max(b.end);
    let lines = needed?.into_iter().reduce(both)?;
    let around = lines.start.saturating_sub(AROUND)..(lines.end + AROUND).min(count);
    (around.len() < count).then_some(around)
}

/// These lines of a text.
pub(crate) fn cut(text: &str, lines: &Range<usize>) -> String {
    let kept: Vec<&str> = text.split('\n').skip(lines.start).take(lines.len()).collect();
    kept.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_results_are_read_around_what_is_needed() {
        let text = |lines: usize| {
            let lines: Vec<String> =
                (0..lines).map(|line| format!("{line}\tlet x{line} = 1;")).collect();
            lines.join("\n")
        };
        let old = |line: usize| format!("let x{line} = 1;\nlet x{} = 1;", line + 1);
        let table = [
            ("short", 400, vec![7], None),
            ("in the middle", 1_000, vec![500], Some(300..702)),
            ("at the beginning", 1_000, vec![3], Some(0..205)),
            ("at the end", 1_000, vec![998], Some(798..1_000)),
            ("two places", 1_000, vec![500, 300], Some(100..702)),
            ("all of it", 500, vec![100, 400], None),
            ("it is not there", 1_000, vec![5_000], None),
        ];
        for (name, lines, wanted, expected) in table {
            let text = text(lines);
            let wanted: Vec<String> = wanted.into_iter().map(old).collect();
            let needed = wanted.iter().map(|old| Wanted::Lines(old).lines_in(&text));
            let found = excerpt(lines, needed);
            assert_eq!(found, expected, "{name}");
        }
        let piece = Wanted::Piece("x600 = 1;\n601\tlet x601").lines_in(&text(1_000));
        assert_eq!(excerpt(1_000, [piece]), Some(400..802));
        assert_eq!(cut("a\nb\nc\nd", &(1..3)), "b\nc");
    }
}
