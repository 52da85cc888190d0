//! What the proxy counts, as Prometheus reads it.
//!
//! | metric | labels |
//! |---|---|
//! | `foldback_proxy_requests_total` | `protocol`, `outcome`, `why` |
//! | `foldback_proxy_refused_total` | `why` |
//! | `foldback_proxy_connections` | |
//!
//! Labels are names of a fixed list, so their number is bounded.

use crate::outcome::{Outcome, protocol};
use foldback_wire::Dialect;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Protocol, outcome and reason of a request.
type Labels = (&'static str, &'static str, &'static str);

/// The counters of a proxy.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    requests: Mutex<BTreeMap<Labels, u64>>,
    refused: Mutex<BTreeMap<&'static str, u64>>,
    /// Connections that are open.
    pub(crate) connections: AtomicU64,
}

impl Numbers {
    /// Counts a request.
    pub(crate) fn request(&self, dialect: Option<Dialect>, outcome: Outcome) {
        let labels = (protocol(dialect), outcome.name(), outcome.why());
        *lock(&self.requests).entry(labels).or_default() += 1;
    }

    /// Counts a request of somebody who may not use the proxy.
    pub(crate) fn refused(&self, why: &'static str) {
        *lock(&self.refused).entry(why).or_default() += 1;
    }

    /// The text that Prometheus scrapes (exposition format 0.0.4).
    pub(crate) fn prometheus(&self) -> String {
        let mut out = String::new();
        head(&mut out, "requests_total", "counter", "Requests, by what the proxy did with them.");
        for ((protocol, outcome, why), count) in &*lock(&self.requests) {
            // Writing to a string can't fail.
            let _ = writeln!(
                out,
                "foldback_proxy_requests_total{{protocol=\"{protocol}\",outcome=\"{outcome}\",why=\"{why}\"}} {count}"
            );
        }
        head(
            &mut out,
            "refused_total",
            "counter",
            "Requests of somebody who may not use the proxy.",
        );
        for (why, count) in &*lock(&self.refused) {
            let _ = writeln!(out, "foldback_proxy_refused_total{{why=\"{why}\"}} {count}");
        }
        let connections = self.connections.load(Ordering::Relaxed);
        single(&mut out, "connections", "gauge", "Connections that are open.", connections);
        out
    }
}

/// A metric without labels.
pub(crate) fn single(out: &mut String, name: &str, kind: &str, help: &str, value: u64) {
    head(out, name, kind, help);
    let _ = writeln!(out, "foldback_proxy_{name} {value}");
}

fn head(out: &mut String, name: &str, kind: &str, help: &str) {
    let name = format!("foldback_proxy_{name}");
    let _ = write!(out, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
}

/// A panic of another thread leaves numbers behind, and numbers are never half written.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
