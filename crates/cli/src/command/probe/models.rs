//! Who answers: the model itself through its cassette and budget, a file with answers that came back, or nobody, where
//! requests are written to a file.

use crate::args::Probe;
use crate::asking::Answers;
use crate::error::Error;
use crate::input;
use crate::progress::Progress;
use crate::summaries::Choice;
use foldback::llm::Watch;
use foldback::llm::batch::{Export, Import};
use foldback_core::provider::{Asks, Model};
use foldback_replay::{Preset, Setup};
use std::sync::Arc;

/// The models that answer questions and write summaries.
pub(super) struct Models {
    /// Answers to strategies, and to questions that are sent.
    answers: Answers,
    /// The model of a batch: it has the answers, or collects the requests.
    given: Option<Arc<Watch>>,
    export: Arc<Export>,
}

impl Models {
    /// Opens what the flags select. Gives the presets as well, each with its model, if it asks one; behind theirs is one for the
    /// questions under each label.
    pub(super) fn open(
        args: &Probe,
        presets: Vec<Preset>,
        labels: &[String],
        asks: Asks,
        choices: &[Choice],
        setup: &Setup,
    ) -> Result<(Self, Vec<Preset>), Error> {
        let export = Arc::new(Export::default());
        let given: Option<Arc<dyn Model>> = match &args.batch {
            Some(_) if args.requests().is_some() => Some(Arc::clone(&export) as _),
            Some(path) => Some(Arc::new(input::parsed(path, Import::read)?)),
            None => None,
        };
        let sent = labels.iter().filter(|_| given.is_none());
        let sent: Vec<(String, Asks)> =
            sent.map(|label| (format!("questions: {label}"), asks.clone())).collect();
        let answers = Answers::open(&args.summaries, &presets, &sent, choices, setup)?;
        let presets = crate::design::with_answers(presets, &answers);
        let given = given.map(|model| Arc::new(Watch::new(model)));
        Ok((Self { answers, given, export }, presets))
    }

    /// The model that answers, by the place among presets and labels.
    pub(super) fn model(&self, at: usize) -> Arc<dyn Model> {
        let given = self.given.as_ref().map(|given| Arc::clone(given) as _);
        // The last one gets no request: questions go to one of the others.
        given.or_else(|| self.answers.model(at)).unwrap_or_else(|| Arc::clone(&self.export) as _)
    }

    pub(super) fn show(&self, progress: &Progress) {
        self.answers.show(progress);
    }

    /// The text to print instead of a result after a dry run; an error if something was not answered.
    pub(super) fn finish(&self) -> Result<Option<String>, Error> {
        let unanswered = self.given.as_ref().and_then(|given| given.unanswered());
        if let Some((error, unanswered)) = unanswered {
            return Err(Error::Model { error, unanswered });
        }
        self.answers.finish(None, &|_| "it had nothing to ask".to_owned())
    }

    /// The requests that were not sent.
    pub(super) fn exported(&self) -> Vec<String> {
        self.export.lines()
    }
}
