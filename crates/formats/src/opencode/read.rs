//! From the export to the canonical form.

use super::parts::{self, Step, steps, usage};
use super::{CONTINUE_TEXT, FORMAT, MARKER_TEXT, SUBTASK_TEXT};
use crate::prelude::*;

pub(super) fn read(text: &str) -> Result<Vec<Session>, ReadError> {
    let root = value::document(text)?;
    let info = root.get("info").unwrap_or(&Value::Null);
    let messages = value::records(&root, "/messages", "an OpenCode export has an array here")?;
    let source = value::source(text, "/messages")?;
    let id = value::text(info, "id").unwrap_or("session");
    let out = SessionBuilder::new(id, FORMAT.id, source);
    let mut reader = Reader { out, ..Reader::default() };
    // Git worktrees of one project lie in different folders; outside of git the project is `global`.
    let project = value::text(info, "projectID").filter(|project| *project != "global");
    let folder = value::text(info, "directory").and_then(cluster::folder);
    reader.out.session.worked_in(project.map(str::to_owned), folder);
    reader.out.session.parent = value::filled(info, "forkSessionID").map(str::to_owned);
    let kept = kept(info, messages);
    for (record, message) in (0u32..).zip(messages).take(kept.whole) {
        reader.record(record, message);
    }
    if let Some(bound) = messages.get(kept.whole) {
        let record = kept.whole as u32;
        let mut gone = messages.len() - kept.whole;
        if kept.parts > 0 {
            let mut bound = bound.clone();
            if let Some(Value::Array(parts)) = bound.get_mut("parts") {
                parts.truncate(kept.parts);
            }
            reader.record(record, &bound);
            gone -= 1;
        }
        reader.out.session.unlogged = answers(&messages[messages.len() - gone..]);
        let detail = format!("the user went back to here: {gone} message(s) skipped");
        reader.out.warn_at("abandoned-branch", record, detail);
    }
    Ok(vec![reader.finish()])
}

/// Answers of messages that the user took back: they were paid for.
fn answers(gone: &[Value]) -> Vec<Answer> {
    let mut reader = Reader::default();
    for (record, message) in (0u32..).zip(gone) {
        reader.record(record, message);
    }
    reader.out.messages.iter().filter_map(|message| message.answer.clone()).collect()
}

/// What a session still has after the user went back.
struct RevertBound {
    /// Number of messages before the revert, which stay whole.
    whole: usize,
    /// Parts of the message behind them.
    parts: usize,
}

fn kept(info: &Value, messages: &[Value]) -> RevertBound {
    let revert = &info["revert"];
    let id_is = |of: &Value, at: &str, wanted: &str| value::text_at(of, at) == Some(wanted);
    let bound = value::filled(revert, "messageID")
        .and_then(|id| messages.iter().position(|message| id_is(message, "/info/id", id)));
    let Some(whole) = bound else { return RevertBound { whole: messages.len(), parts: 0 } };
    let parts = value::filled(revert, "partID").and_then(|id| {
        value::list(&messages[whole], "parts").iter().position(|part| id_is(part, "/id", id))
    });
    RevertBound { whole, parts: parts.unwrap_or(0) }
}

#[derive(Default)]
struct Reader {
    out: SessionBuilder,
    /// Ids of user messages as recorded, with those given here.
    users: HashMap<String, String>,
    /// Whether OpenCode's loop was still running after the last assistant message of the log.
    loop_running: bool,
    /// The last marker: its id and itself.
    marker: Option<(String, Marker)>,
    /// Set between a summary and the message after it: whether that compaction had overflown.
    summarised: Option<bool>,
    /// What the last user message of the log said.
    last_prompt: String,
}

impl Reader {
    fn record(&mut self, record: u32, message: &Value) {
        let place = format!("/messages/{record}");
        let (Some(info), Some(parts)) = (
            message.get("info").filter(|info| info.is_object()),
            message.get("parts").and_then(Value::as_array),
        ) else {
            self.out.warn(
                "damaged-line",
                place,
                "a message needs an object `info` and an array `parts`; left out",
            );
            return;
        };
        match value::text(info, "role") {
            Some("user") => self.user(record, info, parts),
            Some("assistant") if value::flag(info, "summary") => {
                self.assistant(record, info, parts, Origin::Entry(EntryKind::Summary));
            }
            Some("assistant") => self.assistant(record, info, parts, Origin::Log),
            other => self.out.warn(
                "unknown-role",
                format!("{place}/info/role"),
                format!("`{}` is neither user nor assistant; left out", other.unwrap_or("")),
            ),
        }
    }

