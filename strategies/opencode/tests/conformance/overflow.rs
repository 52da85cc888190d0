//! Overflow, estimator and the derived boundary vectors.

use crate::support::{strategy, usage};
use foldback_core::Limits;
use foldback_core::log::Usage;
use foldback_core::moment::Moment;
use foldback_core::stage::{Decision, Pressure, UsageReading, UsageSource};
use foldback_opencode::window::{OUTPUT_TOKEN_MAX, WindowRule};

const K: u64 = 1_000;

fn m(context: u64, output: u64) -> Limits {
    Limits::new(context, output)
}

fn mi(context: u64, output: u64, input: u64) -> Limits {
    Limits::new(context, output).with_input(input)
}

struct Row {
    id: &'static str,
    preset: &'static str,
    changes: &'static str,
    limits: Limits,
    /// input, output, cache.read
    tokens: (u64, u64, u64),
    overflow: bool,
}

fn row(
    id: &'static str,
    preset: &'static str,
    limits: Limits,
    tokens: (u64, u64, u64),
    overflow: bool,
) -> Row {
    Row { id, preset, changes: "", limits, tokens, overflow }
}

fn off(row: Row) -> Row {
    Row { changes: "[overflow]\nauto = false", ..row }
}

fn rows() -> Vec<Row> {
    const JAN: &str = "opencode";
    const JUN: &str = "opencode-1.17";
    const GO: &str = "brutus";
    vec![
        row("OC1-O1", JAN, m(100 * K, 32 * K), (75 * K, 5 * K, 0), true),
        row("OC1-O2", JAN, m(200 * K, 32 * K), (100 * K, 10 * K, 0), false),
        row("OC1-O3", JAN, m(100 * K, 32 * K), (50 * K, 10 * K, 10 * K), true),
        row("OC1-O4", JAN, mi(400 * K, 128 * K, 272 * K), (271 * K, K, 2 * K), true),
        row("OC1-O5", JAN, mi(400 * K, 128 * K, 272 * K), (200 * K, 20 * K, 10 * K), false),
        row("OC1-O6", JAN, mi(200 * K, 10 * K, 120 * K), (50 * K, 9_999, 0), false),
        row("OC1-O7", JAN, m(0, 32 * K), (100 * K, 10 * K, 0), false),
        off(row("OC1-O8", JAN, m(100 * K, 32 * K), (75 * K, 5 * K, 0), false)),
        row("OC17-O1", JUN, m(100 * K, 32 * K), (75 * K, 5 * K, 0), true),
        row("OC17-O2", JUN, m(200 * K, 32 * K), (100 * K, 10 * K, 0), false),
        row("OC17-O3", JUN, m(100 * K, 32 * K), (60 * K, 10 * K, 10 * K), true),
        row("OC17-O4", JUN, mi(400 * K, 128 * K, 272 * K), (271 * K, K, 2 * K), true),
        row("OC17-O5", JUN, mi(400 * K, 128 * K, 272 * K), (200 * K, 20 * K, 10 * K), false),
        row("OC17-O6", JUN, mi(200 * K, 10 * K, 120 * K), (50 * K, 9_999, 0), false),
        row("OC17-O7", JUN, m(0, 32 * K), (100 * K, 10 * K, 0), false),
        off(row("OC17-O8", JUN, m(100 * K, 32 * K), (75 * K, 5 * K, 0), false)),
        row("OC17-O9", JUN, mi(200 * K, 32 * K, 200 * K), (180 * K, 15 * K, 3 * K), true),
        row("OC17-O10", JUN, m(200 * K, 32 * K), (180 * K, 15 * K, 3 * K), true),
        row("OC17-O11", JUN, mi(200 * K, 32 * K, 200 * K), (166 * K, 10 * K, 5 * K), true),
        row("OC17-O11", JUN, m(200 * K, 32 * K), (166 * K, 10 * K, 5 * K), true),
        row("BR-2", GO, m(128 * K, 8 * K), (50 * K, 5 * K, 0), false),
        row("BR-3", GO, m(128 * K, 8 * K), (120 * K, 10 * K, 0), true),
        // Derived: each side of the ceiling.
        row("4.8-1", JAN, m(128 * K, 8 * K), (120 * K, 0, 0), false),
        row("4.8-1", JAN, m(128 * K, 8 * K), (120 * K + 1, 0, 0), true),
        row("4.8-1", GO, m(128 * K, 8 * K), (120 * K, 0, 0), false),
        row("4.8-1", GO, m(128 * K, 8 * K), (120 * K + 1, 0, 0), true),
        row("4.8-1", JUN, m(128 * K, 8 * K), (120 * K - 1, 0, 0), false),
        row("4.8-1", JUN, m(128 * K, 8 * K), (120 * K, 0, 0), true),
        row("4.8-3", JAN, m(200 * K, 64 * K), (168 * K, 0, 0), false),
        row("4.8-3", JAN, m(200 * K, 64 * K), (168 * K + 1, 0, 0), true),
        row("4.8-4", JAN, mi(400 * K, 128 * K, 272 * K), (272 * K, 0, 0), false),
        row("4.8-4", JUN, mi(400 * K, 128 * K, 272 * K), (252 * K, 0, 0), true),
        row("4.8-4", JUN, mi(400 * K, 128 * K, 272 * K), (252 * K - 1, 0, 0), false),
        row("4.8-5", JAN, m(128 * K, 0), (96 * K + 1, 0, 0), true),
        row("4.8-5", JAN, m(128 * K, 0), (96 * K, 0, 0), false),
        row("4.8-6", JAN, m(32 * K, 32 * K), (1, 0, 0), true),
        row("4.8-6", JUN, m(32 * K, 32 * K), (0, 0, 0), true),
    ]
}

