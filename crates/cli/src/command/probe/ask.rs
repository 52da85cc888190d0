//! Asks the questions of a session under every view of it.

use crate::args::{Forms, Probe};
use crate::error::Error;
use foldback::llm::Questioner;
use foldback_core::provider::{Completion, ErrorKind, Model, ProviderError};
use foldback_replay::probe::figures::Row;
use foldback_replay::probe::score::{Form, Outcome, score};
use foldback_replay::probe::{Moment, Question, View};
use foldback_replay::{Preset, Setup};
use std::sync::Arc;

/// Something whose views are asked about.
pub(super) struct Arm<'p> {
    pub(super) label: String,
    pub(super) shows: Shows<'p>,
    /// Who is asked.
    pub(super) model: Arc<dyn Model>,
}

/// What its views show.
pub(super) enum Shows<'p> {
    Preset(&'p Preset),
    /// The whole log.
    Full,
    Nothing,
}

/// What is the same for all sessions.
pub(super) struct Sitting<'s> {
    pub(super) args: &'s Probe,
    pub(super) setup: &'s Setup,
    pub(super) questioner: &'s Questioner,
    pub(super) arms: &'s [Arm<'s>],
}

impl Sitting<'_> {
    /// A row for each arm, question and form. What was not answered has none; whoever watches the model knows of it.
    pub(super) fn rows(
        &self,
        session: &str,
        cluster: &str,
        moment: &Moment,
        questions: &[Question],
    ) -> Result<Vec<Row>, Error> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Error::Usage(format!("can't create a runtime: {error}")))?;
        let mut rows = Vec::new();
        for arm in self.arms {
            let view = match arm.shows {
                Shows::Preset(preset) => moment.view(preset, self.setup),
                Shows::Full => moment.full(),
                Shows::Nothing => View::default(),
            };
            let record = self.questioner.record(&view.messages);
            let size = self.setup.measure.text(&record);
            for question in questions {
                for form in forms(self.args.form) {
                    // Of one's own question without other answers there is nothing to choose.
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
                        tokens: size,
                    };
                    let asked = self.asked(arm, &record, question, row);
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
        record: &str,
        question: &Question,
        row: Row,
    ) -> Option<Row> {
        let options = match row.form {
            Form::Exact => Vec::new(),
            Form::Choice => question.options(),
        };
        // All but the record is small, and so counted anew for each.
        let around = self.questioner.request("", &question.text, &options);
        let around = self.setup.measure.text(&around.system)
            + around.turns.iter().map(|turn| self.setup.measure.text(&turn.text)).sum::<u64>();
        let row = Row { tokens: row.tokens + around, ..row };
        if row.tokens > self.questioner.room() {
            return Some(row);
        }
        let request = self.questioner.request(record, &question.text, &options);
        let (outcome, answer) = match self.questioner.ask(&*arm.model, &request).await {
            Ok(Completion { text, .. }) => score(question, row.form, &text),
            Err(error) => (without(&error)?, String::new()),
        };
        Some(Row { right: outcome == Outcome::Right, outcome, answer, ..row })
    }
}

/// What an error says of a question; `None` where it says nothing of it.
fn without(error: &ProviderError) -> Option<Outcome> {
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
    }
}
