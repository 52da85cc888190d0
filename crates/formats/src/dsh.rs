//! `dsh`: the event log of DeepSeek Harness, `session.jsonl` or, in Zstandard frames, `session.jsonl.zstd`.
//!
//! A header, then an event a line: `{type, seq, time, data}`. Three kinds of events are messages; the rest tells how they
//! came about. What a compaction replaces stays in the log. The format is only read. `docs/dsh.md` has the mapping.

use crate::prelude::*;

pub(crate) const FORMAT: Format =
    Format::new("dsh", "DeepSeek Harness session (session.jsonl)", SIGNS, read);

/// Types of events, and families of them, that hold nothing which the model saw beyond the messages.
const SILENT: &[&str] = &[
    "agent-preset/",
    "agent/",
    "approval/",
    "assistant/chunk",
    "command/",
    "compaction/",
    "feedback/",
    "goal/",
    "hook/",
    "llm/",
    "permission/",
    "plan/",
    "reasoning-chunks",
    "sandbox/",
    "schedule/",
    "session/",
    "step/",
    "subagent/",
    "team/",
    "text-chunks",
    "todo/",
    "tool-call-chunks",
    "tool-workflow/",
    "tool/call",
    "tool/code-dispatch",
    "turn/end",
    "web/",
];

/// Types of the events that are messages.
const MESSAGES: &[&str] = &["user/message", "assistant/message", "tool/result"];

const SIGNS: &[Sign] = &[
    Sign::new(100, &[Is("/type", &["session"]), Has("/createdAt")]).lines(20),
    Sign::new(90, &[Is("/type", MESSAGES), Has("/data"), Has("/surfaceOp")]).lines(20),
];

fn read(text: &str) -> Result<Vec<Session>, ReadError> {
    let source = Source::lines(text);
    let session = Session::new(value::content_id(text), FORMAT.id, source.clone());
    let mut reader = Reader { out: session.into(), ..Reader::default() };
    for (record, line) in jsonl::values_once(&source, |line| peek(line).is("/type", "session")) {
        match line {
            Ok(event) => reader.event(record, &event),
            Err(warning) => reader.out.session.warnings.push(warning),
        }
    }
    only(reader.finish())
}

#[derive(Default)]
struct Reader {
    out: SessionBuilder,
    /// Whether a person asked for the current compaction.
    manual: bool,
    /// The latest header of a request.
    header: Value,
}

impl Reader {
    fn event(&mut self, record: u32, event: &Value) {
        let data = &event["data"];
        match value::text(event, "type").unwrap_or_default() {
            "session" => self.session(event),
            "turn/start" => self.out.running = false,
            "request/header" => self.header = data["header"].clone(),
            "request/context" => {
                if let Some(window) = data["contextWindow"].as_u64() {
                    self.out.session.limits.context = window;
                }
            }
            // One between two turns belongs to none.
            "compaction/start" => self.manual = data["turn"].is_null(),
            "user/message" => self.user(record, event),
            "assistant/message" => self.answer(record, event),
            "tool/result" => self.result(record, event),
            kind if SILENT.iter().any(|prefix| kind.starts_with(prefix)) => {}
            // Its writer says that nothing depends on it.
            _ if value::flag(event, "ignorable") => {}
            kind => self.out.note_unknown(kind, record),
        }
    }

    fn session(&mut self, header: &Value) {
        let session = &mut self.out.session;
        if let Some(id) = value::filled(header, "id") {
            session.id = id.to_owned();
        }
        session.parent = value::filled(header, "parentSession").map(str::to_owned);
        session.worked_in(None, value::text(header, "cwd").and_then(cluster::folder));
    }

    fn push(
        &mut self,
        number: u32,
        event: &Value,
        message: &Value,
        role: Role,
        parts: Vec<Part>,
    ) -> &mut Message {
        let at = value::millis(event, "/time");
        let id = value::filled(message, "id").map(str::to_owned);
        self.out.add(&Record { number, id, at }, role, parts)
    }

