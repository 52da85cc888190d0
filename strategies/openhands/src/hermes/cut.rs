//! Where the newest messages begin, which stay.

use super::{budget, is_summary};
use foldback_core::Role;
use foldback_core::log::Message;
use std::sync::Arc;

/// Messages that are kept at the end, within a budget.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tail {
    /// Tokens that they have.
    pub(super) tokens: u64,
    /// Tokens up to which a message is not left out for its size.
    pub(super) most_tokens: u64,
    /// How many there are at least.
    pub(super) least: usize,
}

/// A view without the messages of the harness.
pub(super) struct Messages(pub(super) Vec<Arc<Message>>);

impl Messages {
    fn is(&self, at: usize, role: Role) -> bool {
        self.0.get(at).is_some_and(|message| message.role == role)
    }

    /// A place, moved forward to no result.
    pub(super) fn off_results(&self, at: usize) -> usize {
        (at..self.0.len()).find(|at| !self.is(*at, Role::Tool)).unwrap_or(self.0.len().max(at))
    }

    /// A place behind calls or results, moved back before the answer that called.
    fn before_call(&self, at: usize) -> usize {
        if at == 0 || at >= self.0.len() {
            return at;
        }
        let behind = (0..at).rev().find(|at| !self.is(*at, Role::Tool));
        let calls =
            |at: &usize| self.is(*at, Role::Assistant) && self.0[*at].call_ids().next().is_some();
        behind.filter(calls).unwrap_or(at)
    }

    /// The newest message with which those behind the head are over so many tokens, the least aside; without one, the tokens of all.
    pub(super) fn over(&self, head: usize, tokens: u64, least: usize) -> Result<usize, u64> {
        let mut sum = 0;
        let count = self.0.len();
        let over = (head..count).rev().find(|at| {
            let size = budget(&self.0[*at]);
            let over = sum + size > tokens && count - at >= least;
            sum += size;
            over
        });
        over.ok_or(sum)
    }

    /// Where the newest messages begin. The head before it stays, too, and something is left between the two; behind a head that is
    /// all there is, nothing.
    pub(super) fn tail(&self, head: usize, tail: Tail) -> usize {
        let count = self.0.len();
        let behind = count.saturating_sub(head + 1);
        let least = match behind {
            0 | 1 => 0,
            _ => tail.least.max(3).min(behind.saturating_sub(2).max(3)).min(behind),
        };
        let mut cut = match self.over(head, tail.most_tokens, least) {
            Ok(over) => over + 1,
            // The message that is over the budget stays, too.
            Err(all) if all <= tail.most_tokens => {
                self.over(head, tail.tokens, least).unwrap_or(head)
            }
            Err(_) => head,
        };
        let floor = count - least;
        cut = cut.min(floor);
        if cut <= head {
            cut = floor.max(head + 1);
        }
        cut = self.before_call(cut);
        cut = self.with_last_request(head, cut);
        cut = self.with_last_answer(head, cut);
        self.off_results(cut.max(head + 1)).min(count)
    }

    /// The newest request is kept. Where it is the first message behind the head, it goes with its answer.
    fn with_last_request(&self, head: usize, cut: usize) -> usize {
        let asks = |at: &usize| self.is(*at, Role::User) && !is_summary(&self.0[*at]);
        let Some(last) = (head..self.0.len()).rev().find(asks).filter(|last| *last < cut) else {
            return cut;
        };
        match last > head {
            true => last,
            false if self.is(last + 1, Role::Assistant) => self.off_results(last + 2),
            false => last + 1,
        }
    }

    /// The newest answer that says something is kept; the newest of any kind, where none does.
    fn with_last_answer(&self, head: usize, cut: usize) -> usize {
        let answers = || (head..self.0.len()).rev().filter(|at| self.is(*at, Role::Assistant));
        let said = answers().find(|at| !self.0[*at].said().trim().is_empty());
        match said.or_else(|| answers().next()).filter(|last| *last < cut) {
            Some(last) => self.before_call(last).max(head + 1),
            None => cut,
        }
    }
}
