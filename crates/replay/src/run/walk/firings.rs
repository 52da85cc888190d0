//! What fired.

use crate::run::drive::Replay;
use foldback_core::conversation::StageRole;
use foldback_core::moment::Moment;
use foldback_core::outcome::Outcome;
use serde::{Deserialize, Serialize};

/// A stage that changed the view.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrackFiring {
    /// Number of the call that came next.
    pub call: usize,
    /// When.
    pub moment: Moment,
    /// Name of the stage.
    pub stage: String,
    /// A fold of policy and filter; otherwise a pruner.
    pub fold: bool,
    /// Why, as the policy and the stage put it; empty where neither says anything.
    pub reason: String,
    /// What did not go as it was meant to.
    pub degraded: Option<String>,
    /// View before, by the preset's own estimator, frame not included.
    pub own_before: u64,
    /// View after, by the preset's own estimator, frame not included.
    pub own_after: u64,
}

/// Everything that changed the view, in order.
pub(super) fn firings(replay: &Replay) -> Vec<TrackFiring> {
    let folds = replay.conversation.folds();
    let fired = replay.reports.iter().filter_map(|(call, report)| {
        let id = report.fold?;
        let plan = folds.iter().find(|fold| fold.id == id).map(|fold| &fold.plan);
        let decision = report.decision.as_ref().map(|decision| &decision.reason);
        let reasons = plan.into_iter().flat_map(|plan| &plan.reasons);
        let mut reason: Vec<&str> = Vec::new();
        for text in decision.into_iter().chain(reasons) {
            if !text.is_empty() && !reason.contains(&text.as_str()) {
                reason.push(text);
            }
        }
        Some(TrackFiring {
            call: *call,
            moment: report.moment,
            stage: report.stage.clone(),
            fold: report.role != StageRole::Pruner,
            reason: reason.join("; "),
            degraded: match &report.outcome {
                Outcome::Degraded(why) => Some(why.to_string()),
                _ => None,
            },
            own_before: report.tokens_before,
            own_after: report.tokens_after,
        })
    });
    fired.collect()
}
