//! Messages API bodies: what is read from them, and what is written back.
use crate::common::{check, clear, edits, fixture, hide, recorded, rewritten, session, write};
use foldback_core::log::{PartKind, ResultStatus, Role};
use foldback_core::view::EditKind;
use foldback_formats::{Session, View};
use foldback_testkit::needs_sessions;
use serde_json::{Value, json};

const ID: &str = "anthropic";

fn load(name: &str) -> Session {
    session(&fixture(ID, name), ID)
}

#[test]
fn results_become_messages_of_their_own() {
    let session = load("parallel.json");
    let shape: Vec<_> = session
        .messages
        .iter()
        .map(|message| (message.record.unwrap(), message.role, message.mid_turn))
        .collect();
    use Role::{Assistant, Tool, User};
    assert_eq!(
        shape,
        [
            (0, User, false),
            (1, Assistant, false),
            (2, Tool, false),
            (2, Tool, false),
            (2, Tool, false),
            // Text beside results was sent while the loop was running.
            (2, User, true),
            (3, Assistant, false),
            (4, Tool, false),
            (5, Tool, false),
            (8, User, false),
        ]
    );
    let results: Vec<_> = session
        .messages
        .iter()
        .filter_map(|message| message.parts.first()?.as_result())
        .map(|result| (&*result.tool, result.status, &*result.text, result.media.len()))
        .collect();
    use ResultStatus::{Completed, Error};
    assert_eq!(
        results,
        [
            ("read", Completed, "A1\nA2", 0),
            ("shot", Completed, "long text", 1),
            ("read", Error, "no such file", 0),
            ("read", Completed, "", 0),
            ("", Completed, "?", 0),
        ]
    );
}

#[test]
fn reasoning_keeps_what_must_go_back_unaltered() {
    let session = load("plain.json");
    let reasoning: Vec<_> = session
        .messages
        .iter()
        .flat_map(|message| &message.parts)
        .filter_map(|part| match &part.kind {
            PartKind::Reasoning { text, opaque } => Some((&**text, opaque.as_deref())),
            _ => None,
        })
        .collect();
    assert_eq!(reasoning, [("Look first.", Some("sig")), ("", Some("opaque"))]);
}

/// Roo Code stores what it sends, with tools as text: whoever asks for it gets the plain messages.
#[needs_sessions]
#[test]
fn a_recorded_task_of_roo_code_is_given_back() {
    for path in recorded("roo-code") {
        let text = std::fs::read_to_string(&path).unwrap();
        let session = session(&text, ID);
        check(&session);
        assert!(rewritten(&session, ID).text == text, "{}", path.display());
    }
}

#[test]
fn edits_replace_the_content_and_nothing_else() {
    let is_tool = |message: &foldback_core::Message| message.role == Role::Tool;
    let session = load("plain.json");
    let edit = clear(&session, 1, is_tool);
    let text = write(&View::recorded(&session, &edit), ID).text;
    let cleared = "[Old tool result content cleared]";
    assert_eq!(text, fixture(ID, "plain.json").replace("fn a() {}", cleared));

    let session = load("parallel.json");
    let contents = |kind| -> Vec<Value> {
        let edit = edits(&session, kind, "cut", 1, is_tool);
        let list: Value =
            serde_json::from_str(&write(&View::recorded(&session, &edit), ID).text).unwrap();
        list.as_array()
            .unwrap()
            .iter()
            .filter_map(|message| message["content"].as_array())
            .flatten()
            .filter(|block| block["type"] == "tool_result")
            .map(|block| block["content"].clone())
            .collect()
    };
    let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}});
    let kept = json!([{"type": "text", "text": "cut"}, image]);
    // Clearing takes the image along, cutting the text does not.
    assert_eq!(contents(EditKind::Clear), ["cut"; 5]);
    assert_eq!(
        contents(EditKind::Truncate),
        [json!("cut"), kept, json!("cut"), json!("cut"), json!("cut")]
    );
}

#[test]
fn half_hidden_messages_lose_the_hidden_blocks_alone() {
    let session = load("parallel.json");
    let mut view = View::recorded(&session, &[]);
    hide(&mut view, |index, _| [2, 4, 8].contains(&index));
    let list: Value = serde_json::from_str(&write(&view, ID).text).unwrap();
    let ids: Vec<_> = list[2]["content"]
        .as_array()
        .unwrap()
        .iter()
        .map(|block| block["tool_use_id"].as_str().unwrap_or("text"))
        .collect();
    assert_eq!(ids, ["b", "text"]);
    // The damaged records that followed the hidden message went with it.
    assert_eq!(list.as_array().unwrap().len(), 6);
}

#[test]
fn sessions_of_other_formats_are_converted() {
    for (format, name) in
        [("openai-chat", "plain.json"), ("opencode", "plain.json"), ("pydantic-ai", "plain.json")]
    {
        let original = session(&fixture(format, name), format);
        let outcome = rewritten(&original, ID);
        let again = session(&outcome.text, ID);
        check(&again);
        let shape = |session: &Session| -> Vec<(Role, String)> {
            let said = |m: &foldback_core::Message| {
                let parts = m
                    .parts
                    .iter()
                    .filter(|p| !matches!(p.kind, PartKind::Reasoning { opaque: None, .. }));
                parts
                    .map(|part| part.shown().into_owned())
                    .filter(|text| !text.is_empty())
                    .collect::<Vec<_>>()
                    .join("\n")
            };
            session.messages.iter().map(|m| (m.role, said(m))).collect()
        };
        assert_eq!(shape(&again), shape(&original), "{format}");
        let unsigned = outcome.losses.iter().filter(|loss| loss.contains("signature")).count();
        assert_eq!(unsigned, usize::from(format == "openai-chat"), "{format}");
    }
}
