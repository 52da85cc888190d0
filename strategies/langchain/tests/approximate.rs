//! What a message counts.

use foldback_core::log::{Media, Message, Part, PartKind, Role};
use foldback_core::registry::StageConfig as _;
use foldback_langchain::ApproximateConfig;
use foldback_test_support::table;

type Row = (String, String, String, Vec<(String, String)>, u64);

#[test]
fn messages_count_as_langchain_counts_them() {
    let estimator = ApproximateConfig::default().build().unwrap();
    let rows: Vec<Row> = table::rows(include_str!("approximate.toml"), "counts");
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
    let image = Media { mime: "image/png".to_owned(), ..Media::default() };
    let thought = PartKind::Reasoning { text: "so it is".to_owned(), opaque: None };
    for (id, role, kind, tokens) in [
        ("LC-13 an image: 85, and the role", Role::User, PartKind::File(image), 89),
        ("LC-14 ours: no reasoning", Role::Assistant, thought, 6),
    ] {
        let message = Message::new("m", role, vec![Part::new(kind)]);
        assert_eq!(estimator.count(&message).total(), tokens, "{id}");
    }
}
