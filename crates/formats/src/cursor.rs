//! `cursor`: a session of Cursor: a composer, as its store gives it, in `state.vscdb`, or a transcript of its agent,
//! `agent-transcripts/*.jsonl`.
//!
//! The store keeps a *bubble* for each thought, text and call, with the result; a transcript keeps texts and calls alone.
//! The format is only read. `docs/cursor.md` has the mapping.

use crate::prelude::*;

pub(crate) const FORMAT: Format =
    Format::new("cursor", "Cursor session (state.vscdb, agent-transcripts/*.jsonl)", SIGNS, read);

/// How texts begin that the harness writes in the user's name.
const HARNESS: &[&str] = &[
    "<system_notification>",
    "Briefly inform the user about the task result and perform any follow-up actions",
    "Perform any necessary follow-up actions in response to the subagent completion above.",
    "You are the forked subagent; continue executing your task.",
    "Your previous response was interrupted. Continue from where you left off.",
];

/// What newer versions leave at zero.
const COUNTS: Counts =
    Counts { input: &["/inputTokens"], output: &["/outputTokens"], ..Counts::NONE };

const SIGNS: &[Sign] = &[
    Sign::new(100, &[Has("/composerId"), Has("/conversation")]),
    Sign::new(
        90,
        &[
            Is("/role", &["user", "assistant"]),
            Has("/message/content"),
            Lacks("/type"),
            Lacks("/id"),
        ],
    )
    .lines(5),
];

/// Whether a line of a transcript is a message of this role.
fn is_said(opening: &Peek, role: &str) -> bool {
    opening.is("/role", role) && opening.has("/message/content")
}

fn read(text: &str) -> Result<Vec<Session>, ReadError> {
    if peek(text).has("/composerId") { composer(text) } else { transcript(text) }
}

fn composer(text: &str) -> Result<Vec<Session>, ReadError> {
    let root = value::document(text)?;
    let id = value::string(&root, "composerId");
    let mut out = SessionBuilder::document(text, "/conversation", id, FORMAT.id)?;
    let folder = ["/workspaceIdentifier/uri/fsPath", "/trackedGitRepos/0/repoPath"];
    let folder = folder.iter().find_map(|at| value::text_at(&root, at));
    out.session.worked_in(None, folder.and_then(cluster::folder));
    out.session.limits.context = value::count(&root, "/contextTokenLimit");
    out.model = named(&root["modelConfig"]);
    let mut reader = Reader { out, ..Reader::default() };
    for (record, bubble) in (0u32..).zip(value::list(&root, "conversation")) {
        reader.bubble(record, bubble);
    }
    reader.finish()
}

fn transcript(text: &str) -> Result<Vec<Session>, ReadError> {
    let source = Source::lines(text);
    let out = SessionBuilder::new(value::content_id(text), FORMAT.id, source.clone());
    let mut reader = Reader { out, ..Reader::default() };
    for (record, line) in jsonl::values_once(&source, |line| is_said(&peek(line), "user")) {
        match line {
            Ok(line) => reader.line(record, &line),
            Err(warning) => reader.out.session.warnings.push(warning),
        }
    }
    reader.out.warn_unknown(" line(s)", Source::place);
    reader.finish()
}

fn time(bubble: &Value) -> Option<i64> {
    value::time(bubble, "createdAt").or_else(|| value::millis(bubble, "/createdAt"))
}

/// The model that was chosen, if one was.
fn named(raw: &Value) -> Option<String> {
    value::filled(raw, "modelName").filter(|name| *name != "default").map(str::to_owned)
}

/// What a tool told, out of the object in which it is kept.
fn told(raw: &Value) -> String {
    let parsed = raw.as_str().and_then(|text| raw::parse(text).ok());
    let object = parsed.as_ref().unwrap_or(raw);
    let known = ["contents", "output", "modelVisibleErrorMessage"];
    value::first_string(object, &known).unwrap_or_else(|| value::shown(raw))
}

