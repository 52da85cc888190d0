//! Where what is kept as text begins (version 2).
//!
//! The newest entry is kept, however long it is, and older ones as long as they fit. The beginning then moves back to a message
//! of the user, so that an answer stays with its results; nothing limits how far.

/// One message of the conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// Its size as text.
    pub tokens: u64,
    /// Whether the user wrote it.
    pub user: bool,
}

/// Index of the first entry that is kept; the number of entries where all are summarized; `None` without any.
///
/// Where everything fits, the newest exchange alone is kept. Where there is none but the whole, everything is kept if an earlier
/// kept text is there to be summarized instead (`earlier`), and nothing otherwise.
pub fn start(entries: &[Entry], keep: u64, earlier: bool) -> Option<usize> {
    let newest = entries.len().checked_sub(1)?;
    let (mut start, mut total) = (newest, entries[newest].tokens);
    for (index, entry) in entries[..newest].iter().enumerate().rev() {
        total += entry.tokens;
        if total > keep {
            break;
        }
        start = index;
    }
    while start > 0 && !entries[start].user {
        start -= 1;
    }
    let latest = || entries.iter().rposition(|entry| entry.user).filter(|latest| *latest > 0);
    let whole = if earlier { 0 } else { entries.len() };
    Some(if start > 0 { start } else { latest().unwrap_or(whole) })
}
