//! The lines of a file, parsed once, without duplicates.

use crate::builder::UnknownTypes;
use crate::prelude::*;
use serde::Deserialize;

/// Types of lines that serve the screen, the titles or the files on disk. None reaches the model.
const SCREEN_ONLY: &[&str] = &[
    "agent-color",
    "agent-name",
    "agent-setting",
    "ai-title",
    "api-request-resumed",
    "atis-latch",
    "attribution-snapshot",
    "auth_status",
    "content-replacement",
    "control_request",
    "control_response",
    "cost-state",
    "custom-title",
    "file-history-snapshot",
    "last-prompt",
    "mode",
    "permission-mode",
    "pr-link",
    "progress",
    "queue-operation",
    "rate_limit_event",
    "result",
    "speculation-accept",
    "stream_event",
    "summary",
    "tag",
    "task-summary",
    "tool_progress",
    "tool_use_summary",
    "tools-used",
    "worktree-state",
];

/// Types of lines that say what was sent.
const REQUESTS: [&str; 3] = ["api-request", "api-request-blob", "api-request-shape"];

/// Subtypes of `system` lines that serve the screen.
const SCREEN_ONLY_SYSTEM: &[&str] = &[
    "agents_killed",
    "api_error",
    "api_metrics",
    "away_summary",
    "bridge_status",
    "files_persisted",
    "hook_progress",
    "hook_response",
    "hook_started",
    "informational",
    "init",
    "local_command",
    "memory_saved",
    "permission_retry",
    "scheduled_task_fire",
    "status",
    "stop_hook_summary",
    "task_notification",
    "task_progress",
    "task_started",
    "turn_duration",
];

/// One line. Fields that never reach the model (`toolUseResult` is a second copy of the tool output)
/// are not even parsed.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Line {
    #[serde(rename = "type")]
    pub kind: String,
    pub subtype: Option<String>,
    pub uuid: Option<String>,
    pub parent_uuid: Option<String>,
    pub logical_parent_uuid: Option<String>,
    pub session_id: Option<String>,
    /// What is printed (`--output-format stream-json`) has the session's id under this name.
    #[serde(rename = "session_id")]
    printed_session_id: Option<String>,
    /// In printed streams: the call that started the subagent.
    #[serde(rename = "parent_tool_use_id")]
    parent_tool_use_id: Option<String>,
    pub cwd: Option<String>,
    pub timestamp: Option<String>,
    pub is_sidechain: Option<bool>,
    pub agent_id: Option<String>,
    pub is_meta: Option<bool>,
    pub is_compact_summary: Option<bool>,
    pub is_api_error_message: Option<bool>,
    pub request_id: Option<String>,
    pub origin: Option<Value>,
    pub message: Option<Value>,
    pub attachment: Option<Value>,
    pub compact_metadata: Option<Value>,
    #[serde(rename = "compact_metadata")]
    printed_compact_metadata: Option<Value>,
    pub microcompact_metadata: Option<Value>,
    pub pr_url: Option<String>,
    pub pr_repository: Option<String>,
    /// Index of the line in the file.
    #[serde(skip)]
    pub record: u32,
}

impl Line {
    pub(super) fn is_user(&self) -> bool {
        self.kind == "user"
    }

    pub(super) fn is_assistant(&self) -> bool {
        self.kind == "assistant"
    }

    /// A user or assistant line: what people call a message.
    pub(super) fn is_talk(&self) -> bool {
        self.is_user() || self.is_assistant()
    }

    pub(super) fn is_system(&self, subtype: &str) -> bool {
        self.kind == "system" && self.subtype.as_deref() == Some(subtype)
    }

    /// The line that this one hangs on. A compaction cuts the chain and leaves the logical parent.
    pub(super) fn parent(&self) -> Option<&str> {
        self.parent_uuid.as_deref().or(self.logical_parent_uuid.as_deref())
    }

    pub(super) fn content(&self) -> Option<&Value> {
        self.message.as_ref()?.get("content")
    }

    /// The line's own id, or one made from its number.
    pub(super) fn id(&self) -> String {
        self.uuid.clone().unwrap_or_else(|| format!("line-{}", self.record + 1))
    }

    pub(super) fn at(&self) -> Option<i64> {
        self.timestamp.as_deref().and_then(crate::time::parse_rfc3339)
    }

    /// The first text of the content: what tells prompts from notices.
    pub(super) fn opening(&self) -> &str {
        match self.content() {
            Some(Value::String(text)) => text,
            Some(Value::Array(blocks)) => {
                blocks.iter().find_map(|block| block.get("text")?.as_str()).unwrap_or("")
            }
            _ => "",
        }
    }

    fn has_result(&self) -> bool {
        let blocks = self.content().map_or(&[][..], value::items);
        blocks.iter().any(|block| block["type"] == "tool_result")
    }

