//! The requests as the client sent them, which it writes down since 2.1.332.
//!
//! A line `api-request` names what stands around the messages, its `shapeHash`, and the messages by hash: the first `keep` of its
//! `base`, the request before, and the `tail` behind them. A message that is the content of lines is not repeated; any other has a
//! line `api-request-blob`. A hash is the SHA-256 of a message as JSON with sorted members and without cache breakpoints.

use super::line::Line;
use crate::prelude::*;
use crate::session::SentRequest;
use foldback_providers::wire::anthropic;
use sha2::{Digest, Sha256};

/// What the lines of a file say of its requests.
pub(super) struct Requests<'a> {
    /// In the order of the file, with their records.
    requests: Vec<(u32, &'a Value)>,
    /// What stands around the messages, by hash.
    shapes: HashMap<&'a str, &'a Value>,
    /// Messages, by hash.
    messages: HashMap<String, Content<'a>>,
    /// Lines that make up a message.
    runs: Vec<Vec<&'a Line>>,
}

/// Where a message is.
#[derive(Clone, Copy)]
enum Content<'a> {
    Blob(&'a Value),
    /// The first lines of a run.
    Run(usize, usize),
}

/// What was put together of the requests of a conversation.
#[derive(Default)]
pub(super) struct SentRequests {
    pub(super) sent: Vec<SentRequest>,
    /// The record of the first request that could not be put together, and how many could not.
    pub(super) unknown: Option<(u32, usize)>,
    /// The record of the first request that had the provider clear something, and how many had.
    pub(super) cleared: Option<(u32, usize)>,
}

