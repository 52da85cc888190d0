//! `kimi-code`: the event log of Kimi Code, `agents/<agent>/wire.jsonl` of a session.
//!
//! A header, then a record a line, told by `type`. Messages are appended whole, answers in pieces (`step.begin`,
//! `content.part`, `tool.call`, `step.end`); a compaction, an undo or a clear is a record of its own, and what it takes
//! from the context stays in the log. The format is only read. `docs/kimi-code.md` has the mapping.

use crate::prelude::*;

pub(crate) const FORMAT: Format =
    Format::new("kimi-code", "Kimi Code session (wire.jsonl)", SIGNS, read);

/// Families of records that hold nothing which the model saw beyond the context's.
const SILENT: &[&str] = &[
    "agent.",
    "cron.",
    "forked",
    "full_compaction.",
    "goal.",
    "interaction.",
    "interruptionReminder.",
    "mcp.",
    "metadata",
    "permission.",
    "plan.",
    "plan_mode.",
    "plugin.",
    "prompt.",
    "runtime.",
    "staleGuard.",
    "subagent.",
    "swarm_mode.",
    "task.",
    "token_counting.",
    "tools.",
    "tower_mode.",
    "turn.",
    "usage.",
];

const SIGNS: &[Sign] = &[
    Sign::new(100, &[Is("/type", &["metadata"]), Has("/protocol_version"), Has("/created_at")])
        .lines(20),
    Sign::new(95, &[Is("/type", &["context.append_message"]), Has("/message")]).lines(20),
    Sign::new(95, &[Is("/type", &["context.append_loop_event"]), Has("/event")]).lines(20),
];

fn is_header(opening: &Peek) -> bool {
    opening.is("/type", "metadata")
        && opening.has("/protocol_version")
        && opening.has("/created_at")
}

fn read(text: &str) -> Result<Vec<Session>, ReadError> {
    let source = Source::lines(text);
    let mut reader = Reader {
        out: SessionBuilder::new(value::content_id(text), FORMAT.id, source.clone()),
        ..Reader::default()
    };
    for (record, line) in jsonl::values_once(&source, |line| is_header(&peek(line))) {
        match line {
            Ok(line) => reader.record(record, line),
            Err(warning) => reader.out.session.warnings.push(warning),
        }
    }
    only(reader.finish())
}

#[derive(Default)]
struct Reader {
    out: SessionBuilder,
    system: String,
    tools: Value,
    /// When the latest request was sent.
    sent: Option<i64>,
    /// The step whose pieces come, and its message once there is one.
    step: (String, Option<usize>),
    /// Calls of the step without a result. What is said meanwhile goes behind the results.
    open: BTreeSet<String>,
    deferred: Vec<(u32, Value)>,
    /// Messages to which the user can go back.
    anchors: Vec<usize>,
    /// Who asked for the compaction that is being made.
    trigger: String,
}

impl Reader {
    fn record(&mut self, record: u32, line: Value) {
        match value::text(&line, "type").unwrap_or_default() {
            "profile.bind" | "config.update" => self.profile(&line),
            "llm.tools_snapshot" => self.tools = line["tools"].clone(),
            "llm.request" => {
                self.out.model = value::string(&line, "model").or(self.out.model.take());
                self.sent = value::millis(&line, "/time");
            }
            "turn.prompt" => self.out.running = false,
            "turn.steer" => self.out.running = true,
            "context.append_message" if self.open.is_empty() => self.message(record, &line),
            "context.append_message" => self.deferred.push((record, line)),
            "context.append_loop_event" => self.piece(record, &line),
            "full_compaction.begin" => {
                self.trigger = value::string(&line, "source").unwrap_or_default();
            }
            "context.apply_compaction" => self.compaction(record, &line),
            "context.undo" => self.undo(record, value::count(&line, "/count")),
            "context.clear" => {
                self.settle();
                self.anchors.clear();
                self.out.boundary("drop", "manual");
            }
            kind if SILENT.iter().any(|family| kind.starts_with(family)) => {}
            kind => self.out.note_unknown(kind, record),
        }
    }

    fn profile(&mut self, line: &Value) {
        if let Some(system) = value::filled(line, "systemPrompt") {
            system.clone_into(&mut self.system);
        }
        self.out.model = self.out.model.take().or_else(|| value::string(line, "modelAlias"));
        let folder = ["/environmentDisclosure/cwd", "/cwd"];
        let folder = folder.iter().find_map(|at| cluster::folder(value::text_at(line, at)?));
        if folder.is_some() {
            self.out.session.worked_in(None, folder);
        }
    }

