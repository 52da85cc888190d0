//! The limits of a model: window, input limit, output limit.

use serde::{Deserialize, Serialize};

/// Limits of a model in tokens. Zero means "not given", as in the systems that we reproduce.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// The whole window: input and output together.
    pub context: u64,
    /// Limit of the input alone, for models that have one.
    pub input: u64,
    /// Limit of the output.
    pub output: u64,
}

impl Limits {
    /// Limits with a window and an output limit.
    pub fn new(context: u64, output: u64) -> Self {
        Self { context, input: 0, output }
    }

    /// The same with a limit of the input alone.
    #[must_use]
    pub fn with_input(mut self, input: u64) -> Self {
        self.input = input;
        self
    }

    /// The largest request that a provider would take: the input limit where the model has one, else
    /// the whole window. `None` where neither is known.
    pub fn request_ceiling(&self) -> Option<u64> {
        match (self.input, self.context) {
            (0, 0) => None,
            (0, context) => Some(context),
            (input, _) => Some(input),
        }
    }

    /// Fills every limit that is zero from `other`.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        let pick = |mine: u64, theirs: u64| if mine == 0 { theirs } else { mine };
        Self {
            context: pick(self.context, other.context),
            input: pick(self.input, other.input),
            output: pick(self.output, other.output),
        }
    }
}
