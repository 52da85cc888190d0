//! Calls as tracing products export them, in the words of the conventions: observations of Langfuse, runs of LangSmith,
//! spans of OpenInference, which Phoenix exports. Each holds the whole request, as a span does.

use crate::prelude::*;

/// Where the id of a response is.
pub(super) const RESPONSE: [&str; 1] = ["gen_ai.response.id"];

/// Where a request names the response that it continues, with what was said up to there, which the provider keeps.
pub(super) const PREVIOUS: [&str; 2] =
    ["gen_ai.request.previous_response_id", "gen_ai.openai.request.previous_response_id"];

type Attributes = Map<String, Value>;

/// The attributes that the conventions have for a call that an export tells in words of its own.
pub(super) fn attributes(raw: &Value) -> Option<Attributes> {
    let mut out = Attributes::new();
    if value::text(raw, "type") == Some("GENERATION") {
        observation(raw, &mut out);
    } else if value::text(raw, "run_type") == Some("llm") {
        run(raw, &mut out);
    } else {
        return None;
    }
    Some(out)
}

/// The names of OpenInference for attributes. Its lists are flattened, `llm.input_messages.0.message.role`, or not.
pub(super) fn open_inference(attributes: &mut Attributes) {
    let own = |key: &String| key == "llm" || key.starts_with("llm.");
    if !attributes.keys().any(own) || attributes.contains_key("gen_ai.input.messages") {
        return;
    }
    let mut root = Value::Object(Map::new());
    for (key, value) in attributes.iter().filter(|(key, _)| own(key)) {
        let mut place = &mut root;
        for name in key.split('.') {
            let Value::Object(map) = place else { break };
            place = map.entry(name).or_insert_with(|| Value::Object(Map::new()));
        }
        *place = value.clone();
    }
    let llm = listed(&root["llm"]);
    let mut put = |name: &str, value: Value| put(attributes, name, value);
    put("gen_ai.input.messages", messages(&llm["input_messages"], "user"));
    put("gen_ai.output.messages", messages(&llm["output_messages"], "assistant"));
    put("gen_ai.request.model", llm["model_name"].clone());
    put("gen_ai.provider.name", llm["provider"].clone());
    put(PREVIOUS[0], parsed(&llm["invocation_parameters"])["previous_response_id"].clone());
    let tools = value::list(&llm, "tools").iter().map(|tool| parsed(&tool["tool"]["json_schema"]));
    put("gen_ai.tool.definitions", tools.collect());
    usage(&llm["token_count"], &OPEN_INFERENCE, &mut put);
}

/// A generation in the words of Langfuse's SDK, as it sends it to Langfuse or to whoever collects spans.
pub(super) fn langfuse(attributes: &mut Attributes) {
    let of = |name: &str| attributes.get(&format!("langfuse.observation.{name}")).cloned();
    if of("type").is_none_or(|kind| kind != "generation") {
        return;
    }
    let raw = json!({
        "input": of("input"),
        "output": of("output"),
        "model": of("model.name"),
        "usageDetails": of("usage_details"),
    });
    observation(&raw, attributes);
}

/// An object whose members are numbered, as a list.
fn listed(raw: &Value) -> Value {
    match raw {
        Value::Object(map) => {
            let numbered: Option<BTreeMap<usize, Value>> =
                map.iter().map(|(key, value)| Some((key.parse().ok()?, listed(value)))).collect();
            match numbered.filter(|list| !list.is_empty()) {
                Some(list) => list.into_values().collect(),
                None => map.iter().map(|(key, value)| (key.clone(), listed(value))).collect(),
            }
        }
        Value::Array(list) => list.iter().map(listed).collect(),
        other => other.clone(),
    }
}

/// An observation of Langfuse, as its interface and its exports name things.
fn observation(raw: &Value, out: &mut Attributes) {
    let first = |names: &[&str]| names.iter().find_map(|name| raw.get(*name)).cloned();
    let mut put = |name: &str, value: Value| put(out, name, value);
    let input = parsed(&raw["input"]);
    put("gen_ai.input.messages", messages(&input, "user"));
    put("gen_ai.tool.definitions", input["tools"].clone());
    let output = parsed(&raw["output"]);
    put(RESPONSE[0], output["id"].clone());
    put(PREVIOUS[0], input["previous_response_id"].clone());
    put("gen_ai.output.messages", messages(&output, "assistant"));
    let models = ["model", "providedModelName", "provided_model_name"];
    put("gen_ai.request.model", first(&models).unwrap_or_default());
    put("gen_ai.conversation.id", first(&["sessionId", "session_id"]).unwrap_or_default());
    let counts = parsed(&first(&["usageDetails", "usage_details", "usage"]).unwrap_or_default());
    // The SDK passes on the counts of a provider unchanged.
    let of = |details: &str| counts.get(details).is_some();
    let how = match (of("prompt_tokens_details"), of("input_tokens_details")) {
        (true, _) => &crate::chat::COUNTS,
        (_, true) => &RESPONSES,
        _ => &LANGFUSE,
    };
    usage(&counts, how, &mut put);
}

