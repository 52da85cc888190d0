//! `copilot-cli`: the `events.jsonl` of GitHub Copilot CLI, `~/.copilot/session-state/<id>`.
//!
//! A line is an event, `{type, data, id, timestamp, parentId}`; about an eighth of them are messages.
//! Subagents speak in the same stream and are sessions of their own. Input tokens are seldom
//! recorded. The format is only read. `docs/copilot-cli.md` has the mapping.

use crate::prelude::*;

pub(crate) const FORMAT: Format =
    Format::new("copilot-cli", "GitHub Copilot CLI session (events.jsonl)", SIGNS, read);

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

/// Members of every event.
const EVENT: Member = All(&[Has("/data"), Has("/parentId"), Has("/timestamp")]);

const SIGNS: &[Sign] = &[
    Sign::new(100, &[EVENT, Is("/type", &["session.start"])]).lines(20),
    Sign::new(90, &[EVENT, Begins("/type", &["session.", "assistant.", "user.", "tool."])])
        .lines(20),
];

/// Reads a file: the main conversation, then those of subagents.
fn read(text: &str) -> Result<Vec<Session>, ReadError> {
    let source = Source::lines(text);
    let mut warnings = Vec::new();
    let mut seen = HashSet::new();
    let mut threads: Vec<(Option<String>, Vec<Event>)> = vec![(None, Vec::new())];
    let mut places = HashMap::from([(None, 0)]);
    for (record, value) in jsonl::values(&source) {
        let value = match value {
            Ok(value) => value,
            Err(warning) => {
                warnings.push(warning);
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
        let place = *places.entry(key.clone()).or_insert(threads.len());
        match threads.get_mut(place) {
            Some((_, events)) => events.push(event),
            None => threads.push((key, vec![event])),
        }
    }
    let main = threads.first().map_or(&[][..], |(_, events)| events);
    let id = main
        .iter()
        .find_map(|event| value::string(&event.value["data"], "sessionId"))
        .unwrap_or_else(|| FORMAT.id.to_owned());
    let context = main.iter().find_map(|event| event.data().get("context"));
    let (repository, folder) = (context.and_then(repository), context.and_then(folder));
    let sessions = threads
        .iter()
        .map(|(key, events)| {
            let id = match key {
                None => id.clone(),
                Some(key) => format!("{id}/{key}"),
            };
            let out = SessionBuilder::new(id, FORMAT.id, source.clone());
            let mut reader = Reader { out, ..Reader::default() };
            reader.out.session.worked_in(repository.clone(), folder.clone());
            for event in events {
                reader.event(event);
            }
            reader.finish()
        })
        .collect();
    threads_of(sessions, warnings)
}

/// The repository that the client was started in.
fn repository(context: &Value) -> Option<String> {
    let host = value::text(context, "repositoryHost").unwrap_or("github.com");
    let name = value::text(context, "repository").filter(|name| !name.is_empty())?;
    cluster::repository(&format!("https://{host}/{name}"))
}

/// The folder that it was started in.
fn folder(context: &Value) -> Option<String> {
    cluster::folder(value::text(context, "gitRoot").or_else(|| value::text(context, "cwd"))?)
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

#[derive(Default)]
struct Reader {
    out: SessionBuilder,
    last: Option<usize>,
    recorded: Recorded,
}

impl Reader {
    fn event(&mut self, event: &Event) {
        let data = event.data();
        match value::text(&event.value, "type").unwrap_or_default() {
            "session.start" | "session.resume" => {
                let model = value::string(data, "selectedModel");
                self.out.model = model.or(self.out.model.take());
            }
            "session.model_change" => self.out.model = value::string(data, "newModel"),
            "session.compaction_complete" => self.compaction(event),
            "session.truncation" => {
                self.boundary(
                    "drop",
                    data,
                    ["preTruncation", "postTruncation"],
                    "TokensInMessages",
                );
            }
            "system.message" => {
                let text = value::text(data, "content").unwrap_or_default();
                let parts = vec![Part::text(text).at("/data/content")];
                if let Some(parts) = self.out.opening_system(parts) {
                    self.push(event, Role::System, parts);
                }
            }
            "user.message" => self.user(event),
            "assistant.message" => self.answer(event),
            "assistant.usage" => self.usage(data),
            "tool.execution_complete" => self.result(event),
            "hook.end" => {
                let at = "/data/output/additionalContext";
                let text = value::text_at(&event.value, at);
                if let Some(text) = text.filter(|text| !text.is_empty()) {
                    let parts = vec![Part::synthetic(text).at(at)];
                    self.push(event, Role::User, parts).mid_turn = true;
                }
            }
            kind if SILENT.iter().any(|prefix| kind.starts_with(prefix)) => {}
            kind => self.out.note_unknown(kind, event.record),
        }
    }

    fn push(&mut self, event: &Event, role: Role, parts: Vec<Part>) -> &mut Message {
        let id = value::string(&event.value, "id");
        let wanted = id.unwrap_or_else(|| format!("event-{}", event.record));
        let message = self.out.push(event.record, &wanted, role, parts);
        message.parent = value::string(&event.value, "parentId");
        message.at = value::time(&event.value, "timestamp");
        message
    }

    /// The model is sent the transformed text, if there is one. A message with a source
    /// other than the user was put in by the client (a skill, a command).
    fn user(&mut self, event: &Event) {
        self.recorded.messages += 1;
        let data = event.data();
        let sent = ["transformedContent", "content"]
            .into_iter()
            .find_map(|key| Some((key, value::filled(data, key)?)));
        let by_client = value::text(data, "source").is_some_and(|source| source != "user");
        let mut parts = Vec::new();
        if let Some((key, text)) = sent {
            parts.push(Part::text(text).at(format!("/data/{key}")));
        }
        if by_client {
            mark_synthetic(&mut parts);
        }
        for (index, attached) in value::list(data, "attachments").iter().enumerate() {
            let members = ["mimeType", "displayName", "path"];
            let media = media(attached, members, "application/octet-stream");
            parts.push(file(media).at(format!("/data/attachments/{index}")));
        }
        let mid_turn = by_client || std::mem::replace(&mut self.out.running, true);
        self.push(event, Role::User, parts).mid_turn = mid_turn;
    }

    fn answer(&mut self, event: &Event) {
        self.recorded.messages += 1;
        let data = event.data();
        let mut parts = Vec::new();
        let thought = value::text(data, "reasoningText").unwrap_or_default();
        let opaque = value::first_string(data, &["reasoningOpaque", "encryptedContent"]);
        if !thought.is_empty() || opaque.is_some() {
            let at = if thought.is_empty() { "/data" } else { "/data/reasoningText" };
            parts.push(reasoning(thought, opaque).at(at));
        }
        if let Some(text) = value::filled(data, "content") {
            parts.push(Part::text(text).at("/data/content"));
        }
        let requests = value::list(data, "toolRequests");
        for (index, request) in requests.iter().enumerate() {
            let id = value::text(request, "toolCallId").unwrap_or_default();
            let name = value::text(request, "name").unwrap_or_default();
            let call = self.out.call(id, name, value::shown_of(request, "arguments"));
            parts.push(call.at(format!("/data/toolRequests/{index}/arguments")));
        }
        self.recorded.tool_calls += requests.len();
        self.out.running = !requests.is_empty();
        let model = value::string(data, "model").or_else(|| self.out.model.clone());
        let message = self.push(event, Role::Assistant, parts);
        message.answer = Some(Answer { model, ended: message.at, ..Answer::default() });
        self.last = Some(self.out.messages.len() - 1);
    }

    /// The usage of the last answer, in recordings that keep it.
    fn usage(&mut self, data: &Value) {
        let last = self.last.and_then(|index| self.out.messages.get_mut(index));
        if let Some(answer) = last.and_then(|message| message.answer.as_mut()) {
            answer.usage = COUNTS.any(data).or(answer.usage);
        }
    }

    fn result(&mut self, event: &Event) {
        let data = event.data();
        let failed = data.get("success").and_then(Value::as_bool) == Some(false);
        let found = ["/result/content", "/error/message"]
            .iter()
            .find_map(|at| Some((*at, value::text_at(data, at)?)));
        let (at, text) = found.unwrap_or_default();
        let id = value::text(data, "toolCallId").unwrap_or_default();
        let name = value::text(data, "toolName").unwrap_or_default();
        let part = self.out.result(id, name, failed, text, Vec::new());
        self.push(event, Role::Tool, vec![part.at(format!("/data{at}"))]);
    }

    /// A compaction; `[before, after]` and `unit` make the names of its token counts.
    fn boundary(&mut self, kind: &str, data: &Value, names: [&str; 2], unit: &str) {
        let kept = !self.out.messages.is_empty();
        let [before, after] = names.map(|name| data[format!("{name}{unit}")].as_u64());
        let boundary = self.out.boundary(kind, value::text(data, "trigger").unwrap_or("auto"));
        boundary.tokens_before = before;
        boundary.tokens_after = after;
        boundary.original_kept = kept;
    }

    /// A compaction that failed changed nothing.
    fn compaction(&mut self, event: &Event) {
        let data = event.data();
        if data.get("success").and_then(Value::as_bool) == Some(false) {
            return;
        }
        let kept = !self.out.messages.is_empty();
        self.boundary("summary", data, ["preCompaction", "postCompaction"], "Tokens");
        if let Some(text) = value::filled(data, "summaryContent") {
            let parts = vec![Part::synthetic(text).at("/data/summaryContent")];
            let message = self.push(event, Role::User, parts);
            message.mid_turn = kept;
            if kept {
                message.origin = Origin::Entry(EntryKind::Summary);
            }
        }
    }

    fn finish(mut self) -> Session {
        self.out.warn_unknown(" event(s)", Source::place);
        self.out.session.recorded = Some(self.recorded);
        self.out.finish_run()
    }
}

const COUNTS: Counts = Counts {
    input: &["/inputTokens"],
    cache_read: &["/cacheReadTokens"],
    cache_write: &["/cacheWriteTokens"],
    output: &["/outputTokens"],
    ..Counts::NONE
};
