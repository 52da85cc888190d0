//! The messages of `rig`: both ways, with calls, results, reasoning and images.

use crate::views::{CLEARED, Fold, all, kinds};
use foldback_core::log::{Message, Part, PartKind, Role};
use foldback_core::view::Shown;
use foldback_wire::rig as adapter;
use rig_core::completion::Message as Rig;
use serde_json::{Value, json};
use std::sync::Arc;

/// A conversation with everything that rig has a place for.
fn list() -> Vec<Rig> {
    let image = json!({"type": "image", "data": {"type": "base64", "value": "iVBORw0KGgo="}, "media_type": "png", "detail": "low"});
    let call = |id: &str, path: &str| {
        json!({
            "type": "toolcall", "id": id, "provider": {"call_id": id, "item_id": "fc_1"},
            "function": {"name": "read", "arguments": {"path": path}}, "signature": "c2ln",
        })
    };
    let result = |id: &str, content: Value| json!({"type": "toolresult", "call": id, "provider": {"call_id": id}, "name": "read", "content": content});
    serde_json::from_value(json!([
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Why?"}, image]},
        {"role": "assistant", "id": "msg_1", "content": [
            {"type": "reasoning", "id": "rs_1", "content": [{"type": "text", "content": {"text": "Hm.", "signature": "c2ln"}}]},
            {"type": "text", "text": "Looking."},
            call("c1", "a"), call("c2", "b"),
        ]},
        {"role": "user", "content": [
            result("c1", json!([{"type": "text", "text": "one"}, image])),
            result("c2", json!([{"type": "json", "value": {"two": 2}}])),
        ]},
        {"role": "assistant", "id": null, "content": [{"type": "text", "text": "So."}]},
        {"role": "user", "content": [{"type": "text", "text": "And?"}, {"type": "document", "data": {"type": "string", "value": "a text"}}]},
    ]))
    .unwrap()
}

#[test]
fn what_is_not_folded_comes_back_equal() {
    let list = list();
    let history = adapter::history(&list).unwrap();
    let (same, losses) = adapter::shown(&history, &all(history.messages())).unwrap();
    assert_eq!(same, list);
    assert_eq!(losses, [] as [&str; 0]);
    let roles: Vec<Role> = history.messages().iter().map(|message| message.role).collect();
    assert_eq!(
        roles,
        [Role::User, Role::Assistant, Role::Tool, Role::Tool, Role::Assistant, Role::User]
    );
    assert_eq!(history.frame().segments().len(), 1);
    let answer = &history.messages()[1];
    assert_eq!(answer.call_ids().collect::<Vec<_>>(), ["c1", "c2"]);
    let Part { kind: PartKind::Reasoning { text, opaque }, .. } = &answer.parts[0] else {
        panic!("{:?}", answer.parts[0])
    };
    assert_eq!((text.as_str(), opaque.as_deref()), ("Hm.", Some("c2ln")));
    let result = history.messages()[2].parts[0].as_result().unwrap();
    assert_eq!((result.text.as_str(), result.media.len()), ("one", 1));
    assert_eq!(history.messages()[3].shown_text(), r#"{"two":2}"#);
}

#[test]
fn an_edited_result_keeps_the_ids_of_its_provider() {
    let list = list();
    let history = adapter::history(&list).unwrap();
    // Nothing in front is hidden; every second result is cleared.
    let fold = Fold::new(history.messages(), 0, 2);
    let (shown, losses) = adapter::shown(&history, &fold.sent(history.messages())).unwrap();
    assert_eq!(losses, [] as [&str; 0]);
    let (before, after) = (json!(list), json!(shown));
    assert_eq!(after[3]["content"][1]["content"], json!([{"type": "text", "text": CLEARED}]));
    let mut back = after.clone();
    back[3]["content"][1]["content"] = before[3]["content"][1]["content"].clone();
    assert_eq!(back, before, "something else changed");
}

#[test]
fn a_fold_hides_what_stands_in_front_and_keeps_the_system_prompt() {
    let list = list();
    let history = adapter::history(&list).unwrap();
    let fold = Fold::new(history.messages(), 5, 9);
    let (shown, losses) = adapter::shown(&history, &fold.sent(history.messages())).unwrap();
    assert_eq!(losses, [] as [&str; 0]);
    assert_eq!(shown, [list[0].clone(), Rig::user("What happened before."), list[5].clone()]);
}

#[test]
fn what_is_made_anew_is_read_as_what_it_was() {
    let list = list();
    let history = adapter::history(&list[1..5]).unwrap();
    let empty = adapter::history(&[]).unwrap();
    let (made, losses) = adapter::shown(&empty, &all(history.messages())).unwrap();
    assert_eq!(losses, [] as [&str; 0]);
    let again = adapter::history(&made).unwrap();
    assert_eq!(kinds(again.messages()), kinds(history.messages()));
}

#[test]
fn what_rig_has_no_place_for_is_named() {
    let empty = adapter::history(&[]).unwrap();
    let file = PartKind::File(foldback_core::log::Media {
        mime: "application/zip".to_owned(),
        url: "UEsDBA==".to_owned(),
        name: None,
    });
    let message = Arc::new(Message::new("m", Role::User, vec![Part::text("a"), Part::new(file)]));
    let (_, losses) = adapter::shown(&empty, &[Shown::plain(&message)]).unwrap();
    assert_eq!(losses, ["a file of type application/zip"]);
}
