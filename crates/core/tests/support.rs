//! An estimator that counts letters, and a strategy that does nothing.

use foldback_core::Limits;
use foldback_core::carry::Carry;
use foldback_core::guard::Guards;
use foldback_core::log::Message;
use foldback_core::stage::Estimator;
use foldback_core::strategy::{Kind, OnFailure, Strategy};
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
    Strategy {
        name: "bare".to_owned(),
        description: String::new(),
        reproduces: String::new(),
        twin_of: None,
        kind: Kind::Strategy,
        estimators: vec![estimator],
        overflow: None,
        pruners: Vec::new(),
        filter: None,
        summarizer: None,
        fallback: None,
        on_failure: OnFailure::Keep,
        user_limits: Limits::default(),
        preset_limits: Limits::default(),
        model: None,
        guards: Guards::default(),
        carry: Carry::default(),
        deviations: Vec::new(),
    }
}
