//! Writing a document format back over its own source, with the note of what was left out.

use crate::prelude::*;

pub(crate) use foldback_providers::wire::shared::rewrite::{Dialect, Own, patched};

impl Session {
    /// Its messages with the text that they were read from.
    pub(crate) fn own(&self) -> Own<'_> {
        Own::new(&self.messages, &self.source)
    }
}

/// The source of the view's session with its records brought into the state that `sequence` shows.
///
/// # Errors
///
/// [`WriteError::Record`] if a record has changed since it was read.
pub(crate) fn rewrite(
    view: &View<'_>,
    sequence: &[ShownMessage<'_>],
    dialect: &mut dyn Dialect,
) -> Result<String, WriteError> {
    let own = view.session.own();
    let shown = own.shown(sequence);
    let note = (shown.len() < view.session.messages.len())
        .then(|| folded::note(view, &shown, dialect.notes()))
        .flatten();
    Ok(foldback_providers::wire::shared::rewrite::rewrite(&own, sequence, dialect, note)?)
}
