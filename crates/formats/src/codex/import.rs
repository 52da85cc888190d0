//! The lines of a rollout as messages.

mod event;

use super::item::{self, Item};
use crate::cluster;
use crate::ids::{Calls, Ids};
use crate::session::{Boundary, Recorded, Source};
use crate::{ReadError, Session, answers, jsonl, pairing, raw};
use foldback_core::SegmentKind;
use foldback_core::log::{Answer, EntryKind, Message, Origin, Part, PartKind, Role};
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// Types of lines that neither reach the model nor tell anything about it.
const SCREEN_ONLY: &[&str] = &["world_state"];

/// Reads a rollout. It holds one session.
pub(super) fn read(text: &str) -> Result<Vec<Session>, ReadError> {
    let source = jsonl::source(text);
    let mut import = Import::new(source.clone());
    let mut seen = HashSet::new();
    for (record, range) in (0u32..).zip(&source.records) {
        // Lines have no ids; the same text with the same millisecond is the same line.
        let line = &text[range.clone()];
        if !seen.insert(line) {
            continue;
        }
        match raw::parse(line) {
            Ok(line) => import.line(&line, record),
            Err(error) => {
                let warning = jsonl::unreadable(&source, record, &error);
                import.session.warnings.push(warning);
            }
        }
    }
    let session = import.finish();
    if session.messages.is_empty() {
        return Err(ReadError::NoMessages);
    }
    Ok(vec![session])
}

struct Import {
    session: Session,
    messages: Vec<Message>,
    ids: Ids,
    calls: Calls,
    model: Option<String>,
    provider: Option<String>,
    at: Option<i64>,
    record: u32,
    /// The answer that items are being added to.
    open: Option<usize>,
    /// The last answer, open or not.
    last: Option<usize>,
    /// `total_token_usage` of the last token count, to know one that is only repeated.
    total: Option<Value>,
    turn: Turn,
    /// Texts of what the harness injected, to know it again after a compaction.
    injected: HashSet<String>,
    after_boundary: bool,
    stray_usage: u32,
    /// Response items, and calls among them.
    recorded: Recorded,
    unknown: BTreeMap<String, (u32, u32)>,
}

/// Where the recorder's loop stands.
#[derive(Default)]
struct Turn {
    /// The file has task events; without them turns are told from the messages.
    has_events: bool,
    running: bool,
    /// Anything but a compaction happened since the task began.
    worked: bool,
}

impl Import {
    fn new(source: Source) -> Self {
        Self {
            session: Session::new("codex", super::ID, source),
            messages: Vec::new(),
            ids: Ids::default(),
            calls: Calls::default(),
            model: None,
            provider: None,
            at: None,
            record: 0,
            open: None,
            last: None,
            total: None,
            turn: Turn::default(),
            injected: HashSet::new(),
            after_boundary: false,
            stray_usage: 0,
            recorded: Recorded { messages: 0, tool_calls: 0 },
            unknown: BTreeMap::new(),
        }
    }

    fn line(&mut self, line: &Value, record: u32) {
        self.record = record;
        self.at = line["timestamp"].as_str().and_then(crate::time::parse_rfc3339);
        let payload = &line["payload"];
        let kind = line["type"].as_str().unwrap_or_default();
        match kind {
            "session_meta" => self.meta(payload),
            "turn_context" => {
                if let Some(model) = payload["model"].as_str() {
                    self.model = Some(model.to_owned());
                }
            }
            "response_item" => {
                self.count(payload);
                self.item(payload, "/payload");
            }
            "event_msg" => self.event(payload),
            "compacted" => self.compacted(payload),
            kind if SCREEN_ONLY.contains(&kind) => {}
            // Rollouts of early 2025: items without an envelope after a header without a type.
            "" if line["id"].is_string() => self.meta(line),
            "" if line["record_type"].is_string() => {}
            _ if payload.is_null() && !matches!(item::read(line, ""), Item::Unknown(_)) => {
                self.count(line);
                self.item(line, "");
            }
            kind => self.note_unknown(kind),
        }
    }

