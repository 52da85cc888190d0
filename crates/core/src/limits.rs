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
    /// Limits that apply if no other source gives any.
    pub const DEFAULT: Self = Self { context: 200_000, input: 0, output: 32_000 };

    /// Limits with a window and an output limit.
    pub fn new(context: u64, output: u64) -> Self {
        Self { context, input: 0, output }
    }

    /// These limits with a limit of the input alone.
    #[must_use]
    pub fn with_input(mut self, input: u64) -> Self {
        self.input = input;
        self
    }

    /// The largest request that a provider would take: the input limit where the model has one, else
    /// the whole window. `None` if neither is known.
    #[doc(hidden)]
    pub fn request_ceiling(&self) -> Option<u64> {
        match (self.input, self.context) {
            (0, 0) => None,
            (0, context) => Some(context),
            (input, _) => Some(input),
        }
    }

    /// Fills every limit that is zero from `other`.
    #[must_use]
    #[doc(hidden)]
    pub fn or(self, other: Self) -> Self {
        let pick = |mine: u64, theirs: u64| if mine == 0 { theirs } else { mine };
        Self {
            context: pick(self.context, other.context),
            input: pick(self.input, other.input),
            output: pick(self.output, other.output),
        }
    }

    /// Limits of different sources need not fit together. An input limit of the window or more means nothing. An output
    /// limit that was not set for this window (the model's from a table, the window from an argument) may take half of
    /// it at most.
    #[must_use]
    #[doc(hidden)]
    pub fn consistent(self, output_given: bool) -> Self {
        let Self { context, input, output } = self;
        Self {
            context,
            input: if input < context { input } else { 0 },
            output: if output_given { output } else { output.min(context / 2) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_different_sources_are_made_to_fit() {
        let limits = |context, input, output| Limits { context, input, output };
        let table = [
            ("as they are", false, limits(200_000, 0, 32_000), limits(200_000, 0, 32_000)),
            ("input above", false, limits(60_000, 272_000, 8_000), limits(60_000, 0, 8_000)),
            ("output above", false, limits(121_600, 0, 128_000), limits(121_600, 0, 60_800)),
            ("just below it", false, limits(128_001, 0, 128_000), limits(128_001, 0, 64_000)),
            ("small window", false, limits(10_000, 0, 10_000), limits(10_000, 0, 5_000)),
            ("given for it", true, limits(10_000, 0, 9_000), limits(10_000, 0, 9_000)),
        ];
        for (name, output_given, given, expected) in table {
            assert_eq!(given.consistent(output_given), expected, "{name}");
        }
    }
}
