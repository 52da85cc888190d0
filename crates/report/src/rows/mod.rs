//! One row per session, preset and call, for notebooks and databases: as JSON lines, as CSV, and with
//! the feature `parquet` as Parquet; with the feature `arrow` as Arrow record batches.
//!
//! A row is flat but for `fired`. It holds counts only and no price, so that a bill under any price and
//! retention over any part of the calls can be made of rows alone. Rows are read from the store session
//! by session, and one session is all that is in memory.

#[cfg(feature = "arrow")]
mod arrow;
mod cell;
pub(crate) mod csv;
#[cfg(feature = "parquet")]
pub(crate) mod parquet;

#[cfg(feature = "arrow")]
pub use arrow::Batches;
use foldback_core::strategy::Kind;
use foldback_replay::compare::SessionOutcome;
use foldback_replay::retention::Retention;
use foldback_replay::study::{Knowledge, Record};
use foldback_replay::totals::{BrokenRule, Fired};
use foldback_replay::{Comparison, Store};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::io::{self, Result, Write};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Writes rows that are no rows of a comparison, and hold no lists.
///
/// # Errors
///
/// They can't be written.
pub fn flat(rows: &[impl Serialize], format: Format, out: &mut dyn Write) -> Result<()> {
    let rows = rows.iter().map(|row| Ok(serde_json::from_value(serde_json::to_value(row)?)?));
    let rows = rows.collect::<Result<Vec<Map<String, Value>>>>()?;
    match format {
        Format::Csv => csv::flat(&rows, out),
        #[cfg(feature = "parquet")]
        Format::Parquet => parquet::write_json(&rows, out),
        Format::Jsonl => rows.iter().try_for_each(|row| json_line(row, out)),
    }
}

/// Writes a row as a line of JSON.
fn json_line(row: &impl Serialize, out: &mut dyn Write) -> Result<()> {
    serde_json::to_writer(&mut *out, row)?;
    out.write_all(b"\n")
}

