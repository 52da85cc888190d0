//! Parts of a corpus: each is scored by itself, on one machine or many, and all are compared on one.
//!
//! A part is the folder of a [`Store`] with a list, `part.json`: the files that were read with the hashes of their bytes, and what
//! the results depend on. The list is written when the store has all results. Nothing in a part depends on the machine.
//!
//! Reading parts gives a corpus of sources whose results are all stored, and a comparison of that corpus is the comparison
//! of all files: sources are in the order of their paths, whatever the order of the parts.

use super::CompareError;
use super::store::{Key, PART, Store, key};
use super::study::{Context, Keys, Names, Run, failed, study};
use crate::fault::FailedReplay;
use crate::parallel::{in_parallel, try_in_parallel};
use crate::read::corpus::{Corpus, Failure, Source};
use crate::read::split::Split;
use crate::run::setup::{Preset, Setup};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Version of the list.
const SCHEMA: &str = "foldback/part/2";

/// The list of a part.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Part {
    schema: String,
    version: String,
    /// Hash of the program that computed the results.
    build: String,
    /// Hash of limits, tables, prices, estimator and split.
    setup: String,
    presets: Vec<PartPreset>,
    sources: Vec<PartSource>,
}

/// A preset that a part was scored under.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PartPreset {
    name: String,
    /// Hash of its merged configuration.
    configuration: String,
}

/// A file of a part.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PartSource {
    path: String,
    /// Hash of its bytes; `null` for an unreadable file.
    content: Option<String>,
    /// Why it was not used, where it was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    failed: Option<String>,
}

/// A part whose results are stored.
#[derive(Debug)]
pub struct Scored {
    part: Part,
    /// Sessions that were scored.
    pub sessions: usize,
    /// Replays that failed.
    pub failed: Vec<FailedReplay>,
}

/// Whether a folder is a part.
pub fn is_part(folder: &Path) -> bool {
    folder.join(PART).is_file()
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
        let (mut faults, mut sessions) = (Vec::new(), 0);
        let (content, reason) = match hash.clone() {
            Err(failure) => (None, Some(failure.skips(|| path.clone())?)),
            // Of files with the same content, the first one has the sessions.
            Ok(hash) if !first => (Some(hash), None),
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
                    sessions = studied.len();
                    // The file may have been written since it was hashed.
                    (Some(studied.first().map_or(hash, |session| session.keys.content())), None)
                }
                Err(failure) => (Some(hash), Some(failure.skips(|| path.clone())?)),
            },
        };
        let content = content.map(|content| content.to_hex().to_string());
        Ok((PartSource { path, content, failed: reason }, sessions, faults))
    })?;
    let mut part = Part::new(presets, setup, split, run.store);
    let (mut sessions, mut failed) = (0, Vec::new());
    for (source, count, faults) in sources {
        part.sources.push(source);
        sessions += count;
        failed.extend(faults);
    }
    Ok(Scored { part, sessions, failed })
}

impl Scored {
    /// Writes the list into the folder of the store.
    ///
    /// # Errors
    ///
    /// It can't be written.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        serde_json::to_writer(&mut file, &self.part)?;
        file.write_all(b"\n")?;
        file.persist(folder.join(PART)).map_err(|error| error.error)?;
        Ok(())
    }
}

