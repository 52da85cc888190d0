//! Every kind of record that the newest recorders write, row by row: lines, and what they become.
use crate::common::{outline, session, usage, warnings};
use foldback_core::SegmentKind;
use foldback_core::log::Message;
use foldback_formats::convert::convert;
use std::sync::Arc;

struct Row {
    name: &'static str,
    /// The lines behind the header.
    lines: &'static str,
    /// The messages; `E` was written by the client, `+` came mid-turn.
    expected: &'static [&'static str],
    /// Calls, and kinds of the boundaries.
    calls: usize,
    boundaries: &'static [&'static str],
    warnings: &'static [&'static str],
}

/// Gemini CLI 0.61.0.
const GEMINI: &[Row] = &[
    Row {
        name: "an answer with its call, and the turn that gives the result back",
        lines: r#"{"id":"u","type":"user","content":[{"text":"go"}]}
{"id":"a","type":"gemini","content":"Reading.","thoughts":[],"tokens":{"input":9,"output":1},"model":"m","toolCalls":[{"id":"c","name":"f","args":{},"result":[{"functionResponse":{"id":"c","name":"f","response":{"output":"r"}}}],"status":"success"}]}
{"id":"r","type":"user","content":[{"functionResponse":{"id":"c","name":"f","response":{"output":"r"}}}]}
{"id":"b","type":"gemini","content":"Done.","thoughts":[],"tokens":{"input":9,"output":1},"model":"m"}"#,
        expected: &[
            "useru text:go",
            "assistant text:Reading. tool-call:{}",
            "tool tool-result:r",
            "assistant text:Done.",
        ],
        calls: 2,
        boundaries: &[],
        warnings: &[],
    },
    Row {
        name: "a chat that begins with one that was saved: calls and results stand in the content",
        lines: r#"{"$set":{"messages":[{"id":"ctx","type":"user","content":[{"text":"<session_context>\nx"}]}]}}
{"id":"r1","type":"user","content":[{"text":"old"}]}
{"id":"r2","type":"gemini","content":[{"text":"Hm.","thought":true},{"functionCall":{"id":"c","name":"f","args":{"a":1}}}],"thoughts":[],"tokens":null}
{"id":"r3","type":"user","content":[{"functionResponse":{"id":"c","name":"f","response":{"error":"no"}}}]}
{"id":"r4","type":"gemini","content":[{"text":"Was it."}],"thoughts":[],"tokens":null}
{"$set":{"messages":[{"id":"r1","type":"user","content":[{"text":"old"}]},{"id":"r2","type":"gemini","content":[{"text":"Hm.","thought":true},{"functionCall":{"id":"c","name":"f","args":{"a":1}}}]},{"id":"r3","type":"user","content":[{"functionResponse":{"id":"c","name":"f","response":{"error":"no"}}}]},{"id":"r4","type":"gemini","content":[{"text":"Was it."}]}]}}
{"id":"u","type":"user","content":[{"text":"new"}]}
{"id":"a","type":"gemini","content":"Yes.","thoughts":[],"tokens":{"input":9,"output":1},"model":"m"}"#,
        expected: &[
            "useru text:old",
            "assistant reasoning:Hm. tool-call:{\"a\":1}",
            "tool tool-result:no",
            "assistant text:Was it.",
            "useru text:new",
            "assistant text:Yes.",
        ],
        calls: 1,
        boundaries: &[],
        warnings: &[],
    },
    Row {
        name: "a saved chat in the place of one that was under way",
        lines: r#"{"id":"u","type":"user","content":[{"text":"go"}]}
{"id":"a","type":"gemini","content":"Gone.","thoughts":[],"tokens":{"input":9,"output":1},"model":"m"}
{"id":"r1","type":"user","content":[{"text":"old"}]}
{"id":"r2","type":"gemini","content":[{"functionCall":{"id":"c","name":"f","args":{}}}],"thoughts":[],"tokens":null}
{"id":"r3","type":"user","content":[{"functionResponse":{"id":"c","name":"f","response":{"output":"r"}}}]}
{"$set":{"messages":[{"id":"r1","type":"user","content":[{"text":"old"}]},{"id":"r2","type":"gemini","content":[{"functionCall":{"id":"c","name":"f","args":{}}}]},{"id":"r3","type":"user","content":[{"functionResponse":{"id":"c","name":"f","response":{"output":"r"}}}]}]}}
{"id":"u2","type":"user","content":[{"text":"new"}]}
{"id":"a2","type":"gemini","content":"Yes.","thoughts":[],"tokens":{"input":9,"output":1},"model":"m"}"#,
        expected: &[
            "useru text:go",
            "assistant text:Gone.",
            "user+E text:old",
            "assistantE tool-call:{}",
            "toolE tool-result:r",
            "useru text:new",
            "assistant text:Yes.",
        ],
        calls: 2,
        boundaries: &["replace"],
        warnings: &[],
    },
    Row {
        name: "a request that failed is taken back",
        lines: r#"{"id":"u","type":"user","content":[{"text":"go"}]}
{"id":"a","type":"gemini","content":"One.","thoughts":[],"tokens":{"input":9,"output":1},"model":"m"}
{"id":"u2","type":"user","content":[{"text":"fails"}]}
{"$set":{"messages":[{"id":"u","type":"user","content":[{"text":"go"}]},{"id":"a","type":"gemini","content":[{"text":"One."}]}]}}
{"id":"u3","type":"user","content":[{"text":"again"}]}
{"id":"b","type":"gemini","content":"Two.","thoughts":[],"tokens":{"input":9,"output":1},"model":"m"}"#,
        expected: &[
            "useru text:go",
            "assistant text:One.",
            "useru text:again",
            "assistant text:Two.",
        ],
        calls: 2,
        boundaries: &[],
        warnings: &["abandoned-branch"],
    },
    Row {
        name: "the first request that failed leaves nothing",
        lines: r#"{"id":"u2","type":"user","content":[{"text":"fails"}]}
{"$set":{"messages":[]}}
{"id":"u3","type":"user","content":[{"text":"again"}]}
{"id":"b","type":"gemini","content":"Two.","thoughts":[],"tokens":{"input":9,"output":1},"model":"m"}"#,
        expected: &["useru text:again", "assistant text:Two."],
        calls: 1,
        boundaries: &[],
        warnings: &[],
    },
    Row {
        name: "a compression brings what is new and keeps the rest",
        lines: r#"{"id":"u","type":"user","content":[{"text":"go"}]}
{"id":"a","type":"gemini","content":"One.","thoughts":[],"tokens":{"input":9,"output":1},"model":"m"}
{"id":"u2","type":"user","content":[{"text":"more"}]}
{"id":"b","type":"gemini","content":"Two.","thoughts":[],"tokens":{"input":9,"output":1},"model":"m"}
{"$set":{"messages":[{"id":"s","type":"user","content":[{"text":"<state_snapshot>"}]},{"id":"k","type":"gemini","content":[{"text":"Got it."}]},{"id":"u2","type":"user","content":[{"text":"more"}]},{"id":"b","type":"gemini","content":[{"text":"Two."}]}]}}
{"id":"u3","type":"user","content":[{"text":"on"}]}"#,
        expected: &[
            "useru text:go",
            "assistant text:One.",
            "useru text:more",
            "assistant text:Two.",
            "user+E text:<state_snapshot>",
            "assistantE text:Got it.",
            "useru text:on",
        ],
        calls: 2,
        boundaries: &["summary"],
        warnings: &[],
    },
    Row {
        name: "a compression as 0.61.0 makes it: what it keeps comes again under new ids, behind the context",
        lines: r#"{"$set":{"messages":[{"id":"ctx","type":"user","content":[{"text":"<session_context>\nx"}]}]}}
{"id":"u","type":"user","content":[{"text":"go"}]}
{"id":"a","type":"gemini","content":"One.","thoughts":[],"tokens":{"input":9,"output":1},"model":"m"}
{"$set":{"messages":[{"id":"ctx","type":"user","content":[{"text":"<session_context>\nx"}]},{"id":"s","type":"user","content":[{"text":"<state_snapshot>"}]},{"id":"k","type":"gemini","content":[{"text":"One."}]}]}}
{"id":"u2","type":"user","content":[{"text":"fails"}]}
{"$set":{"messages":[{"id":"ctx","type":"user","content":[{"text":"<session_context>\nx"}]},{"id":"s","type":"user","content":[{"text":"<state_snapshot>"}]},{"id":"k","type":"gemini","content":[{"text":"One."}]}]}}
{"id":"u3","type":"user","content":[{"text":"on"}]}"#,
        expected: &[
            "user+ text:<session_context>|x",
            "useru text:go",
            "assistant text:One.",
            "user+E text:<state_snapshot>",
            "assistantE text:One.",
            "useru text:on",
        ],
        calls: 1,
        boundaries: &["summary"],
        warnings: &["abandoned-branch"],
    },
    Row {
        name: "a context that is written anew replaces nothing, and files of results stay behind where a session goes on",
        lines: r#"{"$set":{"messages":[{"id":"ctx","type":"user","content":[{"text":"<session_context>\nx"}]}]}}
{"id":"u","type":"user","content":[{"text":"go"}]}
{"id":"a","type":"gemini","content":"One.","thoughts":[],"tokens":{"input":9,"output":1},"model":"m"}
{"id":"f","type":"info","content":[{"inlineData":{"mimeType":"image/png","data":"aGk="}}]}
{"$set":{"messages":[{"id":"ctx2","type":"user","content":[{"text":"<session_context>\ny"}]},{"id":"u","type":"user","content":[{"text":"go"}]},{"id":"a","type":"gemini","content":[{"text":"One."}]}]}}
{"id":"u2","type":"user","content":[{"text":"on"}]}"#,
        expected: &[
            "user+ text:<session_context>|x",
            "useru text:go",
            "assistant text:One.",
            "user+ file:",
            "useru text:on",
        ],
        calls: 1,
        boundaries: &[],
        warnings: &[],
    },
    Row {
        name: "everything is taken back, an answer with it",
        lines: r#"{"id":"u","type":"user","content":[{"text":"go"}]}
{"id":"a","type":"gemini","content":"One.","thoughts":[],"tokens":{"input":9,"output":1},"model":"m"}
{"$set":{"messages":[]}}
{"id":"u2","type":"user","content":[{"text":"again"}]}"#,
        expected: &["useru text:again"],
        calls: 0,
        boundaries: &[],
        warnings: &["abandoned-branch"],
    },
    Row {
        name: "what stands for an answer that did not come is no summary",
        lines: r#"{"id":"u","type":"user","content":[{"text":"go"}]}
{"id":"a","type":"gemini","content":"","thoughts":[],"tokens":{"input":9,"output":1},"model":"m","toolCalls":[{"id":"c","name":"f","args":{},"result":[{"functionResponse":{"id":"c","name":"f","response":{"output":"r"}}}]}]}
{"id":"r","type":"user","content":[{"functionResponse":{"id":"c","name":"f","response":{"output":"r"}}}]}
{"id":"u2","type":"user","content":[{"text":"fails"}]}
{"$set":{"messages":[{"id":"u","type":"user","content":[{"text":"go"}]},{"id":"a","type":"gemini","content":[{"functionCall":{"id":"c","name":"f","args":{}}}]},{"id":"r","type":"user","content":[{"functionResponse":{"id":"c","name":"f","response":{"output":"r"}}}]},{"id":"p","type":"gemini","content":[{"text":"[The previous response was interrupted before it completed.]"}]}]}}
{"id":"u3","type":"user","content":[{"text":"again"}]}"#,
        expected: &[
            "useru text:go",
            "assistant tool-call:{}",
            "tool tool-result:r",
            "assistantE text:[The previous respon",
            "useru text:again",
        ],
        calls: 1,
        boundaries: &[],
        warnings: &["abandoned-branch"],
    },
    Row {
        name: "a list of results that holds those of every call",
        lines: r#"{"id":"u","type":"user","content":[{"text":"go"}]}
{"id":"a","type":"gemini","content":"","thoughts":[],"tokens":{"input":9,"output":1},"model":"m","toolCalls":[{"id":"c","name":"f","args":{},"result":[{"functionResponse":{"id":"c","name":"f","response":{"output":"r"}}},{"functionResponse":{"id":"d","name":"f","response":{"output":"s"}}}]},{"id":"d","name":"f","args":{},"result":[{"functionResponse":{"id":"c","name":"f","response":{"output":"r"}}},{"functionResponse":{"id":"d","name":"f","response":{"output":"s"}}}]}]}"#,
        expected: &[
            "useru text:go",
            "assistant tool-call:{} tool-call:{}",
            "tool tool-result:r",
            "tool tool-result:s",
        ],
        calls: 1,
        boundaries: &[],
        warnings: &[],
    },
    Row {
        name: "files of a result come after an acknowledgment that nobody gave",
        lines: r#"{"id":"u","type":"user","content":[{"text":"go"}]}
{"id":"a","type":"gemini","content":"","thoughts":[],"tokens":{"input":9,"output":1},"model":"m","toolCalls":[{"id":"c","name":"f","args":{},"result":[{"functionResponse":{"id":"c","name":"f","response":{"output":"r"}}}]}]}
{"id":"r","type":"user","content":[{"functionResponse":{"id":"c","name":"f","response":{"output":"r"}}}]}
{"id":"k","type":"gemini","content":[{"text":"Received.","thought":true}],"thoughts":[],"tokens":null}
{"id":"f","type":"info","content":[{"inlineData":{"mimeType":"image/png","data":"aGk="}}]}
{"id":"n","type":"info","content":"a notice"}
{"id":"b","type":"gemini","content":"Seen.","thoughts":[],"tokens":{"input":9,"output":1},"model":"m"}"#,
        expected: &[
            "useru text:go",
            "assistant tool-call:{}",
            "tool tool-result:r",
            "assistant reasoning:Received.",
            "user+ file:",
            "assistant text:Seen.",
        ],
        calls: 2,
        boundaries: &[],
        warnings: &[],
    },
];

