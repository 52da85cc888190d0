//! Calls and results: which result a provider takes for which call.

use super::{Dialect, Violation, rule};
use std::collections::HashSet;

/// A call that waits for its result.
#[derive(Clone, Debug)]
struct Open {
    call: String,
    message: String,
    answered: bool,
}

/// What stands behind the calls of the last model turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// Nothing yet, or no call is open.
    #[default]
    Closed,
    /// The model turn itself.
    Model,
    /// Results only.
    Results,
    /// Something that is no result.
    Said,
}

/// Follows calls and results through a request.
#[derive(Clone, Debug)]
pub(super) struct Pairing {
    dialect: Dialect,
    phase: Phase,
    /// Responses: every call without a result. Else: the calls of the last model turn.
    calls: Vec<Open>,
    /// Responses only: results whose call has not come.
    waiting: Vec<Open>,
    seen: HashSet<String>,
    found: Vec<Violation>,
}

impl Pairing {
    pub(super) fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            phase: Phase::default(),
            calls: Vec::new(),
            waiting: Vec::new(),
            seen: HashSet::new(),
            found: Vec::new(),
        }
    }

    /// A message of the model begins.
    pub(super) fn model(&mut self) {
        let merges = matches!(self.dialect, Dialect::Anthropic | Dialect::Gemini);
        if self.dialect != Dialect::OpenAiResponses && !(merges && self.phase == Phase::Model) {
            self.close();
        }
        self.phase = Phase::Model;
    }

    /// A call in the message that [`Self::model`] began.
    pub(super) fn call(&mut self, message: &str, call: &str) {
        let unique = self.dialect == Dialect::Gemini || self.seen.insert(call.to_owned());
        if !unique {
            let detail = format!("the call id {call} was used before");
            self.report(rule::CALL_ID_REPEATED, message, call, detail);
        }
        // Responses joins by id alone, so a result may stand before its call.
        if let Some(index) = self.waiting.iter().position(|open| open.call == call) {
            self.waiting.remove(index);
            return;
        }
        self.calls.push(Open {
            call: call.to_owned(),
            message: message.to_owned(),
            answered: false,
        });
    }

    /// A result.
    pub(super) fn result(&mut self, message: &str, call: &str) {
        if self.dialect == Dialect::OpenAiResponses {
            self.output(message, call);
            return;
        }
        let same = |open: &&mut Open| open.call == call;
        let mut of_call = self.calls.iter_mut().filter(same).peekable();
        if of_call.peek().is_none() {
            let detail = format!("no call {call} in the model turn before this result");
            self.report(rule::RESULT_WITHOUT_CALL, message, call, detail);
        } else if let Some(open) = of_call.find(|open| !open.answered) {
            open.answered = true;
            if self.phase == Phase::Said {
                let detail = format!("the result of {call} stands behind other content");
                self.report(rule::RESULT_NOT_FIRST, message, call, detail);
            }
        } else {
            let detail = format!("the call {call} already has a result");
            self.report(rule::RESULT_REPEATED, message, call, detail);
        }
        if self.phase != Phase::Said {
            self.phase = Phase::Results;
        }
    }

    /// Something that is neither the model's nor a result.
    pub(super) fn said(&mut self) {
        match self.dialect {
            // The results may still come in the same user turn, if not in front.
            Dialect::Anthropic => self.phase = Phase::Said,
            Dialect::OpenAiChat | Dialect::Gemini => {
                self.close();
                self.phase = Phase::Closed;
            }
            Dialect::OpenAiResponses => {}
        }
    }

    fn output(&mut self, message: &str, call: &str) {
        if let Some(index) = self.calls.iter().position(|open| open.call == call) {
            self.calls.remove(index);
        } else if self.seen.contains(call) {
            let detail = format!("the call {call} already has a result");
            self.report(rule::RESULT_REPEATED, message, call, detail);
        } else {
            self.waiting.push(Open {
                call: call.to_owned(),
                message: message.to_owned(),
                answered: false,
            });
        }
    }

    fn close(&mut self) {
        let dialect = self.dialect;
        let unanswered = self.calls.drain(..).filter(|open| !open.answered);
        self.found.extend(unanswered.map(|open| unanswered_call(dialect, &open)));
    }

    /// Everything found so far, and what is left open if the request ends here.
    pub(super) fn violations(&self) -> impl Iterator<Item = Violation> {
        let left = self.calls.iter().filter(|open| !open.answered);
        self.found
            .iter()
            .cloned()
            .chain(left.map(|open| unanswered_call(self.dialect, open)))
            .chain(self.waiting.iter().map(|open| Violation {
                dialect: self.dialect,
                rule: rule::RESULT_WITHOUT_CALL,
                message: open.message.clone(),
                call: Some(open.call.clone()),
                detail: format!("no call {} in the request", open.call),
            }))
    }

    fn report(&mut self, rule: &'static str, message: &str, call: &str, detail: String) {
        self.found.push(Violation {
            dialect: self.dialect,
            rule,
            message: message.to_owned(),
            call: Some(call.to_owned()),
            detail,
        });
    }
}

fn unanswered_call(dialect: Dialect, open: &Open) -> Violation {
    let place = match dialect {
        Dialect::Anthropic => "in the user turn after it",
        Dialect::OpenAiChat | Dialect::Gemini => "directly after it",
        Dialect::OpenAiResponses => "in the request",
    };
    Violation {
        dialect,
        rule: rule::CALL_UNANSWERED,
        message: open.message.clone(),
        call: Some(open.call.clone()),
        detail: format!("the call {} has no result {place}", open.call),
    }
}