/// A run of LangSmith.
fn run(raw: &Value, out: &mut Attributes) {
    let (inputs, outputs) = (&raw["inputs"], &raw["outputs"]);
    let (asked, metadata) = (&raw["extra"]["invocation_params"], &raw["extra"]["metadata"]);
    let mut put = |name: &str, value: Value| put(out, name, value);
    put("gen_ai.input.messages", messages(inputs, "user"));
    put("gen_ai.output.messages", messages(outputs, "assistant"));
    put(RESPONSE[0], outputs["id"].clone());
    let previous = [&inputs["previous_response_id"], &asked["previous_response_id"]];
    put(PREVIOUS[0], previous.into_iter().find(|id| id.is_string()).cloned().unwrap_or_default());
    let tools = [&inputs["tools"], &asked["tools"]].into_iter().find(|tools| tools.is_array());
    put("gen_ai.tool.definitions", tools.cloned().unwrap_or_default());
    let models =
        [&metadata["ls_model_name"], &asked["model"], &asked["model_name"], &inputs["model"]];
    let model = models.into_iter().find(|model| model.is_string());
    put("gen_ai.request.model", model.cloned().unwrap_or_default());
    put("gen_ai.provider.name", metadata["ls_provider"].clone());
    let threads = ["thread_id", "session_id", "conversation_id"];
    let thread = threads.iter().find_map(|name| metadata.get(*name));
    put("gen_ai.conversation.id", thread.cloned().unwrap_or_default());
    let places = [
        "/outputs/usage_metadata",
        "/outputs/generations/0/0/message/kwargs/usage_metadata",
        "/extra/metadata/usage_metadata",
    ];
    let counts =
        places.iter().find_map(|place| raw.pointer(place).filter(|counts| counts.is_object()));
    usage(counts.unwrap_or(raw), &LANGSMITH, &mut put);
}

fn put(out: &mut Attributes, name: &str, value: Value) {
    let empty = match &value {
        Value::Null => true,
        Value::Array(list) => list.is_empty(),
        _ => false,
    };
    if !empty {
        out.insert(name.to_owned(), value);
    }
}

/// The conventions count what the cache holds with the input.
fn usage(raw: &Value, counts: &Counts, put: &mut impl FnMut(&str, Value)) {
    let (usage, as_declared) = counts.reading(raw);
    if usage.is_zero() {
        return;
    }
    put("gen_ai.usage.input_tokens", usage.input_total().into());
    put("gen_ai.usage.output_tokens", usage.output_total().into());
    put("gen_ai.usage.cache_read.input_tokens", usage.cache_read.into());
    put("gen_ai.usage.cache_creation.input_tokens", usage.cache_write.into());
    put(&WRITTEN_1H[1..], usage.cache_write_1h.into());
    put("gen_ai.usage.reasoning.output_tokens", usage.reasoning.into());
    if !as_declared {
        put(CONTRADICTED, true.into());
    }
}

/// JSON pointer to the tokens that were cached for an hour, for which the conventions have no name.
pub(super) const WRITTEN_1H: &str = "/gen_ai.usage.cache_creation.1h";

/// The attribute that marks usage whose counts contradict the rules of the product that wrote it.
pub(super) const CONTRADICTED: &str = "gen_ai.usage.contradicted";

/// Langfuse takes the parts of a count off it.
const LANGFUSE: Counts = Counts {
    input: &["/input", "/input_tokens", "/prompt_tokens"],
    cache_read: &["/input_cached_tokens", "/input_cache_read", "/cache_read_input_tokens"],
    cache_write: &["/input_cache_creation", "/cache_creation_input_tokens"],
    output: &["/output", "/output_tokens", "/completion_tokens"],
    reasoning: &["/output_reasoning_tokens", "/output_reasoning"],
    total: "/total",
    cache_in_input: false,
    reasoning_in_output: false,
    ..Counts::NONE
};

const RESPONSES: Counts = Counts {
    cache_write: &["/input_tokens_details/cache_write_tokens"],
    ..foldback_providers::wire::responses::COUNTS
};

const LANGSMITH: Counts = Counts {
    input: &["/input_tokens", "/prompt_tokens"],
    output: &["/output_tokens", "/completion_tokens"],
    ..crate::langchain::COUNTS
};

const OPEN_INFERENCE: Counts = Counts {
    input: &["/prompt"],
    cache_read: &["/prompt_details/cache_read"],
    cache_write: &["/prompt_details/cache_write"],
    output: &["/completion"],
    reasoning: &["/completion_details/reasoning"],
    ..Counts::NONE
};

