//! From the canonical form back into items.

use crate::bodies::{ToolShape, frame_tools, lines};
use crate::prelude::*;
use foldback_providers::wire::responses;

pub(super) fn patch(view: &View<'_>, losses: &mut Vec<String>) -> Result<String, WriteError> {
    match responses::rewrite(&view.session.own(), &view.sent, losses)? {
        Some(text) => Ok(text),
        None => generate(view, losses),
    }
}

/// A request body, one item a line.
pub(super) fn generate(view: &View<'_>, losses: &mut Vec<String>) -> Result<String, WriteError> {
    let mut body = Map::new();
    if let Some(model) = &view.session.model {
        body.insert("model".to_owned(), model.as_str().into());
    }
    let system: Vec<&str> = view.system().collect();
    if !system.is_empty() {
        body.insert("instructions".to_owned(), system.join("\n\n").into());
    }
    if let Some(tools) = frame_tools(view.frame, ToolShape::OpenAi, losses) {
        body.insert("tools".to_owned(), flat(&tools));
    }
    let sent = view.messages();
    let items: Vec<Value> =
        sent.iter().flat_map(|message| responses::records(message, losses)).collect();
    if sent.iter().any(|message| message.answer.as_ref().is_some_and(|a| a.usage.is_some())) {
        losses.push("usage: items have none".to_owned());
    }
    let head: String =
        body.iter().map(|(key, value)| format!("{}:{value},\n", json!(key))).collect();
    Ok(format!("{{{head}\"input\":[\n{}\n]}}\n", lines(items, ",\n")))
}

/// Definitions of the Chat Completions API in the shape of this one, which has no inner object.
fn flat(tools: &Value) -> Value {
    let tools = tools.as_array().into_iter().flatten();
    tools
        .map(|tool| match tool.get("function") {
            Some(Value::Object(function)) => {
                let mut out = Map::new();
                out.insert("type".to_owned(), "function".into());
                out.extend(function.iter().map(|(key, value)| (key.clone(), value.clone())));
                Value::Object(out)
            }
            _ => tool.clone(),
        })
        .collect()
}
