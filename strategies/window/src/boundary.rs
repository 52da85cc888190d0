//! Where the part that is kept begins, and how a split moves off a tool call and its results.
//!
//! Plain functions over plain values; [`crate::split`] brings them to a conversation.

pub use foldback_stages::split::{Unit, move_off_groups};

/// Index of the first message of the longest end that is within `budget`, by the tokens of each
/// message.
///
/// 0 where everything is: there is nothing to fold. Where even the last message is not, it is kept
/// alone. At least one message is folded otherwise.
pub fn split_point(tokens: &[u64], budget: u64) -> usize {
    let mut sum = 0_u64;
    for (index, message) in tokens.iter().enumerate().rev() {
        sum = sum.saturating_add(*message);
        if sum > budget {
            return (index + 1).min(tokens.len() - 1).max(1);
        }
    }
    0
}

/// Moves a split back as the original does, defect included.
///
/// Off the results, onto the call, and one message further back: the original takes that one for the
/// user's question. In a chain of calls it is the result of the call before, which then stands at the
/// front of what is kept, without its call.
pub fn move_as_documented(units: &[Unit], split: usize) -> usize {
    if split == 0 || split >= units.len() {
        return split;
    }
    let mut at = split;
    while at > 0 && units[at].result {
        at -= 1;
    }
    if at > 0 && units[at].calls {
        at -= 1;
    }
    at.max(1)
}
