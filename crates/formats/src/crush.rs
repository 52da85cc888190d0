//! `crush`: a session of Crush, as `crush session show --json` prints it or, as its store gives it, in `crush.db`.
//!
//! The two have one shape; a store knows more: what a summary is, the files, the signatures. The format is only read.
//! `docs/crush.md` has the mapping.

use crate::prelude::*;

pub(crate) const FORMAT: Format =
    Format::new("crush", "Crush session (`crush session show --json`)", SIGNS, |text| {
        LAYOUT.read(text)
    });

const SIGNS: &[Sign] =
    &[Sign::new(100, &[Has("/meta/uuid"), Has("/meta/prompt_tokens"), Has("/messages")])];

const LAYOUT: Layout = Layout {
    format: FORMAT.id,
    list: "/messages",
    session: "/meta/uuid",
    head: |_, _| {},
    id: "/id",
    time: |raw| value::time(raw, "created").or_else(|| value::seconds(raw, "/created")),
    parts: |out, record, raw| BLOCKS.parts(out, record, raw, ""),
    answer,
    kind: |message, parts| match value::text(message, "role") {
        _ if parts.is_empty() => Kind::NoAnswer,
        // Commands that the user ran ask nothing.
        Some("user") if parts.iter().all(is_synthetic) => Kind::Aside,
        Some("assistant") if value::flag(message, "is_summary") => Kind::Summary,
        _ => by_role(message, parts),
    },
};

const BLOCKS: Blocks = Blocks {
    at: "/parts",
    name: "content part",
    types: &[
        ("finish", Block::Silent),
        ("text", Block::Filled("/text")),
        ("reasoning", Block::Thought("/thinking", &["/signature", "/thought_signature"])),
        ("tool_call", Block::Call { id: CALL_IDS, tool: "/name", arguments: "/input" }),
        ("tool_result", Block::Code(result)),
        ("binary", Block::Code(binary)),
        ("image_url", Block::File(["", "", "url"], "image/*")),
        ("shell_command", Block::Code(shell)),
    ],
    ..Blocks::NONE
};

/// Where a call has its id: as it is shown, and in the store.
const CALL_IDS: &[&str] = &["/tool_call_id", "/id"];

fn is_synthetic(part: &Part) -> bool {
    matches!(part.kind, PartKind::Text { synthetic: true, .. })
}

/// How an answer ended is a part of it.
fn answer(message: &Value) -> Answer {
    let is_end = |part: &&Value| value::text(part, "type") == Some("finish");
    let end = value::list(message, "parts").iter().find(is_end).unwrap_or(&Value::Null);
    let text = |raw, key| value::filled(raw, key).map(str::to_owned);
    Answer {
        model: text(message, "model"),
        provider: text(message, "provider"),
        ended: value::seconds(end, "/time"),
        finish: value::text(end, "reason").map(|reason| match reason {
            "canceled" => Finish::Error,
            reason => finish(reason),
        }),
        error: text(end, "message"),
        ..Answer::default()
    }
}

/// The member with the type of a file.
fn mime(raw: &Value) -> &'static str {
    if raw["mime_type"].is_string() { "mime_type" } else { "MIMEType" }
}

fn binary(_: &mut SessionBuilder, raw: &Value, at: &str) -> Vec<Part> {
    vec![file(media(raw, [mime(raw), "Path", "Data"], "")).at(at)]
}

fn result(out: &mut SessionBuilder, raw: &Value, at: &str) -> Vec<Part> {
    let text = |key| value::text(raw, key).unwrap_or_default();
    let mut media = vec![media(raw, [mime(raw), "", "data"], "")];
    media.retain(|media| !media.mime.is_empty());
    let (id, tool, failed) = (text("tool_call_id"), text("name"), value::flag(raw, "is_error"));
    vec![out.result(id, tool, failed, text("content"), media).at(format!("{at}/content"))]
}

/// A command that the user ran, with its output.
fn shell(_: &mut SessionBuilder, raw: &Value, at: &str) -> Vec<Part> {
    let text = |key| value::text(raw, key).unwrap_or_default();
    let code = raw["exit_code"].as_i64().unwrap_or_default();
    let text = format!("$ {}\n{}\n(exit code {code})", text("command"), text("output"));
    vec![Part::synthetic(text).at(at)]
}
