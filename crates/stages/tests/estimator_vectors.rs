//! The vector table of the reproduced estimators: every column is one configuration of `chars`. The rows
//! stand in `estimators.toml`.

use foldback_core::registry::StageConfig;
use foldback_core::stage::Estimator;
use foldback_core::{Message, Part};
use foldback_stages::estimator::{CharsConfig, cl100k, o200k};
use foldback_test_support::table;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::sync::Arc;

const PLACEHOLDER: &str = "[Old tool result content cleared]";

fn rows<T: DeserializeOwned>(group: &str) -> Vec<T> {
    table::rows(include_str!("estimators.toml"), group)
}

/// System and `[estimator]` section of every column.
fn columns() -> Vec<(String, Value)> {
    rows("columns")
}

fn build(section: &Value) -> Arc<dyn Estimator> {
    let config: CharsConfig = serde_json::from_value(section.clone()).expect("a valid section");
    StageConfig::<dyn Estimator>::build(config).expect("a valid configuration")
}

#[test]
fn every_column_is_one_configuration() {
    let rows: Vec<(String, [u64; 6])> = rows("texts");
    for (column, (system, section)) in columns().into_iter().enumerate() {
        let estimator = build(&section);
        for (text, expected) in &rows {
            let shown: String = text.chars().take(20).collect();
            assert_eq!(
                estimator.text(text),
                expected[column],
                "{system}: {shown:?}, {}",
                estimator.id()
            );
        }
    }
}

#[test]
fn mxf_adjustments() {
    let estimator = build(&columns()[4].1);
    // text, tokens: ceil(length / 4) - floor(white space / 2) + floor(brackets / 5), at least 1
    let cases = [
        ("    ", 1),
        ("{}();", 3),
        ("{}()", 1),
        ("=><[]{}();", 5),
        ("\u{FEFF}\u{FEFF}xxxxxxxx", 2),
        ("\u{85}\u{85}xxxxxxxx", 3),
    ];
    for (text, expected) in cases {
        assert_eq!(estimator.text(text), expected, "{text:?}");
    }
}

#[test]
fn two_texts_with_one_opening_have_counts_of_their_own() {
    // MXF's cache would give the second text the count of the first.
    let estimator = build(&columns()[4].1);
    let opening = "x".repeat(100);
    let longer = format!("{opening}{opening}");
    assert_eq!(estimator.text(&opening), 25);
    assert_eq!(estimator.text(&longer), 50);
    let blank = " ".repeat(101);
    assert_eq!(estimator.text(&blank), 1);
    assert_eq!(estimator.text(&blank), 1, "the minimum holds the second time too");
}

/// A message with one of everything.
fn message() -> Message {
    let mut structured = Part::result("c1", "read", r#"{"a":1}"#);
    if let foldback_core::PartKind::Result(result) = &mut structured.kind {
        result.structured = Some(json!({"a": 1}));
    }
    Message::assistant(
        "m1",
        vec![
            Part::text("abcdefgh"),
            Part::new(foldback_core::PartKind::Reasoning {
                text: "twelve chars".to_owned(),
                opaque: None,
            }),
            Part::call("c1", "read", r#"{"path":"a"}"#),
            structured,
        ],
    )
}

#[test]
fn what_counts_is_configured() {
    let cases: Vec<(String, Value, [u64; 4], u64)> = rows("parts");
    for (name, extra, parts, overhead) in cases {
        let mut section = json!({"unit": "bytes", "rounding": "floor"});
        for (key, value) in extra.as_object().expect("a table") {
            section[key] = value.clone();
        }
        let counts = build(&section).count(&message());
        assert_eq!((&counts.parts[..], counts.overhead), (&parts[..], overhead), "{name}");
    }
}

#[test]
fn a_placeholder_over_structured_content_is_a_string_again() {
    let estimator = build(&json!({"unit": "bytes", "rounding": "floor", "structured": false}));
    let part = &message().parts[3];
    assert_eq!(estimator.part(part, r#"{"a":1}"#), 0);
    assert_eq!(estimator.part(part, PLACEHOLDER), 8);
}

#[test]
fn metadata_counts_by_its_own_divisor() {
    let estimator = build(&json!({"metadata_per_token": 6}));
    let mut message = Message::user("u1", "hi");
    assert_eq!(estimator.overhead(&message), 0, "no metadata");
    message = message.annotated("importance", "high");
    // {"importance":"high"} has 21 characters
    assert_eq!(estimator.overhead(&message), 4);
}

#[test]
fn ids_name_whatever_counts_depend_on() {
    let cases: Vec<(Value, String)> = rows("ids");
    for (section, id) in cases {
        assert_eq!(**build(&section).id(), *id);
    }
}

#[test]
fn values_that_cannot_work_are_refused() {
    let default = CharsConfig::default;
    let cases = [
        (CharsConfig { per_token: 0, ..default() }, "per_token"),
        (CharsConfig { whitespace_discount: -0.5, ..default() }, "whitespace_discount"),
        (CharsConfig { bracket_surcharge: f64::NAN, ..default() }, "bracket_surcharge"),
    ];
    for (config, path) in cases {
        let refused = config.estimator().err().map(|invalid| invalid.path);
        assert_eq!(refused.as_deref(), Some(path));
    }
}

#[test]
fn real_vocabularies() {
    // text, o200k, cl100k; the counts of tiktoken
    let cases = [
        ("", 0, 0),
        ("hello world", 2, 2),
        ("tiktoken is great!", 6, 6),
        ("お誕生日おめでとう", 8, 9),
        ("antidisestablishmentarianism", 6, 6),
        ("2 + 2 = 4", 7, 7),
    ];
    for (text, wide, narrow) in cases {
        assert_eq!(o200k().text(text), wide, "o200k: {text:?}");
        assert_eq!(cl100k().text(text), narrow, "cl100k: {text:?}");
    }
    let counts = o200k().count(&Message::assistant("a", vec![Part::call("c", "read", "{}")]));
    assert_eq!((&counts.parts[..], counts.overhead), (&[2][..], 3), "name, arguments, message");
}
