//! The page of a comparison, and the pages of its sessions.

use crate::args::{Compare, PageSessions};
use crate::details::Computed;
use crate::error::Error;
use crate::{output, replace};
use foldback_replay::fault::FailedReplay;
use foldback_report::html::{self, encoded};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Writes the page to `path`. The pages of the sessions come first, so that it never links to one that is
/// missing. Returns the replays that failed.
pub(crate) fn write(
    path: &Path,
    computed: &Computed,
    args: &Compare,
) -> Result<Vec<FailedReplay>, Error> {
    let mut failed = Vec::new();
    let most = args.reader.iter().find_map(|reader| match reader {
        PageSessions::Most(sessions) => Some(*sessions),
        PageSessions::Beside => None,
    });
    let mut details = computed.details(most, &mut failed);
    if args.reader.contains(&PageSessions::Beside) {
        let (folder, name) = folder_of(path)?;
        let fail = |error| Error::File { path: folder.clone(), error };
        std::fs::create_dir_all(&folder).map_err(fail)?;
        let back = format!("../{}", encoded(&file_name(path)?));
        let write = |session, page: &str| output::write(Some(&folder.join(file(session))), page);
        let written = computed.pages(&back, write, &mut failed)?;
        details.pages = written
            .iter()
            .map(|session| (*session, format!("{}/{}", encoded(&name), file(*session))))
            .collect();
        remove_others(&folder, &written).map_err(fail)?;
    }
    output::write(Some(path), &html::comparison(&computed.comparison, &details))?;
    Ok(failed)
}

/// Refuses to replace what is no page of an earlier report by the pages of so many sessions.
pub(crate) fn check(path: &Path, sessions: usize) -> Result<(), Error> {
    let (folder, _) = folder_of(path)?;
    (0..sessions).try_for_each(|session| replace::check(&folder.join(file(session)), false))
}

/// Refuses a path without a folder, before anything is computed.
pub(crate) fn has_folder(path: &Path) -> Result<(), Error> {
    if output::is_stdout(path) {
        let why = "--reader all writes a folder next to the page; name a file with --html";
        return Err(Error::usage(why));
    }
    folder_of(path).map(|_| ())
}

/// The folder of the pages next to a page, and its name: `report-sessions` for `report.html`.
fn folder_of(path: &Path) -> Result<(PathBuf, String), Error> {
    file_name(path)?;
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let name = format!("{}-sessions", stem.unwrap_or_default());
    Ok((path.with_file_name(&name), name))
}

fn file_name(path: &Path) -> Result<String, Error> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    name.ok_or_else(|| Error::Usage(format!("{}: names no file", path.display())))
}

/// The page of a session, by its place from 1.
fn file(session: usize) -> String {
    format!("{}.html", session + 1)
}

/// Deletes pages of sessions that an earlier report had and this one does not. Other files there belong to the user.
fn remove_others(folder: &Path, written: &[usize]) -> std::io::Result<()> {
    let written: BTreeSet<String> = written.iter().map(|session| file(*session)).collect();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_page = name.strip_suffix(".html").is_some_and(|number| {
            !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
        });
        let path = entry.path();
        if is_page
            && !written.contains(&name)
            && entry.file_type()?.is_file()
            && replace::is_own(&path)
        {
            std::fs::remove_file(path)?;
        }
    }
    Ok(())
}