/// Kimi Code 2.1.0, and what its older versions wrote.
const KIMI: &[Row] = &[
    Row {
        name: "what is said while a call runs comes behind its result; a step that failed says nothing",
        lines: r#"{"type":"turn.prompt","input":[],"origin":{"kind":"user"}}
{"type":"context.append_message","message":{"role":"user","content":[{"type":"text","text":"go"}],"toolCalls":[]}}
{"type":"context.append_loop_event","event":{"type":"step.begin","uuid":"a"}}
{"type":"context.append_loop_event","event":{"type":"tool.call","stepUuid":"a","toolCallId":"c","name":"f","args":{}}}
{"type":"turn.steer","input":[],"origin":{"kind":"user"}}
{"type":"context.append_message","message":{"role":"user","content":[{"type":"text","text":"stop"}],"toolCalls":[]}}
{"type":"context.append_loop_event","event":{"type":"tool.result","toolCallId":"c","result":{"output":[{"type":"text","text":"r"},{"type":"image_url","imageUrl":{"url":"blobref:image/png;ab"}}]}}}
{"type":"context.append_loop_event","event":{"type":"step.end","uuid":"a","finishReason":"tool_use","usage":{"inputOther":9,"output":1}}}
{"type":"context.append_loop_event","event":{"type":"step.begin","uuid":"b"}}
{"type":"context.append_loop_event","event":{"type":"step.end","uuid":"b","finishReason":"error"}}"#,
        expected: &[
            "useru text:go",
            "assistant tool-call:{}",
            "tool tool-result:r",
            "user+ text:stop",
        ],
        calls: 1,
        boundaries: &[],
        warnings: &[],
    },
    Row {
        name: "whole messages of the first version, and a summary that is one",
        lines: r#"{"type":"context.append_message","message":{"role":"user","content":[{"type":"text","text":"go"}],"toolCalls":[]}}
{"type":"context.append_message","message":{"role":"assistant","content":[{"type":"think","think":"Hm."}],"toolCalls":[{"type":"function","id":"c","function":{"name":"f","arguments":"{}"}}]}}
{"type":"context.append_message","message":{"role":"tool","content":[{"type":"text","text":"r"}],"toolCallId":"c","toolCalls":[]}}
{"type":"full_compaction.begin","source":"manual"}
{"type":"context.apply_compaction","summary":{"role":"user","content":[{"type":"text","text":"Notes."}]},"count":3}
{"type":"context.append_message","message":{"role":"user","content":[{"type":"text","text":"note"}],"toolCalls":[],"origin":{"kind":"injection","variant":"x"}}}
{"type":"context.undo","count":1}
{"type":"context.append_message","message":{"role":"assistant","content":[{"type":"text","text":"Done."}],"toolCalls":[]}}
{"type":"context.clear"}"#,
        expected: &[
            "useru text:go",
            "assistant reasoning:Hm. tool-call:{}",
            "tool tool-result:r",
            "user+E text:Notes.",
            "user+ text:note",
            "assistant text:Done.",
        ],
        calls: 2,
        boundaries: &["summary", "drop"],
        warnings: &[],
    },
    Row {
        name: "turns that were taken back, and what the user ran",
        lines: r#"{"type":"context.append_message","message":{"role":"user","content":[{"type":"text","text":"go"}],"toolCalls":[]}}
{"type":"context.append_message","message":{"role":"assistant","content":[{"type":"text","text":"Done."}],"toolCalls":[]}}
{"type":"turn.prompt","input":[],"origin":{"kind":"user"}}
{"type":"context.append_message","message":{"role":"user","content":[{"type":"text","text":"more"}],"toolCalls":[]}}
{"type":"context.undo","count":2}
{"type":"context.append_message","message":{"role":"user","content":[{"type":"text","text":"$ ls"}],"toolCalls":[],"origin":{"kind":"shell_command","phase":"input"}}}
{"type":"turn.prompt","input":[],"origin":{"kind":"user"}}
{"type":"context.append_message","message":{"role":"user","content":[{"type":"text","text":"again"}],"toolCalls":[]}}
{"type":"context.undo","count":2}"#,
        expected: &["user+ text:$ ls", "useru text:again"],
        calls: 0,
        boundaries: &[],
        warnings: &["abandoned-branch"],
    },
];

