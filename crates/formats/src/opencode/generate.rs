//! OpenCode messages made from canonical ones: compaction entries for an export, and whole exports of
//! sessions that were recorded elsewhere.

use super::context::Context;
use super::parts::{REDACTED, finish_name};
use super::{COMPACTION, INTERRUPTED};
use crate::bodies::{FileContent, data_url, held, object};
use crate::prelude::*;

/// A whole export.
pub(super) fn generate(view: &View<'_>, losses: &mut Vec<String>) -> Result<String, WriteError> {
    let (session, frame, sent) = (view.session, view.frame, view.messages());
    let mut context = Context::new(session);
    context.time = sent.iter().find_map(|message| message.at).unwrap_or(0);
    let created = context.time;
    let mut records = messages(&sent, &mut context, losses);
    if let Some(system) = frame.text_of(SegmentKind::System)
        && let Some(info) = records
            .iter_mut()
            .filter_map(|record| record.get_mut("info"))
            .find(|info| value::text(info, "role") == Some("user"))
    {
        info["system"] = Value::from(system);
    }
    if frame.text_of(SegmentKind::Tools).is_some() {
        losses.push("the tool definitions: an export has no place for them".to_owned());
    }
    let document = json!({
        "info": {
            "id": context.session,
            "slug": session.id,
            "projectID": "global",
            "directory": "/",
            "title": session.id,
            "version": "1.1.28",
            "time": {"created": created, "updated": context.time},
        },
        "messages": records,
    });
    Ok(format!("{document:#}\n"))
}

/// The OpenCode messages of a run of canonical ones: an answer and its results become one.
pub(super) fn messages(
    new: &[Message],
    context: &mut Context,
    losses: &mut Vec<String>,
) -> Vec<Value> {
    let mut out = Vec::new();
    let (mut orphans, mut systems) = (0, 0);
    let new = behind_their_calls(new);
    let mut rest = &*new;
    while let Some((message, after)) = rest.split_first() {
        let tools = match message.role {
            Role::Assistant => after.iter().take_while(|next| next.role == Role::Tool).count(),
            _ => 0,
        };
        let id = context.id(message);
        context.time = message.at.unwrap_or(context.time);
        let record = match message.role {
            Role::User | Role::System => {
                systems += usize::from(message.role == Role::System);
                context.user.clone_from(&id);
                user(message, &id, context)
            }
            Role::Assistant => assistant(message, &after[..tools], &id, context, &mut orphans),
            Role::Tool => {
                let bare = Message::new(message.id.clone(), Role::Assistant, Vec::new());
                assistant(&bare, std::slice::from_ref(message), &id, context, &mut orphans)
            }
        };
        out.push(record);
        rest = &after[tools..];
    }
    if orphans > 0 {
        losses.push(format!(
            "{orphans} results without a call: an OpenCode tool part is both, so the calls are empty"
        ));
    }
    if systems > 0 {
        losses.push(format!(
            "{systems} system messages within the conversation became synthetic user messages"
        ));
    }
    out
}

/// The messages with every result after its call: a tool part is both, whatever was said in between.
fn behind_their_calls(messages: &[Message]) -> Vec<Message> {
    let mut out: Vec<Message> = Vec::with_capacity(messages.len());
    for message in messages {
        let call = message.parts.iter().find_map(|part| Some(part.as_result()?.call_id.as_str()));
        let caller = call.and_then(|call| {
            let mut earlier = out.iter();
            earlier.rposition(|message| message.call_ids().any(|id| id == call))
        });
        let behind = caller.map_or(out.len(), |caller| {
            let results = out[caller + 1..].iter();
            caller + 1 + results.take_while(|m| m.role == Role::Tool).count()
        });
        out.insert(behind, message.clone());
    }
    out
}

fn user(message: &Message, id: &str, context: &Context) -> Value {
    let info = json!({
        "id": id,
        "sessionID": context.session,
        "role": "user",
        "time": {"created": context.time},
        "agent": message.agent.as_deref().unwrap_or(&context.agent),
        "model": {"providerID": context.provider, "modelID": context.model},
    });
    let mut parts = Parts::new(id, context);
    let from_harness = message.role == Role::System || message.is_entry();
    for part in &message.parts {
        parts.push(content(part, from_harness, context));
    }
    json!({"info": info, "parts": parts.out})
}

fn assistant(
    message: &Message,
    tools: &[Message],
    id: &str,
    context: &mut Context,
    orphans: &mut usize,
) -> Value {
    let answer = message.answer.clone().unwrap_or_default();
    let summary = message.is_entry_of(EntryKind::Summary);
    let mut results: Vec<&ToolResult> =
        tools.iter().flat_map(|tool| tool.parts.iter().filter_map(Part::as_result)).collect();
    let mut parts = Parts::new(id, context);
    let called = message.answer.is_some() && !summary;
    if called {
        parts.push(json!({"type": "step-start"}));
    }
    for part in &message.parts {
        match &part.kind {
            PartKind::Call(call) => {
                let place = results.iter().position(|result| result.call_id == call.call_id);
                let result = place.map(|place| results.remove(place));
                parts.push(tool(call, result, context.time));
            }
            _ => parts.push(content(part, false, context)),
        }
    }
    for result in results {
        *orphans += 1;
        let call = ToolCall {
            call_id: result.call_id.clone(),
            tool: result.tool.clone(),
            arguments: "{}".to_owned(),
        };
        parts.push(tool(&call, Some(result), context.time));
    }
    let reason = answer.finish.map_or_else(
        || {
            if message.call_ids().next().is_some() { "tool-calls" } else { "stop" }
        },
        finish_name,
    );
    let tokens = tokens(answer.usage);
    if called {
        parts.push(json!({"type": "step-finish", "reason": reason, "cost": 0, "tokens": tokens}));
    }
    let agent = match (&message.agent, summary) {
        (_, true) => COMPACTION,
        (Some(agent), false) => agent,
        (None, false) => &context.agent,
    };
    let mut info = Map::new();
    let mut put = |key: &str, value: Value| info.insert(key.to_owned(), value);
    put("id", id.into());
    put("sessionID", context.session.as_str().into());
    put("role", "assistant".into());
    let ended = answer.ended.unwrap_or(context.time);
    put("time", json!({"created": context.time, "completed": ended}));
    put("parentID", context.parent(message).into());
    put("modelID", answer.model.as_deref().unwrap_or(&context.model).into());
    put("providerID", answer.provider.as_deref().unwrap_or(&context.provider).into());
    put("mode", agent.into());
    put("agent", agent.into());
    if summary {
        put("summary", true.into());
    }
    put("path", context.path.clone());
    put("cost", 0.into());
    put("tokens", tokens);
    put_outcome(&mut info, &answer, reason);
    json!({"info": info, "parts": parts.out})
}

