//! What is logged, kept for a test to read.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Dispatch, Event, Metadata, Subscriber};

/// Fields by name; texts as they are, all else as it is debugged.
#[derive(Clone, Debug, Default)]
pub struct Fields(pub BTreeMap<&'static str, String>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }
}

/// Spans, in the order in which they began, and the events between them.
#[derive(Clone, Debug, Default)]
pub struct Trace(Arc<Mutex<Vec<(&'static Metadata<'static>, Fields)>>>);

impl Trace {
    /// Listens on this thread for as long as the second value lives.
    pub fn listen() -> (Self, (DefaultGuard, Dispatch)) {
        let trace = Self::default();
        // With one subscriber alone, tracing believes the thread that reaches a call site first, and a test
        // beside this one has none; a second subscriber has both asked.
        let second = Dispatch::new(trace.clone());
        let guard = tracing::subscriber::set_default(trace.clone());
        (trace, (guard, second))
    }

    /// Names and fields of the spans whose target or name begins like this.
    pub fn spans(&self, of: &str) -> Vec<(&'static str, Fields)> {
        let wanted = |meta: &Metadata<'_>| {
            meta.is_span() && (meta.target().starts_with(of) || meta.name().starts_with(of))
        };
        let kept = self.kept();
        let spans = kept.iter().filter(|(meta, _)| wanted(meta));
        spans.map(|(meta, fields)| (meta.name(), fields.clone())).collect()
    }

    /// Everything that was logged, as text.
    pub fn text(&self) -> String {
        let kept = self.kept();
        let fields = kept.iter().flat_map(|(_, fields)| &fields.0);
        fields.map(|(name, value)| format!("{name}={value}\n")).collect()
    }

    fn kept(&self) -> MutexGuard<'_, Vec<(&'static Metadata<'static>, Fields)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self, meta: &'static Metadata<'static>, record: impl FnOnce(&mut Fields)) -> u64 {
        let mut fields = Fields::default();
        record(&mut fields);
        let mut kept = self.kept();
        kept.push((meta, fields));
        kept.len() as u64
    }
}

impl Subscriber for Trace {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        Id::from_u64(self.keep(span.metadata(), |fields| span.record(fields)))
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        if let Some((_, fields)) = self.kept().get_mut(span.into_u64() as usize - 1) {
            values.record(fields);
        }
    }

    fn event(&self, event: &Event<'_>) {
        self.keep(event.metadata(), |fields| event.record(fields));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}
