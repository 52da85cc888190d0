//! What will be needed. With the control `lines`, the one place of the laboratory that may see the future.

use crate::number;
use crate::read::index::{Index, LogPart};
use std::collections::BTreeMap;

/// A reference, or the old text of an edit, that some call needs.
pub(crate) type FactId = u32;

/// **Sees the future**, by having read the recording to its end. For controls alone, never for a strategy: no agent can
/// know this, and a number made with it says what could be kept, not what a strategy keeps.
///
/// A fact matters between the last message that brings it before a call, and that call: earlier copies
/// are made good by the later one, and from the call on the arguments of the call hold it. That is
/// what [`relied_on`](Self::relied_on) and [`due`](Self::due) mark, the beginning and the end.
#[derive(Clone, Debug, Default)]
pub struct Foresight {
    facts: usize,
    held: Vec<Vec<Box<[FactId]>>>,
    relied_on: Vec<Vec<FactId>>,
    due: Vec<Vec<FactId>>,
}

impl Foresight {
    /// Reads what the calls of a session need, and where it stands.
    pub fn new(index: &Index) -> Self {
        let references = index.asked.len();
        let mut out = Self {
            facts: references,
            held: Vec::with_capacity(index.log.len()),
            relied_on: vec![Vec::new(); index.log.len()],
            due: Vec::with_capacity(index.calls.len()),
        };
        let mut needed = vec![false; references];
        // By part of the log, the old texts that it holds.
        let mut edits: BTreeMap<LogPart, Vec<FactId>> = BTreeMap::new();
        for call in &index.calls {
            let mut due = Vec::with_capacity(call.references.len() + call.edits.len());
            for need in &call.references {
                needed[need.reference as usize] = true;
                out.relied_on[need.last_seen].push(need.reference);
                due.push(need.reference);
            }
            for edit in &call.edits {
                let fact = number::next(out.facts);
                out.facts += 1;
                let places = index.places(edit);
                for place in places {
                    edits.entry(*place).or_default().push(fact);
                }
                if let Some((last, _)) = places.last() {
                    out.relied_on[*last].push(fact);
                }
                due.push(fact);
            }
            out.due.push(due);
        }
        for (ordinal, message) in index.log.iter().enumerate() {
            let parts = (0..message.parts.len()).map(|part| {
                let mut facts: Vec<FactId> = index.references_among(index.part((ordinal, part)));
                facts.retain(|reference| needed[*reference as usize]);
                facts.extend(edits.get(&(ordinal, part)).into_iter().flatten());
                facts.into()
            });
            out.held.push(parts.collect());
        }
        out
    }

    /// Number of facts; they are numbered from 0.
    pub(crate) fn facts(&self) -> usize {
        self.facts
    }

    /// The facts that a part of the log holds, each once. The part is given by the ordinal of its
    /// message in the log and its index in it.
    pub(crate) fn held(&self, ordinal: usize, part: usize) -> &[FactId] {
        let parts = self.held.get(ordinal);
        parts.and_then(|parts| parts.get(part)).map_or(&[], |f| f)
    }

    /// The facts that this message of the log brings for the last time before a call needs them.
    pub(crate) fn relied_on(&self, ordinal: usize) -> &[FactId] {
        self.relied_on.get(ordinal).map_or(&[], |facts| facts)
    }

    /// The facts that a call needs: its references, then the old texts of its edits, each in the order
    /// of the [`Index`].
    pub(crate) fn due(&self, call: usize) -> &[FactId] {
        self.due.get(call).map_or(&[], |facts| facts)
    }
}
