//! The lines of a rollout as messages.

mod event;

use crate::prelude::*;
use crate::session::{BEGINS_MIDWAY, SEALED};
use foldback_providers::wire::responses::item::{self, Item};

/// Types of lines that neither reach the model nor tell anything about it.
const SCREEN_ONLY: &[&str] = &["world_state"];

/// Reads a rollout. It holds one session.
pub(super) fn read(text: &str) -> Result<Vec<Session>, ReadError> {
    let source = Source::lines(text);
    let mut reader = Reader {
        out: SessionBuilder::new("codex", super::FORMAT.id, source.clone()),
        ..Reader::default()
    };
    for (record, line) in jsonl::values_once(&source, super::is_header) {
        match line {
            Ok(line) => reader.line(&line, record),
            Err(warning) => reader.out.session.warnings.push(warning),
        }
    }
    only(reader.finish())
}

#[derive(Default)]
struct Reader {
    out: SessionBuilder,
    model: Option<String>,
    provider: Option<String>,
    at: Option<i64>,
    record: u32,
    /// The answer that items are being added to.
    open: Option<usize>,
    /// The last answer, open or not.
    last: Option<usize>,
    /// Whether a turn was begun since.
    prompted: bool,
    /// Number of messages that were searched for prompts of a person, and the prompts found.
    looked: usize,
    begins: Vec<usize>,
    /// `total_token_usage` of the last token count, to know one that is only repeated.
    total: Option<Value>,
    turn: Turn,
    /// Texts of what the harness injected, to know it again after a compaction.
    injected: HashSet<String>,
    after_boundary: bool,
    stray_usage: u32,
    /// Answers since the last token count.
    uncounted: u32,
    /// How requests are to be served from here on.
    service: Service,
    /// Response items, and calls among them.
    recorded: Recorded,
}

/// Where the recorder's loop stands.
#[derive(Default)]
struct Turn {
    /// The file has task events; without them turns are told from the messages.
    has_events: bool,
    running: bool,
    /// Anything but a compaction happened since the task began.
    worked: bool,
    /// The same before the last answer began.
    worked_before: bool,
}

impl Reader {
    fn line(&mut self, line: &Value, record: u32) {
        self.record = record;
        self.at = line["timestamp"].as_str().and_then(crate::time::parse_rfc3339);
        let payload = &line["payload"];
        let kind = line["type"].as_str().unwrap_or_default();
        match kind {
            "session_meta" => self.meta(payload),
            "turn_context" => {
                self.model = value::string(payload, "model").or(self.model.take());
                self.service = service(value::text(payload, "service_tier"));
            }
            "response_item" => {
                self.count(payload);
                self.item(payload, "/payload");
            }
            "event_msg" => self.event(payload),
            "compacted" => self.compacted(payload),
            "token_usage_record" => self.response(payload),
            kind if SCREEN_ONLY.contains(&kind) => {}
            // Rollouts of early 2025: items without an envelope after a header without a type.
            "" if line["id"].is_string() => self.meta(line),
            "" if line["record_type"].is_string() => {}
            _ if payload.is_null() && !matches!(item::read(line, ""), Item::Unknown(_)) => {
                self.count(line);
                self.item(line, "");
            }
            kind => self.out.note_unknown(kind, self.record),
        }
    }

    fn count(&mut self, item: &Value) {
        self.recorded.messages += 1;
        let kind = item["type"].as_str().unwrap_or_default();
        self.recorded.tool_calls += usize::from(kind.ends_with("_call"));
    }

    /// The first header names the session; a fork repeats that of its parent.
    fn meta(&mut self, meta: &Value) {
        if self.out.session.id != "codex" {
            return;
        }
        if let Some(id) = meta["id"].as_str() {
            self.out.session.id = id.to_owned();
        }
        let parent = super::PARENTS.iter().find_map(|at| value::text_at(meta, at));
        self.out.session.parent = parent.map(str::to_owned);
        let repository = meta["git"]["repository_url"].as_str().and_then(cluster::repository);
        let folder = meta["cwd"].as_str().and_then(cluster::folder);
        self.out.session.worked_in(repository, folder);
        if let Some(base) = meta["history_base"]["thread_id"].as_str() {
            let detail = format!("continues the rollout {base}, which does not lie beside it");
            self.out.warn_at(BEGINS_MIDWAY, self.record, detail);
        }
        self.provider = meta["model_provider"].as_str().map(str::to_owned);
        let base = &meta["base_instructions"];
        let text = base["text"].as_str().or(base.as_str()).or(meta["instructions"].as_str());
        if let Some(text) = text {
            self.out.system(text);
        }
        self.out.tools(meta.get("dynamic_tools"));
    }

    fn push(&mut self, role: Role, parts: Vec<Part>, wanted: Option<&str>) -> usize {
        let line = format!("line-{}", self.record + 1);
        self.out.push(self.record, wanted.unwrap_or(&line), role, parts).at = self.at;
        self.out.messages.len() - 1
    }

