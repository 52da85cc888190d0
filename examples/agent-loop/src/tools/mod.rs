//! The agent's tools: read, search, edit, run. The definitions include foldback's `recall`, which the
//! agent answers itself: it needs the conversation.
//!
//! Paths are inside the working directory. `run` is offered only where the user allows it: it runs what
//! the model says, with the user's rights.

mod files;
mod run;

use foldback::core::log::{Part, PartKind, ResultStatus, ToolCall, ToolResult};
use foldback::live::tools as recall;
use foldback::{Message, Role};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Longest result of a tool, in bytes.
pub const LONGEST: usize = 16_000;

/// The tools of one working directory.
#[derive(Clone, Debug)]
pub struct Tools {
    directory: PathBuf,
    run: bool,
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// What the model is told.
    pub text: String,
    /// Whether that is an error.
    pub failed: bool,
}

impl Ran {
    /// A tool's own text, whatever it says.
    pub fn of(text: String) -> Self {
        Self { text, failed: false }
    }

    /// The result as a message of the log.
    pub fn into_message(self, id: String, call: &ToolCall) -> Message {
        let result = ToolResult {
            call_id: call.call_id.clone(),
            tool: call.tool.clone(),
            text: self.text,
            status: match self.failed {
                true => ResultStatus::Error,
                false => ResultStatus::Completed,
            },
            ..ToolResult::default()
        };
        Message::new(id, Role::Tool, vec![Part::new(PartKind::Result(result))])
    }
}

impl Tools {
    /// The tools of a directory; `run` only where commands may be run.
    pub fn new(directory: PathBuf, run: bool) -> Self {
        Self { directory, run }
    }

    /// The definitions that are sent with every request.
    pub fn definitions(&self) -> Vec<Value> {
        let run = self.run.then(|| {
            (
                "run",
                "Runs a shell command in the working directory and returns what it prints.",
                json!({"command": {"type": "string"}}),
            )
        });
        let files = [
            (
                "read",
                "Returns a file, or some of its lines.",
                json!({
                    "path": {"type": "string"},
                    "from": {"type": "integer", "description": "First line, from 1."},
                    "lines": {"type": "integer", "description": "How many."},
                }),
            ),
            (
                "search",
                "Returns the lines that contain a text, with file and line number.",
                json!({
                    "text": {"type": "string"},
                    "path": {"type": "string", "description": "File or folder; everything without it."},
                }),
            ),
            (
                "edit",
                "Replaces a text that occurs exactly once in a file; an empty `old` makes a new file.",
                json!({
                    "path": {"type": "string"},
                    "old": {"type": "string"},
                    "new": {"type": "string"},
                }),
            ),
        ];
        let tools = files.into_iter().chain(run);
        let tools = tools.map(|(name, description, properties)| {
            let required = match name {
                "read" => json!(["path"]),
                "search" => json!(["text"]),
                "edit" => json!(["path", "old", "new"]),
                _ => json!(["command"]),
            };
            let parameters =
                json!({"type": "object", "properties": properties, "required": required});
            json!({
                "type": "function",
                "function": {"name": name, "description": description, "parameters": parameters},
            })
        });
        // What was cleared from the conversation is a call away.
        tools.chain([recall::openai()]).collect()
    }

    /// Runs a call. Whatever goes wrong is told to the model.
    pub async fn run(&self, call: &ToolCall) -> Ran {
        let result = match serde_json::from_str(&call.arguments) {
            Ok(arguments) => self.dispatch(&call.tool, &arguments).await,
            Err(error) => Err(format!("the arguments are not JSON: {error}")),
        };
        let failed = result.is_err();
        let text = result.unwrap_or_else(|error| error);
        Ran { text: cut(text), failed }
    }

    async fn dispatch(&self, tool: &str, arguments: &Value) -> Result<String, String> {
        let text = |name: &str| -> Result<&str, String> {
            let value = arguments.get(name).and_then(Value::as_str);
            value.ok_or_else(|| format!("`{name}` is missing or not a string"))
        };
        let number = |name: &str| arguments.get(name).and_then(Value::as_u64);
        match tool {
            "read" => files::read(&self.directory, text("path")?, number("from"), number("lines")),
            "search" => {
                let path = arguments.get("path").and_then(Value::as_str);
                files::search(&self.directory, text("text")?, path)
            }
            "edit" => files::edit(&self.directory, text("path")?, text("old")?, text("new")?),
            "run" if self.run => run::run(&self.directory, text("command")?).await,
            other => Err(format!("there is no tool `{other}`")),
        }
    }
}

/// At most [`LONGEST`] bytes, with a note of what is missing.
fn cut(mut text: String) -> String {
    if text.len() > LONGEST {
        let end = text.floor_char_boundary(LONGEST);
        let missing = text.len() - end;
        text.truncate(end);
        text.push_str(&format!("\n[{missing} more bytes are not shown]"));
    }
    text
}