/// The corpus of parts, for a comparison under these settings. The store reads the results where they are.
///
/// # Errors
///
/// What is wrong, and the way out: a part is damaged or incomplete, was made by another version, lacks a preset, or was
/// scored with other settings; one path holds different bytes in two parts.
pub fn read(
    folders: &[PathBuf],
    presets: &[Preset],
    setup: &Setup,
    split: Option<Split>,
    store: &mut Store,
) -> Result<Corpus, String> {
    let wanted = Part::new(presets, setup, split, store);
    let names = Names::new(setup, presets);
    let mut sources: BTreeMap<PathBuf, Source> = BTreeMap::new();
    for folder in folders {
        let wrong = |why: String| format!("{}: {why}", folder.display());
        let text = fs::read(folder.join(PART)).map_err(|error| wrong(error.to_string()))?;
        let part: Part = serde_json::from_slice(&text)
            .map_err(|error| wrong(format!("no part that `foldback score` wrote: {error}")))?;
        wanted.fits(&part).map_err(wrong)?;
        let build = hash(&part.build).map_err(wrong)?;
        let results = Store::part(folder, build).map_err(|error| wrong(error.to_string()))?;
        let read: Vec<Source> = part
            .sources
            .into_iter()
            .map(PartSource::source)
            .collect::<Result<_, _>>()
            .map_err(wrong)?;
        let whole = in_parallel(&read, |source| match source {
            Source::Scored { hash, failed: None, .. } => {
                is_whole(&results, *hash, &names, split, presets.len())
            }
            _ => true,
        });
        if let Some(at) = whole.iter().position(|whole| !whole) {
            let path = read[at].name();
            return Err(wrong(format!(
                "lacks results of {path}; copy the part again or score it again"
            )));
        }
        store.read_also(results);
        for source in read {
            let path = PathBuf::from(source.name());
            let content = |source: &Source| source.hash().ok();
            if sources.get(&path).is_some_and(|other| content(other) != content(&source)) {
                return Err(wrong(format!(
                    "{} held other bytes when another part was scored",
                    path.display()
                )));
            }
            sources.insert(path, source);
        }
    }
    Ok(Corpus { sources: sources.into_values().collect() })
}

/// Whether a store has all results of a file.
fn is_whole(
    store: &Store,
    content: Key,
    names: &Arc<Names>,
    split: Option<Split>,
    presets: usize,
) -> bool {
    let Some(ids) = store.get::<Vec<String>>(Keys::of_file(content)) else { return false };
    let studied = |id: &str| split.is_none_or(|part| Split::from_id(id) == part);
    ids.iter().enumerate().filter(|(_, id)| studied(id)).all(|(number, _)| {
        let keys = Keys::new(content, number, Arc::clone(names));
        keys.facts(store).is_some()
            && (0..presets).all(|preset| keys.record(store, preset).is_some())
    })
}

impl PartSource {
    fn source(self) -> Result<Source, String> {
        let path = self.path.into();
        Ok(match self.content {
            Some(content) => Source::Scored { path, hash: hash(&content)?, failed: self.failed },
            None => Source::Unreadable { path, reason: self.failed.unwrap_or_default() },
        })
    }
}

impl Part {
    /// Without files.
    fn new(presets: &[Preset], setup: &Setup, split: Option<Split>, store: &Store) -> Self {
        let hash = |text: &str| key(&[text.as_bytes()]).to_hex().to_string();
        let preset = |preset: &Preset| PartPreset {
            name: preset.strategy.name.clone(),
            configuration: hash(&preset.fingerprint),
        };
        Self {
            schema: SCHEMA.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            build: store.build().to_hex().to_string(),
            setup: hash(&format!("{} {split:?}", setup.fingerprint())),
            presets: presets.iter().map(preset).collect(),
            sources: Vec::new(),
        }
    }

    /// Whether the results of a part are those that the comparison needs.
    fn fits(&self, part: &Self) -> Result<(), String> {
        if part.schema != self.schema {
            return Err(format!("has the schema {}; this is {SCHEMA}", part.schema));
        }
        if part.version != self.version {
            return Err(format!(
                "was scored by foldback {}, and this is {}; score it again",
                part.version, self.version
            ));
        }
        if part.setup != self.setup {
            return Err(
                "was scored with another window, output limit, model, table or estimator, or another split; give the same options here and there"
                    .to_owned(),
            );
        }
        let missing = self.presets.iter().find(|preset| !part.presets.contains(preset));
        missing.map_or(Ok(()), |PartPreset { name, .. }| {
            Err(match part.presets.iter().any(|scored| scored.name == *name) {
                true => format!("was scored with another configuration of `{name}`"),
                false => format!("was not scored under `{name}`; score it with the same --preset"),
            })
        })
    }
}

fn hash(text: &str) -> Result<Key, String> {
    Key::from_hex(text).map_err(|error| format!("{text}: {error}"))
}
