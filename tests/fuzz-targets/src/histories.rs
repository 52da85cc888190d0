//! Any recorded session under every preset, as the laboratory replays it: a guarded preset breaks no rule of any
//! provider that the session does not break itself, no fold makes the view larger, a fold that fails changes nothing,
//! and the log stays what was appended.

use crate::mutate::Dice;
use foldback_core::Limits;
use foldback_core::log::{
    Answer, Finish, Message, Part, PartKind, ResultStatus, Role, ToolResult, Usage,
};
use foldback_core::strategy::Strategy;
use foldback_formats::Session;
use foldback_formats::session::{Shape, Source};
use foldback_replay::{ReplayOptions, replay};
use foldback_stages::estimator::{Rounding, Unit, chars};
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

// What a message is, by its first byte. The second says how long it is, or how many calls an answer has.
const USER: u8 = 0;
const ANSWER: u8 = 1;
const CALLS: u8 = 2;
const RESULT: u8 = 3;
const FAILURE: u8 = 4;
const CUT: u8 = 5;
const KINDS: u8 = 6;

/// The most messages of a session.
const LONGEST: usize = 60;

/// The first byte is the window; then a message takes two bytes.
pub(crate) fn histories(data: &[u8]) {
    let Some((window, messages)) = data.split_first() else { return };
    let (limits, presets) = &WORLDS[usize::from(*window) % WORLDS.len()];
    let session = session(messages);
    let options = ReplayOptions {
        limits: *limits,
        ceiling: None,
        model: None,
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
    let kept = done.conversation.history().iter().map(|(_, message)| message);
    let kept = kept.filter(|message| !message.is_entry()).map(Arc::as_ptr);
    assert!(kept.eq(session.messages.iter().map(Arc::as_ptr)), "{name} changed the log");
    if !strategy.guards.off().is_empty() {
        return;
    }
    let broken: Vec<_> = done.rows.iter().flat_map(|row| &row.broken).collect();
    assert!(broken.is_empty() && done.metrics.strategy_violations == 0, "{name}: {broken:?}");
    for (_, report) in &done.reports {
        let (before, after) = (report.tokens_before, report.tokens_after);
        assert!(after <= before, "{name}: {report:?}");
        assert!(report.outcome.changed() || after == before, "{name}: {report:?}");
    }
}

/// The session that bytes stand for. Results answer calls of the latest answer or are left out.
fn session(bytes: &[u8]) -> Session {
    // Where the model speaks first, the log breaks a rule, and the view goes on to break it at another message.
    let mut messages =
        vec![Message::user("first", "Mend the build, and keep what src/main.rs offers.")];
    let mut open: Vec<String> = Vec::new();
    let mut characters = 0;
    for (number, pair) in bytes.chunks_exact(2).take(LONGEST).enumerate() {
        let (kind, size) = (pair[0] % KINDS, pair[1]);
        let text =
            || format!("line {number} of src/main.rs\n").repeat(1 + usize::from(size).pow(2) / 60);
        let message = match kind {
            USER => Message::user(format!("u{number}"), text()),
            ANSWER | CALLS | CUT => {
                let calls = if kind == CALLS { 1 + usize::from(size) % 3 } else { 0 };
                open = (0..calls).map(|call| format!("c{number}-{call}")).collect();
                let answer = answer(kind, &open, characters / 4);
                Message::assistant(format!("a{number}"), said(&open)).with_answer(answer)
            }
            _ if open.is_empty() => continue,
            _ => {
                let call = open.remove(usize::from(size) % open.len());
                let status = match kind {
                    FAILURE => ResultStatus::Error,
                    _ => ResultStatus::Completed,
                };
                let result = ToolResult {
                    call_id: call,
                    tool: "read".to_owned(),
                    status,
                    text: text(),
                    ..ToolResult::default()
                };
                let part = Part::new(PartKind::Result(result));
                Message::new(format!("t{number}"), Role::Tool, vec![part])
            }
        };
        characters += message.shown_text().len() as u64;
        messages.push(message);
    }
    let source = Source { text: "".into(), shape: Shape::Lines, records: Default::default() };
    let mut session = Session::new("history", "foldback", source);
    for (number, message) in (0..).zip(&mut messages) {
        message.at = Some(1_760_000_000_000 + 20_000 * i64::from(number));
        message.record = Some(number);
    }
    session.messages = messages.into_iter().map(Arc::new).collect();
    session
}

fn said(calls: &[String]) -> Vec<Part> {
    match calls {
        [] => vec![Part::text("We decided to keep parse_line in src/lib.rs.")],
        calls => {
            let path = "{\"path\":\"src/main.rs\"}";
            calls.iter().map(|call| Part::call(call, "read", path)).collect()
        }
    }
}

fn answer(kind: u8, calls: &[String], tokens: u64) -> Answer {
    let finish = match (kind, calls) {
        (CUT, _) => Finish::Length,
        (_, []) => Finish::Stop,
        _ => Finish::ToolCalls,
    };
    let usage = Usage { uncached: tokens, output: 50, ..Usage::default() };
    Answer { usage: Some(usage), finish: Some(finish), ..Answer::default() }
}

/// An input: turns of an agent, with what goes wrong in some. The user speaks between the results of one answer or
/// before them, results fail or never come, and answers are cut.
pub(crate) fn history(_: &[&[u8]], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = vec![dice.below(256) as u8];
    for _ in 0..1 + dice.below(4) {
        bytes.extend([USER, size(dice)]);
        for _ in 0..dice.below(7) {
            let calls = dice.below(3);
            bytes.extend([CALLS, calls as u8]);
            for _ in 0..=calls {
                match dice.below(10) {
                    0 => continue,
                    1 => bytes.extend([USER, size(dice), RESULT, size(dice)]),
                    2 => bytes.extend([FAILURE, size(dice)]),
                    _ => bytes.extend([RESULT, size(dice)]),
                }
            }
        }
        bytes.extend([if dice.below(8) == 0 { CUT } else { ANSWER }, 0]);
    }
    bytes
}

/// Half of all texts are short, and a few fill a small window.
fn size(dice: &mut Dice) -> u8 {
    let most = [20, 60, 160, 256][dice.below(4)];
    dice.below(most) as u8
}
