//! Overflow, estimator and the derived boundary vectors.

use crate::support::{limits, strategy, usage};
use foldback_core::Limits;
use foldback_core::log::Usage;
use foldback_core::moment::Moment;
use foldback_core::stage::{Decision, Pressure, UsageReading, UsageSource};
use foldback_stages::policy::{AnswerUsageConfig, InputLimit};
use foldback_test_support::table;
use std::collections::BTreeSet;
use std::num::NonZeroU64;

/// Id, preset, window, usage (input, output, cache read), whether it is an overflow.
type Row = (String, String, Vec<u64>, [u64; 3], bool);

const OFF: &str = "[overflow]\nauto = false";

/// The rows, each with what is changed in its preset.
fn rows() -> impl Iterator<Item = (&'static str, Row)> {
    [("overflow", ""), ("overflow-off", OFF)].into_iter().flat_map(|(group, changes)| {
        let rows: Vec<Row> = table::rows(include_str!("../rows/rows.toml"), group);
        rows.into_iter().map(move |row| (changes, row))
    })
}

pub(crate) fn decide(preset: &str, changes: &str, limits: Limits, usage: Usage) -> Decision {
    let reading = UsageReading { usage, source: UsageSource::Provider };
    let pressure = Pressure { usage: Some(reading), ..Pressure::at(Moment::StepEnd, limits) };
    strategy(preset, changes).overflow.unwrap().stage.decide(&pressure)
}

#[test]
fn overflow() {
    for (changes, (id, preset, window, [input, output, cache_read], overflow)) in rows() {
        let decision = decide(&preset, changes, limits(&window), usage(input, output, cache_read));
        assert_eq!(decision.fold, overflow, "{id}: {}", decision.reason);
    }
}

#[test]
fn what_counts() {
    let full = Usage {
        uncached: 1,
        cache_read: 10,
        cache_write: 100,
        output: 1_000,
        reasoning: 10_000,
        total: Some(100_000),
        ..Usage::default()
    };
    let bare = Usage { total: None, ..full };
    let zero = Usage { total: Some(0), ..full };
    for (case, preset, usage, count) in [
        // January's own `output` held the reasoning; cache writes and totals were not looked at.
        ("January", "opencode", full, 11_011),
        ("BRUTUS", "brutus", full, 11_011),
        ("1.17, total", "opencode-1.17", full, 100_000),
        ("1.17, no total", "opencode-1.17", bare, 1_111),
        ("1.17, total of zero", "opencode-1.17", zero, 1_111),
        ("1.18, total", "opencode-1.18", full, 100_000),
        ("1.18, no total", "opencode-1.18", bare, 1_111),
        ("V2", "opencode-2", full, 11_111),
    ] {
        let decision = decide(preset, "", limits(&[200_000, 32_000]), usage);
        assert_eq!(decision.count, count, "{case}");
    }
}

#[test]
fn usable_window() {
    let january = AnswerUsageConfig {
        input_limit: InputLimit::Instead,
        output_token_max: NonZeroU64::new(32_000),
        ..AnswerUsageConfig::default()
    };
    let june = AnswerUsageConfig {
        input_reserve: Some(20_000),
        input_reserve_at_most_output: true,
        ..january.clone()
    };
    let usable = |terms: &AnswerUsageConfig, window: &[u64]| {
        terms.usable(limits(window)).map(|(tokens, _)| tokens)
    };
    let rows: Vec<(String, Vec<u64>, i64, i64)> =
        table::rows(include_str!("../rows/rows.toml"), "usable");
    for (id, window, in_january, in_june) in rows {
        // Where the window is not known, the policy compares nothing.
        let known = |tokens: i64| (window[0] > 0).then_some(tokens);
        assert_eq!(usable(&january, &window), known(in_january), "{id}, January");
        // It compares with no less than 0.
        let june = usable(&june, &window).map(|tokens| tokens.max(0));
        assert_eq!(june, known(in_june), "{id}, 1.17");
    }
    let reserved = AnswerUsageConfig {
        input_reserve: Some(50_000),
        input_reserve_at_most_output: false,
        ..june
    };
    assert_eq!(usable(&reserved, &[400_000, 128_000, 272_000]), Some(222_000));
    let without = usable(&reserved, &[200_000, 32_000]);
    assert_eq!(without, Some(168_000), "reserved counts with an input limit alone");
    let larger = AnswerUsageConfig { output_token_max: NonZeroU64::new(64_000), ..january };
    let usable = usable(&larger, &[200_000, 64_000]);
    assert_eq!(usable, Some(136_000), "the environment's output cap");
}

/// A window that leaves no room is refused where the strategy acts by itself and the window is known.
#[test]
fn a_window_without_room_is_refused() {
    let rows = [
        ("room for one token", "", Limits::new(32_001, 32_000), false),
        ("no room", "", Limits::new(32_000, 32_000), true),
        ("not by itself", OFF, Limits::new(32_000, 32_000), false),
        ("nobody knows the window", "", Limits::default(), false),
    ];
    for (case, changes, limits, refused) in rows {
        let policy = strategy("opencode", changes).overflow.unwrap().stage;
        assert_eq!(policy.refuses(limits).is_some(), refused, "{case}");
    }
}

#[test]
fn one_policy_decides_at_every_moment() {
    let moments = |preset| strategy(preset, "").overflow.unwrap().when;
    assert!(!moments("opencode").contains(&Moment::ProviderOverflow));
    assert!(!moments("brutus").contains(&Moment::ProviderOverflow));
    for preset in ["opencode-1.17", "opencode-1.18"] {
        let all = [Moment::CallStart, Moment::StepEnd, Moment::ProviderOverflow];
        assert_eq!(moments(preset), all, "{preset}");
    }
    assert_eq!(moments("opencode-2"), [Moment::CallStart, Moment::ProviderOverflow]);
    let presets = ["opencode-1.17", "opencode-1.18", "opencode-2"];
    let cases = [("refused by the provider", "", true), ("OC17-L1", OFF, false)];
    for (preset, (case, changes, fold)) in
        presets.iter().flat_map(|preset| cases.map(|case| (preset, case)))
    {
        let policy = strategy(preset, changes).overflow.unwrap();
        let pressure = Pressure::at(Moment::ProviderOverflow, Limits::new(200_000, 32_000));
        assert_eq!(policy.stage.decide(&pressure).fold, fold, "{preset}: {case}");
    }
}

#[test]
fn estimator() {
    let rows: Vec<(String, String, String, u64)> =
        table::rows(include_str!("../rows/rows.toml"), "estimates");
    for (id, preset, text, tokens) in rows {
        let estimator = strategy(&preset, "").estimators[0].clone();
        assert_eq!(estimator.text(&text), tokens, "{id}: {} bytes", text.len());
    }
}

pub(crate) fn ids() -> BTreeSet<String> {
    let others = ["4.8-2", "OC1-T1", "OC1-T2", "OC1-T3", "BR-1", "BR-1b", "OC17-L1"];
    rows().map(|(_, row)| row.0).chain(others.map(str::to_owned)).collect()
}
