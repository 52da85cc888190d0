//! Any preset, any messages, any moments: what a guarded preset would send breaks no rule of any provider that the
//! log does not break itself, no fold makes the view larger, and the log stays what was appended.

use foldback_core::Limits;
use foldback_core::log::{Message, Part, Usage};
use foldback_core::moment::Moment;
use foldback_core::strategy::Strategy;
use foldback_core::validity::Monitor;
use foldback_testkit::talk::{at_usage, conversation};
use std::sync::{Arc, LazyLock};

fn limits() -> Limits {
    Limits::new(60_000, 15_000)
}

const MOMENTS: [Moment; 8] = [
    Moment::TurnStart,
    Moment::CallStart,
    Moment::StepEnd,
    Moment::ToolResult,
    Moment::LengthStop,
    Moment::ProviderOverflow,
    Moment::TurnEnd,
    Moment::Manual,
];

static PRESETS: LazyLock<Vec<Arc<Strategy>>> = LazyLock::new(|| {
    let registry = foldback::registry().unwrap();
    let names = registry.presets().map(|preset| preset.item.name);
    let all = names.map(|name| Arc::new(foldback::preset(&registry, name).unwrap()));
    all.filter(|strategy| strategy.refuses(limits()).is_none()).collect()
});

/// The first byte is the preset. Then two bytes each: what happens, and how much of it.
pub(crate) fn drive(data: &[u8]) {
    let Some((preset, happens)) = data.split_first() else { return };
    let strategy = &PRESETS[usize::from(*preset) % PRESETS.len()];
    let guarded = strategy.guards.off().is_empty();
    let mut talk = conversation(Arc::clone(strategy), limits());
    let mut monitor = Monitor::default();
    // Where the model speaks first, the log breaks a rule, and the view goes on to break it at another message.
    let mut log = vec![Arc::new(Message::user("first", "Look at src/main.rs."))];
    talk.append(Arc::clone(&log[0]));
    let mut open: Vec<String> = Vec::new();
    let text = |number: usize, size: u8| {
        format!("line {number} of src/main.rs\n").repeat(1 + usize::from(size).pow(2) / 60)
    };
    for (number, pair) in happens.chunks_exact(2).take(120).enumerate() {
        let (what, size) = (pair[0], pair[1]);
        // A result comes before the next answer or not at all; at the moments between two steps none is awaited.
        let moment = MOMENTS[usize::from(what / 8) % MOMENTS.len()];
        let in_step = matches!(moment, Moment::ToolResult | Moment::LengthStop);
        if matches!(what % 8, 1..=3) || what % 8 > 5 && !in_step {
            open.clear();
        }
        let message = match what % 8 {
            0 => Some(Message::user(format!("u{number}"), text(number, size / 8))),
            1 => Some(Message::assistant(format!("a{number}"), vec![Part::text("Done.")])),
            // Calls, as many as the size says, and results one by one.
            2 | 3 => {
                let ids = (0..1 + usize::from(size) % 3).map(|call| format!("c{number}-{call}"));
                open.extend(ids.clone());
                let calls = ids.map(|id| Part::call(id, "read", "{\"path\":\"src/main.rs\"}"));
                Some(Message::assistant(format!("a{number}"), calls.collect()))
            }
            4..=5 if !open.is_empty() => {
                let call = open.remove(usize::from(size) % open.len());
                Some(Message::tool(format!("t{number}"), call, "read", text(number, size)))
            }
            _ => None,
        };
        if let Some(message) = message {
            log.push(Arc::new(message));
            talk.append(Arc::clone(&log[log.len() - 1]));
            continue;
        }
        let usage =
            (size % 4 == 0).then(|| Usage { uncached: u64::from(size) * 500, ..Usage::default() });
        for report in at_usage(&mut talk, moment, usage) {
            if guarded && report.outcome.changed() {
                assert!(
                    report.tokens_after <= report.tokens_before,
                    "{}: {report:?}",
                    strategy.name
                );
            }
        }
        let findings = monitor.check(&talk);
        if guarded && open.is_empty() {
            assert!(findings.caused.is_empty(), "{}: {:?}", strategy.name, findings.caused);
        }
        let kept = talk.history().iter().map(|(_, message)| message).filter(|it| !it.is_entry());
        assert!(kept.eq(&log), "{} changed the log", strategy.name);
    }
}
