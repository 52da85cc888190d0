//! Events repeat messages, and add the usage, the window, and the beginning and end of turns.

use super::{Reader, Turn};
use crate::prelude::*;
use foldback_providers::wire::responses::item;

impl Reader {
    pub(super) fn event(&mut self, event: &Value) {
        match event["type"].as_str().unwrap_or_default() {
            "token_count" => self.token_count(event),
            "task_started" | "turn_started" => {
                self.turn = Turn { has_events: true, running: true, ..Turn::default() };
                self.window(event);
            }
            "task_complete" | "turn_complete" => {
                self.turn.running = false;
                let asked_for = !self.turn.worked && self.turn.has_events && self.after_boundary;
                if let Some(boundary) = self.out.session.boundaries.last_mut().filter(|_| asked_for)
                {
                    "manual".clone_into(&mut boundary.trigger);
                }
            }
            "turn_aborted" => {
                self.turn.running = false;
                self.aborted();
            }
            "thread_rolled_back" => self.roll_back(event["num_turns"].as_u64().unwrap_or(0)),
            // The rest repeats for the screen what response items say.
            _ => {}
        }
    }

    fn window(&mut self, of: &Value) {
        if let Some(window) = of["model_context_window"].as_u64() {
            self.out.session.limits = Limits { context: window, ..Limits::default() };
        }
    }

    /// The usage of the answer before it. Codex sends the same count again when only the rate limits
    /// changed; then the running total has not moved.
    fn token_count(&mut self, event: &Value) {
        let info = &event["info"];
        let total = &info["total_token_usage"];
        if !total.is_object() {
            return;
        }
        self.window(info);
        if self.total.as_ref() == Some(total) {
            let after = info["last_token_usage"]["total_tokens"].as_u64();
            if let Some(boundary) = self.out.session.boundaries.last_mut()
                && self.after_boundary
                && boundary.tokens_after.is_none()
            {
                boundary.tokens_after = after.filter(|tokens| *tokens > 0);
            }
            return;
        }
        self.open = None;
        self.usage(&info["last_token_usage"], total);
        self.served(event);
    }

    /// The usage of the response that just ended, which has a line of its own since 0.171. A token count repeats it, if the
    /// turn gets that far.
    pub(super) fn response(&mut self, payload: &Value) {
        self.open = None;
        self.usage(&payload["usage"], &payload["thread_token_usage"]);
        self.served(payload);
    }

    /// The usage of the last answer as `told`; else what the running total grew by, where that is of this answer alone.
    fn usage(&mut self, told: &Value, total: &Value) {
        let now = COUNTS.usage(total);
        let before = self.total.replace(total.clone());
        let uncounted = std::mem::take(&mut self.uncounted);
        let grew = match before {
            Some(before) => Some(now.since(&COUNTS.usage(&before))),
            // It may stand for history before the file.
            None => Some(now).filter(|_| !self.out.session.begins_midway()),
        };
        let told = COUNTS.any(told);
        let answer = self.last.and_then(|index| self.out.messages[index].answer.as_mut());
        match answer {
            Some(answer) if answer.usage.is_none() => {
                let grew = grew.filter(|_| uncounted == 1);
                answer.usage = told
                    .filter(Usage::has_input)
                    .or(grew)
                    .or(told)
                    .filter(|usage| !usage.is_zero());
            }
            _ => {
                self.stray_usage += 1;
                // It was paid for, if the total says so too.
                if told.is_some() && told == grew {
                    let (model, service) = (self.model.clone(), self.service);
                    let answer = Answer { usage: told, model, service, ..Answer::default() };
                    self.out.session.unlogged.push(answer);
                }
            }
        }
    }

    /// How the last answer was served.
    fn served(&mut self, event: &Value) {
        let word = value::text(event, "service_tier");
        let answer = self.last.and_then(|index| self.out.messages[index].answer.as_mut());
        if let (Some(answer), Some(_)) = (answer, word) {
            answer.service = service(word);
        }
    }

    fn aborted(&mut self) {
        self.open = None;
        let answer = self
            .last
            .filter(|_| !self.prompted)
            .and_then(|index| self.out.messages[index].answer.as_mut());
        if let Some(answer) = answer
            && answer.usage.is_none()
        {
            answer.finish = Some(Finish::Error);
            answer.error = Some("turn_aborted".to_owned());
        }
    }

    /// The user took back the last turns; the model never sees them again. Codex counts every message of a person, those
    /// that came while it worked as well.
    fn roll_back(&mut self, turns: u64) {
        let by_person = |message: &Message| {
            message.role == Role::User && !message.is_entry() && !item::is_injected(&message.parts)
        };
        let messages = &self.out.messages;
        let since = self.looked..messages.len();
        self.begins.extend(since.filter(|at| by_person(&messages[*at])));
        self.looked = messages.len();
        let Some(back) = usize::try_from(turns).ok().filter(|turns| *turns > 0) else {
            return;
        };
        let first = self.begins.len().saturating_sub(back);
        let Some(&start) = self.begins.get(first) else {
            return;
        };
        self.begins.truncate(first);
        self.looked = start;
        let gone = self.out.take_back(start);
        self.open = None;
        self.last = None;
        let detail =
            format!("the user took back {turns} turn(s); their {gone} message(s) were skipped");
        self.out.warn_at("abandoned-branch", self.record, detail);
    }
}

/// Input includes what was read from the cache, output includes the reasoning.
const COUNTS: Counts = Counts {
    input: &["/input_tokens"],
    cache_read: &["/cached_input_tokens"],
    cache_write: &["/cache_write_input_tokens"],
    output: &["/output_tokens"],
    reasoning: &["/reasoning_output_tokens"],
    total: "/total_tokens",
    ..Counts::NONE
};
