//! `qwen-code`: the chat recordings of Qwen Code since it left Gemini CLI's, `~/.qwen/projects/*/chats/*.jsonl`.
//!
//! A line for each message in the form of Gemini's protocol, and for what happened beside them. Lines name the line before
//! them, so that going back leaves a branch. The format is only read. `docs/qwen-code.md` has the mapping.

use crate::gemini_cli::read::{part, shown};
use crate::prelude::*;
use foldback_providers::wire::gemini;

pub(crate) const FORMAT: Format =
    Format::new("qwen-code", "Qwen Code chat recording (~/.qwen/projects/*/chats)", SIGNS, read);

/// Events beside the messages, of which nothing is sent.
const SILENT: &[&str] = &[
    "at_command",
    "attribution_snapshot",
    "background_task_completed",
    "branch_checkpoint",
    "custom_title",
    "file_history_snapshot",
    "goal_state",
    "goal_turn_end",
    "omni_recall",
    "parent_session",
    "rewind",
    "session_artifact_event",
    "session_artifact_snapshot",
    "session_model",
    "session_source",
    "session_sources_snapshot",
    "slash_command",
    "turn_result",
    "ui_telemetry",
    "user_text_elements",
];

/// Messages that the client writes in the user's name.
const BY_CLIENT: &[&str] = &["cron", "goal_runtime", "notification"];

const SIGNS: &[Sign] = &[Sign::new(
    100,
    &[Has("/uuid"), Has("/sessionId"), Any(&[Has("/message/parts"), Has("/systemPayload")])],
)
.lines(5)];

/// A line that the model saw something of.
struct Line {
    record: u32,
    value: Value,
}

impl Line {
    fn is(&self, kind: &str, subtype: &str) -> bool {
        value::text(&self.value, "type") == Some(kind)
            && value::text(&self.value, "subtype") == Some(subtype)
    }
}

fn read(text: &str) -> Result<Vec<Session>, ReadError> {
    let source = Source::lines(text);
    let mut out = SessionBuilder::new(value::content_id(text), FORMAT.id, source.clone());
    let mut lines: Vec<Line> = Vec::new();
    // By the id of a line, how many lines it leaves before what hangs on it.
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut abandoned: Option<(u32, usize)> = None;
    for (record, line) in jsonl::values_once(&source, |line| peek(line).has("/uuid")) {
        let value = match line {
            Ok(value) => value,
            Err(warning) => {
                out.session.warnings.push(warning);
                continue;
            }
        };
        let line = Line { record, value };
        let after = match value::text(&line.value, "parentUuid") {
            Some(parent) => places.get(parent).copied(),
            None => line.is("system", "rewind").then_some(0),
        };
        let gone = lines.split_off(after.unwrap_or(lines.len()).min(lines.len()));
        out.session.unlogged.extend(gone.iter().filter_map(|line| answer(&line.value)));
        if let Some(first) = gone.first() {
            let (begins, count) = abandoned.unwrap_or((first.record, 0));
            abandoned = Some((begins, count + gone.len()));
        }
        if let Some(id) = value::string(&line.value, "sessionId") {
            out.session.id = id;
        }
        out.session.worked_in(None, value::text(&line.value, "cwd").and_then(cluster::folder));
        let window = value::count(&line.value, "/contextWindowSize");
        if window > 0 {
            out.session.limits.context = window;
        }
        let id = value::string(&line.value, "uuid");
        match (value::text(&line.value, "type"), value::text(&line.value, "subtype")) {
            (Some("user" | "assistant" | "tool_result"), Some("realtime_message")) => {}
            (Some("user" | "assistant" | "tool_result"), _)
            | (Some("system"), Some("chat_compression")) => lines.push(line),
            (Some("system"), Some("slash_command")) if is_answered_here(&lines, &line.value) => {
                lines.pop();
            }
            (Some("system"), Some(kind)) if SILENT.contains(&kind) => {}
            (Some("system"), kind) => {
                out.note_unknown(&format!("system/{}", kind.unwrap_or_default()), record);
            }
            (kind, _) => out.note_unknown(kind.unwrap_or_default(), record),
        }
        if let Some(id) = id {
            places.insert(id, lines.len());
        }
    }
    out.warn_unknown(" line(s)", Source::place);
    if let Some((first, count)) = abandoned {
        let detail =
            format!("{count} message(s) from here on that the user went back before; left out");
        out.warn_at("abandoned-branch", first, detail);
    }
    let mut reader = Reader { out };
    for line in &lines {
        reader.line(line);
    }
    only(reader.out.finish_run())
}

/// The answer on a line. Providers other than Gemini count reasoning as output; the total shows which way it was.
fn answer(raw: &Value) -> Option<Answer> {
    (value::text(raw, "type") == Some("assistant")).then(|| Answer {
        usage: gemini::COUNTS.any(&raw["usageMetadata"]),
        model: value::string(raw, "model"),
        ended: value::time(raw, "timestamp"),
        ..Answer::default()
    })
}

