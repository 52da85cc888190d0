//! [Overlays](foldback_providers::wire::shared::overlay) of the line formats: with the note of what was left out, and without the
//! lines that repeat another.

use crate::prelude::*;

pub(crate) use foldback_providers::wire::shared::overlay::{Overlay, Rules, Step, records_of};

/// What a view changes in its session. `copies` maps a record to the earlier one that it repeats: a copy goes when
/// its original goes or changes.
pub(crate) fn overlay<'a>(
    view: &'a View<'a>,
    rules: &Rules,
    copies: &BTreeMap<u32, u32>,
) -> Overlay<'a> {
    let own = view.session.own();
    let cleared = |at: PartPos, edit: &PartEdit| {
        let by_recorder = Cleared { at, time: edit.at };
        edit.kind == EditKind::Clear && view.session.cleared.contains(&by_recorder)
    };
    let mut overlay = Overlay::compare(&own, &view.sent, rules, &cleared);
    if !overlay.dropped.is_empty()
        && let Some((record, note)) = folded::note(view, &own.shown(&view.sent), "")
    {
        overlay.changes.entry(record).or_default().push(note);
    }
    for (copy, original) in copies {
        if overlay.dropped.contains(original) || overlay.changes.contains_key(original) {
            overlay.dropped.insert(*copy);
        }
    }
    overlay.arranged(&own, &view.sent)
}
