//! How large the window of a model is and how much of it a request takes.

use foldback_core::fraction::Fraction;
use foldback_core::registry::Invalid;

/// The beta header that widens the window of Sonnet models to [`BETA_1M_CONTEXT`].
pub const BETA_1M: &str = "context-1m-2025-08-07";

/// Window under [`BETA_1M`], in tokens.
pub const BETA_1M_CONTEXT: u64 = 1_000_000;

/// Window of a model that is not in the table, in tokens.
pub const UNKNOWN_CONTEXT: u64 = 200_000;

/// Windows that the original has a table for, in tokens.
const KNOWN_CONTEXT: [(&str, u64); 4] = [
    ("claude-sonnet-4-5-20250929", 200_000),
    ("claude-opus-4-5-20250514", 200_000),
    ("claude-haiku-4-5-20251001", 200_000),
    ("claude-opus-4-6", 200_000),
];

/// Window of a model in tokens. The beta comes first, even before a value that was set for the model;
/// then that value, then the table, then [`UNKNOWN_CONTEXT`].
pub fn context_limit(model: Option<&str>, betas: &[String], set: Option<u64>) -> u64 {
    let model = model.unwrap_or_default();
    if model.contains("sonnet") && betas.iter().any(|beta| beta == BETA_1M) {
        return BETA_1M_CONTEXT;
    }
    let known = || KNOWN_CONTEXT.iter().find(|(id, _)| *id == model);
    set.or_else(|| known().map(|(_, context)| *context)).unwrap_or(UNKNOWN_CONTEXT)
}

/// What a request takes of a window, in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenBudget {
    /// The window.
    pub limit: u64,
    /// System prompt, and whatever else stands around the messages.
    pub system: u64,
    /// Messages.
    pub messages: u64,
    /// What is kept free for the answer.
    pub max_output: u64,
}

impl TokenBudget {
    /// Everything together.
    pub fn used(&self) -> u64 {
        self.system + self.messages + self.max_output
    }

    /// The share of the window that is used; 1 where the window is not known.
    pub fn utilisation(&self) -> f64 {
        if self.limit == 0 { 1.0 } else { self.used() as f64 / self.limit as f64 }
    }

    /// Whether more than `share` of the window is used. Exact, where a comparison of
    /// [`Self::utilisation`] would depend on how a quotient is rounded.
    pub fn exceeds(&self, share: Fraction) -> bool {
        if self.limit == 0 {
            return share < Fraction::WHOLE;
        }
        self.used() > share.floor_of(self.limit)
    }

    /// Whether more than the whole window is used.
    pub fn is_overflow(&self) -> bool {
        self.exceeds(Fraction::WHOLE)
    }

    /// What is left of the window.
    pub fn available(&self) -> u64 {
        self.limit.saturating_sub(self.used())
    }
}

/// The share of a window that a field of a configuration gives.
///
/// # Errors
///
/// A share that is not above 0 and at most 1.
pub fn share(field: &str, fraction: f64) -> Result<Fraction, Invalid> {
    if (1.0..=1e6).contains(&(fraction * 1e6).round()) {
        return Ok(Fraction::from_number(fraction));
    }
    let why = format!("is {fraction}, but a share of the window is above 0 and at most 1 (0.8)");
    Err(Invalid::new(field, why))
}
