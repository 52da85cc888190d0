//! The law that nothing panics, tried on what fills a view at once: many calls in one answer, results and messages that are larger than
//! the window, from the first answer on.

use crate::drive::drive;
use crate::session::{Session, lines};
use crate::subject::Subject;
use foldback_core::Limits;
use foldback_core::moment::Moment;
use proptest::prelude::*;
use std::ops::RangeInclusive;

/// Windows in tokens, and how often each is drawn: a large one takes as much longer as it is larger.
const WINDOWS: [(u64, u32); 6] =
    [(4_000, 8), (16_000, 6), (60_000, 4), (128_000, 3), (200_000, 2), (1_000_000, 1)];

/// Calls of one answer.
const CALLS: RangeInclusive<usize> = 1..=12;

/// Characters of a token, about.
const CHARACTERS: u64 = 4;

/// Something that happens, and which share of the window it has, in percent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    what: Happening,
    percent: u64,
}

#[derive(Clone, Copy, Debug)]
enum Happening {
    /// An answer with so many calls, and their results; one of them may have nearly all.
    Calls(usize, bool),
    User,
    Answer,
    Asks(Moment),
}

/// The first answer, what comes after it, and the window.
pub(super) type Drawn = (Block, Vec<Block>, u64);

/// What can be drawn.
pub(super) fn drawn() -> impl Strategy<Value = Drawn> {
    let percent = || prop_oneof![2 => 0..30_u64, 2 => 30..100_u64, 1 => 100..160_u64];
    let calls = || (CALLS, any::<bool>()).prop_map(|(calls, one)| Happening::Calls(calls, one));
    let what = prop_oneof![
        4 => calls(),
        2 => Just(Happening::User),
        1 => Just(Happening::Answer),
        1 => Just(Happening::Asks(Moment::Manual)),
        1 => Just(Happening::Asks(Moment::ProviderOverflow)),
    ];
    let block = (what, percent()).prop_map(|(what, percent)| Block { what, percent });
    let first = (calls(), percent()).prop_map(|(what, percent)| Block { what, percent });
    let windows = WINDOWS.map(|(window, weight)| (weight, Just(window)));
    let windows = proptest::strategy::Union::new_weighted(windows.into());
    (first, prop::collection::vec(block, 0..6), windows)
}

/// A view that is filled at once in the largest window, and a fold that a person asks for: too few are drawn.
pub(super) fn largest() -> Drawn {
    let block = |what, percent| Block { what, percent };
    let rest = [block(Happening::User, 1), block(Happening::Asks(Moment::Manual), 0)];
    let window = WINDOWS.map(|(window, _)| window).into_iter().max().unwrap_or_default();
    (block(Happening::Calls(*CALLS.end(), false), 110), rest.into(), window)
}

/// The session that was drawn.
pub(super) fn session((first, rest, window): &Drawn) -> Session {
    let mut session = Session::new("crowded")
        .window(*window, window / 8)
        .user("Read what you need and tell me what it does.");
    for (number, Block { what, percent }) in std::iter::once(first).chain(rest).enumerate() {
        let size = (window * CHARACTERS * percent / 100) as usize;
        session = match what {
            Happening::Calls(calls, one) => {
                let name = |call: usize| format!("src/m{number}_{call}.rs");
                let size = |call: usize| match (*one, call) {
                    (true, 0) => size,
                    (true, _) => 1,
                    (false, _) => size / calls,
                };
                let made: Vec<(String, String)> = (0..*calls)
                    .map(|call| {
                        let name = name(call);
                        (format!("{{\"path\":\"{name}\"}}"), lines(&name, size(call)))
                    })
                    .collect();
                let tools = made.iter().map(|(given, result)| ("read", given.as_str(), &**result));
                session.calls("", &tools.collect::<Vec<_>>())
            }
            Happening::User => session.user(lines("pasted", size.max(1))),
            Happening::Answer => session.answer(lines("said", size.max(1))),
            Happening::Asks(moment) => session.at(*moment),
        };
    }
    session
}

/// Runs it. A panic is caught by what draws the sessions.
pub(super) fn panics(subject: &Subject, drawn: &Drawn) -> Result<(), String> {
    let session = session(drawn);
    let strategy = subject.strategy(&session);
    if strategy.refuses(limits(drawn)).is_none() {
        drive(&session, &strategy, &mut |_, _| Ok(()))?;
    }
    Ok(())
}

pub(super) fn limits((.., window): &Drawn) -> Limits {
    Limits::new(*window, window / 8)
}
