//! tau2-bench and tau-bench results: what is read from them.
use crate::common::{check, detected, fixture, outline, recorded, warnings};
use foldback_core::SegmentKind;
use foldback_formats::{Session, read};
use foldback_testkit::needs_sessions;

const ID: &str = "tau2";

fn load(name: &str) -> Vec<Session> {
    read(fixture(ID, name).as_bytes(), None).unwrap()
}

#[test]
fn every_simulation_is_a_session() {
    let sessions = load("results.json");
    let ids: Vec<_> = sessions.iter().map(|session| &*session.id).collect();
    assert_eq!(ids, ["sim-a", "sim-b"]);
    assert_eq!(
        outline(&sessions[0], 30),
        [
            "assistant text:Hi! How can I help you today?",
            "useru text:My phone is offline.",
            "assistant tool-call:{\"id\":1} tool-call:{}",
            "tool tool-result:active",
            "tool tool-result:no plan",
            "assistant text:Check the status bar.",
            "useru text:It says no signal.",
        ]
    );
    assert_eq!(warnings(&sessions[0]), ["damaged-line"]);
    assert_eq!(sessions[0].warnings[0].place, "/simulations/2");
    assert_eq!(warnings(&sessions[1]), ["unknown-role"]);
    for session in &sessions {
        check(session);
        assert_eq!(session.frame.text_of(SegmentKind::System), Some("# Policy"));
    }
    // What the user simulator does with its own tools counts and is not what the agent saw.
    let counted = sessions[0].recorded.unwrap();
    assert_eq!((counted.messages, counted.tool_calls), (8, 3));
}

#[test]
fn the_predecessor_is_read_too() {
    let text = fixture(ID, "traj.json");
    assert_eq!(detected(&text), Some(ID));
    let sessions = load("traj.json");
    check(&sessions[0]);
    assert_eq!(sessions[0].id, "task-3-trial-1");
    assert_eq!(
        outline(&sessions[0], 30),
        [
            "useru text:Exchange it.",
            "assistant tool-call:{\"id\": 7}",
            "tool tool-result:found",
            "assistant text:Done.",
        ]
    );
    assert_eq!(warnings(&sessions[0]), [""; 0]);
}

#[test]
fn bad_input_is_named() {
    let table = [
        (
            r#"{"simulations":1}"#,
            "/simulations: a result file has its list of simulations here, or is a list of episodes",
        ),
        (r#"{"simulations":[{"id":"a"}]}"#, "no messages in it"),
    ];
    for (text, expected) in table {
        let error = read(text.as_bytes(), Some(ID)).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

#[needs_sessions]
#[test]
fn recorded_sessions_import_whole() {
    for path in recorded("tau2-bench") {
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(detected(&text), Some(ID));
        let sessions = read(text.as_bytes(), None).unwrap();
        assert_eq!(sessions.len(), 50);
        let mut sum = [0; 3];
        for session in &sessions {
            check(session);
            assert_eq!(warnings(session), [""; 0], "{}", session.id);
            sum[0] += session.recorded_messages();
            sum[1] += session.recorded_tool_calls();
            sum[2] += session.calls();
        }
        // 517 messages of the agent, of which the 50 greetings are no calls.
        assert_eq!(sum, [1188, 371, 467]);
    }
}
