//! In which order does a prompt stand?
//!
//! System, identity, recent actions, the overseer's insight, the conversation, the task, the current
//! message. Tool definitions and what a recorder did not write down have no place of their own in the
//! document; they go with the system prompt.

use foldback_core::frame::{Frame, Segment, SegmentKind};

/// Segments before the conversation, in order.
pub const BEFORE: [SegmentKind; 6] = [
    SegmentKind::System,
    SegmentKind::Tools,
    SegmentKind::Unrecorded,
    SegmentKind::Identity,
    SegmentKind::Actions,
    SegmentKind::Insight,
];

/// Segments behind the conversation, in order.
pub const BEHIND: [SegmentKind; 2] = [SegmentKind::Task, SegmentKind::Current];

/// The segments of a frame before and behind the conversation, each in assembly order. Segments of
/// one kind keep theirs.
pub fn around(frame: &Frame) -> (Vec<&Segment>, Vec<&Segment>) {
    let pick = |kinds: &[SegmentKind]| {
        kinds.iter().flat_map(|kind| frame.segments.iter().filter(|s| s.kind == *kind)).collect()
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
            SegmentKind::Current,
            SegmentKind::Task,
            SegmentKind::Insight,
            SegmentKind::Unrecorded,
            SegmentKind::Actions,
            SegmentKind::Tools,
            SegmentKind::Identity,
            SegmentKind::System,
        ] {
            frame.push_text(kind, "x");
        }
        let (before, behind) = around(&frame);
        let kinds = |list: Vec<&Segment>| list.iter().map(|s| s.kind).collect::<Vec<_>>();
        assert_eq!(kinds(before), BEFORE);
        assert_eq!(kinds(behind), BEHIND);
    }
}
