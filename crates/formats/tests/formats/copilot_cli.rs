//! Copilot CLI events: what is read from them.
use crate::common::{check, detected, fixture, recorded, session, usage, warnings};
use foldback_core::SegmentKind;
use foldback_core::log::{ResultStatus, Role};
use foldback_formats::Session;
use foldback_testkit::needs_sessions;

const ID: &str = "copilot-cli";

fn sessions(text: &str) -> Vec<Session> {
    foldback_formats::read(text.as_bytes(), Some(ID)).unwrap()
}

#[test]
fn usage_frame_statuses_and_boundaries() {
    let text = fixture(ID, "events.jsonl");
    let main = &sessions(&text)[0];
    // Output alone is no usage: only the first answer has an input on record.
    let failed = "\"session.compaction_complete\", \"data\": {\"success\": false}";
    let output = "\"assistant.usage\", \"data\": {\"outputTokens\": 5}";
    assert!(text.contains(failed));
    let replaced = &sessions(&text.replacen(failed, output, 1))[0];
    assert_eq!(usage(replaced), usage(main));
    assert_eq!(usage(main), [100, 800, 0, 30, 0]);
    assert_eq!(main.model.as_deref(), Some("gpt-5.4"));
    assert_eq!(main.frame.segments[0].kind, SegmentKind::System);
    let status: Vec<_> = main
        .messages
        .iter()
        .filter_map(|message| message.parts[0].as_result())
        .map(|result| (result.tool.as_str(), result.status))
        .collect();
    assert_eq!(status, [("task", ResultStatus::Error), ("view", ResultStatus::Completed)]);
    let [boundary] = main.boundaries.as_slice() else {
        panic!("a failed compaction changed nothing");
    };
    assert_eq!(boundary.before, 7);
    assert_eq!((boundary.tokens_before, boundary.tokens_after), (Some(950), Some(100)));
}

#[needs_sessions]
#[test]
fn recorded_sessions_import_whole() {
    for path in recorded(ID) {
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(detected(&text), Some(ID));
        let session = session(&text, ID);
        check(&session);
        let counted = session.recorded.unwrap();
        assert_eq!((counted.messages, counted.tool_calls), (16, 33));
        let results = session.messages.iter().filter(|m| m.role == Role::Tool);
        assert_eq!((session.calls(), results.count()), (13, 33));
        // Two of the three user messages are skills that the client put in.
        assert_eq!(session.turns(), 1);
        assert_eq!(warnings(&session), [] as [&str; 0]);
    }
}
