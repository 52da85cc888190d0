//! The lines of one thread as messages.

mod compaction;

use super::attachment::{self, Attachment};
use super::block;
use super::line::{self, Line};
use super::request::{Requests, SentRequests};
use super::thread::{self, Thread};
use crate::prelude::*;
use crate::session::BEGINS_MIDWAY;
use foldback_core::work;
use foldback_providers::wire::anthropic::{Used, service, used, web_searches};

/// Model name under which the client writes its own error messages.
const SYNTHETIC_MODEL: &str = "<synthetic>";

/// Reads a file: the main conversation, then those of subagents, if it holds any.
pub(super) fn read(text: &str) -> Result<Vec<Session>, ReadError> {
    let source = Source::lines(text);
    let line::Lines { lines, pull_requests, requests, warnings } = line::parse(&source);
    // The last id: a resumed session begins with lines of the one that it resumes.
    let id = lines
        .iter()
        .rev()
        .find_map(|line| line.is_talk().then(|| line.session_id.clone()).flatten())
        .unwrap_or_else(|| "claude-code".to_owned());
    // The first folder: a session that changes into others is still about the one it began in.
    let folder = lines.iter().find_map(|line| cluster::folder(line.cwd.as_deref()?));
    let repository = repository(&pull_requests, folder.as_deref());
    let by_uuid = thread::by_uuid(&lines);
    let threads = thread::split(&lines, &by_uuid);
    let members = threads.iter().map(|thread| {
        let all: BTreeSet<usize> = thread.lines.iter().chain(&thread.abandoned).copied().collect();
        all.into_iter().map(|index| &lines[index]).collect()
    });
    let requests = Requests::new(&requests, members);
    let sessions = threads
        .iter()
        .map(|thread| {
            let id = match &thread.key {
                None => id.clone(),
                Some(key) => format!("{id}/{key}"),
            };
            let mut session = Session::new(id, super::FORMAT.id, source.clone());
            session.worked_in(repository.clone(), folder.clone());
            Reader::new(session, &lines, &by_uuid, thread).run(&requests)
        })
        .collect();
    threads_of(sessions, warnings)
}

/// The repository of a pull request that the session opened. Others may be looked at, so that only one counts that is
/// called like the folder.
fn repository(pull_requests: &[(String, String)], folder: Option<&str>) -> Option<String> {
    let folder = folder?.rsplit(['/', '\\']).next()?;
    pull_requests.iter().find_map(|(url, name)| {
        let host = url.strip_prefix("https://")?.split('/').next()?;
        let own = name.rsplit('/').next()?.eq_ignore_ascii_case(folder);
        cluster::repository(&format!("https://{host}/{name}")).filter(|_| own)
    })
}

/// What the recorder's loop was doing.
#[derive(Clone, Copy)]
enum Loop {
    /// Nothing was asked, or the user stopped it.
    Idle,
    /// A prompt was sent and not yet answered.
    Asked,
    /// The answer at this index is the last thing the model said.
    Answered(usize),
}

struct Reader<'a> {
    out: SessionBuilder,
    lines: &'a [Line],
    by_uuid: &'a HashMap<&'a str, usize>,
    thread: &'a Thread,
    /// Blocks of each answer, to notice one that was stored twice.
    blocks: HashMap<usize, HashSet<&'a Value>>,
    /// How many calls and how many results were recorded under an id.
    counts: HashMap<&'a str, (usize, usize)>,
    /// Answers whose usage contradicts itself, with the record that says so.
    contradicted: BTreeMap<usize, u32>,
    /// Ids of calls that are answered anywhere in the thread.
    answered: HashSet<&'a str>,
    state: Loop,
    /// By answer and number of its parts, whether all its calls are answered.
    all_answered: Option<((usize, usize), bool)>,
    /// How many messages were looked at for results, and where those are, by the id of the call.
    results: (usize, HashMap<String, Vec<PartPos>>),
    /// A boundary was read and its summary was not yet.
    awaits_summary: bool,
    /// Between a boundary and the next prompt or answer: what is recorded there comes with the
    /// compaction (files attached anew, the `/compact` command itself).
    after_boundary: bool,
}

impl<'a> Reader<'a> {
    fn new(
        session: Session,
        lines: &'a [Line],
        by_uuid: &'a HashMap<&'a str, usize>,
        thread: &'a Thread,
    ) -> Self {
        let answered = thread
            .lines
            .iter()
            .filter_map(|&index| lines[index].content()?.as_array())
            .flatten()
            .filter_map(|block| block.get("tool_use_id")?.as_str())
            .collect();
        Self {
            out: session.into(),
            lines,
            by_uuid,
            thread,
            blocks: HashMap::new(),
            counts: HashMap::new(),
            contradicted: BTreeMap::new(),
            answered,
            state: Loop::Idle,
            all_answered: None,
            results: Default::default(),
            awaits_summary: false,
            after_boundary: false,
        }
    }

