//! The events of a file as messages.

use crate::cluster;
use crate::ids::{Calls, Ids};
use crate::session::{Boundary, Recorded, Source, Warning};
use crate::{ReadError, Session, answers, jsonl, pairing, raw, time, value};
use foldback_core::SegmentKind;
use foldback_core::log::{
    Answer, EntryKind, Media, Message, Origin, Part, PartKind, ResultStatus, Role, ToolResult,
    Usage,
};
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// Families of events that tell nothing about what the model saw or said.
const SILENT: &[&str] = &[
    "abort",
    "assistant.intent",
    "assistant.message_delta",
    "assistant.reasoning",
    "assistant.turn_end",
    "assistant.turn_start",
    "elicitation.",
    "external_tool.",
    "hook.",
    "pending_messages.",
    "permission.",
    "session.",
    "skill.",
    "subagent.",
    "system.notification",
    "tool.",
    "user_input.",
];

/// Reads a file: the main conversation, then those of subagents.
pub(super) fn read(text: &str) -> Result<Vec<Session>, ReadError> {
    let source = jsonl::source(text);
    let mut warnings: Vec<Warning> = Vec::new();
    let mut seen = HashSet::new();
    let mut threads: Vec<(Option<String>, Vec<Event>)> = vec![(None, Vec::new())];
    for (record, range) in (0u32..).zip(&source.records) {
        let value = match raw::parse(&text[range.clone()]) {
            Ok(value) => value,
            Err(error) => {
                warnings.push(jsonl::unreadable(&source, record, &error));
                continue;
            }
        };
        if let Some(id) = value::string(&value, "id")
            && !seen.insert(id)
        {
            continue;
        }
        // The call that the subagent was started by tells its events apart.
        let key = value::string(&value["data"], "parentToolCallId");
        let event = Event { record, value };
        match threads.iter_mut().find(|(known, _)| *known == key) {
            Some((_, events)) => events.push(event),
            None => threads.push((key, vec![event])),
        }
    }
    let main = threads.first().map_or(&[][..], |(_, events)| events);
    let id = main
        .iter()
        .find_map(|event| value::string(&event.value["data"], "sessionId"))
        .unwrap_or_else(|| super::ID.to_owned());
    let cluster = main.iter().find_map(|event| cluster_of(event.data().get("context")?));
    let mut sessions: Vec<Session> = threads
        .iter()
        .map(|(key, events)| {
            let id = match key {
                None => id.clone(),
                Some(key) => format!("{id}/{key}"),
            };
            let mut import = Import::new(id, source.clone());
            import.session.cluster.clone_from(&cluster);
            import.run(events)
        })
        .filter(|session| !session.messages.is_empty())
        .collect();
    let first = sessions.first_mut().ok_or(ReadError::NoMessages)?;
    warnings.append(&mut first.warnings);
    first.warnings = warnings;
    Ok(sessions)
}

/// The repository, else the folder, that the client was started in.
fn cluster_of(context: &Value) -> Option<String> {
    let host = value::text(context, "repositoryHost").unwrap_or("github.com");
    match value::text(context, "repository").filter(|name| !name.is_empty()) {
        Some(name) => cluster::repository(&format!("https://{host}/{name}")),
        None => cluster::folder(
            value::text(context, "gitRoot").or_else(|| value::text(context, "cwd"))?,
        ),
    }
}

struct Event {
    record: u32,
    value: Value,
}

impl Event {
    fn data(&self) -> &Value {
        &self.value["data"]
    }
}

struct Import {
    session: Session,
    messages: Vec<Message>,
    ids: Ids,
    calls: Calls,
    model: Option<String>,
    last: Option<usize>,
    running: bool,
    recorded: Recorded,
    unknown: BTreeMap<String, (u32, u32)>,
}

impl Import {
    fn new(id: String, source: Source) -> Self {
        Self {
            session: Session::new(id, super::ID, source),
            messages: Vec::new(),
            ids: Ids::default(),
            calls: Calls::default(),
            model: None,
            last: None,
            running: false,
            recorded: Recorded { messages: 0, tool_calls: 0 },
            unknown: BTreeMap::new(),
        }
    }

    fn run(mut self, events: &[Event]) -> Session {
        for event in events {
            self.event(event);
        }
        self.finish()
    }

