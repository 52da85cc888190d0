//! One item of the Responses API.

use crate::wire::shared::parts::{file, reasoning, text_member, unknown};
use crate::wire::shared::value;
use foldback_core::log::{Media, Part, PartKind, ResultStatus, ToolResult};
use serde_json::Value;

/// Items without content for the log: snapshots of the working tree, and the opaque result of a compaction, which
/// replaces messages that the log still has.
const IGNORED: &[&str] = &[
    "compaction",
    "compaction_summary",
    "compaction_trigger",
    "context_compaction",
    "ghost_snapshot",
    "other",
];

/// The type of a file of an unknown type.
const FILE: &str = "application/octet-stream";

/// Openings of texts that the harness writes in the user's name.
const HARNESS: &[&str] = &[
    "# AGENTS.md instructions",
    "</image>",
    "<INSTRUCTIONS>",
    "<environment_context>",
    "<image name=",
    "<skill>",
    "<subagent_notification>",
    "<turn_aborted>",
    "<user_instructions>",
    "<user_shell_command>",
];

/// The kind of an item.
pub enum Item {
    /// Part of an answer of the model.
    Answer(Vec<Part>),
    /// A message of the user or of the harness in the user's name.
    User(Vec<Part>),
    /// Instructions of the harness.
    Developer(Vec<Part>),
    /// What a tool answered.
    Output(Part),
    /// Known, without content for the log.
    Ignored,
    /// Unknown.
    Unknown(String),
}

/// Reads an item; `at` is the pointer to it inside its line.
pub fn read(item: &Value, at: &str) -> Item {
    let kind = item["type"].as_str().unwrap_or_default();
    match kind {
        "message" => message(item, at),
        "reasoning" => Item::Answer(vec![thought(item, at)]),
        "function_call" => call(item, at, item["name"].as_str().unwrap_or_default(), "arguments"),
        "custom_tool_call" => call(item, at, item["name"].as_str().unwrap_or_default(), "input"),
        "tool_search_call" => call(item, at, "tool_search", "arguments"),
        "local_shell_call" => call(item, at, "local_shell", "action"),
        "tool_search_output" => Item::Output(output(item, at, "tools")),
        kind if IGNORED.contains(&kind) => Item::Ignored,
        kind if kind.ends_with("_output") => Item::Output(output(item, at, "output")),
        // Tools that the provider runs itself (web search): the call has no answer on this side.
        kind if kind.ends_with("_call") => Item::Answer(vec![unknown(kind, item).at(at)]),
        kind => Item::Unknown(kind.to_owned()),
    }
}

/// Whether a part is a web search that the provider made and bills. Opening a page is free.
pub fn is_search(part: &Part) -> bool {
    matches!(&part.kind, PartKind::Unknown { name, raw }
        if name == "web_search_call" && raw["action"]["type"] == "search")
}

/// Whether a text was written by the harness.
pub fn is_harness(text: &str) -> bool {
    HARNESS.iter().any(|opening| text.starts_with(opening))
}

/// Whether nothing in a user message comes from a person.
pub fn is_injected(parts: &[Part]) -> bool {
    parts.iter().all(|part| matches!(part.kind, PartKind::Text { synthetic: true, .. }))
}

fn message(item: &Value, at: &str) -> Item {
    let role = item["role"].as_str().unwrap_or_default();
    let mut parts = match &item["content"] {
        Value::String(text) => vec![Part::text(text).at(format!("{at}/content"))],
        Value::Array(blocks) => blocks
            .iter()
            .enumerate()
            .map(|(index, block)| content(block, &format!("{at}/content/{index}")))
            .collect(),
        _ => Vec::new(),
    };
    let developer = matches!(role, "developer" | "system");
    for part in &mut parts {
        if let PartKind::Text { text, synthetic, .. } = &mut part.kind {
            *synthetic = developer || (role == "user" && is_harness(text));
        }
    }
    match role {
        "assistant" => Item::Answer(parts),
        "user" => Item::User(parts),
        _ if developer => Item::Developer(parts),
        other => Item::Unknown(format!("message/{other}")),
    }
}

fn content(block: &Value, at: &str) -> Part {
    match block["type"].as_str().unwrap_or_default() {
        "input_text" | "output_text" | "text" | "refusal" => {
            let field = if block["text"].is_string() { "text" } else { "refusal" };
            text_member(block, field, at)
        }
        "input_image" | "input_file" => file(media(block)).at(at),
        name => unknown(name, block).at(at),
    }
}

/// The readable part of a reasoning item is its summary, and the whole text for open models.
fn thought(item: &Value, at: &str) -> Part {
    let texts: Vec<&str> = ["summary", "content"]
        .iter()
        .flat_map(|field| item[*field].as_array().into_iter().flatten())
        .filter_map(|block| block["text"].as_str())
        .collect();
    reasoning(texts.join("\n"), item["encrypted_content"].as_str().map(str::to_owned))
        .at(format!("{at}/summary"))
}

fn call(item: &Value, at: &str, tool: &str, field: &str) -> Item {
    let arguments = match &item[field] {
        Value::String(text) => text.clone(),
        Value::Null => "{}".to_owned(),
        other => other.to_string(),
    };
    let call_id = value::first(item, &["call_id", "id"]).unwrap_or_default();
    Item::Answer(vec![Part::call(call_id, tool, arguments).at(format!("{at}/{field}"))])
}

fn output(item: &Value, at: &str, field: &str) -> Part {
    let mut result = ToolResult {
        call_id: item["call_id"].as_str().unwrap_or_default().to_owned(),
        ..ToolResult::default()
    };
    let mut pointer = format!("{at}/{field}");
    match &item[field] {
        Value::String(text) => result.text.clone_from(text),
        Value::Array(blocks) if field == "output" => {
            for block in blocks {
                match block["type"].as_str() {
                    Some("input_image" | "input_file") => result.media.push(media(block)),
                    _ => {
                        if !result.text.is_empty() {
                            result.text.push('\n');
                        }
                        match block["text"].as_str() {
                            Some(text) => result.text.push_str(text),
                            None => result.text.push_str(&block.to_string()),
                        }
                    }
                }
            }
        }
        // Early versions: `{content, success}`.
        Value::Object(object) if object.get("content").is_some_and(Value::is_string) => {
            result.text = object["content"].as_str().unwrap_or_default().to_owned();
            pointer.push_str("/content");
            if object.get("success") == Some(&Value::Bool(false)) {
                result.status = ResultStatus::Error;
            }
        }
        Value::Null => {}
        other => {
            result.text = other.to_string();
            result.structured = Some(other.clone());
        }
    }
    Part::new(PartKind::Result(result)).at(pointer)
}

fn media(block: &Value) -> Media {
    let places = ["image_url", "file_data", "file_url", "file_id"];
    let url = value::first(block, &places).unwrap_or_default();
    let usual = if block["type"] == "input_file" { FILE } else { "image/*" };
    Media {
        mime: value::data_type(url).unwrap_or(usual).to_owned(),
        name: block["filename"].as_str().map(str::to_owned),
        url: url.to_owned(),
    }
}
