//! Which messages are shown, and in which order?

use super::{StageContext, Summarizer, Summary, SummaryRequest};
use crate::log::Message;
use crate::outcome::Why;
use crate::plan::{Edit, Layout};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Makes the layout from the summaries: one element per request, in order; an element is `None` if that summary failed and the
/// strategy goes on without it.
pub type Continuation<'a> =
    Box<dyn FnOnce(&[Option<Summary>]) -> Result<Arrangement, Why> + Send + 'a>;

/// What a filter wants to do, before any summary exists.
pub enum Proposal<'a> {
    /// This layout. No summary is needed for it.
    Layout(Arrangement),
    /// First these summaries, then the layout that is made from them.
    Then {
        /// What is asked for, in order. May be empty.
        requests: Vec<SummaryRequest>,
        /// The arithmetic in words.
        reasons: Vec<String>,
        /// Called once, when every request has its summary or has failed.
        then: Continuation<'a>,
    },
}

impl<'a> Proposal<'a> {
    /// First this one summary, then the layout that is made from it; from `None` if the summary failed and the strategy goes on
    /// without it.
    pub fn summary(
        request: SummaryRequest,
        reason: String,
        then: impl FnOnce(Option<&Summary>) -> Result<Arrangement, Why> + Send + 'a,
    ) -> Self {
        Self::Then {
            requests: vec![request],
            reasons: vec![reason],
            then: Box::new(|summaries| then(summaries.iter().flatten().next())),
        }
    }
}

impl fmt::Debug for Proposal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Layout(arrangement) => f.debug_tuple("Layout").field(arrangement).finish(),
            Self::Then { requests, reasons, .. } => {
                let mut out = f.debug_struct("Then");
                out.field("requests", requests).field("reasons", reasons).finish_non_exhaustive()
            }
        }
    }
}

/// What a filter wants the view to be, with the summaries at hand.
#[derive(Clone, Debug, Default)]
pub struct Arrangement {
    /// Messages to append to the history, in order: the first one gets
    /// the position [`History::len`](crate::history::History::len). The layout may keep them.
    pub entries: Vec<Message>,
    /// The new layout.
    pub layout: Layout,
    /// Edits inside messages that the filter needs to reach its budget.
    pub edits: Vec<Edit>,
    /// The arithmetic in words.
    pub reasons: Vec<String>,
    /// Tables worth keeping with the plan, by name (a budget, the scores).
    pub tables: BTreeMap<String, Value>,
}

/// Split points, checkpoints, kept tails in another order, residuals, tiers, prompt assembly.
///
/// A filter is asked once per fold. If it needs summaries, its answer says what to do with them.
pub trait Filter: Send + Sync + fmt::Debug {
    /// The layout of a history that was folded before it was loaded, where its messages say so
    /// themselves. `None` if everything is shown.
    fn restore(&self, context: &StageContext<'_>) -> Option<Layout> {
        let _ = context;
        None
    }

    /// Called where the overflow policy asks for no fold: a filter may read now what a fold would have to read, so
    /// that the fold itself is short. What it folds does not depend on it.
    fn read_ahead(&self, context: &StageContext<'_>) {
        let _ = context;
    }

    /// The layout, or the summaries that are needed for it and how the layout is made from them.
    ///
    /// # Errors
    ///
    /// A reason why there is nothing to fold.
    fn propose<'a>(&'a self, context: &'a StageContext<'_>) -> Result<Proposal<'a>, Why>;

    /// The summarizer that writes this filter's summaries: the strategy's own, or a wrapper around it with the
    /// same id. What `own` gives was accepted by the guards.
    fn summarizer(&self, own: Arc<dyn Summarizer>) -> Arc<dyn Summarizer> {
        own
    }

    /// Statistics of the filter's work over its lifetime, by name. They depend on everything that the
    /// filter was used for, so they are not part of any plan.
    fn report(&self) -> BTreeMap<String, Value> {
        BTreeMap::new()
    }
}
