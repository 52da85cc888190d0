//! Steps made from canonical messages.

use super::IN_PLACE;
use crate::bodies::{object, text_of};
use crate::prelude::*;
use crate::raw::Item;
use crate::time::format_rfc3339;

/// Steps in the order in which they are written.
#[derive(Default)]
pub(super) struct Steps {
    pub(super) pieces: Vec<Item>,
    /// The places of parts of stored messages: a piece, and the pointer into its step.
    places: HashMap<PartPos, (usize, String)>,
    /// The new step of each stored message.
    homes: HashMap<usize, usize>,
    /// The new step of each call.
    callers: HashMap<String, usize>,
    losses: BTreeMap<&'static str, usize>,
}

impl Steps {
    /// Notes that a part was read from a step of the source that is written again.
    pub(super) fn place(&mut self, at: PartPos, pointer: &str) {
        let piece = self.pieces.len().saturating_sub(1);
        self.places.insert(at, (piece, pointer.to_owned()));
    }

    /// Losses, one line each.
    pub(super) fn losses(&self) -> impl Iterator<Item = String> {
        self.losses.iter().map(|(what, count)| format!("{count} {what}"))
    }

    /// Number of the step that holds a stored message, and the pointers to its parts.
    pub(super) fn home(&self, item: usize, parts: usize) -> Option<(u32, Vec<String>)> {
        let piece = *self.homes.get(&item)?;
        let places = (0..parts).filter_map(|part| {
            let (_, pointer) = self.places.get(&PartPos { item, part })?;
            Some(pointer.clone())
        });
        Some((u32::try_from(piece).ok()?, places.collect()))
    }

    /// Adds a message of the history that stands at `item` in it.
    pub(super) fn message(&mut self, item: usize, message: &Message) {
        let before = self.pieces.len();
        self.add(item, message);
        if self.pieces.len() > before {
            self.homes.insert(item, before);
        }
    }

    fn add(&mut self, item: usize, message: &Message) {
        match (message.origin, message.role) {
            (Origin::Entry(EntryKind::Marker), _) => {
                self.lose("request(s) to compact; the compaction itself is a step");
            }
            (Origin::Entry(EntryKind::Summary), _) => {
                let results = vec![result_of(message, None)];
                self.compaction(results, message.at);
            }
            (Origin::Entry(_), _) => {
                let mut step = step("system", message.at);
                step["message"] = message.shown_text().into();
                step["extra"] =
                    json!({"context_management": {"type": "compaction", "boundary": "append"}});
                self.push(step);
            }
            (Origin::Log, Role::Assistant) => self.agent(item, message),
            (Origin::Log, Role::Tool) => self.result(item, message),
            (Origin::Log, Role::System) => self.said(item, message, "system"),
            (Origin::Log, Role::User) => self.said(item, message, "user"),
        }
    }

    fn push(&mut self, step: Value) {
        self.pieces.push(Item::New(step));
    }

    fn lose(&mut self, what: &'static str) {
        *self.losses.entry(what).or_default() += 1;
    }

    fn said(&mut self, item: usize, message: &Message, source: &str) {
        let mut out = step(source, message.at);
        if let [part] = message.parts.as_slice()
            && !matches!(part.kind, PartKind::File(_))
        {
            out["message"] = text_of(part).into();
            self.push(out);
            self.place(PartPos { item, part: 0 }, "/message");
            return;
        }
        let mut content = Vec::new();
        for part in &message.parts {
            content.push(match &part.kind {
                PartKind::File(media) if media.mime.starts_with("image/") => json!({
                    "type": "image",
                    "source": {"media_type": media.mime, "path": media.url},
                }),
                PartKind::File(_) => {
                    self.lose("file(s) that are no images, kept by name alone");
                    json!({"type": "text", "text": text_of(part)})
                }
                _ => json!({"type": "text", "text": text_of(part)}),
            });
        }
        out["message"] = if content.is_empty() { "".into() } else { Value::Array(content) };
        self.push(out);
        for part in 0..message.parts.len() {
            self.place(PartPos { item, part }, &format!("/message/{part}/text"));
        }
    }

    fn agent(&mut self, item: usize, message: &Message) {
        let (mut said, mut reasoning, mut calls) = (Vec::new(), Vec::new(), Vec::new());
        let mut places = Vec::new();
        for (index, part) in message.parts.iter().enumerate() {
            let pointer = match &part.kind {
                PartKind::Call(call) => {
                    if !call.arguments_value().is_object() {
                        self.lose("call(s) with arguments that are no object, kept as `input`");
                    }
                    calls.push(json!({
                        "tool_call_id": call.call_id,
                        "function_name": call.tool,
                        "arguments": object(&call.arguments),
                    }));
                    format!("/tool_calls/{}/arguments", calls.len() - 1)
                }
                PartKind::Reasoning { text, opaque } => {
                    if opaque.is_some() {
                        self.lose("signature(s) of reasoning");
                    }
                    reasoning.push(text.as_str());
                    "/reasoning_content".to_owned()
                }
                _ => {
                    said.push(text_of(part));
                    "/message".to_owned()
                }
            };
            places.push((PartPos { item, part: index }, pointer));
        }
        let mut out = step("agent", message.at);
        let answer = message.answer.as_ref();
        if let Some(model) = answer.and_then(|answer| answer.model.as_deref()) {
            out["model_name"] = model.into();
        }
        out["message"] = said.join("\n").into();
        if reasoning.iter().any(|text| !text.is_empty()) {
            out["reasoning_content"] = reasoning.join("\n").into();
        }
        for call in message.call_ids() {
            self.callers.insert(call.to_owned(), self.pieces.len());
        }
        if !calls.is_empty() {
            out["tool_calls"] = calls.into();
        }
        match answer {
            None => out["llm_call_count"] = 0.into(),
            Some(answer) => {
                if let Some(usage) = &answer.usage {
                    out["metrics"] = metrics(usage);
                }
            }
        }
        self.push(out);
        for (at, pointer) in places {
            self.place(at, &pointer);
        }
    }