fn parsed(raw: &Value) -> Value {
    match raw {
        Value::String(text) if text.starts_with(['[', '{']) => {
            raw::parse(text).unwrap_or_else(|_| raw.clone())
        }
        other => other.clone(),
    }
}

/// The messages of a request or an answer, whatever holds them; a text alone is said by `role`.
fn messages(raw: &Value, role: &str) -> Value {
    match raw {
        Value::Null => Value::Null,
        // A call that failed.
        Value::Object(map) if map.is_empty() => Value::Null,
        // LangChain sends several requests at once.
        Value::Array(list) if list.first().is_some_and(Value::is_array) => messages(&list[0], role),
        Value::Array(list) => list.iter().map(|raw| message(raw, role)).collect(),
        Value::Object(_) => {
            let inner = [
                "/messages",
                "/choices/0/message",
                "/generations/0/0/message",
                "/output",
                "/input",
            ];
            match inner.iter().find_map(|place| raw.pointer(place)) {
                Some(inner) => {
                    let mut list = match messages(inner, role) {
                        Value::Array(list) => list,
                        _ => Vec::new(),
                    };
                    // Anthropic and the Responses API have it beside the messages.
                    let beside = [&raw["system"], &raw["instructions"]];
                    let system = beside.into_iter().find(|system| !system.is_null());
                    list.splice(0..0, system.map(|s| json!({"role": "system", "content": s})));
                    list.into()
                }
                None => json!([message(raw, role)]),
            }
        }
        other => json!([{"role": role, "content": value::shown(other)}]),
    }
}

/// A message, or what a chain was given instead, as what `role` said.
fn message(raw: &Value, role: &str) -> Value {
    let members = ["role", "type", "content", "contents", "message", "lc"];
    match members.iter().any(|member| raw.get(member).is_some()) {
        true => raw.clone(),
        false => json!({"role": role, "content": raw.to_string()}),
    }
}

#[cfg(test)]
mod tests {
    use super::super::message::units;
    use super::*;

    fn is_recognized(file: &Value) -> bool {
        let text = file.to_string();
        let opening = crate::peek::Opening::new(&text);
        crate::otel::FORMAT.signs.iter().any(|sign| sign.is_on(&opening))
    }

    /// The messages of a request as a reader of spans gets them: role, calls by id, and what the parts say.
    fn read(raw: &Value) -> Vec<String> {
        let part = |part: &Part| match &part.kind {
            PartKind::Call(call) => format!("{}({} {})", call.call_id, call.tool, call.arguments),
            PartKind::Result(result) => format!("{}={}", result.call_id, result.text),
            PartKind::File(media) => media.url.clone(),
            _ => format!("{}:{}", part.kind_name(), part.shown()),
        };
        let units = units(&messages(raw, "user")).into_iter().map(|unit| {
            let parts: Vec<String> = unit.parts.iter().map(part).collect();
            format!("{} {}", unit.role.as_str(), parts.join(" "))
        });
        units.collect()
    }

