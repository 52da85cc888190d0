//! How large the window of a model is and how much of it a request takes.

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
    pub fn exceeds(&self, share: Share) -> bool {
        if self.limit == 0 {
            return share < Share::WHOLE;
        }
        self.used() > share.of(self.limit)
    }

    /// Whether more than the whole window is used.
    pub fn is_overflow(&self) -> bool {
        self.exceeds(Share::WHOLE)
    }

    /// What is left of the window.
    pub fn available(&self) -> u64 {
        self.limit.saturating_sub(self.used())
    }
}

/// A share of a window in parts per million, so that `0.80` means exactly four fifths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share(u64);

impl Share {
    /// All of it.
    pub const WHOLE: Self = Self(1_000_000);

    /// The share that a field of a configuration gives as a fraction.
    ///
    /// # Errors
    ///
    /// A fraction that is not above 0 and at most 1.
    pub fn parse(field: &str, fraction: f64) -> Result<Self, Invalid> {
        let parts = (fraction * 1e6).round();
        if (1.0..=1e6).contains(&parts) {
            Ok(Self(parts as u64))
        } else {
            Err(Invalid::new(
                field,
                format!("is {fraction}, but a share of the window is above 0 and at most 1 (0.8)"),
            ))
        }
    }

    /// This share of a number of tokens, rounded down.
    pub fn of(self, tokens: u64) -> u64 {
        let part = u128::from(tokens) * u128::from(self.0) / 1_000_000;
        u64::try_from(part).unwrap_or(u64::MAX)
    }

    /// The share as a fraction, for people.
    pub fn fraction(self) -> f64 {
        self.0 as f64 / 1e6
    }
}
