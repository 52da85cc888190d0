//! `calibrated` against the estimator underneath.

use foldback_core::config::compile_preset;
use foldback_core::stage::Estimator;
use foldback_core::{Limits, Message, Part};
use foldback_stages::estimator::{Calibrated, Calibration, Rounding, Unit, chars};
use foldback_testkit::talk;
use std::sync::Arc;

fn calibrated(kappa_ppm: u64, overhead: u64) -> Calibrated {
    let calibration = Calibration { kappa_ppm, overhead, ..Calibration::default() };
    Calibrated::new(Arc::new(chars(Unit::Bytes, Rounding::Floor)), calibration)
}

#[test]
fn every_count_is_scaled_and_rounded_half_up() {
    // κ in ppm, bytes of the text, tokens
    let cases = [
        (1_000_000, 400, 100),
        (1_250_000, 400, 125),
        (1_250_000, 8, 3), // 2.5
        (1_249_999, 8, 2),
        (500_000, 4, 1), // 0.5
    ];
    for (kappa_ppm, bytes, tokens) in cases {
        let estimator = calibrated(kappa_ppm, 1_000);
        let text = "x".repeat(bytes);
        assert_eq!(estimator.text(&text), tokens, "κ {kappa_ppm}, {bytes} bytes");
        assert_eq!(estimator.part(&Part::text(&*text), &text), tokens);
    }
}

#[test]
fn the_overhead_is_counted_once_per_request() {
    let registry = talk::registry([&foldback_stages::REGISTRATION]);
    let strategy =
        compile_preset(&registry, "none", Default::default()).expect("`none` compiles").strategy;
    let mut conversation = talk::conversation(strategy, Limits::default());
    let meter = conversation.add_meter(Arc::new(calibrated(2_000_000, 700)));
    for id in ["a", "b"] {
        conversation.append(Message::user(id, "x".repeat(40)));
    }
    let meter = conversation.meter(meter);
    assert_eq!((meter.frame_tokens(), meter.view_tokens()), (700, 40));
}