/// Whether the client alone answered the last command of the user.
fn is_answered_here(lines: &[Line], command: &Value) -> bool {
    let payload = &command["systemPayload"];
    let answers = value::list(payload, "outputHistoryItems");
    let asked = lines.last().filter(|line| {
        value::text(&line.value, "type") == Some("user") && line.value.get("subtype").is_none()
    });
    let said = asked.map(|line| value::list(&line.value["message"], "parts"));
    value::text(payload, "phase") == Some("result")
        && !value::flag(payload, "sentToModel")
        && !answers.is_empty()
        && answers.iter().all(|answer| value::text(answer, "type") == Some("assistant"))
        && said.is_some_and(|parts| {
            let text = parts.first().and_then(|part| value::text(part, "text"));
            parts.len() == 1 && text.is_some() && text == value::text(payload, "rawCommand")
        })
}

struct Reader {
    out: SessionBuilder,
}

impl Reader {
    fn line(&mut self, line: &Line) {
        let raw = &line.value;
        let at = "/message";
        match value::text(raw, "type") {
            Some("system") => self.compression(line),
            Some("assistant") => {
                let parts = self.parts(line, &raw["message"], at);
                let message = self.push(line, "", Role::Assistant, parts);
                message.answer = answer(raw);
            }
            _ => {
                let (mut said, results) = self.results(line, &raw["message"], at);
                for (number, result) in results.into_iter().enumerate() {
                    let suffix = if number == 0 { String::new() } else { format!("#{number}") };
                    self.push(line, &suffix, Role::Tool, vec![result]);
                }
                if said.is_empty() {
                    return;
                }
                let subtype = value::text(raw, "subtype").unwrap_or_default();
                let by_client = BY_CLIENT.contains(&subtype);
                if by_client {
                    mark_synthetic(&mut said);
                }
                let asked = subtype.is_empty() && value::text(raw, "type") == Some("user");
                let suffix = if asked { "" } else { "#said" };
                self.push(line, suffix, Role::User, said).mid_turn = !asked;
            }
        }
    }

    /// A compaction has all that is sent from then on: the summary, the word to go on, and what was kept, once more.
    fn compression(&mut self, line: &Line) {
        let (info, at) = (&line.value["systemPayload"]["info"], "/systemPayload/compressedHistory");
        let Some(history) = line.value.pointer(at).and_then(Value::as_array) else { return };
        let kept = self.out.holds_log();
        // None is an estimate that came to nothing.
        let tokens = |at| info.pointer(at).and_then(value::tokens).filter(|tokens| *tokens > 0);
        let by_hand = value::text(info, "triggerReason") == Some("manual");
        let boundary = self.out.boundary("summary", if by_hand { "manual" } else { "auto" });
        boundary.original_kept = kept;
        boundary.tokens_before = tokens("/originalTokenCount");
        boundary.tokens_after = tokens("/newTokenCount");
        for (number, content) in history.iter().enumerate() {
            let at = format!("{at}/{number}");
            let role = match value::text(content, "role") {
                Some("model") => Role::Assistant,
                _ => Role::User,
            };
            let (mut said, results) = self.results(line, content, &at);
            mark_synthetic(&mut said);
            let results = results.into_iter().map(|result| (Role::Tool, vec![result]));
            for (role, parts) in results.chain((!said.is_empty()).then_some((role, said))) {
                let kind = match role {
                    Role::User => EntryKind::Summary,
                    _ => EntryKind::Continue,
                };
                let message = self.push(line, &format!("#{number}"), role, parts);
                message.mid_turn = role == Role::User;
                message.origin = Origin::Entry(kind);
            }
        }
    }

    fn push(&mut self, line: &Line, suffix: &str, role: Role, parts: Vec<Part>) -> &mut Message {
        let number = format!("m{}", line.record);
        let id = value::filled(&line.value, "uuid").unwrap_or(&number);
        let message = self.out.push(line.record, &format!("{id}{suffix}"), role, parts);
        message.at = value::time(&line.value, "timestamp");
        message
    }

    /// What the user said in a content, and the results in it.
    fn results(&mut self, line: &Line, content: &Value, at: &str) -> (Vec<Part>, Vec<Part>) {
        let parts = self.parts(line, content, at);
        parts.into_iter().partition(|part| part.as_result().is_none())
    }

    fn parts(&mut self, line: &Line, content: &Value, at: &str) -> Vec<Part> {
        let mut parts = Vec::new();
        for (index, raw) in value::list(content, "parts").iter().enumerate() {
            let at = format!("{at}/parts/{index}");
            if let Some(call) = raw.get("functionCall") {
                parts.extend(part(raw, &at));
                let name = value::text(call, "name").unwrap_or_default();
                let arguments = call.get("args").map_or("{}".to_owned(), Value::to_string);
                let id = value::text(call, "id").unwrap_or(name);
                let call = self.out.call(id, name, arguments);
                parts.push(call.at(format!("{at}/functionCall/args")));
            } else if let Some(response) = raw.get("functionResponse") {
                let name = value::text(response, "name").unwrap_or_default();
                let (text, place, error) = shown(&response["response"]);
                let status = value::text_at(&line.value, "/toolCallResult/status");
                let failed = error || matches!(status, Some("error" | "cancelled"));
                let files = value::list(response, "parts").iter().filter_map(gemini::media);
                let id = value::text(response, "id").unwrap_or(name);
                let result = self.out.result(id, name, failed, text, files.collect());
                parts.push(result.at(format!("{at}/functionResponse/response{place}")));
            } else {
                parts.extend(part(raw, &at));
            }
        }
        parts
    }
}
