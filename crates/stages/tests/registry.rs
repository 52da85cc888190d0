//! What this crate registers, and that its sections are read as they are documented.

use foldback_core::registry::{Build, Registry, StageKind};
use foldback_stages::REGISTRATION;
use foldback_test_support::table;
use serde_json::Value;

fn registry() -> Registry {
    Registry::from_registrations([&REGISTRATION]).expect("one registration has no conflict")
}

#[test]
fn every_field_has_a_doc_line() {
    for stage in registry().stages() {
        for field in stage.item.fields() {
            assert!(!field.doc.is_empty(), "{}.{}", stage.item.name, field.name);
        }
    }
}

#[test]
fn both_vocabularies_have_the_same_fields() {
    let registry = registry();
    let fields = |name| {
        let stage = registry.stage(StageKind::Estimator, name).expect("registered");
        stage.item.fields().into_iter().map(|field| field.name).collect::<Vec<_>>()
    };
    assert_eq!(fields("o200k"), fields("cl100k"));
    assert!(fields("o200k").contains(&"per_message".to_owned()));
}

/// Id of an estimator from its section, or the field that is wrong.
fn id_of(name: &str, section: Value) -> String {
    match registry().stage(StageKind::Estimator, name).expect("registered").item.build {
        Build::Estimator(build) => match build(section) {
            Ok(estimator) => estimator.id().to_string(),
            Err(invalid) => format!("wrong: {}", invalid.path),
        },
        _ => panic!("{name} is no estimator"),
    }
}

#[test]
fn sections_become_estimators() {
    let rows: Vec<(String, Value, String)> =
        table::rows(include_str!("estimators.toml"), "sections");
    for (name, section, expected) in rows {
        assert_eq!(id_of(&name, section.clone()), expected, "{name} {section}");
    }
}
