//! One event of version 0: an action or an observation.

use super::read::Reader;
use super::stream::Event;
use crate::chat;
use crate::prelude::*;

/// Actions and observations that concern the harness or the screen alone.
const SILENT: &[&str] = &[
    "",
    "null",
    "change_agent_state",
    "agent_state_changed",
    "condensation_request",
    "recall",
    "start",
    "pause",
    "resume",
    "initialize",
    "loop_detection",
    "loop_recovery",
    "server_ready",
];

/// Arguments that are no part of what the model asked for.
const OWN_ARGUMENTS: &[&str] =
    &["thought", "confirmation_state", "is_confirmed", "security_risk", "hidden", "blocking"];

/// Where the raw response that led to an action keeps its message.
const MESSAGE: &str = "/tool_call_metadata/model_response/choices/0/message";

impl Reader {
    pub(super) fn v0(&mut self, event: &Event) {
        if let Some(observation) = event.text("observation") {
            self.observation(event, observation);
            return;
        }
        let args = &event.value["args"];
        let by_user = event.text("source") == Some("user");
        match event.text("action").unwrap_or_default() {
            "system" => {
                self.frame(value::text(args, "content").unwrap_or_default());
                self.out.tools(args.get("tools"));
            }
            "message" if by_user => {
                let mut parts = texts(event, &["/args/content"]);
                parts.extend(event.images(args, "/args"));
                self.prompt(event, parts);
            }
            "condensation" => self.condensed(event),
            "finish" | "reject" if by_user => self.out.running = false,
            kind if SILENT.contains(&kind) => {}
            _ if by_user => {
                // A command that the user ran by hand.
                let parts = texts(event, &["/args/command", "/args/code", "/args/path"]);
                if !parts.is_empty() {
                    self.user_text(event, parts);
                }
            }
            kind => self.action(event, kind),
        }
    }

    /// An action of the agent: a call with its raw response, a call that was recorded without one, or
    /// just words.
    fn action(&mut self, event: &Event, kind: &str) {
        let metadata = &event.value["tool_call_metadata"];
        let response = &metadata["model_response"];
        let call_id = value::text(metadata, "tool_call_id");
        let response_id = value::filled(response, "id").filter(|_| call_id.is_some());
        let goes_on = response_id.is_some() && self.repeats(response);
        let (index, opened) = self.answer(event, response_id, goes_on);
        let mut parts = Vec::new();
        let message = event.value.pointer(MESSAGE).unwrap_or(&Value::Null);
        match call_id {
            Some(id) => {
                if opened {
                    parts.extend(said(event, message));
                }
                parts.push(self.called(event, message, id));
            }
            None if matches!(kind, "message" | "finish" | "reject") => {
                let said = ["/args/content", "/args/final_thought", "/args/thought", "/message"];
                parts.extend(texts(event, &said).into_iter().take(1));
            }
            None => {
                parts.extend(texts(event, &["/args/thought"]));
                let id = self.out.calls.call(&format!(
                    "event-{}",
                    event.id().unwrap_or_else(|| event.record.to_string())
                ));
                if let Some(event) = event.id() {
                    self.actions.insert(event, id.clone());
                }
                let mut arguments = event.value["args"].clone();
                if let Value::Object(arguments) = &mut arguments {
                    arguments.retain(|key, _| !OWN_ARGUMENTS.contains(&key.as_str()));
                }
                let call = Part::call(id, kind, arguments.to_string());
                parts.push(call.at(event.at("/args")));
            }
        }
        self.out.running = !matches!(kind, "message" | "finish" | "reject");
        self.out.extend(index, event.record, parts);
        self.note_call(index, &event.value, response);
    }

    /// The call of an action as the model wrote it.
    fn called(&mut self, event: &Event, message: &Value, id: &str) -> Part {
        let calls = value::list(message, "tool_calls").iter();
        let mut calls = calls.enumerate();
        let found = calls.find(|(_, call)| value::text(call, "id") == Some(id));
        let name = value::text(&event.value["tool_call_metadata"], "function_name");
        let call_id = self.out.calls.call(id);
        match found {
            Some((index, call)) => {
                let function = &call["function"];
                let name = value::text(function, "name").or(name).unwrap_or_default();
                let pointer = format!("{MESSAGE}/tool_calls/{index}/function/arguments");
                Part::call(call_id, name, value::shown(&function["arguments"]))
                    .at(event.at(&pointer))
            }
            None => {
                let arguments = event.value["args"].to_string();
                Part::call(call_id, name.unwrap_or_default(), arguments).at(event.at("/args"))
            }
        }
    }

    fn observation(&mut self, event: &Event, kind: &str) {
        if kind == "recall" {
            let parts = recalled(event);
            if !parts.is_empty() {
                self.user_text(event, parts);
            }
            return;
        }
        if SILENT.contains(&kind) {
            return;
        }
        let content = value::text(&event.value, "content").unwrap_or_default();
        let part = Part::text(content).at(event.at("/content"));
        let metadata = &event.value["tool_call_metadata"];
        let cause = event.value.get("cause").map(value::shown);
        let call = match value::text(metadata, "tool_call_id") {
            Some(id) => Some(self.out.calls.result(id)),
            None => cause.and_then(|cause| self.actions.get(&cause).cloned()),
        };
        match call {
            Some(call) => self.result(event, call, matches!(kind, "error" | "user_rejected"), part),
            // An answer that the harness could not even turn into an action, or the output of a
            // command that the user ran.
            None => self.user_text(event, vec![part]),
        }
    }

    fn condensed(&mut self, event: &Event) {
        let args = &event.value["args"];
        let summary = value::filled(args, "summary")
            .map(|text| Part::text(text).at(event.at("/args/summary")));
        let from = args["forgotten_events_start_id"].as_u64();
        let range = from.zip(args["forgotten_events_end_id"].as_u64());
        let range = range.map(|(from, to)| from..=to);
        self.condensation(event, summary, &args["forgotten_event_ids"], range);
    }
}

/// The texts at these pointers that are not empty.
fn texts(event: &Event, pointers: &[&str]) -> Vec<Part> {
    pointers
        .iter()
        .filter_map(|pointer| {
            let text = event.value.pointer(pointer)?.as_str()?;
            (!text.is_empty()).then(|| Part::text(text).at(event.at(pointer)))
        })
        .collect()
}

/// Reasoning and words of a raw response.
fn said(event: &Event, message: &Value) -> Vec<Part> {
    let mut parts =
        Vec::from_iter(reasoning_member(message, "reasoning_content", &event.at(MESSAGE)));
    let content = chat::content(&message["content"]);
    if !content.text.is_empty() {
        let at = event.at(&format!("{MESSAGE}{}", content.pointer));
        parts.push(Part::text(content.text).at(at));
    }
    parts
}

/// What the harness recalled about the workspace, without the template that it is set in.
fn recalled(event: &Event) -> Vec<Part> {
    let fixed = [
        "/extras/repo_instructions",
        "/extras/additional_agent_instructions",
        "/extras/conversation_instructions",
    ];
    let mut parts = texts(event, &fixed);
    for index in 0..value::list_at(&event.value, "/extras/microagent_knowledge").len() {
        let pointer = format!("/extras/microagent_knowledge/{index}/content");
        parts.extend(texts(event, &[&pointer]));
    }
    parts
}
