//! The sessions of a comparison: what it lists of each, and which files are left out.

use super::{CompareError, Corpus, Failure, Skipped, Source, short};
use crate::corpus::ContentHash;
use crate::study::Studied;
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// A session as the comparison lists it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SessionLine {
    /// Path of the file, followed by `#id` if the file holds several sessions.
    pub path: String,
    /// Hash of the file's bytes: the first 16 hexadecimal digits that `b3sum` prints.
    pub content: String,
    /// Id of the format.
    pub format: String,
    /// Task or repository; sessions of one are drawn together. The path if not recorded.
    pub cluster: String,
    /// Messages as the format counts them.
    pub messages: usize,
    /// Tool calls.
    pub tool_calls: usize,
    /// Model calls.
    pub calls: usize,
    /// User turns.
    pub turns: usize,
    /// Compactions that the recorder made.
    pub boundaries: usize,
    /// What could not be read.
    pub warnings: usize,
}

/// What was compared, with every session accounted for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CorpusSummary {
    /// Files that were looked at.
    pub files: usize,
    /// Sessions that were imported.
    pub imported: usize,
    /// Sessions without a model call: they are ignored.
    pub without_calls: usize,
    /// Sessions in which at least one strategy changed something.
    pub triggering: usize,
    /// Tasks or repositories that the sessions fall into.
    pub clusters: usize,
    /// Files that were not used.
    pub skipped: Vec<Skipped>,
    /// The sessions.
    pub sessions: Vec<SessionLine>,
}

impl SessionLine {
    pub(super) fn of(session: &mut Studied) -> Self {
        let path = std::mem::take(&mut session.path);
        let facts = &session.facts;
        Self {
            content: short(session.keys.content()),
            format: facts.format.clone(),
            cluster: facts.cluster.clone().unwrap_or_else(|| path.clone()),
            path,
            messages: facts.messages,
            tool_calls: facts.tool_calls,
            calls: facts.calls,
            turns: facts.turns,
            boundaries: facts.boundaries,
            warnings: facts.warnings,
        }
    }
}

/// Positions of sources in the corpus, with the hashes of their content.
type Unique = Vec<(usize, ContentHash)>;

/// The positions of the sources in the corpus with the hashes of their content, and those that are left out:
/// unreadable, or the same bytes as one before.
pub(super) fn hashes(corpus: &Corpus) -> Result<(Unique, Vec<Skipped>), CompareError> {
    let hashes: Vec<Result<ContentHash, Failure>> =
        corpus.sources.par_iter().map(Source::hash).collect();
    let mut first: BTreeMap<[u8; 32], String> = BTreeMap::new();
    let (mut unique, mut skipped) = (Vec::new(), Vec::new());
    for (at, hash) in hashes.into_iter().enumerate() {
        let path = corpus.sources[at].name();
        match hash {
            Err(failure) => {
                let reason = failure.skips(|| path.clone())?;
                skipped.push(Skipped { path, reason });
            }
            Ok(hash) => match first.get(hash.as_bytes()) {
                Some(same) => {
                    skipped.push(Skipped { path, reason: format!("the same bytes as {same}") })
                }
                None => {
                    first.insert(*hash.as_bytes(), path);
                    unique.push((at, hash));
                }
            },
        }
    }
    Ok((unique, skipped))
}