    fn run(mut self, requests: &Requests<'_>) -> Session {
        let lines = self.lines;
        for &index in &self.thread.lines {
            let line = &lines[index];
            match line.kind.as_str() {
                "user" => self.user(line),
                "assistant" => self.assistant(line),
                "attachment" => self.attachment(line),
                _ if line.is_system("compact_boundary") => self.boundary(line),
                _ if line.is_system("microcompact_boundary") => self.microcompact(line),
                _ => {}
            }
        }
        self.sent(requests);
        self.finish()
    }

    /// The requests as they were sent, where they are written down.
    fn sent(&mut self, requests: &Requests<'_>) {
        let answers: Vec<(u32, &str)> = self
            .out
            .messages
            .iter()
            .filter(|message| message.answer.is_some())
            .filter_map(|message| Some((message.record?, &*message.id)))
            .collect();
        let SentRequests { sent, unknown, cleared } =
            requests.sent(self.thread.key.as_deref(), &answers);
        self.out.session.sent = sent;
        if let Some((first, count)) = unknown {
            let detail = format!(
                "{count} request(s) cannot be put together from what the file holds of them; first here"
            );
            self.out.warn_at("request-unknown", first, detail);
        }
        if let Some((first, count)) = cleared {
            let detail = format!(
                "{count} request(s) asked the provider to clear results, and what it cleared is not in the file; first here"
            );
            self.out.warn_at("cleared-by-provider", first, detail);
        }
    }

    fn finish(mut self) -> Session {
        self.out.warn_unknown(" attachment(s)", Source::place);
        if let Some(&first) = self.thread.abandoned.first() {
            let talk = |&&index: &&usize| self.lines[index].is_talk();
            let count = self.thread.abandoned.iter().filter(talk).count();
            let detail =
                format!("{count} message line(s) of a branch that the user gave up, skipped");
            self.out.warn_at("abandoned-branch", self.lines[first].record, detail);
        }
        if let Some((_, &record)) = self.contradicted.first_key_value() {
            let detail = format!(
                "{} usage(s) of which the counts are neither those of an iteration nor their sum; the iterations were taken; \
                 first here",
                self.contradicted.len()
            );
            self.out.warn_at("usage-contradicts", record, detail);
        }
        self.out.session.unlogged = self.unlogged();
        if let Some(line) = self.headless() {
            let detail =
                "the line before it is not in the file: the recording begins in the middle";
            self.out.warn_at(BEGINS_MIDWAY, line.record, detail.to_owned());
        }
        self.out.session.recorded = Some(self.recorded());
        self.out.finish_run()
    }

