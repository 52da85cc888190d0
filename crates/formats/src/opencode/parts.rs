//! Single parts of an OpenCode message, and the model calls that its parts belong to.

use super::INTERRUPTED;
use crate::prelude::*;

/// Types of parts that put nothing in front of the model.
pub(super) const WITHOUT_TEXT: &[&str] = &[
    "step-start",
    "step-finish",
    "snapshot",
    "patch",
    "agent",
    "retry",
    "compaction",
    "subtask",
    "file",
];

/// One model call of an assistant message.
pub(super) struct Step<'a> {
    /// Indices of its parts.
    pub(super) parts: Vec<usize>,
    /// Whether it has a `step-start`, or a `step-finish`: whether a model was called at all.
    pub(super) begun: bool,
    /// Its `step-finish`, which holds its tokens.
    pub(super) finish: Option<&'a Value>,
}

impl<'a> Step<'a> {
    fn empty() -> Self {
        Self { parts: Vec::new(), begun: false, finish: None }
    }

    /// All parts as one call.
    pub(super) fn whole(parts: &[Value]) -> Self {
        Self { parts: (0..parts.len()).collect(), begun: true, finish: None }
    }

    /// Why the step stopped, where the message has `many`: the message's own `finish` is the last
    /// step's.
    pub(super) fn reason(&self, many: bool) -> Option<&'a str> {
        self.finish.filter(|_| many).and_then(|part| value::text(part, "reason"))
    }
}

/// The model calls of an assistant message, at least one. Parts that follow a `step-finish` without a
/// new `step-start` belong to the step before.
pub(super) fn steps(parts: &[Value]) -> Vec<Step<'_>> {
    let mut steps = vec![Step::empty()];
    for (index, part) in parts.iter().enumerate() {
        let open = steps.len() - 1;
        match value::text(part, "type") {
            Some("step-start") if steps[open].begun => {
                steps.push(Step { begun: true, ..Step::empty() })
            }
            Some("step-start") => steps[open].begun = true,
            Some("step-finish") => {
                steps[open].begun = true;
                steps[open].finish = Some(part);
            }
            _ => steps[open].parts.push(index),
        }
    }
    steps
}

/// A tool part as call and result, with the place of the content that clearing replaces.
pub(super) fn tool(part: &Value, call_id: String, pointer: &str) -> (ToolCall, ToolResult, String) {
    let state = part.get("state").unwrap_or(&Value::Null);
    let tool = value::string(part, "tool").unwrap_or_default();
    let call = ToolCall {
        call_id: call_id.clone(),
        tool: tool.clone(),
        arguments: state.get("input").map_or_else(|| "{}".to_owned(), Value::to_string),
    };
    let (status, text) = match value::text(state, "status") {
        Some("completed") => (ResultStatus::Completed, state.get("output").map(value::shown)),
        Some("error") => (ResultStatus::Error, state.get("error").map(value::shown)),
        Some("running") => (ResultStatus::Running, Some(INTERRUPTED.to_owned())),
        _ => (ResultStatus::Pending, Some(INTERRUPTED.to_owned())),
    };
    let member = match status {
        ResultStatus::Error => "error",
        _ => "output",
    };
    let result = ToolResult {
        call_id,
        tool,
        status,
        text: text.unwrap_or_default(),
        structured: None,
        media: value::list(state, "attachments").iter().map(attached).collect(),
    };
    (call, result, format!("{pointer}/state/{member}"))
}

/// A file part; `None` for plain text and directories, which OpenCode has expanded into text parts
/// beside them and does not send.
pub(super) fn file(part: &Value) -> Option<Part> {
    let media = attached(part);
    let expanded = matches!(&*media.mime, "text/plain" | "application/x-directory");
    (!expanded).then(|| Part::new(PartKind::File(media)))
}

fn attached(part: &Value) -> Media {
    media(part, ["mime", "filename", "url"], "")
}

/// Where Anthropic's hidden reasoning is.
pub(super) const REDACTED: &str = "redactedData";

/// A part of reasoning, with its signature or encrypted content, which each provider names otherwise.
pub(super) fn reasoning(part: &Value, pointer: &str) -> Part {
    const NAMES: &[&str] = &[
        "signature",
        REDACTED,
        "reasoningEncryptedContent",
        "encryptedContent",
        "reasoningOpaque",
        "thoughtSignature",
    ];
    let providers = part.get("metadata").and_then(Value::as_object);
    let mut providers = providers.into_iter().flat_map(Map::values);
    let found = providers
        .find_map(|told| NAMES.iter().find_map(|name| Some((*name, value::string(told, name)?))));
    match found {
        Some((REDACTED, data)) => redacted(Some(data)).at(format!("{pointer}/text")),
        found => signed_member(part, "text", found.map(|(_, opaque)| opaque), pointer),
    }
}

/// `input` leaves out what was read from the cache.
const COUNTS: Counts = Counts {
    input: &["/input"],
    cache_read: &["/cache/read"],
    cache_write: &["/cache/write"],
    output: &["/output"],
    reasoning: &["/reasoning"],
    total: "/total",
    cache_in_input: false,
    reasoning_in_output: false,
    ..Counts::NONE
};

/// The tokens of a step or a message; `None` if nothing was counted. Older versions count reasoning in
/// `output` as well; the total, if there is one, tells.
pub(super) fn usage(of: Option<&Value>) -> Option<Usage> {
    COUNTS.any(of?.get("tokens")?)
}

/// The name of a finish reason.
pub(super) fn finish_name(finish: Finish) -> &'static str {
    match finish {
        Finish::Stop => "stop",
        Finish::ToolCalls => "tool-calls",
        Finish::Length => "length",
        Finish::ContentFilter => "content-filter",
        Finish::Error => "error",
        Finish::Other => "other",
    }
}
