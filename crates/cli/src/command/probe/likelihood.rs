//! Asks how likely the recorded actions are under every view of a session.

use super::ask::{Arm, Shows, Sitting, without};
use crate::asking::runtime;
use crate::error::{Error, add_failed};
use foldback::llm::likelihood::Likelihood;
use foldback_formats::Session;
use foldback_replay::fault::FailedReplay;
use foldback_replay::probe::likelihood::{Row, calls};
use foldback_replay::probe::{Moment, View};
use foldback_replay::stats::Share;

/// Characters of an action that are looked at: what a call writes into a file would outweigh everything else.
const LONGEST: usize = 2_000;

/// Tokens of a request, and the likelihood if the request fits.
type SizedLikelihood = (u64, Option<Likelihood>);

impl Sitting<'_> {
    /// A row for each action and arm. What was not answered has none; whoever watches the model knows of it. Neither has a preset
    /// whose replay failed; `failed` gets that.
    pub(super) fn likely(
        &self,
        path: &str,
        cluster: &str,
        session: &Session,
        failed: &mut Vec<FailedReplay>,
    ) -> Result<Vec<Row>, Error> {
        let at = match self.args.at {
            Some(call) => vec![call],
            None => calls(session.calls(), self.args.count),
        };
        let runtime = runtime()?;
        let mut rows = Vec::new();
        for moment in at.into_iter().filter_map(|call| Moment::before(session, call)) {
            let mut action = self.questioner.record(&moment.action());
            if let Some((end, _)) = action.char_indices().nth(LONGEST) {
                action.truncate(end);
            }
            if action.trim().is_empty() {
                continue;
            }
            let under =
                |arm: &Arm<'_>, view: &View| runtime.block_on(self.told(arm, view, &action));
            let full = self.arms.iter().find(|arm| matches!(arm.shows, Shows::Full));
            let full = full.and_then(|arm| under(arm, &moment.full()));
            for arm in self.arms {
                let (told, share) = match arm.shows {
                    // With nothing to compare with, nothing is asked.
                    _ if full.is_some_and(|(_, told)| told.is_none()) => {
                        (Some((0, None)), Share::default())
                    }
                    Shows::Full => (full, Share::default()),
                    Shows::Nothing => (under(arm, &View::default()), Share::default()),
                    Shows::Preset(preset) => {
                        let view = || moment.view(preset, self.setup);
                        match FailedReplay::caught(path, &preset.strategy.label(), view) {
                            Ok(view) => (under(arm, &view), view.kept),
                            Err(more) => {
                                add_failed(failed, [more]);
                                continue;
                            }
                        }
                    }
                };
                let (Some((tokens, told)), Some((_, full))) = (told, full) else { continue };
                rows.push(Row {
                    session: path.to_owned(),
                    cluster: cluster.to_owned(),
                    preset: arm.label.clone(),
                    call: moment.call(),
                    nats: told.map(|told| -told.logprob),
                    rise: told.zip(full).map(|(told, full)| full.logprob - told.logprob),
                    action_tokens: told.map_or(0, |told| told.tokens),
                    needed: share.needed,
                    kept: share.kept,
                    tokens,
                });
            }
        }
        Ok(rows)
    }

    /// How likely an action is under a view.
    async fn told(&self, arm: &Arm<'_>, view: &View, action: &str) -> Option<SizedLikelihood> {
        let record = self.questioner.record(&view.messages);
        let request = self.questioner.likelihood(&record, action);
        let size = self.size(&request, 0);
        if size > self.questioner.room() {
            return Some((size, None));
        }
        let answer = self.questioner.ask(&*arm.model, &request).await;
        match answer.and_then(|completion| Likelihood::from_text(&completion.text)) {
            Ok(likelihood) => Some((size, Some(likelihood))),
            Err(error) => without(&error).map(|_| (size, None)),
        }
    }
}
