//! The vector table of the reproduced estimators: every column is one configuration of `chars`.

use foldback_core::registry::StageConfig;
use foldback_core::stage::Estimator;
use foldback_core::{Message, Part};
use foldback_stages::estimator::{Calls, CharsConfig, Rounding, Unit, cl100k, o200k};
use serde_json::{Value, json};
use std::sync::Arc;

const PLACEHOLDER: &str = "[Old tool result content cleared]";

/// The columns, in the order of the numbers below: system and `[estimator]` section.
fn columns() -> Vec<(&'static str, Value)> {
    vec![
        ("OpenCode", json!({"unit": "utf16", "rounding": "half-up"})),
        ("BRUTUS", json!({"unit": "bytes", "rounding": "ceil"})),
        ("tunacode", json!({"unit": "code-points", "rounding": "floor"})),
        (
            "Spec 09",
            json!({
                "unit": "bytes", "rounding": "floor", "per_message": 4,
                "calls": "none", "reasoning": false,
            }),
        ),
        (
            "MXF TokenEstimator",
            json!({
                "unit": "utf16", "rounding": "ceil", "minimum": 1,
                "whitespace_discount": 0.5, "bracket_surcharge": 0.2,
                "per_message": 4, "calls": "json", "metadata_per_token": 6,
            }),
        ),
        ("MXF old engine", json!({"unit": "utf16", "rounding": "ceil"})),
    ]
}

fn build(section: &Value) -> Arc<dyn Estimator> {
    let config: CharsConfig = serde_json::from_value(section.clone()).expect("a valid section");
    StageConfig::<dyn Estimator>::build(config).expect("a valid configuration")
}

#[test]
fn every_column_is_one_configuration() {
    let x10 = "x".repeat(10);
    let x4000 = "x".repeat(4_000);
    let rows: [(&str, [u64; 6]); 15] = [
        ("", [0, 0, 0, 0, 0, 0]),
        ("a", [0, 1, 0, 0, 1, 1]),
        ("ab", [1, 1, 0, 0, 1, 1]),
        ("abc", [1, 1, 0, 0, 1, 1]),
        ("abcd", [1, 1, 1, 1, 1, 1]),
        ("abcde", [1, 2, 1, 1, 2, 2]),
        ("abcdef", [2, 2, 1, 1, 2, 2]),
        (&x10, [3, 3, 2, 2, 3, 3]),
        (PLACEHOLDER, [8, 9, 8, 8, 7, 9]),
        ("é", [0, 1, 0, 0, 1, 1]),
        ("漢字", [1, 2, 0, 1, 1, 1]),
        ("漢字かな混じり文", [2, 6, 2, 6, 2, 2]),
        ("😀", [1, 1, 0, 1, 1, 1]),
        ("a b c d e f g h", [4, 4, 3, 3, 1, 4]),
        (&x4000, [1_000; 6]),
    ];
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
    // configuration on top of bytes / 4 floor, tokens of each part, overhead
    let json_call = r#"[{"id":"c1","type":"function","function":{"name":"read","arguments":"{\"path\":\"a\"}"}}]"#;
    let cases: [(&str, Value, [u64; 4], u64); 6] = [
        ("everything", json!({}), [2, 3, 1 + 3, 1], 0),
        ("arguments alone", json!({"calls": "arguments"}), [2, 3, 3, 1], 0),
        ("calls as JSON", json!({"calls": "json"}), [2, 3, json_call.len() as u64 / 4, 1], 0),
        (
            "window compactor",
            json!({"calls": "none", "reasoning": false, "per_message": 4}),
            [2, 0, 0, 1],
            4,
        ),
        (
            "the loop's second estimator",
            json!({"calls": "none", "reasoning": false, "per_message": 4, "structured": false}),
            [2, 0, 0, 0],
            4,
        ),
        ("per message", json!({"per_message": 7}), [2, 3, 4, 1], 7),
    ];
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
    let default = CharsConfig::default;
    let cases = [
        (default(), "chars(utf16)/4 half-up"),
        (
            CharsConfig { unit: Unit::CodePoints, rounding: Rounding::Floor, ..default() },
            "chars(code-points)/4 floor",
        ),
        (
            CharsConfig { per_message: 4, calls: Calls::None, reasoning: false, ..default() },
            "chars(utf16)/4 half-up +4/message calls=none no-reasoning",
        ),
        (
            CharsConfig {
                minimum: 1,
                whitespace_discount: 0.5,
                bracket_surcharge: 0.2,
                metadata_per_token: 6,
                per_file: 1_500,
                structured: false,
                ..default()
            },
            "chars(utf16)/4 half-up min 1 -0.5/space +0.2/bracket metadata/6 +1500/file no-structured",
        ),
    ];
    for (config, id) in cases {
        assert_eq!(&**config.estimator().expect("valid").id(), id);
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
