//! Results that come after the next answers: their calls stay in the view, or come back into it.

use foldback_core::Limits;
use foldback_core::strategy::Strategy;
use foldback_formats::Session;
use foldback_replay::replay;
use foldback_testkit::generate::{Happening, session};
use foldback_tests::{options, presets};
use std::path::Path;
use std::sync::Arc;

/// Presets that keep calls and results together, and have room in this window.
fn guarded(limits: Limits) -> Vec<Arc<Strategy>> {
    let mut all = presets();
    all.retain(|strategy| strategy.guards.pairs && strategy.refuses(limits).is_none());
    all
}

fn broken(
    session: &Session,
    strategy: &Arc<Strategy>,
    (context, output): (u64, u64),
) -> Vec<String> {
    let done = replay(session, strategy, &options(context, output));
    let broken = done.rows.iter().flat_map(|row| &row.broken);
    broken.map(|broken| format!("{}: {broken:?}", strategy.name)).collect()
}

/// Answer X, answer Y, the result of Y, the result of X.
#[test]
fn a_call_that_was_folded_away_comes_back_with_its_result() {
    let file =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("cases/E01-late-result/late-result.jsonl");
    let text = std::fs::read(&file).unwrap();
    let recorded = foldback_formats::read(&text[..], None).unwrap();
    let window = (20_000, 1_000);
    let presets = guarded(Limits::new(window.0, window.1));
    assert!(presets.len() > 20, "{} presets", presets.len());
    let broken: Vec<String> =
        presets.iter().flat_map(|strategy| broken(&recorded[0], strategy, window)).collect();
    assert!(broken.is_empty(), "{broken:#?}");
}

/// What comes between a call and its late result, after a turn that fills the window.
const BETWEEN: [(&str, &[Happening]); 8] = {
    use Happening::{Answer, Calls, Interjection, Late, Result, User};
    [
        ("an answer", &[Calls, Calls, Result, Late]),
        ("two answers", &[Calls, Calls, Result, Calls, Result, Late]),
        ("two answers without results", &[Calls, Calls, Calls, Result, Late, Late]),
        ("a word of the user", &[Calls, Interjection, Calls, Result, Late]),
        ("a turn", &[Calls, Answer, User, Calls, Result, Late]),
        ("the user, and no answer", &[Calls, User, Answer, Late]),
        ("the end of the step", &[Calls, Answer, Late]),
        ("results of its own", &[Calls, Calls, Result, Late, Calls, Result, Late]),
    ]
};

/// Without the guard the same sessions lose calls, so that the table can fail.
#[test]
fn whatever_comes_between_a_call_and_its_result_they_stay_together() {
    let window = (16_000, 2_000);
    let mut found = 0;
    let mut lost = Vec::new();
    for strategy in guarded(Limits::new(window.0, window.1)) {
        let mut without = Strategy::clone(&strategy);
        without.guards.pairs = false;
        let without = Arc::new(without);
        for (name, between) in BETWEEN {
            // How full the window is when the call is made decides where the fold comes.
            for filled in 3..9 {
                let mut happens = vec![(Happening::User, 20)];
                (0..filled).for_each(|_| {
                    happens.extend([(Happening::Calls, 0), (Happening::Result, 220)])
                });
                happens.extend(between.iter().map(|what| match what {
                    Happening::Calls => (*what, 1),
                    Happening::Result => (*what, 240),
                    _ => (*what, 30),
                }));
                happens.extend([
                    (Happening::Calls, 0),
                    (Happening::Result, 120),
                    (Happening::Answer, 0),
                ]);
                let session = Session::of_messages("late", session(&happens).messages().to_vec());
                let broken_by = broken(&session, &strategy, window);
                lost.extend(broken_by.iter().map(|broken| format!("{name}, {filled}: {broken}")));
                found += broken(&session, &without, window).len();
            }
        }
    }
    assert!(lost.is_empty(), "{lost:#?}");
    assert!(found > 20, "{found} rules broken without the guard");
}
