//! A session that was compacted and written is compacted again at the same moment: nothing changes. Where an original
//! acts again by its own rule, `again.toml` says so.

use foldback_core::Limits;
use foldback_core::strategy::Strategy;
use foldback_formats::{Session, View, format, read};
use foldback_replay::ReplayOptions;
use foldback_replay::calibrate::unrecorded;
use foldback_replay::state::{Ask, replayed, stored};
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

/// The same of a run that drives every call.
const MOST_BYTES_LIVE: u64 = 500_000;

/// How a session is compacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// As it is stored, between two turns.
    Stored,
    /// Driven from its first message (`--live`).
    Live,
}

impl How {
    /// The table of what acts again.
    fn table(self) -> &'static str {
        match self {
            Self::Stored => "acts_again",
            Self::Live => "acts_again_live",
        }
    }

    /// A session as a strategy leaves it, in its own format; nothing where that is only read.
    fn compacted(
        self,
        session: &Session,
        strategy: &Arc<Strategy>,
        limits: Limits,
    ) -> Option<String> {
        let options =
            ReplayOptions { limits, validate: false, ..options(limits.context, limits.output) };
        let (conversation, _) = match self {
            Self::Stored => stored(session, strategy, &options, Ask::NextTurn),
            Self::Live => replayed(session, strategy, &options),
        };
        let edits = session.recorded_edits();
        // As the command does: where nothing takes their place, the recorder's own compactions stay.
        let view = match self == Self::Live && conversation.folds().is_empty() {
            true => View::recorded(session, &edits),
            false => View {
                session,
                frame: &session.frame,
                unrecorded: unrecorded(session, &*options.measure),
                sent: conversation.sent(),
                stored: conversation.stored(),
            },
        };
        Some(format(session.format).unwrap().write(&view)?.unwrap().text)
    }
}

/// What is changed by a second run: file, preset, window. The number of first runs that changed anything is given too.
fn changed_again(how: How, paths: &[PathBuf]) -> Found {
    let presets = presets();
    let runs = paths.par_iter().map(|path| {
        let text = std::fs::read_to_string(path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let sessions = read(text.as_bytes(), None).unwrap();
        let all = sessions.iter().flat_map(|session| {
            let of = move |strategy| LIMITS.map(|limits| (session, strategy, limits));
            presets.iter().flat_map(of)
        });
        let all: Vec<_> = all.collect();
        let again = all.into_par_iter().map(|(session, strategy, (context, output))| {
            let limits = Limits::new(context, output);
            let mut found = (0, BTreeSet::new());
            if strategy.refuses(limits).is_some() {
                return found;
            }
            let once = how.compacted(session, strategy, limits);
            let Some(once) = once.filter(|once| *once != text) else { return found };
            found.0 += 1;
            let written = read(once.as_bytes(), Some(session.format)).unwrap();
            // The id of an only session may be made of its content.
            let same = match &*written {
                [only] => Some(only),
                several => several.iter().find(|written| written.id == session.id),
            };
            let twice = same.and_then(|same| how.compacted(same, strategy, limits));
            if twice.as_ref() != Some(&once) {
                found.1.insert((name.clone(), strategy.name.clone(), context));
            }
            found
        });
        again.reduce(Default::default, both)
    });
    runs.reduce(Default::default, both)
}

type Found = (usize, BTreeSet<(String, String, u64)>);

fn both(mut all: Found, one: Found) -> Found {
    all.0 += one.0;
    all.1.extend(one.1);
    all
}

/// Checks that a second run changes what the table says, and nothing else.
fn check(how: How, paths: &[PathBuf]) {
    let names: BTreeSet<_> = paths.iter().filter_map(|path| path.file_name()?.to_str()).collect();
    let listed: Vec<(String, String, u64, String)> =
        table::rows(include_str!("again.toml"), how.table());
    let listed = listed.into_iter().filter(|(file, ..)| names.contains(file.as_str()));
    let listed: BTreeSet<_> =
        listed.map(|(file, preset, window, _)| (file, preset, window)).collect();
    let (runs, changed) = changed_again(how, paths);
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

fn shipped() -> Vec<PathBuf> {
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/sessions"))
}

#[test]
fn a_second_run_changes_no_shipped_example() {
    check(How::Stored, &shipped());
}

#[test]
fn a_second_live_run_changes_no_shipped_example() {
    check(How::Live, &shipped());
}

#[foldback_needs::sessions]
#[test]
fn a_second_run_changes_no_recorded_session() {
    let mut paths = files(&sessions());
    paths.retain(|path| path.metadata().is_ok_and(|file| file.len() <= MOST_BYTES));
    check(How::Stored, &paths);
}

#[foldback_needs::sessions]
#[test]
fn a_second_live_run_changes_no_recorded_session() {
    let mut paths = files(&sessions());
    paths.retain(|path| path.metadata().is_ok_and(|file| file.len() <= MOST_BYTES_LIVE));
    check(How::Live, &paths);
}
