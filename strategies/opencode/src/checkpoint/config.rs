//! Configuration of the checkpoint filter.

use super::Checkpoint;
use crate::boundary::Completes;
use crate::request::Form;
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::Filter;
use schemars::JsonSchema;
use serde::Deserialize;
use std::num::NonZeroU64;
use std::sync::Arc;

/// Whether the model is prompted to continue after a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Continue {
    /// Never.
    Never,
    /// After every automatic compaction, even if the model had ended its answer.
    Auto,
    /// After such a compaction, if the model was in the middle of something.
    Unfinished,
}

/// How many turns may be kept word for word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum TailTurns {
    /// So many; 0: none.
    Most(usize),
    /// As many as there is room for.
    Every(All),
}

/// The word `all`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum All {
    /// No number sets an end.
    All,
}

impl TailTurns {
    /// The number.
    pub fn most(self) -> usize {
        match self {
            Self::Most(turns) => turns,
            Self::Every(All::All) => usize::MAX,
        }
    }
}

/// Configuration of [`Checkpoint`].
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckpointConfig {
    /// Which summaries make a checkpoint of the marker that they answer.
    pub completes: Completes,
    /// Whether the request leaves out earlier checkpoints and gives the last summary apart from the messages.
    #[serde(default)]
    pub anchored: bool,
    /// Whether the request replaces files by their description and leaves out the media of tool results.
    #[serde(default)]
    pub strip_media: bool,
    /// Longest tool output in the request, in UTF-16 units; 0: whole.
    #[serde(default)]
    pub tool_output_max: usize,
    /// How the request shows the messages: `messages` as they were sent (until 1.17), or `text`, a record of who said what (1.18).
    #[serde(default)]
    pub request: Form,
    /// Turns that may be kept word for word: a number, 0 for none, or `all` within the tokens below.
    pub tail_turns: TailTurns,
    /// Tokens that the kept turns may have; unset: a quarter of the usable window, within the two limits below.
    pub preserve_recent_tokens: Option<u64>,
    /// Least tokens that the kept turns may have, where that is worked out.
    #[serde(default)]
    pub tail_minimum: u64,
    /// Most tokens that the kept turns may have, where that is worked out.
    #[serde(default)]
    pub tail_maximum: u64,
    /// Cap of the model's output limit, for the usable window.
    pub output_token_max: Option<NonZeroU64>,
    /// Whether the last prompt is repeated after the summary when the provider refused the request.
    #[serde(default)]
    pub replay_on_overflow: bool,
    /// Whether the model is prompted to continue.
    #[serde(rename = "continue")]
    pub continues: Continue,
    /// The text of that prompt.
    pub continue_text: String,
    /// Largest acceptable summary in tokens.
    pub summary_budget: NonZeroU64,
}

impl StageConfig<dyn Filter> for CheckpointConfig {
    fn build(self) -> Result<Arc<dyn Filter>, Invalid> {
        if self.tail_minimum > self.tail_maximum {
            return Err(Invalid::new(
                "tail_minimum",
                format!("is above tail_maximum ({})", self.tail_maximum),
            ));
        }
        if self.tail_turns.most() > 0 && self.completes != Completes::Succeeded {
            return Err(Invalid::new(
                "tail_turns",
                "keeps a tail, which only `completes = \"succeeded\"` puts into the view",
            ));
        }
        if self.tail_turns.most() > 0 && !self.anchored {
            return Err(Invalid::new(
                "tail_turns",
                "keeps a tail, which only `anchored = true` leaves out of the request",
            ));
        }
        if self.request == Form::Text && !self.anchored {
            return Err(Invalid::new(
                "request",
                "shows earlier checkpoints as text, unless `anchored = true` leaves them out",
            ));
        }
        Ok(Arc::new(Checkpoint(self)))
    }
}
