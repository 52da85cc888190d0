//! The spans of a request carry the names of OpenTelemetry's conventions.

use super::support::{Bench, fails, paused, request, says, small};
use foldback_core::provider::ErrorKind;
use foldback_llm::LlmConfig;
use foldback_test_support::trace::Trace;

#[test]
fn a_request_and_a_failure_leave_their_spans() {
    let bench = Bench::new(LlmConfig::default(), [fails(ErrorKind::Overloaded), says("ok")]);
    let (trace, _listening) = Trace::listen();
    paused(bench.ask(&request("window.compact", small()))).unwrap();
    let spans = trace.spans("foldback_llm");
    let names: Vec<&str> = spans.iter().map(|(name, _)| *name).collect();
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
        let found = spans[span].1.0.get(field).map(String::as_str);
        assert_eq!(found, Some(value), "{span} {field}");
    }
    assert_eq!(spans[2].1.0.get("error.type"), None);
}
