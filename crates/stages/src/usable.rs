//! The usable window: how much a request may take, and shares of it.
//!
//! What is reserved for the answer is the output limit, but at most [`MOST_RESERVED`] and at most a quarter
//! of the window: models allow answers of 128,000 tokens, and no agent asks for one that leaves no room for
//! the conversation. The rule is continuous, so windows and output limits that hardly differ act alike. Presets
//! of other systems have their system's own rule.

use foldback_core::limits::Limits;
use foldback_core::outcome::Why;
use foldback_core::registry::Invalid;

/// Most tokens that are reserved for an answer.
const MOST_RESERVED: u64 = 32_000;

/// The usable window and how it comes about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Usable {
    pub(crate) tokens: u64,
    pub(crate) arithmetic: String,
}

impl Usable {
    /// The usable window of a model. `None` if its window is not known. A limit of the input alone
    /// leaves the output out already; the reserve is subtracted from the whole window if requested.
    pub(crate) fn new(limits: Limits, reserve_output: bool) -> Option<Self> {
        let Limits { context, input, output } = limits;
        let (tokens, arithmetic) = if input > 0 {
            (input, format!("input limit {input}"))
        } else if context == 0 {
            return None;
        } else if reserve_output {
            let reserve = output.min(MOST_RESERVED).min(context / 4);
            (context - reserve, format!("context {context} - {reserve} for the answer"))
        } else {
            (context, format!("context {context}"))
        };
        Some(Self { tokens, arithmetic })
    }

    /// The usable window, or a number of tokens if that is less.
    pub(crate) fn at_most(self, tokens: u64) -> Self {
        if self.tokens <= tokens {
            return self;
        }
        Self { tokens, arithmetic: format!("{}, at most {tokens}", self.arithmetic) }
    }

    /// A share of it in tokens, rounded down. Windows are far below 2^53, where doubles are exact.
    pub(crate) fn share(&self, fraction: f64) -> u64 {
        (self.tokens as f64 * fraction).floor() as u64
    }
}

/// Why nothing is done where the window is not known.
pub(crate) fn unknown() -> Why {
    Why::new("window-unknown", "the window of the model is not known")
}

/// Refuses a trigger that is not a share above 0, and a target above it.
pub(crate) fn check_shares(trigger: f64, target: f64) -> Result<(), Invalid> {
    if !(trigger > 0.0 && trigger <= 1.0) {
        return Err(Invalid::new(
            "trigger",
            "must be a share of the window above 0 and up to 1, e.g. 0.8",
        ));
    }
    if !(target >= 0.0 && target <= trigger) {
        return Err(Invalid::new(
            "target",
            format!("must lie between 0 and `trigger` ({trigger})"),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reserve_has_no_cliff() {
        // context, output, reserved
        let table = [
            (200_000, 8_000, 8_000),
            (200_000, 32_000, 32_000),
            (200_000, 128_000, 32_000),
            (128_001, 128_000, 32_000),
            (128_000, 128_000, 32_000),
            (100_000, 128_000, 25_000),
            (100_000, 25_001, 25_000),
            (100_000, 24_999, 24_999),
            (8_000, 32_000, 2_000),
        ];
        for (context, output, reserved) in table {
            let usable = Usable::new(Limits::new(context, output), true).unwrap();
            assert_eq!(usable.tokens, context - reserved, "{context} {output}");
        }
        let usable =
            |context, output| Usable::new(Limits::new(context, output), true).unwrap().tokens;
        for context in (1_000..300_000).step_by(997) {
            for output in (500..300_000).step_by(9_973) {
                let steps = [usable(context + 1, output), usable(context, output + 1)];
                assert!(steps.iter().all(|next| next.abs_diff(usable(context, output)) <= 1));
            }
        }
    }
}
