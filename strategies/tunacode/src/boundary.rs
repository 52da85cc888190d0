//! Where a summary may end, over plain numbers.
//!
//! A boundary is the number of messages in front of it: those are summarized, the others stay. It is safe behind a message of the user
//! or a finished answer, and where no tool result would be the first that stays.

/// A message as the boundary sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unit {
    /// Its size.
    pub tokens: u64,
    /// Whether a boundary may be behind it.
    pub closes: bool,
    /// Whether it is a tool result.
    pub is_result: bool,
}

fn is_safe(units: &[Unit], boundary: usize) -> bool {
    let closed = boundary.checked_sub(1).and_then(|last| units.get(last));
    let next = units.get(boundary);
    closed.is_some_and(|unit| unit.closes) && next.is_none_or(|unit| !unit.is_result)
}

/// The boundary that leaves at least `keep` tokens behind it: the last safe one at or before the newest messages that reach
/// them; 0 if there is none.
pub fn retaining(units: &[Unit], keep: u64) -> usize {
    let mut sum = 0;
    let reached = units.iter().rposition(|unit| {
        sum += unit.tokens;
        sum >= keep
    });
    let candidates = 1..=reached.unwrap_or(0);
    candidates.rev().find(|boundary| is_safe(units, *boundary)).unwrap_or(0)
}

/// The last safe boundary, however little stays behind it; 0 if there is none.
pub fn latest(units: &[Unit]) -> usize {
    (1..=units.len()).rev().find(|boundary| is_safe(units, *boundary)).unwrap_or(0)
}