    fn message(&mut self, record: u32, line: &Value) {
        let message = &line["message"];
        let mut parts = self.parts(record, &message["content"], "/message/content");
        self.out.tools(message.get("tools"));
        let role = match value::text(message, "role") {
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            Some("tool") => Role::Tool,
            Some("system") => match self.out.opening_system(parts) {
                None => return,
                Some(back) => {
                    parts = back;
                    Role::System
                }
            },
            other => return self.out.unknown_role_of(record, other),
        };
        for (index, call) in value::list(message, "toolCalls").iter().enumerate() {
            // The first version nested them.
            let (call, inner) = match &call["function"] {
                function @ Value::Object(_) => (function, "/function"),
                _ => (call, ""),
            };
            let id = value::text(&message["toolCalls"][index], "id").unwrap_or_default();
            let name = value::text(call, "name").unwrap_or_default();
            let part = self.out.call(id, name, value::shown_of(call, "arguments"));
            parts.push(part.at(format!("/message/toolCalls/{index}{inner}/arguments")));
        }
        if role == Role::Tool {
            let call = value::text(message, "toolCallId").unwrap_or_default();
            let failed = value::flag(message, "isError");
            parts = vec![self.result(parts, "/message/content", call, failed, message)];
        }
        if parts.is_empty() {
            return;
        }
        let origin = value::text_at(message, "/origin/kind").unwrap_or("user");
        let by_hand = value::text_at(message, "/origin/trigger") == Some("user-slash");
        let anchor = role == Role::User && (origin == "user" || by_hand);
        if role == Role::User && !anchor {
            mark_synthetic(&mut parts);
        }
        let aside = ["injection", "shell_command"].contains(&origin);
        let mid_turn = aside || std::mem::replace(&mut self.out.running, true);
        if anchor {
            self.anchors.push(self.out.messages.len());
        }
        let id = value::filled(message, "id").map(str::to_owned);
        let record = Record { number: record, id, at: value::millis(line, "/time") };
        match role {
            Role::Assistant => self.out.answer(&record, parts, Answer::default()),
            _ => self.out.add(&record, role, parts).mid_turn = mid_turn && role == Role::User,
        }
    }

    /// A piece of an answer, or a result.
    fn piece(&mut self, record: u32, line: &Value) {
        let event = &line["event"];
        let text = |key| value::text(event, key).unwrap_or_default();
        match text("type") {
            "step.begin" => {
                self.settle();
                self.step = (text("uuid").to_owned(), None);
            }
            "content.part" => {
                let parts = BLOCKS.block(&mut self.out, record, &event["part"], "/event/part");
                self.say(record, line, text("stepUuid"), parts);
            }
            "tool.call" => {
                let call = self.out.call(text("toolCallId"), text("name"), shown(event, "args"));
                self.open.extend(call.as_call().map(|call| call.call_id.clone()));
                self.say(record, line, text("stepUuid"), vec![call.at("/event/args")]);
            }
            "tool.result" => {
                let (result, at) = (&event["result"], "/event/result/output");
                let parts = self.parts(record, &result["output"], at);
                let failed = value::flag(result, "isError");
                let part = self.result(parts, at, text("toolCallId"), failed, result);
                if let Some(result) = part.as_result() {
                    self.open.remove(&result.call_id);
                }
                let message = self.out.push_unnamed(record, Role::Tool, vec![part]);
                message.at = value::millis(line, "/time");
                if self.open.is_empty() {
                    self.say_deferred();
                }
            }
            "step.end" => self.end(line),
            kind => self.out.note_unknown(&format!("context.append_loop_event {kind}"), record),
        }
    }

    /// Adds parts to the answer of a step.
    fn say(&mut self, record: u32, line: &Value, step: &str, parts: Vec<Part>) {
        if self.step.0 != step {
            self.step = (step.to_owned(), None);
        }
        let index = match self.step.1 {
            Some(index) => index,
            None => {
                let (model, started) = (self.out.model.clone(), self.sent);
                let message = self.out.push(record, step, Role::Assistant, Vec::new());
                message.at = value::millis(line, "/time");
                message.answer = Some(Answer { model, started, ..Answer::default() });
                self.out.messages.len() - 1
            }
        };
        self.step.1 = Some(index);
        self.out.running = true;
        self.out.extend(index, record, parts);
    }

    fn end(&mut self, line: &Value) {
        let event = &line["event"];
        let ours = value::text(event, "uuid") == Some(self.step.0.as_str());
        let message = self.step.1.filter(|_| ours).and_then(|at| self.out.messages.get_mut(at));
        let Some(message) = message else { return };
        let calls = message.call_ids().next().is_some();
        if let Some(answer) = &mut message.answer {
            answer.usage = COUNTS.any(&event["usage"]);
            answer.ended = value::millis(line, "/time");
            answer.finish = value::text(event, "finishReason").map(|word| match word {
                "interrupted" => Finish::Error,
                word => finish(word),
            });
        }
        self.out.running = calls;
    }

