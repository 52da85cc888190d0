//! Asks the questions of a session under every view of it.

use crate::args::{Forms, Probe};
use crate::asking::runtime;
use crate::error::Error;
use foldback::live::{recall::Recall, tools};
use foldback::llm::Questioner;
use foldback_core::provider::{Completion, CompletionRequest, ErrorKind, Model, ProviderError};
use foldback_replay::fault::FailedReplay;
use foldback_replay::probe::figures::Row;
use foldback_replay::probe::score::{Form, Outcome, recalled, score};
use foldback_replay::probe::{Moment, Question, View};
use foldback_replay::{Preset, Setup};
use std::sync::Arc;

/// Something whose views are asked about.
pub(super) struct Arm<'p> {
    pub(super) label: String,
    pub(super) shows: Shows<'p>,
    /// The model that is asked.
    pub(super) model: Arc<dyn Model>,
    /// How often a question may look up what the view leaves out. An arm with this stands behind the same one without.
    pub(super) recall: Option<usize>,
}

/// The view that an arm shows.
pub(super) enum Shows<'p> {
    Preset(&'p Preset),
    /// The whole log.
    Full,
    Nothing,
}

/// The settings that all sessions share.
pub(super) struct Sitting<'s> {
    pub(super) args: &'s Probe,
    pub(super) setup: &'s Setup,
    pub(super) questioner: &'s Questioner,
    pub(super) arms: &'s [Arm<'s>],
}

impl Sitting<'_> {
    /// A row for each arm, question and form. What was not answered has none; whoever watches the model knows of it. Neither has
    /// a preset whose replay failed; `failed` gets that.
    pub(super) fn rows(
        &self,
        session: &str,
        cluster: &str,
        moment: &Moment,
        questions: &[Question],
        failed: &mut Vec<FailedReplay>,
    ) -> Result<Vec<Row>, Error> {
        let runtime = runtime()?;
        let (mut rows, mut shown) = (Vec::new(), Some(View::default()));
        for arm in self.arms {
            match arm.shows {
                // The view of the arm before is used again.
                Shows::Preset(_) if arm.recall.is_some() => {}
                Shows::Preset(preset) => {
                    let view = || moment.view(preset, self.setup);
                    let view = FailedReplay::caught(session, &preset.strategy.label(), view);
                    shown = view.map_err(|more| failed.push(more)).ok();
                }
                Shows::Full => shown = Some(moment.full()),
                Shows::Nothing => shown = Some(View::default()),
            }
            let Some(view) = &shown else { continue };
            let record = self.questioner.record(&view.messages);
            let size = self.setup.measure.text(&record);
            for question in questions {
                for form in forms(self.args.form) {
                    // A user's question without distractors has no choice form.
                    if *form == Form::Choice && question.distractors.is_empty() {
                        continue;
                    }
                    let row = Row {
                        session: session.to_owned(),
                        cluster: cluster.to_owned(),
                        preset: arm.label.clone(),
                        call: moment.call(),
                        id: question.id(),
                        kind: question.kind,
                        holder: question.holder,
                        age: question.age,
                        question: question.text.clone(),
                        expected: question.expected.clone(),
                        form: *form,
                        answer: String::new(),
                        outcome: Outcome::TooLarge,
                        right: false,
                        in_view: view.has(question),
                        kept: view.keeps(question),
                        recalls: 0,
                        tokens: size,
                    };
                    let asked = self.asked(arm, view, &record, question, row);
                    rows.extend(runtime.block_on(asked));
                }
            }
        }
        Ok(rows)
    }

    /// The row with what came of its question; `None` where there is no answer to be had.
    async fn asked(
        &self,
        arm: &Arm<'_>,
        view: &View,
        record: &str,
        question: &Question,
        mut row: Row,
    ) -> Option<Row> {
        let options = match row.form {
            Form::Exact => Vec::new(),
            Form::Choice => question.options(),
        };
        let request = |record: &str| {
            let request = self.questioner.request(record, &question.text, &options);
            match arm.recall {
                Some(times) => self.questioner.offering(request, tools::DESCRIPTION, times),
                None => request,
            }
        };
        // Everything but the record is small, so it is counted for each question.
        let around = request("");
        row.tokens += self.setup.measure.text(&around.system) + self.size(&around, 0);
        if row.tokens > self.questioner.room() {
            return Some(row);
        }
        let mut request = request(record);
        let mut recall = Recall::new();
        let mut left = arm.recall.unwrap_or(0);
        loop {
            let text = match self.questioner.ask(&*arm.model, &request).await {
                Ok(Completion { text, .. }) => text,
                Err(error) => return Some(Row { outcome: without(&error)?, ..row }),
            };
            let Some((wrote, arguments)) = recalled(&text).filter(|_| arm.recall.is_some()) else {
                (row.outcome, row.answer) = score(question, row.form, &text);
                break;
            };
            // It was told to answer.
            if left == 0 {
                (row.outcome, row.answer) = (Outcome::Form, wrote.to_owned());
                break;
            }
            (left, row.recalls) = (left - 1, row.recalls + 1);
            let found = view.conversation.as_ref();
            let found = found.map(|found| tools::handle(&mut recall, found, arguments));
            let next = |found: Option<&str>, last: bool| {
                let next = self.questioner.looked_up(request.clone(), wrote, found, last);
                (row.tokens + self.size(&next, request.turns.len()), next)
            };
            let (mut size, mut longer) = next(found.as_deref(), left == 0);
            if size > self.questioner.room() {
                (size, longer) = next(None, true);
                left = 0;
            }
            (row.tokens, request) = (size, longer);
        }
        Some(Row { right: row.outcome == Outcome::Right, ..row })
    }

    /// Tokens of the turns of a request from a number on.
    pub(super) fn size(&self, request: &CompletionRequest, from: usize) -> u64 {
        request.turns[from..].iter().map(|turn| self.setup.measure.text(&turn.text)).sum()
    }
}

/// The outcome that an error gives a question; `None` for an error that has nothing to do with the question.
pub(super) fn without(error: &ProviderError) -> Option<Outcome> {
    match error.kind {
        kind if kind.is_overflow() => Some(Outcome::TooLarge),
        ErrorKind::ContentRefused => Some(Outcome::Refused),
        ErrorKind::OutputLimit => Some(Outcome::Form),
        ErrorKind::Timeout => Some(Outcome::Late),
        _ => None,
    }
}

fn forms(asked: Forms) -> &'static [Form] {
    match asked {
        Forms::Exact => &[Form::Exact],
        Forms::Choice => &[Form::Choice],
        Forms::Both => &[Form::Exact, Form::Choice],
        Forms::Likelihood => &[],
    }
}