    /// Puts a result into the step of its call.
    fn result(&mut self, item: usize, message: &Message) {
        let part = message.parts.iter().find_map(Part::as_result);
        let call = part.map(|result| result.call_id.as_str());
        if part.is_some_and(|result| !result.media.is_empty()) {
            self.lose("result(s) that came with files, kept as text");
        }
        let caller = call.and_then(|call| self.callers.get(call).copied());
        let piece = match caller {
            Some(piece) => piece,
            None => {
                self.lose("result(s) without a call, kept in a step of the system");
                let mut out = step("system", message.at);
                out["message"] = "".into();
                self.push(out);
                self.pieces.len() - 1
            }
        };
        if let Some(Item::New(step)) = self.pieces.get_mut(piece) {
            let results = &mut step["observation"]["results"];
            if !results.is_array() {
                *results = json!([]);
            }
            if let Value::Array(results) = results {
                let pointer = format!("/observation/results/{}/content", results.len());
                results.push(result_of(message, call.filter(|_| caller.is_some())));
                self.places.insert(PartPos { item, part: 0 }, (piece, pointer));
                self.homes.insert(item, piece);
            }
        }
    }

    /// A compaction after which only `shown` is sent of the earlier history.
    pub(super) fn replace(&mut self, shown: &[ShownMessage<'_>]) {
        let results = shown.iter().map(|shown| result_of(&shown.to_message(), None)).collect();
        let at = shown.iter().filter_map(|shown| shown.message.at).max();
        self.compaction(results, at);
    }

    fn compaction(&mut self, results: Vec<Value>, at: Option<i64>) {
        let mut out = step("system", at);
        out["message"] = "Context compaction performed".into();
        out["observation"] = json!({ "results": results });
        out["extra"] = json!({"context_management": {"type": "compaction", "boundary": "replace"}});
        self.push(out);
    }

    /// A step that tells which parts show something else than they hold. Call after
    /// [`Steps::number`]: the edits name steps by number, and no step is counted after this one.
    pub(super) fn prune(&mut self, edits: &[(PartPos, &PartEdit)]) {
        let mut listed = Vec::new();
        for (at, edit) in edits {
            let Some((piece, pointer)) = self.places.get(at) else {
                continue;
            };
            let kind = match edit.kind {
                EditKind::Clear => "clear",
                EditKind::Truncate => "truncate",
            };
            listed.push(json!({
                "step_id": piece + 1,
                "pointer": pointer,
                "kind": kind,
                "text": edit.text,
                "at": edit.at,
            }));
        }
        if listed.len() < edits.len() {
            let what = "edit(s) of parts that have no place in a step";
            *self.losses.entry(what).or_default() += edits.len() - listed.len();
        }
        if !listed.is_empty() {
            let message = format!("{} part(s) of the context cleared or cut", listed.len());
            let managed = json!({"type": "pruning", "boundary": IN_PLACE, "edits": listed});
            self.pieces.push(Item::New(json!({
                "step_id": self.pieces.len() + 1,
                "source": "system",
                "message": message,
                "extra": {"context_management": managed},
            })));
        }
    }

    /// Numbers the new steps by their place, from 1.
    pub(super) fn number(&mut self) {
        for (index, piece) in self.pieces.iter_mut().enumerate() {
            if let Item::New(step) = piece {
                step["step_id"] = json!(index + 1);
            }
        }
    }
}

fn step(source: &str, at: Option<i64>) -> Value {
    let mut out = json!({ "step_id": 0 });
    if let Some(at) = at {
        out["timestamp"] = format_rfc3339(at).into();
    }
    out["source"] = source.into();
    out
}

/// A message as one result of an observation; `call` is the call of the same step that it answers.
fn result_of(message: &Message, call: Option<&str>) -> Value {
    let mut out = json!({});
    if let Some(call) = call {
        out["source_call_id"] = call.into();
    }
    out["content"] = message.shown_text().into();
    let status = message.parts.iter().find_map(Part::as_result);
    let failed = status.is_some_and(|result| result.status == ResultStatus::Error);
    match call {
        Some(_) if failed => out["extra"] = json!({"status": "error"}),
        Some(_) => {}
        None => out["extra"] = json!({"role": message.role.as_str()}),
    }
    out
}

fn metrics(usage: &Usage) -> Value {
    let mut out = json!({
        "prompt_tokens": usage.input_total(),
        "completion_tokens": usage.output_total(),
        "cached_tokens": usage.cache_read,
    });
    let further =
        [("cache_creation_input_tokens", usage.cache_write), ("reasoning_tokens", usage.reasoning)];
    for (name, count) in further.into_iter().filter(|(_, count)| *count > 0) {
        out["extra"][name] = count.into();
    }
    out
}
