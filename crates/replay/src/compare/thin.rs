//! Sessions whose text is a small part of what was sent.

use crate::number::count;
use crate::rows::study::Recording;

/// Says so, by the one that lacks most.
pub(super) fn caution(sessions: &[Recording]) -> Option<String> {
    let thin = || sessions.iter().filter_map(|session| session.thin);
    let most = thin().max_by_key(|thin| thin.recorded)?;
    let sessions = count(thin().count() as u64, "session");
    Some(format!("Text is missing in {sessions}: in one of them {}.", most.told()))
}
