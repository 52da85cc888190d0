//! An answer is the same message whether it streams or not.

use foldback_core::log::{Finish, Message, Part, PartKind, Round, Usage};
use foldback_providers::wire::{Dialect, Stream, WireError, answer};
use serde_json::{Value, json};

/// Events as they stream.
fn sse(events: &[Value]) -> String {
    events.iter().map(|event| format!("event: x\r\ndata: {event}\r\n\r\n")).collect()
}

fn streamed(dialect: Dialect, text: &str, step: usize) -> Result<Message, WireError> {
    let mut stream = Stream::new(dialect);
    // Characters of several bytes are cut, too.
    for piece in text.as_bytes().chunks(step) {
        stream.push(piece)?;
    }
    stream.finish("answer")
}

/// Whether the answer's last event has come, before the stream is closed.
fn is_over(dialect: Dialect, text: &str) -> bool {
    let mut stream = Stream::new(dialect);
    stream.push(text.as_bytes()).unwrap();
    stream.is_over()
}

pub(crate) struct Row {
    pub(crate) dialect: Dialect,
    pub(crate) whole: Value,
    pub(crate) events: Vec<Value>,
}

pub(crate) fn rows() -> Vec<Row> {
    let openai = |delta: Value, finish: Value| json!({"id": "c", "model": "m-1", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
    let openai_usage = json!({"prompt_tokens": 100, "completion_tokens": 30, "total_tokens": 130, "prompt_tokens_details": {"cached_tokens": 60}, "completion_tokens_details": {"reasoning_tokens": 10}});
    let openai_calls = json!([
        {"id": "call_1", "type": "function", "function": {"name": "read", "arguments": "{\"path\":\"é\"}"}},
        {"id": "call_2", "type": "function", "function": {"name": "list", "arguments": "{}"}},
    ]);
    let anthropic_usage = json!({"input_tokens": 40, "cache_read_input_tokens": 60, "cache_creation_input_tokens": 0, "output_tokens": 30, "output_tokens_details": {"thinking_tokens": 10}});
    let gemini_usage = json!({"promptTokenCount": 100, "cachedContentTokenCount": 60, "candidatesTokenCount": 20, "thoughtsTokenCount": 10, "totalTokenCount": 130});
    let gemini = |parts: Value| json!({"candidates": [{"content": {"role": "model", "parts": parts}}], "modelVersion": "m-1", "usageMetadata": {"promptTokenCount": 1}});
    let response = json!({
        "id": "resp_1", "object": "response", "status": "completed", "model": "m-1",
        "output": [
            {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm. é"}], "encrypted_content": "c2ln"},
            {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "So é."}]},
            {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "read", "arguments": "{\"path\":\"é\"}"},
            {"type": "function_call", "id": "fc_2", "call_id": "call_2", "name": "list", "arguments": "{}"},
        ],
        "usage": {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 60}, "output_tokens": 30, "output_tokens_details": {"reasoning_tokens": 10}, "total_tokens": 130},
    });
    vec![
        Row {
            dialect: Dialect::OpenAiChat,
            whole: json!({
                "model": "m-1",
                "choices": [{"message": {"role": "assistant", "content": "So é.", "reasoning_content": "Hm. é", "tool_calls": openai_calls}, "finish_reason": "tool_calls"}],
                "usage": openai_usage,
            }),
            events: vec![
                openai(json!({"role": "assistant", "content": ""}), Value::Null),
                openai(json!({"reasoning_content": "Hm. "}), Value::Null),
                openai(json!({"reasoning_content": "é"}), Value::Null),
                openai(json!({"content": "So "}), Value::Null),
                openai(json!({"content": "é."}), Value::Null),
                openai(
                    json!({"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": {"name": "read", "arguments": ""}}]}),
                    Value::Null,
                ),
                openai(
                    json!({"tool_calls": [{"index": 0, "function": {"arguments": "{\"path\":"}}]}),
                    Value::Null,
                ),
                openai(
                    json!({"tool_calls": [{"index": 0, "function": {"arguments": "\"é\"}"}}, {"index": 1, "id": "call_2", "function": {"name": "list", "arguments": "{}"}}]}),
                    Value::Null,
                ),
                openai(json!({}), json!("tool_calls")),
                json!({"model": "m-1", "choices": [], "usage": openai_usage}),
            ],
        },
        Row {
            dialect: Dialect::Anthropic,
            whole: json!({
                "type": "message", "role": "assistant", "model": "m-1", "stop_reason": "tool_use", "usage": anthropic_usage,
                "content": [
                    {"type": "thinking", "thinking": "Hm. é", "signature": "c2ln"},
                    {"type": "text", "text": "So é."},
                    {"type": "tool_use", "id": "call_1", "name": "read", "input": {"path": "é"}},
                    {"type": "tool_use", "id": "call_2", "name": "list", "input": {}},
                ],
            }),
            events: vec![
                json!({"type": "message_start", "message": {"type": "message", "role": "assistant", "model": "m-1", "content": [], "stop_reason": null, "usage": {"input_tokens": 40, "cache_read_input_tokens": 60, "output_tokens": 1}}}),
                json!({"type": "ping"}),
                json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}}),
                json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "Hm. "}}),
                json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "é"}}),
                json!({"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "c2ln"}}),
                json!({"type": "content_block_stop", "index": 0}),
                json!({"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}}),
                json!({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "So é."}}),
                json!({"type": "content_block_stop", "index": 1}),
                json!({"type": "content_block_start", "index": 2, "content_block": {"type": "tool_use", "id": "call_1", "name": "read", "input": {}}}),
                json!({"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": "{\"path\":"}}),
                json!({"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": "\"é\"}"}}),
                json!({"type": "content_block_stop", "index": 2}),
                json!({"type": "content_block_start", "index": 3, "content_block": {"type": "tool_use", "id": "call_2", "name": "list", "input": {}}}),
                json!({"type": "content_block_stop", "index": 3}),
                json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 30, "output_tokens_details": {"thinking_tokens": 10}}}),
                json!({"type": "message_stop"}),
            ],
        },
        Row {
            dialect: Dialect::Gemini,
            whole: json!({
                "candidates": [{"content": {"role": "model", "parts": [
                    {"text": "Hm. é", "thought": true, "thoughtSignature": "c2ln"},
                    {"text": "So é."},
                    {"functionCall": {"id": "call_1", "name": "read", "args": {"path": "é"}}},
                    {"functionCall": {"id": "call_2", "name": "list", "args": {}}},
                ]}, "finishReason": "STOP"}],
                "usageMetadata": gemini_usage, "modelVersion": "m-1",
            }),
            events: vec![
                gemini(json!([{"text": "Hm. ", "thought": true}])),
                gemini(
                    json!([{"text": "é", "thought": true, "thoughtSignature": "c2ln"}, {"text": "So "}]),
                ),
                gemini(json!([{"text": "é."}])),
                gemini(
                    json!([{"functionCall": {"id": "call_1", "name": "read", "args": {"path": "é"}}}]),
                ),
                gemini(json!([{"functionCall": {"id": "call_2", "name": "list", "args": {}}}])),
                json!({"candidates": [{"finishReason": "STOP"}], "modelVersion": "m-1", "usageMetadata": gemini_usage}),
            ],
        },
        Row {
            dialect: Dialect::OpenAiResponses,
            whole: response.clone(),
            events: vec![
                json!({"type": "response.created", "response": {"status": "in_progress", "output": []}}),
                json!({"type": "response.output_text.delta", "delta": "So "}),
                json!({"type": "response.completed", "response": response}),
            ],
        },
    ]
}

