//! A comparison as one JSON document, with stable keys.

use crate::verdict;
use foldback_replay::Comparison;
use foldback_replay::compare::{
    Base, Contrast, CorpusSummary, Idle, Outcomes, PresetLine, Provenance, Reporting, Verdict,
    short_hash,
};
use foldback_replay::corpus::Skipped;
use foldback_replay::fault::FailedReplay;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use std::io::{self, Write};

/// Version of the document of a comparison. It moves when a key goes or changes its meaning; further keys may come
/// without.
const COMPARISON: &str = "foldback/comparison/1";

/// What every preset would have sent over a corpus of recorded sessions, what it would have cost and
/// what it would have forgotten.
///
/// Tokens are by the reporting estimator (`--estimator`) unless stated otherwise, money is in US dollars,
/// shares are from 0 to 1, and `null` is a value that does not exist.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Comparison")]
pub(crate) struct Document<'a> {
    /// Version of this document. Keys may be added without a new one.
    #[schemars(extend("const" = COMPARISON))]
    schema: &'static str,
    /// The inputs and the program behind it.
    provenance: &'a Provenance,
    /// What was compared, with every session accounted for.
    corpus: &'a CorpusSummary,
    /// Prices and seed: what a pre-registration fixes.
    reporting: &'a Reporting,
    /// Assumptions behind the numbers, one sentence each.
    assumptions: &'a [String],
    /// Reasons to doubt the comparison, one sentence each.
    cautions: &'a [String],
    /// Replays that failed, each a session under a preset; all else is said of the others.
    failed: &'a [FailedReplay],
    /// The bill that savings are measured against; `null` where no session has one.
    base: &'a Option<Base>,
    /// The answer; `null` where no strategy was compared.
    verdict: Option<Answer<'a>>,
    /// One entry per preset, in the order that they were given.
    presets: Vec<Preset<'a>>,
    /// One entry per pair of strategies, without controls.
    contrasts: &'a [Contrast],
    /// What the sessions came to, by the file of `--outcomes`; `null` without one.
    outcomes: &'a Option<Outcomes>,
}

/// The answer of a comparison.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Answer")]
struct Answer<'a> {
    /// `use` a preset, `stay` with what runs today, `too-few` sessions to tell, or `nothing` to compare.
    answer: &'static str,
    /// The preset to use; `null` with another answer.
    preset: Option<&'a str>,
    /// The same in words.
    sentence: String,
}

fn answer(comparison: &Comparison) -> Option<Answer<'_>> {
    let (answer, preset) = match comparison.verdict() {
        Verdict::Use { best, .. } => ("use", Some(best.name())),
        Verdict::Stay(_) => ("stay", None),
        Verdict::TooFew { .. } => ("too-few", None),
        Verdict::Nothing => ("nothing", None),
    };
    Some(Answer { answer, preset, sentence: verdict::verdict(comparison)? })
}

/// One preset over all sessions. Token counts are by the measuring estimator, those of the counters by the
/// preset's own.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PresetLine")]
struct Preset<'a> {
    #[serde(flatten)]
    line: &'a PresetLine,
    /// Sessions in which it did nothing.
    #[schemars(with = "Vec<Idle<'a>>")]
    idle: IdleSessions<'a>,
}

/// The idle sessions of one preset. Each is read when it is written, because together they would take more memory than the rest
/// of the comparison.
struct IdleSessions<'a> {
    comparison: &'a Comparison,
    preset: usize,
}

impl Serialize for IdleSessions<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_seq(self.comparison.idle(self.preset))
    }
}

/// Writes a comparison as one JSON document, indented, with a newline at its end.
///
/// # Errors
///
/// It can't be written.
pub fn write(comparison: &Comparison, mut out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut out, &whole(comparison))?;
    out.write_all(b"\n")
}

/// The same as a text.
pub fn comparison(comparison: &Comparison) -> serde_json::Result<String> {
    document(&whole(comparison))
}

fn whole(comparison: &Comparison) -> Document<'_> {
    Document {
        schema: COMPARISON,
        provenance: &comparison.provenance,
        corpus: &comparison.corpus,
        reporting: &comparison.reporting,
        assumptions: &comparison.assumptions,
        cautions: &comparison.cautions,
        failed: &comparison.failed,
        base: &comparison.base,
        verdict: answer(comparison),
        presets: comparison
            .presets
            .iter()
            .enumerate()
            .map(|(preset, line)| Preset { line, idle: IdleSessions { comparison, preset } })
            .collect(),
        contrasts: &comparison.contrasts,
        outcomes: &comparison.outcomes,
    }
}

/// Version of the manifest of a comparison.
const MANIFEST: &str = "foldback/manifest/1";

/// What a comparison depends on, so that it can be repeated and so that it can be seen whether it was the same.
#[derive(Serialize)]
struct Manifest<'a> {
    schema: &'static str,
    #[serde(flatten)]
    provenance: &'a Provenance,
    experiment: Option<&'a str>,
    seed: u64,
    /// By preset its name, with the summarizer that stood in.
    presets: Vec<&'a str>,
    /// Files that options name.
    files: Vec<NamedFile>,
    sessions: Vec<Input<'a>>,
    skipped: &'a [Skipped],
}

/// A session that was read.
#[derive(Serialize)]
struct Input<'a> {
    path: &'a str,
    content: &'a str,
}

/// A file that an option names.
#[derive(Clone, Debug, Serialize)]
pub struct NamedFile {
    path: String,
    /// As that of a session: the first 16 hexadecimal digits that `b3sum` prints.
    content: String,
}

impl NamedFile {
    /// A file with these bytes.
    pub fn new(path: String, bytes: &[u8]) -> Self {
        Self { path, content: short_hash(bytes) }
    }
}

/// Writes the manifest of a comparison as one JSON document.
///
/// # Errors
///
/// It can't be written.
pub fn write_manifest(
    comparison: &Comparison,
    files: Vec<NamedFile>,
    mut out: &mut dyn Write,
) -> io::Result<()> {
    let sessions = comparison.corpus.sessions.iter();
    let manifest = Manifest {
        schema: MANIFEST,
        provenance: &comparison.provenance,
        experiment: comparison.reporting.experiment.as_deref(),
        seed: comparison.reporting.seed,
        presets: comparison.presets.iter().map(|line| &*line.preset).collect(),
        files,
        sessions: sessions.map(|line| Input { path: &line.path, content: &line.content }).collect(),
        skipped: &comparison.corpus.skipped,
    };
    serde_json::to_writer_pretty(&mut out, &manifest)?;
    out.write_all(b"\n")
}

/// A JSON document, indented, with a newline at its end.
///
/// # Errors
///
/// None that is known.
pub fn document(document: &impl Serialize) -> serde_json::Result<String> {
    let mut text = serde_json::to_string_pretty(document)?;
    text.push('\n');
    Ok(text)
}
