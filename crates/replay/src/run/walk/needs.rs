//! What the calls of a session refer to, as far as it had been in the log before.
//!
//! The needs of a call come in the order of the rows that [`crate::judge::availability`] makes of them, references first, then
//! edits and pieces, so that a row finds its need by its place.

use super::log::one_line;
use super::{Call, Need, NeedKind, NeedSource};
use crate::judge::retention::FAR;
use crate::read::index::{Index, LogPart};
use foldback_core::stage::Estimator;

/// Characters of the first line of an old text.
const LINE: usize = 100;

/// All needs, in order of calls.
pub(super) fn needs(index: &Index, calls: &[Call], measure: &dyn Estimator) -> Vec<Need> {
    let source = |at: &LogPart| {
        let message = &index.log[at.0];
        let counts = measure.counts(message);
        NeedSource { message: at.0, tokens: counts.parts.get(at.1).copied().unwrap_or(0) }
    };
    let mut out = Vec::new();
    for (call, needs) in index.calls.iter().enumerate() {
        for need in &needs.references {
            out.push(Need {
                call,
                kind: NeedKind::Reference(index.asked[need.reference as usize].class),
                text: index.entries[need.id as usize].text.to_string(),
                file: None,
                distance: need.distance,
                seen: need.last_seen,
                source: need.source.as_ref().map(source),
                headline: need.obs && need.distance > FAR,
            });
        }
        for edit in &needs.edits {
            let old = index.old_text(edit);
            let seen = index.places(edit).last().map_or(0, |(ordinal, _)| *ordinal);
            let answers = calls.partition_point(|call| call.answer <= seen);
            out.push(Need {
                call,
                kind: NeedKind::Edit,
                text: one_line(first_line(old), LINE).0,
                file: index.file_of(edit).map(|path| path.trim_start_matches("./").to_owned()),
                distance: (call + 1).saturating_sub(answers),
                seen,
                source: edit.source.as_ref().map(source),
                headline: false,
            });
        }
        for need in index.verbatim.needs(call) {
            let at = index.part_at(need.source);
            out.push(Need {
                call,
                kind: NeedKind::Piece,
                text: one_line(first_line(index.verbatim.text(need.piece)), LINE).0,
                file: None,
                distance: need.distance,
                seen: at.0,
                source: Some(source(&at)),
                headline: false,
            });
        }
    }
    out
}

/// The first line that has something on it.
fn first_line(text: &str) -> &str {
    let mut lines = text.lines();
    lines.find(|line| !line.trim().is_empty()).unwrap_or(text)
}
