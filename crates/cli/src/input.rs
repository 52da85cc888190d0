//! Finding session files and reading them.

use crate::args::{CorpusArgs, SessionArgs};
use crate::error::Error;
use crate::places::Place;
use crate::progress::Progress;
use crate::{folder, objects, output, places, replace, selection};
use foldback_formats::Session;
use foldback_formats::session::Warning;
use foldback_formats::{limit, session_file};
use foldback_replay::copies;
use foldback_replay::corpus::Skipped;
use foldback_replay::parallel::in_parallel;
use foldback_replay::parts::is_part;
use foldback_replay::{Corpus, Source};
use std::collections::BTreeSet;
use std::fmt::Display;
use std::path::{Path, PathBuf};

/// The URL of an object or a folder in object storage, given instead of a path.
fn url(path: &Path) -> Option<&str> {
    path.to_str().filter(|path| path.starts_with("s3://"))
}

/// Whether a path is a folder, and not one file.
pub(crate) fn is_folder(path: &Path) -> bool {
    url(path).map_or_else(|| path.is_dir(), objects::is_folder)
}

/// Reads the bytes of a file, or of a folder that is one session; `-` is standard input.
pub(crate) fn bytes(path: &Path) -> Result<Vec<u8>, Error> {
    if let Some(url) = url(path) {
        return objects::bytes(url);
    }
    let fail = |error| Error::File { path: path.to_owned(), error };
    if path == Path::new("-") {
        return limit::read(std::io::stdin().lock()).map_err(fail);
    }
    let whole = session_file(path);
    let path = whole.as_deref().unwrap_or(path);
    if path.is_dir() {
        return Err(Error::Usage(format!("{} is a folder; name a session file", path.display())));
    }
    replace::uses(path);
    foldback_formats::read_file(path).map_err(fail)
}

/// The text of a file.
pub(crate) fn text(path: &Path) -> Result<String, Error> {
    String::from_utf8(bytes(path)?)
        .map_err(|_| Error::Usage(format!("{}: not a text file", path.display())))
}