/// pi 0.87.1 and 1.6.0.
const PI: &[Row] = &[
    Row {
        name: "a system prompt, and usage beside the conversation",
        lines: r#"{"type":"message","id":"1","parentId":null,"message":{"role":"system","content":"Be brief."}}
{"type":"message","id":"2","parentId":"1","message":{"role":"user","content":"go"}}
{"type":"usage","id":"3","parentId":"2","kind":"title","provider":"p","model":"m","usage":{"input":5,"output":2,"cacheRead":0,"cacheWrite":0,"totalTokens":7}}
{"type":"message","id":"4","parentId":"3","message":{"role":"assistant","content":[{"type":"text","text":"Done."}],"stopReason":"stop"}}"#,
        expected: &["useru text:go", "assistant text:Done."],
        calls: 1,
        boundaries: &[],
        warnings: &["stray-usage"],
    },
    Row {
        name: "a prompt in sections with its tools, and what changes of it later",
        lines: r#"{"type":"message","id":"1","parentId":null,"message":{"role":"system","content":"","sections":{"preamble":"You help.","rules":"Old."},"toolsAdded":[{"name":"f","description":"d","parameters":{"type":"object"}}]}}
{"type":"message","id":"2","parentId":"1","message":{"role":"system","content":"","sections":{"rules":"Be brief."},"toolsAdded":[{"name":"g","description":"e","parameters":{"type":"object"}}],"toolsRemoved":[{"name":"f"}]}}
{"type":"message","id":"3","parentId":"2","message":{"role":"user","content":"go"}}
{"type":"message","id":"4","parentId":"3","message":{"role":"system","content":"Also this.","sections":{"a/b":"New.","rules":null}}}
{"type":"message","id":"5","parentId":"4","message":{"role":"system","content":"","toolsRemoved":[{"name":"g"}]}}
{"type":"message","id":"6","parentId":"5","message":{"role":"assistant","content":[{"type":"text","text":"Done."}],"stopReason":"stop"}}"#,
        expected: &["useru text:go", "system text:Also this.||Updated ", "assistant text:Done."],
        calls: 1,
        boundaries: &[],
        warnings: &["tools-changed"],
    },
    Row {
        name: "usage of a summary, of a branch's, of a tool and of an answer that was taken out",
        lines: r#"{"type":"message","id":"1","parentId":null,"message":{"role":"user","content":"go"}}
{"type":"message","id":"2","parentId":"1","message":{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"f","arguments":{}}],"stopReason":"toolUse","usage":{"input":9,"output":30,"cacheRead":5,"cacheWrite":8,"cacheWrite1h":3,"reasoning":20}}}
{"type":"message","id":"3","parentId":"2","message":{"role":"toolResult","toolCallId":"c","toolName":"f","content":[],"usage":{"input":1,"output":1}}}
{"type":"message","id":"4","parentId":"3","message":{"role":"assistant","content":[{"type":"text","text":"Oops."}],"stopReason":"error","usage":{"input":10,"output":10}}}
{"type":"context_edit","id":"5","parentId":"4","targetId":"4","replacement":null}
{"type":"branch_summary","id":"6","parentId":"5","fromId":"x","summary":"Left.","usage":{"input":100,"output":100}}
{"type":"compaction","id":"7","parentId":"6","summary":"Short.","firstKeptEntryId":"7","tokensBefore":5,"usage":{"input":1000,"output":1000}}
{"type":"message","id":"8","parentId":"7","message":{"role":"user","content":"on"}}"#,
        expected: &[
            "useru text:go",
            "assistant tool-call:{}",
            "tool tool-result:",
            "user+ text:Left.",
            "user+E text:Short.",
            "useru text:on",
        ],
        calls: 1,
        boundaries: &["summary"],
        warnings: &["context-edit", "stray-usage"],
    },
    Row {
        name: "what was taken out stays out, and what was replaced is what replaced it",
        lines: r#"{"type":"message","id":"1","parentId":null,"message":{"role":"user","content":"secret"}}
{"type":"message","id":"2","parentId":"1","message":{"role":"assistant","content":[{"type":"text","text":"Long."},{"type":"toolCall","id":"c","name":"f","arguments":{}}],"stopReason":"toolUse"}}
{"type":"message","id":"3","parentId":"2","message":{"role":"toolResult","toolCallId":"c","toolName":"f","content":[{"type":"text","text":"much"}]}}
{"type":"custom_message","id":"4","parentId":"3","customType":"x","content":"hint","display":true}
{"type":"context_edit","id":"5","parentId":"4","targetId":"3","replacement":{"content":"first"}}
{"type":"context_edit","id":"6","parentId":"5","targetId":"1","replacement":null}
{"type":"context_edit","id":"7","parentId":"6","targetId":"3","replacement":{"content":[{"type":"text","text":"little"}]}}
{"type":"context_edit","id":"8","parentId":"7","targetId":"4","replacement":{"content":"other hint"}}
{"type":"message","id":"9","parentId":"8","message":{"role":"user","content":"next"}}"#,
        expected: &[
            "assistant text:Long. tool-call:{}",
            "tool tool-result:little",
            "user+ text:other hint",
            "user+ text:next",
        ],
        calls: 1,
        boundaries: &[],
        warnings: &["context-edit"],
    },
    Row {
        name: "an edit counts on its own branch",
        lines: r#"{"type":"message","id":"1","parentId":null,"message":{"role":"user","content":"go"}}
{"type":"context_edit","id":"2","parentId":"1","targetId":"1","replacement":null}
{"type":"message","id":"3","parentId":"1","message":{"role":"assistant","content":[{"type":"text","text":"Done."}],"stopReason":"stop"}}"#,
        expected: &["useru text:go", "assistant text:Done."],
        calls: 1,
        boundaries: &[],
        warnings: &[],
    },
];

