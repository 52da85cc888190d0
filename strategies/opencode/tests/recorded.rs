//! Real sessions: exports hold what the real program cleared (`state.time.compacted`), so that the
//! walk can be compared with it part by part.
//!
//! The sessions are not part of the repository. Of the two with clearings there are outlines, which
//! have filler for text and everything that the walk decides by.

use crate::support::{at, cleared, conversation, sent_ids, strategy};
use foldback_core::Limits;
use foldback_core::conversation::Conversation;
use foldback_core::log::{EntryKind, Finish};
use foldback_core::moment::Moment;
use foldback_formats::{Session, read};
use foldback_test_support::{outline, sessions};
use std::sync::Arc;

fn imported(export: &[u8]) -> Session {
    read(export, Some("opencode")).unwrap().remove(0)
}

fn recorded(name: &str) -> Session {
    imported(&std::fs::read(sessions().join("opencode").join(name)).unwrap())
}

/// Appends the log and lets the loop end where it ended: before each message that begins a turn, and
/// at the end unless the recording stopped in the middle of one.
fn drive(session: &Session, conversation: &mut Conversation) {
    let mut answered = false;
    let mut ended = false;
    for message in session.log() {
        if message.begins_turn() && answered {
            at(conversation, Moment::TurnEnd, None);
            answered = false;
        }
        if let Some(answer) = message.answer.as_ref().filter(|_| message.is_answer()) {
            answered = true;
            ended = answer.finish == Some(Finish::Stop);
        }
        conversation.append(Arc::clone(message));
    }
    if answered && ended {
        at(conversation, Moment::TurnEnd, None);
    }
}

/// The parts that the strategy clears are those that the export says were cleared, so many of them.
fn clears_what_was_cleared(name: &str, session: &Session, parts: usize) {
    let mut recorded: Vec<String> = session
        .cleared
        .iter()
        .map(|cleared| {
            let part = &session.messages[cleared.at.item].parts[cleared.at.part];
            part.as_result().unwrap().call_id.clone()
        })
        .collect();
    let mut conversation = conversation(strategy("opencode", ""), Limits::new(400_000, 128_000));
    drive(session, &mut conversation);
    let mut found = cleared(&conversation);
    assert_eq!(recorded.len(), parts, "{name}");
    recorded.sort_unstable();
    found.sort_unstable();
    assert_eq!(found, recorded, "{name}");
}

#[foldback_needs::sessions]
#[test]
fn clears_what_the_real_program_cleared() {
    for (name, parts) in [
        ("nimbus-171msg-pruned.json", 116),
        ("nimbus-82msg-pruned.json", 52),
        ("sessionbridge-sonnet46-compaction.json", 0),
    ] {
        clears_what_was_cleared(name, &recorded(name), parts);
    }
}

#[test]
fn clears_what_the_real_program_cleared_in_the_outlines_of_its_sessions() {
    for (name, parts) in [("opencode-171msg", 116), ("opencode-82msg", 52)] {
        clears_what_was_cleared(name, &imported(&outline::export(name)), parts);
    }
}

#[foldback_needs::sessions]
#[test]
fn a_recorded_checkpoint_is_in_force() {
    let session = recorded("sessionbridge-sonnet46-compaction.json");
    for preset in ["opencode", "opencode-1.17", "opencode-1.18", "brutus"] {
        let mut conversation = conversation(strategy(preset, ""), Limits::new(400_000, 128_000));
        for message in &session.messages {
            conversation.append(Arc::clone(message));
        }
        conversation.restore();
        let marker = session
            .messages
            .iter()
            .position(|message| message.is_entry_of(EntryKind::Marker))
            .unwrap();
        let expect: Vec<String> =
            session.messages[marker..].iter().map(|message| message.id.clone()).collect();
        assert_eq!(sent_ids(&conversation), expect, "{preset}");
    }
}
