//! Calls and results: which result a provider takes for which call.

use super::ledger::{Ledger, Rank};
use super::names::Name;
use super::{Dialect, rule};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;

/// What follows the calls of the last model turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// Nothing yet, or no call is open.
    #[default]
    Closed,
    /// The model turn itself.
    Model,
    /// Results only.
    Results,
    /// Something other than a result.
    Said,
}

/// Places that wait, oldest first. Nearly always it is one.
#[derive(Clone, Debug, Default)]
struct Queue {
    first: Option<Rank>,
    rest: VecDeque<Rank>,
}

impl Queue {
    fn push(&mut self, rank: Rank) {
        match self.first {
            None => self.first = Some(rank),
            Some(_) => self.rest.push_back(rank),
        }
    }

    fn pop(&mut self) -> Option<Rank> {
        std::mem::replace(&mut self.first, self.rest.pop_front())
    }
}

/// Follows calls and results through a request. What it finds goes into a [`Ledger`].
#[derive(Clone, Debug)]
pub(super) struct Pairing {
    dialect: Dialect,
    phase: Phase,
    /// Responses: every call; else those of the last model turn. By id, the places of those without a result,
    /// oldest first.
    calls: FxHashMap<Name, Queue>,
    /// Responses only: results whose call has not come, likewise.
    waiting: FxHashMap<Name, Queue>,
    seen: FxHashSet<Name>,
}

impl Pairing {
    pub(super) fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            phase: Phase::default(),
            calls: FxHashMap::default(),
            waiting: FxHashMap::default(),
            seen: FxHashSet::default(),
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
    pub(super) fn call(&mut self, message: Name, call: Name, found: &mut Ledger) {
        let unique = self.dialect == Dialect::Gemini || self.seen.insert(call);
        if !unique {
            found.add(Rank::Settled, rule::CALL_ID_REPEATED, message, Some(call));
        }
        // Responses joins by id alone, so a result may stand before its call.
        if let Some(result) = self.waiting.get_mut(&call).and_then(Queue::pop) {
            found.remove(result);
            return;
        }
        let open = found.add(Rank::Open, rule::CALL_UNANSWERED, message, Some(call));
        self.calls.entry(call).or_default().push(open);
    }

    /// A result.
    pub(super) fn result(&mut self, message: Name, call: Name, found: &mut Ledger) {
        if self.dialect == Dialect::OpenAiResponses {
            self.output(message, call, found);
            return;
        }
        match self.calls.get_mut(&call).map(Queue::pop) {
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

    fn output(&mut self, message: Name, call: Name, found: &mut Ledger) {
        if let Some(open) = self.calls.get_mut(&call).and_then(Queue::pop) {
            found.remove(open);
        } else if self.seen.contains(&call) {
            found.add(Rank::Settled, rule::RESULT_REPEATED, message, Some(call));
        } else {
            let waits = found.add(Rank::Waiting, rule::RESULT_WITHOUT_CALL, message, Some(call));
            self.waiting.entry(call).or_default().push(waits);
        }
    }

    fn close(&mut self, found: &mut Ledger) {
        found.settle();
        self.calls.clear();
    }
}
