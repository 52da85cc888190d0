//! The presets keep the laws of every strategy, and do what the rows say that pi and oh-my-pi do.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

mod omp;
mod rows;

use foldback_testkit::law::Law;
use foldback_testkit::{Subject, laws};

laws!(pi: Subject::preset("pi").windows([(17_000, 0), (18_000, 0), (24_000, 4_000), (64_000, 8_000)]));
laws!(older: Subject::preset("pi-0.87").windows([(18_000, 0), (64_000, 8_000)]));
laws!(oh_my_pi: Subject::preset("oh-my-pi")
    .windows([(17_000, 0), (24_000, 4_000), (64_000, 8_000)])
    .breaks(Law::IdempotentWhereNothingChanged, NEARER));
laws!(omp_small: Subject::toml(omp::preset(300))
    .windows([(1_600, 0), (3_000, 0), (8_000, 1_000)])
    .breaks(Law::IdempotentWhereNothingChanged, NEARER));
laws!(small: Subject::toml(rows::preset(1_000, 300)).windows([(1_600, 0), (3_000, 0), (8_000, 1_000)]));

const NEARER: &str = "what went as stale brings older reads nearer to the end, where they may go";
