//! The preset keeps the laws of every strategy, and does what the rows say that Gemini CLI does.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

mod folds;
mod masking;
mod rows;

use foldback_core::config::{Options, compile_preset};
use foldback_test_support::presets::page_has_deviations;
use foldback_testkit::{Subject, laws, talk};

laws!(gemini_cli: Subject::preset("gemini-cli").windows([(8_000, 1_000), (16_000, 2_000), (30_000, 4_000)]));
laws!(small: Subject::toml(small()).windows([(3_000, 0), (8_000, 1_000), (60_000, 4_000)]));

/// The preset with budgets that small sessions exceed.
fn small() -> String {
    include_str!("../presets/gemini-cli.toml")
        .replace("name = \"gemini-cli\"", "name = \"small\"")
        .replace("aliases = [\"gemini-cli-0.61\"]", "")
        .replace("protect_tokens = 50_000", "protect_tokens = 800")
        .replace("minimum_tokens = 30_000", "minimum_tokens = 500")
        .replace("result_tokens = 50_000", "result_tokens = 600")
        .replace("result_units = 40_000", "result_units = 700")
}

/// The page of the preset and its table must not drift apart.
#[test]
fn the_page_has_every_deviation() {
    let page = include_str!("../README.md");
    let registry = talk::registry([&foldback_stages::REGISTRATION, &foldback_gemini::REGISTRATION]);
    let strategy = compile_preset(&registry, "gemini-cli", Options::default()).unwrap().strategy;
    page_has_deviations(page, &strategy);
}
