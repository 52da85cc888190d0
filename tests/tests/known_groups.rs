//! Known groups: contrasts whose outcome is fixed by how the sessions were made. They test the
//! measures, not the strategies: a measure that puts them in another order is wrong.
//!
//! The same contrasts on recorded sessions, where nothing is fixed and a tie is a result, are those of
//! `examples/known-groups.toml`; with the clairvoyant, which no experiment can name, those of the test
//! that is ignored here.

use foldback_replay::compare::Difference;
use foldback_replay::{Comparison, Corpus, Preset, Source, Store};
use foldback_tests::lab::{
    as_strategy, clairvoyant, compare_in, compared, contrast, example, preset, reporting, setup,
};
use foldback_tests::planted::{Needs, Planted};
use std::path::{Path, PathBuf};

/// What an interval must be.
#[derive(Clone, Copy, Debug)]
enum Expect {
    /// The lower end is above this.
    Above(f64),
    /// The upper end is below this.
    Below(f64),
}

/// Whether an interval is as expected. Prints it as a row of a table.
fn holds(what: &str, value: [Option<f64>; 3], expect: Expect) -> bool {
    let [Some(value), Some(lo), Some(hi)] = value else {
        println!("{what:<64} no interval");
        return false;
    };
    let holds = match expect {
        Expect::Above(least) => lo > least,
        Expect::Below(most) => hi < most,
    };
    let verdict = if holds { "" } else { "  <- FAILS" };
    println!("{what:<64} {value:>7.3} [{lo:.3}, {hi:.3}] {expect:?}{verdict}");
    holds
}

fn interval(difference: &Difference) -> [Option<f64>; 3] {
    [difference.value, difference.lo, difference.hi]
}