/// What is read from the text of a file, by a function whose errors begin with the line.
pub(crate) fn parsed<T, E: Display>(
    path: &Path,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Result<T, Error> {
    parse(&text(path)?).map_err(|error| Error::Usage(format!("{}:{error}", path.display())))
}

/// All sessions of one file.
pub(crate) fn sessions(path: &Path, from: Option<&str>) -> Result<Vec<Session>, Error> {
    foldback_formats::read(&bytes(path)?, from)
        .map_err(|error| Error::Read { path: path.display().to_string(), error })
}

/// One session of a file with the format that the file is in. A session in foldback's own lines keeps
/// the format that it was first recorded in; what is written goes by the file. If that is to be `in_place`, it must be all
/// that the file holds.
pub(crate) fn session(
    args: &SessionArgs,
    in_place: bool,
) -> Result<(Session, &'static str), Error> {
    let (path, from) = (args.file.as_path(), args.from.as_deref());
    let bytes = bytes(path)?;
    let fail = |error| Error::Read { path: path.display().to_string(), error };
    let sessions = foldback_formats::read(&bytes, from).map_err(fail)?;
    if in_place {
        may_go(path, &bytes, sessions.len())?;
    }
    let session = pick(path, sessions, args.session.as_deref())?;
    strict(&path.display().to_string(), &session.warnings, args.strict)?;
    let format = match from {
        Some(id) => foldback_formats::format(id).map_err(fail)?.id,
        None => foldback_formats::detect_bytes(&bytes).map_or(session.format, |format| format.id),
    };
    Ok((session, format))
}

/// All sessions of a file, or the one with this id; the only one, if there may not be several.
pub(crate) fn some(
    path: &Path,
    from: Option<&str>,
    id: Option<&str>,
    several: bool,
) -> Result<Vec<Session>, Error> {
    let all = sessions(path, from)?;
    match several && id.is_none() {
        true => Ok(all),
        false => Ok(vec![pick(path, all, id)?]),
    }
}

/// The only session of a file, or the one with this id.
fn pick(path: &Path, mut sessions: Vec<Session>, id: Option<&str>) -> Result<Session, Error> {
    let ids: Vec<&str> = sessions.iter().map(|session| &*session.id).collect();
    let (path, listed) = (path.display(), ids.join(", "));
    let index = match id {
        Some(id) => ids.iter().position(|its| *its == id).ok_or_else(|| {
            Error::Usage(format!("{path} has no session `{id}`; it has {listed}"))
        })?,
        None if ids.len() > 1 => {
            let many = ids.len();
            let why = format!("{path} holds {many} sessions; pick one with --session: {listed}");
            return Err(Error::Usage(why));
        }
        None => 0,
    };
    Ok(sessions.swap_remove(index))
}

/// Refuses to write a session over its file if others would be lost, or if the file has more to it than its text: a store,
/// an archive or a compressed file would become one, and so would a file that goes on where another ends.
fn may_go(path: &Path, read: &[u8], sessions: usize) -> Result<(), Error> {
    let why = match sessions {
        0 | 1 if path == Path::new("-") || url(path).is_some() => "is no file here".to_owned(),
        0 | 1 if std::str::from_utf8(read).is_err() => {
            "is not UTF-8 text, and the output is".to_owned()
        }
        0 | 1 if !std::fs::read(path).is_ok_and(|own| own == read) => {
            "is not whole by itself, and the output is".to_owned()
        }
        0 | 1 => return Ok(()),
        _ => format!("holds {sessions} sessions, and only one would be left"),
    };
    let way_out = "name another file for the output with --out";
    Err(Error::Usage(format!("{} {why}; {way_out}", path.display())))
}

/// Fails on the first warning if `strict` is set.
pub(crate) fn strict(path: &str, warnings: &[Warning], strict: bool) -> Result<(), Error> {
    match warnings.first() {
        Some(warning) if strict => Err(Error::Usage(format!(
            "{path}: {}: {} ({}); without --strict it would be counted and the rest used",
            warning.place, warning.detail, warning.code
        ))),
        _ => Ok(()),
    }
}

/// The files that the paths name and the folders among them contain. A path that does not exist is an
/// error, and so is an empty list.
pub(crate) fn corpus(args: &CorpusArgs) -> Result<Corpus, Error> {
    if args.paths.is_empty() && !args.discover {
        return Err(Error::usage(
            "no session given: name session files or folders, or use --discover",
        ));
    }
    let mut sources = Vec::new();
    for path in &args.paths {
        if let Some(url) = url(path) {
            sources.extend(objects::sources(url)?);
        } else if path.is_dir() {
            sources.extend(folder::sources(path, &args.only_below));
        } else if path.exists() {
            sources.push(Source::File(path.clone()));
        } else {
            let error = std::io::Error::new(std::io::ErrorKind::NotFound, "no such file or folder");
            return Err(Error::File { path: path.clone(), error });
        }
    }
    if args.discover {
        sources.extend(discovered_sources(&args.only_below)?);
    }
    // In the order of a walk over all of them, however they were named. The same file twice is told by its content.
    sources.sort_by(|a, b| Path::new(&a.name()).cmp(Path::new(&b.name())));
    let found = sources.len();
    let sources = selection::selected(sources, args);
    if sources.is_empty() && found > 0 {
        let given = args.selections().join(", ");
        return Err(Error::Usage(format!(
            "none of {found} files is left: all are left out by {given}"
        )));
    }
    Ok(Corpus { sources: copies::told_apart(sources) })
}

/// What `make` makes of every session of a corpus, which it gets with its path, and the files that were not used; an error
/// if it makes nothing.
pub(crate) fn each_session<T: Send>(
    corpus: &Corpus,
    what: &str,
    is_strict: bool,
    make: impl Fn(String, &Session) -> Result<T, Error> + Sync,
) -> Result<(Vec<T>, Vec<Skipped>), Error> {
    let progress = Progress::new(corpus.sources.len(), "files", what.to_owned());
    let (all, skipped) = made_of_sessions(corpus, progress, |source, path, session| {
        strict(&source.name(), &session.warnings, is_strict)?;
        make(path, session)
    })?;
    if all.is_empty() {
        let reasons = crate::error::reasons(&skipped);
        return Err(Error::Usage(format!("no session to look at:\n{reasons}")));
    }
    Ok((all, skipped))
}

/// The same. It is no error if nothing is made, and warnings are not looked at.
pub(crate) fn made_of_sessions<T: Send>(
    corpus: &Corpus,
    progress: Progress,
    make: impl Fn(&Source, String, &Session) -> Result<T, Error> + Sync,
) -> Result<(Vec<T>, Vec<Skipped>), Error> {
    let made = in_parallel(&corpus.sources, |source| -> Result<Result<Vec<T>, Skipped>, Error> {
        let path = source.name();
        let found = match source.sessions() {
            Ok(found) => found,
            Err(failure) => {
                progress.step();
                let reason = failure.skips(|| path.clone())?;
                return Ok(Err(Skipped { path, reason }));
            }
        };
        let many = found.len() > 1;
        let made =
            found.iter().map(|session| make(source, source.path_of(&session.id, many), session));
        let made = made.collect::<Result<_, Error>>();
        progress.step();
        Ok(Ok(made?))
    });
    drop(progress);
    let (mut all, mut skipped) = (Vec::new(), Vec::new());
    for made in made {
        match made? {
            Ok(more) => all.extend(more),
            Err(why) => skipped.push(why),
        }
    }
    Ok((all, skipped))
}

/// The parts that `foldback score` made, if the paths name parts; empty where they name sessions.
pub(crate) fn parts(args: &CorpusArgs) -> Result<&[PathBuf], Error> {
    let count = args.paths.iter().filter(|path| is_part(path)).count();
    let is_whole = !args.discover && args.selections().is_empty();
    match count {
        0 => Ok(&[]),
        _ if count == args.paths.len() && is_whole => Ok(&args.paths),
        _ => Err(Error::usage(
            "parts that `foldback score` made are compared as they are: name nothing else, and leave out --discover, --exclude, --agent, --project and --since",
        )),
    }
}

/// The folders and files with this user's sessions.
#[cfg(feature = "mcp")]
pub(crate) fn discovered() -> Result<Vec<PathBuf>, Error> {
    some_discovered(existing_places().map(|place| place.path).chain(stores()).collect())
}

/// The sources in them.
fn discovered_sources(only_below: &[PathBuf]) -> Result<Vec<Source>, Error> {
    let found = existing_places().flat_map(|place| folder::sources_of(&place, only_below));
    some_discovered(found.chain(stores().into_iter().map(Source::File)).collect())
}

fn existing_places() -> impl Iterator<Item = Place> {
    places::here().into_iter().filter(|place| place.path.is_dir())
}

fn some_discovered<T>(found: Vec<T>) -> Result<Vec<T>, Error> {
    if found.is_empty() { Err(nothing_discovered()) } else { Ok(found) }
}

/// The stores of agents, in which all sessions are one file, where there are any that can be read.
fn stores() -> Vec<PathBuf> {
    let mut stores: Vec<PathBuf> =
        places::stores_here().into_iter().map(|(_, store)| store).collect();
    stores.retain(|store| store.is_file());
    if cfg!(not(feature = "sqlite")) {
        for store in stores.drain(..) {
            let what = format!("{}: what reads it", store.display());
            output::note(format_args!("note: {}", Error::left_out(&what, "sqlite")));
        }
    }
    stores
}

/// The error that `--discover` found nothing, with the places that it searched.
fn nothing_discovered() -> Error {
    let folders = places::here().into_iter().map(|place| (place.agent, place.path));
    let folders: Vec<(&str, PathBuf)> = folders
        .chain(places::stores_here().into_iter().filter(|_| cfg!(feature = "sqlite")))
        .collect();
    let (there, missing): (Vec<_>, Vec<_>) = folders.iter().partition(|(_, path)| path.exists());
    let mut looked: Vec<String> = there
        .iter()
        .map(|(agent, path)| format!("  {agent}: {} holds none", path.display()))
        .collect();
    let mut agents: Vec<&str> = missing.iter().map(|(agent, _)| *agent).collect();
    // Without a list of its stores there is none to look for.
    agents.extend(cfg!(feature = "sqlite").then_some("Crush"));
    let mut seen = BTreeSet::new();
    agents.retain(|agent| there.iter().all(|(other, _)| other != agent) && seen.insert(*agent));
    match places::home_here() {
        None => looked.push("  the home directory is unknown; set HOME".to_owned()),
        Some(home) if !agents.is_empty() => {
            looked.push(format!("  nothing in {} of {}", home.display(), agents.join(", ")));
        }
        Some(_) => {}
    }
    let places = looked.join("\n");
    Error::Usage(format!("no session found:\n{places}\nname session files or folders instead"))
}
