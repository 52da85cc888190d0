//! The preset keeps the laws of every strategy, and does what the rows say that Gemini CLI does.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

mod folds;
mod masking;
mod rows;

use foldback_testkit::{Subject, laws};

laws!(gemini_cli: Subject::preset("gemini-cli").windows([(8_000, 1_000), (16_000, 2_000), (30_000, 4_000)]));
laws!(small: Subject::toml(small()).windows([(3_000, 0), (8_000, 1_000), (60_000, 4_000)]));

/// The preset with budgets that small sessions exceed.
fn small() -> String {
    let filter = "[filter]\nresult_tokens = 600\nresult_units = 700\n";
    rows::masking(800, 500) + filter
}