/// oh-my-pi 18.3.4, after its source.
const OH_MY_PI: &[Row] = &[Row {
    name: "what it has beside pi's entries, and what the user cleared",
    lines: r#"{"type":"session","version":3,"id":"s","timestamp":"2026-11-28T10:00:00.000Z","cwd":"/"}
{"type":"session_init","id":"0","parentId":null,"systemPrompt":"Be brief.","task":"go","tools":[]}
{"type":"credential_pin","id":"1","parentId":"0","provider":"p","hash":"00"}
{"type":"message","id":"2","parentId":"1","message":{"role":"user","content":"go"}}
{"type":"message","id":"3","parentId":"2","message":{"role":"assistant","content":[{"type":"text","text":"Done."}],"stopReason":"stop"}}
{"type":"model_usage","id":"4","parentId":"3","purpose":"title","provider":"p","model":"m","usage":{"input":5,"output":2,"cacheRead":0,"cacheWrite":0,"totalTokens":7},"stopReason":"stop"}
{"type":"title_change","id":"5","parentId":"4","title":"Go","source":"auto"}
{"type":"service_tier_change","id":"6","parentId":"5","serviceTier":null}
{"type":"mode_change","id":"7","parentId":"6","mode":"plan"}
{"type":"ttsr_injection","id":"8","parentId":"7","injectedRules":["r"]}
{"type":"reset_boundary","id":"9","parentId":"8"}
{"type":"message","id":"a","parentId":"9","message":{"role":"user","content":"more"}}"#,
    expected: &["useru text:go", "assistant text:Done.", "useru text:more"],
    calls: 1,
    boundaries: &["drop"],
    warnings: &["stray-usage"],
}];

