//! What every report says of a comparison besides its numbers, gathered once.

use foldback_replay::Comparison;
use foldback_replay::compare::CorpusSummary;
use std::collections::BTreeMap;

/// The sessions by format, in words: `3 claude-code, 1 codex`.
pub(crate) fn formats(corpus: &CorpusSummary) -> String {
    let mut formats: BTreeMap<&str, usize> = BTreeMap::new();
    for session in &corpus.sessions {
        *formats.entry(&session.format).or_default() += 1;
    }
    let formats: Vec<String> =
        formats.iter().map(|(format, count)| format!("{count} {format}")).collect();
    formats.join(", ")
}

/// Model calls and user turns of all sessions.
pub(crate) fn calls_and_turns(corpus: &CorpusSummary) -> (usize, usize) {
    let sessions = corpus.sessions.iter();
    sessions.fold((0, 0), |(calls, turns), session| (calls + session.calls, turns + session.turns))
}

/// Warnings of the importers, and the sessions that have any.
pub(crate) fn warnings(corpus: &CorpusSummary) -> (usize, usize) {
    let with = corpus.sessions.iter().filter(|one| one.warnings > 0);
    with.fold((0, 0), |(warnings, sessions), session| (warnings + session.warnings, sessions + 1))
}

/// Rules of providers that the recordings break themselves, whatever the preset.
pub(crate) fn inherited(comparison: &Comparison) -> u64 {
    let lines = comparison.presets.iter();
    lines.map(|line| line.inherited_violations).max().unwrap_or(0)
}

/// The files that were not used, under their reasons.
pub(crate) fn skipped(corpus: &CorpusSummary) -> BTreeMap<&str, Vec<&str>> {
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for skipped in &corpus.skipped {
        reasons.entry(&skipped.reason).or_default().push(&skipped.path);
    }
    reasons
}