/// The call of the model that a call of a tool belongs to. Those of one call are numbered.
fn model_call(tool: &Value) -> Option<&str> {
    let numbered = || {
        let (call, number) = value::text(tool, "toolCallId")?.rsplit_once('-')?;
        let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
        (call.starts_with("call-") && is_number).then_some(call)
    };
    value::filled(tool, "modelCallId").or_else(numbered)
}

/// An answer that may go on.
struct Open {
    at: usize,
    /// Whether it has called a tool.
    called: bool,
    call: Option<String>,
}

#[derive(Default)]
struct Reader {
    out: SessionBuilder,
    answer: Option<Open>,
    /// What the store has lost: by code, how often, and where first.
    lost: BTreeMap<&'static str, (usize, u32)>,
}

impl Reader {
    fn finish(mut self) -> Result<Vec<Session>, ReadError> {
        for (code, (count, first)) in std::mem::take(&mut self.lost) {
            let detail = format!("{count} not in the store, or not as text; first here");
            self.out.warn_at(code, first, detail);
        }
        only(self.out.finish_run())
    }

    fn lose(&mut self, code: &'static str, record: u32) {
        self.lost.entry(code).or_insert((0, record)).0 += 1;
    }

    fn push(&mut self, record: u32, raw: &Value, role: Role, parts: Vec<Part>) -> &mut Message {
        let id = value::filled(raw, "bubbleId").map(str::to_owned);
        self.out.add(&Record { number: record, id, at: time(raw) }, role, parts)
    }

    fn bubble(&mut self, record: u32, raw: &Value) {
        match raw["type"].as_u64() {
            _ if value::flag(raw, "isLost") => self.lose("missing-bubble", record),
            Some(1) => {
                for _ in value::list(raw, "images") {
                    self.lose("missing-image", record);
                }
                if value::filled(&raw["modelInfo"], "modelName").is_some() {
                    self.out.model = named(&raw["modelInfo"]);
                }
                let said = value::filled(raw, "text").map(|text| Part::text(text).at("/text"));
                self.said(record, raw, said.into_iter().collect());
            }
            Some(2) => self.answered(record, raw),
            _ => self.out.unknown_role_of(record, Some(&value::shown_of(raw, "type"))),
        }
        self.summary(record, raw);
    }

    fn said(&mut self, record: u32, raw: &Value, mut parts: Vec<Part>) {
        if parts.is_empty() {
            return;
        }
        let said = parts.iter().map(Part::shown).collect::<Vec<_>>().join("\n");
        let said = said.split_once("<user_query>").map_or(&*said, |(_, query)| query).trim_start();
        let by_harness = HARNESS.iter().any(|begin| said.starts_with(begin));
        if by_harness {
            mark_synthetic(&mut parts);
        }
        let waits = self.out.messages.last().is_some_and(Message::begins_turn);
        self.push(record, raw, Role::User, parts).mid_turn = by_harness || waits;
        self.answer = None;
    }

    /// What a compaction wrote. Everything that it stands for is still there.
    fn summary(&mut self, record: u32, raw: &Value) {
        let stored = &raw["conversationSummary"];
        let parsed = stored.as_str().and_then(|text| raw::parse(text).ok());
        let summary = parsed.as_ref().unwrap_or(stored);
        let Some(text) = value::filled(summary, "summary") else { return };
        self.out.boundary("summary", "auto");
        let parts = vec![Part::synthetic(text).at("")];
        let message = self.push(record, raw, Role::User, parts);
        message.mid_turn = true;
        message.origin = Origin::Entry(EntryKind::Summary);
        self.answer = None;
    }