#[test]
fn an_answer_is_the_same_streamed_or_not() {
    let mut signed = vec![
        Part::new(PartKind::Reasoning { text: "Hm. é".into(), opaque: Some("c2ln".into()) }),
        Part::text("So é."),
        Part::call("call_1", "read", "{\"path\":\"é\"}"),
        Part::call("call_2", "list", "{}"),
    ];
    let usage =
        Usage { uncached: 40, cache_read: 60, output: 20, reasoning: 10, ..Usage::default() };
    for row in rows() {
        let dialect = row.dialect;
        let whole = answer(dialect, "answer", &row.whole.to_string()).unwrap();
        if let PartKind::Reasoning { opaque, .. } = &mut signed[0].kind {
            // Chat has no place for a signature.
            *opaque = (dialect != Dialect::OpenAiChat).then(|| "c2ln".to_owned());
        }
        assert_eq!(whole.parts, signed, "{dialect}");
        assert_eq!(whole.id, "answer");
        let told = whole.answer.as_ref().unwrap();
        assert_eq!(Usage { total: None, ..told.usage.unwrap() }, usage, "{dialect}");
        assert_eq!(told.finish, Some(Finish::ToolCalls), "{dialect}");
        assert_eq!(told.model.as_deref(), Some("m-1"), "{dialect}");
        for step in [1, 2, 7, usize::MAX] {
            let mut text = sse(&row.events);
            if dialect == Dialect::OpenAiChat {
                text.push_str(": a comment\n\ndata: [DONE]\n\n");
            }
            let streamed = streamed(dialect, &text, step).unwrap();
            assert_eq!(streamed, whole, "{dialect}, {step} bytes at a time");
            assert_eq!(is_over(dialect, &text), dialect != Dialect::Gemini, "{dialect}");
        }
    }
}