    fn item(&mut self, payload: &Value, at: &str) {
        match item::read(payload, at) {
            Item::Answer(parts) => self.answer(parts),
            Item::User(parts) => self.user(parts),
            Item::Developer(parts) => self.developer(parts),
            Item::Output(mut part) => {
                self.open = None;
                self.out.join(std::slice::from_mut(&mut part));
                let wanted = part.as_result().map(|result| format!("{}/result", result.call_id));
                self.push(Role::Tool, vec![part], wanted.as_deref());
            }
            Item::Ignored => {}
            Item::Unknown(kind) => {
                self.out.note_unknown(&format!("response_item/{kind}"), self.record)
            }
        }
    }

    /// The items of one response follow each other; a token count, an output or a user message ends
    /// it, whichever comes first.
    fn answer(&mut self, mut parts: Vec<Part>) {
        self.after_boundary = false;
        let index = match self.open {
            Some(index) => index,
            None => {
                self.turn.worked_before = self.turn.worked;
                let index = self.push(Role::Assistant, Vec::new(), None);
                self.out.messages[index].answer = Some(Answer {
                    model: self.model.clone(),
                    provider: self.provider.clone(),
                    service: self.service,
                    ..Answer::default()
                });
                self.uncounted += 1;
                self.open = Some(index);
                self.last = Some(index);
                self.prompted = false;
                index
            }
        };
        self.turn.worked = true;
        let searches = parts.iter().filter(|part| item::is_search(part)).count() as u64;
        self.out.join(&mut parts);
        self.out.extend(index, self.record, parts);
        if let Some(answer) = &mut self.out.messages[index].answer {
            answer.ended = answer.ended.max(self.at);
            answer.web_searches += searches;
        }
    }

    fn user(&mut self, parts: Vec<Part>) {
        let injected = item::is_injected(&parts);
        let repeated = injected && self.is_repeated(&parts);
        let mid_turn = injected || self.is_running();
        self.open = None;
        let index = self.push(Role::User, parts, None);
        self.out.messages[index].mid_turn = mid_turn;
        self.prompted |= !mid_turn;
        if repeated {
            self.out.messages[index].origin = Origin::Entry(EntryKind::Boundary);
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
                self.prompted || self.out.messages[index].call_ids().next().is_some()
            }
            _ => self.turn.running,
        }
    }

    fn developer(&mut self, parts: Vec<Part>) {
        let repeated = self.is_repeated(&parts);
        self.open = None;
        let Some(parts) = self.out.opening_system(parts) else { return };
        let index = self.push(Role::System, parts, None);
        if repeated {
            self.out.messages[index].origin = Origin::Entry(EntryKind::Boundary);
        }
    }

    /// Whether the harness injects the same text again after a compaction.
    fn is_repeated(&mut self, parts: &[Part]) -> bool {
        let texts: Vec<_> = parts.iter().map(Part::shown).collect();
        !self.injected.insert(texts.join("\n")) && self.after_boundary
    }

    /// A compaction. Its `replacement_history` repeats messages that are in the file already and
    /// replaces the rest by something opaque; it is read only where the file lacks the original.
    fn compacted(&mut self, payload: &Value) {
        let kept = self.out.holds_log();
        let before = self.out.latest_tokens();
        let summary = payload["message"].as_str().filter(|text| !text.is_empty());
        self.summarized(summary.unwrap_or_default());
        self.open = None;
        let kind = if summary.is_some() { "replace" } else { SEALED };
        let boundary = self.out.boundary(kind, "auto");
        boundary.tokens_before = before;
        boundary.original_kept = kept;
        if !kept {
            for (index, item) in value::list(payload, "replacement_history").iter().enumerate() {
                self.item(item, &format!("/payload/replacement_history/{index}"));
            }
        }
        self.after_boundary = kept;
        // Summaries made on this side are readable; those made by the provider are not recorded.
        if let Some(text) = summary {
            let part = Part::synthetic(text).at("/payload/message");
            let index = self.push(Role::User, vec![part], None);
            let message = &mut self.out.messages[index];
            message.mid_turn = true;
            if kept {
                message.origin = Origin::Entry(EntryKind::Summary);
            }
        }
    }

    /// The answer that is the summary of a compaction, which the file holds since 0.171, belongs to no conversation.
    fn summarized(&mut self, summary: &str) {
        let Some(last) = self.last.filter(|last| last + 1 == self.out.messages.len()) else {
            return;
        };
        if summary.is_empty() {
            return;
        }
        let message = &mut self.out.messages[last];
        let said: String = message.parts.iter().map(Part::shown).collect();
        if !said.is_empty() && summary.ends_with(&said) {
            message.origin = Origin::Entry(EntryKind::Boundary);
            self.turn.worked = self.turn.worked_before;
        }
    }

    fn finish(mut self) -> Session {
        self.out.session.recorded = Some(self.recorded);
        self.out.warn_unknown(" line(s)", Source::place);
        if self.stray_usage > 0 {
            self.out.warn(
                "stray-usage",
                "token_count",
                format!(
                    "{} token count(s) belong to no recorded answer; the sum over the answers is \
                     less than the recorder's total",
                    self.stray_usage
                ),
            );
        }
        self.out.finish_run()
    }
}
