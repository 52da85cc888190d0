//! Usage normalization.

use foldback_core::log::Price;
use foldback_opencode::usage::{Reported, Tokens};
use serde_json::{Value, json};
use std::collections::BTreeSet;

struct Row {
    id: &'static str,
    reported: Reported,
    metadata: Value,
    expect: Tokens,
}

fn rows() -> Vec<Row> {
    let base = Reported { input: Some(1_000), output: Some(500), ..Reported::default() };
    let plain = Tokens { input: 1_000, output: 500, ..Tokens::default() };
    vec![
        Row { id: "OC1-U1", reported: base, metadata: Value::Null, expect: plain },
        Row {
            id: "OC1-U2",
            reported: Reported { cached_input: Some(200), ..base },
            metadata: Value::Null,
            expect: Tokens { input: 800, cache_read: 200, ..plain },
        },
        Row {
            id: "OC1-U3",
            reported: base,
            metadata: json!({"anthropic": {"cacheCreationInputTokens": 300}}),
            expect: Tokens { cache_write: 300, ..plain },
        },
        Row {
            id: "OC1-U4",
            reported: Reported { cached_input: Some(200), ..base },
            metadata: json!({"anthropic": {}}),
            expect: Tokens { cache_read: 200, ..plain },
        },
        Row {
            id: "OC1-U5",
            reported: Reported { reasoning: Some(100), ..base },
            metadata: Value::Null,
            expect: Tokens { reasoning: 100, ..plain },
        },
        Row {
            id: "OC1-U6",
            reported: Reported::default(),
            metadata: Value::Null,
            expect: Tokens::default(),
        },
    ]
}

#[test]
fn normalisation() {
    for row in rows() {
        let tokens = Tokens::from_reported(row.reported, &row.metadata);
        assert_eq!(tokens, row.expect, "{}", row.id);
    }
}

#[test]
fn cost() {
    let price = Price { input: 3.0, output: 15.0, ..Price::default() };
    let nothing = Tokens::from_reported(Reported::default(), &Value::Null).cost(Price::default());
    assert_eq!(nothing, 0.0, "OC1-U6");
    let reported =
        Reported { input: Some(1_000_000), output: Some(100_000), ..Reported::default() };
    let cost = Tokens::from_reported(reported, &Value::Null).cost(price);
    assert!((cost - 4.5).abs() < 1e-9, "OC1-U7: {cost}");
    let reasoned = Tokens { output: 100_000, reasoning: 50_000, ..Tokens::default() };
    let cost = reasoned.cost(price);
    assert!((cost - 2.25).abs() < 1e-9, "reasoning is charged on top: {cost}");
}

#[test]
fn the_log_keeps_the_classes_apart() {
    let tokens = Tokens {
        input: 800,
        output: 500,
        reasoning: 100,
        cache_read: 200,
        cache_write: 30,
        total: Some(1_530),
    };
    let usage = tokens.to_usage();
    assert_eq!((usage.output, usage.reasoning), (400, 100));
    assert_eq!((usage.input_total(), usage.total), (1_030, Some(1_530)));
}

pub(crate) fn ids() -> BTreeSet<String> {
    rows().into_iter().map(|row| row.id).chain(["OC1-U7"]).map(str::to_owned).collect()
}
