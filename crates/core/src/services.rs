//! What a conversation needs from outside: time, ids, hooks, readers, observers.
//!
//! Everything is injected, so that the same log, configuration and clock give the same bytes.

use crate::event::Event;
use crate::moment::{Moment, Trigger};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// Tells the time.
pub trait Clock: Send + Sync + fmt::Debug {
    /// Milliseconds since the Unix epoch.
    fn now(&self) -> i64;
}

/// Gives ids to the messages that compaction writes.
pub trait IdSource: Send + Sync + fmt::Debug {
    /// A new id; `kind` says for what (`marker`, `summary`, …).
    fn next(&self, kind: &str) -> String;
}

/// A clock that stands until it is set: the time of a replay.
#[derive(Debug, Default)]
pub struct FixedClock(AtomicI64);

impl FixedClock {
    /// A clock that shows `millis`.
    pub fn at(millis: i64) -> Self {
        Self(AtomicI64::new(millis))
    }

    /// Sets the clock.
    pub fn set(&self, millis: i64) {
        self.0.store(millis, Ordering::Relaxed);
    }
}

impl Clock for FixedClock {
    fn now(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Numbers ids from one: `fold-summary-1`, `fold-marker-2`, …
#[derive(Debug, Default)]
pub struct CountingIds(AtomicU64);

impl IdSource for CountingIds {
    fn next(&self, kind: &str) -> String {
        format!("fold-{kind}-{}", self.0.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

/// What a hook is told before a compaction.
#[derive(Clone, Debug)]
pub struct BeforeCompaction {
    /// When.
    pub moment: Moment,
    /// Who asked.
    pub trigger: Trigger,
    /// Tokens of the view by the strategy's estimator.
    pub tokens: u64,
}

/// Runs before and after every compaction.
pub trait Hook: Send + Sync + fmt::Debug {
    /// Before any stage runs. May give instructions for the summary; of several hooks the first that
    /// gives a text wins. An error is ignored: a hook can't stop a compaction.
    fn before(&self, context: &BeforeCompaction) -> Result<Option<String>, String> {
        let _ = context;
        Ok(None)
    }

    /// After a fold was committed.
    fn after(&self, event: &Event) {
        let _ = event;
    }
}

/// Reads the notes that an agent keeps on its own session, which may stand in for a summary.
pub trait SessionMemory: Send + Sync + fmt::Debug {
    /// The text and when it was last written, in milliseconds since the Unix epoch.
    fn read(&self) -> Option<(String, i64)>;
}

/// Is told of everything that a conversation does.
pub trait Observer: Send + Sync + fmt::Debug {
    /// One event.
    fn observe(&self, event: &Event);
}

/// Everything that is injected.
#[derive(Clone, Debug)]
pub struct Services {
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The ids.
    pub ids: Arc<dyn IdSource>,
    /// Hooks, in order.
    pub hooks: Vec<Arc<dyn Hook>>,
    /// The agent's notes on its session.
    pub memory: Option<Arc<dyn SessionMemory>>,
    /// Observers, in order.
    pub observers: Vec<Arc<dyn Observer>>,
}

impl Services {
    /// A clock, numbered ids, and nothing else.
    pub fn with_clock(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            ids: Arc::new(CountingIds::default()),
            hooks: Vec::new(),
            memory: None,
            observers: Vec::new(),
        }
    }
}

impl Default for Services {
    fn default() -> Self {
        Self::with_clock(Arc::new(FixedClock::default()))
    }
}