    #[test]
    fn messages_of_any_client_are_read() {
        let lc = |class: &str, kwargs: Value| json!({"lc": 1, "type": "constructor", "id": ["langchain", class], "kwargs": kwargs});
        let call = r#"c1(read {"path":"a"})"#;
        let rows = [
            ("a text", json!("Hello"), vec!["user text:Hello".to_owned()]),
            (
                "LangChain",
                json!({"messages": [[
                    lc("HumanMessage", json!({"content": "Hello"})),
                    lc("AIMessage", json!({"content": "", "tool_calls": [{"id": "c1", "name": "read", "args": {"path": "a"}}]})),
                    lc("ToolMessage", json!({"content": "A", "tool_call_id": "c1"})),
                ]]}),
                vec!["user text:Hello".into(), format!("assistant {call}"), "tool c1=A".into()],
            ),
            (
                "an answer of LangChain",
                json!({"generations": [[{"text": "Hi", "message": lc("AIMessage", json!({"content": "Hi"}))}]]}),
                vec!["assistant text:Hi".into()],
            ),
            (
                "Anthropic",
                json!({"system": "Be brief.", "messages": [
                    {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "a"}}]},
                    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "A"}]}]},
                ]}),
                vec![
                    "system text:Be brief.".into(),
                    format!("assistant {call}"),
                    "tool c1=A".into(),
                ],
            ),
            (
                "reasoning beside a content",
                json!([{"role": "assistant", "content": "A", "reasoning_content": "Look."}]),
                vec!["assistant reasoning:Look. text:A".into()],
            ),
            ("what a chain was given", json!({"a": 1}), vec![r#"user text:{"a":1}"#.into()]),
            ("nothing", Value::Null, Vec::new()),
        ];
        for (what, raw, expected) in rows {
            assert_eq!(read(&raw), expected, "{what}");
        }
    }

    /// As openinference-instrumentation-anthropic 3.1.0 tells them.
    #[test]
    fn an_answer_of_open_inference_has_its_calls_once() {
        let call =
            json!({"tool_call": {"id": "c1", "function": {"name": "read", "arguments": "{}"}}});
        let anthropic = json!({"message": {"role": "assistant", "tool_calls": [call], "contents": [
            {"message_content": {"type": "text", "text": "I read it."}},
            {"message_content": {"type": "tool_use"}, "tool_call": call["tool_call"]},
        ]}});
        let own = json!({"llm.output_messages": [anthropic]});
        let mut attributes = own.as_object().unwrap().clone();
        open_inference(&mut attributes);
        let found = read(&attributes["gen_ai.output.messages"]);
        assert_eq!(found, ["assistant text:I read it. c1(read {})"]);
    }

    /// As langsmith 0.15.1 and langfuse 5.0.4 tell calls of the Responses API.
    #[test]
    fn items_of_the_responses_api_are_messages() {
        let call = json!({"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "read", "arguments": "{}"});
        let asked = json!({"instructions": "Be brief.", "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "Hello"}, {"type": "input_image", "image_url": "data:image/png;base64,AA"}]},
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Look."}]}, call,
            {"type": "function_call_output", "call_id": "c1", "output": "A"},
        ]});
        let expected = [
            "system text:Be brief.",
            "user text:Hello data:image/png;base64,AA",
            "assistant reasoning:Look.",
            "assistant c1(read {})",
            "tool c1=A",
        ];
        assert_eq!(read(&asked), expected);
        assert_eq!(messages(&json!({}), "assistant"), Value::Null);
        let mut out = Attributes::new();
        let used = json!({"input_tokens": 1100, "input_tokens_details": {"cached_tokens": 1000}, "output_tokens": 24, "output_tokens_details": {"reasoning_tokens": 3}});
        observation(&json!({"input": asked, "output": [call], "usageDetails": used}), &mut out);
        assert_eq!(read(&out["gen_ai.output.messages"]), ["assistant c1(read {})"]);
        assert_eq!(out["gen_ai.usage.input_tokens"], 1100);
        assert_eq!(out["gen_ai.usage.cache_read.input_tokens"], 1000);
        assert_eq!(out["gen_ai.usage.reasoning.output_tokens"], 3);
    }

    /// As langfuse 5.0.4 does beside OpenAI's client.
    #[test]
    fn what_the_sdk_of_langfuse_sends_is_an_observation() {
        let own = json!({
            "langfuse.observation.type": "generation", "langfuse.observation.model.name": "m",
            "langfuse.observation.input": r#"{"tools":[{"name":"f"}],"messages":[{"role":"user","content":"Hello"}]}"#,
            "langfuse.observation.output": r#"{"role":"assistant","content":"Hi"}"#,
            "langfuse.observation.usage_details": r#"{"prompt_tokens":1200,"completion_tokens":20,"prompt_tokens_details":{"cached_tokens":800}}"#,
        });
        assert!(is_recognized(&json!({"name": "g", "attributes": own})));
        let mut found = own.as_object().unwrap().clone();
        langfuse(&mut found);
        assert_eq!(found["gen_ai.input.messages"][0]["content"], "Hello");
        assert_eq!(found["gen_ai.output.messages"][0]["content"], "Hi");
        assert_eq!(found["gen_ai.tool.definitions"][0]["name"], "f");
        assert_eq!(found["gen_ai.request.model"], "m");
        assert_eq!(found["gen_ai.usage.input_tokens"], 1200);
        assert_eq!(found["gen_ai.usage.cache_read.input_tokens"], 800);
        let mut span = json!({"langfuse.observation.type": "span"}).as_object().unwrap().clone();
        langfuse(&mut span);
        assert_eq!(span.len(), 1);
    }

    #[test]
    fn a_row_of_a_blob_export_is_an_observation() {
        let row = json!({"id": "g", "trace_id": "t", "type": "GENERATION", "parent_observation_id": null, "session_id": "s",
            "start_time": "2026-07-25 17:20:01.000000", "provided_model_name": "m", "input": "[{\"role\":\"user\",\"content\":\"Hello\"}]",
            "output": "Hi", "usage_details": {"input": 10, "cache_read_input_tokens": 5, "output": 2}});
        let found = attributes(&row).unwrap();
        assert_eq!(found["gen_ai.input.messages"][0]["content"], "Hello");
        assert_eq!(found["gen_ai.output.messages"][0]["role"], "assistant");
        assert_eq!(found["gen_ai.usage.input_tokens"], 15);
        assert_eq!(found["gen_ai.request.model"], "m");
        assert!(is_recognized(&row));
        assert!(attributes(&json!({"type": "SPAN", "traceId": "t", "input": "x"})).is_none());
    }
}
