//! The messages of a span, in the units of the canonical form.

use crate::prelude::*;

/// One message of a request or an answer, as one canonical message.
#[derive(Clone)]
pub(super) struct Unit {
    pub(super) role: Role,
    pub(super) parts: Vec<Part>,
    /// It was said beside results, while the loop was running.
    pub(super) mid_turn: bool,
    /// What tells it from others. An answer is recorded when it is given and again in every request after
    /// it, not always with its reasoning, and with arguments now as an object, now as its text.
    pub(super) key: String,
    /// The calls that it answers, for a result: the same result may come again with other content.
    pub(super) answers: Option<String>,
}

/// The units of a list of messages.
pub(super) fn units(list: &Value) -> Vec<Unit> {
    let mut items = VecDeque::new();
    match list {
        Value::Array(messages) => {
            messages.iter().flat_map(|message| units_of(message, &mut items)).collect()
        }
        // Some instrumentations record the text alone.
        Value::String(text) if !text.is_empty() => {
            vec![unit(Role::User, vec![Part::text(text.as_str())])]
        }
        _ => Vec::new(),
    }
}

/// `items` are calls without a result that are named as items of an answer, as OpenLLMetry names those of the Responses
/// API. Their results name them otherwise, and come in their order.
fn units_of(message: &Value, items: &mut VecDeque<String>) -> Vec<Unit> {
    let role = match value::text(message, "role") {
        Some("assistant" | "model" | "ai") => Role::Assistant,
        Some("system" | "developer") => Role::System,
        Some("tool" | "function") => Role::Tool,
        _ => Role::User,
    };
    let mut parts: Vec<Part> = match (message.get("parts"), message.get("content")) {
        (Some(Value::Array(parts)), _) | (_, Some(Value::Array(parts))) => {
            parts.iter().map(part).collect()
        }
        (_, Some(Value::String(text))) if role == Role::Tool => {
            let id = value::text(message, "tool_call_id").or(value::text(message, "id"));
            vec![Part::result(id.unwrap_or_default(), "", text.as_str())]
        }
        (_, Some(Value::String(text))) if !text.is_empty() => vec![Part::text(text.as_str())],
        _ => Vec::new(),
    };
    // The short form carries calls as the Chat Completions API does.
    parts.extend(value::list(message, "tool_calls").iter().map(|call| {
        let function = call.get("function").unwrap_or(call);
        self::call(value::text(call, "id"), function)
    }));
    // Beside calls some have an empty text, in the answer alone or in the requests alone.
    parts.retain(|part| !matches!(&part.kind, PartKind::Text { .. } if part.shown().is_empty()));
    for part in &mut parts {
        match &mut part.kind {
            PartKind::Call(call) if call.call_id.starts_with("fc_") => {
                items.push_back(call.call_id.clone());
            }
            PartKind::Result(result) => {
                let named = items.iter().position(|item| *item == result.call_id);
                if let Some(item) = items.remove(named.unwrap_or(0)) {
                    result.call_id = item;
                }
            }
            _ => {}
        }
    }
    let (results, rest): (Vec<Part>, Vec<Part>) =
        parts.into_iter().partition(|part| part.as_result().is_some());
    let mut out: Vec<Unit> = results.into_iter().map(|part| unit(Role::Tool, vec![part])).collect();
    if !rest.is_empty() {
        let role = if role == Role::Tool { Role::User } else { role };
        let mid_turn = !out.is_empty();
        out.push(Unit { mid_turn, ..unit(role, rest) });
    }
    out
}

/// Answers that stand apart as one: the Responses API has an answer in items.
pub(super) fn joined(units: Vec<Unit>) -> Vec<Unit> {
    let mut out: Vec<Unit> = Vec::new();
    for next in units {
        match out.last_mut().filter(|last| [last.role, next.role] == [Role::Assistant; 2]) {
            Some(last) => {
                let parts = std::mem::take(&mut last.parts);
                *last = unit(Role::Assistant, [parts, next.parts].concat());
            }
            None => out.push(next),
        }
    }
    out
}

fn unit(role: Role, parts: Vec<Part>) -> Unit {
    let mut content: Vec<Value> = parts
        .iter()
        .filter_map(|part| match &part.kind {
            PartKind::Reasoning { .. } => None,
            PartKind::Call(call) => Some(json!([call.call_id, call.tool, call.arguments_value()])),
            PartKind::Result(result) => Some(json!([result.call_id, result.text])),
            PartKind::File(media) => Some(json!([media.mime, media.url])),
            _ => Some(part.shown().into()),
        })
        .collect();
    // A stream's text comes before its calls, in the next request behind them.
    content.sort_by_key(Value::is_array);
    Unit {
        role,
        mid_turn: false,
        key: format!("{}{}", role.as_str(), Value::from(content)),
        answers: parts.iter().find_map(Part::as_result).map(|result| result.call_id.clone()),
        parts,
    }
}

