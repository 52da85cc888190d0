//! Any preset, any messages, any moments: what a guarded preset would send breaks no rule of any provider that the
//! log does not break itself, no fold makes the view larger, and the log stays what was appended.

use foldback_core::Limits;
use foldback_core::moment::Moment;
use foldback_core::strategy::Strategy;
use foldback_core::validity::Monitor;
use foldback_testkit::generate::{Happening, session};
use foldback_testkit::law::{report_holds, unaltered};
use foldback_testkit::{DriveEvent, drive as run};
use std::sync::{Arc, LazyLock};

const WINDOW: (u64, u64) = (60_000, 15_000);

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
    all.filter(|strategy| strategy.refuses(Limits::new(WINDOW.0, WINDOW.1)).is_none()).collect()
});

/// The first byte is the preset. Then two bytes each: what happens, and how much of it.
pub(crate) fn drive(data: &[u8]) {
    let Some((preset, happens)) = data.split_first() else { return };
    let strategy = &PRESETS[usize::from(*preset) % PRESETS.len()];
    let read = |pair: &[u8]| {
        let what = match pair[0] % 8 {
            0 => Happening::User,
            1 => Happening::Answer,
            2 | 3 => Happening::Calls,
            4 | 5 => Happening::Result,
            _ => Happening::Asks(MOMENTS[usize::from(pair[0] / 8) % MOMENTS.len()]),
        };
        (what, pair[1])
    };
    let happens: Vec<(Happening, u8)> = happens.chunks_exact(2).map(read).collect();
    let session = session(&happens).window(WINDOW.0, WINDOW.1);
    let guarded = strategy.guards.off().is_empty();
    let mut monitor = Monitor::default();
    let ran = run(&session, strategy, &mut |talk, seen| match seen {
        DriveEvent::Answered(_, _, reports) if guarded => reports.iter().try_for_each(report_holds),
        DriveEvent::Call | DriveEvent::End if guarded => {
            let caused = monitor.check(talk).caused;
            caused.first().map_or(Ok(()), |broken| Err(broken.to_string()))
        }
        _ => Ok(()),
    });
    let held = ran.and_then(|talk| unaltered(session.messages(), talk.history()));
    assert_eq!(held, Ok(()), "{}\n{session}", strategy.name);
}