    fn event(&mut self, event: &Event) {
        let data = event.data();
        match value::text(&event.value, "type").unwrap_or_default() {
            "session.start" | "session.resume" => {
                let model = value::string(data, "selectedModel");
                self.model = model.or(self.model.take());
            }
            "session.model_change" => self.model = value::string(data, "newModel"),
            "session.compaction_complete" => self.compaction(event),
            "session.truncation" => {
                self.boundary(
                    "drop",
                    data["preTruncationTokensInMessages"].as_u64(),
                    data["postTruncationTokensInMessages"].as_u64(),
                );
            }
            "system.message" => {
                let text = value::text(data, "content").unwrap_or_default();
                if self.messages.is_empty() {
                    self.session.frame.push_text(SegmentKind::System, text);
                } else {
                    let parts = vec![Part::text(text).at("/data/content")];
                    self.push(event, Role::System, parts);
                }
            }
            "user.message" => self.user(event),
            "assistant.message" => self.answer(event),
            "assistant.usage" => self.usage(data),
            "tool.execution_complete" => self.result(event),
            "hook.end" => {
                let at = "/data/output/additionalContext";
                let text = event.value.pointer(at).and_then(Value::as_str);
                if let Some(text) = text.filter(|text| !text.is_empty()) {
                    let parts = vec![Part::synthetic(text).at(at)];
                    self.push(event, Role::User, parts).mid_turn = true;
                }
            }
            kind if SILENT.iter().any(|prefix| kind.starts_with(prefix)) => {}
            kind => {
                let first = event.record;
                self.unknown.entry(kind.to_owned()).or_insert((first, 0)).1 += 1;
            }
        }
    }

    fn push(&mut self, event: &Event, role: Role, parts: Vec<Part>) -> &mut Message {
        let wanted = match value::text(&event.value, "id") {
            Some(id) => id.to_owned(),
            None => format!("event-{}", event.record),
        };
        let index = self.messages.len();
        self.messages.push(Message {
            parent: value::string(&event.value, "parentId"),
            at: value::text(&event.value, "timestamp").and_then(time::parse_rfc3339),
            record: Some(event.record),
            ..Message::new(self.ids.unique(&wanted), role, parts)
        });
        &mut self.messages[index]
    }

    /// What the model is sent is the transformed text, where there is one. A message with a source
    /// other than the user was put in by the client (a skill, a command).
    fn user(&mut self, event: &Event) {
        self.recorded.messages += 1;
        let data = event.data();
        let sent = ["transformedContent", "content"]
            .iter()
            .find_map(|key| Some((*key, value::text(data, key).filter(|t| !t.is_empty())?)));
        let by_client = value::text(data, "source").is_some_and(|source| source != "user");
        let mut parts = Vec::new();
        if let Some((key, text)) = sent {
            let part = match by_client {
                true => Part::synthetic(text),
                false => Part::text(text),
            };
            parts.push(part.at(format!("/data/{key}")));
        }
        let attached = data["attachments"].as_array().into_iter().flatten();
        for (index, file) in attached.enumerate() {
            let media = Media {
                mime: value::string(file, "mimeType")
                    .unwrap_or_else(|| "application/octet-stream".to_owned()),
                name: value::string(file, "displayName"),
                url: value::string(file, "path").unwrap_or_default(),
            };
            let part = Part::new(PartKind::File(media));
            parts.push(part.at(format!("/data/attachments/{index}")));
        }
        let mid_turn = by_client || std::mem::replace(&mut self.running, true);
        self.push(event, Role::User, parts).mid_turn = mid_turn;
    }

    fn answer(&mut self, event: &Event) {
        self.recorded.messages += 1;
        let data = event.data();
        let mut parts = Vec::new();
        let reasoning = value::string(data, "reasoningText").unwrap_or_default();
        let opaque = value::string(data, "reasoningOpaque")
            .or_else(|| value::string(data, "encryptedContent"));
        if !reasoning.is_empty() || opaque.is_some() {
            let at = match reasoning.is_empty() {
                true => "/data",
                false => "/data/reasoningText",
            };
            let kind = PartKind::Reasoning { text: reasoning, opaque };
            parts.push(Part::new(kind).at(at));
        }
        if let Some(text) = value::text(data, "content").filter(|text| !text.is_empty()) {
            parts.push(Part::text(text).at("/data/content"));
        }
        let requests = data["toolRequests"].as_array().map_or(&[][..], Vec::as_slice);
        for (index, request) in requests.iter().enumerate() {
            let id = value::text(request, "toolCallId").unwrap_or_default();
            let name = value::text(request, "name").unwrap_or_default();
            let arguments = request.get("arguments").map(value::shown);
            let call = Part::call(self.calls.call(id), name, arguments.unwrap_or_default());
            parts.push(call.at(format!("/data/toolRequests/{index}/arguments")));
        }
        self.recorded.tool_calls += requests.len();
        self.running = !requests.is_empty();
        let model = value::string(data, "model").or_else(|| self.model.clone());
        let message = self.push(event, Role::Assistant, parts);
        message.answer = Some(Answer { model, ended: message.at, ..Answer::default() });
        self.last = Some(self.messages.len() - 1);
    }

