//! What a replay says about the changes of the view: what each took out and wrote, and whether its summaries hold what
//! they were made from. Tokens are by the measuring estimator.
//!
//! A view is what a request sends: what is appended and folded away between two requests was dropped, and several folds
//! between two requests are one firing.

mod firings;
mod summaries;
#[cfg(test)]
mod tests;

pub(crate) use firings::Firing;

use crate::judge::request::{Probe, Request};
use crate::read::index::Index;
use crate::stats::Share;
pub(crate) use firings::Firings;
use std::sync::Arc;
use summaries::Reader;

/// What a replay of a session gave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SessionMeasures {
    /// Every change of the view.
    pub firings: Vec<Firing>,
    /// Distinct identifiers in each summary, and how many of them its source has.
    pub summaries: Vec<Share>,
}

/// The probe. Give it to [`crate::replay_with`], then take what it found.
#[derive(Clone, Debug)]
pub(crate) struct Measures {
    firings: Firings,
    reader: Reader,
}

impl Measures {
    /// A probe over one session.
    pub(crate) fn new(index: Arc<Index>) -> Self {
        Self { firings: Firings::default(), reader: Reader::new(index) }
    }

    /// What was found.
    pub(crate) fn finish(self) -> SessionMeasures {
        SessionMeasures { firings: self.firings.finish(), summaries: self.reader.finish() }
    }

    /// Takes note of a firing and of the summaries that it wrote.
    fn update(&mut self, request: &Request<'_>) {
        let folds = &request.conversation.folds()[request.delta.folds.clone()];
        let written = self.firings.written(request, folds);
        for edit in folds.iter().flat_map(|fold| &fold.plan.edits) {
            self.reader.lay_over(&edit.text);
        }
        for summary in &written {
            self.reader.read(request.tracker, &summary.text);
        }
        self.firings.look(request, folds, &written);
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
