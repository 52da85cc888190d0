//! LangChain messages: what is read from them.
use crate::common::{check, detected, fixture, outline, recorded, session, usage, warnings};
use foldback_core::SegmentKind;
use foldback_core::log::{Finish, PartKind, ResultStatus};
use foldback_formats::read;
use foldback_testkit::needs_sessions;

const ID: &str = "langchain";

#[test]
fn constructor_objects() {
    let text = fixture(ID, "constructors.json");
    assert_eq!(detected(&text), Some(ID));
    let session = session(&text, ID);
    check(&session);
    assert_eq!(
        outline(&session, 20),
        [
            "useru text:What is in a.py?",
            "assistant reasoning:A file. text:Looking. tool-call:{\"path\":\"a.py\"} tool-call:{\"cmd\": ",
            "tool tool-result:x = 1",
            "tool tool-result:invalid arguments",
            "assistant text:One number.",
        ]
    );
    assert_eq!(warnings(&session), ["unknown-type", "damaged-line"]);
    assert_eq!(session.frame.text_of(SegmentKind::System), Some("Be brief."));
    assert_eq!(usage(&session), [300, 600, 100, 30, 20]);
    let answer = session.messages[1].answer.as_ref().unwrap();
    assert_eq!(answer.finish, Some(Finish::ToolCalls));
    assert_eq!(answer.provider.as_deref(), Some("anthropic"));
    assert_eq!(session.model.as_deref(), Some("m-1"));
    let PartKind::Reasoning { opaque, .. } = &session.messages[1].parts[0].kind else {
        panic!("no reasoning");
    };
    assert_eq!(opaque.as_deref(), Some("sig"));
    let result = |index: usize| session.messages[index].parts[0].as_result().unwrap();
    assert_eq!((&*result(2).tool, result(2).media.len()), ("read", 1));
    assert_eq!((&*result(3).tool, result(3).status), ("run", ResultStatus::Error));
}

#[test]
fn a_state_that_begins_with_a_summary() {
    let text = fixture(ID, "state.json");
    assert_eq!(detected(&text), Some(ID));
    let session = session(&text, ID);
    check(&session);
    assert_eq!(session.id, "thread-9");
    assert_eq!(
        outline(&session, 12),
        [
            "useru text:Here is a su",
            "useru text:Go on.",
            "assistant reasoning:Hm. tool-call:{}",
            "tool tool-result:a b",
        ]
    );
    let [boundary] = session.boundaries.as_slice() else {
        panic!("{:?}", session.boundaries);
    };
    assert_eq!((boundary.before, &*boundary.kind, boundary.original_kept), (1, "summary", false));
    assert_eq!(warnings(&session), [""; 0]);
}

#[test]
fn every_line_is_a_session() {
    let text = fixture(ID, "dicts.jsonl");
    assert_eq!(detected(&text), Some(ID));
    let sessions = read(text.as_bytes(), None).unwrap();
    let said: Vec<Vec<String>> = sessions
        .iter()
        .map(|session| session.messages.iter().map(|m| m.said()).collect())
        .collect();
    assert_eq!(said, [["Question 0", "Answer 0"], ["Question 1", "Answer 1"]]);
    assert_eq!(sessions[0].warnings[0].place, "line 2");
    sessions.iter().for_each(check);
}

#[test]
fn bad_input_is_named() {
    let table = [
        (r#"{"messages":1}"#, "/messages: a list of messages is needed here, or at the top"),
        ("[]", "no messages in it"),
    ];
    for (text, expected) in table {
        let error = read(text.as_bytes(), Some(ID)).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

#[needs_sessions]
#[test]
fn recorded_sessions_import_whole() {
    for path in recorded(ID) {
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(detected(&text), Some(ID));
        let session = session(&text, ID);
        check(&session);
        assert_eq!(session.recorded_messages(), 6);
        assert_eq!((session.recorded_tool_calls(), session.calls()), (2, 3));
        assert_eq!(warnings(&session), [""; 0]);
        assert_eq!(usage(&session)[2], 6717 + 13426 + 13535);
    }
}
