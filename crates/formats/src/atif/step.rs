//! The content of one step.

use crate::prelude::*;

/// Whose step it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    System,
    User,
    Agent,
}

/// The source of a step, and whether it is stated. Where it is not, whatever only a model leaves tells
/// an agent's step from others.
pub(super) fn source(step: &Value) -> (Source, bool) {
    const OF_AGENTS: [&str; 4] = ["tool_calls", "metrics", "reasoning_content", "model_name"];
    match value::text(step, "source") {
        Some("system") => (Source::System, true),
        Some("user") => (Source::User, true),
        Some("agent") => (Source::Agent, true),
        _ if OF_AGENTS.iter().any(|key| step.get(key).is_some()) => (Source::Agent, false),
        _ => (Source::System, false),
    }
}

/// The parts of a content at `pointer`: a text, or a list of texts and images. Recorders that do not
/// keep to that put whole objects here; they are shown as JSON.
pub(super) fn content(raw: &Value, pointer: &str) -> Vec<Part> {
    match raw {
        Value::Null => Vec::new(),
        Value::String(text) if text.is_empty() => Vec::new(),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(index, item)| match (value::text(item, "text"), item.get("source")) {
                (Some(text), _) => Part::text(text).at(format!("{pointer}/{index}/text")),
                (None, Some(source)) => {
                    let media = media(source, ["media_type", "", "path"], "image/*");
                    file(media).at(format!("{pointer}/{index}"))
                }
                (None, None) => Part::text(value::shown(item)).at(format!("{pointer}/{index}")),
            })
            .collect(),
        other => vec![Part::text(value::shown(other)).at(pointer)],
    }
}

/// The results in the observation of a step.
pub(super) fn results(step: &Value) -> &[Value] {
    value::list_at(step, "/observation/results")
}

/// The contents of the results in the observation of a step.
pub(super) fn observed(step: &Value) -> Vec<Part> {
    let contents = results(step).iter().enumerate().flat_map(|(index, result)| {
        content(&result["content"], &format!("/observation/results/{index}/content"))
    });
    contents.collect()
}

/// The content of a result as the one part that answers `call_id`.
pub(super) fn answered(raw: &Value, index: usize, call_id: String) -> Part {
    let pointer = format!("/observation/results/{index}/content");
    let content_value = raw.get("content").unwrap_or(&Value::Null);
    let parts = content(content_value, &pointer);
    let mut texts = parts.iter().filter(|part| !matches!(part.kind, PartKind::File(_)));
    let place = match (texts.next(), texts.next()) {
        (Some(only), None) => only.pointer.clone().unwrap_or(pointer),
        _ => pointer,
    };
    let is_error = value::flag(&raw["extra"], "is_error")
        || value::text_at(raw, "/extra/status") == Some("error");
    let (text, media, _) = flattened(parts, String::new());
    let mut part = result(call_id, "", is_error, text, media).at(place);
    if let PartKind::Result(result) = &mut part.kind {
        result.structured = content_value.is_object().then(|| content_value.clone());
    }
    part
}

/// The call that an agent's step stands for. `None` where the step says that no model was called.
/// The usage of a step that folds several calls is their sum, and therefore the usage of none of them.
pub(super) fn answer(step: &Value, model: Option<&str>) -> Option<Answer> {
    let calls = step.get("llm_call_count").and_then(Value::as_u64);
    if calls == Some(0) {
        return None;
    }
    Some(Answer {
        usage: COUNTS.any(&step["metrics"]).filter(|_| calls.is_none_or(|calls| calls == 1)),
        model: value::text(step, "model_name").or(model).map(str::to_owned),
        ended: value::time(step, "timestamp"),
        ..Answer::default()
    })
}

/// `prompt_tokens` holds the cached ones. What was written to the cache and the reasoning tokens stand
/// in `extra`, under the names that the recorders' providers use.
const COUNTS: Counts = Counts {
    input: &["/prompt_tokens"],
    cache_read: &["/cached_tokens"],
    cache_write: &["/extra/cache_creation_input_tokens", "/extra/cache_write_tokens"],
    output: &["/completion_tokens"],
    reasoning: &["/extra/reasoning_tokens", "/extra/reasoning_output_tokens"],
    ..Counts::NONE
};

/// Whether a system step is Terminus 2 handing over to a summary: before 1.7 nothing marked it but the
/// trajectories of the agents that wrote it.
pub(super) fn is_summarization(step: &Value) -> bool {
    results(step)
        .iter()
        .flat_map(|result| value::list(result, "subagent_trajectory_ref"))
        .filter_map(|reference| value::first(reference, &["trajectory_id", "session_id"]))
        .any(|id| id.contains("-summarization-"))
}

/// Whether a step says that earlier steps are no longer sent, or sent changed.
pub(super) fn changes_context(step: &Value) -> bool {
    step.pointer("/extra/context_management").filter(|managed| managed.is_object()).is_some_and(
        |managed| {
            value::text(managed, "type") != Some("injection")
                && value::text(managed, "boundary") != Some("append")
        },
    )
}
