//! How many tokens of a window OpenCode lets a conversation fill.
//!
//! Two rules of version 1, which differ only for models with a limit of the input alone. Until 1.1.5x that limit
//! was itself the ceiling, which leaves no room at all; since 1.1.59 a reserve is subtracted from it. Every
//! other model gets its window less the largest answer. Version 2 has one buffer for both: below the input limit, and in the
//! place of a smaller largest answer below the window; the lower of the two limits holds.

use foldback_core::Limits;

/// Largest answer that OpenCode asks for, unless the environment says otherwise.
pub const OUTPUT_TOKEN_MAX: u64 = 32_000;

/// Reserve below `limit.input`, unless it is configured or the largest answer is smaller.
pub const RESERVE: u64 = 20_000;

/// The fields that decide on the usable window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowRule {
    /// Cap of the output limit; also the output limit of models that give none.
    pub output_token_max: u64,
    /// Whether a reserve is subtracted from `limit.input` (1.1.59 and later).
    pub input_headroom: bool,
    /// That reserve in tokens, where it is configured.
    pub reserved: Option<u64>,
    /// The buffer of version 2, which sets its rule.
    pub buffer: Option<u64>,
}

impl WindowRule {
    /// The largest answer: the model's output limit up to the cap, or the cap where none is known.
    pub fn max_output(&self, limits: Limits) -> u64 {
        match limits.output.min(self.output_token_max) {
            0 => self.output_token_max,
            output => output,
        }
    }

    /// The usable window in tokens. January's rule may go below zero, which every count exceeds; the
    /// later one stops at zero.
    pub fn usable(&self, limits: Limits) -> i64 {
        if let Some(buffer) = self.buffer {
            return self.under_buffer(limits, buffer);
        }
        let output = signed(self.max_output(limits));
        if !self.input_headroom {
            return match limits.input {
                0 => signed(limits.context) - output,
                input => signed(input),
            };
        }
        if limits.context == 0 {
            return 0;
        }
        let usable = match limits.input {
            0 => signed(limits.context) - output,
            input => signed(input) - signed(self.reserve(limits)),
        };
        usable.max(0)
    }

    fn under_buffer(&self, limits: Limits, buffer: u64) -> i64 {
        let output = limits.output.min(self.output_token_max);
        let window = signed(limits.context) - signed(output.max(buffer));
        match limits.input {
            0 => window,
            input => window.min(signed(input) - signed(buffer)),
        }
    }

    /// The reserve below `limit.input`.
    pub fn reserve(&self, limits: Limits) -> u64 {
        self.reserved.unwrap_or_else(|| RESERVE.min(self.max_output(limits)))
    }

    /// The arithmetic behind [`WindowRule::usable`] in words.
    pub fn describe(&self, limits: Limits) -> String {
        if let Some(buffer) = self.buffer {
            let output = limits.output.min(self.output_token_max);
            let window = format!("context {} - {}", limits.context, output.max(buffer));
            return match limits.input {
                0 => window,
                input => format!("{window} or input limit {input} - {buffer}"),
            };
        }
        match (limits.input, self.input_headroom) {
            (0, _) => format!("context {} - output {}", limits.context, self.max_output(limits)),
            (input, false) => format!("input limit {input}"),
            (input, true) => format!("input limit {input} - reserve {}", self.reserve(limits)),
        }
    }
}

fn signed(tokens: u64) -> i64 {
    i64::try_from(tokens).unwrap_or(i64::MAX)
}
