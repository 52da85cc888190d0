//! Gemini CLI recordings: what is read from them.
use crate::common::{check, detected, fixture, outline, recorded, session, warnings};
use foldback_core::log::{Finish, ResultStatus};
use foldback_formats::Session;
use foldback_testkit::needs_sessions;

const ID: &str = "gemini-cli";

fn read(name: &str) -> Session {
    session(&fixture(ID, name), ID)
}

#[test]
fn calls_after_a_notice_belong_to_the_answer_before_it() {
    let session = read("document.json");
    assert_eq!(session.calls(), 3);
    let answer = &session.messages[4];
    assert_eq!(answer.parts[1].source_record, Some(4));
    assert_eq!(answer.answer.as_ref().unwrap().finish, Some(Finish::ToolCalls));
    let results: Vec<_> = session
        .messages
        .iter()
        .filter_map(|message| message.parts[0].as_result())
        .map(|result| (result.call_id.as_str(), result.status))
        .collect();
    assert_eq!(
        results,
        [
            ("r_0", ResultStatus::Completed),
            ("r_0_2", ResultStatus::Error),
            ("s_1", ResultStatus::Error),
        ]
    );
    let counted = session.recorded.unwrap();
    assert_eq!((counted.messages, counted.tool_calls), (7, 4));
}

#[test]
fn a_compression_is_undone() {
    let session = read("lines.jsonl");
    let [boundary] = session.boundaries.as_slice() else {
        panic!("{:?}", session.boundaries);
    };
    assert_eq!((boundary.before, boundary.original_kept), (5, true));
    assert_eq!(session.recorded_summaries(), 1);
    assert_eq!(session.log().count(), 8);
}

/// A history that is only given back, with a note added, replaces nothing.
#[test]
fn a_history_that_drops_nothing_is_no_compression() {
    let message = |id: &str| format!("{{\"id\":\"{id}\",\"type\":\"user\",\"content\":\"{id}\"}}");
    let history = format!("[{},{}]", message("a"), message("note"));
    let text = format!(
        "{{\"sessionId\":\"s\",\"projectHash\":\"h\"}}\n{}\n{{\"$set\":{{\"messages\":{history}}}}}\n",
        message("a")
    );
    let session = session(&text, ID);
    assert!(session.boundaries.is_empty());
    assert_eq!(session.messages.len(), 2);
}

#[test]
fn the_last_state_of_a_message_counts_in_its_first_place() {
    let text = fixture(ID, "lines.jsonl");
    let kept: Vec<&str> = text
        .lines()
        .filter(|line| !line.contains("rewindTo") && !line.contains("Wrong turn"))
        .filter(|line| line.ends_with('}'))
        .collect();
    let text = format!("{}\n", kept.join("\n"));
    let once = session(&text, ID);
    let twice = session(&format!("{text}{text}"), ID);
    let said = |session: &Session| outline(session, 99);
    assert_eq!(said(&once), said(&twice));
    assert_eq!(once.boundaries, twice.boundaries);
    let ids = |session: &Session| -> Vec<String> {
        session.messages.iter().map(|m| m.id.clone()).collect()
    };
    assert_eq!(ids(&once), ids(&twice));
}

#[needs_sessions]
#[test]
fn recorded_sessions_import_whole() {
    for path in recorded(ID) {
        let text = std::fs::read_to_string(&path).unwrap();
        if !path.ends_with("sessionbridge-44msg.json") {
            assert_eq!(detected(&text), Some("gemini"));
            continue;
        }
        assert_eq!(detected(&text), Some(ID));
        let session = session(&text, ID);
        check(&session);
        let counted = session.recorded.unwrap();
        assert_eq!((counted.messages, counted.tool_calls), (44, 40));
        // One of the 38 messages of the model only adds the calls to the one before it.
        let found = [session.calls(), session.turns(), session.tool_calls()];
        assert_eq!(found, [37, 4, 40]);
        assert_eq!(warnings(&session), [] as [&str; 0]);
        for answer in session.messages.iter().filter_map(|m| m.answer.as_ref()) {
            let usage = answer.usage.unwrap();
            let sum = usage.input_total() + usage.output + usage.reasoning;
            assert_eq!(usage.total, Some(sum));
        }
    }
}
