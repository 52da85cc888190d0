//! The presets keep the laws of every strategy, and do what the rows say that pi and oh-my-pi do.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

mod omp;
mod rows;

use foldback_core::config::{Options, compile_preset};
use foldback_test_support::presets::page_has_deviations;
use foldback_testkit::law::Law;
use foldback_testkit::{Subject, laws, talk};

laws!(pi: Subject::preset("pi").windows([(17_000, 0), (18_000, 0), (24_000, 4_000), (64_000, 8_000)]));
laws!(older: Subject::preset("pi-0.87").windows([(18_000, 0), (64_000, 8_000)]));
laws!(oh_my_pi: Subject::preset("oh-my-pi")
    .windows([(17_000, 0), (24_000, 4_000), (64_000, 8_000)])
    .breaks(Law::IdempotentWhereNothingChanged, NEARER));
laws!(omp_small: Subject::toml(omp::preset(300))
    .windows([(1_600, 0), (3_000, 0), (8_000, 1_000)])
    .breaks(Law::IdempotentWhereNothingChanged, NEARER)
    .breaks(Law::CostPerCallFlat, "shaken results leave their calls, so the window holds more and more messages"));
laws!(small: Subject::toml(rows::preset(1_000, 300)).windows([(1_600, 0), (3_000, 0), (8_000, 1_000)]));

const NEARER: &str = "what went as stale brings older reads nearer to the end, where they may go";

/// The page of the presets and its table must not drift apart.
#[test]
fn the_page_has_every_deviation() {
    let page = include_str!("../README.md");
    let registry = talk::registry([&foldback_stages::REGISTRATION, &foldback_pi::REGISTRATION]);
    for name in ["pi", "pi-0.87", "oh-my-pi"] {
        let strategy = compile_preset(&registry, name, Options::default()).unwrap().strategy;
        page_has_deviations(page, &strategy);
    }
}