fn call(id: Option<&str>, raw: &Value) -> Part {
    let name = value::text(raw, "name").unwrap_or_default();
    let arguments = value::shown_of(raw, "arguments");
    Part::call(id.unwrap_or(name), name, arguments)
}

fn part(raw: &Value) -> Part {
    let kind = value::text(raw, "type").unwrap_or_default();
    let first = |keys: &[&str]| keys.iter().find_map(|key| raw.get(key));
    let content = || first(&["content", "text"]).map(value::shown).unwrap_or_default();
    match kind {
        "text" => Part::text(content()),
        "reasoning" | "thinking" => reasoning(summaries(first(&["content", "text"])), None),
        "tool_call" => call(value::text(raw, "id"), raw),
        "tool_call_response" => {
            let response = first(&["response", "result"]);
            Part::new(PartKind::Result(ToolResult {
                call_id: value::string(raw, "id").unwrap_or_default(),
                text: response.map(value::shown).unwrap_or_default(),
                structured: response.filter(|response| response.is_object()).cloned(),
                ..ToolResult::default()
            }))
        }
        "blob" | "uri" | "file" => {
            let url = value::first_string(raw, &["content", "data", "uri", "file_id"]);
            let modality = value::text(raw, "modality").unwrap_or("application");
            file(Media {
                mime: value::string(raw, "mime_type").unwrap_or_else(|| format!("{modality}/*")),
                name: None,
                url: url.unwrap_or_default(),
            })
        }
        "" if raw.is_string() => Part::text(value::shown(raw)),
        kind => unknown(kind, raw),
    }
}

/// Reasoning: a text, or the summaries of the Responses API, which OpenLLMetry has as JSON text.
fn summaries(raw: Option<&Value>) -> String {
    let list = match raw {
        Some(Value::String(text)) if text.starts_with("[{") => raw::parse(text).ok(),
        other => other.cloned(),
    };
    let texts: Option<Vec<&str>> = list
        .as_ref()
        .and_then(Value::as_array)
        .and_then(|list| list.iter().map(|summary| value::text(summary, "text")).collect());
    match texts {
        Some(texts) => texts.join("\n\n"),
        None => raw.map(value::shown).unwrap_or_default(),
    }
}

/// Instructions that stand beside the messages: a text, or a list of parts.
pub(super) fn instructions(raw: &Value) -> Vec<String> {
    let texts: Vec<String> = match raw {
        Value::Array(parts) => parts.iter().map(|raw| part(raw).shown().into_owned()).collect(),
        other => vec![value::shown(other)],
    };
    texts.into_iter().filter(|text| !text.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As opentelemetry-instrumentation-genai-openai 1.3b0 tells answers: of the Responses API in items, with an empty text, in any order.
    #[test]
    fn an_answer_is_the_same_however_it_is_told() {
        let thought =
            json!({"type": "reasoning", "content": [{"type": "summary_text", "text": "Look."}]});
        let as_text = json!({"type": "reasoning", "content": "[{\"type\": \"summary_text\", \"text\": \"Look.\"}]"});
        let text = json!({"type": "text", "content": "I read it."});
        let empty = json!({"type": "text", "content": ""});
        let call = json!({"type": "tool_call", "id": "c1", "name": "read", "arguments": {}});
        let of = |messages: &[&[&Value]]| {
            let message = |parts: &&[&Value]| json!({"role": "assistant", "parts": parts});
            let found = joined(units(&messages.iter().map(message).collect()));
            assert_eq!(found.len(), 1);
            let thought =
                found[0].parts.iter().find(|part| matches!(part.kind, PartKind::Reasoning { .. }));
            assert!(thought.is_none_or(|thought| thought.shown() == "Look."));
            found[0].key.clone()
        };
        let whole = of(&[&[&text, &call]]);
        assert_eq!(of(&[&[&thought], &[&text], &[&call]]), whole);
        assert_eq!(of(&[&[&call, &empty, &text], &[&as_text]]), whole);
    }

    /// As opentelemetry-instrumentation-openai 0.62.4 tells calls of the Responses API.
    #[test]
    fn results_answer_calls_that_are_named_as_items_in_their_order() {
        let call =
            |id: &str| json!({"type": "tool_call", "id": id, "name": "read", "arguments": {}});
        let result = |id: &str| json!({"type": "tool_call_response", "id": id, "response": "3"});
        let rows = [
            (["fc_1", "fc_2"], ["call_a", "call_b"], ["fc_1", "fc_2"]),
            (["fc_1", "fc_2"], ["fc_2", "call_a"], ["fc_2", "fc_1"]),
            (["call_a", "call_b"], ["call_b", "x"], ["call_b", "x"]),
        ];
        for (calls, results, expected) in rows {
            let found = units(&json!([
                {"role": "assistant", "parts": calls.map(call)},
                {"role": "tool", "parts": results.map(result)},
            ]));
            let answered: Vec<_> =
                found.iter().filter_map(|unit| unit.answers.as_deref()).collect();
            assert_eq!(answered, expected);
        }
    }
}
