//! Prices and caching rules by name.

use foldback_providers::prices::Terms;
use std::sync::Arc;

/// Prices and caching rules with their name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NamedTerms {
    /// Name of the regime; `own` for the session's own model.
    pub name: Arc<str>,
    /// What it says.
    pub terms: Terms,
}

/// Name of the regime of a session's own model.
pub const OWN: &str = "own";
