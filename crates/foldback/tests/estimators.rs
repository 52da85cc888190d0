//! Counting a text takes time in proportion to its length, for the estimators of every preset and every class of characters.
//!
//! An estimator that walks a run to its end again and again is quadratic in it, and a session may hold a run of any
//! length. Estimators of other crates count no steps, so times are compared: at first by the clock on the wall, and where
//! that shows too much, by the processor time of the thread, which does not depend on what else runs. Linux counts it.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use foldback_core::config::{Options, compile_preset};
use foldback_core::log::{Message, Part};
use foldback_core::stage::Estimator;
use foldback_test_support::cpu::cost;
use foldback_test_support::runs::{ENDS, RUNS};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

/// Repetitions of a unit, and eight times as many.
const SHORT: usize = 1_000;
const LONG: usize = 8 * SHORT;

/// How many times longer eight times the text may take: for each doubling two and a half times.
const MOST: f64 = 15.6;

/// How often a pair is measured again that shows more, and nanoseconds of each of these measurements: the clock of a
/// thread moves in steps of some milliseconds.
const AGAIN: usize = 4;
const LEAST: u64 = 12_000_000;

/// Where a text stands in a message.
type Place = (&'static str, fn(String) -> Message);

const PLACES: [Place; 3] = [
    ("said", |text| Message::user("m", text)),
    ("as arguments", |text| {
        let arguments = Value::String(text).to_string();
        Message::assistant("m", vec![Part::call("c", "read", arguments)])
    }),
    ("as a result", |text| Message::tool("m", "c", "read", text)),
];

/// The estimators of all presets, each configuration once.
fn estimators() -> BTreeMap<Arc<str>, Arc<dyn Estimator>> {
    let registry = foldback::registry().unwrap();
    let presets = registry.presets().map(|preset| preset.item.name);
    let compiled = presets.map(|name| compile_preset(&registry, name, Options::default()).unwrap());
    let estimators = compiled.flat_map(|compiled| compiled.strategy.estimators.clone());
    estimators.map(|estimator| (estimator.id().clone(), estimator)).collect()
}

/// Seconds of one count, the shortest of several.
fn shortest(times: usize, count: &dyn Fn()) -> f64 {
    let time = |_| {
        let begun = Instant::now();
        count();
        begun.elapsed().as_secs_f64()
    };
    (0..times).map(time).fold(f64::INFINITY, f64::min)
}

/// How many times longer eight times the text takes, where that is too much.
fn grows(estimator: &dyn Estimator, make: impl Fn(usize) -> Message) -> Option<f64> {
    let (short, long) = (make(SHORT), make(LONG));
    let count = |message: &Message| drop(std::hint::black_box(estimator.count(message)));
    let (short, long) = (|| count(&short), || count(&long));
    // The clock on the wall is quick to read, and right where nothing else ran.
    let mut least = shortest(2, &long) / shortest(5, &short);
    for _ in 0..AGAIN {
        if least <= MOST {
            return None;
        }
        let (Some(once), Some(more)) = (cost(&short, LEAST), cost(&long, LEAST)) else { break };
        least = more / once;
    }
    (least > MOST).then_some(least)
}

/// What an estimator takes too long for.
fn too_slow(name: &str, estimator: &dyn Estimator) -> Vec<String> {
    let mut wrong = Vec::new();
    for (at, unit) in RUNS.iter().enumerate() {
        for (place, (what, message)) in PLACES.iter().enumerate() {
            let end = ENDS[(at + place) % ENDS.len()];
            let grown = grows(estimator, |times| message(unit.repeat(times) + end));
            wrong.extend(grown.map(|times| {
                format!("{name}: {unit:?} many times and {end:?}, {what}: {times:.0} times as long")
            }));
        }
    }
    wrong
}

#[test]
fn eight_times_a_run_of_any_characters_takes_about_eight_times_as_long() {
    let estimators = estimators();
    let names: Vec<_> = estimators.keys().collect();
    assert!(names.iter().any(|name| name.starts_with("o200k")) && names.len() >= 20, "{names:?}");
    let wrong: Vec<String> =
        estimators.iter().flat_map(|(name, estimator)| too_slow(name, &**estimator)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Walks a run of digits to its end for each three of them.
#[derive(Debug)]
struct Quadratic(Arc<str>);

impl Estimator for Quadratic {
    fn id(&self) -> &Arc<str> {
        &self.0
    }

    fn text(&self, text: &str) -> u64 {
        let mut rest = text.as_bytes();
        let mut tokens = 0;
        while !rest.is_empty() {
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            rest = &rest[digits.clamp(1, 3)..];
            tokens += 1;
        }
        tokens
    }
}

#[test]
fn an_estimator_that_walks_runs_again_and_again_is_found() {
    let wrong = too_slow("quadratic", &Quadratic("quadratic".into()));
    let digits = format!("quadratic: {:?}", "7");
    assert!(wrong.iter().any(|wrong| wrong.starts_with(&digits)), "{wrong:#?}");
    assert!(wrong.iter().all(|wrong| wrong.starts_with(&digits)), "{wrong:#?}");
}
