//! `dsh.prune`: cuts the middle out of every tool result of the view that is longer than a limit, new ones included.

use foldback_core::moment::Moment;
use foldback_core::outcome::Why;
use foldback_core::plan::Edit;
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::{Pruner, Pruning, StageContext};
use foldback_core::view::{EditKind, PartPos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Stands in place of what was cut out.
pub const MARKER: &str = "\n\n[... tool result middle pruned ...]\n\n";

/// Configuration of [`Prune`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PruneConfig {
    /// Characters (code points) up to which a result stays whole.
    pub threshold_chars: usize,
    /// Characters that are kept of the beginning.
    pub head_chars: usize,
    /// Characters that are kept of the end.
    pub tail_chars: usize,
}

impl StageConfig<dyn Pruner> for PruneConfig {
    fn build(self) -> Result<Arc<dyn Pruner>, Invalid> {
        let left = self.head_chars.saturating_add(self.tail_chars).saturating_add(MARKER.len());
        if left > self.threshold_chars {
            return Err(Invalid::new(
                "threshold_chars",
                format!("must be at least {left}: what is left of a result, with the marker"),
            ));
        }
        Ok(Arc::new(Prune(self)))
    }
}

/// Cuts the middle out of long tool results.
#[derive(Clone, Debug)]
pub struct Prune(PruneConfig);

impl Prune {
    /// A text without its middle; `None` where it is within the limit.
    pub fn cut(&self, text: &str) -> Option<String> {
        let PruneConfig { threshold_chars, head_chars, tail_chars } = self.0;
        // No text has more characters than bytes.
        if text.len() <= threshold_chars {
            return None;
        }
        let at = |chars: usize| text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
        let total = text.chars().count();
        (total > threshold_chars).then(|| {
            format!("{}{MARKER}{}", &text[..at(head_chars)], &text[at(total - tail_chars)..])
        })
    }

    fn edit(&self, context: &StageContext<'_>, at: PartPos) -> Option<Edit> {
        let message = context.history.message(at.item);
        let result = message.parts.get(at.part)?.as_result()?;
        let edit = context.view.edit(at);
        let shown = edit.map_or(&*result.text, |edit| &*edit.text);
        let shorter = self.cut(shown)?;
        let reason = "longer than a result may be under pressure";
        Some(context.edit(at.item, at.part, EditKind::Truncate, shorter.into(), reason))
    }
}

impl Pruner for Prune {
    fn moment(&self) -> Moment {
        Moment::BeforeSummary
    }

    fn prune(&self, context: &StageContext<'_>) -> Pruning {
        let results = context.meter.standing().map(|result| result.at);
        let visible = results.filter(|at| context.view.is_visible(at.item));
        let edits: Vec<Edit> = visible.filter_map(|at| self.edit(context, at)).collect();
        let limit = self.0.threshold_chars;
        if edits.is_empty() {
            let why = format!("no result has more than {limit} characters");
            return Pruning::Nothing(Why::new("within-limit", why));
        }
        let reason = format!("{} results with more than {limit} characters", edits.len());
        Pruning::from_edits(edits, reason)
    }
}
