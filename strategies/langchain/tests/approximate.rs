//! What a message counts.

use foldback_core::log::{Media, Message, Part, PartKind, Role};
use foldback_core::registry::StageConfig as _;
use foldback_langchain::ApproximateConfig;
use foldback_test_support::table;

type Row = (String, String, String, Vec<(String, String)>, u64);

#[test]
fn messages_count_as_langchain_counts_them() {
    let estimator = ApproximateConfig::default().build().unwrap();
    let rows: Vec<Row> = table::rows(include_str!("../rows/approximate.toml"), "counts");
    for (id, role, text, calls, tokens) in rows {
        let message = match &*role {
            "user" => Message::user("m", text),
            "tool" => Message::tool("m", "call-1", calls[0].0.clone(), text),
            _ => {
                let called = (1..).zip(&calls).map(|(number, (name, arguments))| {
                    Part::call(format!("call-{number}"), name, arguments)
                });
                Message::assistant("m", std::iter::once(Part::text(text)).chain(called).collect())
            }
        };
        assert_eq!(estimator.count(&message).total(), tokens, "{id}");
    }
}

#[test]
fn what_is_no_text() {
    let estimator = ApproximateConfig::default().build().unwrap();
    let thought = PartKind::Reasoning { text: "so it is".to_owned(), opaque: None };
    for (id, role, parts, tokens) in [
        ("LC-13 an image: 85, and the role", Role::User, vec![PartKind::File(image())], 89),
        ("LC-14 ours: no reasoning", Role::Assistant, vec![thought], 6),
        ("LC-15 nothing at all: the role", Role::User, vec![], 4),
    ] {
        let message = Message::new("m", role, parts.into_iter().map(Part::new).collect());
        assert_eq!(estimator.count(&message).total(), tokens, "{id}");
    }
}

/// What an edit of a part changes, and what a text costs by itself.
#[test]
fn a_part_by_itself() {
    let estimator = ApproximateConfig::default().build().unwrap();
    let mut seen = Message::tool("m", "call-1", "read", "text").parts.remove(0);
    if let PartKind::Result(result) = &mut seen.kind {
        result.media.push(image());
    }
    for (id, part, tokens) in [
        ("ours: a text rounded down: 9", Part::text("x23456789"), 2),
        ("ours: a call likewise: 76", Part::call("call-1", "read", "{\"path\":\"a\"}"), 19),
        ("ours: an image", Part::new(PartKind::File(image())), 85),
        ("LC-16 a result with an image: 8, and 85", seen, 93),
    ] {
        assert_eq!(estimator.part(&part, &part.shown()), tokens, "{id}");
    }
    assert_eq!(estimator.text("hello"), 2, "rounded up");
}

fn image() -> Media {
    Media { mime: "image/png".to_owned(), ..Media::default() }
}
