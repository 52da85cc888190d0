//! `otel`: OpenTelemetry spans of generative AI calls, as OTLP/JSON or flat, in a document, one a line, or
//! one after the other as the console exporter prints them.
//!
//! Every span repeats the whole request. `span` finds the spans, in the words of tracing products as well (`tracers`),
//! `message` reads what they hold, and `chain` puts those together that continue each other: a conversation is a chain, and
//! where a request does not continue it, the context was changed. `docs/otel.md` has the mapping.

mod chain;
mod index;
mod message;
mod read;
mod span;
mod tracers;

use crate::prelude::*;

pub(crate) const FORMAT: Format = Format::new(
    "otel",
    "OpenTelemetry: spans with the GenAI conventions, one session for every conversation",
    detect,
    read::read,
);

/// Attributes that only calls of models have.
const OWN: [&str; 5] = [
    "gen_ai.operation.name",
    "gen_ai.request.model",
    "gen_ai.provider.name",
    "gen_ai.system",
    "gen_ai.input.messages",
];

fn detect(_: &str, opening: &Peek) -> u8 {
    let spans = ["/resourceSpans/*/scopeSpans", "/resource_spans/*/scope_spans"];
    let flat = ["", "/*", "/spans/*"].iter().any(|span| {
        let named = OWN.iter().any(|name| opening.has(&format!("{span}/attributes/{name}")));
        let keys = format!("{span}/attributes/*/key");
        named || opening.values(&keys).any(|key| key.starts_with("gen_ai."))
    });
    if spans.iter().any(|path| opening.has(path)) || flat || tracers::detects(opening) {
        90
    } else {
        0
    }
}
