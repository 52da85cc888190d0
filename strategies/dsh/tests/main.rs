//! The preset keeps the laws of every strategy, and does what the rows say that DeepSeek Harness does.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

mod rows;

use foldback_testkit::law::Law;
use foldback_testkit::{Subject, laws};

laws!(dsh: Subject::preset("dsh").windows([(3_000, 0), (8_000, 1_000), (24_000, 4_000)]));
laws!(small: Subject::toml(rows::pruning(400, 100, 100))
    .windows([(1_600, 0), (3_000, 0)])
    .breaks(Law::KeepsFreeing, "a summary may have more tokens than such a window"));