impl<'a> Requests<'a> {
    /// The requests among the lines that hold no message; `threads` has the lines of each conversation in order.
    pub(super) fn new<'l>(
        recorded: &'a [(u32, Value)],
        threads: impl Iterator<Item = Vec<&'a Line>>,
    ) -> Self {
        let mut out = Self {
            requests: Vec::new(),
            shapes: HashMap::new(),
            messages: HashMap::new(),
            runs: Vec::new(),
        };
        for (record, line) in recorded {
            match value::text(line, "type") {
                Some("api-request") => out.requests.push((*record, line)),
                Some("api-request-shape") => {
                    out.shapes
                        .extend(value::text(line, "shapeHash").map(|hash| (hash, &line["shape"])));
                }
                Some("api-request-blob") => {
                    let hash = value::string(line, "hash");
                    out.messages.extend(hash.map(|hash| (hash, Content::Blob(&line["message"]))));
                }
                _ => {}
            }
        }
        if !out.requests.is_empty() {
            threads.for_each(|lines| out.lines(&lines));
        }
        out
    }

    /// Notes the messages that the lines form. The lines of one answer form one message, and so do user lines in a row.
    fn lines(&mut self, lines: &[&'a Line]) {
        let mut open: Option<(&str, Sha256)> = None;
        for line in lines.iter().filter(|line| line.is_talk()) {
            let Some(message) = &line.message else { continue };
            let (role, id) = (&*line.kind, value::text(message, "id"));
            let goes_on = self.runs.last().and_then(|run| run.last()).is_some_and(|last| {
                let before = last.message.as_ref().and_then(|message| value::text(message, "id"));
                last.kind == line.kind && (line.is_user() || id.is_some() && before == id)
            });
            let (_, hash) = match &mut open {
                Some(open) if goes_on => open,
                open => {
                    self.runs.push(Vec::new());
                    open.insert((role, Sha256::new_with_prefix(r#"{"content":["#)))
                }
            };
            let run = self.runs.len() - 1;
            let mut text = String::new();
            let mut comma = !self.runs[run].is_empty();
            for block in blocks(message) {
                if std::mem::replace(&mut comma, true) {
                    text.push(',');
                }
                canonical(&block, &mut text);
            }
            hash.update(&text);
            self.runs[run].push(line);
            let whole = hash.clone().chain_update(format!("],\"role\":{}}}", json!(role)));
            let whole = hex(&whole.finalize());
            self.messages.entry(whole).or_insert(Content::Run(run, self.runs[run].len()));
        }
    }

    /// A message of a request, read.
    fn message(&self, hash: &str) -> Option<Vec<Arc<Message>>> {
        let message = match self.messages.get(hash)? {
            Content::Blob(message) => (*message).clone(),
            Content::Run(run, lines) => {
                let lines = &self.runs[*run][..*lines];
                let role = &lines.first()?.kind;
                let content =
                    lines.iter().filter_map(|line| line.message.as_ref()).flat_map(blocks);
                json!({"role": role, "content": content.collect::<Vec<_>>()})
            }
        };
        let read = anthropic::read(&json!({ "messages": [message] }), "/messages");
        Some(read.messages.into_iter().map(Arc::new).collect())
    }

    /// The requests of a conversation, each with its answer: the records and the ids of the answers are given in order.
    pub(super) fn sent(&self, agent: Option<&str>, answers: &[(u32, &str)]) -> SentRequests {
        let mut out = SentRequests::default();
        let own = |line: &Value| value::text(line, "agentId") == agent;
        let mut requests = self.requests.iter().filter(|(_, line)| own(line)).peekable();
        let mut chain = Chain::default();
        for (record, id) in answers {
            let mut latest = None;
            while let Some((at, line)) = requests.next_if(|(at, _)| at < record) {
                chain.follow(line, |hash| self.messages.contains_key(hash));
                let edits = value::list_at(line, "/params/context_management/edits").iter();
                if edits.filter_map(|edit| value::text(edit, "type")).any(|kind| !keeps(kind)) {
                    out.cleared.get_or_insert((*at, 0)).1 += 1;
                }
                latest = Some((*at, *line));
            }
            let Some((at, line)) = latest else { continue };
            let shape = value::text(line, "shapeHash").and_then(|hash| self.shapes.get(hash));
            let Some(shape) = shape.filter(|_| chain.is_known()) else {
                out.unknown.get_or_insert((at, 0)).1 += 1;
                continue;
            };
            let keep = chain.told();
            let tail = chain.hashes[keep..].iter().filter_map(|hash| self.message(hash));
            let frame = anthropic::read(shape, "/messages").frame;
            let same = out.sent.last().map(|last| &last.frame).filter(|last| ***last == frame);
            let frame = same.cloned().unwrap_or_else(|| Arc::new(frame));
            out.sent.push(SentRequest {
                answer: (*id).to_owned(),
                frame,
                keep,
                tail: tail.collect(),
            });
        }
        out
    }
}

/// Whether what a request asks the provider to edit leaves what was said and done.
fn keeps(kind: &str) -> bool {
    kind.starts_with("clear_thinking")
}

/// The hashes of the messages of the latest request.
#[derive(Default)]
struct Chain<'a> {
    id: &'a str,
    hashes: Vec<&'a str>,
    /// Places of those that lead to no message.
    missing: Vec<usize>,
    /// How many the requests since the last that was told have in common with it.
    common: usize,
    /// A base was missing, or messages were cut before they were written down.
    lost: bool,
}

impl<'a> Chain<'a> {
    fn follow(&mut self, line: &'a Value, known: impl Fn(&str) -> bool) {
        let base = value::text(line, "base");
        let keep = match base {
            Some(base) if base == self.id && !self.lost => line["keep"].as_u64().unwrap_or(0),
            _ => 0,
        };
        self.lost = !line["cut"].is_null() || base.is_some_and(|base| base != self.id);
        let keep = usize::try_from(keep).unwrap_or(0).min(self.hashes.len());
        self.hashes.truncate(keep);
        self.missing.retain(|place| *place < keep);
        self.common = self.common.min(keep);
        for hash in value::list(line, "tail").iter().filter_map(Value::as_str) {
            if !known(hash) {
                self.missing.push(self.hashes.len());
            }
            self.hashes.push(hash);
        }
        self.id = value::text(line, "id").unwrap_or_default();
    }

    fn is_known(&self) -> bool {
        !self.lost && self.missing.is_empty()
    }

    /// How many messages the request has in common with the one that was told before; it is told now.
    fn told(&mut self) -> usize {
        std::mem::replace(&mut self.common, self.hashes.len())
    }
}

/// The blocks of a message; a text alone is one.
fn blocks(message: &Value) -> Vec<Value> {
    match &message["content"] {
        Value::Array(blocks) => blocks.clone(),
        Value::Null => Vec::new(),
        Value::String(text) => vec![json!({"type": "text", "text": text})],
        other => vec![other.clone()],
    }
}

/// A value as JSON with sorted members, without cache breakpoints.
fn canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> =
                members.iter().filter(|(name, _)| *name != "cache_control").collect();
            members.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
            out.push('{');
            for (index, (name, member)) in members.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                out.push_str(&Value::from(name.as_str()).to_string());
                out.push(':');
                canonical(member, out);
            }
            out.push('}');
        }
        Value::Array(list) => {
            out.push('[');
            for (index, element) in list.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                canonical(element, out);
            }
            out.push(']');
        }
        scalar => out.push_str(&scalar.to_string()),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
