//! `cline`: a session of Cline's command line, `data/sessions/<id>/<id>.messages.json` of its home.
//!
//! A document with the messages in the form of Anthropic's API, each answer with its model and what it used. The format is
//! only read. `docs/cline.md` has the mapping.

use crate::prelude::*;
use foldback_providers::wire::anthropic;

pub(crate) const FORMAT: Format =
    Format::new("cline", "Cline CLI session (<id>.messages.json)", SIGNS, |text| LAYOUT.read(text));

const SIGNS: &[Sign] = &[
    Sign::new(
        100,
        &[
            Has("/sessionId"),
            Has("/messages/*/role"),
            Any(&[Has("/messages/*/metrics"), Has("/messages/*/modelInfo")]),
        ],
    ),
    Sign::new(
        90,
        &[Has("/sessionId"), Has("/messages/*/role"), Any(&[Has("/origin/source"), Has("/agent")])],
    ),
];

const LAYOUT: Layout = Layout {
    format: FORMAT.id,
    list: "/messages",
    session: "/sessionId",
    head: |out, root| {
        if let Some(system) = value::filled(root, "system_prompt") {
            out.system(system);
        }
    },
    id: "/id",
    time: |raw| value::millis(raw, "/ts"),
    parts: |out, record, raw| BLOCKS.parts(out, record, raw, ""),
    answer: |raw| Answer {
        usage: COUNTS.any(&raw["metrics"]),
        model: value::text_at(raw, "/modelInfo/id").map(str::to_owned),
        provider: value::text_at(raw, "/modelInfo/provider").map(str::to_owned),
        ended: value::millis(raw, "/ts"),
        ..Answer::default()
    },
    kind: |message, parts| match value::text(message, "role") {
        Some("user") if parts.is_empty() => Kind::Silent,
        Some("user" | "assistant") => by_role(message, parts),
        _ => Kind::Unknown,
    },
};

const BLOCKS: Blocks = Blocks {
    types: &[("tool_result", Block::Code(result))],
    other: |out, _, raw, at| {
        let mut part = anthropic::part(raw, at)?;
        out.join(std::slice::from_mut(&mut part));
        Some(part)
    },
    ..Blocks::NONE
};

/// A result: blocks of text and images, or what a tool gave for each of its commands, which is sent as JSON.
fn result(out: &mut SessionBuilder, raw: &Value, at: &str) -> Vec<Part> {
    let text = |key| value::text(raw, key).unwrap_or_default();
    let content = &raw["content"];
    let items = value::items(content);
    let is_block = |item: &Value| value::text(item, "type").is_some();
    let (shown, media) = match content {
        Value::Array(_) if items.iter().all(is_block) => {
            let texts: Vec<&str> =
                items.iter().filter_map(|item| value::text(item, "text")).collect();
            let images = items.iter().filter(|item| value::text(item, "type") == Some("image"));
            (texts.join("\n"), images.map(anthropic::media).collect())
        }
        content => (value::shown(content), Vec::new()),
    };
    let failed = value::flag(raw, "is_error");
    let part = out.result(text("tool_use_id"), text("name"), failed, shown, media);
    vec![part.at(format!("{at}/content"))]
}

/// The input holds what the cache did.
const COUNTS: Counts = Counts {
    input: &["/inputTokens"],
    cache_read: &["/cacheReadTokens"],
    cache_write: &["/cacheWriteTokens"],
    output: &["/outputTokens"],
    ..Counts::NONE
};
