//! `window.truncate`: cuts long tool results once they are no longer among the last messages.
//!
//! The original has this function twice: an exported one as a step before a compaction, which nothing
//! calls, and a copy that the agent loop runs after every tool. It copies the history each time; here
//! only what has grown old since the last run is looked at.

use foldback_core::config::NonBlank;
use foldback_core::log::Role;
use foldback_core::moment::Moment;
use foldback_core::outcome::Why;
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::{Pruner, Pruning, StageContext};
use foldback_core::view::{EditKind, PartEdit, PartPos, Place, Pos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Configuration of [`Truncate`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TruncateConfig {
    /// Messages at the end of the view that are left alone; below 0 means 0.
    pub preserve_recent: i64,
    /// Size in bytes above which a result is cut.
    pub over_bytes: usize,
    /// Bytes at the start of a result that stay; a character is never cut in two.
    pub keep_bytes: usize,
    /// What comes after the bytes that stay, on a line of its own.
    pub marker: NonBlank,
}

impl StageConfig<dyn Pruner> for TruncateConfig {
    fn build(self) -> Result<Arc<dyn Pruner>, Invalid> {
        let cut = self.keep_bytes + 1 + self.marker.len();
        if cut > self.over_bytes {
            return Err(Invalid::new(
                "keep_bytes",
                format!(
                    "leaves {cut} bytes with the marker, more than `over_bytes` ({}): results would grow",
                    self.over_bytes
                ),
            ));
        }
        Ok(Arc::new(Truncate { config: self }))
    }
}

/// The first `keep` bytes of a text, at most, and the marker on a line of its own; `None` where the
/// text is not longer than that. Cuts on the last character boundary.
pub fn truncate(text: &str, keep: usize, marker: &str) -> Option<String> {
    (text.len() > keep).then(|| format!("{}\n{marker}", &text[..text.floor_char_boundary(keep)]))
}

/// Cuts long tool results once they are no longer among the last messages.
#[derive(Clone, Debug)]
pub struct Truncate {
    config: TruncateConfig,
}

impl Truncate {
    /// Whether this stage made an edit, told from marks of a recorder and cuts of other stages.
    fn made(&self, edit: &PartEdit) -> bool {
        edit.text.ends_with(&*self.config.marker)
    }

    /// Parts of old results to cut, newest first.
    ///
    /// Walks back from the newest message that is old and stops at the first result that an earlier
    /// run cut: that run looked at everything before it, and folds are undone newest first. This
    /// holds whatever the conversation started with, a loaded history included; where no result is
    /// long it comes down to one look at the length of each.
    fn overlong(&self, context: &StageContext<'_>) -> Vec<PartPos> {
        let places = context.places();
        let recent = usize::try_from(self.config.preserve_recent).unwrap_or(0);
        let old = &places[..places.len().saturating_sub(recent)];
        let mut found = Vec::new();
        for place in old.iter().rev() {
            let Place::Item(item) = *place else { continue };
            if context.history.kind(item).role != Role::Tool {
                continue;
            }
            let message = context.history.message(item);
            for (part, original) in message.parts.iter().enumerate().rev() {
                let Some(result) = original.as_result() else {
                    continue;
                };
                let at = PartPos { item, part };
                let bytes = match context.view.edit(at) {
                    Some(edit) if self.made(edit) => return found,
                    Some(edit) => edit.text.len(),
                    None => result.text.len(),
                };
                if bytes > self.config.over_bytes {
                    found.push(at);
                }
            }
        }
        found
    }

    fn shown<'a>(context: &StageContext<'a>, item: Pos, part: usize) -> std::borrow::Cow<'a, str> {
        context.view.show_item(context.history, item).text_of(part)
    }
}

impl Pruner for Truncate {
    fn moment(&self) -> Moment {
        Moment::ToolResult
    }

    fn prune(&self, context: &StageContext<'_>) -> Pruning {
        let TruncateConfig { preserve_recent, over_bytes, keep_bytes, marker } = &self.config;
        let mut prunable = 0;
        let mut edits = Vec::new();
        for PartPos { item, part } in self.overlong(context).into_iter().rev() {
            let text = Self::shown(context, item, part);
            let Some(cut) = truncate(&text, *keep_bytes, marker) else {
                continue;
            };
            prunable += context.estimator().text(&text[text.floor_char_boundary(*keep_bytes)..]);
            edits.push(context.edit(
                item,
                part,
                EditKind::Truncate,
                cut.into(),
                "old result over the limit",
            ));
        }
        if edits.is_empty() {
            return Pruning::Nothing(Why::new(
                "nothing-overlong",
                format!(
                    "no result before the last {preserve_recent} messages is over {over_bytes} bytes"
                ),
            ));
        }
        let reason = format!(
            "{} results over {over_bytes} bytes before the last {preserve_recent} messages cut to {keep_bytes}",
            edits.len()
        );
        Pruning::Edits { edits, prunable, reason }
    }
}