    fn count(&mut self, item: &Value) {
        self.recorded.messages += 1;
        let kind = item["type"].as_str().unwrap_or_default();
        self.recorded.tool_calls += usize::from(kind.ends_with("_call"));
    }

    fn note_unknown(&mut self, kind: &str) {
        let first = self.record;
        self.unknown.entry(kind.to_owned()).or_insert((first, 0)).1 += 1;
    }

    /// The first header names the session; a fork repeats that of its parent.
    fn meta(&mut self, meta: &Value) {
        if self.session.id != "codex" {
            return;
        }
        if let Some(id) = meta["id"].as_str() {
            self.session.id = id.to_owned();
        }
        self.session.cluster = meta["git"]["repository_url"]
            .as_str()
            .and_then(cluster::repository)
            .or_else(|| cluster::folder(meta["cwd"].as_str()?));
        self.provider = meta["model_provider"].as_str().map(str::to_owned);
        let base = &meta["base_instructions"];
        let text = base["text"].as_str().or(base.as_str()).or(meta["instructions"].as_str());
        if let Some(text) = text {
            self.session.frame.push_text(SegmentKind::System, text);
        }
        if let Some(tools) = meta["dynamic_tools"].as_array().filter(|t| !t.is_empty()) {
            let text = Value::from(tools.clone()).to_string();
            self.session.frame.push_text(SegmentKind::Tools, text);
        }
    }

    fn push(&mut self, role: Role, parts: Vec<Part>, wanted: Option<&str>) -> usize {
        let id = match wanted {
            Some(id) => self.ids.unique(id),
            None => self.ids.unique(&format!("line-{}", self.record + 1)),
        };
        self.messages.push(Message {
            at: self.at,
            record: Some(self.record),
            ..Message::new(id, role, parts)
        });
        self.messages.len() - 1
    }

    fn item(&mut self, payload: &Value, at: &str) {
        match item::read(payload, at) {
            Item::Answer(parts) => self.answer(parts),
            Item::User(parts) => self.user(parts),
            Item::Developer(parts) => self.developer(parts),
            Item::Output(mut part) => {
                self.open = None;
                if let PartKind::Result(result) = &mut part.kind {
                    result.call_id = self.calls.result(&result.call_id);
                }
                let wanted = part.as_result().map(|result| format!("{}/result", result.call_id));
                self.push(Role::Tool, vec![part], wanted.as_deref());
            }
            Item::Ignored => {}
            Item::Unknown(kind) => self.note_unknown(&format!("response_item/{kind}")),
        }
    }

    /// The items of one response follow each other; a token count, an output or a user message ends
    /// it, whichever comes first.
    fn answer(&mut self, parts: Vec<Part>) {
        self.after_boundary = false;
        self.turn.worked = true;
        let index = match self.open {
            Some(index) => index,
            None => {
                let index = self.push(Role::Assistant, Vec::new(), None);
                self.messages[index].answer = Some(Answer {
                    model: self.model.clone(),
                    provider: self.provider.clone(),
                    ..Answer::default()
                });
                self.open = Some(index);
                self.last = Some(index);
                index
            }
        };
        let message = &mut self.messages[index];
        let source = (message.record != Some(self.record)).then_some(self.record);
        for mut part in parts {
            part.source_record = source;
            if let PartKind::Call(call) = &mut part.kind {
                call.call_id = self.calls.call(&call.call_id);
            }
            message.parts.push(part);
        }
        if let Some(answer) = &mut message.answer {
            answer.ended = answer.ended.max(self.at);
        }
    }

