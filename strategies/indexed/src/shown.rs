//! What the view still shows when a fold is done: its lines are not kept a second time.

use crate::known::Knowledge;
use crate::message::{said, told};
use foldback_core::history::History;
use foldback_core::view::Pos;

/// Words and lines of the messages that stay.
pub(crate) struct VisibleText {
    /// By number.
    pub(crate) words: Vec<bool>,
    /// By number.
    pub(crate) lines: Vec<bool>,
}

impl VisibleText {
    /// Reads them.
    pub(crate) fn new(history: &History, kept: &[Pos], known: &Knowledge) -> Self {
        let mut out =
            Self { words: vec![false; known.words.len()], lines: vec![false; known.lines.len()] };
        for pos in kept {
            let message = history.message(*pos);
            let (results, told) = (&said(message).results, told(message));
            let words = told.words.iter().chain(results.iter().flat_map(|found| &found.terms));
            // One without a number is not among those that go.
            for number in words.filter_map(|word| known.words.number(*word)) {
                out.words[number as usize] = true;
            }
            let lines = results.iter().flat_map(|found| &found.lines).map(|line| &line.key);
            let keys = told.keys.iter().chain(lines);
            for number in keys.filter_map(|key| known.lines.number(*key)) {
                out.lines[number as usize] = true;
            }
        }
        out
    }
}
