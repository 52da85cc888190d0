//! The probe over a corpus: one file at a time per thread, only the findings of a session are kept.

use super::{PooledSession, RecorderPolicy, SessionRereads, policy, rereads};
use crate::compare::CompareError;
use crate::corpus::{Corpus, Failure, Skipped, Source};
use crate::repositories::{self, Place};
use foldback_core::stage::Estimator;
use foldback_formats::session::Warning;
use rayon::prelude::*;
use serde::Serialize;
use std::collections::BTreeMap;

/// What was found of one session.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Surveyed {
    /// Path, with `#id` after it where a file holds several.
    pub path: String,
    /// Format.
    pub format: String,
    /// Model of most calls, where recorded.
    pub model: Option<String>,
    /// Task or repository, where recorded.
    pub cluster: Option<String>,
    /// The folder that the agent worked in, where recorded.
    #[serde(skip)]
    pub folder: Option<String>,
    /// What the recorder did to its context.
    pub policy: RecorderPolicy,
    /// What the agent read again.
    pub rereads: SessionRereads,
    /// Warnings of the importer.
    #[serde(skip)]
    pub warnings: Vec<Warning>,
}

/// What was found of a corpus.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Survey {
    /// Files looked at.
    pub files: usize,
    /// Files that could not be used.
    pub skipped: Vec<Skipped>,
    /// In the order of the files.
    pub sessions: Vec<Surveyed>,
}

impl Survey {
    /// The sessions as [`super::pool`] takes them.
    pub fn pooled(&self) -> Vec<PooledSession<'_>> {
        let sessions = self.sessions.iter();
        sessions
            .map(|session| PooledSession {
                cluster: session.cluster.as_deref().unwrap_or(&session.path),
                rereads: &session.rereads,
            })
            .collect()
    }
}

/// Looks at every session; `measure` counts tokens, `progress` is called once per file that was looked at. Of files
/// with the same bytes the first is used.
///
/// # Errors
///
/// A source can't be reached.
pub fn survey(
    corpus: &Corpus,
    measure: &dyn Estimator,
    progress: &(dyn Fn() + Sync),
) -> Result<Survey, CompareError> {
    let hashes: Vec<Result<_, Failure>> = corpus.sources.par_iter().map(Source::hash).collect();
    let mut first: BTreeMap<[u8; 32], usize> = BTreeMap::new();
    let mut why: Vec<Option<Failure>> = Vec::with_capacity(hashes.len());
    for (at, hash) in hashes.into_iter().enumerate() {
        why.push(match hash {
            Err(failure) => Some(failure),
            Ok(hash) => {
                let known = *first.entry(*hash.as_bytes()).or_insert(at);
                let name = || corpus.sources[known].name();
                (known != at).then(|| format!("the same bytes as {}", name()).into())
            }
        });
    }
    let found: Vec<Result<Vec<Surveyed>, Failure>> = corpus
        .sources
        .par_iter()
        .zip(why)
        .map(|(source, why)| {
            let found = why.map_or_else(|| look(source, measure), Err);
            progress();
            found
        })
        .collect();
    let mut out = Survey { files: corpus.sources.len(), ..Survey::default() };
    for (source, found) in corpus.sources.iter().zip(found) {
        match found {
            Ok(sessions) => out.sessions.extend(sessions),
            Err(failure) => {
                let reason = failure.skips(|| source.name())?;
                out.skipped.push(Skipped { path: source.name(), reason });
            }
        }
    }
    let places = out.sessions.iter().map(|session| Place {
        cluster: session.cluster.as_deref(),
        folder: session.folder.as_deref(),
    });
    let names = repositories::names(&places.collect::<Vec<_>>());
    for (session, name) in out.sessions.iter_mut().zip(names) {
        session.cluster = name;
    }
    Ok(out)
}

fn look(source: &Source, measure: &dyn Estimator) -> Result<Vec<Surveyed>, Failure> {
    let sessions = source.sessions()?;
    let many = sessions.len() > 1;
    Ok(sessions
        .into_iter()
        .map(|session| Surveyed {
            path: source.path_of(&session.id, many),
            format: session.format.to_owned(),
            model: session.model.clone(),
            cluster: session.cluster.clone(),
            folder: session.folder.clone(),
            policy: policy(&session, measure),
            rereads: rereads(&session, measure),
            warnings: session.warnings,
        })
        .collect())
}
