//! The tool results that a view shows, and what clearing them would give back.

use foldback_core::meter::{LastText, MeteredResult};
use foldback_core::registry::Invalid;
use foldback_core::stage::StageContext;

/// What replaces a cleared result, unless configured otherwise.
pub const DEFAULT_PLACEHOLDER: &str = "[Tool result cleared]";

/// Refuses a placeholder that says nothing: providers refuse empty results.
pub(super) fn check_placeholder(placeholder: &str) -> Result<(), Invalid> {
    if placeholder.trim().is_empty() {
        return Err(Invalid::new(
            "placeholder",
            "must not be empty: it tells the model that something was there",
        ));
    }
    Ok(())
}

/// The visible tool results that were not cleared, oldest first.
pub(super) fn standing<'a>(context: &StageContext<'a>) -> impl Iterator<Item = &'a MeteredResult> {
    let view = context.view;
    context.meter.standing().filter(|result| view.is_visible(result.at.item))
}

/// How many tokens of a part that shows so many a placeholder would give back.
pub(super) fn gain<'t>(
    context: &StageContext<'_>,
    result: &MeteredResult,
    placeholder: &'t str,
    last: &mut LastText<'t>,
) -> u64 {
    let cleared = context.meter.result_with(context.history, result, placeholder, last);
    result.tokens.saturating_sub(cleared)
}
