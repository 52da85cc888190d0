//! One event of the SDK of version 1, identified by its `kind`.

use super::read::Reader;
use super::stream::Event;
use crate::chat;
use crate::prelude::*;

/// Kinds that a file is recognized by.
pub(super) const KINDS: &[&str] = &[
    "SystemPromptEvent",
    "MessageEvent",
    "ActionEvent",
    "ObservationEvent",
    "AgentErrorEvent",
    "Condensation",
    "ConversationStateUpdateEvent",
];

/// Kinds that the model never sees.
const SILENT: &[&str] = &[
    "CondensationRequest",
    // A view makes these from a condensation; one that was stored repeats it.
    "CondensationSummaryEvent",
    "ConversationErrorEvent",
    "PauseEvent",
    "TokenEvent",
    "StreamingDeltaEvent",
    "LLMCompletionLogEvent",
];

impl Reader {
    pub(super) fn v1(&mut self, event: &Event) {
        match event.text("kind").unwrap_or_default() {
            "SystemPromptEvent" => self.system(event),
            "MessageEvent" => self.message(event),
            "ActionEvent" => self.call(event),
            "ObservationEvent" => {
                self.ran = true;
                let error = value::flag(&event.value["observation"], "is_error");
                let part = observed(event);
                self.observed(event, error, part);
            }
            "AgentErrorEvent" => self.failed(event, "error"),
            "UserRejectObservation" => {
                self.ran = true;
                self.failed(event, "rejection_reason");
            }
            "Condensation" => {
                let summary = event
                    .text("summary")
                    .filter(|text| !text.is_empty())
                    .map(|text| Part::text(text).at(event.at("/summary")));
                self.condensation(event, summary, &event.value["forgotten_event_ids"], None);
            }
            "ConversationStateUpdateEvent" => {
                if let Some(state) = event.state() {
                    let told = |pointer| value::text_at(state, pointer);
                    self.model = self.model.take().or(told("/agent/llm/model").map(str::to_owned));
                    let folder = told("/workspace/working_dir").and_then(cluster::folder);
                    let cluster = &mut self.out.session.cluster;
                    *cluster = cluster.take().or(folder);
                }
                let by_agent = event.value.pointer("/value/usage_to_metrics");
                let by_agent =
                    by_agent.or_else(|| event.value.pointer("/value/stats/usage_to_metrics"));
                for metrics in by_agent.and_then(Value::as_object).into_iter().flatten() {
                    self.note_usages(metrics.1);
                }
            }
            kind if SILENT.contains(&kind) => {}
            kind => self.out.note_unknown(kind, event.record),
        }
    }

    fn system(&mut self, event: &Event) {
        for key in ["system_prompt", "dynamic_context"] {
            let text = value::text(&event.value[key], "text").unwrap_or_default();
            self.frame(text);
        }
        self.out.tools(event.value.get("tools"));
    }

    fn message(&mut self, event: &Event) {
        let message = &event.value["llm_message"];
        let mut parts = content(event, &message["content"], "/llm_message/content");
        let by_agent = event.text("source") == Some("agent")
            || value::text(message, "role") == Some("assistant");
        if by_agent {
            let response = value::filled(&event.value, "llm_response_id");
            let (index, _) = self.answer(event, response, false);
            let mut all = thought(event, message, "/llm_message");
            all.append(&mut parts);
            self.out.extend(index, event.record, all);
            self.out.running = false;
            return;
        }
        parts.extend(extended(event));
        match event.text("source") {
            Some("user") | None => self.prompt(event, parts),
            Some(_) => self.user_text(event, parts),
        }
    }

