//! Scores a corpus and gives what a comparison of it needs, line by line.

use super::{Entry, Head, Line, Of, hex};
use crate::fault::FailedReplay;
use crate::parallel::{in_parallel, try_in_parallel};
use crate::read::corpus::{Corpus, Failure, Source};
use crate::read::split::Split;
use crate::rows::CompareError;
use crate::rows::store::{Key, Store};
use crate::rows::study::{Context, Keys, study};
use crate::rows::study::{Run, failed};
use crate::run::setup::{Preset, Setup};
use std::collections::HashSet;
use std::io::{self, Write};

/// A corpus that was scored.
#[derive(Debug)]
pub struct Scored {
    head: Head,
    sources: Vec<(String, Found)>,
    /// Replays that failed.
    pub failed: Vec<FailedReplay>,
}

/// A source, with the names of its results.
#[derive(Debug)]
enum Found {
    Unreadable(String),
    /// Its content, and the sessions that it holds, or why it is not used. Of files with the same content, the first one has
    /// the sessions.
    Read(Key, Result<Vec<Session>, String>),
}

#[derive(Debug)]
struct Session {
    id: String,
    keys: Keys,
}

/// Scores every session of a corpus under every preset. The results are in the store of the run.
///
/// # Errors
///
/// Results can't be stored; an importer warned, and warnings are errors.
pub fn score(
    corpus: &Corpus,
    presets: &[Preset],
    setup: &Setup,
    split: Option<Split>,
    run: Run<'_>,
) -> Result<Scored, CompareError> {
    let context = Context::new(presets, setup, split, run);
    let mut seen = HashSet::new();
    let with_hash = |(source, hash): (_, Result<Key, Failure>)| {
        let first = hash.as_ref().is_ok_and(|hash| seen.insert(*hash));
        (source, hash, first)
    };
    let hashes = in_parallel(&corpus.sources, Source::hash);
    let inputs: Vec<(&Source, _, bool)> =
        corpus.sources.iter().zip(hashes).map(with_hash).collect();
    let sources = try_in_parallel(&inputs, |(source, hash, first)| {
        let path = source.name();
        let mut faults = Vec::new();
        let found = match hash.clone() {
            Err(failure) => Found::Unreadable(failure.skips(|| path.clone())?),
            Ok(hash) if !first => Found::Read(hash, Ok(Vec::new())),
            Ok(hash) => match study(&context, source, hash) {
                Ok(studied) => {
                    let warned = studied.iter().find_map(|it| it.facts.first_warning.clone());
                    if let Some(warning) = warned.filter(|_| run.strict) {
                        return Err(CompareError::Strict { path, warning });
                    }
                    for session in &studied {
                        let path = session.path.as_str().into();
                        faults.extend(failed(&*session.scores, &path, presets));
                    }
                    // The file may have been written since it was hashed.
                    let content = studied.first().map_or(hash, |session| session.keys.content());
                    let sessions = studied
                        .into_iter()
                        .map(|session| Session { id: session.facts.id, keys: session.keys });
                    Found::Read(content, Ok(sessions.collect()))
                }
                Err(failure) => Found::Read(hash, Err(failure.skips(|| path.clone())?)),
            },
        };
        Ok(((path, found), faults))
    })?;
    let (sources, failed): (Vec<_>, Vec<_>) = sources.into_iter().unzip();
    let failed = failed.into_iter().flatten().collect();
    Ok(Scored { head: Head::of(presets, setup, split), sources, failed })
}

impl Scored {
    /// Files that were looked at.
    pub fn files(&self) -> usize {
        self.sources.len()
    }

    /// Sessions that were scored.
    pub fn sessions(&self) -> usize {
        let sessions = |found: &Found| match found {
            Found::Read(_, Ok(sessions)) => sessions.len(),
            _ => 0,
        };
        self.sources.iter().map(|(_, found)| sessions(found)).sum()
    }

    /// Writes one part.
    ///
    /// # Errors
    ///
    /// It can't be written, or the store has lost results.
    pub fn write(self, store: &Store, out: &mut dyn Write) -> io::Result<()> {
        let names: Vec<String> =
            self.head.presets.iter().map(|preset| preset.name.clone()).collect();
        let mut part = Part { out, hash: blake3::Hasher::new() };
        part.line(&Line::Head(self.head))?;
        for (path, found) in self.sources {
            let (content, sessions) = match found {
                Found::Unreadable(reason) => {
                    part.line(&Line::Unreadable { path, reason })?;
                    continue;
                }
                Found::Read(content, Err(reason)) => {
                    let content = hex(content);
                    part.line(&Line::Source { path, content, failed: Some(reason) })?;
                    continue;
                }
                Found::Read(content, Ok(sessions)) => (content, sessions),
            };
            part.line(&Line::Source { path: path.clone(), content: hex(content), failed: None })?;
            part.file(store, &path, content, &sessions, &names)?;
        }
        part.end()
    }
}

/// A part that is written.
struct Part<'a> {
    out: &'a mut dyn Write,
    hash: blake3::Hasher,
}

impl Part<'_> {
    fn line(&mut self, line: &Line) -> io::Result<()> {
        let text = line.json()?;
        self.hash.update(&text);
        self.out.write_all(&text)
    }

    /// The results of a file.
    fn file(
        &mut self,
        store: &Store,
        path: &str,
        content: Key,
        sessions: &[Session],
        presets: &[String],
    ) -> io::Result<()> {
        let entry = |of, session: Option<&Session>, key: Key| {
            let lost = || io::Error::other("results that were just made are no longer stored");
            io::Result::Ok(Entry {
                of,
                path: path.to_owned(),
                content: hex(content),
                session: session.map(|session| session.id.clone()),
                preset: None,
                key: hex(key),
                data: store.get_bytes(key).ok_or_else(lost)?,
            })
        };
        self.line(&Line::Entry(entry(Of::File, None, Keys::of_file(content))?))?;
        for session in sessions {
            let facts = entry(Of::Session, Some(session), session.keys.of_facts())?;
            self.line(&Line::Entry(facts))?;
            for (at, preset) in presets.iter().enumerate() {
                if let Some(key) = session.keys.of_record(at) {
                    let record = entry(Of::Preset, Some(session), key)?;
                    self.line(&Line::Entry(Entry { preset: Some(preset.clone()), ..record }))?;
                }
            }
        }
        Ok(())
    }

    fn end(self) -> io::Result<()> {
        let end = Line::End { hash: hex(self.hash.finalize()) };
        self.out.write_all(&end.json()?)
    }
}