    /// The first message of the thread, if it follows a line that the file does not hold.
    fn headless(&self) -> Option<&'a Line> {
        let mut members = self.thread.lines.iter().map(|&index| &self.lines[index]);
        let first = members.find(|line| line.is_talk())?;
        let before = first.parent_uuid.as_deref()?;
        (!self.by_uuid.contains_key(before)).then_some(first)
    }

    /// People count lines: of users and of answers, and the calls in them.
    fn recorded(&self) -> Recorded {
        let all = self.thread.lines.iter().chain(&self.thread.abandoned);
        let talk: Vec<&Line> =
            all.map(|&index| &self.lines[index]).filter(|line| line.is_talk()).collect();
        let blocks = talk
            .iter()
            .filter(|line| line.is_assistant())
            .filter_map(|line| line.content()?.as_array())
            .flatten();
        Recorded {
            messages: talk.len(),
            tool_calls: blocks.filter(|block| block["type"] == "tool_use").count(),
        }
    }

    fn push(&mut self, line: &Line, id: String, role: Role, parts: Vec<Part>) -> &mut Message {
        let message = self.out.push_message(Message::new(id, role, parts).with_record(line.record));
        message.parent = line.parent_uuid.clone();
        message.at = line.at();
        message.agent = line.agent_id.clone();
        message
    }

    fn user(&mut self, line: &'a Line) {
        if line.is_compact_summary == Some(true) {
            return self.summary(line);
        }
        let mut said = Vec::new();
        match line.content() {
            Some(Value::String(text)) => said.push(Part::text(text).at(block::CONTENT)),
            Some(Value::Array(blocks)) => {
                let mut results = 0;
                for (index, raw) in blocks.iter().enumerate() {
                    if raw["type"] != "tool_result" {
                        said.push(block::part(raw, index));
                        continue;
                    }
                    let call = raw["tool_use_id"].as_str().unwrap_or_default();
                    let (called, answered) = self.counts.entry(call).or_default();
                    *answered += 1;
                    if *answered > (*called).max(1) {
                        let detail = format!("a second result of `{call}`, skipped");
                        self.out.warn_at("duplicate-result", line.record, detail);
                        continue;
                    }
                    results += 1;
                    let id = match results {
                        1 => line.id(),
                        n => format!("{}#{n}", line.id()),
                    };
                    let mut part = block::result(raw, index);
                    if let PartKind::Result(result) = &mut part.kind {
                        result.call_id = self.out.calls.result(call);
                    }
                    self.push(line, id, Role::Tool, vec![part]);
                }
                if results > 0 && !said.is_empty() {
                    let message = self.push(line, format!("{}#said", line.id()), Role::User, said);
                    message.mid_turn = true;
                    return;
                }
            }
            _ => {}
        }
        if said.is_empty() {
            return;
        }
        self.prompt(line, said);
    }

    /// A user message that is no tool result: a prompt, or something the client put in between.
    fn prompt(&mut self, line: &'a Line, mut said: Vec<Part>) {
        let opening = line.opening();
        let local = line::is_local_command(opening);
        let interruption = line::is_interruption(opening);
        if is_synthetic(line, opening) {
            mark_synthetic(&mut said);
        }
        let mid_turn = local || interruption || self.is_running();
        let origin = if local && self.after_boundary {
            Origin::Entry(EntryKind::Boundary)
        } else {
            Origin::Log
        };
        let message = self.push(line, line.id(), Role::User, said);
        message.mid_turn = mid_turn;
        message.origin = origin;
        if interruption {
            self.state = Loop::Idle;
        } else if !local {
            self.after_boundary = false;
            if !mid_turn {
                self.state = Loop::Asked;
            }
        }
    }

    /// Whether the loop still runs: it has been asked and not yet answered, or its last answer asked
    /// for tools. An answer whose calls never got a result ended with the process that ran it.
    fn is_running(&mut self) -> bool {
        let index = match self.state {
            Loop::Idle => return false,
            Loop::Asked => return true,
            Loop::Answered(index) => index,
        };
        let message = &self.out.messages[index];
        let answer = (index, message.parts.len());
        if let Some((_, known)) = self.all_answered.filter(|(known, _)| *known == answer) {
            return known;
        }
        let mut calls = message.call_ids().peekable();
        let all = calls.peek().is_some() && calls.all(|call| self.answered.contains(call));
        self.all_answered = Some((answer, all));
        all
    }

    fn assistant(&mut self, line: &'a Line) {
        let Some(message) = &line.message else { return };
        if is_of_client(line) {
            self.state = Loop::Idle;
            return;
        }
        let response = response(line);
        let used = used(message);
        let known = response.as_deref().and_then(|response| {
            self.out.piece_of(response, line.record, |answer| is_of_one_request(answer, used.usage))
        });
        let index = known.unwrap_or_else(|| {
            let index = self.out.messages.len();
            let message = self.push(line, line.id(), Role::Assistant, Vec::new());
            message.answer = Some(Answer::default());
            if let Some(response) = &response {
                self.out.begins_response(response);
            }
            index
        });
        self.state = Loop::Answered(index);
        self.after_boundary = false;
        self.blocks(line, index);
        if used.contradicts {
            self.contradicted.entry(index).or_insert(line.record);
        }
        told(self.out.messages[index].answer.get_or_insert_default(), line, used);
    }

    /// The answers of branches that the user gave up, which were paid for.
    fn unlogged(&self) -> Vec<Answer> {
        let mut out: Vec<Answer> = Vec::new();
        let mut open = None;
        let lines = self.thread.abandoned.iter().map(|&index| &self.lines[index]);
        for line in lines.filter(|line| line.is_talk()) {
            let message =
                line.message.as_ref().filter(|_| line.is_assistant() && !is_of_client(line));
            let Some(message) = message else {
                open = None;
                continue;
            };
            let response = response(line);
            match out.last_mut().filter(|_| response.is_some() && response == open) {
                Some(answer) => told(answer, line, used(message)),
                None => {
                    let mut answer = Answer::default();
                    told(&mut answer, line, used(message));
                    out.push(answer);
                }
            }
            open = response;
        }
        out
    }

    fn blocks(&mut self, line: &'a Line, index: usize) {
        let Some(Value::Array(blocks)) = line.content() else {
            if let Some(Value::String(text)) = line.content() {
                let mut part = Part::text(text).at(block::CONTENT);
                part.source_record = self.source_record(line, index);
                self.out.messages[index].parts.push(part);
            }
            return;
        };
        for (place, raw) in blocks.iter().enumerate() {
            let known = self.blocks.entry(index).or_default();
            work::count(1);
            if !known.insert(raw) {
                continue;
            }
            let mut part = block::part(raw, place);
            part.source_record = self.source_record(line, index);
            if let PartKind::Call(call) = &mut part.kind {
                let recorded = raw["id"].as_str().unwrap_or_default();
                self.counts.entry(recorded).or_default().0 += 1;
                call.call_id = self.out.calls.call(recorded);
            }
            self.out.messages[index].parts.push(part);
        }
    }

    fn source_record(&self, line: &Line, index: usize) -> Option<u32> {
        (self.out.messages[index].record != Some(line.record)).then_some(line.record)
    }

    /// The frame. The same is recorded again and again, the tools not always.
    fn prompted(&mut self, raw: &Value) {
        if self.out.frame.text_of(SegmentKind::System).is_none() {
            let texts = value::list(raw, "systemPrompt").iter().filter_map(Value::as_str);
            self.out.system(texts.collect::<Vec<_>>().join("\n\n"));
        }
        if self.out.frame.text_of(SegmentKind::Tools).is_none() {
            self.out.tools(raw.get("tools").map(sent_tools).as_ref());
        }
    }

    fn attachment(&mut self, line: &'a Line) {
        let Some(raw) = &line.attachment else { return };
        if raw["type"] == attachment::PROMPT {
            return self.prompted(raw);
        }
        match attachment::read(raw) {
            Attachment::Nothing => {}
            Attachment::Unknown(kind) => {
                self.out.note_unknown(&kind, line.record);
            }
            Attachment::Text { text, pointer, human } => {
                let part = if human { Part::text(text) } else { Part::synthetic(text) };
                let entry = self.after_boundary && !human;
                let message = self.push(line, line.id(), Role::User, vec![part.at(pointer)]);
                message.mid_turn = true;
                if entry {
                    message.origin = Origin::Entry(EntryKind::Boundary);
                }
            }
        }
    }
}