    /// The usage of the last answer, in recordings that keep it. Output alone, which every answer
    /// names, is no usage: the input would count as none.
    fn usage(&mut self, data: &Value) {
        let cache_read = value::count(data, "/cacheReadTokens");
        let cache_write = value::count(data, "/cacheWriteTokens");
        let usage = Usage {
            uncached: value::count(data, "/inputTokens").saturating_sub(cache_read + cache_write),
            cache_read,
            cache_write,
            output: value::count(data, "/outputTokens"),
            ..Usage::default()
        };
        let last = self.last.and_then(|index| self.messages.get_mut(index));
        if let Some(answer) = last.and_then(|message| message.answer.as_mut())
            && usage.input_total() > 0
        {
            answer.usage = Some(usage);
        }
    }

    fn result(&mut self, event: &Event) {
        let data = event.data();
        let failed = data.get("success").and_then(Value::as_bool) == Some(false);
        let found = ["/result/content", "/error/message"]
            .iter()
            .find_map(|at| Some((*at, data.pointer(at)?.as_str()?)));
        let (at, text) = match found {
            Some((at, text)) => (format!("/data{at}"), text.to_owned()),
            None => ("/data".to_owned(), String::new()),
        };
        let id = value::text(data, "toolCallId").unwrap_or_default();
        let result = ToolResult {
            call_id: self.calls.result(id),
            tool: value::string(data, "toolName").unwrap_or_default(),
            status: match failed {
                true => ResultStatus::Error,
                false => ResultStatus::Completed,
            },
            text,
            ..ToolResult::default()
        };
        let part = Part::new(PartKind::Result(result)).at(at);
        self.push(event, Role::Tool, vec![part]);
    }

    fn boundary(&mut self, kind: &str, before: Option<u64>, after: Option<u64>) {
        self.session.boundaries.push(Boundary {
            before: self.messages.len(),
            trigger: "auto".to_owned(),
            kind: kind.to_owned(),
            tokens_before: before,
            tokens_after: after,
            original_kept: !self.messages.is_empty(),
        });
    }

    /// A compaction that failed changed nothing.
    fn compaction(&mut self, event: &Event) {
        let data = event.data();
        if data.get("success").and_then(Value::as_bool) == Some(false) {
            return;
        }
        let kept = !self.messages.is_empty();
        let tokens = |key: &str| data[key].as_u64();
        let (before, after) = (tokens("preCompactionTokens"), tokens("postCompactionTokens"));
        self.boundary("summary", before, after);
        if let (Some(boundary), Some(trigger)) =
            (self.session.boundaries.last_mut(), value::text(data, "trigger"))
        {
            boundary.trigger = trigger.to_owned();
        }
        if let Some(text) = value::text(data, "summaryContent").filter(|t| !t.is_empty()) {
            let parts = vec![Part::synthetic(text).at("/data/summaryContent")];
            let message = self.push(event, Role::User, parts);
            message.mid_turn = kept;
            if kept {
                message.origin = Origin::Entry(EntryKind::Summary);
            }
        }
    }

    fn finish(mut self) -> Session {
        for (kind, (first, count)) in std::mem::take(&mut self.unknown) {
            let place = jsonl::place(&self.session.source, first);
            let detail =
                format!("{count} event(s) of the unknown type `{kind}`, skipped; first here");
            self.session.warn("unknown-type", place, detail);
        }
        answers::infer_finish(&mut self.messages);
        let mut session = self.session;
        session.recorded = Some(self.recorded);
        session.model = answers::main_model(&self.messages);
        session.messages = self.messages.into_iter().map(Arc::new).collect();
        pairing::join(&mut session);
        session
    }
}
