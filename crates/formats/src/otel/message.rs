//! The messages of a span, in the units of the canonical form.

use crate::prelude::*;

/// Items of the Responses API that are no messages.
const ITEMS: [&str; 3] = ["function_call", "function_call_output", "reasoning"];

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
    let mut items = Items::default();
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

/// Calls without a result that are named as items of an answer, as OpenLLMetry names those of the Responses API. Their
/// results name them otherwise, and come in their order.
#[derive(Default)]
struct Items {
    calls: VecDeque<Option<String>>,
    /// How many calls were taken from the front, and the places of the others by name.
    taken: usize,
    places: HashMap<String, VecDeque<usize>>,
}

impl Items {
    fn push(&mut self, call: &str) {
        let place = self.taken + self.calls.len();
        self.calls.push_back(Some(call.to_owned()));
        self.places.entry(call.to_owned()).or_default().push_back(place);
    }

    /// Takes out the first call of this name, else the first of all.
    fn take(&mut self, name: &str) -> Option<String> {
        let named = self.places.get_mut(name).and_then(VecDeque::pop_front);
        if let Some(place) = named {
            return self.calls.get_mut(place - self.taken)?.take();
        }
        loop {
            self.taken += usize::from(!self.calls.is_empty());
            if let Some(first) = self.calls.pop_front()? {
                self.places.get_mut(&first).and_then(VecDeque::pop_front);
                return Some(first);
            }
        }
    }
}

