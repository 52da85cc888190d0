//! The conversations of each arm, and which arm a request belongs to. Without a trial there is one arm.

use super::log::{TrialLog, TrialPlace};
use super::unit::UnitHints;
use crate::bill::Sums;
use crate::error::ServeError;
use crate::fold::conversations::Conversations;
use crate::fold::threads::Threads;
use crate::folding::Folding;
use crate::settings::Say;
use foldback_live::Metrics;
use foldback_live::follow::identity::Key;
use foldback_providers::wire::Request;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is followed: the conversations of each arm.
#[derive(Debug)]
pub(crate) struct Arms {
    pub(crate) all: Vec<Arc<Conversations>>,
    pub(crate) trial: Option<Arc<TrialLog>>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) threads: Arc<Threads>,
}

impl Arms {
    /// The conversations of one strategy, or of the arms of a trial, which share the limits.
    pub(crate) fn new(
        foldings: Vec<Folding>,
        trial: Option<TrialLog>,
        say: &Say,
    ) -> Result<Self, ServeError> {
        let (metrics, threads) = (Arc::<Metrics>::default(), Arc::new(Threads::new()?));
        let count = foldings.len();
        let mut all = Vec::new();
        for (number, mut folding) in (1..).zip(foldings) {
            folding.max_conversations = folding.max_conversations.div_ceil(count);
            folding.max_bytes /= count;
            folding.max_journals = folding.max_journals.div_ceil(count);
            if trial.is_some() {
                folding.journal = folding.journal.map(|it| it.join(format!("arm-{number}")));
            }
            let (say, threads) = (Arc::clone(say), Arc::clone(&threads));
            let conversations = Conversations::new(folding, say, threads, Arc::clone(&metrics))?;
            all.push(Arc::new(conversations));
        }
        Ok(Self { all, trial: trial.map(Arc::new), metrics, threads })
    }

    /// The first of the arms: what all have in common is the same in each.
    pub(crate) fn first(&self) -> &Conversations {
        &self.all[0]
    }

    /// What answers cost, by protocol.
    pub(crate) fn sums(&self) -> BTreeMap<&'static str, Sums> {
        let mut all = BTreeMap::<_, Sums>::new();
        for (protocol, sums) in self.all.iter().flat_map(|arm| arm.sums()) {
            *all.entry(protocol).or_default() += sums;
        }
        all
    }

    /// Number of kept conversations, their bytes, and the number of forgotten ones.
    pub(crate) fn count(&self) -> (u64, u64, u64) {
        let add = |a: (u64, u64, u64), b: (u64, u64, u64)| (a.0 + b.0, a.1 + b.1, a.2 + b.2);
        self.all.iter().map(|arm| arm.count()).fold((0, 0, 0), add)
    }

    /// The arm of a request, and its place in the trial.
    pub(crate) fn choose(
        &self,
        hints: &UnitHints,
        request: &Request,
        keys: &[Key],
    ) -> (Arc<Conversations>, Option<TrialPlace>) {
        let place = self.trial.as_ref().map(|log| log.place(hints, request, keys));
        (Arc::clone(&self.all[place.as_ref().map_or(0, |place| place.arm)]), place)
    }
}
