//! From a trajectory to the canonical form.

use super::step::{self, Source};
use super::{FORMAT, restore};
use crate::prelude::*;

/// Reads a document: the trajectory, then those of its subagents, each a session.
pub(super) fn read(text: &str) -> Result<Vec<Session>, ReadError> {
    let mut sessions = Vec::new();
    let mut ids = Ids::default();
    trajectory(text, &value::document(text)?, &mut ids, &mut sessions)?;
    Ok(sessions)
}

fn trajectory(
    text: &str,
    root: &Value,
    ids: &mut Ids,
    sessions: &mut Vec<Session>,
) -> Result<(), ReadError> {
    let steps = value::records(root, "/steps", "a trajectory has its list of steps here")?;
    let source = value::source(text, "/steps")?;
    // Trajectories of one run may share its session id.
    let keys = match sessions.is_empty() {
        true => ["session_id", "trajectory_id"],
        false => ["trajectory_id", "session_id"],
    };
    let id = value::first_string(root, &keys).unwrap_or_else(|| value::content_id(text));
    let mut reader = Reader {
        out: SessionBuilder::new(ids.unique(&id), FORMAT.id, source),
        model: value::text_at(root, "/agent/model_name").map(str::to_owned),
        ..Reader::default()
    };
    reader.out.tools(root.pointer("/agent/tool_definitions"));
    for (record, step) in (0u32..).zip(steps) {
        reader.step(record, step);
    }
    let mut session = reader.finish(steps);
    if let Some(found) = root.pointer(&format!("/extra/{}", restore::KEY)) {
        // Steps that were added since tell what is not in there.
        restore::apply(&mut session, found, steps.len());
    }
    sessions.push(session);

    let embedded = value::list(root, "subagent_trajectories");
    let ranges = raw::elements(text, "/subagent_trajectories").unwrap_or_default();
    for (index, (range, root)) in ranges.into_iter().zip(embedded).enumerate() {
        if let Err(error) = trajectory(&text[range], root, ids, sessions)
            && let Some(first) = sessions.first_mut()
        {
            let place = format!("/subagent_trajectories/{index}");
            first.warn("damaged-line", place, format!("{error}; left out"));
        }
    }
    Ok(())
}

#[derive(Default)]
struct Reader {
    out: SessionBuilder,
    /// The agent's model.
    model: Option<String>,
    /// Whether a step was read that is not copied from another trajectory.
    has_own: bool,
    /// Whether the latest step of the agent called tools.
    in_loop: bool,
    /// A compaction came while the agent was working, and its summary was not in it.
    handing_over: bool,
    /// Edits that a compaction made in place: step, pointer, time.
    pruned: Vec<(u64, String, i64)>,
}

impl Reader {
    fn step(&mut self, record: u32, step: &Value) {
        if !step.is_object() {
            self.out.warn(
                "damaged-line",
                format!("/steps/{record}"),
                "a step needs to be an object; left out",
            );
            return;
        }
        let (source, stated) = step::source(step);
        if !stated {
            self.out.warn(
                "unknown-source",
                format!("/steps/{record}/source"),
                format!("neither user, system nor agent; read as a step of the {source:?}"),
            );
        }
        let copied = value::flag(step, "is_copied_context");
        if copied && self.has_own {
            return;
        }
        self.has_own |= !copied;
        match step.pointer("/extra/context_management") {
            Some(managed) if managed.is_object() => self.managed(record, step, managed),
            _ if source == Source::System && step::is_summarization(step) => {
                self.compaction(record, step, &Value::Null);
            }
            _ => match source {
                Source::System => self.system(record, step),
                Source::User => self.user(record, step),
                Source::Agent => self.agent(record, step, copied),
            },
        }
    }

    /// A change of the context that a system step tells of.
    fn managed(&mut self, record: u32, step: &Value, managed: &Value) {
        let kind = value::text(managed, "type").unwrap_or_default();
        let boundary = value::text(managed, "boundary").unwrap_or_default();
        match (kind, boundary) {
            ("pruning", super::IN_PLACE) => {
                for edit in value::list(managed, "edits") {
                    if value::text(edit, "kind") == Some("clear")
                        && let Some(pointer) = value::string(edit, "pointer")
                    {
                        let time = value::millis(edit, "/at").unwrap_or(0);
                        let step = value::count(edit, "/step_id");
                        self.pruned.push((step, pointer, time));
                    }
                }
            }
            ("injection", _) => self.system(record, step),
            (_, "append") => {
                let parts = synthetic(step::content(&step["message"], "/message"));
                let message = self.push(record, step, Role::User, parts);
                message.origin = Origin::Entry(EntryKind::Continue);
            }
            _ => self.compaction(record, step, managed),
        }
    }

    /// A compaction: everything before it is replaced by what its observation holds, or by the step of
    /// the user that follows it.
    fn compaction(&mut self, record: u32, step: &Value, managed: &Value) {
        let parts = synthetic(step::observed(step));
        let has_summary = !parts.is_empty();
        let original_kept = self.out.holds_log();
        let tokens = |key: &str| managed.get(key).and_then(Value::as_u64);
        let before = tokens("tokens_before").or_else(|| self.out.latest_tokens());
        if has_summary {
            let message = self.push(record, step, Role::User, parts);
            message.origin = Origin::Entry(EntryKind::Summary);
        }
        self.handing_over = !has_summary && self.in_loop;
        let kind = match value::text(managed, "type") {
            Some("pruning") => "clear",
            _ if has_summary || self.handing_over => "summary",
            _ => "replace",
        };
        let trigger = value::text(managed, "trigger").unwrap_or("auto");
        let boundary = self.out.boundary(kind, trigger);
        boundary.tokens_before = before;
        boundary.tokens_after = tokens("tokens_after");
        boundary.original_kept = original_kept;
    }