    /// A user line that somebody, or the queue in somebody's name, sent to the model as a request of
    /// its own: no tool result, nothing the client injected, no local command.
    pub(super) fn is_prompt(&self) -> bool {
        self.is_user()
            && self.is_meta != Some(true)
            && self.is_compact_summary != Some(true)
            && !self.has_result()
            && !is_local_command(self.opening())
            && !is_interruption(self.opening())
    }
}

/// A command that the client ran by itself, its output, or the caveat before both. A command that
/// expands to a prompt opens with `<command-message>` instead.
pub(super) fn is_local_command(text: &str) -> bool {
    text.starts_with("<local-command-") || text.starts_with("<command-name>")
}

/// The notice that the user stopped the loop.
pub(super) fn is_interruption(text: &str) -> bool {
    text.starts_with("[Request interrupted by user")
}

/// All lines that matter, in file order, each stored line once.
pub(super) struct Lines {
    pub lines: Vec<Line>,
    /// Addresses and repositories of the pull requests that the session opened.
    pub pull_requests: Vec<(String, String)>,
    /// What is written down of the requests, by record.
    pub requests: Vec<(u32, Value)>,
    pub warnings: Vec<Warning>,
}

/// Parses the lines of a file.
///
/// Lines with equal `uuid` are one line, whatever else differs: a resumed session
/// appends old lines again under new parents.
pub(super) fn parse(source: &Source) -> Lines {
    let mut found = Vec::new();
    let (mut pull_requests, mut requests) = (Vec::new(), Vec::new());
    let mut warnings = Vec::new();
    let mut unknown = UnknownTypes::default();
    let copies = jsonl::copies(source, |_| true);
    for (record, range) in (0u32..).zip(&*source.records) {
        if copies.contains_key(&record) {
            continue;
        }
        let text = &source.text[range.clone()];
        match parse_line(text) {
            Ok(mut line) => {
                line.record = record;
                if REQUESTS.contains(&line.kind.as_str()) {
                    requests.extend(raw::parse(text).ok().map(|line| (record, line)));
                } else if let Some(kind) = unknown_type(&line) {
                    unknown.note(&kind, record);
                } else if !is_screen_only(&line) {
                    found.push(line);
                } else if let (Some(url), Some(name)) = (line.pr_url, line.pr_repository) {
                    pull_requests.push((url, name));
                }
            }
            Err(error) => warnings.push(jsonl::unreadable(source, record, &error)),
        }
    }
    warnings.extend(unknown.warnings(source, " line(s)", |first| source.place(first)));
    Lines { lines: once_each(found), pull_requests, requests, warnings }
}

/// Typed parsing skips the copies of the tool output; only a line that it refuses is read as a whole.
fn parse_line(text: &str) -> serde_json::Result<Line> {
    let mut line: Line =
        serde_json::from_str(text).or_else(|_| serde_json::from_value(raw::parse(text)?))?;
    // A line as it is printed says the same under other names.
    if line.session_id.is_none() {
        line.session_id = line.printed_session_id.take();
        line.compact_metadata = line.compact_metadata.or(line.printed_compact_metadata.take());
        if let Some(call) = line.parent_tool_use_id.take() {
            line.is_sidechain = Some(true);
            line.agent_id.get_or_insert(call);
        }
    }
    Ok(line)
}

fn once_each(lines: Vec<Line>) -> Vec<Line> {
    let mut seen = HashSet::new();
    lines
        .into_iter()
        .filter(|line| match &line.uuid {
            Some(uuid) => seen.insert(uuid.clone()),
            None => true,
        })
        .collect()
}

/// The lines as [`parse`] gives them, and the records that repeat one of them.
pub(super) fn with_copies(source: &Source) -> (Vec<Line>, BTreeMap<u32, u32>) {
    let lines = parse(source).lines;
    let first_by_uuid: HashMap<&str, u32> =
        lines.iter().filter_map(|line| Some((line.uuid.as_deref()?, line.record))).collect();
    let mut copies = jsonl::copies(source, |_| true);
    for (record, range) in (0u32..).zip(&*source.records) {
        let text = &source.text[range.clone()];
        let original = parse_line(text)
            .ok()
            .and_then(|line| first_by_uuid.get(line.uuid.as_deref()?).copied());
        if let Some(original) = original.filter(|original| *original != record) {
            copies.insert(record, original);
        }
    }
    (lines, copies)
}

/// Lines that only hold the tree together are kept: a `progress` line may be the parent of a result.
fn is_screen_only(line: &Line) -> bool {
    line.uuid.is_none() && SCREEN_ONLY.contains(&line.kind.as_str())
}

fn unknown_type(line: &Line) -> Option<String> {
    match line.kind.as_str() {
        "user" | "assistant" | "attachment" => None,
        "system" => {
            let subtype = line.subtype.as_deref().unwrap_or("");
            let known = SCREEN_ONLY_SYSTEM.contains(&subtype)
                || matches!(subtype, "compact_boundary" | "microcompact_boundary");
            (!known).then(|| format!("system/{subtype}"))
        }
        kind => (!SCREEN_ONLY.contains(&kind)).then(|| kind.to_owned()),
    }
}
