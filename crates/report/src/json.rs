//! Output for programs, with stable keys.

use foldback_replay::Comparison;
use foldback_replay::compare::{CorpusSummary, PresetLine};
use foldback_replay::measure::CallRow;
use serde::Serialize;

/// The document that `compare --json` writes.
#[derive(Serialize)]
struct Document<'a> {
    corpus: &'a CorpusSummary,
    assumptions: &'a [String],
    presets: &'a [PresetLine],
}

/// A comparison as one JSON document, indented, with a newline at its end.
pub fn comparison(comparison: &Comparison) -> serde_json::Result<String> {
    let Comparison {
        corpus,
        assumptions,
        presets,
        ..
    } = comparison;
    let mut text = serde_json::to_string_pretty(&Document {
        corpus,
        assumptions,
        presets,
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

/// One JSON line per session, preset and call.
pub fn rows(comparison: &Comparison) -> serde_json::Result<String> {
    let mut text = String::new();
    for result in &comparison.results {
        let session = &comparison.corpus.sessions[result.session];
        for call in &result.rows {
            let row = Row {
                session: &session.path,
                format: &session.format,
                preset: &comparison.presets[result.preset].preset,
                context: result.limits.context,
                call,
            };
            text.push_str(&serde_json::to_string(&row)?);
            text.push('\n');
        }
    }
    Ok(text)
}
