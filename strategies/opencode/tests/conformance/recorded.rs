//! Real sessions: exports hold what the real program cleared (`state.time.compacted`), so that the
//! walk can be compared with it part by part.
//!
//! The sessions are not part of the repository; without them these tests say so and pass.

use crate::support::{at, cleared, conversation, sent_ids, strategy};
use foldback_core::Limits;
use foldback_core::conversation::Conversation;
use foldback_core::log::{EntryKind, Finish};
use foldback_core::moment::Moment;
use foldback_formats::{Session, read};
use std::sync::Arc;

fn session(name: &str) -> Option<Session> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/sessions/opencode");
    let path = format!("{folder}/{name}");
    match std::fs::read(&path) {
        Ok(text) => Some(read(&text, Some("opencode")).unwrap().remove(0)),
        Err(error) => {
            println!("skipped: {path}: {error}");
            None
        }
    }
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

#[test]
fn clears_what_the_real_program_cleared() {
    for (name, parts) in [
        ("nimbus-171msg-pruned.json", 116),
        ("nimbus-82msg-pruned.json", 52),
        ("sessionbridge-sonnet46-compaction.json", 0),
    ] {
        let Some(session) = session(name) else {
            return;
        };
        let mut recorded: Vec<String> = session
            .cleared
            .iter()
            .map(|cleared| {
                let part = &session.messages[cleared.at.item].parts[cleared.at.part];
                part.as_result().unwrap().call_id.clone()
            })
            .collect();
        let mut conversation =
            conversation(strategy("opencode", ""), Limits::new(400_000, 128_000));
        drive(&session, &mut conversation);
        let mut found = cleared(&conversation);
        assert_eq!(recorded.len(), parts, "{name}");
        recorded.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, recorded, "{name}");
    }
}

#[test]
fn a_recorded_checkpoint_is_in_force() {
    let Some(session) = session("sessionbridge-sonnet46-compaction.json") else {
        return;
    };
    for preset in ["opencode", "opencode-1.17", "brutus"] {
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
