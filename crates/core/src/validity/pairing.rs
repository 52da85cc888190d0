//! Calls and results: which result a provider takes for which call.

use super::ledger::{Ledger, Rank};
use super::{Dialect, rule};
use std::collections::{HashMap, HashSet, VecDeque};

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

/// Follows calls and results through a request. What it finds goes into a [`Ledger`].
#[derive(Clone, Debug)]
pub(super) struct Pairing {
    dialect: Dialect,
    phase: Phase,
    /// Responses: every call; else those of the last model turn. By id, the places of those without a result,
    /// oldest first.
    calls: HashMap<String, VecDeque<Rank>>,
    /// Responses only: results whose call has not come, likewise.
    waiting: HashMap<String, VecDeque<Rank>>,
    seen: HashSet<String>,
}

impl Pairing {
    pub(super) fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            phase: Phase::default(),
            calls: HashMap::new(),
            waiting: HashMap::new(),
            seen: HashSet::new(),
        }
    }

    /// A message of the model begins.
    pub(super) fn model(&mut self, found: &mut Ledger) {
        let merges = matches!(self.dialect, Dialect::Anthropic | Dialect::Gemini);
        if self.dialect != Dialect::OpenAiResponses && !(merges && self.phase == Phase::Model) {
            self.close(found);
        }
        self.phase = Phase::Model;
    }

    /// A call in the message that [`Self::model`] began.
    pub(super) fn call(&mut self, message: &str, call: &str, found: &mut Ledger) {
        let unique = self.dialect == Dialect::Gemini || self.seen.insert(call.to_owned());
        if !unique {
            found.add(Rank::Settled, rule::CALL_ID_REPEATED, message, Some(call));
        }
        // Responses joins by id alone, so a result may stand before its call.
        if let Some(result) = self.waiting.get_mut(call).and_then(VecDeque::pop_front) {
            found.remove(result);
            return;
        }
        let open = found.add(Rank::Open, rule::CALL_UNANSWERED, message, Some(call));
        self.calls.entry(call.to_owned()).or_default().push_back(open);
    }

    /// A result.
    pub(super) fn result(&mut self, message: &str, call: &str, found: &mut Ledger) {
        if self.dialect == Dialect::OpenAiResponses {
            self.output(message, call, found);
            return;
        }
        match self.calls.get_mut(call).map(VecDeque::pop_front) {
            None => {
                found.add(Rank::Settled, rule::RESULT_WITHOUT_CALL, message, Some(call));
            }
            Some(Some(open)) => {
                found.remove(open);
                if self.phase == Phase::Said {
                    found.add(Rank::Settled, rule::RESULT_NOT_FIRST, message, Some(call));
                }
            }
            Some(None) => {
                found.add(Rank::Settled, rule::RESULT_REPEATED, message, Some(call));
            }
        }
        if self.phase != Phase::Said {
            self.phase = Phase::Results;
        }
    }

    /// Something that is neither the model's nor a result.
    pub(super) fn said(&mut self, found: &mut Ledger) {
        match self.dialect {
            // The results may still come in the same user turn, if not in front.
            Dialect::Anthropic => self.phase = Phase::Said,
            Dialect::OpenAiChat | Dialect::Gemini => {
                self.close(found);
                self.phase = Phase::Closed;
            }
            Dialect::OpenAiResponses => {}
        }
    }

    fn output(&mut self, message: &str, call: &str, found: &mut Ledger) {
        if let Some(open) = self.calls.get_mut(call).and_then(VecDeque::pop_front) {
            found.remove(open);
        } else if self.seen.contains(call) {
            found.add(Rank::Settled, rule::RESULT_REPEATED, message, Some(call));
        } else {
            let waits = found.add(Rank::Waiting, rule::RESULT_WITHOUT_CALL, message, Some(call));
            self.waiting.entry(call.to_owned()).or_default().push_back(waits);
        }
    }

    fn close(&mut self, found: &mut Ledger) {
        found.settle();
        self.calls.clear();
    }
}