/// Whether the client wrote a line in the model's name.
fn is_of_client(line: &Line) -> bool {
    let model = line.message.as_ref().and_then(|message| message["model"].as_str());
    model == Some(SYNTHETIC_MODEL) || line.is_api_error_message == Some(true)
}

/// What tells the response that a line is a piece of.
fn response(line: &Line) -> Option<String> {
    let id = value::filled(line.message.as_ref()?, "id")?;
    Some(format!("{id} {}", line.request_id.as_deref().unwrap_or_default()))
}

/// Takes in what a line says of its answer. The same usage is repeated on every line and grows while it streams.
fn told(answer: &mut Answer, line: &Line, used: Used) {
    let Some(message) = &line.message else { return };
    answer.ended = answer.ended.max(line.at());
    answer.model = answer.model.take().or_else(|| value::string(message, "model"));
    answer.finish = message["stop_reason"].as_str().map(finish).or(answer.finish);
    let Used { usage, compaction, rounds, contradicts: _ } = used;
    let says = |usage: &Usage| (usage.has_input(), usage.output);
    if let Some(usage) = usage
        && answer.usage.is_none_or(|best| says(&usage) >= says(&best))
    {
        answer.usage = Some(usage);
        answer.rounds = rounds;
    }
    answer.compaction = compaction.or(answer.compaction);
    answer.web_searches = answer.web_searches.max(web_searches(message));
    answer.service = match service(message) {
        Service::Standard => answer.service,
        told => told,
    };
}

/// Whether the counts of a line are those of the request that was answered: its input is the same on every line.
fn is_of_one_request(answer: &Message, usage: Option<Usage>) -> bool {
    let input = |usage: Usage| Usage { output: 0, reasoning: 0, total: None, ..usage };
    let known = answer.answer.as_ref().and_then(|answer| answer.usage).map(input);
    known.is_some_and(|known| known.input_total() > 0) && known == usage.map(input)
}

/// Tools of a snapshot, as they are sent.
fn sent_tools(tools: &Value) -> Value {
    let mut tools = tools.clone();
    for tool in tools.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        if let Some(schema) = tool.remove("schema") {
            tool.insert("input_schema".to_owned(), schema);
        }
    }
    tools
}

/// Text that the client wrote in the user's name.
fn is_synthetic(line: &Line, opening: &str) -> bool {
    let by_machine = line
        .origin
        .as_ref()
        .and_then(|origin| origin["kind"].as_str())
        .is_some_and(|kind| kind != "human");
    let notice = ["<system-reminder>", "<task-notification>", "Caveat: "]
        .iter()
        .any(|prefix| opening.starts_with(prefix));
    line.is_meta == Some(true)
        || by_machine
        || notice
        || line::is_local_command(opening)
        || line::is_interruption(opening)
}
