//! What providers really answered: each row of `errors.toml` gets the kind that it names, so
//! that a request that is too long is folded, and nothing else is.

use foldback_core::provider::ErrorKind;
use foldback_providers::errors::Classifier;
use serde::Deserialize;
use std::collections::BTreeSet;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    id: String,
    provider: Option<String>,
    status: Option<u16>,
    body: String,
    kind: ErrorKind,
    code: Option<String>,
    requested: Option<u64>,
    limit: Option<u64>,
    read_status: Option<u16>,
    retry_after_ms: Option<u128>,
    source: String,
}

#[derive(Deserialize)]
struct Table {
    case: Vec<Case>,
}

fn cases() -> Vec<Case> {
    let table: Table = toml::from_str(include_str!("errors.toml")).expect("the table");
    table.case
}

#[test]
fn every_row_has_its_kind() {
    let classifier = Classifier::builtin();
    let mut wrong = Vec::new();
    for case in cases() {
        let provider = case.provider.as_deref();
        let error = classifier.classify(provider, case.status, &case.body);
        let sizes = classifier.sizes(provider, case.status, &case.body);
        let mut check = |what: &str, same: bool, got: String| {
            if !same {
                wrong.push(format!("{}: {what} is {got}", case.id));
            }
        };
        check("kind", error.kind == case.kind, error.kind.to_string());
        check(
            "kind_of",
            classifier.kind_of(provider, case.status, &case.body) == error.kind,
            "other".into(),
        );
        check("code", case.code.is_none() || error.code == case.code, format!("{:?}", error.code));
        check(
            "requested",
            sizes.requested == case.requested || case.requested.is_none(),
            format!("{:?}", sizes.requested),
        );
        check(
            "limit",
            sizes.limit == case.limit || case.limit.is_none(),
            format!("{:?}", sizes.limit),
        );
        let status = case.read_status.or(case.status);
        check(
            "status",
            status.is_none() || status == Some(200) || error.status == status,
            format!("{:?}", error.status),
        );
        let wait = error.retry_after.map(|wait| wait.as_millis());
        check("retry_after", wait == case.retry_after_ms, format!("{wait:?}"));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A provider that is not named, or goes by another name, gets the same answer: most agents speak to
/// gateways. Only rules that name a provider may differ.
#[test]
fn the_provider_hardly_matters() {
    let classifier = Classifier::builtin();
    for case in cases().iter().filter(|case| !case.body.is_empty()) {
        assert_eq!(classifier.kind_of(None, case.status, &case.body), case.kind, "{}", case.id);
    }
}

/// Real answers of enough providers, on both sides.
#[test]
fn the_table_is_wide_enough() {
    let real = |case: &&Case| !case.source.starts_with("constructed") && case.provider.is_some();
    let cases = cases();
    let providers = |overflow: bool| -> BTreeSet<&str> {
        cases
            .iter()
            .filter(real)
            .filter(|case| case.kind.is_overflow() == overflow)
            .filter_map(|case| case.provider.as_deref())
            .collect()
    };
    assert!(providers(true).len() >= 10, "{:?}", providers(true));
    assert!(providers(false).len() >= 6, "{:?}", providers(false));
    let ids: BTreeSet<_> = cases.iter().map(|case| &case.id).collect();
    assert_eq!(ids.len(), cases.len());
}

#[test]
fn the_rules_of_a_user_go_first() {
    let rules = r#"
[[rule]]
kind = "overloaded"
provider = "My-Gateway"
all_of = ["Status Code (no body)"]

[[rule]]
kind = "context-overflow"
codes = ["E_TOO_MUCH"]
sizes = ["Sent {requested} of {limit}"]
"#;
    let classifier = Classifier::with_rules(rules).unwrap();
    let empty = "400 status code (no body)";
    let cases = [
        (Some("my-gateway"), empty, ErrorKind::Overloaded),
        (Some("other"), empty, ErrorKind::ContextOverflow),
        (None, empty, ErrorKind::ContextOverflow),
        (
            None,
            r#"{"error":{"code":"e_too_much","message":"sent 7 of 5"}}"#,
            ErrorKind::ContextOverflow,
        ),
        (None, "Rate limit reached", ErrorKind::RateLimited),
    ];
    for (provider, body, expect) in cases {
        assert_eq!(classifier.kind_of(provider, Some(400), body), expect, "{provider:?} {body}");
    }
    let sizes = classifier.sizes(None, Some(400), cases[3].1);
    assert_eq!((sizes.requested, sizes.limit), (Some(7), Some(5)));
}

/// Without any one of the rules some row is read otherwise: no rule is there for nothing, and none can
/// be lost unseen.
#[test]
fn every_rule_is_needed() {
    let cases = cases();
    let all = Classifier::builtin();
    let read = |classifier: &Classifier| -> Vec<_> {
        let read = cases.iter().map(|case| {
            let provider = case.provider.as_deref();
            let kind = classifier.kind_of(provider, case.status, &case.body);
            (kind, classifier.sizes(provider, case.status, &case.body))
        });
        read.collect()
    };
    let expect = read(all);
    let idle: Vec<_> = (0..all.rules().len())
        .filter(|without| {
            let others = all.rules().iter().enumerate().filter(|(index, _)| index != without);
            read(&Classifier::new(others.map(|(_, rule)| rule.clone()))) == expect
        })
        .map(|index| &all.rules()[index])
        .collect();
    assert!(idle.is_empty(), "{idle:#?}");
}

/// Whatever comes over the wire is read without harm, and a long one is cut.
#[test]
fn strange_bodies() {
    let classifier = Classifier::builtin();
    let deep = "[".repeat(100_000);
    // Every level doubles the backslashes, so a dozen is already long.
    let nested = (0..12).fold("x".to_owned(), |inner, _| {
        serde_json::json!({ "error": { "message": inner } }).to_string()
    });
    let long = "é".repeat(100_000);
    for body in [
        "\0",
        "{",
        "}{",
        "data:",
        "data: {\"error\":",
        "[[]]",
        "\u{feff}",
        deep.as_str(),
        nested.as_str(),
        long.as_str(),
    ] {
        let error = classifier.classify(Some(""), None, body);
        assert_eq!(error.kind, ErrorKind::Unknown);
        assert!(error.message.len() <= 2_000);
    }
}
