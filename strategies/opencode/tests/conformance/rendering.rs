//! From stored messages to what the model is sent.

use crate::support::{assistant, conversation, strategy};
use foldback_core::Limits;
use foldback_core::log::{
    Answer, Finish, Marker, Media, Message, Part, PartKind, ResultStatus, ToolResult,
};
use foldback_core::view::PartPos;
use foldback_opencode::render::{Rendering, ResultMedia, Version, to_model_messages};
use foldback_opencode::stored::stored_messages;
use serde_json::{Value, json};

const JAN: Rendering<'static> = Rendering {
    version: Version::January,
    model: None,
    result_media: ResultMedia::All,
    strip_media: false,
    max_output: None,
};
const JUN: Rendering<'static> = Rendering { version: Version::V1_17, ..JAN };

struct Row {
    id: &'static str,
    how: Rendering<'static>,
    given: Vec<Message>,
    /// Positions of messages whose first part is cleared.
    cleared: &'static [usize],
    expect: Value,
}

fn row(id: &'static str, how: Rendering<'static>, given: Vec<Message>, expect: Value) -> Row {
    Row { id, how, given, cleared: &[], expect }
}

fn user(parts: Vec<Part>) -> Message {
    Message { parts, ..Message::user("u", "") }
}

fn ignored(text: &str) -> Part {
    Part::new(PartKind::Text { text: text.to_owned(), synthetic: false, ignored: true })
}

fn media(mime: &str, name: &str) -> Media {
    Media { mime: mime.to_owned(), name: Some(name.to_owned()), url: "data:,x".to_owned() }
}

fn file(mime: &str, name: &str) -> Part {
    Part::new(PartKind::File(media(mime, name)))
}

fn unknown(name: &str) -> Part {
    Part::new(PartKind::Unknown { name: name.to_owned(), raw: json!({"type": name}) })
}

fn reasoning(text: &str) -> Part {
    Part::new(PartKind::Reasoning { text: text.to_owned(), opaque: Some("sig".to_owned()) })
}

fn model(parts: Vec<Part>) -> Message {
    assistant("a", parts, Finish::Stop)
}

fn failed(error: &str, parts: Vec<Part>) -> Message {
    Message {
        answer: Some(Answer { error: Some(error.to_owned()), ..Answer::default() }),
        ..model(parts)
    }
}

