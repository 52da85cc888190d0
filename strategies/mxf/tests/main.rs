//! The preset keeps the laws of every strategy, and does what the rows say that MXF does.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

mod rows;

use foldback_testkit::law::Law;
use foldback_testkit::{Subject, laws};

laws!(mxf: Subject::preset("mxf").windows([(60_000, 0), (100_000, 8_000)])
    .breaks(Law::KeepsFreeing, FILLS));
laws!(small: Subject::toml(rows::preset(1_000, 2))
    .windows([(1_600, 0), (3_000, 0), (8_000, 1_000)])
    .breaks(Law::KeepsFreeing, FILLS));

const FILLS: &str =
    "what it strips leaves the calls, which fill the window; it folds where requests are refused";
