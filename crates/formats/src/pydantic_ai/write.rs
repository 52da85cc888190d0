//! From the canonical form back into a list. The list is what is sent: an edited part gets the edit's
//! text as its content, and what is hidden is left out.

use crate::bodies::{lines, results, runs, text_of};
use crate::prelude::*;
use crate::rewrite::{self as file, Dialect};
use crate::time::stamp;
use foldback_providers::wire::Item;
use foldback_providers::wire::shared::rewrite;

pub(super) fn patch(view: &View<'_>, losses: &mut Vec<String>) -> Result<String, WriteError> {
    let system = system_record(view.session).into_iter().collect();
    file::rewrite(view, &view.sent, &mut PydanticAi { system, losses })
}

/// The messages of a history as a view shows them, one by one: which stay as they are, which are changed, which are new.
/// For an agent that holds them as objects and keeps those that nothing touched.
///
/// # Errors
///
/// A message of the view says that it is of this session and is not.
pub fn items(
    session: &Session,
    sent: &[ShownMessage<'_>],
    losses: &mut Vec<String>,
) -> Result<Vec<Item>, WriteError> {
    let system = system_record(session).into_iter().collect();
    Ok(rewrite::items(&session.own(), sent, &mut PydanticAi { system, losses }, None)?)
}

/// A list, one request or response a line. The system prompt goes in front of the first request.
pub(super) fn generate(view: &View<'_>, losses: &mut Vec<String>) -> Result<String, WriteError> {
    let mut list = records(&view.messages(), losses);
    let at = view.sent.iter().find_map(|shown| shown.message.at);
    let prompts = view.system().map(|text| prompt(text.into(), at, "system-prompt"));
    let prompts: Vec<Value> = prompts.collect();
    if !prompts.is_empty() {
        let first = list.first_mut().filter(|record| record["kind"] == "request");
        match first.and_then(|record| record.get_mut("parts")?.as_array_mut()) {
            Some(parts) => {
                parts.splice(0..0, prompts);
            }
            None => list.insert(0, json!({"parts": prompts, "kind": "request"})),
        }
    }
    if view.frame.text_of(SegmentKind::Tools).is_some() {
        losses.push("the tool definitions: a message history has no place for them".to_owned());
    }
    Ok(format!("[\n{}\n]\n", lines(list, ",\n")))
}

struct PydanticAi<'a> {
    system: Vec<u32>,
    losses: &'a mut Vec<String>,
}

impl Dialect for PydanticAi<'_> {
    fn generate(&mut self, messages: &[Message], _: Option<u32>) -> Vec<Value> {
        records(messages, self.losses)
    }

    fn frame_records(&self) -> &[u32] {
        &self.system
    }
}

/// The request that holds the system prompt beside the first messages: its prompt has to stay when
/// those messages go.
fn system_record(session: &Session) -> Option<u32> {
    let first = session.messages.first()?.record?;
    let record = raw::parse(session.source.record(first)?).ok()?;
    let kind = value::text(record.pointer("/parts/0")?, "part_kind")?;
    (kind == "system-prompt").then_some(first)
}

/// Requests and responses of a run of messages: the results that follow an answer are one request, as
/// pydantic-ai sends them; a user message is one of its own.
fn records(messages: &[Message], losses: &mut Vec<String>) -> Vec<Value> {
    let mut out = Vec::new();
    let mut files = 0;
    for (message, run) in runs(messages) {
        out.push(match message.role {
            Role::Assistant => response(message),
            Role::Tool => {
                files += results(run).map(|result| result.media.len()).sum::<usize>();
                let parts = run.iter().flat_map(|message| {
                    let results = message.parts.iter().filter_map(Part::as_result);
                    results.map(|result| tool(result, message.at))
                });
                request(parts.collect())
            }
            Role::User => request(vec![prompt(user_content(message), message.at, "user-prompt")]),
            Role::System => {
                request(vec![prompt(message.shown_text().into(), message.at, "system-prompt")])
            }
        });
    }
    if files > 0 {
        losses.push(format!("{files} files that came with tool results"));
    }
    out
}

fn request(parts: Vec<Value>) -> Value {
    json!({"parts": parts, "kind": "request"})
}

fn prompt(content: Value, at: Option<i64>, kind: &str) -> Value {
    json!({"content": content, "timestamp": stamp(at), "part_kind": kind})
}

