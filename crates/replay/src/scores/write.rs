//! Scores a corpus and writes what a comparison of it needs.

use super::{Head, Line, Of, hex};
use crate::compare::{CompareError, Run};
use crate::corpus::{Corpus, Source};
use crate::setup::{Preset, Setup};
use crate::split::Split;
use crate::store::{Key, Store};
use crate::study::{Context, Failure, Keys, study};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use rayon::prelude::*;
use std::collections::HashSet;
use std::io::{self, Write};

/// A corpus that was scored.
#[derive(Debug)]
pub struct Scored {
    head: Head,
    sources: Vec<(String, Found)>,
}

/// A source, with the names of its results.
#[derive(Debug)]
enum Found {
    Unreadable(String),
    /// Its content, and the sessions that it holds, or why it is not used. Of files with the same content, the first one has
    /// the sessions.
    Read(Key, Result<Vec<(String, Keys)>, String>),
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
    let context = Context::new(presets, setup, "", split, run);
    let hashes: Vec<_> = corpus.sources.par_iter().map(Source::hash).collect();
    let mut seen = HashSet::new();
    let first: Vec<bool> =
        hashes.iter().map(|hash| hash.as_ref().is_ok_and(|hash| seen.insert(*hash))).collect();
    let one = |((source, hash), first): ((&Source, _), bool)| {
        let path = source.name();
        let found = match hash {
            Err(reason) => Found::Unreadable(reason),
            Ok(hash) if !first => Found::Read(hash, Ok(Vec::new())),
            Ok(hash) => match study(&context, source, hash) {
                Ok(studied) => {
                    let warned = studied.iter().find_map(|it| it.facts.first_warning.clone());
                    if let Some(warning) = warned.filter(|_| run.strict) {
                        return Err(CompareError::Strict { path, warning });
                    }
                    // The file may have been written since it was hashed.
                    let content = studied.first().map_or(hash, |session| session.keys.content());
                    let keys = studied.into_iter().map(|session| (session.facts.id, session.keys));
                    Found::Read(content, Ok(keys.collect()))
                }
                Err(Failure::Source(reason)) => Found::Read(hash, Err(reason)),
                Err(Failure::Store(error)) => return Err(CompareError::Store { path, error }),
            },
        };
        Ok((path, found))
    };
    let inputs = corpus.sources.par_iter().zip(hashes).zip(first);
    let sources = inputs.map(one).collect::<Result<_, _>>()?;
    Ok(Scored { head: Head::of(presets, setup, split), sources })
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
                    part.line(&Line::Source { path, content: hex(content), failed: Some(reason) })?;
                    continue;
                }
                Found::Read(content, Ok(sessions)) => (content, sessions),
            };
            part.line(&Line::Source { path, content: hex(content), failed: None })?;
            part.file(store, content, &sessions, &names)?;
        }
        part.end()
    }
}

/// A part that is written.
struct Part<'o> {
    out: &'o mut dyn Write,
    hash: blake3::Hasher,
}

impl Part<'_> {
    fn line(&mut self, line: &Line) -> io::Result<()> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        self.hash.update(&text);
        self.out.write_all(&text)
    }

    /// The results of a file.
    fn file(
        &mut self,
        store: &Store,
        content: Key,
        sessions: &[(String, Keys)],
        presets: &[String],
    ) -> io::Result<()> {
        let mut entry = |of, session: Option<&str>, preset: Option<&str>, key: Key| {
            let lost = || io::Error::other("results that were just made are no longer stored");
            let data = BASE64_STANDARD.encode(store.get_bytes(key).ok_or_else(lost)?);
            self.line(&Line::Entry {
                of,
                content: hex(content),
                session: session.map(str::to_owned),
                preset: preset.map(str::to_owned),
                key: hex(key),
                data,
            })
        };
        entry(Of::File, None, None, Keys::of_file(content))?;
        for (id, keys) in sessions {
            entry(Of::Session, Some(id), None, keys.of_facts())?;
            for (at, preset) in presets.iter().enumerate() {
                if let Some(key) = keys.of_record(at) {
                    entry(Of::Preset, Some(id), Some(preset), key)?;
                }
            }
        }
        Ok(())
    }

    fn end(self) -> io::Result<()> {
        let hash = hex(self.hash.finalize());
        let text = serde_json::to_string(&Line::End { hash })?;
        writeln!(self.out, "{text}")
    }
}
