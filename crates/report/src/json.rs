//! Output for programs, with stable keys.

use foldback_replay::compare::{Contrast, CorpusSummary, PresetLine, Reporting};
use foldback_replay::cost::Agreement;
use foldback_replay::measure::CallRow;
use foldback_replay::{Comparison, Store};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;

/// The document that `compare --json` writes.
#[derive(Serialize)]
struct Document<'a> {
    corpus: &'a CorpusSummary,
    reporting: &'a Reporting,
    assumptions: &'a [String],
    cautions: &'a [String],
    cache_check: BTreeMap<&'a str, &'a Agreement>,
    presets: &'a [PresetLine],
    contrasts: &'a [Contrast],
}

/// A comparison as one JSON document, indented, with a newline at its end.
pub fn comparison(comparison: &Comparison) -> serde_json::Result<String> {
    let mut text = serde_json::to_string_pretty(&Document {
        corpus: &comparison.corpus,
        reporting: &comparison.reporting,
        assumptions: &comparison.assumptions,
        cautions: &comparison.cautions,
        cache_check: comparison
            .cache_check
            .iter()
            .map(|(name, agreement)| (name.as_str(), agreement))
            .collect(),
        presets: &comparison.presets,
        contrasts: &comparison.contrasts,
    })?;
    text.push('\n');
    Ok(text)
}

#[derive(Serialize)]
struct Row<'a> {
    session: &'a str,
    format: &'a str,
    preset: &'a str,
    context: u64,
    #[serde(flatten)]
    call: &'a CallRow,
}

/// One JSON line per session, preset and call, read from the store session by session.
pub fn rows(comparison: &Comparison, store: &Store, out: &mut dyn Write) -> std::io::Result<()> {
    for (number, session) in comparison.corpus.sessions.iter().enumerate() {
        for (at, preset) in comparison.presets.iter().enumerate() {
            let record = comparison.record(store, number, at).ok_or_else(|| {
                std::io::Error::other(format!("the results of {} are gone", session.path))
            })?;
            for call in &record.rows {
                let row = Row {
                    session: &session.path,
                    format: &session.format,
                    preset: &preset.preset,
                    context: record.limits.context,
                    call,
                };
                serde_json::to_writer(&mut *out, &row)?;
                out.write_all(b"\n")?;
            }
        }
    }
    Ok(())
}
