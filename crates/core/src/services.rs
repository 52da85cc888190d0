//! What a conversation needs from outside: time, ids, hooks, readers, observers.
//!
//! Everything is injected, so that the same log, configuration and clock give the same bytes.

use crate::event::Event;
use crate::moment::{Moment, Trigger};
use crate::provider::Model;
use crate::stage::SummaryRequest;
use async_trait::async_trait;
use std::any::{Any, TypeId};
use std::collections::BTreeMap;
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

    /// An id of this source that a conversation has already, because it was read back. It must not be
    /// given out again. Sources whose ids never repeat need not listen.
    fn taken(&self, id: &str) {
        let _ = id;
    }
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

    /// Moves the clock on to `millis`; it does not go back.
    pub fn advance(&self, millis: i64) {
        self.0.fetch_max(millis, Ordering::Relaxed);
    }
}

impl Clock for FixedClock {
    fn now(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Numbers ids from one: `fold-summary-1`, `fold-marker-2`, …
#[derive(Debug, Default)]
#[doc(hidden)]
pub struct CountingIds(AtomicU64);

impl Clone for CountingIds {
    fn clone(&self) -> Self {
        Self(AtomicU64::new(self.0.load(Ordering::Relaxed)))
    }
}

impl IdSource for CountingIds {
    fn next(&self, kind: &str) -> String {
        format!("fold-{kind}-{}", self.0.fetch_add(1, Ordering::Relaxed) + 1)
    }

    fn taken(&self, id: &str) {
        let number = id.strip_prefix("fold-").and_then(|id| id.rsplit('-').next());
        if let Some(number) = number.and_then(|number| number.parse().ok()) {
            self.0.fetch_max(number, Ordering::Relaxed);
        }
    }
}

/// Numbers ids from one for a state: `preview-7-summary-1`.
#[derive(Debug)]
struct PreviewIds {
    revision: u64,
    last: AtomicU64,
}

impl IdSource for PreviewIds {
    fn next(&self, kind: &str) -> String {
        let number = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        format!("preview-{}-{kind}-{number}", self.revision)
    }
}

/// The input of a hook before a compaction.
#[derive(Clone, Debug)]
pub struct BeforeCompaction {
    /// When.
    pub moment: Moment,
    /// Who asked.
    pub trigger: Trigger,
    /// Tokens of the view by the strategy's estimator.
    pub tokens: u64,
}

/// What a hook says to a compaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Verdict {
    /// Go on.
    #[default]
    Proceed,
    /// Go on, with these instructions for the summary.
    Instruct(String),
    /// Leave the view as it is, for this reason. The compaction is reported as skipped.
    Veto(String),
}

/// Runs before and after every compaction.
#[async_trait]
pub trait Hook: Send + Sync + fmt::Debug {
    /// Before any stage runs. Of several hooks the first that gives instructions wins, and one veto is
    /// enough. A person's own compaction can't be vetoed.
    ///
    /// # Errors
    ///
    /// The hook is broken. It is reported, and the compaction goes on.
    async fn before(&self, context: &BeforeCompaction) -> Result<Verdict, String> {
        let _ = context;
        Ok(Verdict::Proceed)
    }

    /// After a fold was committed.
    async fn after(&self, event: &Event) {
        let _ = event;
    }
}

/// A hook that may contribute and does not learn the outcome.
#[derive(Debug)]
struct AskedOnly(Arc<dyn Hook>);

#[async_trait]
impl Hook for AskedOnly {
    async fn before(&self, context: &BeforeCompaction) -> Result<Verdict, String> {
        self.0.before(context).await
    }
}

/// What single stages need from outside, by type: each defines its own type.
#[derive(Clone, Default)]
#[doc(hidden)]
pub struct Extensions(BTreeMap<TypeId, Arc<dyn Any + Send + Sync>>);

impl Extensions {
    /// Adds a value, in place of one of the same type.
    #[doc(hidden)]
    pub fn insert<T: Any + Send + Sync>(&mut self, value: T) {
        self.0.insert(TypeId::of::<T>(), Arc::new(value));
    }

    /// The value of a type.
    #[doc(hidden)]
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0.get(&TypeId::of::<T>())?.downcast_ref()
    }
}

impl fmt::Debug for Extensions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// Is notified of everything that a conversation does.
pub trait Observer: Send + Sync + fmt::Debug {
    /// One event.
    fn observe(&self, event: &Event);

    /// A summary is requested, from a model or not.
    fn asks(&self, request: &SummaryRequest) {
        let _ = request;
    }
}

/// Everything that is injected.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Services {
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The ids.
    pub ids: Arc<dyn IdSource>,
    /// Hooks, in order.
    pub hooks: Vec<Arc<dyn Hook>>,
    /// Observers, in order.
    pub observers: Vec<Arc<dyn Observer>>,
    /// What single stages need in addition.
    pub extensions: Extensions,
    /// The model that stages may ask. `None` if nothing may leave the program.
    pub model: Option<Arc<dyn Model>>,
}

impl Services {
    /// A clock, numbered ids, and nothing else.
    pub fn with_clock(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            ids: Arc::new(CountingIds::default()),
            hooks: Vec::new(),
            observers: Vec::new(),
            extensions: Extensions::default(),
            model: None,
        }
    }

    /// A clock that is stopped at 1970, numbered ids, and nothing else: for tests, whose output must not depend on
    /// the time. An agent needs the time: under a clock that stands, nothing ever grows old.
    pub fn fixed() -> Self {
        Self::with_clock(Arc::new(FixedClock::default()))
    }

    /// These services with a model that stages may ask.
    #[must_use]
    pub fn with_model(mut self, model: Arc<dyn Model>) -> Self {
        self.model = Some(model);
        self
    }

    /// These services with one more observer.
    #[must_use]
    pub fn with_observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observers.push(observer);
        self
    }

    /// These services with one more hook.
    #[must_use]
    pub fn with_hook(mut self, hook: Arc<dyn Hook>) -> Self {
        self.hooks.push(hook);
        self
    }

    /// These services for a run that does not count: observers are not notified, and its ids differ from those of
    /// any other preview.
    pub(crate) fn for_preview(&self, revision: u64) -> Self {
        let asked = |hook: &Arc<dyn Hook>| Arc::new(AskedOnly(Arc::clone(hook))) as Arc<dyn Hook>;
        Self {
            ids: Arc::new(PreviewIds { revision, last: AtomicU64::default() }),
            hooks: self.hooks.iter().map(asked).collect(),
            observers: Vec::new(),
            ..self.clone()
        }
    }

    /// Tells all observers.
    #[doc(hidden)]
    pub fn emit(&self, event: &Event) {
        for observer in &self.observers {
            observer.observe(event);
        }
    }
}
