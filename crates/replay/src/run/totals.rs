//! The measurements: one row per call, and the totals of a session.

use crate::judge::retention::Retention;
use foldback_core::conversation::StageRole;
use foldback_core::counters::Counters;
use foldback_core::moment::Moment;
use foldback_core::validity::{Dialect, Violation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A stage that changed the view.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fired {
    /// Number of the call that came next.
    pub call: usize,
    /// When.
    pub moment: Moment,
    /// Name of the stage.
    pub stage: String,
    /// Pruner or fold.
    pub role: StageRole,
}

/// A provider rule that a strategy broke: the recording itself keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BrokenRule {
    /// Whose rule.
    pub dialect: Dialect,
    /// Code of the rule.
    pub rule: String,
    /// Id of the message that breaks it.
    pub message: String,
    /// What is wrong, in words.
    pub detail: String,
}

impl From<&Violation> for BrokenRule {
    fn from(violation: &Violation) -> Self {
        Self {
            dialect: violation.dialect,
            rule: violation.rule.to_owned(),
            message: violation.message.clone(),
            detail: violation.detail.clone(),
        }
    }
}

/// One request that a strategy would have sent. Token counts are by the measuring estimator unless
/// said otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallRow {
    /// Number of the call, from 0.
    pub call: usize,
    /// Number of the user turn, from 1.
    pub turn: usize,
    /// Messages in the view.
    pub messages: usize,
    /// Size of the request: frame and view.
    pub input_tokens: u64,
    /// The same by the strategy's own estimator.
    pub decision_tokens: u64,
    /// Size of the request that the recorder sent, by its provider's count.
    pub recorded_input: Option<u64>,
    /// Tokens that the simulated prompt cache held.
    pub cache_read: u64,
    /// Tokens that were cached and had to be written again.
    pub churn: u64,
    /// Largest request that the provider would take.
    pub ceiling: Option<u64>,
    /// The provider would have refused the request as it stood before the strategy could react to
    /// the refusal.
    pub overflow: bool,
    /// By how much the request that was finally sent is over the ceiling.
    pub excess: u64,
    /// The frame alone is over the ceiling: no strategy can make the request fit.
    pub unfittable: bool,
    /// What changed the view since the call before.
    pub fired: Vec<Fired>,
    /// The recorder had compacted its own context before this call.
    pub recorder_compacted: bool,
    /// Provider rules that this request is the first to break. What the view breaks after the last
    /// answer is with the last call.
    pub broken: Vec<BrokenRule>,
    /// How often the policy said that the view is too large since the call before. This and the following counts of what
    /// happened between calls also have, with the last call, what happened after it.
    pub overflow_detections: u64,
    /// Content that pruners removed, by the strategy's own estimator, placeholders not subtracted.
    pub tokens_pruned: u64,
    /// Requests for summaries.
    pub summary_requests: u64,
    /// Their input, as billed.
    pub summary_input: u64,
    /// Their answers.
    pub summary_output: u64,
    /// What the call needed, and how much of it was in the view.
    pub retention: Retention,
}

/// Totals over the requests of one session under one strategy. Token counts are by the measuring estimator, those of
/// the counters by the strategy's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionMetrics {
    /// Recorded calls.
    pub calls: u64,
    /// Sum over all requests.
    pub input_tokens: u64,
    /// The largest request.
    pub peak_tokens: u64,
    /// Sum of what the simulated prompt cache held.
    pub cache_read_tokens: u64,
    /// Sum of what was cached and had to be written again.
    pub churn_tokens: u64,
    /// Requests that were still too large when they were sent, after the strategy could react to the
    /// refusal, and that a strategy could have made fit.
    pub sent_over: u64,
    /// Requests whose frame alone is over the ceiling.
    pub unfittable: u64,
    /// How often something changed the view: folds and prunings.
    pub compactions: u64,
    /// Violations of provider rules that the strategy caused.
    pub strategy_violations: u64,
    /// Violations that the recording already had.
    pub inherited_violations: u64,
    /// The conversation's own counters.
    pub counters: Counters,
}

impl SessionMetrics {
    pub(crate) fn new(
        rows: &[CallRow],
        counters: Counters,
        strategy_violations: u64,
        inherited_violations: u64,
    ) -> Self {
        Self {
            compactions: counters.folds + counters.prune_operations,
            strategy_violations,
            inherited_violations,
            counters,
            ..Self::of_rows(rows)
        }
    }

    /// What the rows alone say.
    pub(crate) fn of_rows(rows: &[CallRow]) -> Self {
        let mut out = Self::default();
        for row in rows {
            out.calls += 1;
            out.input_tokens += row.input_tokens;
            out.peak_tokens = out.peak_tokens.max(row.input_tokens);
            out.cache_read_tokens += row.cache_read;
            out.churn_tokens += row.churn;
            out.unfittable += u64::from(row.unfittable);
            if row.excess > 0 && !row.unfittable {
                out.sent_over += 1;
            }
        }
        out
    }
}
