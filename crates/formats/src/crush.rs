//! `crush`: a session of Crush, as `crush session show --json` prints it or, as its store gives it, in `crush.db`.
//!
//! The two have one shape; a store knows more: what a summary is, the files, the signatures. The format is only read.
//! `docs/crush.md` has the mapping.

use crate::layout::{AnswerMembers, Block, Blocks, Content, FileMembers, Head, Kind, Layout, Time};
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
    head: Head { id: "/meta/uuid", ..Layout::NONE.head },
    id: "/id",
    time: Time::Seconds("/created"),
    content: Content::Blocks(Blocks {
        at: "/parts",
        name: "content part",
        types: &[
            ("finish", Block::Silent),
            ("text", Block::Filled("/text")),
            ("reasoning", Block::Thought("/thinking", &["/signature", "/thought_signature"])),
            (
                "tool_call",
                Block::Call { id: &["/tool_call_id", "/id"], tool: "/name", arguments: "/input" },
            ),
            ("tool_result", Block::Code(result)),
            ("binary", Block::File(FileMembers { name: "/Path", url: "/Data", ..FILE })),
            ("image_url", Block::File(FileMembers { url: "/url", usual: "image/*", ..FILE })),
            ("shell_command", Block::Code(shell)),
        ],
        ..Blocks::NONE
    }),
    answer: AnswerMembers {
        model: "/model",
        provider: "/provider",
        more: ended,
        ..AnswerMembers::NONE
    },
    kind,
    ..Layout::NONE
};

/// A file without anything but its type.
const FILE: FileMembers =
    FileMembers { mime: &["/mime_type", "/MIMEType"], name: "/", url: "/", usual: "" };

fn kind(message: &Value, parts: &[Part]) -> Kind {
    // What the user ran alone asks nothing.
    let ran = |part: &Part| matches!(part.kind, PartKind::Text { synthetic: true, .. });
    match value::text(message, "role") {
        _ if parts.is_empty() => Kind::NoAnswer,
        Some("user") if parts.iter().all(ran) => Kind::Aside,
        Some("assistant") if value::flag(message, "is_summary") => Kind::Summary,
        Some("tool") => Kind::Apart(Role::Tool),
        _ => layout::role(message),
    }
}

/// How an answer ended, which is a part of it.
fn ended(message: &Value, answer: &mut Answer) {
    let is_end = |part: &&Value| value::text(part, "type") == Some("finish");
    let end = value::list(message, "parts").iter().find(is_end).unwrap_or(&Value::Null);
    answer.ended = value::seconds(end, "/time");
    answer.finish = value::text(end, "reason").map(|reason| match reason {
        "canceled" => Finish::Error,
        reason => finish(reason),
    });
    answer.error = value::filled(end, "message").map(str::to_owned);
}

fn result(out: &mut SessionBuilder, raw: &Value, at: &str) -> Vec<Part> {
    let text = |key| value::text(raw, key).unwrap_or_default();
    let mut media = vec![FileMembers { url: "/data", ..FILE }.media(raw)];
    media.retain(|media| !media.mime.is_empty());
    let (id, tool, failed) = (text("tool_call_id"), text("name"), value::flag(raw, "is_error"));
    vec![out.result(id, tool, failed, text("content"), media).at(format!("{at}/content"))]
}

/// What the user ran.
fn shell(_: &mut SessionBuilder, raw: &Value, at: &str) -> Vec<Part> {
    let text = |key| value::text(raw, key).unwrap_or_default();
    let code = raw["exit_code"].as_i64().unwrap_or_default();
    let text = format!("$ {}\n{}\n(exit code {code})", text("command"), text("output"));
    vec![Part::synthetic(text).at(at)]
}