/// Codex 0.171.0.
const CODEX: &[Row] = &[
    Row {
        name: "every response has a line for its usage; a turn that is broken off has no token count",
        lines: r#"{"type":"event_msg","payload":{"type":"task_started","turn_id":"1"}}
{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]}}
{"type":"response_item","payload":{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}}
{"type":"token_usage_record","payload":{"response_id":"r1","usage":{"input_tokens":9,"output_tokens":2},"thread_token_usage":{"input_tokens":9,"output_tokens":2}}}
{"type":"response_item","payload":{"type":"function_call_output","call_id":"c","output":"x"}}
{"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":9,"output_tokens":2},"last_token_usage":{"input_tokens":9,"output_tokens":2}}}}
{"type":"response_item","payload":{"type":"function_call","call_id":"d","name":"f","arguments":"{}"}}
{"type":"token_usage_record","payload":{"response_id":"r2","usage":{"input_tokens":20,"output_tokens":3},"thread_token_usage":{"input_tokens":29,"output_tokens":5}}}
{"type":"event_msg","payload":{"type":"turn_aborted","reason":"interrupted"}}
{"type":"response_item","payload":{"type":"function_call_output","call_id":"d","output":"aborted"}}"#,
        expected: &[
            "useru text:go",
            "assistant tool-call:{}",
            "tool tool-result:x",
            "assistant tool-call:{}",
            "tool tool-result:aborted",
        ],
        calls: 2,
        boundaries: &[],
        warnings: &[],
    },
    Row {
        name: "the answer that is a summary is none of the conversation's",
        lines: r#"{"type":"event_msg","payload":{"type":"task_started","turn_id":"1"}}
{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]}}
{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Done."}]}}
{"type":"token_usage_record","payload":{"response_id":"r1","usage":{"input_tokens":9,"output_tokens":2},"thread_token_usage":{"input_tokens":9,"output_tokens":2}}}
{"type":"event_msg","payload":{"type":"task_complete"}}
{"type":"event_msg","payload":{"type":"task_started","turn_id":"2"}}
{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"We did it."}]}}
{"type":"token_usage_record","payload":{"response_id":"r2","usage":{"input_tokens":20,"output_tokens":3},"thread_token_usage":{"input_tokens":29,"output_tokens":5}}}
{"type":"compacted","payload":{"message":"Another model says:\nWe did it.","replacement_history":[]}}
{"type":"event_msg","payload":{"type":"task_complete"}}
{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"more"}]}}
{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Yes."}]}}"#,
        expected: &[
            "useru text:go",
            "assistant text:Done.",
            "assistantE text:We did it.",
            "user+E text:Another model says:|",
            "useru text:more",
            "assistant text:Yes.",
        ],
        calls: 2,
        boundaries: &["replace"],
        warnings: &[],
    },
];

