//! Sessions in which a preset did nothing, and why.

use super::{Layout, wrap};
use crate::number::percent;
use foldback_core::strategy::Kind;
use foldback_replay::Comparison;
use foldback_replay::compare::{Idle, NO_STAGE, PresetLine};
use std::fmt::Write as _;

/// The sessions that came nearest to a compaction, by preset.
pub(super) fn list(out: &mut String, comparison: &Comparison, layout: Layout) {
    let with_idle: Vec<&PresetLine> = comparison
        .presets
        .iter()
        .filter(|line| !line.idle.is_empty() && line.kind == Kind::Strategy)
        .filter(|line| line.idle.iter().any(|idle| idle.why != NO_STAGE))
        .collect();
    if with_idle.is_empty() {
        return;
    }
    out.push_str("\nIdle\n");
    for line in with_idle {
        let acted = match line.triggered_input_ratio {
            Some(ratio) => format!("where it acted, input was {}", percent(ratio)),
            None => "it acted nowhere".to_owned(),
        };
        let _ = writeln!(
            out,
            "  {} in {} of {} sessions; {acted}",
            line.preset,
            line.idle.len(),
            line.sessions
        );
        // Those that would act at the largest window came nearest.
        let mut nearest: Vec<&Idle> = line.idle.iter().collect();
        nearest.sort_by_key(|idle| std::cmp::Reverse(idle.window));
        for idle in nearest.into_iter().take(layout.idle_per_preset) {
            wrap(out, "    ", &idle_text(idle), layout.width);
        }
        if line.idle.len() > layout.idle_per_preset {
            let _ = writeln!(
                out,
                "    … and {} more (all of them with --json)",
                line.idle.len() - layout.idle_per_preset
            );
        }
    }
}

fn idle_text(idle: &Idle) -> String {
    let window = idle
        .window
        .map_or(String::new(), |window| format!("; it would act with --window {window}"));
    format!("{}: {}{window}", idle.path, idle.why)
}