    fn call(&mut self, event: &Event) {
        let mut thought = thought(event, &event.value, "");
        let said = content(event, &event.value["thought"], "/thought");
        // A call that could not be made is told before the next one, and only the first comes with words.
        let goes_on = !self.ran && thought.is_empty() && said.is_empty();
        let response = value::filled(&event.value, "llm_response_id");
        let (index, opened) = self.answer(event, response, goes_on);
        thought.retain(|_| opened);
        let mut parts = thought;
        parts.extend(said);
        let raw = &event.value["tool_call"];
        // The first versions keep the call as the chat API writes it.
        let (called, at) = match raw.get("function") {
            Some(function) => (function, "/tool_call/function/arguments"),
            None => (raw, "/tool_call/arguments"),
        };
        let id = event.text("tool_call_id").or_else(|| value::text(raw, "id")).unwrap_or_default();
        let name = value::text(called, "name").or(event.text("tool_name"));
        let (arguments, at) = match called.get("arguments") {
            Some(arguments) => (value::shown(arguments), at),
            None => (event.value["action"].to_string(), "/action"),
        };
        let call = Part::call(self.out.calls.call(id), name.unwrap_or_default(), arguments);
        parts.push(call.at(event.at(at)));
        self.out.extend(index, event.record, parts);
        self.out.running = event.text("tool_name") != Some("finish");
    }

    fn observed(&mut self, event: &Event, error: bool, part: Part) {
        match event.text("tool_call_id") {
            Some(id) => {
                let call = self.out.calls.result(id);
                self.result(event, call, error, part);
            }
            None => self.user_text(event, vec![part]),
        }
    }

    fn failed(&mut self, event: &Event, key: &str) {
        let text = event.text(key).unwrap_or_default();
        let part = Part::text(text).at(event.at(&format!("/{key}")));
        self.observed(event, true, part);
    }
}

/// Reasoning that a message or an action carries: signed blocks, or a plain text.
fn thought(event: &Event, holder: &Value, at: &str) -> Vec<Part> {
    let blocks = value::list(holder, "thinking_blocks").iter();
    let mut parts: Vec<Part> = blocks
        .enumerate()
        .map(|(index, block)| {
            let pointer = event.at(&format!("{at}/thinking_blocks/{index}"));
            let opaque = value::first_string(block, &["signature", "data"]);
            match block.get("thinking") {
                Some(_) => signed_member(block, "thinking", opaque, &pointer),
                None => redacted(opaque).at(pointer),
            }
        })
        .collect();
    if parts.is_empty() {
        parts.extend(reasoning_member(holder, "reasoning_content", &event.at(at)));
    }
    parts
}

/// The parts of a content: a text, or blocks of texts and images.
fn content(event: &Event, raw: &Value, at: &str) -> Vec<Part> {
    let blocks = match raw {
        Value::Array(blocks) => blocks,
        Value::String(text) if !text.is_empty() => return vec![Part::text(text).at(event.at(at))],
        _ => return Vec::new(),
    };
    let mut parts = Vec::new();
    for (index, block) in blocks.iter().enumerate() {
        if let Some(text) = value::filled(block, "text") {
            parts.push(Part::text(text).at(event.at(&format!("{at}/{index}/text"))));
        }
        parts.extend(event.images(block, &format!("{at}/{index}")));
    }
    parts
}

/// What the agent's context adds to a message.
fn extended(event: &Event) -> Vec<Part> {
    synthetic(content(event, &event.value["extended_content"], "/extended_content"))
}

/// The text of an observation, with what the agent's context adds to it.
fn observed(event: &Event) -> Part {
    let observation = &event.value["observation"];
    let content = chat::content(&observation["content"]);
    let extended = extended(event);
    let (mut text, at) = match value::text(observation, "output") {
        Some(output) if content.text.is_empty() => (output.to_owned(), "/output".to_owned()),
        _ => (content.text, content.pointer),
    };
    if extended.is_empty() {
        return Part::text(text).at(event.at(&format!("/observation{at}")));
    }
    for extra in extended {
        text.push('\n');
        text.push_str(&extra.shown());
    }
    Part::text(text).at(event.at("/observation"))
}
