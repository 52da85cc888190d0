//! The summary requests of a replay: the tokens of the requests that a model would receive.
//!
//! It is the same for all summarizers, so that a strategy's bill does not depend on the stand-in. A
//! request holds its wording, the earlier summary, the instructions of a person, and the messages that are
//! to be summarized, as the strategy cut them: not the system prompt, not the tools, not the rest of the view.

use foldback_core::event::Event;
use foldback_core::log::PartKind;
use foldback_core::services::Observer;
use foldback_core::stage::{Estimator, SummaryRequest};
use std::sync::{Arc, Mutex, PoisonError};

/// Tokens of what a request says besides the conversation: task, headings, budget, labels of the record.
pub(crate) const WORDING: u64 = 500;

/// Tokens that a request keeps of each piece of reasoning.
const REASONING: u64 = 125;

/// Input tokens of the request for a summary.
pub(crate) fn input(request: &SummaryRequest, measure: &dyn Estimator) -> u64 {
    let texts = request.previous.iter().chain(&request.instructions);
    let texts: u64 = texts.map(|text| measure.text(text)).sum();
    let messages = request.messages.iter().map(|message| {
        let counts = measure.counts(message);
        let parts =
            message.parts.iter().zip(&counts.parts).map(|(part, tokens)| match &part.kind {
                PartKind::Text { ignored: true, .. } => 0,
                PartKind::Reasoning { .. } => REASONING.min(*tokens),
                _ => *tokens,
            });
        counts.overhead + parts.sum::<u64>()
    });
    WORDING + texts + messages.sum::<u64>()
}

/// Notes what is asked.
#[derive(Debug)]
pub(crate) struct AskedInputs {
    measure: Arc<dyn Estimator>,
    inputs: Mutex<Vec<u64>>,
}

impl AskedInputs {
    pub(crate) fn new(measure: Arc<dyn Estimator>) -> Self {
        Self { measure, inputs: Mutex::default() }
    }

    /// Input tokens of each request since the last time.
    pub(crate) fn take(&self) -> Vec<u64> {
        std::mem::take(&mut self.inputs.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Observer for AskedInputs {
    fn observe(&self, _event: &Event) {}

    fn asks(&self, request: &SummaryRequest) {
        let tokens = input(request, &*self.measure);
        self.inputs.lock().unwrap_or_else(PoisonError::into_inner).push(tokens);
    }
}
