//! Where the kept tail of a checkpoint starts (OpenCode 1.14 to 1.17).
//!
//! The last turns are kept word for word as long as they fit a budget; a turn that does not fit is
//! split at the first message from which on it does.

use std::ops::Range;

/// The budget of the tail in tokens, from the usable window: a quarter of it, within two limits.
pub fn budget(usable: u64, minimum: u64, maximum: u64) -> u64 {
    (usable / 4).min(maximum).max(minimum)
}

/// Turns as ranges of messages: each begins with a user message that is not a marker and extends to the
/// next. What is before the first belongs to none.
pub fn turns(begins_turn: &[bool]) -> Vec<Range<usize>> {
    let mut turns: Vec<Range<usize>> = Vec::new();
    for (index, begins) in begins_turn.iter().enumerate() {
        if *begins {
            turns.push(index..index + 1);
        } else if let Some(turn) = turns.last_mut() {
            turn.end = index + 1;
        }
    }
    turns
}

/// Index of the message that the tail starts with; `None` where nothing fits, and where everything
/// would be kept, since there would be nothing to summarize.
///
/// `size` gives the tokens of a range of messages. It must not shrink as a range grows at its front:
/// the walk stops at the first message that makes the tail too large, so that it costs no more than
/// the budget allows.
pub fn start(
    turns: &[Range<usize>],
    limit: usize,
    budget: u64,
    mut size: impl FnMut(Range<usize>) -> u64,
) -> Option<usize> {
    let mut remaining = budget;
    let mut keep = None;
    for turn in turns.iter().rev().take(limit) {
        let mut fits = None;
        for from in turn.clone().rev() {
            let tokens = size(from..turn.end);
            if tokens > remaining {
                break;
            }
            fits = Some((from, tokens));
        }
        match fits {
            Some((from, tokens)) if from == turn.start => {
                remaining -= tokens;
                keep = Some(from);
            }
            Some((from, _)) if remaining > 0 => {
                keep = Some(from);
                break;
            }
            _ => break,
        }
    }
    keep.filter(|start| *start > 0)
}