    /// A prompt, a text of a plugin, or the checkpoint of a compaction.
    fn user(&mut self, record: u32, event: &Value) {
        let data = &event["data"];
        let mut parts = BLOCKS.parts(&mut self.out, record, data, "/data");
        let by_person = value::text_at(data, "/source/kind").is_none_or(|kind| kind == "user");
        if !by_person {
            mark_synthetic(&mut parts);
        }
        if replaces(event) {
            let before = self.out.latest_tokens();
            let trigger = if self.manual { "manual" } else { "auto" };
            self.out.boundary("summary", trigger).tokens_before = before;
            let message = self.push(record, event, data, Role::User, parts);
            message.origin = Origin::Entry(EntryKind::Summary);
            message.mid_turn = true;
            return;
        }
        let mid_turn = std::mem::replace(&mut self.out.running, true);
        self.push(record, event, data, Role::User, parts).mid_turn = mid_turn;
    }

    fn answer(&mut self, record: u32, event: &Value) {
        let data = &event["data"];
        let (message, at) = message_of(data);
        let parts = BLOCKS.parts(&mut self.out, record, message, at);
        let named = ["/source/model", "/provenance/model"];
        let model = named.iter().find_map(|place| value::text_at(message, place));
        let model = model.or_else(|| value::text_at(&self.header, "/config/model"));
        let model = model.map(str::to_owned);
        let usage = COUNTS.any(&data["usage"]);
        let finish = value::flag(data, "interrupted").then_some(Finish::Error);
        let message = self.push(record, event, message, Role::Assistant, parts);
        let ended = message.at;
        message.answer = Some(Answer { model, usage, finish, ended, ..Answer::default() });
    }

    fn result(&mut self, record: u32, event: &Value) {
        let (message, at) = message_of(&event["data"]);
        // A result that replaces one is shorter than what it replaces, which the log keeps.
        if replaces(event) {
            let last = self.out.session.boundaries.last();
            let same = last
                .is_some_and(|last| last.kind == "clear" && last.before == self.out.messages.len());
            if !same {
                let before = self.out.latest_tokens();
                self.out.boundary("clear", "auto").tokens_before = before;
            }
            return;
        }
        let parts = match message["callId"].is_string() {
            true => BLOCKS.meaning(&RESULT, &mut self.out, record, message, at),
            false => BLOCKS.parts(&mut self.out, record, message, at),
        };
        self.push(record, event, message, Role::Tool, parts);
    }

    fn finish(mut self) -> Session {
        if let Some(system) = value::filled(&self.header, "system") {
            self.out.system(system);
        }
        self.out.tools(self.header.get("tools"));
        self.out.warn_unknown(" event(s)", Source::place);
        self.out.finish_run()
    }
}

const BLOCKS: Blocks = Blocks {
    types: &[
        ("text", Block::Text("/text")),
        ("reasoning", Block::Thought("/text", &[])),
        ("image", Block::Code(image)),
        ("tool-call", Block::Call { id: &["/id"], tool: "/name", arguments: "/arguments" }),
        (
            "tool-result",
            Block::Result { call: "/toolCallId", failed: "/isError", content: "/content" },
        ),
    ],
    ..Blocks::NONE
};

/// An image, to which the log only refers.
fn image(_: &mut SessionBuilder, raw: &Value, at: &str) -> Vec<Part> {
    let members = ["mediaType", "name", "attachmentId"];
    vec![file(media(&raw["attachment"], members, "image/png")).at(at)]
}

/// An event of an older version that is a result.
const RESULT: Block = Block::Result { call: "/callId", failed: "/isError", content: "/content" };

/// The message of an answer or a result, and its place. Before August 2026 the data was the message, without an id.
fn message_of(data: &Value) -> (&Value, &'static str) {
    match &data["message"] {
        message @ Value::Object(_) => (message, "/data/message"),
        _ => (data, "/data"),
    }
}

/// Whether an event takes the place of earlier ones.
fn replaces(event: &Value) -> bool {
    value::text_at(event, "/surfaceOp/op") == Some("replace")
}

/// Disjoint counts, but for the reasoning, which the output holds.
const COUNTS: Counts = Counts {
    input: &["/inputTokens"],
    cache_read: &["/cacheReadTokens"],
    cache_write: &["/cacheWriteTokens"],
    output: &["/outputTokens"],
    reasoning: &["/reasoningTokens"],
    cache_in_input: false,
    ..Counts::NONE
};
