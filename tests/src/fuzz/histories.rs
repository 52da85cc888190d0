//! Any recorded session under every preset, as the laboratory replays it: a guarded preset breaks no rule of any
//! provider that the session does not break itself, no fold makes the view larger, a fold that fails changes nothing,
//! and the log stays what was appended.

use crate::fuzz::mutate::Dice;
use foldback_core::Limits;
use foldback_core::strategy::Strategy;
use foldback_formats::Session;
use foldback_replay::{ReplayOptions, replay};
use foldback_stages::estimator::{Rounding, Unit, chars};
use foldback_testkit::generate::{Happening, byte, session_of};
use foldback_testkit::law::{report_holds, unaltered};
use std::sync::{Arc, LazyLock};

/// The window, its output limit, and the presets that take it.
type World = (Limits, Vec<Arc<Strategy>>);

static WORLDS: LazyLock<Vec<World>> = LazyLock::new(|| {
    let registry = foldback::registry().unwrap();
    let preset = |name: &'static str| Arc::new(foldback::preset(&registry, name).unwrap());
    let all: Vec<_> = registry.presets().map(|known| preset(known.item.name)).collect();
    let windows = [(16_000, 2_000), (32_000, 4_000), (64_000, 8_000)];
    let worlds = windows.map(|(context, output)| {
        let limits = Limits::new(context, output);
        let takes = |strategy: &&Arc<Strategy>| strategy.refuses(limits).is_none();
        (limits, all.iter().filter(takes).cloned().collect())
    });
    worlds.into()
});

/// The first byte is the window; then what happens takes two bytes each.
pub(crate) fn histories(data: &[u8]) {
    let Some((window, messages)) = data.split_first() else { return };
    let (limits, presets) = &WORLDS[usize::from(*window) % WORLDS.len()];
    let generated = session_of(messages);
    let session = Session::of_messages("history", generated.messages().to_vec());
    let options = ReplayOptions {
        limits: *limits,
        ceiling: None,
        model: None,
        prices: None,
        measure: Arc::new(chars(Unit::Utf16, Rounding::Ceil)),
        validate: true,
        completions: None,
    };
    for strategy in presets {
        holds(&session, strategy, &options);
    }
}

fn holds(session: &Session, strategy: &Arc<Strategy>, options: &ReplayOptions) {
    let name = &strategy.name;
    let done = replay(session, strategy, options);
    let log = unaltered(&session.messages, done.conversation.history());
    assert_eq!(log, Ok(()), "{name}");
    if !strategy.guards.off().is_empty() {
        return;
    }
    let broken: Vec<_> = done.rows.iter().flat_map(|row| &row.broken).collect();
    assert!(broken.is_empty() && done.metrics.strategy_violations == 0, "{name}: {broken:?}");
    for (_, report) in &done.reports {
        assert_eq!(report_holds(report), Ok(()), "{name}");
    }
}

/// An input: turns of an agent, with what goes wrong in some. The user speaks between the results of one answer or
/// before them, results fail, never come or come after the next answers, and answers are cut.
pub(crate) fn history(_: &[&[u8]], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = vec![dice.below(256) as u8];
    for _ in 0..1 + dice.below(4) {
        bytes.extend([byte(Happening::User), size(dice)]);
        for _ in 0..dice.below(7) {
            let calls = dice.below(3);
            bytes.extend([byte(Happening::Calls), calls as u8]);
            for _ in 0..=calls {
                match dice.below(12) {
                    0 => continue,
                    // The call stays open, and one that an earlier answer left open may have its result.
                    10 | 11 => bytes.extend([byte(Happening::Late), size(dice)]),
                    1 => bytes.extend([
                        byte(Happening::User),
                        size(dice),
                        byte(Happening::Result),
                        size(dice),
                    ]),
                    2 => bytes.extend([byte(Happening::Failure), size(dice)]),
                    _ => bytes.extend([byte(Happening::Result), size(dice)]),
                }
            }
        }
        let last = if dice.below(8) == 0 { Happening::CutOff } else { Happening::Answer };
        bytes.extend([byte(last), 0]);
    }
    bytes
}

/// Half of all texts are short, and a few fill a small window.
fn size(dice: &mut Dice) -> u8 {
    let most = [20, 60, 160, 256][dice.below(4)];
    dice.below(most) as u8
}
