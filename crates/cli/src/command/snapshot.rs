//! `foldback snapshot`: what a strategy makes of recorded sessions, kept in files that are read in review.

use crate::args::Snapshot;
use crate::error::Error;
use crate::groups::Listed;
use crate::{files, folder, input, output, strategies};
use foldback_core::render;
use foldback_core::strategy::Strategy;
use foldback_formats::Session;
use foldback_replay::fault::FailedReplay;
use foldback_replay::{Source, replay};
use similar::TextDiff;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The ending of a snapshot's file name.
const ENDING: &str = "snapshot.txt";

pub(crate) fn run(args: &Snapshot) -> Result<(), Error> {
    let registry = foldback::registry()?;
    let setup = strategies::setup(&registry, &args.model)?;
    let mut presets: Vec<Arc<Strategy>> = Vec::new();
    for name in &Listed::new(&registry)?.expand(&args.preset) {
        let compiled = strategies::compile_without_model(&registry, name, "snapshot")?;
        strategies::check_window(&compiled.strategy, setup.limits)?;
        presets.push(Arc::new(compiled.strategy));
    }
    let mut made: BTreeMap<PathBuf, String> = BTreeMap::new();
    let mut failed = Vec::new();
    for path in files(&args.paths)? {
        let sessions = input::sessions(&path, args.from.as_deref())?;
        for session in &sessions {
            input::strict(&path.display().to_string(), &session.warnings, args.strict)?;
            for strategy in &presets {
                let mut options = setup.options(session, strategy);
                options.validate = false;
                let several = (sessions.len() > 1).then_some(session);
                let name = name(&path, several, strategy);
                let title = format!("{} · {}", strategy.label(), stem(&path));
                let replayed =
                    FailedReplay::caught(&path.display().to_string(), &strategy.label(), || {
                        render::review(&title, &replay(session, strategy, &options).conversation)
                    });
                let text = match replayed {
                    Ok(text) => text,
                    Err(more) => {
                        failed.push(more);
                        continue;
                    }
                };
                if made.insert(args.out.join(&name), text).is_some() {
                    return Err(Error::Usage(format!(
                        "two sessions would have the snapshot {name}; snapshot them into two folders with --out"
                    )));
                }
            }
        }
    }
    if made.is_empty() {
        return Err(Error::Several(failed.into_iter().map(Error::Replay).collect()));
    }
    let done = if args.write { update(made) } else { check(&made) };
    match done {
        Ok(()) => Error::of_replays(failed),
        Err(error) => Err(error.after(failed)),
    }
}

/// The session files that the paths name and the folders among them hold.
fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        for source in folder::sources(path, &[]) {
            match source {
                Source::File(path) => files.push(path),
                Source::Unreadable { path, reason } => {
                    return Err(Error::Usage(format!("{}: {reason}", path.display())));
                }
                _ => {}
            }
        }
    }
    match files.is_empty() {
        true => Err(Error::usage("the folders hold no session file")),
        false => Ok(files),
    }
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// The file of a snapshot: session, preset, ending. A file with several sessions gives one for each, with its id.
fn name(path: &Path, several: Option<&Session>, strategy: &Strategy) -> String {
    let safe = |text: &str| -> String {
        let kept = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
        text.chars().map(|c| if kept(c) { c } else { '-' }).collect()
    };
    let id = several.map(|session| format!(".{}", safe(&session.id))).unwrap_or_default();
    format!("{}{id}.{}.{ENDING}", safe(&stem(path)), safe(&strategy.name))
}

/// The text of a snapshot. Git may have given it the line ends of another system.
fn kept(there: &[u8]) -> String {
    String::from_utf8_lossy(there).replace("\r\n", "\n")
}

/// Whether a text has the sections of a snapshot, as some version wrote them.
fn is_snapshot(text: &str) -> bool {
    text.starts_with("# ") && text.contains("\n## Folds\n")
}

/// Writes them over those that are there, and over nothing else.
fn update(made: BTreeMap<PathBuf, String>) -> Result<(), Error> {
    let (count, mut changed) = (made.len(), Vec::new());
    for (path, text) in made {
        let there = files::there(&path)?;
        let kept = there.as_deref().map(kept);
        if kept.as_ref().is_some_and(|kept| !is_snapshot(kept)) {
            let why = "is no snapshot; move it away, or name another folder with --out";
            return Err(Error::Usage(format!("{} {why}", path.display())));
        }
        if kept.as_ref() != Some(&text) {
            changed.push((path, there, text));
        }
    }
    for (path, there, text) in &changed {
        if let Some(folder) = path.parent() {
            let fail = |error| Error::File { path: folder.to_owned(), error };
            std::fs::create_dir_all(folder).map_err(fail)?;
        }
        output::write_over(path, there.as_deref(), text)?;
        output::note(format_args!("wrote {}", path.display()));
    }
    let written = changed.len();
    output::print(&format!(
        "{}: {written} written, {} as they were\n",
        snapshots(count),
        count - written
    ))
}

fn check(made: &BTreeMap<PathBuf, String>) -> Result<(), Error> {
    let (mut differ, mut missing) = (0, Vec::new());
    for (path, now) in made {
        let shown = path.display().to_string();
        match files::there(path)?.as_deref().map(kept) {
            None => missing.push(shown),
            Some(kept) if kept == *now => {}
            Some(kept) => {
                let lines = TextDiff::from_lines(&kept, now);
                let mut diff = lines.unified_diff();
                output::print(&diff.header(&shown, "now").to_string())?;
                differ += 1;
            }
        }
    }
    if !missing.is_empty() {
        return Err(Error::Usage(format!(
            "there is no snapshot yet, so nothing holds; write it with --write:\n  {}",
            missing.join("\n  ")
        )));
    }
    if differ > 0 {
        return Err(Error::NotMet(format!(
            "{differ} of {} not what was kept; the lines above differ. Accept them with --write",
            match made.len() {
                1 => "1 snapshot is".to_owned(),
                count => format!("{count} snapshots are"),
            }
        )));
    }
    let hold = if made.len() == 1 { "holds" } else { "hold" };
    output::print(&format!("{} {hold}\n", snapshots(made.len())))
}

fn snapshots(count: usize) -> String {
    if count == 1 { "1 snapshot".to_owned() } else { format!("{count} snapshots") }
}
