//! Folds that are made at given places of a log, whatever a policy says: those of the recorder itself, and what a strategy makes of the
//! same places if a person asks for it there.

use foldback_core::conversation::{Conversation, Report, StageRole};
use foldback_core::layout::{Insert, Layout, Slot, push_kept};
use foldback_core::log::{EntryKind, Role};
use foldback_core::moment::{Moment, Trigger};
use foldback_core::outcome::Outcome;
use foldback_core::plan::Edit;
use foldback_core::view::{EditKind, PartEdit, PartPos};

/// The stage that reports name for what a recorder did.
const RECORDER: &str = "recorder";

/// A fold behind so many messages of the log: what the recorder's view became, or `None` for what the strategy makes of it.
pub(crate) type ForcedFold = (usize, Option<RecordedView>);

/// What a recorder's compaction left in its view. Places are ordinals of the log.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecordedView {
    /// Messages before the tail that stay, ascending.
    pub(crate) kept: Vec<usize>,
    /// What stands in place of the others: id and text.
    pub(crate) summary: Option<(String, String)>,
    /// The first message that stays with all that come after it; `None` where no message goes.
    pub(crate) tail: Option<usize>,
    /// Parts that were cleared.
    pub(crate) cleared: Vec<(PartPos, PartEdit)>,
}

impl RecordedView {
    /// Lays it over a conversation that holds nothing but the log.
    pub(crate) fn apply(&self, conversation: &mut Conversation) -> Option<Report> {
        let (manual, fold) = (Moment::Manual, StageRole::Fold);
        let mut report = conversation.idle(manual, RECORDER, fold, Outcome::Changed);
        let mut plan = conversation.draft(RECORDER, manual, Trigger::Manual);
        let cleared = self.cleared.iter().map(|(at, edit)| Edit {
            at: *at,
            kind: EditKind::Clear,
            text: edit.text.clone(),
            reason: "the recorder cleared it".into(),
            before: 0,
            after: 0,
        });
        plan.edits = cleared.collect();
        plan.layout = self.tail.map(|tail_from| {
            let mut slots = Vec::new();
            self.kept.iter().for_each(|pos| push_kept(&mut slots, *pos));
            slots.extend(self.summary.iter().map(|(id, text)| {
                Slot::Insert(Insert::new(id, Role::User, text.clone(), EntryKind::Summary))
            }));
            Layout { slots, tail_from }
        });
        report.fold = Some(conversation.commit(plan).ok()?);
        report.tokens_after = conversation.tokens();
        Some(report)
    }
}
