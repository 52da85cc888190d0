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
    SIGNS,
    read::read,
);

/// Where spans stand.
const SPANS: &[&str] = &["", "/*", "/spans/*"];

/// Where the records of tracing products stand.
const TRACES: &[&str] = &["", "/*", "/data/*", "/observations/*", "/runs/*", "/spans/*"];

const SIGNS: &[Sign] = &[
    Sign::new(90, &[Has("/resourceSpans/*/scopeSpans")]),
    Sign::new(90, &[Has("/resource_spans/*/scope_spans")]),
    // Attributes that only calls of models have.
    Sign::new(
        90,
        &[Any(&[
            Has("/attributes/gen_ai.operation.name"),
            Has("/attributes/gen_ai.request.model"),
            Has("/attributes/gen_ai.provider.name"),
            Has("/attributes/gen_ai.system"),
            Has("/attributes/gen_ai.input.messages"),
            Begins("/attributes/*/key", &["gen_ai."]),
        ])],
    )
    .below(SPANS),
    // Langfuse.
    Sign::new(
        90,
        &[
            Any(&[Has("/traceId"), Has("/trace_id")]),
            Has("/type"),
            Any(&[Has("/parentObservationId"), Has("/parent_observation_id")]),
        ],
    )
    .below(TRACES),
    // LangSmith.
    Sign::new(90, &[Has("/run_type"), Has("/inputs")]).below(TRACES),
    // OpenInference.
    Sign::new(
        90,
        &[Any(&[
            Has("/attributes/openinference.span.kind"),
            Has("/attributes/openinference/span/kind"),
            Has("/attributes/llm.model_name"),
            Has("/attributes/llm/model_name"),
            Has("/attributes/langfuse.observation.type"),
            Is("/attributes/*/key", &["openinference.span.kind", "langfuse.observation.type"]),
        ])],
    )
    .below(TRACES),
];
