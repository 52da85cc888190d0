//! What every report says about a comparison besides its numbers, collected once.

use crate::number::{count, count_of};
use foldback_core::strategy::Kind;
use foldback_replay::Comparison;
use foldback_replay::compare::{CorpusSummary, Idle, PresetLine, Provenance, Unit};
use foldback_replay::repositories::is_repository;
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

/// The unit of intervals and tests, in words.
pub(crate) fn units(corpus: &CorpusSummary) -> &'static str {
    match corpus.unit {
        Unit::Repositories => "tasks or repositories",
        Unit::Sessions | Unit::Sums => "sessions",
    }
}

/// The tasks or repositories that the sessions fall into, by the word for what they are: `50 tasks`.
pub(crate) fn clusters(corpus: &CorpusSummary) -> String {
    // An unrecorded value says nothing about the others.
    let recorded = || corpus.sessions.iter().filter(|line| line.cluster != line.path);
    let repositories = recorded().filter(|line| is_repository(&line.cluster)).count();
    let [one, many] = match repositories {
        0 => ["task", "tasks"],
        all if all == recorded().count() => ["repository", "repositories"],
        _ => ["task or repository", "tasks or repositories"],
    };
    count_of(corpus.clusters as u64, one, many)
}

/// A share in whole percent: `95%`.
pub(crate) fn whole_percent(share: f64) -> String {
    format!("{:.0}%", share * 100.0)
}

/// Model calls and user turns of all sessions.
pub(crate) fn calls_and_turns(corpus: &CorpusSummary) -> (usize, usize) {
    let sessions = corpus.sessions.iter();
    sessions.fold((0, 0), |(calls, turns), session| (calls + session.calls, turns + session.turns))
}

/// The files that were not used, under their reasons.
pub(crate) fn skipped(corpus: &CorpusSummary) -> BTreeMap<&str, Vec<&str>> {
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for skipped in &corpus.skipped {
        reasons.entry(&skipped.reason).or_default().push(&skipped.path);
    }
    reasons
}

/// Strategies that failed a gate, with what they did.
pub(crate) fn refused(comparison: &Comparison) -> Vec<(&str, String)> {
    let strategies = comparison.presets.iter().filter(|line| line.kind == Kind::Strategy);
    strategies.filter_map(|line| Some((line.preset.as_str(), line.gate.why()?))).collect()
}

/// Strategies that run without some of the guards, a sentence each.
pub(crate) fn guards_off(comparison: &Comparison) -> Vec<String> {
    let lines = comparison.presets.iter().filter(|line| !line.guards_off.is_empty());
    lines
        .map(|line| {
            format!("{} runs without the guards {}", line.preset, line.guards_off.join(", "))
        })
        .collect()
}

/// Presets that did nothing in some sessions, in words, with those sessions, those closest to acting
/// first.
pub(crate) fn idle(comparison: &Comparison) -> Vec<(&PresetLine, String, Vec<Idle<'_>>)> {
    let lines = comparison.presets.iter().enumerate();
    let lines = lines.map(|(at, line)| (line, comparison.nearest_idle(at)));
    lines
        .filter(|(_, nearest)| !nearest.is_empty())
        .map(|(line, nearest)| {
            let sentence = format!("in {} of {} sessions", nearest.len(), line.sessions);
            (line, sentence, nearest)
        })
        .collect()
}

/// The inputs and the program of a comparison, and how to cite it, one sentence each.
pub(crate) fn provenance(comparison: &Comparison) -> Vec<String> {
    let Provenance { version, command, .. } = &comparison.provenance;
    let experiment = comparison.reporting.experiment.as_ref();
    let experiment = experiment.map(|hash| format!(", experiment {hash}"));
    let experiment = experiment.unwrap_or_default();
    let made = format!(
        "{}{experiment}. With the same version and hashes, the figures are the same.",
        comparison.provenance.made()
    );
    let cite = format!(
        "To cite: foldback, version {version}: context compaction for LLM agents (CITATION.cff in its repository), \
         with the hashes above."
    );
    let command = command.as_ref().map(|command| format!("Command: {command}"));
    [made].into_iter().chain(command).chain([cite]).collect()
}

/// Notes on the numbers: first on the recordings, then the assumptions.
pub(crate) fn notes(comparison: &Comparison) -> Vec<String> {
    let mut notes = Vec::new();
    let with = || comparison.corpus.sessions.iter().filter(|one| one.warnings > 0);
    let warnings: usize = with().map(|session| session.warnings).sum();
    if warnings > 0 {
        notes.push(format!(
            "{} in {} (`foldback inspect FILE` lists them)",
            count(warnings as u64, "warning"),
            count(with().count() as u64, "session")
        ));
    }
    let lines = comparison.presets.iter();
    let inherited = lines.map(|line| line.inherited_violations).max().unwrap_or(0);
    if inherited > 0 {
        notes.push(format!(
            "the recordings themselves break {}, under any preset",
            count(inherited, "provider rule")
        ));
    }
    notes.extend(comparison.assumptions.iter().cloned());
    notes
}
