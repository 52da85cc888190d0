//! What a replay says about the changes of the view: what each took out and wrote, and whether its summaries hold what
//! they were made from. Tokens are by the measuring estimator.
//!
//! A view is what a request sends: what is appended and folded away between two requests was dropped, and several folds
//! between two requests are one firing.

mod firings;
mod summaries;
#[cfg(test)]
mod tests;

pub(crate) use firings::{Firing, Firings, WrittenSummary};

use crate::judge::request::{Probe, Request};
use crate::read::index::Index;
use crate::stats::Share;
use std::sync::Arc;
use summaries::Reader;

/// The probe. Give it to [`crate::replay_with`], then take what it found.
#[derive(Clone, Debug)]
pub(crate) struct Measures(Reader);

impl Measures {
    /// A probe over one session.
    pub(crate) fn new(index: Arc<Index>) -> Self {
        Self(Reader::new(index))
    }

    /// Distinct identifiers in each summary, and how many of them its source has.
    pub(crate) fn finish(self) -> Vec<Share> {
        self.0.finish()
    }

    fn update(&mut self, request: &Request<'_>) {
        let folds = &request.conversation.folds()[request.delta.folds.clone()];
        for edit in folds.iter().flat_map(|fold| &fold.plan.edits) {
            self.0.lay_over(&edit.text);
        }
        for summary in request.written {
            self.0.read(request.tracker, &summary.text);
        }
    }
}

impl Probe for Measures {
    fn call(&mut self, request: &Request<'_>) {
        self.update(request);
    }

    fn end(&mut self, request: &Request<'_>) {
        self.update(request);
    }
}
