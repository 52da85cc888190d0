//! Logged requests of OpenHands with their responses: what is read from them.
use crate::common::{check, detected, fixture, recorded, session, usage, warnings};
use foldback_core::SegmentKind;
use foldback_core::log::{Finish, Role};
use foldback_testkit::needs_sessions;

const ID: &str = "openhands-llm";

#[test]
fn the_answer_is_a_record_of_its_own() {
    let session = session(&fixture(ID, "tools.json"), ID);
    assert_eq!(session.id, "chatcmpl-1");
    let last = session.messages.last().unwrap();
    assert_eq!(last.record, Some(5));
    assert_eq!(last.at, Some(1_733_345_658_250));
    let calls: Vec<_> = session.messages.iter().flat_map(|m| m.call_ids()).collect();
    assert_eq!(calls, ["t1", "t2", "t1_2"]);
    let answer = last.answer.as_ref().unwrap();
    assert_eq!(answer.finish, Some(Finish::ToolCalls));
    assert_eq!(answer.model.as_deref(), Some("model-a"));
    assert!(session.frame.text_of(SegmentKind::Tools).unwrap().contains("execute_bash"));
    let counted = session.recorded.unwrap();
    assert_eq!((counted.messages, counted.tool_calls), (5, 3));
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
        // 49 calls of the request and the one of the response.
        assert_eq!((counted.messages, counted.tool_calls), (100, 50));
        let results = session.messages.iter().filter(|m| m.role == Role::Tool);
        assert_eq!((session.calls(), results.count()), (50, 49));
        assert_eq!(usage(&session), [75_494, 0, 0, 478, 0]);
        assert_eq!(warnings(&session), ["call-without-result"]);
    }
}