/// Claude Code 2.1.332.
const CLAUDE_CODE: &[Row] = &[Row {
    name: "what stands around the messages, and what is put beside them",
    lines: r#"{"type":"user","uuid":"u","parentUuid":null,"sessionId":"s","message":{"role":"user","content":"go"}}
{"type":"attachment","uuid":"1","parentUuid":"u","sessionId":"s","attachment":{"type":"total_tokens_reminder","text":"900 left"}}
{"type":"attachment","uuid":"2","parentUuid":"1","sessionId":"s","attachment":{"type":"environment","snapshot":{"shell":"bash"}}}
{"type":"attachment","uuid":"3","parentUuid":"2","sessionId":"s","attachment":{"type":"prompt_snapshot","systemPrompt":["You help.","Be brief."]}}
{"type":"api-request-shape","sessionId":"s","shapeHash":"h","shape":{"system":[{"type":"text","text":"You help."}]}}
{"type":"assistant","uuid":"a","parentUuid":"3","sessionId":"s","requestId":"r","message":{"id":"m","model":"x","role":"assistant","content":[{"type":"text","text":"Done."}],"stop_reason":"end_turn","usage":{"input_tokens":9,"output_tokens":2}}}
{"type":"attachment","uuid":"4","parentUuid":"a","sessionId":"s","attachment":{"type":"prompt_snapshot","systemPrompt":["You help.","Be brief."],"tools":[{"name":"f","description":"d","schema":{"type":"object"}}]}}
{"type":"cost-state","sessionId":"s","totalCostUSD":0.1}
{"type":"tools-used","tools":[],"sessionId":"s"}
{"type":"atis-latch","atis":"","sessionId":"s"}"#,
    expected: &[
        "useru text:go",
        "user+ text:900 left",
        "user+ text:{\"shell\":\"bash\"}",
        "assistant text:Done.",
    ],
    calls: 1,
    boundaries: &[],
    warnings: &[],
}];