/// A failed answer has an error; it has a finish reason only where one was recorded.
fn put_outcome(info: &mut Map<String, Value>, answer: &Answer, reason: &str) {
    if let Some(error) = &answer.error {
        info.insert("error".to_owned(), json!({"name": error, "data": {"message": error}}));
    }
    if answer.error.is_none() || answer.finish.is_some() {
        info.insert("finish".to_owned(), reason.into());
    }
}

fn tokens(usage: Option<Usage>) -> Value {
    let usage = usage.unwrap_or_default();
    let mut tokens = json!({
        "input": usage.uncached,
        "output": usage.output,
        "reasoning": usage.reasoning,
        "cache": {"read": usage.cache_read, "write": usage.cache_write},
    });
    if let Some(total) = usage.total {
        tokens["total"] = total.into();
    }
    tokens
}

/// Parts of one message under ids derived from the message's.
struct Parts<'a> {
    message: &'a str,
    session: String,
    out: Vec<Value>,
}

impl<'a> Parts<'a> {
    fn new(message: &'a str, context: &Context) -> Self {
        Self { message, session: context.session.clone(), out: Vec::new() }
    }

    fn push(&mut self, content: Value) {
        let name = self.message.strip_prefix("msg_").unwrap_or(self.message);
        let mut part = Map::new();
        part.insert("id".to_owned(), format!("prt_{name}_{:04}", self.out.len() + 1).into());
        part.insert("sessionID".to_owned(), self.session.as_str().into());
        part.insert("messageID".to_owned(), self.message.into());
        if let Value::Object(members) = content {
            part.extend(members);
        }
        self.out.push(Value::Object(part));
    }
}

fn content(part: &Part, from_harness: bool, context: &Context) -> Value {
    match &part.kind {
        PartKind::Text { text, synthetic, ignored } => {
            let mut out = json!({"type": "text", "text": text});
            if *synthetic || from_harness {
                out["synthetic"] = true.into();
            }
            if *ignored {
                out["ignored"] = true.into();
            }
            out
        }
        PartKind::Reasoning { text, opaque } => {
            let mut out = json!({"type": "reasoning", "text": text, "time": {"start": 0}});
            if let Some(opaque) = opaque {
                let name = if part.redacted { REDACTED } else { "signature" };
                out["metadata"] = json!({"recorded": {name: opaque}});
            }
            out
        }
        PartKind::File(media) => file(media),
        PartKind::Marker(marker) => {
            let mut out = json!({"type": COMPACTION, "auto": marker.auto});
            if marker.overflow {
                out["overflow"] = true.into();
            }
            if let Some(start) = &marker.tail_start {
                out["tail_start_id"] = context.written(start).into();
            }
            out
        }
        PartKind::Unknown { raw, .. } => json!({"type": "text", "text": value::shown(raw)}),
        // Calls and results are tool parts, see `tool`.
        PartKind::Call(_) | PartKind::Result(_) => json!({"type": "text", "text": part.shown()}),
    }
}

fn file(media: &Media) -> Value {
    // Data needs the name of its type in front.
    let url = match held(media) {
        FileContent::Data(data) => data_url(&media.mime, data),
        FileContent::Link(_) | FileContent::Nowhere => media.url.clone(),
    };
    let mut out = json!({"type": "file", "mime": media.mime, "url": url});
    if let Some(name) = &media.name {
        out["filename"] = name.as_str().into();
    }
    out
}

/// A call with its result, or one that was interrupted.
fn tool(call: &ToolCall, result: Option<&ToolResult>, time: i64) -> Value {
    // OpenCode takes an object only; free text goes where its patch tool takes it.
    let input = object(&call.arguments);
    let times = json!({"start": time, "end": time});
    let state = match result.map(|result| (result.status, result)) {
        Some((ResultStatus::Completed, result)) => {
            let mut state = json!({
                "status": "completed",
                "input": input,
                "output": result.text,
                "title": call.tool,
                "metadata": {},
                "time": times,
            });
            if !result.media.is_empty() {
                state["attachments"] = result.media.iter().map(file).collect();
            }
            state
        }
        Some((ResultStatus::Error | ResultStatus::Retry, result)) => json!({
            "status": "error",
            "input": input,
            "error": result.text,
            "time": times,
        }),
        Some((ResultStatus::Running, _)) => json!({
            "status": "running",
            "input": input,
            "time": {"start": time},
        }),
        Some((ResultStatus::Pending, _)) => json!({"status": "pending", "input": input, "raw": ""}),
        None => json!({
            "status": "error",
            "input": input,
            "error": INTERRUPTED,
            "time": times,
        }),
    };
    json!({"type": "tool", "callID": call.call_id, "tool": call.tool, "state": state})
}
