//! Ids of sessions.

use crate::Session;

pub(crate) use foldback_providers::wire::shared::ids::Ids;

/// Numbers sessions of one id.
pub(crate) fn name_apart(sessions: &mut [Session]) {
    let mut ids = Ids::default();
    for session in sessions {
        session.id = ids.unique(&session.id);
    }
}