    fn user(&mut self, parts: Vec<Part>) {
        let injected = item::is_injected(&parts);
        let repeated = injected && self.is_repeated(&parts);
        let mid_turn = injected || self.is_running();
        self.open = None;
        let index = self.push(Role::User, parts, None);
        self.messages[index].mid_turn = mid_turn;
        if repeated {
            self.messages[index].origin = Origin::Entry(EntryKind::Boundary);
        }
        if !injected {
            self.after_boundary = false;
            self.turn.worked = true;
            self.turn.running = true;
        }
    }

    /// Whether a prompt comes into a running loop. Task events tell; older files leave it to the last
    /// answer, which asked for tools or did not.
    fn is_running(&self) -> bool {
        if self.turn.has_events {
            return self.turn.running && self.turn.worked;
        }
        match self.last {
            Some(index) if self.turn.running => {
                let message = &self.messages[index];
                let prompted_since = self.messages[index..]
                    .iter()
                    .any(|message| message.role == Role::User && !message.mid_turn);
                prompted_since || message.call_ids().next().is_some()
            }
            _ => self.turn.running,
        }
    }

    fn developer(&mut self, parts: Vec<Part>) {
        let repeated = self.is_repeated(&parts);
        self.open = None;
        if self.messages.is_empty() {
            for part in &parts {
                let text = part.shown();
                self.session.frame.push_text(SegmentKind::System, text);
            }
            return;
        }
        let index = self.push(Role::System, parts, None);
        if repeated {
            self.messages[index].origin = Origin::Entry(EntryKind::Boundary);
        }
    }

    /// Whether a compaction had the harness inject the same again.
    fn is_repeated(&mut self, parts: &[Part]) -> bool {
        let texts: Vec<_> = parts.iter().map(Part::shown).collect();
        !self.injected.insert(texts.join("\n")) && self.after_boundary
    }

    /// A compaction. Its `replacement_history` repeats messages that are in the file already and
    /// replaces the rest by something opaque; it is read only where the file lacks the original.
    fn compacted(&mut self, payload: &Value) {
        let kept = self.messages.iter().any(|message| !message.is_entry());
        let before = self
            .messages
            .iter()
            .rev()
            .find_map(|message| message.answer.as_ref()?.usage)
            .map(|usage| usage.input_total() + usage.output + usage.reasoning);
        self.open = None;
        self.session.boundaries.push(Boundary {
            before: self.messages.len(),
            trigger: "auto".to_owned(),
            kind: "replace".to_owned(),
            tokens_before: before,
            tokens_after: None,
            original_kept: kept,
        });
        if !kept {
            let history = payload["replacement_history"].as_array();
            for (index, item) in history.into_iter().flatten().enumerate() {
                self.item(item, &format!("/payload/replacement_history/{index}"));
            }
        }
        self.after_boundary = kept;
        // Summaries made on this side are readable; those made by the provider are not recorded.
        let summary = payload["message"].as_str().filter(|text| !text.is_empty());
        if let Some(text) = summary {
            let part = Part::synthetic(text).at("/payload/message");
            let index = self.push(Role::User, vec![part], None);
            let message = &mut self.messages[index];
            message.mid_turn = true;
            if kept {
                message.origin = Origin::Entry(EntryKind::Summary);
            }
        }
    }

    fn finish(mut self) -> Session {
        answers::infer_finish(&mut self.messages);
        let mut session = self.session;
        session.recorded = Some(self.recorded);
        for (kind, (first, count)) in self.unknown {
            session.warn(
                "unknown-type",
                jsonl::place(&session.source.clone(), first),
                format!("{count} line(s) of the unknown type `{kind}`, skipped; first here"),
            );
        }
        if self.stray_usage > 0 {
            session.warn(
                "stray-usage",
                "token_count",
                format!(
                    "{} token count(s) belong to no recorded answer; the sum over the answers is \
                     less than the recorder's total",
                    self.stray_usage
                ),
            );
        }
        session.model = answers::main_model(&self.messages);
        session.messages = self.messages.into_iter().map(Arc::new).collect();
        pairing::join(&mut session);
        session
    }
}
