//! A session as Claude Code would find it: the recorder's own lines where nothing changed.

use super::generate::{self, Envelope, Spot};
use super::line::{self, Line};
use super::thread;
use crate::overlay::{Overlay, Rules, Step, overlay};
use crate::prelude::*;
use crate::raw::{Item, rebuild};
use crate::time::stamp;

const RULES: Rules = Rules { edited: generate::edited, element };

/// The block that a part was read from: the first four segments of `/message/content/0/text`.
fn element(pointer: &str) -> Option<&str> {
    let index = pointer.strip_prefix(super::block::CONTENT)?.strip_prefix('/')?;
    let rest = index.find('/').map_or(0, |at| index.len() - at);
    Some(&pointer[..pointer.len() - rest])
}

fn envelope<'a>(view: &View<'a>) -> Envelope<'a> {
    let model = view.session.model.as_deref().unwrap_or("unknown");
    Envelope { session: &view.session.id, model, agent: None }
}

pub(super) fn patch(view: &View<'_>, losses: &mut Vec<String>) -> Result<String, WriteError> {
    Patch::new(view, envelope(view)).write(losses)
}

pub(super) fn generate(view: &View<'_>, losses: &mut Vec<String>) -> Result<String, WriteError> {
    let envelope = envelope(view);
    if !view.frame.segments().is_empty() {
        losses.push(
            "the system prompt and the tool definitions: Claude Code does not record them"
                .to_owned(),
        );
    }
    let mut lines = Vec::new();
    let mut parent = None;
    for (index, message) in view.messages().iter().enumerate() {
        let timestamp = stamp(message.at);
        let line_id = envelope.id(&message.id);
        if index == 0 && message.is_entry_of(EntryKind::Summary) {
            let id = envelope.id("boundary");
            lines.push(envelope.boundary(&id, &timestamp));
            let spot = Spot { parent: Some(id.clone()), timestamp };
            lines.push(envelope.inserted(&line_id, &spot, &message.shown_text(), true));
            parent = Some(line_id);
            continue;
        }
        let spot = Spot { parent: parent.clone(), timestamp };
        if let Some(line) = envelope.message(message, &spot, losses) {
            lines.push(line);
            parent = Some(line_id);
        }
    }
    Ok(lines.iter().map(|line| format!("{line}\n")).collect())
}

/// The subagent of a session, if it is one's, and the records of its conversation.
fn conversation(session: &Session, lines: &[Line]) -> (Option<String>, HashSet<u32>) {
    let first = session.messages.iter().find_map(|message| message.record);
    let threads = thread::split(lines, &thread::by_uuid(lines));
    let records = |thread: &thread::Thread| -> HashSet<u32> {
        let all = thread.lines.iter().chain(&thread.abandoned);
        all.map(|&index| lines[index].record).collect()
    };
    let mut all = threads.into_iter().map(|thread| (records(&thread), thread.key));
    let own = all.find(|(records, _)| first.is_some_and(|first| records.contains(&first)));
    own.map(|(records, key)| (key, records)).unwrap_or_default()
}

struct Patch<'a> {
    view: &'a View<'a>,
    envelope: Envelope<'a>,
    overlay: Overlay<'a>,
    /// Lines by record.
    lines: HashMap<u32, Line>,
    by_uuid: HashMap<String, u32>,
    /// Records of the view's conversation.
    members: HashSet<u32>,
}

impl<'a> Patch<'a> {
    fn new(view: &'a View<'a>, mut envelope: Envelope<'a>) -> Self {
        let source = &view.session.source;
        let (lines, copies) = line::with_copies(source);
        let (agent, members) = conversation(view.session, &lines);
        envelope.agent = agent;
        let mut overlay = overlay(view, &RULES, &copies);
        let by_uuid: HashMap<String, u32> =
            lines.iter().filter_map(|line| Some((line.uuid.clone()?, line.record))).collect();
        let lines: HashMap<u32, Line> = lines.into_iter().map(|line| (line.record, line)).collect();
        // The boundary of a summary that is not shown would cut off what is.
        let boundaries: Vec<u32> = overlay
            .dropped
            .iter()
            .filter_map(|record| lines.get(record))
            .filter(|line| line.is_compact_summary == Some(true))
            .filter_map(|line| by_uuid.get(line.parent_uuid.as_deref()?).copied())
            .filter(|record| lines[record].is_system("compact_boundary"))
            .collect();
        overlay.dropped.extend(boundaries);
        let gone: HashSet<u32> = overlay.dropped.iter().copied().collect();
        overlay.steps.retain(|step| !matches!(step, Step::Record(record) if gone.contains(record)));
        Self { view, envelope, overlay, lines, by_uuid, members }
    }