/// What Anthropic compacted comes as a block, in one piece where it streams, and its iterations are in no other count.
#[test]
fn a_compaction_is_kept_with_what_it_used() {
    let block = json!({"type": "compaction", "content": "So far.", "encrypted_content": "c2ln", "signature": "c2ln"});
    let usage = json!({"input_tokens": 40, "cache_read_input_tokens": 60, "output_tokens": 30, "iterations": [
        {"type": "compaction", "input_tokens": 180, "cache_read_input_tokens": 20, "output_tokens": 35},
        {"type": "message", "input_tokens": 40, "cache_read_input_tokens": 60, "output_tokens": 20},
        {"type": "compaction", "input_tokens": 200, "output_tokens": 5},
        {"type": "message", "output_tokens": 10},
    ]});
    let whole = json!({
        "type": "message", "role": "assistant", "model": "m-1", "stop_reason": "end_turn", "usage": usage,
        "content": [block, {"type": "text", "text": "So."}],
    });
    let whole = answer(Dialect::Anthropic, "answer", &whole.to_string()).unwrap();
    assert_eq!(whole.parts[0].kind, PartKind::Unknown { name: "compaction".into(), raw: block });
    assert!(whole.parts[0].is_compaction());
    assert_eq!(whole.parts[0].shown(), "So far.");
    let told = whole.answer.as_ref().unwrap();
    assert_eq!(told.usage.unwrap().input_total(), 100);
    let compaction = Usage { uncached: 380, cache_read: 20, output: 40, ..Usage::default() };
    assert_eq!(told.compaction, Some(compaction));
    let events = [
        json!({"type": "message_start", "message": {"type": "message", "role": "assistant", "model": "m-1", "content": [], "usage": {"input_tokens": 40, "cache_read_input_tokens": 60}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "compaction", "content": null}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "compaction_delta", "content": "So far.", "encrypted_content": "c2ln"}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "c2ln"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": "So."}}),
        json!({"type": "content_block_stop", "index": 1}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage}),
        json!({"type": "message_stop"}),
    ];
    assert_eq!(streamed(Dialect::Anthropic, &sse(&events), 7).unwrap(), whole);
}

