//! What the calls of a session refer to, as far as it had been in the log before.
//!
//! The needs of a call come in the order of the rows that [`crate::judge::availability`] makes of them, references first, then
//! edits and pieces, so that a row finds its need by its place.

use super::log::{Call, one_line};
use crate::judge::retention::FAR;
use crate::read::identifiers::Class;
use crate::read::index::{Index, LogPart};
use foldback_core::stage::Estimator;
use serde::{Deserialize, Serialize};

/// What a call needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NeedKind {
    /// The text that an edit replaces.
    Edit,
    /// A piece of a result that a tool call repeats word for word.
    Piece,
    /// An identifier in the arguments of a tool call.
    Reference(Class),
}

/// Something that a call names and that had been in the log before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Need {
    /// Number of the call.
    pub call: usize,
    /// What it is.
    pub kind: NeedKind,
    /// The identifier, or the first line of the old text or of the piece.
    pub text: String,
    /// The file that is edited, as the call names it.
    pub file: Option<String>,
    /// Calls since it was last in the log; 1 for what the call before brought.
    pub distance: usize,
    /// Ordinal of the message that had it last.
    pub seen: usize,
    /// The latest tool result that had it: what would have to be read again.
    pub source: Option<NeedSource>,
    /// Whether *kept* counts it: a reference that only tools and users had said, and not in the last calls.
    #[serde(default)]
    pub headline: bool,
}

/// A tool result that something needed came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NeedSource {
    /// Ordinal of the message.
    pub message: usize,
    /// Size of the result.
    pub tokens: u64,
}

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
