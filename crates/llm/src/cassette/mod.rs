//! Recorded answers: a folder with one file for every answer, so that comparisons, snapshots and CI run
//! without a network and reproducibly.
//!
//! A file is named by the BLAKE3 hash of everything that its answer depends on: the texts, provider and
//! model, temperature, output limit, number of the sample, version of the format. It holds the request
//! as well, for people to review, and therefore whatever the session said that was to be summarized. It
//! never holds a key.

pub(crate) mod entry;

use async_trait::async_trait;
use entry::Entry;
use foldback_core::provider::{Completion, CompletionRequest, ErrorKind, Model, ProviderError};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The folder of answers, if any.
#[derive(Debug)]
enum Place {
    Folder(PathBuf),
    /// Answers by name, as long as the cassette lives.
    Memory(Mutex<BTreeMap<String, Entry>>),
}

impl Place {
    /// The file of a name; without a folder, only its file name.
    fn file(&self, name: &str) -> PathBuf {
        let file = format!("{name}.json");
        match self {
            Self::Folder(folder) => folder.join(file),
            Self::Memory(_) => file.into(),
        }
    }
}

/// Answers from a folder. Missing ones come from a model and are put there.
///
/// It records answers, and errors that are due to the request (too large, content refused, output too long), because
/// their handling must be replayed, too. Rate limits, outages and missing keys are never recorded.
#[derive(Debug)]
pub struct Cassette {
    place: Place,
    /// The model to ask if nothing is recorded; `None` if no request may be sent.
    model: Option<Arc<dyn Model>>,
    /// Running requests, so that only the first of two equal ones is sent.
    under_way: Mutex<BTreeMap<String, Arc<tokio::sync::Mutex<()>>>>,
    replayed: AtomicU64,
    recorded: AtomicU64,
}

impl Cassette {
    /// Replays what is recorded in `folder` and sends no request: a request that is not recorded is an error
    /// of kind [`ErrorKind::NotRecorded`].
    pub fn replay(folder: impl Into<PathBuf>) -> Self {
        Self::new(Place::Folder(folder.into()), None)
    }

    /// Replays what is recorded in `folder`, asks `model` for the rest and records its answers. The
    /// folder is made with the first answer.
    pub fn record(folder: impl Into<PathBuf>, model: Arc<dyn Model>) -> Self {
        Self::new(Place::Folder(folder.into()), Some(model))
    }

    /// Asks `model`, if there is one, and answers equal requests alike. Nothing is written anywhere.
    pub fn in_memory(model: Option<Arc<dyn Model>>) -> Self {
        Self::new(Place::Memory(Mutex::default()), model)
    }

    fn new(place: Place, model: Option<Arc<dyn Model>>) -> Self {
        Self {
            place,
            model,
            under_way: Mutex::default(),
            replayed: AtomicU64::new(0),
            recorded: AtomicU64::new(0),
        }
    }

    /// The file that holds the answer to a request, whether it exists or not.
    pub fn file(&self, request: &CompletionRequest) -> PathBuf {
        self.place.file(&entry::name(request))
    }

    /// Number of answers that were replayed.
    pub fn replayed(&self) -> u64 {
        self.replayed.load(Ordering::Relaxed)
    }

    /// Number of answers that were recorded.
    pub fn recorded(&self) -> u64 {
        self.recorded.load(Ordering::Relaxed)
    }

    fn find(&self, name: &str) -> Result<Option<Entry>, ProviderError> {
        let file = self.place.file(name);
        if let Place::Memory(answers) = &self.place {
            let answers = answers.lock().unwrap_or_else(PoisonError::into_inner);
            let found = answers.get(name).cloned();
            self.replayed.fetch_add(u64::from(found.is_some()), Ordering::Relaxed);
            return Ok(found);
        }
        let damaged = |what: &str| {
            unusable(format!(
                "{} is no recorded answer: {what}. Mend it, or delete it and record the answer again",
                file.display()
            ))
        };
        let bytes = match std::fs::read(&file) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return Err(unusable(format!("{} can't be read: {error}", file.display())));
            }
        };
        let text = std::str::from_utf8(&bytes).map_err(|error| damaged(&error.to_string()))?;
        let entry = Entry::read(text).map_err(|error| damaged(&error))?;
        if entry.name() != name {
            return Err(damaged(
                "at request: it was changed after it was recorded, and the file's name is its hash",
            ));
        }
        self.replayed.fetch_add(1, Ordering::Relaxed);
        Ok(Some(entry))
    }

    fn keep(&self, name: &str, entry: &Entry) -> Result<(), ProviderError> {
        match &self.place {
            Place::Folder(folder) => {
                let file = self.place.file(name);
                write(folder, &file, entry).map_err(|error| {
                    unusable(format!("the answer can't be recorded in {}: {error}", file.display()))
                })?;
            }
            Place::Memory(answers) => {
                let mut answers = answers.lock().unwrap_or_else(PoisonError::into_inner);
                answers.insert(name.to_owned(), entry.clone());
            }
        }
        self.recorded.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn turnstile(&self, name: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(under_way.entry(name.to_owned()).or_default())
    }
}

#[async_trait]
impl Model for Cassette {
    async fn complete(&self, request: &CompletionRequest) -> Result<Completion, ProviderError> {
        let name = entry::name(request);
        let Some(model) = &self.model else {
            return match self.find(&name)? {
                Some(entry) => entry.answer(),
                None => Err(missing(&self.place.file(&name), request)),
            };
        };
        // A request that is dropped lets the next one through.
        let turnstile = self.turnstile(&name);
        let _turn = turnstile.lock().await;
        if let Some(entry) = self.find(&name)? {
            return entry.answer();
        }
        let answer = model.complete(request).await;
        if let Some(entry) = Entry::new(request, &answer) {
            self.keep(&name, &entry)?;
        }
        answer
    }
}

fn missing(file: &Path, request: &CompletionRequest) -> ProviderError {
    unusable(format!(
        "{} is missing, the answer of {} ({}) to a request of {} bytes; `--record` sends the request and records it",
        file.display(),
        request.endpoint.model,
        request.endpoint.provider,
        request.bytes(),
    ))
}

/// A damaged recording counts as no recorded answer. A retry would not help.
fn unusable(message: String) -> ProviderError {
    ProviderError::new(ErrorKind::NotRecorded, message)
}

/// Writes a file, whole or not at all.
fn write(folder: &Path, file: &Path, entry: &Entry) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let mut builder = tempfile::Builder::new();
    // A temporary file is private; a recording is there to be shared, as far as the umask allows.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut temporary = builder.tempfile_in(folder)?;
    temporary.write_all(entry.write()?.as_bytes())?;
    temporary.persist(file).map_err(|error| error.error)?;
    Ok(())
}