/// Gateways that do not know a count write null or 0. What was told before stays, and a request that nobody counted has no
/// size of 0.
#[test]
fn what_is_missing_is_no_zero() {
    let counts = |usage: Usage| [usage.uncached, usage.cache_read, usage.cache_write, usage.output];
    let anthropic = |start: Value, end: Value| {
        let message =
            json!({"type": "message", "role": "assistant", "content": [], "usage": start});
        vec![
            json!({"type": "message_start", "message": message}),
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": end}),
            json!({"type": "message_delta", "delta": {"stop_reason": null}, "usage": null}),
            json!({"type": "message_stop"}),
        ]
    };
    let chat = |usages: [Value; 2]| -> Vec<Value> {
        let choices = json!([{"delta": {"content": "So."}, "finish_reason": "stop"}]);
        let all = usages.into_iter().zip([choices, json!([])]);
        all.map(|(usage, choices)| json!({"choices": choices, "usage": usage})).collect()
    };
    let gemini = |usages: [Value; 2]| -> Vec<Value> {
        let candidates = json!([{"content": {"parts": [{"text": "So."}]}, "finishReason": "STOP"}]);
        let piece = |usage| json!({"candidates": candidates, "usageMetadata": usage});
        usages.into_iter().map(piece).collect()
    };
    let responses = |usage: Value| {
        let response = json!({"status": "completed", "output": [], "usage": usage});
        vec![json!({"type": "response.completed", "response": response})]
    };
    let start = json!({"input_tokens": 40, "cache_read_input_tokens": 60, "cache_creation_input_tokens": 7, "cache_creation": {"ephemeral_1h_input_tokens": 5}, "output_tokens": 1});
    let nulls = json!({"input_tokens": null, "cache_read_input_tokens": null, "cache_creation_input_tokens": null, "cache_creation": {"ephemeral_1h_input_tokens": null}, "output_tokens": 30});
    let zeros = json!({"input_tokens": 0, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "cache_creation": null, "output_tokens": 30});
    let output = json!({"output_tokens": 30});
    let all = Some([40, 60, 7, 30]);
    let only_output = Some([0, 0, 0, 30]);
    let chat_all = json!({"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 60}, "completion_tokens": 30});
    let chat_nulls =
        json!({"prompt_tokens": null, "prompt_tokens_details": null, "completion_tokens": 30});
    let chat_zeros = json!({"prompt_tokens": 0, "prompt_tokens_details": {"cached_tokens": 0}, "completion_tokens": 0});
    let gemini_all =
        json!({"promptTokenCount": 100, "cachedContentTokenCount": 60, "candidatesTokenCount": 30});
    let gemini_nulls = json!({"promptTokenCount": null, "cachedContentTokenCount": null, "candidatesTokenCount": 30});
    let gemini_zeros = json!({"promptTokenCount": 0, "candidatesTokenCount": 30});
    let responses_zeros = json!({"input_tokens": 0, "output_tokens": 30, "input_tokens_details": {"cached_tokens": 0}});
    let table = [
        ("nulls", Dialect::Anthropic, anthropic(start.clone(), nulls.clone()), all),
        ("zeros", Dialect::Anthropic, anthropic(start.clone(), zeros.clone()), all),
        (
            "late",
            Dialect::Anthropic,
            anthropic(
                zeros.clone(),
                json!({"input_tokens": 40, "cache_read_input_tokens": 60, "cache_creation_input_tokens": 7, "output_tokens": 30}),
            ),
            all,
        ),
        ("no start", Dialect::Anthropic, anthropic(Value::Null, output.clone()), only_output),
        ("never", Dialect::Anthropic, anthropic(zeros.clone(), zeros), only_output),
        ("nothing", Dialect::Anthropic, anthropic(Value::Null, Value::Null), None),
        ("no object", Dialect::Anthropic, anthropic(start, json!(7)), Some([40, 60, 7, 1])),
        (
            "nulls",
            Dialect::OpenAiChat,
            chat([chat_all.clone(), chat_nulls.clone()]),
            Some([40, 60, 0, 30]),
        ),
        ("zeros", Dialect::OpenAiChat, chat([chat_all, chat_zeros.clone()]), Some([40, 60, 0, 30])),
        ("never", Dialect::OpenAiChat, chat([Value::Null, chat_nulls]), only_output),
        ("nothing", Dialect::OpenAiChat, chat([Value::Null, chat_zeros]), None),
        (
            "nulls",
            Dialect::Gemini,
            gemini([gemini_all, gemini_nulls.clone()]),
            Some([40, 60, 0, 30]),
        ),
        ("never", Dialect::Gemini, gemini([gemini_nulls, gemini_zeros]), only_output),
        ("nothing", Dialect::Gemini, gemini([Value::Null, json!({})]), None),
        ("never", Dialect::OpenAiResponses, responses(responses_zeros), only_output),
        ("empty", Dialect::OpenAiResponses, responses(json!({})), None),
        ("nothing", Dialect::OpenAiResponses, responses(Value::Null), None),
    ];
    for (name, dialect, events, expected) in table {
        let answer = streamed(dialect, &sse(&events), 64).unwrap().answer.unwrap();
        assert_eq!(answer.usage.map(counts), expected, "{name}, {dialect}");
        let is_counted = expected.is_some_and(|[uncached, ..]| uncached > 0);
        assert_eq!(answer.usage.is_some_and(|usage| usage.has_input()), is_counted, "{name}");
        let said = [Finish::Stop].contains(&answer.finish.unwrap());
        assert!(said, "{name}, {dialect}: what ended it stays, too");
    }
}

/// Where the provider asked the model several times for one answer, the size of the request is that of the last: the counts
/// around the iterations are their sum, or those of the first.
#[test]
fn a_usage_of_several_requests_is_that_of_the_last() {
    let message = |usage: Value| json!({"type": "message", "role": "assistant", "model": "m-1", "usage": usage, "content": [{"type": "text", "text": "So."}]});
    let rounds = json!([
        {"type": "message", "input_tokens": 2, "output_tokens": 50, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 10},
        {"type": "advisor_message", "model": "m-2", "input_tokens": 600, "output_tokens": 9},
        {"type": "message", "input_tokens": 5, "output_tokens": 30, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20},
    ]);
    let usage = |uncached, cache_read, cache_write, cache_write_1h, output| Usage {
        uncached,
        cache_read,
        cache_write,
        cache_write_1h,
        output,
        ..Usage::default()
    };
    // The counts around, what of them is written for an hour, and whether they contradict the iterations.
    let rows = [
        ("the sum", json!([7, 190, 30, 80]), 0, false),
        ("the first, with all of the output", json!([2, 90, 10, 80]), 0, false),
        ("none", json!([0, 0, 0, 0]), 0, false),
        ("for an hour", json!([7, 190, 30, 80]), 30, false),
        ("neither", json!([7, 500, 30, 80]), 0, true),
    ];
    for (name, around, hour, contradicts) in rows {
        let told = json!({
            "input_tokens": around[0], "cache_read_input_tokens": around[1],
            "cache_creation_input_tokens": around[2], "output_tokens": around[3],
            "cache_creation": {"ephemeral_1h_input_tokens": hour}, "iterations": rounds,
        });
        let found =
            answer(Dialect::Anthropic, "answer", &message(told.clone()).to_string()).unwrap();
        let found = found.answer.unwrap();
        let share = |written: u64| if hour > 0 { written } else { 0 };
        assert_eq!(found.usage, Some(usage(5, 100, 20, share(20), 80)), "{name}");
        let before = Round { model: None, usage: usage(2, 90, 10, share(10), 0) };
        let advisor = Round { model: Some("m-2".into()), usage: usage(600, 0, 0, 0, 9) };
        assert_eq!(found.rounds, [before, advisor], "{name}");
        let used = foldback_providers::wire::anthropic::used(&message(told));
        assert_eq!(used.contradicts, contradicts, "{name}");
    }
}

#[test]
fn a_stream_that_is_cut_gives_no_answer() {
    for row in rows() {
        let dialect = row.dialect;
        let ends = match dialect {
            // Usage comes behind the end.
            Dialect::OpenAiChat => row.events.len() - 2,
            _ => row.events.len() - 1,
        };
        for events in 0..=ends {
            let cut = streamed(dialect, &sse(&row.events[..events]), 64);
            assert_eq!(cut, Err(WireError::Unfinished), "{dialect}, {events} events");
            assert!(!is_over(dialect, &sse(&row.events[..events])), "{dialect}, {events} events");
        }
        let text = sse(&row.events);
        let last = text.trim_end().len() - 3;
        assert!(streamed(dialect, &text[..last], 64).is_err(), "{dialect}: half an event");
    }
}

/// They were quoted, as if the model had called with a text.
#[test]
fn arguments_that_the_limit_of_the_output_cut_off_are_the_text_that_came() {
    let call = json!({"type": "tool_use", "id": "c", "name": "read", "input": {}});
    let piece = json!({"type": "input_json_delta", "partial_json": "{\"path\":\"a"});
    let events = [
        json!({"type": "message_start", "message": {"role": "assistant", "content": []}}),
        json!({"type": "content_block_start", "index": 0, "content_block": call}),
        json!({"type": "content_block_delta", "index": 0, "delta": piece}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "max_tokens"}}),
        json!({"type": "message_stop"}),
    ];
    let answer = streamed(Dialect::Anthropic, &sse(&events), 64).unwrap();
    assert_eq!(answer.parts[0].as_call().unwrap().arguments, r#"{"path":"a"#);
}

#[test]
fn streams_that_are_none_say_so() {
    let error =
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let odd = [json!(7), json!([]), json!({"type": 3}), json!("x"), json!(null)];
    for dialect in Dialect::ALL {
        let refused = streamed(dialect, &sse(std::slice::from_ref(&error)), 64);
        assert_eq!(refused, Err(WireError::Refused { body: error.clone() }), "{dialect}");
        assert!(matches!(streamed(dialect, "data: {\"a\":\n\n", 64), Err(WireError::Json { .. })));
        for event in &odd {
            assert!(
                streamed(dialect, &sse(std::slice::from_ref(event)), 64).is_err(),
                "{dialect} {event}"
            );
        }
    }
    let odd = [
        json!({"type": "message_start", "message": "x"}),
        json!({"type": "content_block_start", "content_block": 1}),
        json!({"type": "content_block_delta", "index": 4, "delta": {}}),
        json!({"type": "message_delta", "delta": 1, "usage": []}),
    ];
    for event in &odd {
        let read = streamed(Dialect::Anthropic, &sse(std::slice::from_ref(event)), 64);
        assert!(read.is_err(), "{event}");
    }
}

#[test]
fn ids_of_calls_without_one_are_of_their_answer() {
    let body = json!({"candidates": [{"content": {"parts": [
        {"functionCall": {"name": "read", "args": {}}}, {"functionCall": {"name": "read", "args": {}}},
    ]}, "finishReason": "STOP"}]});
    let ids = |id: &str| -> Vec<String> {
        let answer = answer(Dialect::Gemini, id, &body.to_string()).unwrap();
        answer.call_ids().map(str::to_owned).collect()
    };
    assert_eq!(ids("a1"), ["a1-call-0", "a1-call-1"]);
    assert_eq!(ids("a2"), ["a2-call-0", "a2-call-1"]);
}

#[test]
fn reasons_that_one_provider_alone_has() {
    let rows = [
        ("RECITATION", Finish::ContentFilter),
        ("MAX_TOKENS", Finish::Length),
        ("STOP", Finish::Stop),
        ("MALFORMED_FUNCTION_CALL", Finish::Other),
    ];
    for (reason, expected) in rows {
        let body = json!({"candidates": [{"finishReason": reason}]});
        let answer = answer(Dialect::Gemini, "a", &body.to_string()).unwrap();
        assert_eq!(answer.answer.unwrap().finish, Some(expected), "{reason}");
        assert_eq!(answer.parts, [], "{reason}");
    }
}
