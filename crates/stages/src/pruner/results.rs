//! The tool results that a view shows, and what clearing them would give back.

use foldback_core::registry::Invalid;
use foldback_core::stage::StageContext;
use foldback_core::view::{EditKind, PartPos, Place};

/// What stands in the place of a cleared result, unless configured otherwise.
pub const DEFAULT_PLACEHOLDER: &str = "[Tool result cleared]";

/// Refuses a placeholder that says nothing: providers refuse empty results.
pub(super) fn check_placeholder(placeholder: &str) -> Result<(), Invalid> {
    if placeholder.trim().is_empty() {
        return Err(Invalid::new(
            "placeholder",
            "must not be empty: it tells the model that something stood there",
        ));
    }
    Ok(())
}

/// The visible tool results that were not cleared, oldest first.
pub(super) fn standing(context: &StageContext<'_>) -> impl Iterator<Item = PartPos> {
    context.places().iter().flat_map(move |place| {
        let Place::Item(item) = *place else {
            return Vec::new();
        };
        let parts = context.history.message(item).parts.iter().enumerate();
        parts
            .filter(|(_, content)| content.as_result().is_some())
            .map(|(part, _)| PartPos { item, part })
            .filter(|at| {
                let edit = context.view.edit(*at);
                edit.is_none_or(|edit| edit.kind != EditKind::Clear)
            })
            .collect()
    })
}

/// Tokens that a part shows now, and how many of them a placeholder would give back.
pub(super) fn sizes(context: &StageContext<'_>, at: PartPos, placeholder: &str) -> (u64, u64) {
    let tokens = context.meter.part_shown(context.view, at);
    let part = context.history.message(at.item).parts.get(at.part);
    let cleared = part.map_or(0, |part| context.estimator().part(part, placeholder));
    (tokens, tokens.saturating_sub(cleared))
}