/// A text alone is a string, as pydantic-ai has it; files make it a list.
fn user_content(message: &Message) -> Value {
    let items: Vec<Value> = message
        .parts
        .iter()
        .filter_map(|part| match &part.kind {
            PartKind::File(media) => Some(file(media)),
            PartKind::Unknown { raw, .. } => Some(Value::from(value::shown(raw))),
            _ => Some(part.shown())
                .filter(|text| !text.is_empty())
                .map(|text| Value::from(text.into_owned())),
        })
        .collect();
    match items.as_slice() {
        [] => Value::from(""),
        [Value::String(text)] => Value::from(text.as_str()),
        _ => Value::from(items),
    }
}

/// A file as pydantic-ai has it. What is neither data that decodes nor a URL becomes a line of text.
fn file(media: &Media) -> Value {
    if let Some(data) = value::base64_data(&media.url) {
        return json!({"data": data, "media_type": media.mime, "kind": "binary"});
    }
    if !media.url.contains("://") {
        return Value::from(text_of(&Part::new(PartKind::File(media.clone()))));
    }
    let kind = match media.mime.split('/').next() {
        Some("image") => "image-url",
        Some("audio") => "audio-url",
        Some("video") => "video-url",
        _ => "document-url",
    };
    json!({"url": media.url, "media_type": media.mime, "kind": kind})
}

fn tool(result: &ToolResult, at: Option<i64>) -> Value {
    let content = result.structured.clone().unwrap_or_else(|| Value::from(result.text.as_str()));
    let kind = match result.status {
        ResultStatus::Retry => "retry-prompt",
        _ => "tool-return",
    };
    let mut part = json!({
        "tool_name": result.tool,
        "content": content,
        "tool_call_id": result.call_id,
        "timestamp": stamp(at),
        "part_kind": kind,
    });
    if matches!(result.status, ResultStatus::Error | ResultStatus::Pending | ResultStatus::Running)
    {
        part["outcome"] = "failed".into();
    }
    part
}

fn response(message: &Message) -> Value {
    let parts: Vec<Value> = message.parts.iter().map(answer_part).collect();
    let answer = message.answer.clone().unwrap_or_default();
    let mut out = Map::new();
    let mut put = |key: &str, value: Value| out.insert(key.to_owned(), value);
    put("parts", parts.into());
    if let Some(recorded) = answer.usage {
        put("usage", usage(&recorded));
    }
    if let Some(model) = answer.model {
        put("model_name", model.into());
    }
    put("timestamp", stamp(message.at.or(answer.ended)).into());
    if let Some(provider) = answer.provider {
        put("provider_name", provider.into());
    }
    if let Some(reason) = answer.finish.and_then(finish_name) {
        put("finish_reason", reason.into());
    }
    put("kind", "response".into());
    Value::Object(out)
}

fn answer_part(part: &Part) -> Value {
    match &part.kind {
        PartKind::Reasoning { text, opaque } => {
            let mut out = json!({"content": text, "signature": opaque, "part_kind": "thinking"});
            if part.redacted {
                out["id"] = super::REDACTED.into();
            }
            out
        }
        PartKind::Call(call) => json!({
            "tool_name": call.tool,
            "args": call.arguments,
            "tool_call_id": call.call_id,
            "part_kind": "tool-call",
        }),
        PartKind::File(media) if value::base64_data(&media.url).is_some() => {
            json!({"content": file(media), "part_kind": "file"})
        }
        PartKind::File(_) => json!({"content": text_of(part), "part_kind": "text"}),
        // A part that this format named itself goes back as it came.
        PartKind::Unknown { raw, .. } if raw.get("part_kind").is_some() => raw.clone(),
        _ => json!({"content": part.shown(), "part_kind": "text"}),
    }
}

/// Usage as pydantic-ai counts: the cache is part of the input, reasoning part of the output.
fn usage(usage: &Usage) -> Value {
    let mut out = json!({
        "input_tokens": usage.input_total(),
        "cache_write_tokens": usage.cache_write,
        "cache_read_tokens": usage.cache_read,
        "output_tokens": usage.output_total(),
    });
    if usage.reasoning > 0 {
        out["details"] = json!({"reasoning_tokens": usage.reasoning});
    }
    out
}

fn finish_name(finish: Finish) -> Option<&'static str> {
    match finish {
        Finish::Stop => Some("stop"),
        Finish::ToolCalls => Some("tool_call"),
        Finish::Length => Some("length"),
        Finish::ContentFilter => Some("content_filter"),
        Finish::Error => Some("error"),
        Finish::Other => None,
    }
}
