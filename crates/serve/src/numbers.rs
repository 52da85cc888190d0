//! What the proxy counts while it answers. [`metrics`](crate::page::metrics) shows it.

use crate::outcome::{Outcome, protocol};
use dashmap::DashMap;
use foldback_providers::wire::Dialect;
use std::collections::BTreeMap;
use std::hash::Hash;
use std::sync::atomic::AtomicU64;

/// Protocol, outcome and reason of a request.
type Labels = (&'static str, &'static str, &'static str);

/// The counters of a proxy.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    pub(crate) requests: DashMap<Labels, u64>,
    /// By protocol, tokens received and sent.
    pub(crate) tokens: DashMap<&'static str, (u64, u64)>,
    pub(crate) refused: DashMap<&'static str, u64>,
    pub(crate) summaries: DashMap<&'static str, u64>,
    /// Connections that are open.
    pub(crate) connections: AtomicU64,
}

impl Numbers {
    /// Counts a request.
    pub(crate) fn request(&self, dialect: Option<Dialect>, outcome: Outcome) {
        let labels = (protocol(dialect), outcome.name(), outcome.why());
        *self.requests.entry(labels).or_default() += 1;
        if let Some(sizes) = outcome.sizes() {
            let mut tokens = self.tokens.entry(protocol(dialect)).or_default();
            tokens.0 += sizes.received;
            tokens.1 += sizes.sent;
        }
    }

    /// Counts a request that the proxy refuses itself.
    pub(crate) fn refused(&self, why: &'static str) {
        *self.refused.entry(why).or_default() += 1;
    }

    /// Counts a summary that a model was to write, by what became of it.
    pub(crate) fn summary(&self, ended: &'static str) {
        *self.summaries.entry(ended).or_default() += 1;
    }
}

/// What several threads count, as it is now, in the order of its keys.
pub(crate) fn in_order<K: Copy + Eq + Hash + Ord, V: Copy>(
    counted: &DashMap<K, V>,
) -> BTreeMap<K, V> {
    counted.iter().map(|one| (*one.key(), *one.value())).collect()
}