/// One request that a preset would have sent in the place of a recorded one.
///
/// Tokens are by the reporting estimator (`--estimator`) unless they are stated to be the provider's.
/// `session`, `preset` and `call` together identify a row. `null` is an empty cell in CSV and Parquet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Row<'a> {
    /// Path of the file, followed by `#id` if the file holds several sessions.
    pub session: &'a str,
    /// Task or repository: sessions of one are not independent. The path if not recorded.
    pub cluster: &'a str,
    /// Id of the format of the recording.
    pub format: &'a str,
    /// Name of the preset, with the summarizer that stood in.
    pub preset: &'a str,
    /// `strategy` for something to use, `control` for a reference.
    pub kind: Kind,
    /// Estimator that the preset decides with.
    pub estimator: &'a str,
    /// Window in force, in tokens.
    pub context: u64,
    /// Output limit in force, in tokens.
    pub output_limit: u64,
    /// Number of the call in the session, from 0.
    pub call: usize,
    /// Number of the user turn, from 1.
    pub turn: usize,
    /// When the request was sent, in milliseconds since the Unix epoch; `null` if not recorded.
    pub start_ms: Option<i64>,
    /// Messages in the view; `null` if the content of the request is not recorded.
    pub messages: Option<u64>,
    /// Size of the request in tokens: system prompt, tools and view.
    pub input_tokens: u64,
    /// The same in tokens as the recording's provider would count them, by the scale that recorded usage gives; `null`
    /// if it gives none.
    pub calibrated_input: Option<u64>,
    /// The same in tokens by the preset's own estimator; `null` if no preset decided.
    pub decision_tokens: Option<u64>,
    /// Size of the request in tokens if nothing had ever been compacted.
    pub uncompacted_tokens: u64,
    /// Tokens of the recorded answer, by the provider's count if recorded.
    pub output_tokens: u64,
    /// Web searches that the provider made for the answer and bills separately, if recorded.
    pub web_searches: u64,
    /// Size in tokens of the request that the recorder sent, by its provider's count; `null` if not
    /// recorded.
    pub recorded_input: Option<u64>,
    /// Tokens that the provider read from its cache for it; `null` if not recorded.
    pub recorded_cache_read: Option<u64>,
    /// Tokens of the request in a prompt cache without expiry: the prefix that it shares with the
    /// request before.
    pub cache_read: u64,
    /// Tokens that were in this cache and had to be written again, because something before them had
    /// changed.
    pub churn: u64,
    /// Largest request that the provider would accept, in tokens; `null` if unknown.
    pub ceiling: Option<u64>,
    /// The provider would have refused the request as it was before the preset could react to the
    /// refusal.
    pub overflow: bool,
    /// Tokens by which the request that was finally sent is over the ceiling.
    pub excess: u64,
    /// What changed the view since the call before. CSV and Parquet have it as text: `moment:stage`,
    /// several joined by `+`.
    pub fired: &'a [Fired],
    /// The recorder had compacted its own context before this call.
    pub recorder_compacted: bool,
    /// Provider rules that this request is the first to break, and that the recording keeps. CSV and
    /// Parquet have them as text: `dialect:rule:message`, several joined by `+`.
    pub broken: &'a [BrokenRule],
    /// The call counts for retention: it is not before the first call of the session at which any of the
    /// presets had changed something. The same for all presets.
    pub exam: bool,
    /// References of the call: identifiers in the arguments of its tool calls that were already in the log.
    pub frr_needed: u64,
    /// How many of those are in the view.
    pub frr_kept: u64,
    /// How many of those kept are only in what a compaction wrote.
    pub frr_rescued: u64,
    /// References that only tools and users had said, never the model.
    pub frr_obs_needed: u64,
    /// How many of those are in the view.
    pub frr_obs_kept: u64,
    /// References last seen more than three calls ago.
    pub frr_far_needed: u64,
    /// How many of those are in the view.
    pub frr_far_kept: u64,
    /// References that are both: seen only in what tools and users said, and more than three calls ago.
    pub frr_obs_far_needed: u64,
    /// How many of those are in the view.
    pub frr_obs_far_kept: u64,
    /// Edits of the call whose old text was already in the log.
    pub epr_needed: u64,
    /// How many of those old texts are in the view.
    pub epr_kept: u64,
    /// Pieces of the call's arguments that were in tool results word for word and that neither user nor
    /// model had said.
    pub verbatim_needed: u64,
    /// How many of those are in the view.
    pub verbatim_kept: u64,
    /// Such pieces last seen more than three calls ago.
    pub verbatim_far_needed: u64,
    /// How many of those are in the view.
    pub verbatim_far_kept: u64,
    /// Rules that the user had given before the call: sentences with "never", "always", "do not" and the like.
    pub rules_needed: u64,
    /// How many of those are in the view word for word.
    pub rules_kept: u64,
    /// How many are in the view word for word, or by all the names in them.
    pub rules_named: u64,
    /// Tool results that are read again before this call, where what is missed is read again with the chance that recordings show.
    pub rereads: u64,
    /// Size of those results in tokens.
    pub reread_tokens: u64,
    /// How often the preset's policy said that the view is too large since the call before; on the last call of a
    /// session, as for the following counts, also after it.
    pub overflow_detections: u64,
    /// Content in tokens that pruners removed since the call before, by the preset's own estimator, placeholders not
    /// subtracted.
    pub tokens_pruned: u64,
    /// Summary requests that compactions made since the call before; on the last call of a
    /// session also those after it.
    pub summary_requests: u64,
    /// Input of those requests in tokens, as billed.
    pub summary_input: u64,
    /// Their answers in tokens.
    pub summary_output: u64,
    /// What the session came to, by the file of `--outcomes`: 1 for solved, 0 for not, or any number; `null` if the file
    /// does not say.
    pub outcome: Option<f64>,
    /// What the session was recorded under, by the same file; empty if it does not say.
    pub arm: &'a str,
    /// Why the session could not be replayed under the preset; empty where it was. The row is then the only one of both, and its
    /// counts say nothing.
    pub failed: &'a str,
    /// Hash of the experiment file that fixed the comparison beforehand; empty without one.
    pub experiment: &'a str,
    /// Hash of the bytes of the session's file.
    pub content: &'a str,
    /// Hash of limits, model tables, prices, estimator and the configuration of all presets.
    pub configuration: &'a str,
    /// Version of foldback.
    pub version: &'a str,
    /// Hash of the command line that made the rows; empty without one. The line itself stands once: in the metadata of a Parquet
    /// file or an Arrow table (`foldback.command`), and in the document of `--json` (`provenance.command`, beside this hash).
    pub command: &'a str,
}

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One JSON object per line.
    Jsonl,
    /// Comma-separated values (RFC 4180), names in the first line.
    Csv,
    /// Apache Parquet, uncompressed.
    #[cfg(feature = "parquet")]
    Parquet,
}

