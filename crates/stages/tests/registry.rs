//! What this crate registers, and that its sections are read as they are documented.

use foldback_core::registry::{Build, Registry, StageKind};
use foldback_stages::REGISTRATION;
use serde_json::{Value, json};

fn registry() -> Registry {
    Registry::of([&REGISTRATION]).expect("one registration has no conflict")
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

fn id_of(name: &str, section: Value) -> Result<String, String> {
    let registry = registry();
    match registry.stage(StageKind::Estimator, name).expect("registered").item.build {
        Build::Estimator(build) => build(section)
            .map(|estimator| estimator.id().to_string())
            .map_err(|invalid| invalid.path),
        _ => panic!("{name} is no estimator"),
    }
}

#[test]
fn sections_become_estimators() {
    let cases = [
        ("o200k", json!({}), Ok("o200k +3/message")),
        ("cl100k", json!({"per_message": 0}), Ok("cl100k")),
        ("cl100k", json!({"per_mesage": 0}), Err("per_mesage")),
        (
            "calibrated",
            json!({"kappa_ppm": 1_100_000, "overhead": 500}),
            Ok("calibrated(o200k +3/message) ×1100000ppm +500"),
        ),
        (
            "calibrated",
            json!({"base": "chars", "chars": {"unit": "bytes", "per_token": 3}}),
            Ok("calibrated(chars(bytes)/3 half-up) ×1000000ppm +0"),
        ),
        ("calibrated", json!({"base": "chars", "chars": {"per_token": 0}}), Err("chars.per_token")),
        ("calibrated", json!({"kappa_ppm": 0}), Err("kappa_ppm")),
    ];
    for (name, section, expected) in cases {
        let expected = expected.map(str::to_owned).map_err(str::to_owned);
        assert_eq!(id_of(name, section.clone()), expected, "{name} {section}");
    }
}