    fn write(mut self, losses: &mut Vec<String>) -> Result<String, WriteError> {
        let steps = std::mem::take(&mut self.overlay.steps);
        let mut items = Vec::with_capacity(steps.len());
        // The id of the last new line, for the recorder's line that comes after it.
        let mut hook: Option<String> = None;
        for (index, step) in steps.iter().enumerate() {
            match step {
                Step::Record(record) => {
                    self.relink(*record, &mut hook);
                    items.push(self.overlay.item(&self.view.session.source, *record)?);
                }
                Step::New(shown) => {
                    let next = steps[index + 1..].iter().find_map(|step| match step {
                        Step::Record(record) => self.lines.get(record).filter(|l| l.is_talk()),
                        Step::New(_) => None,
                    });
                    self.insert(shown, next, &mut hook, &mut items);
                }
            }
        }
        let relinked = "; lines that hung on one of them now hang on the line before it";
        self.overlay.tell(losses, relinked);
        Ok(rebuild(&self.view.session.source, &items))
    }

    /// Attaches a line whose parent is gone, or that follows a new line, to the line before it.
    fn relink(&mut self, record: u32, hook: &mut Option<String>) {
        let Some(line) = self.lines.get(&record) else {
            return;
        };
        let new = hook.take_if(|_| line.is_talk());
        if new.is_none() && !self.gone(line.parent_uuid.as_deref()) {
            return;
        }
        let is_named = new.is_some() || line.agent_id.is_some();
        let parent = new.or_else(|| self.ancestor(line));
        let begins = self.members.contains(&record) && !is_named && !self.is_own(parent.as_deref());
        let json = parent.map_or("null".to_owned(), |parent| json_string(&parent));
        let changes = self.overlay.changes.entry(record).or_default();
        changes.push(("/parentUuid".to_owned(), Change::Set(json)));
        // The line that its conversation was called by is gone.
        if let Some(agent) = self.envelope.agent.as_deref().filter(|_| begins) {
            changes.push(("/agentId".to_owned(), Change::Set(json_string(agent))));
        }
    }

    /// Whether a line of the view's conversation has this id.
    fn is_own(&self, uuid: Option<&str>) -> bool {
        uuid.and_then(|uuid| self.by_uuid.get(uuid)).is_some_and(|it| self.members.contains(it))
    }

    fn gone(&self, uuid: Option<&str>) -> bool {
        uuid.and_then(|uuid| self.by_uuid.get(uuid))
            .is_some_and(|record| self.overlay.dropped.contains(record))
    }

    /// The nearest line up the tree that stays.
    fn ancestor(&self, line: &Line) -> Option<String> {
        let mut at = line;
        for _ in 0..self.lines.len() {
            let parent = at.parent()?;
            if !self.gone(Some(parent)) {
                return Some(parent.to_owned());
            }
            at = self.lines.get(self.by_uuid.get(parent)?)?;
        }
        None
    }

    fn insert(
        &self,
        shown: &ShownMessage<'_>,
        next: Option<&Line>,
        hook: &mut Option<String>,
        items: &mut Vec<Item>,
    ) {
        let message: Message = shown.to_message();
        let timestamp =
            next.and_then(|line| line.timestamp.clone()).unwrap_or_else(|| stamp(message.at));
        let uuid = self.envelope.id(&message.id);
        let heads = self.view.begins_with(shown) && message.is_entry_of(EntryKind::Summary);
        let parent = if heads {
            let id = self.envelope.id(&format!("{}/boundary", message.id));
            items.push(Item::New(self.envelope.boundary(&id, &timestamp)));
            Some(id)
        } else {
            hook.take().or_else(|| match next {
                Some(line) if self.gone(line.parent_uuid.as_deref()) => self.ancestor(line),
                Some(line) => line.parent_uuid.clone(),
                None => self.last_shown(),
            })
        };
        let spot = Spot { parent, timestamp };
        let text = message.shown_text();
        items.push(Item::New(self.envelope.inserted(&uuid, &spot, &text, heads)));
        *hook = Some(uuid);
    }

    /// The id of the last line of the last message that is shown and was in the file.
    fn last_shown(&self) -> Option<String> {
        let message = self.view.sent.iter().rev().find(|s| s.message.record.is_some())?;
        let last = message.message.parts.last();
        let record = last.and_then(|part| part.source_record).or(message.message.record)?;
        self.lines.get(&record)?.uuid.clone()
    }
}