fn decide(row: &Row, usage: Usage) -> Decision {
    let strategy = strategy(row.preset, row.changes);
    strategy.overflow.unwrap().stage.decide(&Pressure {
        moment: Moment::StepEnd,
        view_tokens: 0,
        frame_tokens: 0,
        usage: Some(UsageReading { usage, source: UsageSource::Provider }),
        limits: row.limits,
        model: None,
        fold_stats: &[],
    })
}

#[test]
fn overflow() {
    for row in rows() {
        let (input, output, cache_read) = row.tokens;
        let decision = decide(&row, usage(input, output, cache_read));
        assert_eq!(decision.fold, row.overflow, "{}: {}", row.id, decision.reason);
    }
}

#[test]
fn what_counts() {
    let row = |preset| row("counts", preset, m(200 * K, 32 * K), (0, 0, 0), false);
    let full = Usage {
        uncached: 1,
        cache_read: 10,
        cache_write: 100,
        output: 1_000,
        reasoning: 10_000,
        total: Some(100_000),
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
    ] {
        assert_eq!(decide(&row(preset), usage).count, count, "{case}");
    }
}

#[test]
fn usable_window() {
    let january =
        WindowRule { output_token_max: OUTPUT_TOKEN_MAX, input_headroom: false, reserved: None };
    let june = WindowRule { input_headroom: true, ..january };
    for (id, limits, in_january, in_june) in [
        ("4.8-1", m(128 * K, 8 * K), 120_000, 120_000),
        ("4.8-2", m(200 * K, 32 * K), 168_000, 168_000),
        ("4.8-3", m(200 * K, 64 * K), 168_000, 168_000),
        ("4.8-4", mi(400 * K, 128 * K, 272 * K), 272_000, 252_000),
        ("4.8-5", m(128 * K, 0), 96_000, 96_000),
        ("4.8-6", m(32 * K, 32 * K), 0, 0),
        ("below zero", m(16 * K, 32 * K), -16_000, 0),
        ("small output", mi(200 * K, 10 * K, 120 * K), 120_000, 110_000),
        ("no context", m(0, 32 * K), -32_000, 0),
    ] {
        assert_eq!(january.usable(limits), in_january, "{id}, January");
        assert_eq!(june.usable(limits), in_june, "{id}, 1.17");
    }
    let reserved = WindowRule { reserved: Some(50 * K), ..june };
    assert_eq!(reserved.usable(mi(400 * K, 128 * K, 272 * K)), 222_000);
    assert_eq!(
        reserved.usable(m(200 * K, 32 * K)),
        168_000,
        "reserved counts with an input limit alone"
    );
    let larger = WindowRule { output_token_max: 64 * K, ..january };
    assert_eq!(larger.usable(m(200 * K, 64 * K)), 136_000, "the environment's output cap");
}

#[test]
fn one_policy_decides_at_every_moment() {
    let moments = |preset| strategy(preset, "").overflow.unwrap().when;
    assert!(!moments("opencode").contains(&Moment::ProviderOverflow));
    assert!(!moments("brutus").contains(&Moment::ProviderOverflow));
    assert!(moments("opencode-1.17").contains(&Moment::ProviderOverflow));
    for (case, changes, fold) in
        [("refused by the provider", "", true), ("OC17-L1", "[overflow]\nauto = false", false)]
    {
        let policy = strategy("opencode-1.17", changes).overflow.unwrap();
        let decision = policy.stage.decide(&Pressure {
            moment: Moment::ProviderOverflow,
            view_tokens: 0,
            frame_tokens: 0,
            usage: None,
            limits: m(200 * K, 32 * K),
            model: None,
            fold_stats: &[],
        });
        assert_eq!(decision.fold, fold, "{case}");
    }
}

#[test]
fn estimator() {
    let x = |n: usize| "x".repeat(n);
    for (id, preset, text, tokens) in [
        ("OC1-T1", "opencode", x(4_000), 1_000),
        ("OC1-T2", "opencode", x(20_000), 5_000),
        ("OC1-T3", "opencode", x(0), 0),
        ("OC1, half up", "opencode", x(2), 1),
        ("OC1, half up", "opencode", x(5), 1),
        ("OC1, UTF-16", "opencode", "😀".to_owned(), 1),
        ("OC17, same", "opencode-1.17", x(6), 2),
        ("BR-1", "brutus", x(0), 0),
        ("BR-1", "brutus", x(1), 1),
        ("BR-1", "brutus", x(4), 1),
        ("BR-1", "brutus", x(5), 2),
        ("BR-1", "brutus", x(100), 25),
        ("BR-1b", "brutus", x(8), 2),
        ("BR-1b", "brutus", x(9), 3),
        ("BR-1, bytes", "brutus", "漢字".to_owned(), 2),
    ] {
        let estimator = strategy(preset, "").estimators[0].clone();
        assert_eq!(estimator.text(&text), tokens, "{id}: {} bytes", text.len());
    }
}

pub(crate) fn ids() -> Vec<&'static str> {
    let overflow = rows().into_iter().map(|row| row.id);
    overflow.chain(["4.8-2", "OC1-T1", "OC1-T2", "OC1-T3", "BR-1", "BR-1b", "OC17-L1"]).collect()
}
