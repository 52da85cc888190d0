//! A request of which the beginning is known is the one that is read from its beginning.

use foldback_core::validity::Dialect;
use foldback_core::view::Shown;
use foldback_wire::{Outline, Request};
use std::sync::Arc;

/// Records of a protocol, odd ones among them, in an order that one could send.
fn records(dialect: Dialect) -> &'static [&'static str] {
    match dialect {
        Dialect::OpenAiChat => &[
            r#"{"role": "system", "content": "Be brief, and read before you write."}"#,
            r#"{"role": "user", "content": "Read it."}"#,
            r#"{"role": "assistant", "content": null, "tool_calls": [{"id": "0", "type": "function", "function": {"name": "read", "arguments": "{\"path\": \"a\"}"}}]}"#,
            r#"{"role": "tool", "tool_call_id": "0", "content": "A text of some length, \u00e9"}"#,
            r#"{"role":"assistant","content":[{"type":"text","text":"Again."}],"tool_calls":[{"id":"0","type":"function","function":{"name":"list","arguments":""}},{"id":"1","type":"custom","custom":{"name":"sh","input":"ls"}}]}"#,
            r#"{"role": "tool", "tool_call_id": "1", "content": [{"type": "text", "text": "x"}]}"#,
            r#"{"role": "tool", "tool_call_id": "0", "content": ""}"#,
            r#"{"role": "system", "content": "In the middle."}"#,
            r#"{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}, {"type": "odd", "text": "?"}]}"#,
            r#"{"role": "assistant", "content": "Done.", "reasoning_content": "Hm. I see."}"#,
            r#"{"role": "user", "content": "Thanks."}"#,
        ],
        Dialect::Anthropic => &[
            r#"{"role": "user", "content": "Read it."}"#,
            r#"{"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}, {"type": "tool_use", "id": "t", "name": "read", "input": {"path": "a"}}, {"type": "tool_use", "id": "u", "name": "read", "input": {}}]}"#,
            r#"{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "A text"}, {"type": "text", "text": "Wait."}, {"type": "tool_result", "tool_use_id": "u", "is_error": true, "content": [{"type": "text", "text": "B"}], "cache_control": {"type": "ephemeral"}}]}"#,
            r#"{"role": "assistant", "content": [{"type": "server_tool_use", "id": "1", "name": "web_search", "input": {"query": "q"}}, {"type": "text", "text": "Done."}]}"#,
            r#"{"role": "user", "content": [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}]}"#,
            r#"{"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "list", "input": {"a": [1, "b"]}}]}"#,
            r#"{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t"}]}"#,
        ],
        _ => &[
            r#"{"type": "message", "role": "developer", "content": "Be brief, and read before you write."}"#,
            r#"{"role": "user", "content": "Read it."}"#,
            r#"{"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}], "encrypted_content": "c2ln"}"#,
            r#"{"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "I read."}]}"#,
            r#"{"type": "function_call", "id": "fc_1", "call_id": "c", "name": "read", "arguments": "{\"path\": \"a\"}"}"#,
            r#"{"type": "function_call_output", "call_id": "c", "output": "A text"}"#,
            r#"{"type": "compaction", "id": "cmp_1", "encrypted_content": "c2ln"}"#,
            r#"{"type": "odd", "text": "?"}"#,
            r#"{"type": "function_call", "id": "fc_2", "call_id": "c", "name": "list", "arguments": "{}"}"#,
            r#"{"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "B"}]}"#,
            r#"{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Thanks."}]}"#,
        ],
    }
}

fn body(dialect: Dialect, records: &[&str], tools: &str) -> String {
    let list = if dialect == Dialect::OpenAiResponses { "input" } else { "messages" };
    format!(
        "{{\"model\": \"m\", \"{list}\": [ {} ], \"tools\": [{{\"name\": \"{tools}\"}}]}}",
        records.join(" ,\n")
    )
}

fn followed(dialect: Dialect, body: &str, before: Option<&Outline>) -> (Request, Outline) {
    let (request, outline) = Request::follow(dialect, body, before).unwrap();
    let parsed = Request::parse(dialect, body).unwrap();
    assert_eq!(request.messages(), parsed.messages(), "{body}");
    assert_eq!(request.frame(), parsed.frame(), "{body}");
    assert_eq!((request.model(), request.body()), (parsed.model(), body));
    assert!(request.unknown().eq(parsed.unknown()), "{body}");
    for hidden in 0..request.messages().len() {
        let shown = |request: &Request| {
            let messages = request.messages().iter().enumerate();
            let shown = messages.filter(|(at, _)| *at != hidden).map(|(_, one)| Shown::plain(one));
            request.folded(&shown.collect::<Vec<_>>()).unwrap()
        };
        assert_eq!(shown(&request), shown(&parsed), "{body} without {hidden}");
    }
    (request, outline.unwrap())
}

#[test]
fn what_is_known_of_a_request_changes_nothing_of_the_next() {
    for dialect in [Dialect::OpenAiChat, Dialect::Anthropic, Dialect::OpenAiResponses] {
        let all = [records(dialect), records(dialect)].concat();
        for first in 1..all.len() {
            let (before, mut outline) = followed(dialect, &body(dialect, &all[..first], "a"), None);
            let shared = before.messages().to_vec();
            for next in [first, first + 1, all.len()] {
                let tools = ["a", "b"][next % 2];
                let text = body(dialect, &all[..next.min(all.len())], tools);
                let (request, known) = followed(dialect, &text, Some(&outline));
                outline = known;
                let same = request.messages().iter().zip(&shared);
                let same = same.filter(|(one, other)| Arc::ptr_eq(one, other)).count();
                // What an answer of several items grew by in the middle is read again with all of it.
                let cut = dialect == Dialect::OpenAiResponses && same == 0;
                assert!(
                    cut || same == shared.len(),
                    "{dialect}, {first} to {next}: {same} are known"
                );
            }
        }
    }
}
