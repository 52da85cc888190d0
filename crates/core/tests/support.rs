//! An estimator that counts letters, and a strategy that does nothing.

use foldback_core::log::Message;
use foldback_core::stage::Estimator;
use foldback_core::strategy::Strategy;
use std::sync::Arc;

/// Counts characters, so many to a token, and so many tokens for a message.
#[derive(Debug)]
pub(crate) struct Letters {
    pub(crate) id: Arc<str>,
    pub(crate) per_token: u64,
    pub(crate) overhead: u64,
}

impl Estimator for Letters {
    fn id(&self) -> &Arc<str> {
        &self.id
    }

    fn text(&self, text: &str) -> u64 {
        text.chars().count() as u64 / self.per_token
    }

    fn overhead(&self, _: &Message) -> u64 {
        self.overhead
    }
}

/// A strategy of one estimator and no stages.
pub(crate) fn bare(estimator: Arc<dyn Estimator>) -> Strategy {
    Strategy::new("bare", estimator)
}