/// Qwen Code 0.24.4.
const QWEN: &[Row] = &[
    Row {
        name: "what is said mid-turn goes behind the result, and what the client writes is not the user's",
        lines: r#"{"uuid":"u","parentUuid":"0","sessionId":"s","type":"user","message":{"role":"user","parts":[{"text":"go"}]}}
{"uuid":"t","parentUuid":"u","sessionId":"s","type":"system","subtype":"ui_telemetry","systemPayload":{}}
{"uuid":"a","parentUuid":"t","sessionId":"s","type":"assistant","model":"m","message":{"role":"model","parts":[{"text":"Hm.","thought":true},{"functionCall":{"id":"c","name":"f","args":{"a":1}}}]},"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":3,"thoughtsTokenCount":2,"totalTokenCount":12}}
{"uuid":"r","parentUuid":"a","sessionId":"s","type":"tool_result","message":{"role":"user","parts":[{"functionResponse":{"id":"c","name":"f","response":{"error":"no"}}}]},"toolCallResult":{"callId":"c","status":"error"}}
{"uuid":"v","parentUuid":"r","sessionId":"s","type":"user","subtype":"mid_turn_user_message","message":{"role":"user","parts":[{"text":"wait"}]}}
{"uuid":"b","parentUuid":"v","sessionId":"s","type":"assistant","model":"m","message":{"role":"model","parts":[{"text":"Was it."}]},"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":3,"thoughtsTokenCount":2,"totalTokenCount":14}}
{"uuid":"n","parentUuid":"b","sessionId":"s","type":"user","subtype":"notification","message":{"role":"user","parts":[{"text":"It ended."}]}}
{"uuid":"w","parentUuid":"n","sessionId":"s","type":"user","subtype":"realtime_message","message":{"role":"user","parts":[{"text":"spoken"}]}}
{"uuid":"o","parentUuid":"w","sessionId":"s","type":"owl","message":{"role":"user","parts":[{"text":"?"}]}}"#,
        expected: &[
            "useru text:go",
            "assistant reasoning:Hm. tool-call:{\"a\":1}",
            "tool tool-result:no",
            "user+ text:wait",
            "assistant text:Was it.",
            "user+ text:It ended.",
        ],
        calls: 2,
        boundaries: &[],
        warnings: &["unknown-type"],
    },
    Row {
        name: "the user goes back, once to the beginning; a command that the client answers is not sent",
        lines: r#"{"uuid":"u","parentUuid":null,"sessionId":"s","type":"user","message":{"role":"user","parts":[{"text":"gone"}]}}
{"uuid":"a","parentUuid":"u","sessionId":"s","type":"assistant","model":"m","message":{"role":"model","parts":[{"text":"Gone."}]}}
{"uuid":"w","parentUuid":null,"sessionId":"s","type":"system","subtype":"rewind","systemPayload":{}}
{"uuid":"v","parentUuid":"w","sessionId":"s","type":"user","message":{"role":"user","parts":[{"text":"go"}]}}
{"uuid":"b","parentUuid":"v","sessionId":"s","type":"assistant","model":"m","message":{"role":"model","parts":[{"text":"Done."}]}}
{"uuid":"x","parentUuid":"b","sessionId":"s","type":"user","message":{"role":"user","parts":[{"text":"gone, too"}]}}
{"uuid":"y","parentUuid":"b","sessionId":"s","type":"system","subtype":"rewind","systemPayload":{}}
{"uuid":"z","parentUuid":"y","sessionId":"s","type":"user","message":{"role":"user","parts":[{"text":"/about"}]}}
{"uuid":"1","parentUuid":"z","sessionId":"s","type":"system","subtype":"slash_command","systemPayload":{"phase":"result","rawCommand":"/about","outputHistoryItems":[{"type":"assistant"}]}}
{"uuid":"2","parentUuid":"1","sessionId":"s","type":"user","message":{"role":"user","parts":[{"text":"more"}]}}"#,
        expected: &["useru text:go", "assistant text:Done.", "useru text:more"],
        calls: 1,
        boundaries: &[],
        warnings: &["abandoned-branch"],
    },
    Row {
        name: "a compaction has what it keeps once more",
        lines: r#"{"uuid":"u","parentUuid":null,"sessionId":"s","type":"user","message":{"role":"user","parts":[{"text":"go"}]}}
{"uuid":"a","parentUuid":"u","sessionId":"s","type":"assistant","model":"m","message":{"role":"model","parts":[{"functionCall":{"id":"c","name":"f","args":{}}}]}}
{"uuid":"r","parentUuid":"a","sessionId":"s","type":"tool_result","message":{"role":"user","parts":[{"functionResponse":{"id":"c","name":"f","response":{"output":"r"}}}]}}
{"uuid":"k","parentUuid":"r","sessionId":"s","type":"system","subtype":"chat_compression","systemPayload":{"info":{"originalTokenCount":90,"newTokenCount":20,"triggerReason":"auto"},"compressedHistory":[{"role":"user","parts":[{"text":"We did it."}]},{"role":"model","parts":[{"functionCall":{"id":"c","name":"f","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"id":"c","name":"f","response":{"output":"r"}}}]}]}}
{"uuid":"b","parentUuid":"k","sessionId":"s","type":"assistant","model":"m","message":{"role":"model","parts":[{"text":"Done."}]}}"#,
        expected: &[
            "useru text:go",
            "assistant tool-call:{}",
            "tool tool-result:r",
            "user+E text:We did it.",
            "assistantE tool-call:{}",
            "toolE tool-result:r",
            "assistant text:Done.",
        ],
        calls: 2,
        boundaries: &["summary"],
        warnings: &[],
    },
];

fn check(format: &str, header: &str, rows: &[Row]) {
    for row in rows {
        let found = session(&format!("{header}\n{}\n", row.lines), format);
        assert_eq!(outline(&found, 20), row.expected, "{}", row.name);
        assert_eq!(found.calls(), row.calls, "{}", row.name);
        let kinds: Vec<&str> = found.boundaries.iter().map(|boundary| &*boundary.kind).collect();
        assert_eq!(kinds, row.boundaries, "{}", row.name);
        assert_eq!(warnings(&found), row.warnings, "{}", row.name);
        crate::common::check(&found);
    }
}

/// Requests as Claude Code 2.1.332 writes them down: by hashes of messages, which have lines of their own or are the content of
/// others. The hashes of the fixture are not made by this program.
#[test]
fn requests_that_are_written_down_are_read() {
    let read = session(&crate::common::fixture("claude-code", "requests.jsonl"), "claude-code");
    let shown =
        |message: &Arc<Message>| format!("{}:{}", message.role.as_str(), message.shown_text());
    let sent: Vec<(&str, usize, Vec<String>)> = read
        .sent
        .iter()
        .map(|request| {
            let tail = request.tail.iter().map(|one| one.iter().map(shown).collect());
            (&*request.answer, request.keep, tail.collect())
        })
        .collect();
    let first = "user:<system-reminder>It is a November day.</system-reminder>\nRead both files.";
    let summary = "user:<system-reminder>It is a November day.</system-reminder>\nBoth were read.";
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let expected = [
        ("a1", 0, owned(&[first])),
        (
            "a3",
            1,
            owned(&[
                "assistant:I read one \"quoted\" é.\n{\"path\":\"a\",\"limit\":1.5}",
                "tool:alpha\nalpha\nalpha\n",
            ]),
        ),
        ("a4", 0, owned(&[summary])),
        // The one before it holds a message that no line has.
        (
            "a6",
            1,
            owned(&[
                "assistant:One more.\n{\"path\":\"c\"}",
                "tool:gamma\n",
                "assistant:{\"path\":\"d\"}",
                "tool:delta\n",
            ]),
        ),
    ];
    assert_eq!(sent, expected);
    for request in &read.sent {
        assert_eq!(request.frame.text_of(SegmentKind::System), Some("You help."));
        assert!(request.frame.text_of(SegmentKind::Tools).unwrap().contains("Reads a file."));
    }
    assert_eq!(warnings(&read), ["request-unknown", "cleared-by-provider"]);
    assert!(read.warnings.iter().all(|one| one.detail.starts_with("1 request(s)")));
    // They survive the project's own lines.
    let lines = convert(std::slice::from_ref(&read), foldback_formats::format("foldback").unwrap())
        .unwrap()
        .text;
    assert_eq!(session(&lines, "foldback").sent, read.sent);
}

#[test]
fn what_kimi_code_records() {
    check("kimi-code", r#"{"type":"metadata","protocol_version":"1.5","created_at":1}"#, KIMI);
}

#[test]
fn what_qwen_code_records() {
    let header = r#"{"uuid":"0","parentUuid":null,"sessionId":"s","type":"system","subtype":"session_model","systemPayload":{}}"#;
    check("qwen-code", header, QWEN);
    // What was thought stands beside the output of Gemini, and in that of others.
    let read = session(&format!("{header}\n{}\n", QWEN[0].lines), "qwen-code");
    assert_eq!(usage(&read), [18, 0, 0, 4, 4]);
}

#[test]
fn what_gemini_cli_records() {
    check("gemini-cli", r#"{"sessionId":"s","projectHash":"h"}"#, GEMINI);
}

#[test]
fn what_oh_my_pi_records_beside_what_pi_does() {
    let title =
        r#"{"type":"title","v":1,"title":"Go","updatedAt":"2026-11-28T10:00:00.000Z","pad":"  "}"#;
    check("pi", title, OH_MY_PI);
    let text = format!("{title}\n{}\n", OH_MY_PI[0].lines);
    let read = session(&text, "pi");
    assert_eq!(read.frame.text_of(SegmentKind::System), Some("Be brief."));
    assert_eq!(session(&text.repeat(2), "pi").messages.len(), read.messages.len());
}

#[test]
fn what_codex_records() {
    let header = r#"{"type":"session_meta","payload":{"id":"s"}}"#;
    check("codex", header, CODEX);
    let read = |lines: &str| session(&format!("{header}\n{lines}\n"), "codex");
    assert_eq!(usage(&read(CODEX[0].lines)), [29, 0, 0, 5, 0]);
    assert_eq!(read(CODEX[1].lines).boundaries[0].trigger, "manual");
    let continued = r#"{"type":"session_meta","payload":{"id":"t","history_base":{"thread_id":"s","end_byte_offset":9}}}"#;
    assert!(session(&format!("{continued}\n{}", CODEX[1].lines), "codex").begins_midway());
}

#[test]
fn what_claude_code_records() {
    let header = r#"{"type":"mode","mode":"normal","sessionId":"s"}"#;
    check("claude-code", header, CLAUDE_CODE);
    let frame = session(&format!("{header}\n{}\n", CLAUDE_CODE[0].lines), "claude-code").frame;
    assert_eq!(frame.text_of(SegmentKind::System), Some("You help.\n\nBe brief."));
    let tools = r#"[{"name":"f","description":"d","input_schema":{"type":"object"}}]"#;
    assert_eq!(frame.text_of(SegmentKind::Tools), Some(tools));
}

#[test]
fn what_pi_records() {
    check("pi", r#"{"type":"session","version":3,"id":"s","cwd":"/"}"#, PI);
    let read = |row: usize| {
        let header = r#"{"type":"session","id":"s","cwd":"/"}"#;
        session(&format!("{header}\n{}\n", PI[row].lines), "pi")
    };
    assert_eq!(read(0).frame.text_of(SegmentKind::System), Some("Be brief."));
    let segments: Vec<String> =
        read(1).frame.segments().iter().map(|segment| segment.text.to_string()).collect();
    let tools = r#"[{"name":"g","description":"e","parameters":{"type":"object"}}]"#;
    assert_eq!(segments, ["You help.", "Be brief.", tools]);
    let spent = read(2);
    assert_eq!(usage(&spent), [9, 5, 8, 10, 20]);
    let used = spent.messages[1].answer.as_ref().unwrap().usage.unwrap();
    assert_eq!(used.cache_write_1h, 3);
    let beside = spent.warnings.iter().find(|warning| warning.code == "stray-usage").unwrap();
    assert!(beside.detail.starts_with("4 request(s) with 2222 tokens "), "{}", beside.detail);
}

#[test]
fn a_chat_that_was_taken_back_whole_has_no_messages() {
    let text = r#"{"sessionId":"s","projectHash":"h"}
{"id":"u","type":"user","content":[{"text":"go"}]}
{"$rewindTo":"u"}
{"$set":{"messages":[]}}"#;
    let found = foldback_formats::read(text.as_bytes(), None);
    assert!(matches!(found, Err(foldback_formats::ReadError::NoMessages)), "{found:?}");
}

/// Read without its first records, this file would tell of the branch that was left.
#[test]
fn a_branch_on_which_nothing_was_said_has_no_messages() {
    let text = r#"{"type":"session","version":3,"id":"s","cwd":"/"}
{"type":"message","id":"1","parentId":null,"message":{"role":"system","content":"Be brief."}}
{"type":"message","id":"2","parentId":"1","message":{"role":"user","content":"go"}}
{"type":"message","id":"3","parentId":"2","message":{"role":"assistant","content":[{"type":"text","text":"Done."}],"stopReason":"stop"}}
{"type":"thinking_level_change","id":"4","parentId":"1","thinkingLevel":"high"}"#;
    for from in [Some("pi"), None] {
        let found = foldback_formats::read(text.as_bytes(), from);
        assert!(matches!(found, Err(foldback_formats::ReadError::NoMessages)), "{found:?}");
    }
}

#[test]
fn a_result_of_gemini_goes_with_the_call_of_its_id() {
    let call = |id: &str| match id {
        "" => r#"{"functionCall":{"name":"f","args":{}}}"#.to_owned(),
        id => format!(r#"{{"functionCall":{{"name":"f","id":"{id}","args":{{}}}}}}"#),
    };
    let result = |id: &str| match id {
        "" => r#"{"functionResponse":{"name":"f","response":{"output":"-"}}}"#.to_owned(),
        id => format!(
            r#"{{"functionResponse":{{"name":"f","id":"{id}","response":{{"output":"{id}"}}}}}}"#
        ),
    };
    // Ids of calls, ids of results, and the calls that the results answer. A call without an id has the name of its tool.
    let rows: &[(&[&str], &[&str], &[&str])] = &[
        (&["", "x"], &["x", ""], &["x", "f"]),
        (&["x", ""], &["x", ""], &["x", "f"]),
        (&["", ""], &["", ""], &["f", "f_2"]),
        (&["", "x"], &["y", "x"], &["f", "x"]),
        (&["x", "y"], &["", ""], &["x", "y"]),
        (&["x", "y"], &["y", "x"], &["y", "x"]),
        (&["x"], &["z"], &["z"]),
    ];
    for (calls, results, expected) in rows {
        let list = |parts: Vec<String>| parts.join(",");
        let text = format!(
            r#"{{"contents":[{{"role":"user","parts":[{{"text":"go"}}]}},{{"role":"model","parts":[{}]}},{{"role":"user","parts":[{}]}}]}}"#,
            list(calls.iter().map(|id| call(id)).collect()),
            list(results.iter().map(|id| result(id)).collect()),
        );
        let found = session(&text, "gemini");
        let parts = found.messages.iter().flat_map(|message| &message.parts);
        let answered: Vec<&str> =
            parts.filter_map(|part| Some(&*part.as_result()?.call_id)).collect();
        assert_eq!(answered, *expected, "{calls:?} {results:?}");
    }
}