/// Checks rows of a table, all of them before it fails.
fn check(rows: Vec<(String, [Option<f64>; 3], Expect)>) {
    let mut failed = Vec::new();
    for (what, value, expect) in rows {
        if !holds(&what, value, expect) {
            failed.push(what);
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

/// Evictions that clear the same amount at the same moment and differ in what goes.
fn orders() -> Vec<Preset> {
    vec![
        preset("none"),
        as_strategy(clairvoyant()),
        example("evict-oldest"),
        as_strategy(preset("random")),
        example("evict-newest"),
    ]
}

/// A window that holds about ten of the forty results of a planted session.
fn orders_on(needs: Needs) -> Comparison {
    let planted = Planted { needs, lines: true, ..Planted::default() };
    let corpus = Corpus::from_sessions(planted.sessions());
    compared(&corpus, &orders(), &setup(5_500, 500))
}

/// `first` keeps more than `second`, surely.
fn keeps_more(
    on: &str,
    comparison: &Comparison,
    first: &str,
    second: &str,
) -> (String, [Option<f64>; 3], Expect) {
    let listed = |name: &str| {
        let mut presets = comparison.presets.iter();
        presets.position(|line| line.preset == name)
    };
    let what = format!("{on}: frr_obs_far, {first} less {second}");
    if listed(first) < listed(second) {
        let difference = &contrast(comparison, first, second).frr_obs_far;
        return (what, interval(difference), Expect::Above(0.0));
    }
    let difference = &contrast(comparison, second, first).frr_obs_far;
    let [value, lo, hi] = interval(difference).map(|value| value.map(|value| -value));
    (what, [value, hi, lo], Expect::Above(0.0))
}

#[test]
fn what_is_needed_decides_which_order_keeps_more() {
    let recent = orders_on(Needs::Recent);
    let old = orders_on(Needs::Old);
    let rows = [
        ("recent", &recent, "clairvoyant", "evict-oldest"),
        ("recent", &recent, "evict-oldest", "random"),
        ("recent", &recent, "random", "evict-newest"),
        // The same policies on the mirror image: now the other end is the one to keep.
        ("old", &old, "clairvoyant", "evict-newest"),
        ("old", &old, "evict-newest", "random"),
        ("old", &old, "random", "evict-oldest"),
    ];
    let rows =
        rows.map(|(on, comparison, first, second)| keeps_more(on, comparison, first, second));
    check(rows.into());
    // The second judge sees the same: what it says is kept is in the same order.
    for (comparison, order) in [
        (&recent, ["clairvoyant", "evict-oldest", "random", "evict-newest"]),
        (&old, ["clairvoyant", "evict-newest", "random", "evict-oldest"]),
    ] {
        let kept = order.map(|name| {
            let line = comparison.presets.iter().find(|line| line.preset == name);
            line.and_then(|line| line.metrics.verbatim_far.value).expect("something reused")
        });
        println!("{order:?} keep, by verbatim reuse: {kept:.3?}");
        assert!(kept.is_sorted_by(|more, less| more > less), "{order:?}: {kept:?}");
        assert!(comparison.presets.iter().all(|line| line.good_by_one.is_none()));
    }
    // It must be the choice that differs, and not the amount.
    for comparison in [&recent, &old] {
        let lines = comparison.presets.iter().skip(1);
        let sent: Vec<f64> = lines.map(|line| line.metrics.token_ratio.value.unwrap()).collect();
        println!("tokens sent, of those without compaction: {sent:.3?}");
        let (least, most) =
            (sent.iter().copied().fold(1.0, f64::min), sent.iter().copied().fold(0.0, f64::max));
        assert!(most - least < 0.02, "{sent:?}");
    }
}

fn files_below(folder: &Path, out: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            files_below(&path, out);
        } else if path.extension().is_none_or(|end| end != "md") {
            out.push(path);
        }
    }
}

/// Prints every contrast; nothing is known beforehand.
#[test]
#[ignore = "minutes without optimisation; run with --release --ignored --nocapture"]
fn the_same_contrasts_on_recorded_sessions() {
    let mut paths = Vec::new();
    files_below(&foldback_test_support::sessions(), &mut paths);
    let corpus = Corpus { sources: paths.into_iter().map(Source::File).collect() };
    let mut presets = orders();
    presets.extend(["keep-last-10", "keep-last-10-batched"].map(example));
    let comparison = compared(&corpus, &presets, &setup(128_000, 8_000));
    for contrast in &comparison.contrasts {
        let pair = format!("{} and {}", contrast.first, contrast.second);
        for (what, of) in [("bill", &contrast.net), ("frr_obs_far", &contrast.frr_obs_far)] {
            let value = [of.value, of.lo, of.hi].map(|value| value.unwrap_or(f64::NAN));
            println!("{pair:<48} {what:<8} {value:>7.3?} n {} tie {}", of.n, of.tie);
        }
    }
    assert!(comparison.corpus.imported > 0);
}

#[test]
fn a_mask_that_moves_at_every_call_costs_more_than_it_saves() {
    let planted = Planted { sessions: 12, characters: 4_000, ..Planted::default() };
    let corpus = Corpus::from_sessions(planted.sessions());
    let (moving, batched) = ("keep-last-10", "keep-last-10-batched");
    let presets = [preset("none"), example(moving), example(batched)];
    let store = Store::temporary().expect("a folder for the store");
    let setup = setup(200_000, 8_000);
    let under = |regime: &str| compare_in(&store, &corpus, &presets, &setup, reporting(regime));
    let (cached, plain) = (under("anthropic-5m"), under("no-cache"));
    let mut rows = Vec::new();
    let mut row = |what: &str, value, expect| rows.push((what.to_owned(), value, expect));
    let contrasted = |comparison| interval(&contrast(comparison, moving, batched).net);
    row("anthropic-5m: bill, moving to batched", contrasted(&cached), Expect::Above(1.0));
    row("no-cache: bill, moving to batched", contrasted(&plain), Expect::Below(1.0));
    let metric = |comparison: &Comparison, at: usize, tokens: bool| {
        let metric = &comparison.presets[at].metrics.token_ratio;
        if tokens {
            return [metric.value, metric.lo, metric.hi];
        }
        let prompts = |at: usize| comparison.presets[at].dollars.input_usd;
        [Some(prompts(at) / prompts(0)); 3]
    };
    for (at, name) in [(1, moving), (2, batched)] {
        let what = format!("tokens, {name} to none");
        row(&what, metric(&cached, at, true), Expect::Below(1.0));
        let what = format!("no-cache: prompts, {name} to none");
        row(&what, metric(&plain, at, false), Expect::Below(1.0));
    }
    row("anthropic-5m: prompts, moving to none", metric(&cached, 1, false), Expect::Above(1.0));
    check(rows);
}
