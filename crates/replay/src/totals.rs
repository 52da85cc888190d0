//! The measurements: one row per call, and the totals of a session.

use foldback_core::conversation::{Conversation, StageRole};
use foldback_core::counters::Counters;
use foldback_core::delta::ViewDelta;
use foldback_core::log::{Message, PartKind, Role};
use foldback_core::meter::MeterId;
use foldback_core::moment::Moment;
use foldback_core::validity::{Dialect, Violation};
use foldback_core::view::{PartPos, Place, Pos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::Deref;

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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
}

/// Tokens that left the view, by kind, by the measuring estimator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Dropped {
    /// Content of tool results.
    pub tool_result: u64,
    /// Names and arguments of tool calls.
    pub tool_call: u64,
    /// What the model said.
    pub assistant_text: u64,
    /// What the model thought.
    pub reasoning: u64,
    /// What the user said. Anything here is a red flag.
    pub user_text: u64,
    /// Everything else.
    pub other: u64,
}

impl Dropped {
    /// Adds what another session dropped.
    pub fn take(&mut self, more: &Self) {
        self.tool_result += more.tool_result;
        self.tool_call += more.tool_call;
        self.assistant_text += more.assistant_text;
        self.reasoning += more.reasoning;
        self.user_text += more.user_text;
        self.other += more.other;
    }

    fn add(&mut self, message: &Message, part: usize, tokens: u64) {
        let Some(part) = message.parts.get(part) else {
            return;
        };
        let slot = match (&part.kind, message.role) {
            (PartKind::Result(_), _) => &mut self.tool_result,
            (PartKind::Call(_), _) => &mut self.tool_call,
            (PartKind::Reasoning { .. }, _) => &mut self.reasoning,
            (PartKind::Text { .. }, Role::Assistant) => &mut self.assistant_text,
            (PartKind::Text { .. }, Role::User) => &mut self.user_text,
            _ => &mut self.other,
        };
        *slot += tokens;
    }

    /// Counts what left the view. What was appended and hidden at once has left it, too.
    pub(crate) fn count(&mut self, conversation: &Conversation, delta: &ViewDelta, meter: MeterId) {
        let (history, view) = (conversation.history(), conversation.view());
        let counts = conversation.meter(meter);
        let shown_before = |pos: Pos| match view.is_visible(pos) {
            _ if history.message(pos).is_entry() && delta.appended.contains(&pos) => false,
            true => !delta.shown.contains(&Place::Item(pos)),
            false => delta.appended.contains(&pos) || delta.hidden.contains(&Place::Item(pos)),
        };
        for fold in &conversation.folds()[delta.folds.clone()] {
            for edit in &fold.plan.edits {
                if shown_before(edit.at.item) {
                    let lost =
                        counts.part(edit.at).saturating_sub(counts.part_shown(view, edit.at));
                    self.add(history.message(edit.at.item), edit.at.part, lost);
                }
            }
        }
        let appended = delta.appended.clone().filter(|pos| !view.is_visible(*pos));
        for item in delta.hidden.iter().filter_map(|place| place.item()).chain(appended) {
            let message = history.message(item);
            if !message.is_entry() {
                for part in 0..message.parts.len() {
                    let tokens = counts.part_shown(view, PartPos { item, part });
                    self.add(message, part, tokens);
                }
            }
        }
    }
}

/// Totals of one session under one strategy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionMetrics {
    /// Of the requests.
    pub totals: CallTotals,
    /// What left the view.
    pub dropped: Dropped,
    /// The conversation's own counters.
    pub counters: Counters,
}

impl Deref for SessionMetrics {
    type Target = CallTotals;

    fn deref(&self) -> &CallTotals {
        &self.totals
    }
}

/// Totals over the requests of one session under one strategy. Token counts are by the measuring estimator.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallTotals {
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
    /// Requests that the provider would have refused.
    pub overflow_calls: u64,
    /// Requests that were still too large when they were sent, after the strategy could react to the
    /// refusal, and that a strategy could have made fit.
    pub sent_over: u64,
    /// The largest excess of them over the ceiling.
    pub max_excess: u64,
    /// Requests whose frame alone is over the ceiling.
    pub unfittable: u64,
    /// Tokens of both.
    pub over_input_tokens: u64,
    /// How often something changed the view: folds and prunings.
    pub compactions: u64,
    /// Compactions within three calls of the one before.
    pub thrash: u64,
    /// Violations of provider rules that the strategy caused.
    pub strategy_violations: u64,
    /// Violations that the recording already had.
    pub inherited_violations: u64,
}

impl SessionMetrics {
    pub(crate) fn of(
        rows: &[CallRow],
        conversation: &Conversation,
        dropped: &Dropped,
        strategy_violations: u64,
        inherited_violations: u64,
    ) -> Self {
        // A firing that came together with another one (a pruning right before its summary) is one.
        let firing: Vec<usize> =
            rows.iter().filter(|row| !row.fired.is_empty()).map(|row| row.call).collect();
        let thrash = firing.windows(2).filter(|pair| pair[1] - pair[0] <= 3).count() as u64;
        let counters = *conversation.counters();
        let totals = CallTotals {
            compactions: counters.folds + counters.prune_operations,
            thrash,
            strategy_violations,
            inherited_violations,
            ..CallTotals::of_rows(rows)
        };
        Self { totals, dropped: *dropped, counters }
    }
}

impl CallTotals {
    /// What the rows alone say.
    pub(crate) fn of_rows(rows: &[CallRow]) -> Self {
        let sum = |of: fn(&CallRow) -> u64| rows.iter().map(of).sum();
        let sent_over = || rows.iter().filter(|row| row.excess > 0 && !row.unfittable);
        Self {
            calls: rows.len() as u64,
            input_tokens: sum(|row| row.input_tokens),
            peak_tokens: rows.iter().map(|row| row.input_tokens).max().unwrap_or(0),
            cache_read_tokens: sum(|row| row.cache_read),
            churn_tokens: sum(|row| row.churn),
            overflow_calls: rows.iter().filter(|row| row.overflow).count() as u64,
            sent_over: sent_over().count() as u64,
            max_excess: sent_over().map(|row| row.excess).max().unwrap_or(0),
            unfittable: rows.iter().filter(|row| row.unfittable).count() as u64,
            over_input_tokens: rows
                .iter()
                .filter(|row| row.excess > 0)
                .map(|row| row.input_tokens)
                .sum(),
            ..Self::default()
        }
    }
}
