//! A request of which the beginning is known is the one that is read from its beginning.

use foldback_core::log::{Message, Role};
use foldback_core::validity::Dialect;
use foldback_core::view::ShownMessage;
use foldback_providers::wire::{Outline, Reading, Request};
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

fn followed(dialect: Dialect, body: &str, before: Option<&Outline>) -> (Request, Option<Outline>) {
    let Reading { request, outline, known, .. } =
        Request::follow(dialect, body, before.cloned(), 7).unwrap();
    assert_eq!(known, before.map_or(0, Outline::count), "{body}");
    let parsed = Request::parse(dialect, body).unwrap();
    let timed = parsed.messages().iter().map(|message| {
        let mut message = Message::clone(message);
        message.at = Some(7);
        Arc::new(message)
    });
    assert!(request.messages().iter().cloned().eq(timed), "{body}");
    assert_eq!(request.frame(), parsed.frame(), "{body}");
    assert_eq!((request.model(), request.body()), (parsed.model(), body));
    assert!(request.unknown().eq(parsed.unknown()), "{body}");
    for hidden in 0..request.messages().len() {
        let shown = |request: &Request| {
            let messages = request.messages().iter().enumerate();
            let shown =
                messages.filter(|(at, _)| *at != hidden).map(|(_, one)| ShownMessage::plain(one));
            request.folded(&shown.collect::<Vec<_>>()).unwrap()
        };
        assert_eq!(shown(&request), shown(&parsed), "{body} without {hidden}");
    }
    // What may be another one in the next request is not known: items of an answer, which are one message, and what is
    // marked as a breakpoint.
    let ends = request.messages().last().is_some_and(|last| last.role == Role::Assistant);
    let open = dialect == Dialect::OpenAiResponses && (ends || request.messages().is_empty());
    assert!(outline.is_none() == open || body.contains("cache_control"), "{body}");
    (request, outline)
}

#[test]
fn what_is_known_of_a_request_changes_nothing_of_the_next() {
    for dialect in [Dialect::OpenAiChat, Dialect::Anthropic, Dialect::OpenAiResponses] {
        let all = [records(dialect), records(dialect)].concat();
        for first in 1..all.len() {
            let (mut before, mut outline) =
                followed(dialect, &body(dialect, &all[..first], "a"), None);
            for next in [first, first + 1, all.len()] {
                let tools = ["a", "b"][next % 2];
                let text = body(dialect, &all[..next.min(all.len())], tools);
                let known = outline.as_ref().map_or(0, Outline::count);
                let (request, next_outline) = followed(dialect, &text, outline.as_ref());
                let same = request.messages().iter().zip(before.messages());
                let same = same.filter(|(one, other)| Arc::ptr_eq(one, other)).count();
                assert_eq!(same, known, "{dialect}, {first} to {next}");
                (before, outline) = (request, next_outline);
            }
        }
    }
}

#[test]
fn breakpoints_that_move_are_not_known() {
    let message = |at: usize, marked: bool| {
        let role = ["user", "assistant"][at % 2];
        let mark = if marked { r#", "cache_control": {"type": "ephemeral"}"# } else { "" };
        format!(r#"{{"role": "{role}", "content": [{{"type": "text", "text": "{at}"{mark}}}]}}"#)
    };
    for dialect in [Dialect::Anthropic, Dialect::OpenAiChat] {
        let mut outline = None;
        for length in (5..40).step_by(2) {
            // The last two messages of the user are marked, as agents do it, and the first always.
            let marked = |at: usize| at == 0 || at.is_multiple_of(2) && at + 4 > length;
            let records: Vec<String> = (0..length).map(|at| message(at, marked(at))).collect();
            let records: Vec<&str> = records.iter().map(String::as_str).collect();
            let text = body(dialect, &records, "a");
            let (_, next) = followed(dialect, &text, outline.as_ref());
            let known = next.as_ref().map_or(0, Outline::count);
            assert_eq!(known, if length < 9 { 0 } else { length - 3 }, "{dialect}, {length}");
            assert!(next.as_ref().is_none_or(|next| !text[next.end()..].is_empty()));
            outline = next;
        }
    }
}