    /// The step is over. A call without a result was interrupted.
    fn settle(&mut self) {
        self.open.clear();
        self.step = (String::new(), None);
        self.say_deferred();
    }

    fn say_deferred(&mut self) {
        for (record, line) in std::mem::take(&mut self.deferred) {
            self.message(record, &line);
        }
    }

    /// A compaction, which keeps the summary and the prompts; the log has the latter already.
    fn compaction(&mut self, record: u32, line: &Value) {
        self.settle();
        let kept = self.out.holds_log();
        let trigger = std::mem::take(&mut self.trigger);
        let boundary =
            self.out.boundary("summary", if trigger.is_empty() { "auto" } else { &trigger });
        boundary.tokens_before = line["tokensBefore"].as_u64();
        boundary.tokens_after = line["tokensAfter"].as_u64();
        boundary.original_kept = kept;
        let texts = ["contextSummary", "summary"];
        let text = texts.into_iter().find_map(|key| Some((value::text(line, key)?, key)));
        let parts = match text {
            Some((text, key)) => vec![Part::synthetic(text).at(format!("/{key}"))],
            // An older record has a message there.
            None => self.parts(record, &line["summary"]["content"], "/summary/content"),
        };
        let record = Record { number: record, id: None, at: value::millis(line, "/time") };
        self.out.summary(&record, parts);
        self.anchors.clear();
    }

    /// The user took turns back. One that would cross a compaction does nothing.
    fn undo(&mut self, record: u32, turns: u64) {
        self.settle();
        let left =
            usize::try_from(turns).ok().and_then(|back| self.anchors.len().checked_sub(back));
        let Some(left) = left.filter(|left| *left < self.anchors.len()) else { return };
        let start = self.anchors[left];
        self.anchors.truncate(left);
        let gone = self.out.take_back(start);
        self.out.running = false;
        let detail =
            format!("the user took back {turns} turn(s); their {gone} message(s) were skipped");
        self.out.warn_at("abandoned-branch", record, detail);
    }

    /// The parts of a content, which is a text or a list.
    fn parts(&mut self, record: u32, content: &Value, at: &str) -> Vec<Part> {
        BLOCKS.list(&mut self.out, record, content, at)
    }

    /// A result. The model is shown the note, which the screen is not.
    fn result(
        &mut self,
        parts: Vec<Part>,
        at: &str,
        call: &str,
        failed: bool,
        noted: &Value,
    ) -> Part {
        let (mut text, media, mut at) = flattened(parts, at.to_owned());
        if let Some(note) = value::filled(noted, "note") {
            text = format!("{text}\n{note}");
            at = at.rsplit_once('/').map_or(String::new(), |(above, _)| above.to_owned());
        }
        self.out.result(call, "", failed, text, media).at(at)
    }

    fn finish(mut self) -> Session {
        self.settle();
        if !self.system.is_empty() {
            let system = std::mem::take(&mut self.system);
            self.out.system(system);
        }
        let tools = std::mem::take(&mut self.tools);
        self.out.tools(Some(&tools));
        self.out.warn_unknown(" record(s)", Source::place);
        self.out.finish_run()
    }
}

const BLOCKS: Blocks = Blocks {
    name: "content part",
    types: &[
        ("text", Block::Text("/text")),
        ("think", Block::Thought("/think", &["/encrypted"])),
        ("image_url", Block::Code(media)),
        ("audio_url", Block::Code(media)),
        ("video_url", Block::Code(media)),
    ],
    ..Blocks::NONE
};

fn media(_: &mut SessionBuilder, raw: &Value, at: &str) -> Vec<Part> {
    let kind = value::text(raw, "type").unwrap_or_default().trim_end_matches("_url");
    let url = value::text_at(raw, &format!("/{kind}Url/url")).unwrap_or_default();
    // Large media lie beside the log: `blobref:<type>;<hash>`.
    let data = ["data:", "blobref:"].iter().find_map(|begin| url.strip_prefix(begin));
    let mime = data.and_then(|data| Some(data.split_once(';')?.0));
    let mime = mime.map_or_else(|| format!("{kind}/*"), str::to_owned);
    vec![file(Media { mime, url: url.to_owned(), ..Media::default() }).at(at)]
}

/// A member as text; an empty object where it is missing.
fn shown(value: &Value, key: &str) -> String {
    value.get(key).map_or_else(|| "{}".to_owned(), value::shown)
}

const COUNTS: Counts = Counts {
    input: &["/inputOther"],
    cache_read: &["/inputCacheRead"],
    cache_write: &["/inputCacheCreation"],
    output: &["/output"],
    cache_in_input: false,
    ..Counts::NONE
};
