//! The rules that a request breaks, in the order of reports, and the changes since the last check.

use super::names::{Name, Names};
use super::{Dialect, Violation, rule};
use crate::work;
use std::collections::BTreeMap;

/// Where a violation stands among those of a request; within its kind by the order in which it was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// The request begins with the wrong message.
    First,
    /// Nothing that follows can repair it.
    Settled(u64),
    /// A call whose result may still come.
    Open(u64),
    /// A result whose call may still come.
    Waiting(u64),
    /// What a message breaks on its own.
    Content(u64),
    /// The request ends with the wrong message.
    Last,
}

/// What is broken: what makes two violations the same one, in a view and in the history underneath.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Broken {
    pub(super) rule: &'static str,
    pub(super) message: Name,
    pub(super) call: Option<Name>,
}

impl Broken {
    /// What it is put in order by.
    pub(super) fn words(self, names: &Names) -> (&'static str, &str, Option<&str>) {
        (self.rule, names.id(self.message), self.call.map(|call| names.id(call)))
    }

    /// The violation, in words.
    pub(super) fn violation(self, dialect: Dialect, names: &Names) -> Violation {
        let named = self.call.map(|call| names.id(call));
        let call = named.unwrap_or_default();
        let detail = match (self.rule, dialect) {
            (rule::CALL_UNANSWERED, Dialect::Anthropic) => {
                format!("the call {call} has no result in the user turn after it")
            }
            (rule::CALL_UNANSWERED, Dialect::OpenAiResponses) => {
                format!("the call {call} has no result in the request")
            }
            (rule::CALL_UNANSWERED, _) => {
                format!("the call {call} has no result directly after it")
            }
            (rule::RESULT_WITHOUT_CALL, Dialect::OpenAiResponses) => {
                format!("no call {call} in the request")
            }
            (rule::RESULT_WITHOUT_CALL, _) => {
                format!("no call {call} in the model turn before this result")
            }
            (rule::RESULT_NOT_FIRST, _) => {
                format!("the result of {call} stands behind other content")
            }
            (rule::RESULT_REPEATED, _) => format!("the call {call} already has a result"),
            (rule::CALL_ID_REPEATED, _) => format!("the call id {call} was used before"),
            (rule::FIRST_NOT_USER, _) => {
                "the conversation starts with a message of the model".to_owned()
            }
            (rule::TRAILING_SPACE, _) => {
                "the request ends with a model message that ends in white space".to_owned()
            }
            (rule::EMPTY_TEXT, _) => "a text block is empty".to_owned(),
            (rule::REASONING_ALTERED, _) => {
                "reasoning that must go back unaltered was edited".to_owned()
            }
            (rule::REASONING_ALONE, _) => {
                "a reasoning item without the item that it produced".to_owned()
            }
            (rule::COMPACTION_MISPLACED, _) => {
                "a compaction of the provider's own stands outside an answer".to_owned()
            }
            (rule::ARGUMENTS_BROKEN, _) => "the arguments are no longer JSON".to_owned(),
            (other, _) => other.to_owned(),
        };
        Violation {
            dialect,
            rule: self.rule,
            message: names.id(self.message).to_owned(),
            call: named.map(str::to_owned),
            detail,
        }
    }
}

/// A violation that came or went.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change {
    pub(super) rank: Rank,
    pub(super) broken: Broken,
    pub(super) came: bool,
}

/// Changes that are searched for one that is taken back. A model makes fewer calls at once.
const NEW: usize = 16;

/// The violations of one request in one dialect.
#[derive(Clone, Debug, Default)]
pub(super) struct Ledger {
    standing: BTreeMap<Rank, Broken>,
    changes: Vec<Change>,
    number: u64,
}

impl Ledger {
    /// Notes a violation and gives its place.
    pub(super) fn add(
        &mut self,
        rank: fn(u64) -> Rank,
        rule: &'static str,
        message: Name,
        call: Option<Name>,
    ) -> Rank {
        work::count(1);
        self.number += 1;
        let rank = rank(self.number);
        let broken = Broken { rule, message, call };
        self.standing.insert(rank, broken);
        self.changes.push(Change { rank, broken, came: true });
        rank
    }

    /// Removes the entry at a position, if there is one. What came since the last check, as a call does whose
    /// result follows, never was there.
    pub(super) fn remove(&mut self, rank: Rank) {
        if let Some(broken) = self.standing.remove(&rank) {
            let new = self.changes.iter().rev().take(NEW).position(|change| change.rank == rank);
            // The newest change at a place where something stands is that it came.
            match new {
                Some(back) => _ = self.changes.remove(self.changes.len() - 1 - back),
                None => self.changes.push(Change { rank, broken, came: false }),
            }
        }
    }

    /// Open calls will not be answered any more: they stay, after what is already settled.
    pub(super) fn settle(&mut self) {
        let open = Rank::Open(0)..Rank::Waiting(0);
        let ranks: Vec<Rank> = self.standing.range(open).map(|(rank, _)| *rank).collect();
        for rank in ranks {
            if let Some(broken) = self.standing.remove(&rank) {
                self.number += 1;
                let settled = Rank::Settled(self.number);
                self.standing.insert(settled, broken);
                let went = Change { rank, broken, came: false };
                self.changes.extend([went, Change { rank: settled, broken, came: true }]);
            }
        }
    }

    /// Takes everything back.
    pub(super) fn clear(&mut self) {
        let standing = std::mem::take(&mut self.standing).into_iter();
        self.changes.extend(standing.map(|(rank, broken)| Change { rank, broken, came: false }));
    }

    /// What is broken now, in order.
    pub(super) fn standing(&self) -> impl Iterator<Item = &Broken> {
        work::count(self.standing.len() as u64);
        self.standing.values()
    }

    /// What came and went since this was asked before.
    pub(super) fn take_changes(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.changes)
    }
}