/// A file that rows can't be written to.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FormatError {
    /// Parquet was requested in a build without the feature.
    #[error(
        "this build knows no Parquet. Build it with `--features parquet` \
         (`cargo install --path crates/cli --features parquet`), or use JSON lines: a name that ends in .jsonl"
    )]
    NoParquet,
    /// The name promises another format.
    #[error("{}: rows are written as JSON lines, CSV or Parquet: a name that ends in .jsonl, .csv or .parquet", .0.display())]
    Unknown(PathBuf),
}

impl Format {
    /// By the file name extension: `.csv`, `.parquet`, and JSON lines for `.jsonl`, `.ndjson`, `.json` or none.
    ///
    /// # Errors
    ///
    /// The name ends in something else, or in what this build can't write.
    pub fn from_path(path: &Path) -> std::result::Result<Self, FormatError> {
        let ending = path.extension().unwrap_or_default();
        if ending.eq_ignore_ascii_case("csv") {
            Ok(Self::Csv)
        } else if ending.eq_ignore_ascii_case("parquet") {
            #[cfg(feature = "parquet")]
            return Ok(Self::Parquet);
            #[cfg(not(feature = "parquet"))]
            Err(FormatError::NoParquet)
        } else if ["", "json", "jsonl", "ndjson"].iter().any(|it| ending.eq_ignore_ascii_case(it)) {
            Ok(Self::Jsonl)
        } else {
            Err(FormatError::Unknown(path.to_owned()))
        }
    }
}

/// Writes the rows of a comparison, by session, then preset, then call.
pub fn write(
    comparison: &Comparison,
    store: &Store,
    format: Format,
    out: &mut dyn Write,
) -> Result<()> {
    match format {
        Format::Jsonl => each(comparison, store, |row| json_line(row, out)),
        Format::Csv => {
            let mut table = csv::Table::new(out)?;
            each(comparison, store, |row| table.push(row))?;
            table.finish()
        }
        #[cfg(feature = "parquet")]
        Format::Parquet => {
            let mut table = parquet::Table::new(out, metadata(comparison))?;
            each(comparison, store, |row| table.push(row))?;
            table.finish()
        }
    }
}

/// The rows of a comparison as a table in memory, in the same order.
#[cfg(feature = "arrow")]
pub fn batches(comparison: &Comparison, store: &Store) -> Result<Batches> {
    let mut batcher = arrow::Batcher::new(metadata(comparison));
    let mut batches = Vec::new();
    each(comparison, store, |row| {
        batches.extend(batcher.push(row)?);
        Ok(())
    })?;
    batches.extend(batcher.rest()?);
    Ok(Batches { schema: batcher.schema, batches })
}

/// What a file or a table says of itself, once: the version of its schema, and the command line that made it.
#[cfg(feature = "arrow")]
fn metadata(comparison: &Comparison) -> Vec<(String, String)> {
    let command = comparison.provenance.command.clone();
    let command = command.map(|line| ("foldback.command".to_owned(), line));
    [("foldback.schema".to_owned(), cell::ROW.to_owned())].into_iter().chain(command).collect()
}