    fn user(&mut self, record: u32, info: &Value, parts: &[Value]) {
        if self.out.frame.segments().is_empty()
            && let Some(system) = value::filled(info, "system")
        {
            self.out.system(system);
        }
        let mut out = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            let pointer = format!("/parts/{index}");
            match value::text(part, "type") {
                Some("compaction") => out.push(
                    Part::new(PartKind::Marker(Marker {
                        text: MARKER_TEXT.to_owned(),
                        auto: value::flag(part, "auto"),
                        overflow: value::flag(part, "overflow"),
                        tail_start: value::string(part, "tail_start_id"),
                    }))
                    .at(pointer),
                ),
                Some("subtask") => out.push(Part::synthetic(SUBTASK_TEXT).at(pointer)),
                Some("file") => out.extend(parts::file(part).map(|part| part.at(&*pointer))),
                _ => out.extend(self.common_part(record, part, &pointer)),
            }
        }
        let marker = out.iter().find_map(|part| match &part.kind {
            PartKind::Marker(marker) => Some(marker.clone()),
            _ => None,
        });
        let mut message = self.message(record, info, Role::User, out);
        let prompt = message.said();
        let overflown = self.summarised.take();
        if let Some(marker) = marker {
            message.origin = Origin::Entry(EntryKind::Marker);
            self.marker = Some((message.id.clone(), marker));
        } else if overflown.is_some() && is_continue(&message, parts)
            || overflown == Some(true) && !prompt.is_empty() && prompt == self.last_prompt
        {
            // After an overflow OpenCode stores the last prompt a second time, under new ids.
            message.origin = Origin::Entry(EntryKind::Continue);
        } else {
            message.mid_turn = self.loop_running;
            self.last_prompt = prompt;
        }
        if let Some(recorded) = value::text(info, "id") {
            self.users.insert(recorded.to_owned(), message.id.clone());
        }
        self.out.push_message(message);
    }

    fn assistant(&mut self, record: u32, info: &Value, parts: &[Value], origin: Origin) {
        let steps = match origin {
            Origin::Log => steps(parts),
            Origin::Entry(_) => vec![Step::whole(parts)],
        };
        let error = info.get("error").filter(|error| !error.is_null());
        let many = steps.len() > 1;
        let last = steps.len() - 1;
        for (number, step) in steps.iter().enumerate() {
            let mut out = Vec::new();
            let mut results = Vec::new();
            for index in step.parts.clone() {
                let pointer = format!("/parts/{index}");
                let part = &parts[index];
                if value::text(part, "type") == Some("tool") {
                    let (call, result) = self.tool(record, info, part, &pointer);
                    out.push(call);
                    // OpenCode shows the error of a call that failed, whatever mark it has.
                    let shown = result.parts.iter().filter_map(|part| part.as_result());
                    let done = shown.map(|it| it.status).eq([ResultStatus::Completed]);
                    let compacted = value::millis(part, "/state/time/compacted");
                    results.push((result, compacted.filter(|_| done)));
                } else {
                    out.extend(self.common_part(record, part, &pointer));
                }
            }
            let ends_with = || value::text(info, "finish").filter(|_| number == last);
            let mut message = self.message(record, info, Role::Assistant, out);
            message.origin = origin;
            message.answer = Some(Answer {
                usage: usage(if many { step.finish } else { Some(info) }),
                finish: step.reason(many).or_else(ends_with).map(finish),
                model: value::string(info, "modelID"),
                provider: value::string(info, "providerID"),
                started: value::millis(info, "/time/created").filter(|_| number == 0),
                ended: value::millis(info, "/time/completed").filter(|_| number == last),
                error: error.filter(|_| number == last).map(|error| {
                    value::string(error, "name").unwrap_or_else(|| value::shown(error))
                }),
                ..Answer::default()
            });
            if is_unasked(&message, step, info) {
                message.answer = None;
            }
            self.out.push_message(message);
            for (result, compacted) in results {
                self.out.session.cleared.extend(compacted.map(|time| Cleared {
                    at: PartPos { item: self.out.messages.len(), part: 0 },
                    time,
                }));
                self.out.push_message(result);
            }
        }
        match origin {
            Origin::Log => {
                self.loop_running =
                    error.is_none() && value::text(info, "finish") == Some("tool-calls");
                self.summarised = None;
            }
            Origin::Entry(_) => self.summarised(info, error.is_some()),
        }
    }

    /// Notes the compaction that a summary completes.
    fn summarised(&mut self, info: &Value, failed: bool) {
        let parent = self.out.messages.last().and_then(|message| message.parent.clone());
        let marker = self
            .marker
            .as_ref()
            .filter(|(id, _)| parent.as_ref() == Some(id))
            .map(|(_, marker)| marker.clone())
            .unwrap_or_default();
        self.summarised = Some(marker.overflow);
        if failed || value::text(info, "finish").is_none() {
            return;
        }
        let before = self
            .out
            .messages
            .iter()
            .filter(|message| !message.is_entry())
            .filter_map(|message| message.answer.as_ref()?.usage);
        let tokens_before =
            before.last().map(|usage| usage.total.unwrap_or(usage.input_total() + usage.output));
        self.out.boundary("summary", if marker.auto { "auto" } else { "manual" }).tokens_before =
            tokens_before;
    }

    fn message(&mut self, record: u32, info: &Value, role: Role, parts: Vec<Part>) -> Message {
        let id = self.out.unique(value::text(info, "id").unwrap_or("message"));
        let mut message = Message::new(id, role, parts);
        message.record = Some(record);
        message.at = value::millis(info, "/time/created");
        message.agent = agent(info);
        message.parent = value::text(info, "parentID")
            .map(|parent| self.users.get(parent).cloned().unwrap_or_else(|| parent.to_owned()));
        message
    }

    /// The assistant's call, and the tool's message with the result.
    fn tool(&mut self, record: u32, info: &Value, part: &Value, pointer: &str) -> (Part, Message) {
        let call_id = self.out.calls.call(value::text(part, "callID").unwrap_or("call"));
        let (call, result, place) = parts::tool(part, call_id, pointer);
        let id = self.out.unique(value::text(part, "id").unwrap_or("part"));
        let result = Part::new(PartKind::Result(result)).at(place);
        let mut message = Message::new(id, Role::Tool, vec![result]);
        message.record = Some(record);
        message.agent = agent(info);
        message.at = value::millis(part, "/state/time/end")
            .or_else(|| value::millis(part, "/state/time/start"))
            .or_else(|| value::millis(info, "/time/created"));
        (Part::new(PartKind::Call(call)).at(format!("{pointer}/state/input")), message)
    }

    /// A part that user and assistant messages have in common; `None` for parts without model text.
    fn common_part(&mut self, record: u32, part: &Value, pointer: &str) -> Option<Part> {
        match value::text(part, "type") {
            Some("text") => Some(
                Part::new(PartKind::Text {
                    text: value::string(part, "text").unwrap_or_default(),
                    synthetic: value::flag(part, "synthetic"),
                    ignored: value::flag(part, "ignored"),
                })
                .at(format!("{pointer}/text")),
            ),
            Some("reasoning") => Some(parts::reasoning(part, pointer)),
            Some(kind) if parts::WITHOUT_TEXT.contains(&kind) => None,
            Some(kind) => {
                let place = format!("/messages/{record}{pointer}");
                Some(self.out.unknown_part(place, "a part of type", kind, part).at(pointer))
            }
            None => {
                self.out.warn(
                    "damaged-part",
                    format!("/messages/{record}{pointer}"),
                    "a part without a type; left out",
                );
                None
            }
        }
    }

    fn finish(mut self) -> Session {
        self.prunes();
        self.out.session.boundaries.sort_by_key(|boundary| boundary.before);
        self.out.session.model = self.out.main_model();
        self.out.finish()
    }

    /// One boundary for every prune: parts cleared by one run carry the same time, give or take the
    /// run's own length.
    fn prunes(&mut self) {
        const RUN: i64 = 1000;
        let mut times: Vec<i64> = self.out.session.cleared.iter().map(|part| part.time).collect();
        times.sort_unstable();
        times.dedup_by(|later, earlier| *later - *earlier < RUN);
        for time in times {
            let messages = &self.out.messages;
            let before = messages
                .iter()
                .position(|message| message.at.is_some_and(|at| at > time))
                .unwrap_or(messages.len());
            self.out.boundary("clear", "auto").before = before;
        }
    }
}

fn agent(info: &Value) -> Option<String> {
    value::string(info, "agent").or_else(|| value::string(info, "mode"))
}

/// Whether this is the message that OpenCode adds so that the model goes on after a compaction.
fn is_continue(message: &Message, parts: &[Value]) -> bool {
    let marked =
        |part: &Value| part.pointer("/metadata/compaction_continue") == Some(&Value::Bool(true));
    let begins = |part: &Part| matches!(&part.kind, PartKind::Text { text, synthetic: true, .. } if text.starts_with(CONTINUE_TEXT));
    parts.iter().any(marked) || message.parts.iter().any(begins)
}

/// Whether no model call comes after an assistant message: OpenCode stores the tool run of a
/// subtask that the user asked for as a message of its own, without a step and without tokens.
fn is_unasked(message: &Message, step: &Step<'_>, info: &Value) -> bool {
    !step.begun
        && info.get("error").is_none_or(Value::is_null)
        && usage(Some(info)).is_none()
        && message.call_ids().next().is_some()
}
