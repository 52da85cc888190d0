//! The spans of a request carry the names of OpenTelemetry's conventions.

use super::support::{Bench, fails, request, says, small};
use foldback_core::provider::ErrorKind;
use foldback_llm::LlmConfig;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Dispatch, Event, Metadata, Subscriber};

type Fields = BTreeMap<String, String>;

/// Keeps the fields of every span, in the order of the spans.
#[derive(Clone, Default)]
struct Spans(Arc<Mutex<Vec<(String, Fields)>>>);

struct Into<'a>(&'a mut Fields);

impl Visit for Into<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let text = format!("{value:?}").trim_matches('"').to_owned();
        self.0.insert(field.name().to_owned(), text);
    }
}

impl Subscriber for Spans {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("foldback_llm")
    }
    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let mut fields = Fields::new();
        attributes.record(&mut Into(&mut fields));
        let mut spans = self.0.lock().unwrap();
        spans.push((attributes.metadata().name().to_owned(), fields));
        Id::from_u64(spans.len() as u64)
    }
    fn record(&self, span: &Id, values: &Record<'_>) {
        let mut spans = self.0.lock().unwrap();
        values.record(&mut Into(&mut spans[span.into_u64() as usize - 1].1));
    }
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[test]
fn a_request_and_a_failure_leave_their_spans() {
    let spans = Spans::default();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    let bench = Bench::new(LlmConfig::default(), [fails(ErrorKind::Overloaded), says("ok")]);
    // With one subscriber alone, tracing believes the thread that reaches a call site first, and a test beside
    // this one has none; a second subscriber has both asked.
    let _second = Dispatch::new(spans.clone());
    tracing::subscriber::with_default(spans.clone(), || {
        runtime.block_on(bench.ask(&request("window.compact", small()))).unwrap();
    });
    let spans = spans.0.lock().unwrap();
    let names: Vec<&str> = spans.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["summarize", "chat", "chat"]);
    // (span, field, value)
    let expected = [
        (0, "gen_ai.operation.name", "summarize"),
        (0, "foldback.summary.style", "window.compact"),
        (1, "gen_ai.operation.name", "chat"),
        (1, "error.type", "overloaded"),
        (2, "otel.name", "chat claude-haiku-4-5"),
        (2, "gen_ai.provider.name", "anthropic"),
        (2, "gen_ai.request.model", "claude-haiku-4-5"),
        (2, "gen_ai.request.max_tokens", "4096"),
        (2, "gen_ai.response.model", "test-model-2026"),
        (2, "gen_ai.usage.input_tokens", "100"),
        (2, "gen_ai.usage.output_tokens", "10"),
    ];
    for (span, field, value) in expected {
        let found = spans[span].1.get(field).map(String::as_str);
        assert_eq!(found, Some(value), "{span} {field}");
    }
    assert_eq!(spans[2].1.get("error.type"), None);
}