    /// A thought, a text or a call. An answer ends with its calls.
    fn answered(&mut self, record: u32, raw: &Value) {
        let (thinking, tool) = (&raw["thinking"], &raw["toolFormerData"]);
        let mut parts = Vec::new();
        if value::filled(thinking, "text").is_some() {
            let signature = value::filled(thinking, "signature").map(str::to_owned);
            parts.push(signed_member(thinking, "text", signature, "/thinking"));
        }
        parts.extend(value::filled(raw, "text").map(|text| Part::text(text).at("/text")));
        let (name, id) = (value::filled(tool, "name"), value::text(tool, "toolCallId"));
        let call = model_call(tool);
        let goes_on = self.answer.take().filter(|open| {
            !open.called || parts.is_empty() && call.is_some() && open.call.as_deref() == call
        });
        if let Some(name) = name {
            let arguments = ["rawArgs", "params"].iter().map(|key| &tool[*key]);
            let shown =
                arguments.map(value::shown).find(|text| !matches!(&**text, "" | "{}" | "null"));
            let shown = shown.unwrap_or_else(|| "{}".to_owned());
            let part = self.out.call(id.unwrap_or_default(), name, shown);
            parts.push(part.at("/toolFormerData"));
        }
        if parts.is_empty() {
            self.answer = goes_on;
            return;
        }
        let at = match goes_on {
            Some(open) => {
                self.out.extend(open.at, record, parts);
                open.at
            }
            None => {
                let model = named(&raw["modelInfo"]).or_else(|| self.out.model.clone());
                let message = self.push(record, raw, Role::Assistant, parts);
                message.answer = Some(Answer { model, ..Answer::default() });
                self.out.messages.len() - 1
            }
        };
        if let Some(answer) = &mut self.out.messages[at].answer {
            answer.ended = time(raw).or(answer.ended);
            answer.usage = COUNTS.any(&raw["tokenCount"]).or(answer.usage);
        }
        self.answer = Some(Open { at, called: name.is_some(), call: call.map(str::to_owned) });
        if let Some(name) = name {
            self.result(record, raw, id.unwrap_or_default(), name);
        }
    }

    fn result(&mut self, record: u32, raw: &Value, id: &str, tool: &str) {
        let stored = &raw["toolFormerData"];
        let status = value::text(stored, "status").unwrap_or_default();
        let refused = value::text(stored, "userDecision") == Some("rejected");
        let failed = refused || matches!(status, "error" | "cancelled");
        let texts = ["result", "error"].iter().map(|key| told(&stored[*key]));
        let text = texts.into_iter().find(|text| !matches!(&**text, "" | "null"));
        // It runs, or ran when Cursor was closed.
        if text.is_none() && !failed && status != "completed" {
            return;
        }
        if text.is_none() {
            self.lose("missing-result", record);
        }
        let text = text.unwrap_or_default();
        let part = self.out.result(id, tool, failed, text, Vec::new()).at("/toolFormerData");
        self.push(record, raw, Role::Tool, vec![part]);
    }

    /// A line of a transcript.
    fn line(&mut self, record: u32, raw: &Value) {
        let role = value::text(raw, "role");
        if role.is_none() {
            return match value::text(raw, "type") {
                Some("turn_ended") => {}
                kind => self.out.note_unknown(kind.unwrap_or_default(), record),
            };
        }
        let parts = BLOCKS.parts(&mut self.out, record, raw, "");
        match role {
            Some("user") => self.said(record, raw, parts),
            Some("assistant") if parts.is_empty() => {}
            Some("assistant") => {
                let message = self.push(record, raw, Role::Assistant, parts);
                message.answer = Some(Answer::default());
            }
            other => self.out.unknown_role_of(record, other),
        }
    }
}

/// The content of a line of a transcript.
const BLOCKS: Blocks = Blocks {
    at: "/message/content",
    types: &[
        ("text", Block::Filled("/text")),
        (
            "thinking",
            Block::Code(|_, raw, at| Vec::from_iter(reasoning_member(raw, "thinking", at))),
        ),
        ("tool_use", Block::Code(call)),
    ],
    ..Blocks::NONE
};

/// A call. Transcripts have no ids.
fn call(out: &mut SessionBuilder, raw: &Value, at: &str) -> Vec<Part> {
    let name = value::text(raw, "name").unwrap_or_default();
    let id = value::text(raw, "id").unwrap_or("call");
    vec![out.call(id, name, value::shown(&raw["input"])).at(format!("{at}/input"))]
}
