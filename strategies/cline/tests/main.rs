//! The preset keeps the laws of every strategy, and does what the rows say that Cline does.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

mod rows;

use foldback_testkit::{Subject, laws};

laws!(cline: Subject::preset("cline").windows([(3_000, 0), (8_000, 1_000), (24_000, 4_000)]));