/// A call and its result.
fn tool(result: ToolResult) -> Vec<Message> {
    let call = Part::call("c1", "bash", r#"{"cmd":"ls"}"#);
    let result = ToolResult { call_id: "c1".to_owned(), tool: "bash".to_owned(), ..result };
    let mut message = Message::tool("r", "c1", "bash", "");
    message.parts = vec![Part::new(PartKind::Result(result))];
    vec![assistant("a", vec![call], Finish::ToolCalls), message]
}

fn output(text: &str) -> ToolResult {
    ToolResult { text: text.to_owned(), ..ToolResult::default() }
}

fn ended(status: ResultStatus, text: &str) -> ToolResult {
    ToolResult { status, ..output(text) }
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn said(role: &str, content: Vec<Value>) -> Value {
    json!({"role": role, "content": content})
}

fn called() -> Value {
    let call = json!({"type": "tool-call", "toolCallId": "c1", "toolName": "bash", "input": {"cmd": "ls"}});
    said("assistant", vec![call])
}

fn answered(output: Value) -> Value {
    let result =
        json!({"type": "tool-result", "toolCallId": "c1", "toolName": "bash", "output": output});
    said("tool", vec![result])
}

fn png() -> Value {
    json!({"type": "file", "mediaType": "image/png", "filename": "cat.png", "data": "data:,x"})
}

fn interrupted() -> Value {
    json!({"type": "error-text", "value": "[Tool execution was interrupted]"})
}

fn rows() -> Vec<Row> {
    let with_png = || ToolResult { media: vec![media("image/png", "cat.png")], ..output("ok") };
    let with_pdf = || ToolResult { media: vec![media("application/pdf", "a.pdf")], ..output("ok") };
    let ok = || json!({"type": "text", "value": "ok"});
    let note = |tool: &str| text(&format!("Tool {tool} returned an attachment:"));
    let mut rows = vec![
        row("OC1-R1", JAN, vec![user(vec![]), model(vec![])], json!([])),
        row("OC1-R2", JAN, vec![user(vec![ignored("no")])], json!([])),
        row("OC17-R2b", JUN, vec![user(vec![Part::text("")])], json!([])),
        row(
            "OC17-R2b",
            JUN,
            vec![user(vec![Part::text(""), Part::text("yes")])],
            json!([said("user", vec![text("yes")])]),
        ),
        row(
            "OC1-R3",
            JAN,
            vec![user(vec![Part::synthetic("note")])],
            json!([said("user", vec![text("note")])]),
        ),
        row(
            "OC1-R4",
            JAN,
            vec![user(vec![
                Part::text("hello"),
                ignored("no"),
                file("image/png", "cat.png"),
                file("text/plain", "a.txt"),
                file("application/x-directory", "src"),
                Part::new(PartKind::Marker(Marker {
                    text: "What did we do so far?".to_owned(),
                    ..Marker::default()
                })),
                unknown("subtask"),
            ])],
            json!([said(
                "user",
                vec![
                    text("hello"),
                    png(),
                    text("What did we do so far?"),
                    text("The following tool was executed by the user"),
                ]
            )]),
        ),
        row(
            "OC1-R5",
            JAN,
            tool(with_png()),
            json!([said("user", vec![note("bash"), png()]), called(), answered(ok())]),
        ),
        row(
            "OC17-R5",
            JUN,
            tool(with_png()),
            json!([called(), answered(json!({"type": "content", "value": [text("ok"), png()]}))]),
        ),
        row(
            "OC17-R5b",
            Rendering { result_media: ResultMedia::Images, ..JUN },
            tool(with_pdf()),
            json!([
                called(),
                answered(ok()),
                said(
                    "user",
                    vec![
                        text("Attached media from tool result:"),
                        json!({"type": "file", "mediaType": "application/pdf", "filename": "a.pdf", "data": "data:,x"}),
                    ]
                ),
            ]),
        ),
        row(
            "OC17-R5b, an image",
            Rendering { result_media: ResultMedia::Images, ..JUN },
            tool(with_png()),
            json!([called(), answered(json!({"type": "content", "value": [text("ok"), png()]}))]),
        ),
        row(
            "OC1-R6",
            Rendering { model: Some("other"), ..JAN },
            vec![model(vec![reasoning("hm"), Part::text("so")])],
            json!([said(
                "assistant",
                vec![json!({"type": "reasoning", "text": "hm"}), text("so")]
            )]),
        ),
        row(
            "OC1-R6, same model",
            Rendering { model: Some("big"), ..JAN },
            vec![model(vec![reasoning("hm")])],
            json!([said(
                "assistant",
                vec![json!({"type": "reasoning", "text": "hm", "providerOptions": "sig"})]
            )]),
        ),
        row(
            "OC17-R6",
            Rendering { model: Some("other"), ..JUN },
            vec![model(vec![reasoning("hm"), Part::text("so")])],
            json!([said("assistant", vec![text("hm"), text("so")])]),
        ),
        row(
            "OC17-R8",
            Rendering { max_output: Some(4), ..JUN },
            tool(output("abcdefghij")),
            json!([
                called(),
                answered(
                    json!({"type": "text", "value": "abcd\n[Tool output truncated for compaction: omitted 6 chars]"})
                )
            ]),
        ),
        row(
            "OC17-R8, at the limit",
            Rendering { max_output: Some(10), ..JUN },
            tool(output("abcdefghij")),
            json!([called(), answered(json!({"type": "text", "value": "abcdefghij"}))]),
        ),
        row(
            "OC17-R8, UTF-16",
            Rendering { max_output: Some(3), ..JUN },
            tool(output("😀😀")),
            json!([
                called(),
                answered(
                    json!({"type": "text", "value": "😀\n[Tool output truncated for compaction: omitted 1 chars]"})
                )
            ]),
        ),
        row(
            "OC1-R9",
            JAN,
            tool(ended(ResultStatus::Error, "nope")),
            json!([called(), answered(json!({"type": "error-text", "value": "nope"}))]),
        ),
        row(
            "OC17-R10",
            JUN,
            tool(ToolResult {
                structured: Some(json!({"interrupted": true, "output": "so far"})),
                ..ended(ResultStatus::Error, "aborted")
            }),
            json!([called(), answered(json!({"type": "text", "value": "so far"}))]),
        ),
        row("OC1-R11", JAN, vec![failed("APIError", vec![Part::text("half")])], json!([])),
        row(
            "OC1-R12",
            JAN,
            vec![failed("MessageAbortedError", vec![reasoning("hm"), Part::text("half")])],
            json!([said(
                "assistant",
                vec![
                    json!({"type": "reasoning", "text": "hm", "providerOptions": "sig"}),
                    text("half")
                ]
            )]),
        ),
        row(
            "OC1-R12",
            JAN,
            vec![failed("MessageAbortedError", vec![unknown("step-start"), reasoning("hm")])],
            json!([]),
        ),
        row(
            "OC1-R13",
            JAN,
            vec![model(vec![Part::text("one"), unknown("step-start"), Part::text("two")])],
            json!([said("assistant", vec![text("one")]), said("assistant", vec![text("two")])]),
        ),
        row("OC1-R14", JAN, vec![model(vec![unknown("step-start")])], json!([])),
        row(
            "OC1-R15",
            JAN,
            tool(ended(ResultStatus::Pending, "")),
            json!([called(), answered(interrupted())]),
        ),
        row(
            "OC1-R15",
            JAN,
            tool(ended(ResultStatus::Running, "half")),
            json!([called(), answered(interrupted())]),
        ),
        row(
            "OC1-R15, no result at all",
            JAN,
            tool(output("")).into_iter().take(1).collect(),
            json!([called(), answered(interrupted())]),
        ),
        row(
            "OC17-R15",
            JUN,
            tool(ended(ResultStatus::Running, "half")),
            json!([called(), answered(interrupted())]),
        ),
    ];
    let placeholder =
        || answered(json!({"type": "text", "value": "[Old tool result content cleared]"}));
    for (id, how, result, expect) in [
        ("OC1-R7", JAN, output("long"), json!([called(), placeholder()])),
        ("OC17-R7", JUN, output("long"), json!([called(), placeholder()])),
        (
            "OC17-R7, cut",
            Rendering { max_output: Some(4), ..JUN },
            output("long"),
            json!([called(), placeholder()]),
        ),
        (
            "OC1-R7, media",
            JAN,
            with_png(),
            json!([said("user", vec![note("bash"), png()]), called(), placeholder()]),
        ),
        ("OC17-R7, media", JUN, with_png(), json!([called(), placeholder()])),
    ] {
        rows.push(Row { cleared: &[1], ..row(id, how, tool(result), expect) });
    }
    // Two answers that were stored as one message are two steps of it.
    let step = |id: &str, text: &str| Message {
        record: Some(7),
        ..assistant(id, vec![Part::text(text)], Finish::Stop)
    };
    rows.push(row(
        "OC1-R13, as recorded",
        JAN,
        vec![step("a1", "one"), step("a2", "two")],
        json!([said("assistant", vec![text("one")]), said("assistant", vec![text("two")])]),
    ));
    let stripped = Rendering { strip_media: true, ..JUN };
    rows.push(row(
        "OC17, stripped",
        stripped,
        vec![user(vec![file("image/png", "big.png")])],
        json!([said("user", vec![text("[Attached image/png: big.png]")])]),
    ));
    rows.push(row("OC17, stripped", stripped, tool(with_png()), json!([called(), answered(ok())])));
    rows
}

#[test]
fn rendering() {
    for row in rows() {
        let mut conversation = conversation(strategy("opencode", ""), Limits::default());
        for message in row.given {
            conversation.append(message);
        }
        for item in row.cleared {
            let at = PartPos { item: *item, part: 0 };
            conversation.mark_cleared(at, "[Old tool result content cleared]".into(), 0);
        }
        let history = conversation.history();
        let rendered =
            to_model_messages(history, conversation.view(), &stored_messages(history), row.how);
        let rendered = serde_json::to_value(rendered).unwrap();
        assert_eq!(rendered, row.expect, "{}:\n{rendered:#}", row.id);
    }
}

pub(crate) fn ids() -> Vec<&'static str> {
    rows().into_iter().map(|row| row.id).collect()
}
