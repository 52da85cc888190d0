//! A session that was compacted and written is compacted again at the same moment: nothing changes. Where an original
//! acts again by its own rule, `again.toml` says so.

use foldback_core::Limits;
use foldback_core::strategy::Strategy;
use foldback_formats::{Session, View, format, read};
use foldback_replay::ReplayOptions;
use foldback_replay::calibrate::unrecorded;
use foldback_replay::state::{Ask, stored};
use foldback_test_support::{sessions, table};
use foldback_tests::{options, presets};
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Windows and output limits: one that few sessions fill, and one that nearly all do.
const LIMITS: [(u64, u64); 2] = [(60_000, 15_000), (20_000, 2_000)];

/// Larger files take minutes without optimization.
const MOST_BYTES: u64 = 1_000_000;

/// A session as a strategy leaves it, in its own format; nothing where that is only read.
fn compacted(session: &Session, strategy: &Arc<Strategy>, limits: Limits) -> Option<String> {
    let options =
        ReplayOptions { limits, validate: false, ..options(limits.context, limits.output) };
    let (conversation, _) = stored(session, strategy, &options, Ask::NextTurn);
    let view = View {
        session,
        frame: &session.frame,
        unrecorded: unrecorded(session, &*options.measure),
        sent: conversation.sent(),
        stored: conversation.stored(),
    };
    Some(format(session.format).unwrap().write(&view)?.unwrap().text)
}

/// What is changed by a second run: file, preset, window. The number of first runs that changed anything is given too.
fn changed_again(paths: &[PathBuf]) -> (usize, BTreeSet<(String, String, u64)>) {
    let presets = presets();
    let runs = paths.par_iter().map(|path| {
        let text = std::fs::read_to_string(path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let mut found = (0, BTreeSet::new());
        let sessions = read(text.as_bytes(), None).unwrap();
        for session in &sessions {
            for (context, output) in LIMITS {
                let limits = Limits::new(context, output);
                let works = |strategy: &&Arc<Strategy>| strategy.refuses(limits).is_none();
                for strategy in presets.iter().filter(works) {
                    let once = compacted(session, strategy, limits);
                    let Some(once) = once.filter(|once| *once != text) else { continue };
                    found.0 += 1;
                    let written = read(once.as_bytes(), Some(session.format)).unwrap();
                    // The id of an only session may be made of its content.
                    let same = match &*written {
                        [only] => Some(only),
                        several => several.iter().find(|written| written.id == session.id),
                    };
                    let twice = same.and_then(|same| compacted(same, strategy, limits));
                    if twice.as_ref() != Some(&once) {
                        found.1.insert((name.clone(), strategy.name.clone(), context));
                    }
                }
            }
        }
        found
    });
    runs.reduce(Default::default, |mut all, one| {
        all.0 += one.0;
        all.1.extend(one.1);
        all
    })
}

/// Checks that a second run changes what the table says, and nothing else.
fn check(paths: &[PathBuf]) {
    let names: BTreeSet<_> = paths.iter().filter_map(|path| path.file_name()?.to_str()).collect();
    let listed: Vec<(String, String, u64, String)> =
        table::rows(include_str!("again.toml"), "acts_again");
    let listed = listed.into_iter().filter(|(file, ..)| names.contains(file.as_str()));
    let listed: BTreeSet<_> =
        listed.map(|(file, preset, window, _)| (file, preset, window)).collect();
    let (runs, changed) = changed_again(paths);
    assert!(runs > names.len(), "{runs} first runs changed anything");
    assert_eq!(changed, listed, "of {runs} runs");
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        match entry.path() {
            path if path.is_dir() => paths.extend(files(&path)),
            path if path.extension().is_some_and(|kind| kind == "md") => {}
            path => paths.push(path),
        }
    }
    paths.sort();
    paths
}

#[test]
fn a_second_run_changes_no_shipped_example() {
    check(&files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/sessions")));
}

#[foldback_needs::sessions]
#[test]
fn a_second_run_changes_no_recorded_session() {
    let mut paths = files(&sessions());
    paths.retain(|path| path.metadata().is_ok_and(|file| file.len() <= MOST_BYTES));
    check(&paths);
}
