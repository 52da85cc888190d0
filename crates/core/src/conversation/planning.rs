//! From what a stage proposes to a plan: counted before and after, on the current state.

use super::Conversation;
use crate::log::Message;
use crate::meter::Meter;
use crate::moment::{Moment, Trigger};
use crate::outcome::Why;
use crate::plan::{Edit, Layout, Plan, Slot};
use crate::view::{Place, Pos};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// What a proposal changes, before it is counted.
#[derive(Default)]
pub(super) struct Changes {
    pub(super) edits: Vec<Edit>,
    pub(super) entries: Vec<Message>,
    pub(super) layout: Option<Layout>,
    pub(super) reasons: Vec<String>,
    pub(super) tables: BTreeMap<String, Value>,
    pub(super) summaries: Vec<String>,
    pub(super) summary_tokens: u64,
    pub(super) degraded: Option<Why>,
}

impl Conversation {
    /// Makes changes a plan: counts before and after under the strategy's own estimator.
    pub(super) fn plan(
        &self,
        stage: &str,
        moment: Moment,
        trigger: Trigger,
        changes: Changes,
    ) -> Plan {
        let meter = &self.meters[0];
        let Changes {
            mut edits,
            entries,
            layout,
            reasons,
            tables,
            summaries,
            summary_tokens,
            degraded,
        } = changes;
        self.count_edits(&mut edits);
        let tokens_before = meter.view_tokens();
        let (mut removed, mut added, mut reclaimed) = (0, 0, 0);
        for edit in &edits {
            if self.view.is_visible(edit.at.item) {
                removed += edit.before;
                added += edit.after;
                reclaimed += edit.before.saturating_sub(edit.after);
            }
        }
        let tokens_after = match &layout {
            None => {
                let entered: u64 = entries.iter().map(|entry| meter.measure(entry)).sum();
                tokens_before - removed + added + entered
            }
            Some(layout) => self.tokens_under(meter, layout, &entries, &edits),
        };
        Plan {
            base: self.revision,
            moment,
            trigger,
            stage: stage.to_owned(),
            estimator: Arc::clone(meter.estimator().id()),
            tokens_before,
            tokens_after,
            prunable: 0,
            reclaimed,
            reasons,
            decision: None,
            edits,
            entries,
            layout,
            summaries,
            summary_tokens,
            tables,
            degraded,
        }
    }

    /// Sets the counts of edits, which a stage may have made under an estimator of its own, to those of
    /// the strategy's.
    pub(super) fn count_edits(&self, edits: &mut [Edit]) {
        let meter = &self.meters[0];
        for edit in edits {
            edit.before = meter.part_shown(&self.view, edit.at);
            edit.after = meter.part_with(&self.history, edit.at, &edit.text);
        }
    }

    /// Tokens of the view that a layout would make, with entries behind the history and edits over it.
    fn tokens_under(
        &self,
        meter: &Meter,
        layout: &Layout,
        entries: &[Message],
        edits: &[Edit],
    ) -> u64 {
        let end = self.history.len() + entries.len();
        // How often each message would stand in the view.
        let mut places = vec![0_u64; end];
        let mut total = 0;
        let mut keep = |range: Range<Pos>| {
            for (pos, place) in places.iter_mut().enumerate().take(range.end).skip(range.start) {
                if self.history.is_withdrawn(pos) {
                    continue;
                }
                *place += 1;
                total += match pos.checked_sub(self.history.len()) {
                    Some(entry) => meter.measure(&entries[entry]),
                    None => meter.shown(Place::Item(pos)),
                };
            }
        };
        let mut inserted = 0;
        for slot in &layout.slots {
            match slot {
                Slot::Keep(range) => keep(range.clone()),
                Slot::Insert(insert) => inserted += meter.measure(&insert.to_message()),
            }
        }
        keep(layout.tail_from..end);
        let changed = |tokens: fn(&Edit) -> u64| -> u64 {
            edits.iter().map(|edit| places[edit.at.item] * tokens(edit)).sum()
        };
        inserted + total + changed(|edit| edit.after) - changed(|edit| edit.before)
    }
}