fn units_of(message: &Value, items: &mut Items) -> Vec<Unit> {
    // OpenInference has it in an object of its own.
    let raw = message.get("message").filter(|inner| inner.is_object()).unwrap_or(message);
    // LangChain's: by class, with the fields inside.
    let class =
        value::items(&raw["id"]).last().and_then(Value::as_str).filter(|_| raw["lc"].is_number());
    let fields = if class.is_some() { &raw["kwargs"] } else { raw };
    let kind = value::text(raw, "role").or_else(|| value::text(fields, "type")).or(class);
    let role = match kind {
        Some("assistant" | "model" | "ai" | "AIMessage" | "AIMessageChunk" | "message") => {
            Role::Assistant
        }
        Some("function_call" | "reasoning") => Role::Assistant,
        Some("system" | "developer" | "SystemMessage") => Role::System,
        Some("tool" | "function" | "ToolMessage" | "function_call_output") => Role::Tool,
        _ => Role::User,
    };
    let content = fields.get("content").or_else(|| fields.get("contents"));
    let mut parts: Vec<Part> = match (fields.get("parts"), content) {
        _ if kind.is_some_and(|kind| ITEMS.contains(&kind)) => vec![part(raw)],
        (Some(Value::Array(parts)), _) | (_, Some(Value::Array(parts))) => {
            parts.iter().map(part).collect()
        }
        (_, Some(Value::String(text))) if role == Role::Tool => {
            let id = value::first(fields, &["tool_call_id", "id"]);
            vec![Part::result(id.unwrap_or_default(), "", text.as_str())]
        }
        (_, Some(Value::String(text))) if !text.is_empty() => vec![Part::text(text.as_str())],
        _ => Vec::new(),
    };
    let thought = fields.get("reasoning_content").filter(|thought| thought.is_string());
    parts.splice(0..0, thought.map(|thought| reasoning(summaries(Some(thought)), None)));
    // The short form carries calls as the Chat Completions API does. Some have them once more where they stand in the content.
    let id = |part: &Part| part.as_call().map(|call| call.call_id.clone());
    let mut called: HashSet<Option<String>> = parts.iter().map(id).collect();
    for raw in value::list(fields, "tool_calls") {
        let raw = raw.get("tool_call").unwrap_or(raw);
        let found = call(value::text(raw, "id"), raw.get("function").unwrap_or(raw));
        if called.insert(id(&found)) {
            parts.push(found);
        }
    }
    // Beside calls some have an empty text, in the answer alone or in the requests alone.
    parts.retain(|part| !matches!(&part.kind, PartKind::Text { .. } if part.shown().is_empty()));
    for part in &mut parts {
        match &mut part.kind {
            PartKind::Call(call) if call.call_id.starts_with("fc_") => {
                items.push(&call.call_id);
            }
            PartKind::Result(result) => {
                if let Some(item) = items.take(&result.call_id) {
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
    // Each with whether it is made of several.
    let mut out: Vec<(Unit, bool)> = Vec::new();
    for next in units {
        match out.last_mut().filter(|(last, _)| [last.role, next.role] == [Role::Assistant; 2]) {
            Some((last, several)) => {
                last.parts.extend(next.parts);
                *several = true;
            }
            None => out.push((next, false)),
        }
    }
    let made = |(of, several): (Unit, bool)| match several {
        true => unit(Role::Assistant, of.parts),
        false => of,
    };
    out.into_iter().map(made).collect()
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
    let arguments = ["arguments", "args", "input"].iter().find_map(|key| raw.get(key));
    Part::call(id.unwrap_or(name), name, arguments.map(value::shown).unwrap_or_default())
}

/// A part of a content, in the words of the conventions or of a provider, or an item of the Responses API.
fn part(raw: &Value) -> Part {
    // OpenInference has them in objects of their own.
    if let Some(of) = raw.get("tool_call").filter(|of| of.is_object()) {
        return call(value::text(of, "id"), &of["function"]);
    }
    let raw = raw.get("message_content").unwrap_or(raw);
    let first = |keys: &[&str]| keys.iter().find_map(|key| raw.get(key));
    let content = || first(&["content", "text"]).map(value::shown).unwrap_or_default();
    let image = |source: &Value, url: &Value| {
        let url = url.as_str().unwrap_or_default().to_owned();
        file(Media { url, ..media(source, ["media_type", "", ""], "image/*") })
    };
    match value::text(raw, "type").unwrap_or_default() {
        "text" | "input_text" | "output_text" => Part::text(content()),
        "reasoning" | "thinking" => {
            reasoning(summaries(first(&["content", "text", "thinking", "summary"])), None)
        }
        "tool_call" | "tool_use" => call(value::text(raw, "id"), raw),
        "function_call" => call(value::text(raw, "call_id"), raw),
        "tool_call_response" => answered(raw, "id", first(&["response", "result"])),
        "function_call_output" => {
            let id = value::text(raw, "call_id").unwrap_or_default();
            Part::result(id, "", value::shown(&raw["output"]))
        }
        "tool_result" => {
            let texts = value::list(raw, "content").iter();
            let texts: Vec<&str> = texts.filter_map(|part| value::text(part, "text")).collect();
            let joined = Value::from(texts.join("\n"));
            let content = &raw["content"];
            let content = if content.is_array() { &joined } else { content };
            answered(raw, "tool_use_id", Some(content))
        }
        "blob" | "uri" | "file" => {
            let url = value::first_string(raw, &["content", "data", "uri", "file_id"]);
            let modality = value::text(raw, "modality").unwrap_or("application");
            let media = media(raw, ["mime_type", "", ""], &format!("{modality}/*"));
            file(Media { url: url.unwrap_or_default(), ..media })
        }
        "image_url" | "input_image" => {
            image(&Value::Null, raw["image_url"].get("url").unwrap_or(&raw["image_url"]))
        }
        "image" => {
            let source = raw.get("source").or_else(|| raw["image"].get("image")).unwrap_or(raw);
            let data = source.get("data").or_else(|| source.get("url")).unwrap_or(source);
            image(source, data)
        }
        "" if raw.is_string() => Part::text(value::shown(raw)),
        kind => unknown(kind, raw),
    }
}

/// A result that names its call in the member `id`.
fn answered(raw: &Value, id: &str, response: Option<&Value>) -> Part {
    Part::new(PartKind::Result(ToolResult {
        call_id: value::string(raw, id).unwrap_or_default(),
        text: response.map(value::shown).unwrap_or_default(),
        structured: response.filter(|response| response.is_object()).cloned(),
        ..ToolResult::default()
    }))
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
