//! The usable window: how much a request may take, and shares of it.

use foldback_core::limits::Limits;
use foldback_core::registry::Invalid;

/// The usable window and how it comes about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Usable {
    pub(crate) tokens: u64,
    pub(crate) arithmetic: String,
}

impl Usable {
    /// The usable window of a model; `None` where its window is not known. A limit of the input alone
    /// leaves the output out already; from the whole window the output limit is taken off where it is
    /// to be reserved.
    pub(crate) fn of(limits: Limits, reserve_output: bool) -> Option<Self> {
        let Limits { context, input, output } = limits;
        let (tokens, arithmetic) = if input > 0 {
            (input, format!("input limit {input}"))
        } else if context == 0 {
            return None;
        } else if reserve_output {
            (context.saturating_sub(output), format!("context {context} - output {output}"))
        } else {
            (context, format!("context {context}"))
        };
        Some(Self { tokens, arithmetic })
    }

    /// A share of it in tokens, rounded down. Windows are far below 2^53, where doubles are exact.
    pub(crate) fn share(&self, fraction: f64) -> u64 {
        (self.tokens as f64 * fraction).floor() as u64
    }
}

/// Refuses a trigger that is no share above 0, and a target above it.
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