    fn system(&mut self, record: u32, step: &Value) {
        let mut parts = step::content(&step["message"], "/message");
        if step::results(step).is_empty() && parts.iter().all(is_text) {
            match self.out.opening_system(parts) {
                Some(later) => parts = later,
                None => return,
            }
        }
        parts.extend(step::observed(step));
        if !parts.is_empty() {
            self.push(record, step, Role::System, parts);
        }
    }

    fn user(&mut self, record: u32, step: &Value) {
        let parts = step::content(&step["message"], "/message");
        let summary = std::mem::take(&mut self.handing_over);
        let message = self.push(record, step, Role::User, parts);
        if summary {
            message.origin = Origin::Entry(EntryKind::Summary);
            mark_synthetic(&mut message.parts);
            let after = self.out.messages.len();
            if let Some(boundary) = self.out.session.boundaries.last_mut() {
                boundary.before = after;
            }
        }
        self.in_loop = false;
    }

    fn agent(&mut self, record: u32, step: &Value, copied: bool) {
        self.handing_over = false;
        let mut parts = Vec::from_iter(reasoning_member(step, "reasoning_content", ""));
        parts.extend(step::content(&step["message"], "/message"));
        // As recorded and as it is called here: a result names its call by the former.
        let mut open: Vec<(String, String)> = Vec::new();
        for (index, call) in value::list(step, "tool_calls").iter().enumerate() {
            let recorded = value::text(call, "tool_call_id").unwrap_or("call");
            let id = self.out.calls.call(recorded);
            open.push((recorded.to_owned(), id.clone()));
            let name = value::text(call, "function_name").unwrap_or_default();
            let arguments = value::shown_of(call, "arguments");
            let pointer = format!("/tool_calls/{index}/arguments");
            parts.push(Part::call(id, name, arguments).at(pointer));
        }
        self.in_loop = !open.is_empty();
        let several = step.get("llm_call_count").and_then(Value::as_u64);
        if several.is_some_and(|calls| calls > 1) && step.get("metrics").is_some() {
            self.out.warn(
                "usage-of-several-calls",
                format!("/steps/{record}/metrics"),
                "the step folds several calls and holds the sum of their usage; it is left out",
            );
        }
        let answer = if copied { None } else { step::answer(step, self.model.as_deref()) };
        self.push(record, step, Role::Assistant, parts).answer = answer;
        for (index, result) in step::results(step).iter().enumerate() {
            self.result(record, step, index, result, &mut open);
        }
    }

    /// A result answers the call that it names, or, as Terminus writes them, the next one of its step.
    fn result(
        &mut self,
        record: u32,
        step: &Value,
        index: usize,
        raw: &Value,
        open: &mut Vec<(String, String)>,
    ) {
        let named = value::text(raw, "source_call_id");
        let call = match named {
            Some(named) => match open.iter().position(|(recorded, _)| recorded == named) {
                Some(at) => Some(open.remove(at).1),
                None => Some(self.out.calls.result(named)),
            },
            None if open.is_empty() => None,
            None => Some(open.remove(0).1),
        };
        let Some(call) = call else {
            // The harness speaks to an agent without tools.
            let pointer = format!("/observation/results/{index}/content");
            let parts = synthetic(step::content(&raw["content"], &pointer));
            if !parts.is_empty() {
                self.push(record, step, Role::User, parts).mid_turn = true;
            }
            return;
        };
        let part = step::answered(raw, index, call);
        self.push(record, step, Role::Tool, vec![part]);
    }

    fn push(&mut self, record: u32, step: &Value, role: Role, parts: Vec<Part>) -> &mut Message {
        let number = step.get("step_id").map_or(record.to_string(), value::shown);
        let message = self.out.push(record, &format!("step-{number}"), role, parts);
        message.at = value::time(step, "timestamp");
        message
    }

    fn finish(mut self, steps: &[Value]) -> Session {
        self.out.session.model = self.model.take();
        for (number, pointer, time) in &self.pruned {
            let found = self.out.messages.iter().enumerate().find_map(|(item, message)| {
                let step = steps.get(message.record? as usize)?;
                let part = message.parts.iter().position(|part| {
                    part.as_result().is_some() && part.pointer.as_ref() == Some(pointer)
                })?;
                (value::count(step, "/step_id") == *number).then_some(PartPos { item, part })
            });
            let cleared = found.map(|at| Cleared { at, time: *time });
            self.out.session.cleared.extend(cleared);
        }
        let calls = steps.iter().map(|step| value::list(step, "tool_calls").len());
        self.out.session.recorded =
            Some(Recorded { messages: steps.len(), tool_calls: calls.sum() });
        self.out.finish_run()
    }
}

fn is_text(part: &Part) -> bool {
    matches!(part.kind, PartKind::Text { .. })
}