fn each(
    comparison: &Comparison,
    store: &Store,
    mut take: impl FnMut(&Row<'_>) -> Result<()>,
) -> Result<()> {
    let experiment = comparison.reporting.experiment.as_deref();
    let experiment = experiment.unwrap_or_default();
    let provenance = &comparison.provenance;
    let outcomes = comparison.outcomes.iter().flat_map(|outcomes| &outcomes.sessions);
    let outcomes: BTreeMap<usize, &SessionOutcome> = outcomes.map(|one| (one.at, one)).collect();
    for (number, session) in comparison.corpus.sessions.iter().enumerate() {
        let gone = || io::Error::other(format!("the results of {} are gone", session.path));
        let facts = comparison.facts(store, number).ok_or_else(gone)?;
        let presets = 0..comparison.presets.len();
        let records: Vec<Record> = presets
            .map(|preset| comparison.record(store, number, preset).ok_or_else(gone))
            .collect::<Result<_>>()?;
        let start = Record::exam_start(&records);
        let scale = facts.session.scale;
        let outcome = outcomes.get(&number);
        for (preset, record) in comparison.presets.iter().zip(&records) {
            let provided = Row {
                session: &session.path,
                cluster: &session.cluster,
                format: &session.format,
                preset: &preset.preset,
                kind: preset.kind,
                estimator: &preset.estimator,
                context: record.limits.context,
                output_limit: record.limits.output,
                outcome: outcome.map(|one| one.outcome),
                arm: outcome.and_then(|one| one.arm.as_deref()).unwrap_or_default(),
                experiment,
                content: &session.content,
                configuration: &provenance.configuration,
                version: &provenance.version,
                command: provenance.command_hash.as_deref().unwrap_or_default(),
                ..Row::default()
            };
            if let Some(fault) = &record.fault {
                let failed = fault.to_string();
                take(&Row { failed: &failed, ..provided.clone() })?;
            }
            for (call, facts) in record.rows.iter().zip(&facts.calls) {
                // What the recorder sent is known by its size alone.
                let decided = matches!(record.known, Knowledge::Everything | Knowledge::Least);
                let Retention { obs, obs_far, rescued, edits, pieces, pieces_far, rules, .. } =
                    call.retention;
                let (frr, far) = (call.retention.frr(), call.retention.far());
                take(&Row {
                    call: call.call,
                    turn: call.turn,
                    start_ms: facts.start_ms,
                    messages: decided.then_some(call.messages as u64),
                    input_tokens: call.input_tokens,
                    decision_tokens: decided.then_some(call.decision_tokens),
                    uncompacted_tokens: facts.uncompacted,
                    output_tokens: facts.output,
                    calibrated_input: scale.map(|scale| scale.request(call.input_tokens)),
                    web_searches: facts.web_searches,
                    recorded_input: call.recorded_input,
                    recorded_cache_read: facts.recorded_read,
                    cache_read: call.cache_read,
                    churn: call.churn,
                    ceiling: call.ceiling,
                    overflow: call.overflow,
                    excess: call.excess,
                    fired: &call.fired,
                    recorder_compacted: call.recorder_compacted,
                    broken: &call.broken,
                    exam: start.is_some_and(|start| call.call >= start),
                    frr_needed: frr.needed,
                    frr_kept: frr.kept,
                    frr_rescued: rescued,
                    frr_obs_needed: obs.needed,
                    frr_obs_kept: obs.kept,
                    frr_far_needed: far.needed,
                    frr_far_kept: far.kept,
                    frr_obs_far_needed: obs_far.needed,
                    frr_obs_far_kept: obs_far.kept,
                    epr_needed: edits.needed,
                    epr_kept: edits.kept,
                    verbatim_needed: pieces.needed,
                    verbatim_kept: pieces.kept,
                    verbatim_far_needed: pieces_far.needed,
                    verbatim_far_kept: pieces_far.kept,
                    rules_needed: rules.needed,
                    rules_kept: rules.kept,
                    rules_named: call.retention.rules_named,
                    rereads: call.retention.rereads,
                    reread_tokens: call.retention.reread_tokens,
                    overflow_detections: call.overflow_detections,
                    tokens_pruned: call.tokens_pruned,
                    summary_requests: call.summary_requests,
                    summary_input: call.summary_input,
                    summary_output: call.summary_output,
                    ..provided.clone()
                })?;
            }
        }
    }
    Ok(())
}

/// A row for the tests of tables: every kind of cell changes from row to row.
#[cfg(all(test, feature = "arrow"))]
fn sample(call: usize) -> Row<'static> {
    Row {
        preset: if call < 2 { "none" } else { "ünly" },
        call,
        start_ms: (!call.is_multiple_of(3)).then_some(call as i64),
        overflow: call % 2 == 1,
        ..Row::default()
    }
}
