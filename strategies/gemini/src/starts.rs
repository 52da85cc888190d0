//! Where the kept part could begin, kept from request to request: a history without such a place is not walked at every request.

use foldback_core::Role;
use foldback_core::history::History;
use foldback_core::log::Origin;
use foldback_core::stage::StageContext;
use foldback_core::view::Pos;
use std::sync::{Mutex, PoisonError};

/// Messages of the user behind one of the model's, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Starts {
    read: Pos,
    behind_model: bool,
    starts: Vec<Pos>,
}

/// The last answer of the view, and the first message behind it: from there on all is part of the next request.
pub(crate) fn last_answer(context: &StageContext<'_>) -> Option<(Pos, Pos)> {
    let mut next = context.history.len();
    for pos in context.items().rev() {
        match context.history.kind(pos).role {
            Role::Assistant => return Some((pos, next)),
            _ => next = pos,
        }
    }
    None
}

impl Starts {
    /// Whether there may be a place to cut at: the model has ended its turn, or the user spoke behind an answer that is shown.
    pub(crate) fn may_fold(context: &StageContext<'_>) -> bool {
        let (history, view) = (context.history, context.view);
        let Some((answer, next)) = last_answer(context) else { return false };
        let starts: &Mutex<Self> = history.derived().get_or(Mutex::default);
        let mut starts = starts.lock().unwrap_or_else(PoisonError::into_inner);
        starts.follow(history);
        // A fold hides what is older: where the newest is hidden, they all are.
        let newest = starts.starts.iter().rev().find(|start| **start < next);
        !history.kind(answer).calls || newest.is_some_and(|start| view.is_visible(*start))
    }

    fn follow(&mut self, history: &History) {
        for pos in self.read..history.len() {
            let kind = history.kind(pos);
            if kind.origin != Origin::Log {
                continue;
            }
            match kind.role {
                Role::Assistant => self.behind_model = true,
                Role::User if self.behind_model => {
                    self.starts.push(pos);
                    self.behind_model = false;
                }
                Role::User | Role::Tool => self.behind_model = false,
                Role::System => {}
            }
        }
        self.read = history.len();
    }
}
