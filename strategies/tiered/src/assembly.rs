//! In which order does a prompt stand?
//!
//! System, identity, recent actions, the overseer's insight, the conversation, the task, the current
//! message. Tool definitions and what a recorder did not write down have no place of their own in the
//! document; they go with the system prompt.

use foldback_core::frame::{Frame, Segment, SegmentKind};

/// Who the agent is.
pub const IDENTITY: SegmentKind = SegmentKind::named("identity");
/// What the agent did recently.
pub const ACTIONS: SegmentKind = SegmentKind::named("actions");
/// Hints from an overseeing model.
pub const INSIGHT: SegmentKind = SegmentKind::named("insight");
/// The task.
pub const TASK: SegmentKind = SegmentKind::named("task");
/// The message being answered, where the harness sends it apart from the history.
pub const CURRENT: SegmentKind = SegmentKind::named("current");

/// Segments before the conversation, in order.
pub const BEFORE: [SegmentKind; 6] =
    [SegmentKind::System, SegmentKind::Tools, SegmentKind::Unrecorded, IDENTITY, ACTIONS, INSIGHT];

/// Segments after the conversation, in order.
pub const BEHIND: [SegmentKind; 2] = [TASK, CURRENT];

/// The segments of a frame before and after the conversation, each in assembly order. Segments of
/// one kind keep theirs.
pub fn around(frame: &Frame) -> (Vec<&Segment>, Vec<&Segment>) {
    let pick = |kinds: &[SegmentKind]| {
        kinds.iter().flat_map(|kind| frame.segments().iter().filter(|s| s.kind == *kind)).collect()
    };
    (pick(&BEFORE), pick(&BEHIND))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_one_place_and_the_order_is_the_documents() {
        let mut frame = Frame::default();
        for kind in [
            CURRENT,
            TASK,
            INSIGHT,
            SegmentKind::Unrecorded,
            ACTIONS,
            SegmentKind::Tools,
            IDENTITY,
            SegmentKind::System,
        ] {
            frame.push_text(kind, "x");
        }
        let (before, behind) = around(&frame);
        let kinds = |list: Vec<&Segment>| list.iter().map(|s| s.kind.clone()).collect::<Vec<_>>();
        assert_eq!(kinds(before), BEFORE);
        assert_eq!(kinds(behind), BEHIND);
    }
}
