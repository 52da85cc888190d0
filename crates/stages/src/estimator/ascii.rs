//! Where the first piece of a text ends, by its ASCII alone.
//!
//! Nearly all of a session is ASCII, in which a piece is a run of bytes of one or two classes. The regular expressions of
//! the vocabularies, which know all of Unicode, take several times as long to find its end.

use super::vocabulary::Vocabulary;

/// Counts bytes that were looked at, for the tests of this crate. Elsewhere steps are counted by messages.
pub(super) fn count_bytes(bytes: usize) {
    if cfg!(test) {
        foldback_core::work::count(bytes as u64);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Upper,
    Lower,
    Digit,
    /// A byte of no other class.
    Mark,
    Space,
    /// Other white space within a line.
    Blank,
    Newline,
    /// The end of the text.
    End,
    /// No ASCII.
    Other,
}

use Class::{Blank, Digit, End, Lower, Mark, Newline, Other, Space, Upper};

const CLASSES: [Class; 256] = {
    let mut classes = [Other; 256];
    let mut byte = 0;
    while byte < 128 {
        classes[byte] = match byte as u8 {
            b'A'..=b'Z' => Upper,
            b'a'..=b'z' => Lower,
            b'0'..=b'9' => Digit,
            b'\r' | b'\n' => Newline,
            b' ' => Space,
            b'\t' | 0x0B | 0x0C => Blank,
            _ => Mark,
        };
        byte += 1;
    }
    classes
};

/// Digits of a piece at most.
const DIGITS: usize = 3;

/// Where bytes of some classes end that begin here.
fn run(text: &[u8], from: usize, of: impl Fn(Class) -> bool) -> usize {
    let length = text[from..].iter().take_while(|byte| of(CLASSES[usize::from(**byte)])).count();
    count_bytes(length);
    from + length
}

/// The length of the first piece; `None` where more than ASCII decides, and where there is none.
pub(super) fn first_piece(vocabulary: Vocabulary, text: &[u8]) -> Option<usize> {
    let class = |at: usize| text.get(at).map_or(End, |byte| CLASSES[usize::from(*byte)]);
    let is_o200k = vocabulary == Vocabulary::O200k;
    // A contraction is the end of a word of o200k's, and a piece of cl100k's.
    let apostrophe = |at: usize| text.get(at) == Some(&b'\'');
    if !is_o200k && apostrophe(0) {
        return None;
    }
    let end = match (class(0), class(1)) {
        (first @ (Upper | Lower), _) | (first @ (Space | Blank | Mark), Upper | Lower) => {
            let word = usize::from(!matches!(first, Upper | Lower));
            let end = match vocabulary {
                Vocabulary::O200k => {
                    run(text, run(text, word, |class| class == Upper), |class| class == Lower)
                }
                Vocabulary::Cl100k => run(text, word, |class| matches!(class, Upper | Lower)),
            };
            if is_o200k && apostrophe(end) {
                return None;
            }
            end
        }
        // No more than a piece is looked at: a number of many digits is many pieces.
        (Digit, _) => run(&text[..text.len().min(DIGITS)], 0, |class| class == Digit),
        (first @ Mark, _) | (first @ Space, Mark) => {
            let marks = run(text, usize::from(first == Space), |class| class == Mark);
            let after =
                |at: &usize| class(*at) == Newline || is_o200k && text.get(*at) == Some(&b'/');
            // Text may follow in any script.
            return (class(marks) != Other).then(|| marks + (marks..).take_while(after).count());
        }
        (Space | Blank | Newline, _) => {
            let end = run(text, 0, |class| matches!(class, Space | Blank | Newline));
            let newline = (0..end).rfind(|at| class(*at) == Newline);
            return match (newline, class(end)) {
                (_, Other) => None,
                (Some(newline), _) => Some(newline + 1),
                (None, End) => Some(end),
                // The last character belongs to what follows.
                (None, _) => Some((end - 1).max(1)),
            };
        }
        (End | Other, _) => return None,
    };
    (class(end) != Other).then_some(end)
}
