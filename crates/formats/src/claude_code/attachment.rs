//! What `attachment` lines put in front of the model.
//!
//! Versions since 2.1.200 or so record what the client adds to a request (listings, memory files,
//! hook output, reminders, prompts that were queued while the loop ran) as lines of their own. The
//! sentence around the content is not recorded, so the content alone is taken.

use crate::prelude::*;

/// Fields that hold the content, by type of attachment, first one that is there. A type without
/// fields is for the screen or for the client alone.
const CONTENT: &[(&str, &[&str])] = &[
    ("agent_listing_delta", &["addedLines"]),
    ("auto_mode", &[]),
    ("command_permissions", &[]),
    ("compact_file_reference", &["filename"]),
    ("critical_system_reminder", &["content"]),
    ("date", &["date"]),
    ("date_change", &["newDate"]),
    ("deferred_tools_delta", &["addedLines", "addedNames"]),
    ("diagnostics", &["files"]),
    ("directory", &["content"]),
    ("edited_image_file", &[]),
    ("edited_text_file", &["snippet"]),
    ("environment", &["snapshot"]),
    ("file", &["content/file/content", "content"]),
    ("hook_additional_context", &["content"]),
    ("hook_blocking_error", &["blockingError"]),
    ("hook_cancelled", &[]),
    ("hook_error_during_execution", &[]),
    ("hook_non_blocking_error", &[]),
    ("hook_permission_decision", &[]),
    ("hook_stopped_continuation", &["message"]),
    ("hook_success", &["content"]),
    ("hook_system_message", &[]),
    ("invoked_skills", &["skills"]),
    ("mcp_instructions_delta", &["addedBlocks"]),
    ("model", &["text"]),
    ("nested_memory", &["content/content", "content"]),
    ("opened_file_in_ide", &["filename"]),
    ("output_style", &["style"]),
    ("plan_file_reference", &["planContent"]),
    ("plan_mode", &[]),
    ("queued_command", &["prompt"]),
    ("relevant_memories", &["memories"]),
    ("remote_session_change", &["commit"]),
    ("selected_lines_in_ide", &["content"]),
    ("session_context", &["context"]),
    ("skill_listing", &["content"]),
    ("structured_output", &[]),
    ("task_reminder", &["content"]),
    ("task_status", &["description"]),
    ("todo_reminder", &["content"]),
    ("token_usage", &[]),
    ("total_tokens_reminder", &["text"]),
];

/// The attachment that has what stands around the messages of a request, since 2.1.300 or so.
pub(super) const PROMPT: &str = "prompt_snapshot";

/// What an attachment says.
pub(super) enum Attachment {
    /// Text for the model, and the pointer to it inside the line.
    Text {
        text: String,
        pointer: String,
        /// Written by a person: a prompt that waited in the queue.
        human: bool,
    },
    /// Nothing that reaches the model.
    Nothing,
    /// A type that is not in the table.
    Unknown(String),
}

/// Reads the `attachment` object of a line.
pub(super) fn read(attachment: &Value) -> Attachment {
    let kind = attachment["type"].as_str().unwrap_or_default();
    let Some((_, fields)) = CONTENT.iter().find(|(name, _)| *name == kind) else {
        return Attachment::Unknown(kind.to_owned());
    };
    for field in *fields {
        let Some(value) = attachment.pointer(&format!("/{field}")) else {
            continue;
        };
        let text = flatten(value);
        if text.is_empty() {
            return Attachment::Nothing;
        }
        let human = kind == "queued_command"
            && attachment["commandMode"].as_str() != Some("task-notification")
            && !text.starts_with("<task-notification>");
        return Attachment::Text { text, pointer: format!("/attachment/{field}"), human };
    }
    Attachment::Nothing
}

/// Strings as they are, lists line by line, text blocks by their text, the rest as compact JSON.
fn flatten(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(flatten).collect::<Vec<_>>().join("\n"),
        Value::Object(object) => match (object.get("text"), object.get("type")) {
            (Some(Value::String(text)), _) => text.clone(),
            (_, Some(Value::String(kind))) if kind == "image" => String::new(),
            _ => value.to_string(),
        },
        other => other.to_string(),
    }
}
